"""All judgements of a fabric together: problems first. Ports that no reading shows are counted."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from railyard.base.hostlist import label
from railyard.base.wording import count_of
from railyard.cluster.fabric.error_counts import counter_findings, signals
from railyard.cluster.fabric.link_state import is_software, link_findings, rails_without_speed
from railyard.cluster.fabric.members import adapters, hop_counts, hop_findings, manager_findings, member_findings
from railyard.cluster.fabric.model import ExpectedFabric, Finding, Readings, Report, by_guid
from railyard.cluster.fabric.roce import roce_findings
from railyard.cluster.fabric.slots import listed_findings, slot_findings
from railyard.cluster.fabric.uniform import driver_findings, uniform_findings
from railyard.cluster.fabric.words import asked_as, is_adapter, some, unique
from railyard.parsers.fabric.port import WAIT, WAIT_MEANS, Peer, PortState

#: In the order in which people fix things: what is there, how it is linked, how it is set.
JUDGES: tuple[Callable[[ExpectedFabric, Readings], list[Finding]], ...] = (
    manager_findings,
    member_findings,
    link_findings,
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
    others = {asked_as(*rail) for rail in expected.neighbours}
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
