"""Counts the switches between two nodes on the shortest path: latency references can depend on hops.

This counts the cabling. Routing tables may take longer ways; adaptive routing takes several.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from railyard.base.hostlist import label
from railyard.cluster.fabric.members import adapters
from railyard.cluster.fabric.model import ExpectedFabric, Finding, Readings
from railyard.cluster.fabric.words import is_adapter, some
from railyard.parsers.fabric.port import Peer, PortState


@dataclass(frozen=True, slots=True)
class Distances:
    """Where each node's rails are plugged in, and how many switches are on the way between two such places.

    ``places``: device -> node -> place: a switch, or a cable that joins two nodes. ``hops``: place -> place -> number
    of switches, without places that cannot be reached. Nodes are labels (``words.label``).
    """

    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hops: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def hops_between(self, device: str, one: str, other: str) -> int | None:
        """Return the number of switches between two nodes on a device's rail; None if no way is known."""
        of_device = self.places.get(device, {})
        first, second = of_device.get(one), of_device.get(other)
        return None if first is None or second is None else self.hops.get(first, {}).get(second)

    def pairs(self) -> dict[tuple[str, str, str], int | None]:
        """Return the number of switches between each two nodes on each rail, by (device, node, node)."""
        return {
            (device, one, other): self.hops_between(device, one, other)
            for device, of_device in self.places.items()
            for one, other in combinations(sorted(of_device), 2)
        }


def hop_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return one finding if pairs of nodes are farther apart than ``hops`` of the file, or not joined at all."""
    if expected.hops is None or not readings.is_whole:
        return []
    far = [
        f"{left}-{right} on {device} ({'no way' if hops is None else hops})"
        for (device, left, right), hops in distances(expected, readings.ports).pairs().items()
        if hops is None or hops > expected.hops
    ]
    if not far:
        return []
    fix = "is a link between switches down? or correct hops of fabric_state"
    meant = f"switches between two nodes: at most {expected.hops}"
    return [Finding("hops", None, None, None, some(far, 4), meant, fix)]


def hop_counts(expected: ExpectedFabric, ports: Iterable[PortState]) -> dict[int, int]:
    """Return number of switches -> how many pairs of nodes have it, on all rails; leave out pairs without a way."""
    counted = Counter(hops for hops in distances(expected, ports).pairs().values() if hops is not None)
    return dict(sorted(counted.items()))


def distances(expected: ExpectedFabric, ports: Iterable[PortState]) -> Distances:
    """Return the distances between the nodes of the file if it names them, else between all hosts.

    Include only devices that the subnet names.
    """
    known = list(ports)
    known_nodes = {label(node) for node in expected.nodes}
    places: dict[str, dict[str, str]] = {}
    hops: dict[str, dict[str, int]] = {}
    for node, of_node in adapters(known).items():
        for port in of_node:
            if port.peer is None or port.device is None or (known_nodes and node not in known_nodes):
                continue
            place = _cable(node, port) if port.peer.device is not None else _switch(port.peer)
            hops[place] = {place: 0} if port.peer.device is not None else {}
            places.setdefault(port.device, {}).setdefault(node, place)
    ways = _ways(known)
    for place, reached in hops.items():  # one search per leaf switch
        if not reached:
            reached |= {there: steps + 1 for there, steps in _search(place, ways).items() if there in hops}
    return Distances(places, hops)


def _cable(node: str, port: PortState) -> str:
    """Return a name for a cable between two nodes: the same one from either end."""
    far = "" if port.peer is None else f"{label(port.peer.node or '')} {port.peer.device}"
    return f"cable {' - '.join(sorted((f'{node} {port.device}', far)))}"


def _switch(end: PortState | Peer) -> str:
    """Return the name of a switch as seen from either side: its LID or, if no manager gave one, its description."""
    return f"LID {end.lid}" if end.lid else str(end.node)


def _ways(ports: Iterable[PortState]) -> Mapping[str, set[str]]:
    ways: dict[str, set[str]] = {}
    for port in ports:
        if port.peer is None or is_adapter(port) or port.peer.device is not None:
            continue
        ways.setdefault(_switch(port), set()).add(_switch(port.peer))
        ways.setdefault(_switch(port.peer), set()).add(_switch(port))
    return ways


def _search(start: str, ways: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the number of steps from one switch to each switch that it reaches."""
    steps = {start: 0}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for there in ways.get(here, ()):
            if there not in steps:
                steps[there] = steps[here] + 1
                waiting.append(there)
    return steps
