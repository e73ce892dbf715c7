"""How many switches lie between two nodes on the shortest way: latency references can be by hops.

Routing tables may take longer ways; adaptive routing takes several. What is counted here is the cabling.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from itertools import combinations

from railyard.fabric.members import adapters
from railyard.fabric.model import Expected, Finding, Readings
from railyard.fabric.words import is_adapter, label, some
from railyard.parsers.fabric.port import Peer, PortState

Switch = object


def hop_findings(expected: Expected, readings: Readings) -> list[Finding]:
    """Return one finding where pairs of nodes are farther apart than ``hops`` of the file, or not joined at all."""
    if expected.hops is None or not readings.is_whole:
        return []
    far = [
        f"{left}-{right} on {device} ({'no way' if hops is None else hops})"
        for (device, left, right), hops in between(expected, readings.ports).items()
        if hops is None or hops > expected.hops
    ]
    if not far:
        return []
    fix = "is a link between switches down? or mend hops of fabric_state"
    meant = f"switches between two nodes: at most {expected.hops}"
    return [Finding("hops", None, None, None, some(far, 4), meant, fix)]


def hop_counts(expected: Expected, ports: Iterable[PortState]) -> dict[int, int]:
    """Return how many pairs of nodes, rail by rail, have so many switches between them; without a way they are none."""
    counted = Counter(hops for hops in between(expected, ports).values() if hops is not None)
    return dict(sorted(counted.items()))


def between(expected: Expected, ports: Iterable[PortState]) -> dict[tuple[str, str, str], int | None]:
    """Return the switches between each two nodes on each rail, by (device, node, node); None where no way is.

    0 for two nodes joined by a cable. Only devices that the subnet names are told.
    """
    known = list(ports)
    ways = _ways(known)
    known_nodes = {label(node) for node in expected.nodes}
    ours = {(port.node, port.device) for port in known if is_adapter(port)}
    places: dict[str, dict[str, tuple[Switch, bool]]] = {}
    for node, of_node in adapters(known).items():
        for port in of_node:
            if port.peer is not None and port.device is not None and (not known_nodes or node in known_nodes):
                place = (_switch(port.peer), (port.peer.node, port.peer.device) not in ours)
                places.setdefault(port.device, {}).setdefault(node, place)
    found: dict[tuple[str, str, str], int | None] = {}
    for device, of_device in places.items():
        # Nodes at one switch share its distances: as many searches as there are leaves.
        distances: dict[Switch, dict[Switch, int]] = {}
        for left, right in combinations(sorted(of_device), 2):
            (first, first_is), (second, second_is) = of_device[left], of_device[right]
            if not (first_is and second_is):
                found[device, left, right] = 0
                continue
            if first not in distances:
                distances[first] = _search(first, ways)
            steps = distances[first].get(second)
            found[device, left, right] = None if steps is None else steps + 1
    return found


def _switch(end: PortState | Peer) -> Switch:
    """Return what names a switch from either side: its LID, and where no manager gave one, its description."""
    return end.lid or end.node


def _ways(ports: Iterable[PortState]) -> Mapping[Switch, set[Switch]]:
    ways: dict[Switch, set[Switch]] = {}
    for port in ports:
        if port.peer is None or is_adapter(port) or port.peer.device is not None:
            continue
        ways.setdefault(_switch(port), set()).add(_switch(port.peer))
        ways.setdefault(_switch(port.peer), set()).add(_switch(port))
    return ways


def _search(start: Switch, ways: Mapping[Switch, set[Switch]]) -> dict[Switch, int]:
    """Return the steps from one switch to each that can be reached."""
    steps = {start: 0}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for there in ways.get(here, ()):
            if there not in steps:
                steps[there] = steps[here] + 1
                waiting.append(there)
    return steps
