"""The ports of a bonded rail (LAG): whether all are up and as many as the system's file says, and who carried what.

One flow goes over one port, so that a bond with a dead port gives a single stream all that it ever had: it is found
here, not by a bandwidth.
"""

from collections.abc import Collection, Iterator, Mapping

from railyard.base.wording import listing, percent
from railyard.hardware.bonding import carrying, one_at_a_time
from railyard.job.counters.node import Bond, DeviceCounters, NodeCounters
from railyard.results.record.form import Suspect
from railyard.verdict.path.split import Finding


def port_findings(node: str, reading: NodeCounters, rails: Mapping[str, int]) -> list[Finding]:
    """Return what is wrong with the ports of a node's meant rails. ``rails``: how many ports the file says each has."""
    found = []
    for rail, expected in rails.items():
        bond = reading.bonds.get(rail)
        if (1 if bond is None else carrying(bond.mode, len(bond.ports))) != expected:
            found.append(_miscounted(node, rail, bond, expected))
        ports = () if bond is None else bond.ports
        found += [_down(node, rail, port, len(ports)) for port in ports if port.carrier_after is False]
    return found


def port_remarks(node: str, reading: NodeCounters, rails: Mapping[str, int]) -> list[str]:
    """Return over which of its ports a bonded rail sent, where their interfaces count that.

    RDMA is not in the counters of an interface, so that nothing is said of a rail that is an RDMA device.
    """
    said = []
    for rail in rails:
        device, bond = reading.device(rail), reading.bonds.get(rail)
        if device is None or bond is None or device.driver != "netdev":
            continue
        sent = {port.device: port.tx.delta_bytes or 0 for port in bond.ports}
        whole = sum(sent.values())
        if whole:
            shares = listing([f"{percent(amount / whole)} over {port}" for port, amount in sent.items()])
            said.append(f"{rail} of {node} sent {shares}, the ports bonded to it")
    return said


def ports_of(reading: NodeCounters, rails: Collection[str]) -> Iterator[tuple[str, DeviceCounters]]:
    """Yield each port that is bonded to a meant rail, after that rail's name."""
    for rail, bond in reading.bonds.items():
        if rail in rails:
            yield from ((rail, port) for port in bond.ports)


def _miscounted(node: str, rail: str, bond: Bond | None, expected: int) -> Finding:
    if bond is None:
        there = "is no bond"
    else:
        mode = ", of which one carries all" if one_at_a_time(bond.mode) else ""
        names = listing([port.device for port in bond.ports]) or "no port"
        there = f"is a bond ({bond.mode}) of {names}{mode}"
    sentence = f"{rail} of {node} {there}, and the system's file says bonded_ports: {expected}"
    look = f"bonded_ports of {rail} in the system's file, and /proc/net/bonding on {node}"
    return Finding("failed", sentence, "set-up", look, (Suspect("rail", sentence, node, rail),))


def _down(node: str, rail: str, port: DeviceCounters, count: int) -> Finding:
    when = "lost its carrier during the run" if port.carrier_before else "has no carrier"
    sentence = f"{port.device} of {node}, one of {count} ports bonded to {rail}, {when}"
    look = f"cable, port and driver of {port.device} on {node}"
    return Finding("failed", sentence, "fabric", look, (Suspect("rail", sentence, node, rail),))
