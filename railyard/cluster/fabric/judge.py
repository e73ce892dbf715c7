"""All judgements of a fabric together: problems first. Ports that no reading shows are counted."""

from collections.abc import Callable
from dataclasses import replace

from railyard.base.hostlist import label
from railyard.base.wording import count_of
from railyard.cluster.fabric.error_counts import counter_findings, signals
from railyard.cluster.fabric.link_state import is_software, link_findings, rails_without_speed
from railyard.cluster.fabric.manager import manager_findings
from railyard.cluster.fabric.members import adapters, member_findings
from railyard.cluster.fabric.model import ExpectedFabric, Finding, Readings, Report
from railyard.cluster.fabric.node_listings import listed_findings
from railyard.cluster.fabric.roce import roce_findings
from railyard.cluster.fabric.slots import slot_findings
from railyard.cluster.fabric.subnets import of_subnets
from railyard.cluster.fabric.topology import hop_counts, hop_findings
from railyard.cluster.fabric.uniform import driver_findings, uniform_findings
from railyard.cluster.fabric.words import some, unique
from railyard.parsers.fabric.port_remarks import WAIT, WAIT_MEANS

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
