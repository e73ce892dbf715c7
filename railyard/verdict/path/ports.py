"""What the ports of the intended rails show: errors during a run, bonded ports (LAG), and addresses of two nodes.

A hard error is one that a healthy link does not make within minutes (a link that goes down, a packet that arrives
broken). A signal is normal in a working fabric under load (pause, ECN, a packet that is sent again), so it decides
nothing unless the system's file bounds it. One flow uses one port, so a bond with a dead port still gives a single
stream its full bandwidth: the dead port is found here, not by a bandwidth.

An address that two nodes have is seen from both sides of a run: the owner's own address, and the sender's ARP table.
The node that should have the address is the victim: its rail is healthy, and probes of rails could not show that.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from railyard.base.bounds import HARD_ERRORS, RESENT_LEAST, RESENT_SHARE
from railyard.base.wording import some
from railyard.hardware.counters import error_maximum
from railyard.hardware.links import active_ports, one_at_a_time
from railyard.job.counters import Bond, DeviceCounters, NodeCounters
from railyard.results.record.form import Suspect
from railyard.verdict.path.traffic import Finding
from railyard.verdict.rule_model import Conflict
from railyard.verdict.wording import path as words

_SHOWN = 4


def port_findings(node: str, reading: NodeCounters, rails: Mapping[str, int]) -> list[Finding]:
    """Return what is wrong with the ports of a node's intended rails. ``rails``: how many ports the file gives each."""
    found = []
    for rail, expected in rails.items():
        bond = reading.bonds.get(rail)
        if (1 if bond is None else active_ports(bond.mode, len(bond.ports))) != expected:
            found.append(_find_miscount(node, rail, bond, expected))
        ports = () if bond is None else bond.ports
        found += [_find_down(node, rail, port, len(ports)) for port in ports if port.carrier_after is False]
    return found


def port_remarks(node: str, reading: NodeCounters, rails: Mapping[str, int]) -> list[str]:
    """Return over which of its ports a bonded rail sent, if their interfaces count that.

    The counters of an interface do not include RDMA, so there is no such remark for a rail that is an RDMA device.
    """
    said = []
    for rail in rails:
        device, bond = reading.device(rail), reading.bonds.get(rail)
        if device is None or bond is None or device.driver != "netdev":
            continue
        sent = {port.device: port.tx.delta_bytes or 0 for port in bond.ports}
        whole = sum(sent.values())
        if whole:
            shares = {port: amount / whole for port, amount in sent.items()}
            said.append(words.bonded_shares(rail, node, shares))
    return said


def link_findings(node: str, reading: NodeCounters, rails: Collection[str]) -> list[Finding]:
    """Return a finding for each intended rail of a node whose link was lost during the run, even if it came back."""
    found = []
    for rail, device in _of_rails(reading, rails):
        where = words.place(device.device, node, rail)
        if device.carrier_after is not False and device.carrier_changes:
            said = words.say_flapped(where, device.carrier_changes)
        elif device.carrier_after is False and device.device == rail:
            said = words.lost_carrier(where)
        else:  # port_findings reports a bonded port without a carrier
            continue
        suspect = Suspect("rail", said, node, rail)
        found.append(Finding("failed", said, "fabric", words.look_at_link(where), (suspect,), is_link=True))
    return found


def error_findings(
    node: str, reading: NodeCounters, rails: Collection[str], bounds: Mapping[str, int]
) -> list[Finding]:
    """Return a finding for each intended rail of a node with errors above their bound; the rail is the suspect.

    Errors of a port that is bonded to a rail count for that rail. ``bounds`` are the system's own, by plain name; a
    signal has a bound only there.
    """
    found = []
    for rail, device in _of_rails(reading, rails):
        said = [_find_excess(counter, grown, bounds) for counter, grown in _bounded_signals(device, bounds).items()]
        broken = [sentence for sentence in said if sentence is not None]
        if broken:
            where = words.place(device.device, node, rail)
            sentence = words.errors(where, broken)
            suspect = Suspect("rail", "; ".join(broken), node, rail)
            found.append(Finding("failed", sentence, "fabric", words.look_at(where), (suspect,)))
    return found


def error_remarks(node: str, reading: NodeCounters, rails: Collection[str]) -> list[str]:
    """Return what was seen but decides nothing, and what could not be seen, one sentence each."""
    said = []
    for rail, device in _of_rails(reading, rails):
        if device.signals:
            grown = [f"{plain_name(counter)} {count}" for counter, count in device.signals.items()]
            where = words.place(device.device, node, rail)
            said.append(words.signals(where, grown[:_SHOWN], len(grown) - _SHOWN))
        said += _unseen_errors(node, rail, device)
    return said + _describe_resent(node, reading)


def remarks_of_many(
    readings: Mapping[str, NodeCounters], rails: Collection[str], bonded: Mapping[str, int]
) -> list[str]:
    """Return what ``port_remarks`` and ``error_remarks`` say about each node, if the nodes are too many for a sentence.

    Signals are summed up: on how many rails each grew, and by how much at most.
    """
    most: dict[str, tuple[int, str]] = {}
    counts: Counter[str] = Counter()
    others: list[str] = []
    for node, reading in readings.items():
        others += port_remarks(node, reading, bonded)
        for rail, device in _of_rails(reading, rails):
            for counter, count in device.signals.items():
                counts[counter] += 1
                if count > most.get(counter, (0, ""))[0]:
                    most[counter] = count, words.place(device.device, node, rail)
            others += _unseen_errors(node, rail, device)
        others += _describe_resent(node, reading)
    said = [
        words.signals_of_many(plain_name(counter), of, grown, where)
        for counter, of in counts.most_common()
        for grown, where in (most[counter],)
    ]
    return [*said, *([some(others)] if others else [])]


def _unseen_errors(node: str, rail: str, device: DeviceCounters) -> list[str]:
    """Return which of a port's errors cannot be seen, one sentence each."""
    where = words.place(device.device, node, rail) if device.stuck or device.virtual else ""
    said = []
    for counter in device.stuck:
        said.append(words.at_maximum(plain_name(counter), where, error_maximum(counter)))
    if device.virtual:
        said.append(words.virtual(where))
    return said


def _describe_resent(node: str, reading: NodeCounters) -> list[str]:
    if not (loses(reading) and reading.resent and reading.sent):
        return []
    return [words.say_resent(node, reading.resent, reading.sent)]


def loses(reading: NodeCounters) -> bool:
    """Return whether TCP of a node sent more segments again than over a healthy path, over any rail."""
    return sends_again(reading.resent, reading.sent)


def sends_again(resent: int | None, sent: int | None) -> bool:
    """Return whether TCP sent more segments again than over a healthy path; False if that was not read.

    A few are chance: a node that only acknowledges may send two of a thousand again.
    """
    if resent is None or sent is None:
        return False
    return resent > max(RESENT_LEAST.value, RESENT_SHARE.value * sent)


def plain_name(counter: str) -> str:
    """Return a counter's name as in a system's file: without the folder."""
    return counter.removeprefix("hw/")


def _find_miscount(node: str, rail: str, bond: Bond | None, expected: int) -> Finding:
    if bond is None:
        there = words.no_bond()
    else:
        there = words.bond(bond.mode, [port.device for port in bond.ports], one_at_a_time(bond.mode))
    sentence, look = words.miscount(rail, node, there, expected), words.look_at_bond(rail, node)
    return Finding("failed", sentence, "set-up", look, (Suspect("rail", sentence, node, rail),))


def _find_down(node: str, rail: str, port: DeviceCounters, count: int) -> Finding:
    sentence = words.port_down(port.device, node, count, rail, bool(port.carrier_before))
    look = words.look_at_port(port.device, node)
    return Finding("failed", sentence, "fabric", look, (Suspect("rail", sentence, node, rail),))


def _ports_of(reading: NodeCounters, rails: Collection[str]) -> Iterator[tuple[str, DeviceCounters]]:
    """Yield each port that is bonded to a meant rail, after that rail's name."""
    for rail, bond in reading.bonds.items():
        if rail in rails:
            yield from ((rail, port) for port in bond.ports)


def _of_rails(reading: NodeCounters, rails: Collection[str]) -> list[tuple[str, DeviceCounters]]:
    own = [(device.device, device) for device in reading.devices if device.device in rails]
    return [*own, *_ports_of(reading, rails)]


def _bounded_signals(device: DeviceCounters, bounds: Mapping[str, int]) -> dict[str, int]:
    bounded = {counter: grown for counter, grown in device.signals.items() if plain_name(counter) in bounds}
    return {**device.errors, **bounded}


def _find_excess(counter: str, grown: int, bounds: Mapping[str, int]) -> str | None:
    name = plain_name(counter)
    bound = bounds.get(name, round(HARD_ERRORS.value))
    if grown <= bound:
        return None
    whose = words.of_the_file() if name in bounds else HARD_ERRORS.name
    return words.grew(name, grown, bound, whose)


def find_conflicts(readings: Mapping[str, NodeCounters], rails: Collection[str]) -> tuple[Conflict, ...]:
    """Return each address of a node at which another node found hardware that is not the first node's.

    This covers the intended ``rails`` and the interfaces on their ports. If several of these nodes say that an address
    is their own, it counts as the first one's. Hardware that answers for several nodes' addresses is a router or a
    cloud's virtual switch (Azure's answers for all of a subnet), and no second owner.
    """
    known = {node: reading.addresses for node, reading in readings.items()}
    whose = {which: (node, device) for node, its in known.items() for which, device in its.hardware.items()}
    owners: dict[str, str] = {}
    for node, its in known.items():
        for address in its.own:
            owners.setdefault(address, node)
    found: dict[tuple[str, str], Conflict] = {}
    for node, its in known.items():
        for neighbour in its.neighbours:
            seen = readings[node].device(neighbour.device)
            if neighbour.device not in rails and (seen is None or seen.beside is None):
                continue
            owner = owners.get(neighbour.address)
            if owner is None or owner == node or neighbour.hardware in known[owner].hardware:
                continue
            who = whose.get(neighbour.hardware, (None, None))
            one = Conflict(neighbour.address, owner, neighbour.device, node, neighbour.hardware, *who)
            found.setdefault((one.address, one.hardware), one)
    answers_for: dict[str, set[str]] = {}
    for one in found.values():
        answers_for.setdefault(one.hardware, set()).add(one.owner)
    return tuple(one for one in found.values() if len(answers_for[one.hardware]) == 1)
