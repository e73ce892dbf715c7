"""All judgements of a fabric together: problems first. Ports that no reading shows are counted.

Checks what should be the same on every node: firmware, board id (PSID), MTU. Names the odd one, not the others.

RoCE: the GID that jobs use, its mode, and priorities with flow control (PFC) or congestion notification (ECN).

A report of a fabric's state as lines of text, and as JSON.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from railyard.base.errors import Weight, tally
from railyard.base.hostlist import label
from railyard.base.values import one_line
from railyard.base.wording import count_of
from railyard.cluster.fabric.link_state import (
    counter_findings,
    is_software,
    link_findings,
    optics_findings,
    rails_without_speed,
    signals,
    unjudged_optics,
)
from railyard.cluster.fabric.members import adapters, hop_counts, hop_findings, manager_findings, member_findings
from railyard.cluster.fabric.model import (
    Card,
    ExpectedFabric,
    Finding,
    Gid,
    Readings,
    Report,
    asking_rail,
    by_guid,
    is_adapter,
    some,
    unique,
)
from railyard.cluster.fabric.slots import listed_findings, slot_findings
from railyard.hardware.counters import DRIVERS
from railyard.parsers.fabric.port import WAIT, WAIT_MEANS, Peer, PortState

# prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off
_PFC = re.compile(r"^\s*prio-pfc((?:\s+[0-7]:(?:on|off))+)\s*$", re.MULTILINE)
_PRIORITY = re.compile(r"([0-7]):(on|off)")
_SHOW_GIDS = "look at /sys/class/infiniband/DEVICE/ports/1/gid_attrs/types, and set the intended index for jobs"


def parse_pfc(text: str) -> tuple[int, ...] | None:
    """Return the priorities that ``dcb pfc show dev DEV`` prints as on; None for any other text."""
    found = _PFC.search(text)
    if found is None:
        return None
    return tuple(int(priority) for priority, word in _PRIORITY.findall(found[1]) if word == "on")


def roce_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each card of a RoCE fabric whose GIDs, PFC or ECN are not as expected."""
    if expected.kind != "roce":
        return []
    cards = [card for card in readings.cards if expected.sits(card.device)]
    found = _gids(expected, cards)
    for what, meant in (("pfc", expected.pfc), ("ecn", expected.ecn)):
        for card in cards:
            here = card.pfc if what == "pfc" else card.ecn
            if meant is None or here is None or here == meant:
                continue
            fix = "mlnx_qos -i INTERFACE --pfc" if what == "pfc" else "ecn/roce_*/enable/N of the interface in /sys"
            said = f"{what.upper()} {_priorities(here)}"
            found.append(_finding(what, card, said, f"{what.upper()} {_priorities(meant)}", f"{fix}, as on the switch"))
    return found


def _gids(expected: ExpectedFabric, cards: list[Card]) -> list[Finding]:
    found = []
    usable: list[tuple[Card, int]] = []
    for card in cards:
        if not card.gids:
            continue
        if expected.gid_index is not None:
            found += _at_index(expected, card, expected.gid_index)
            continue
        index = _first(card.gids, expected.roce_mode)
        if index is None:
            shown = ", ".join(unique(f"RoCE {gid.kind}" for gid in card.gids if gid.kind)) or "none with a mode"
            meant = f"a GID of RoCE {expected.roce_mode} with an IP address"
            netdev = next((f" {gid.netdev}" for gid in card.gids if gid.netdev), "")
            fix = f"give the card's interface{netdev} an IP address, and check its RoCE mode (cma_roce_mode)"
            found.append(_finding("gid", card, f"only GIDs of {shown}", meant, fix))
        else:
            usable.append((card, index))
    return found + _odd(usable)


def _at_index(expected: ExpectedFabric, card: Card, index: int) -> list[Finding]:
    gid = next((each for each in card.gids if each.index == index), None)
    meant = f"a GID of RoCE {expected.roce_mode} at index {index}"
    if gid is None:
        return [_finding("gid", card, f"no GID at index {index}", meant, _SHOW_GIDS)]
    if gid.kind is not None and gid.kind != expected.roce_mode:
        return [_finding("gid", card, f"RoCE {gid.kind} at index {index}", meant, _SHOW_GIDS)]
    return []


def _first(gids: tuple[Gid, ...], mode: str | None) -> int | None:
    """Return the first index of this mode with an IPv4 address, else the first of this mode that is not link-local."""
    of_mode = [gid for gid in gids if gid.kind == mode]
    ipv4 = [gid.index for gid in of_mode if gid.gid.startswith("0000:0000:0000:0000:0000:ffff:")]
    other = [gid.index for gid in of_mode if not gid.gid.startswith("fe80:")]
    return next(iter([*ipv4, *other]), None)


def _odd(usable: list[tuple[Card, int]]) -> list[Finding]:
    """Return a finding for each card whose index is not the majority's: a job gives all nodes the same index."""
    if not usable:
        return []
    most, times = Counter(index for _, index in usable).most_common(1)[0]
    if 2 * times <= len(usable):
        return []
    shown = f"index {most}, as on {times} of {len(usable)} cards"
    return [
        _finding("gid", card, f"the first usable GID at index {index}", shown, _SHOW_GIDS)
        for card, index in usable
        if index != most
    ]


def _priorities(values: tuple[int, ...]) -> str:
    noun = "priorities" if len(values) > 1 else "priority"
    return f"on {noun} {', '.join(map(str, values))}" if values else "on no priority"


def _finding(what: str, card: Card, found: str, expected: str, fix: str) -> Finding:
    return Finding(what, card.node, card.device, None, found, expected, fix)


_KNOWN = frozenset(module for driver in DRIVERS.values() for module in driver.modules)


def uniform_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each card whose firmware, board or MTU is not as expected, or not as on the others."""
    cards = [card for card in readings.cards if expected.sits(card.device)]
    found: list[Finding] = []
    # Two kinds of cards in a node have different firmware and PSIDs: compare a card with the cards of the same name.
    for device in dict.fromkeys(card.device for card in cards):
        same = [card for card in cards if card.device == device]
        found += _unlike_cards(
            same, "firmware", expected.firmware, lambda card: card.firmware, "update it as on the others"
        )
        found += _unlike_cards(same, "psid", expected.psid, lambda card: card.psid, "is it another model of card?")
    return found + _mtus(expected, readings)


def driver_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each card whose driver does not fit the file's ``counters``, or is in no table."""
    found = []
    for card in readings.cards:
        rail = expected.sits(card.device)
        if rail is None or card.driver is None or rail.counters in ("none", "netdev"):
            continue
        modules = DRIVERS[rail.counters].modules
        if card.driver in modules:
            continue
        unknown = card.driver not in _KNOWN
        meant = f"{' or '.join(modules)} (counters: {rail.counters})"
        fix = f"correct counters of this rail in {expected.file}"
        if unknown:
            fix = "no table has this driver: link and slot are judged, counters only by their standard names"
        weight: Weight = "remark" if unknown else "problem"
        shown = f"the driver {card.driver}"
        found.append(Finding("driver", card.node, card.device, None, shown, meant, fix, weight))
    return found


def _unlike_cards(
    cards: list[Card], what: str, meant: str | None, value: Callable[[Card], str | None], fix: str
) -> list[Finding]:
    """Return a finding for each card whose value is not ``meant`` or, without ``meant``, not the majority's.

    If no value is on more than half of the cards, no card is odd: one remark says which cards have which value.
    """
    said = [(card, text) for card in cards if (text := value(card)) is not None]
    if not said:
        return []
    if meant is None:
        most, times = Counter(text for _, text in said).most_common(1)[0]
        if 2 * times <= len(said):
            return [_no_majority(said, what)]
        meant, shown = most, f"{most}, as on {times} of {len(said)} cards"
    else:
        shown = meant
    return [
        Finding(what, card.node, card.device, None, f"{what} {text}", shown, fix)
        for card, text in said
        if text != meant
    ]


def _no_majority(said: list[tuple[Card, str]], what: str) -> Finding:
    groups: dict[str, list[str]] = {}
    for card, text in said:
        groups.setdefault(text, []).append(f"{card.node} {card.device}")
    shown = "; ".join(f"{what} {text} on {some(places, 4)}" for text, places in groups.items())
    fix = f"update some of them, or say which is expected (fabric_state.{what})"
    return Finding(what, None, None, None, shown, f"one {what} on all cards", fix, "remark")


def _mtus(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    found = []
    for port in readings.own:
        if expected.rail(port.device, port.port) is None or port.mtu_bytes is None or port.is_active is False:
            continue
        if expected.mtu is None or port.mtu_bytes == expected.mtu:
            continue
        fix = "look at the subnet manager's MTU of this port and of its switch (max_mtu of ibv_devinfo)"
        if port.link_layer == "Ethernet" or expected.kind == "roce":
            device = port.netdev or "INTERFACE"
            fix = f"raise the interface's MTU: ip link set {device} mtu 9000 (4200 or more gives a path MTU of 4096)"
        if port.mtu_bytes > expected.mtu:
            fix = f"correct mtu of fabrics.{expected.fabric} in {expected.file}"
        place = (port.node, port.device, port.port)
        found.append(Finding("mtu", *place, f"MTU {port.mtu_bytes}", f"MTU {expected.mtu}", fix))
    return found


#: In the order in which people fix things: what is there, how it is linked, how it is set.
JUDGES: tuple[Callable[[ExpectedFabric, Readings], list[Finding]], ...] = (
    manager_findings,
    member_findings,
    link_findings,
    optics_findings,
    counter_findings,
    slot_findings,
    listed_findings,
    uniform_findings,
    driver_findings,
    roce_findings,
    hop_findings,
)


def judge(expected: ExpectedFabric, readings: Readings) -> Report:
    """Return what is not as expected, problems before remarks, and how much of the fabric no reading shows."""
    readings = of_fabric(expected, readings)
    found = [finding for each in JUDGES for finding in each(expected, readings)]
    found.sort(key=lambda finding: finding.weight != "problem")  # stable: the order of JUDGES stays
    seen = _seen_ports(expected, readings)
    meant = expected.count * len(expected.rails)
    hosts = {node for node, _ in seen}
    return Report(
        findings=tuple(found),
        seen=len(seen),
        unseen=0 if readings.is_whole else max(0, meant - len(seen)),
        nodes=len(hosts),
        hops=hop_counts(expected, readings.ports) if readings.is_whole else {},
        notes=(*readings.notes, *_remarks(expected, readings)),
    )


def of_fabric(expected: ExpectedFabric, readings: Readings) -> Readings:
    """Return the readings about this fabric: those of its kind that are not of another fabric's subnet."""
    return of_subnets(expected, of_kind(expected, readings))


def of_kind(expected: ExpectedFabric, readings: Readings) -> Readings:
    """Return the readings that are about a fabric of this kind: a card's port is InfiniBand or Ethernet, never both.

    Ports without a link layer stay. Ethernet has no subnet.
    """
    foreign = "InfiniBand" if expected.kind == "roce" else "Ethernet"
    own = tuple(port for port in readings.own if port.link_layer != foreign)
    if expected.kind != "roce":
        return replace(readings, own=own)
    with_counters = tuple(port for port in own if port.counters)
    return replace(readings, own=own, ports=(), is_whole=False, counters=with_counters or None, later=None, managers={})


def _seen_ports(expected: ExpectedFabric, readings: Readings) -> set[tuple[str, object]]:
    """Return (host, port) of the rails that some reading shows; if there is a subnet, of all adapters' ports."""
    if readings.is_whole:
        return {
            (node, port.guid or (port.device, port.port))
            for node, ports in adapters(readings.ports).items()
            for port in ports
        }
    return {
        (label(port.node or ""), (port.device, port.port))
        for port in readings.own
        if expected.rail(port.device, port.port) is not None
    }


def _remarks(expected: ExpectedFabric, readings: Readings) -> list[str]:
    """Return remarks that are not findings: ports that are not rails, signals, files that could not be read."""
    said = []
    other = [port for port in readings.own if port.state == "Down" and expected.rail(port.device, port.port) is None]
    if other:
        names = [f"{port.node} {port.device} port {port.port}" for port in other]
        down = f"down and not judged: {some(names, 4)}"
        said.append(f"{count_of(len(other), 'port')} outside the rails of {expected.fabric}, {down}")
    for name, ports in signals(readings).items():
        where = count_of(ports, "port")
        means = f"{WAIT_MEANS}; " if name == WAIT else ""
        said.append(f"{name} is not 0 on {where}: {means}a signal, not a fault unless fabric_state.errors bounds it")
    soft = unique(str(port.device) for port in readings.own if is_software(expected, port))
    if soft:
        said.append(f"software devices; their printed rate means nothing and is not judged: {some(soft, 4)}")
    bare = rails_without_speed(expected, readings)
    if bare:
        said.append(f"width, speed and rate are unknown, so the link is not judged: {some(bare, 4)}")
    unread = [f"{card.node} {card.device}: {', '.join(card.unread)}" for card in readings.cards if card.unread]
    if unread:
        said.append(f"not readable, so not judged: {some(unread, 3)}")
    said += unjudged_optics(expected, readings)
    if readings.is_whole and readings.counters is None:
        said.append("no error counters were read: ibqueryerrors has no output here")
    return said


def with_silent(expected: ExpectedFabric, readings: Readings, report: Report, asked: int) -> Report:
    """Return the report with one more problem if fewer nodes than asked showed a rail: silence is not a pass."""
    if report.is_blind or report.nodes >= asked:
        return report
    here = {label(port.node or "") for port in readings.own}
    absent = [node for node in expected.nodes if label(node) not in here]
    found = f"{count_of(report.nodes, 'node')} that showed a rail{f', not {some(absent)}' if absent else ''}"
    fix = "read in the job's output what the others printed"
    silent = Finding("silent", None, None, None, found, count_of(asked, "node"), fix)
    return replace(report, findings=(silent, *report.findings))


# A node with an EDR and an FDR card is on two subnets, and the diagnostics ask from both. What is on the other fabric's
# subnet is not compared with the link, nodes and counters of this one.
def of_subnets(expected: ExpectedFabric, readings: Readings) -> Readings:
    """Return the readings without what belongs only to the system's other fabrics: subnets, ports, managers.

    A subnet stays if no adapter on it names a rail of any fabric ("HCA-1").
    """
    if not expected.neighbours:
        return readings
    kept: list[PortState] = []
    for subnet in subnets(readings.ports):
        rails = {(port.device, port.port) for port in subnet if is_adapter(port)}
        ours = any(expected.rail(*rail) is not None for rail in rails)
        if ours or not rails & expected.neighbours:
            kept += [port for port in subnet if not _is_neighbours(expected, port)]
    dropped = {by_guid(port) for port in readings.ports} - {by_guid(port) for port in kept}
    others = {asking_rail(*rail) for rail in expected.neighbours}
    return replace(
        readings,
        ports=tuple(kept),
        is_whole=readings.is_whole and bool(kept),
        counters=_drop_ports(dropped, readings.counters),
        later=_drop_ports(dropped, readings.later),
        managers={asked: manager for asked, manager in readings.managers.items() if asked not in others},
    )


def subnets(ports: Iterable[PortState]) -> list[list[PortState]]:
    """Return the ports of each subnet, in their order. Ports that cables join are in the same subnet."""
    known = list(ports)
    above: dict[object, object] = {}

    def top(node: object) -> object:
        while above.setdefault(node, node) != node:
            node = above[node]
        return node

    for port in known:
        if port.peer is not None:
            above[top(_node(port))] = top(_node(port.peer))
    found: dict[object, list[PortState]] = {}
    for port in known:
        found.setdefault(top(_node(port)), []).append(port)
    return list(found.values())


def _node(end: PortState | Peer) -> object:
    """Return what names a switch, or one port of an adapter: an adapter's ports may be on different subnets."""
    return end.lid or (end.node, end.device, end.port if end.device is not None else None)


def _is_neighbours(expected: ExpectedFabric, port: PortState) -> bool:
    ends: tuple[PortState | Peer | None, ...] = (port, port.peer)
    return any(end is not None and (end.device, end.port) in expected.neighbours for end in ends)


def _drop_ports(dropped: set[object], counted: tuple[PortState, ...] | None) -> tuple[PortState, ...] | None:
    return None if counted is None else tuple(port for port in counted if by_guid(port) not in dropped)


FORMAT = 1


def report_lines(expected: ExpectedFabric, report: Report) -> list[str]:
    """Return the findings, one paragraph each, what was not seen, and the summary as the last line."""
    lines: list[str] = []
    for finding in report.findings:
        lines += _paragraph(finding)
    if report.unseen:
        more = "root on one node sees all of the subnet" if expected.subnet_manager else "FabricState asks every node"
        lines.append(
            f"not seen: {report.unseen} of {expected.count * len(expected.rails)} ports of rails; judged is what nodes "
            f"read of themselves ({more})"
        )
    lines += [f"note: {one_line(note)}" for note in report.notes]
    if report.hops:
        told = ", ".join(f"{hops}: {pairs}" for hops, pairs in report.hops.items())
        lines.append(f"switches between two nodes on a rail, and how many pairs: {told}")
    return [*lines, summary(expected, report)]


def summary(expected: ExpectedFabric, report: Report) -> str:
    """Return one line that says how much was looked at and what was found."""
    seen = f"{count_of(report.seen, 'port')} of {count_of(report.nodes, 'node')}"
    return f"{expected.fabric}: {seen} seen, {tally(report.findings)}"


def say_no_port_read(expected: ExpectedFabric, report: Report) -> str:
    """Return the sentence for a fabric of which no port was read."""
    devices = ", ".join(f"{rail.device} port {rail.port}" for rail in expected.rails)
    why = f" ({one_line(report.notes[0])})" if report.notes else ""
    return (
        f"{expected.fabric}: found no port of its rails in any reading{why}, expected {devices}; run it on a node of "
        f"the fabric, with infiniband-diags and as root to see all of it, or read saved outputs: --from DIR"
    )


def verdict_sentence(expected: ExpectedFabric, report: Report) -> str:
    """Return the sentence for a record: the first problem and how many more there are, or what is as expected."""
    problems = report.problems
    if not problems:
        return f"{summary(expected, report)}: all as {expected.file} says"
    more = f" (and {count_of(len(problems) - 1, 'more problem')})" if len(problems) > 1 else ""
    return f"{one_line(problems[0].sentence)}{more}"


def to_json(expected: ExpectedFabric, report: Report) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "format": FORMAT,
        "fabric": expected.fabric,
        "ports": report.seen,
        "nodes": report.nodes,
        "unseen": report.unseen,
        "findings": [{**asdict(finding), "sentence": one_line(finding.sentence)} for finding in report.findings],
        "hops": _keys(report.hops),
        "notes": [one_line(note) for note in report.notes],
    }


def _keys(hops: Mapping[int, int]) -> dict[str, int]:
    return {str(number): pairs for number, pairs in hops.items()}


def _paragraph(finding: Finding) -> list[str]:
    head = "problem" if finding.weight == "problem" else "remark"
    return [
        f"{head}: {one_line(finding.place)}: {one_line(finding.found)}",
        f"    expected {one_line(finding.expected)}",
        f"    {one_line(finding.fix)}",
    ]
