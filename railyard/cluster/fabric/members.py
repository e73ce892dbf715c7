"""The subnet: whether a manager is in charge, which nodes and rails it lacks, and how far its nodes are apart.

The switches between two nodes on the shortest path are counted: latency references can depend on hops. This counts the
cabling. Routing tables may take longer ways; adaptive routing takes several.
"""

import re
from collections import Counter, deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from railyard.base.hostlist import label
from railyard.base.wording import count_of
from railyard.cluster.fabric.model import (
    ExpectedFabric,
    Finding,
    Manager,
    Readings,
    is_adapter,
    is_other,
    peer_words,
    some,
    unique,
)
from railyard.parsers.fabric.port import Peer, PortState

# sminfo: sm lid 1 sm guid 0xb8599f0300001015, activity count 446 priority 0 state 3 SMINFO_MASTER
_SMINFO = re.compile(
    r"^sminfo: sm lid (?P<lid>[0-9]{1,6}) sm guid (?P<guid>0x[0-9a-fA-F]{1,16}), activity count [0-9]{1,20} "
    r"priority [0-9]{1,3} state [0-9]{1,3} SMINFO_(?P<state>[A-Z_]{1,30})\s*$",
    re.MULTILINE,
)
_START = "start one (opensm, or the switch's own), and read its log"
_CABLE = "is the node up? check its cable, and ibstat on the node"


@dataclass(frozen=True, slots=True)
class Distances:
    """Where each node's rails are plugged in, and how many switches are on the way between two such places.

    ``places``: device -> node -> place: a switch, or a cable that joins two nodes. ``hops``: place -> place -> number
    of switches, without places that cannot be reached. Nodes are labels (``words.label``). ``up_links``: switch with
    nodes -> its port and the switch port at the other end -> the rate of the link between them in Gbit/s.
    """

    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hops: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    up_links: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

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


def member_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each missing node or rail and each unknown host.

    If no subnet was discovered, only rails that a node's own reading lacks count as missing. If a node reports its own
    rail as down, ``link_state`` reports it, and it does not count as missing.
    """
    absent = _find_absent(expected, readings)
    if not readings.is_whole:
        return absent
    seen = adapters(readings.ports)
    if not expected.nodes:
        return absent + _too_few_hosts(expected, seen)
    known = {label(node) for node in expected.nodes}
    if seen and not known & set(seen):
        shown = some(unique(f'"{port.node}"' for ports in seen.values() for port in ports), 3)
        fix = (
            "let each node describe its adapter by its host name (rdma-ndd, or node_desc of its folder in /sys), "
            f"or correct nodes.names of {expected.file}"
        )
        found = f"no node of {expected.file} among {count_of(len(seen), 'host')} of the subnet ({shown})"
        return [*absent, Finding("names", None, None, None, found, f"{count_of(len(known), 'node')} by name", fix)]
    down = {(label(port.node or ""), port.device) for port in readings.own if port.state not in (None, "Active")}
    down |= {(label(finding.node or ""), finding.device) for finding in absent}
    found_ones: list[Finding] = []
    for node in expected.nodes:
        found_ones += _missing_rails(expected, node, seen.get(label(node), []), down)
    return absent + found_ones + _unknown_ports(expected, seen, known)


def _find_absent(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each rail whose device its own node does not show: the card is dead, or not there.

    A host that has none of the rails and none of the nodes' names is another one (a log-in node); it is not judged.
    """
    known = {label(node) for node in expected.nodes}
    found = []
    shown_by: dict[str, set[tuple[str | None, int | None]]] = {}
    for port in readings.own:
        if port.node and port.node not in readings.in_part:
            shown_by.setdefault(port.node, set()).add((port.device, port.port))
    for node, here in shown_by.items():
        gone = [rail for rail in expected.rails if (rail.device, rail.port) not in here]
        if len(gone) == len(expected.rails) and label(node) not in known:
            continue
        for rail in gone:
            fix = "is the card in its slot (lspci), is its driver loaded? or correct rails in " + expected.file
            shown = "no such device or port on the node"
            found.append(Finding("absent", node, rail.device, rail.port, shown, "a rail of the file", fix))
    return found


def adapters(ports: Iterable[PortState]) -> dict[str, list[PortState]]:
    """Return the adapters' linked ports by host (the name's first label), each port once."""
    found: dict[str, dict[object, PortState]] = {}
    for port in ports:
        if is_adapter(port) and port.node is not None and port.peer is not None:
            key = port.guid or (port.device, port.port)
            found.setdefault(label(port.node), {}).setdefault(key, port)
    return {node: list(of_node.values()) for node, of_node in found.items()}


def _missing_rails(
    expected: ExpectedFabric, node: str, ports: list[PortState], down: set[tuple[str, str | None]]
) -> list[Finding]:
    rails = [rail for rail in expected.rails if (label(node), rail.device) not in down]
    meant = f"{count_of(len(expected.rails), 'rail')} of it on the subnet"
    if not rails:
        return []
    if not ports:
        if len(rails) == len(expected.rails):
            return [Finding("missing", node, None, None, "none of its ports on the subnet", meant, _CABLE)]
        return [_lost_port(node, rail.device, rail.port) for rail in rails]
    here = {(port.device, port.port) for port in ports}
    by_name = {rail.device for rail in expected.rails} & {device for device, _ in here}
    if by_name:
        return [_lost_port(node, rail.device, rail.port) for rail in rails if (rail.device, rail.port) not in here]
    # "node1 HCA-1" names no device: then the rails can only be counted
    if len(ports) < len(rails):
        found = f"{count_of(len(ports), 'port')} on the subnet ({some([str(port.device) for port in ports])})"
        return [Finding("missing", node, None, None, found, meant, _CABLE)]
    return []


def _lost_port(node: str, device: str, port: int) -> Finding:
    fix = "its link is down: check its cable, and ibstat on the node"
    return Finding("missing", node, device, port, "no such port on the subnet", "the rail linked", fix)


def _unknown_ports(expected: ExpectedFabric, seen: dict[str, list[PortState]], known: set[str]) -> list[Finding]:
    found = []
    for host, ports in seen.items():
        name = ports[0].node or host
        if host in known or is_other(expected.others, name):
            continue
        ends = sorted((port.peer.node or "", port.peer.port or 0) for port in ports if port.peer)
        where = [f"{switch} port {number}" for switch, number in ends]
        fix = f"add it to nodes.names, or to fabric_state.others of fabrics.{expected.fabric}, in {expected.file}"
        found.append(
            Finding("unknown", name, None, None, f"an unknown host at {some(where)}", "a node of the file", fix)
        )
    return found


def _too_few_hosts(expected: ExpectedFabric, seen: dict[str, list[PortState]]) -> list[Finding]:
    """Return a finding if there are fewer hosts than in the file; additional hosts may be servers and log-in nodes."""
    hosts = [
        ports[0].node or host for host, ports in seen.items() if not is_other(expected.others, ports[0].node or host)
    ]
    if len(hosts) >= expected.count:
        return []
    fix = f"name the nodes in {expected.file} (nodes.names), then missing nodes are named"
    found = f"{count_of(len(hosts), 'host')} on the subnet"
    return [Finding("missing", None, None, None, found, count_of(expected.count, "node"), fix)]


def parse_sminfo(text: str) -> Manager | None:
    """Return what ``sminfo`` prints; None if no manager answers in the text."""
    found = _SMINFO.search(text)
    return Manager(int(found["lid"]), found["guid"].lower(), found["state"]) if found else None


def manager_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding if a manager is expected and none is in charge.

    Without ``sminfo`` the nodes' own ports show it: if a linked port has no manager's LID, no manager configured it.
    """
    if not expected.subnet_manager:
        return []
    if readings.managers:
        return [finding for asked, manager in readings.managers.items() for finding in _answer_findings(asked, manager)]
    linked = [
        port
        for port in readings.own
        if expected.rail(port.device, port.port) and port.physical_state == "LinkUp" and port.sm_lid is not None
    ]
    if linked and all(port.sm_lid == 0 for port in linked):
        return [_finding("no subnet manager's LID on any port that is linked", _START)]
    return []


def _answer_findings(asked: str, manager: Manager | None) -> list[Finding]:
    where = f", asked from {asked}" if asked else ""
    if manager is None:
        return [_finding(f"no subnet manager that answers{where}", _START)]
    if manager.state != "MASTER":
        shown = f"the subnet manager {manager.guid} (LID {manager.lid}) in state {manager.state}{where}"
        return [
            _finding(shown, "a standby manager does not manage the subnet: read its log, and check the other managers")
        ]
    return []


def _finding(found: str, fix: str) -> Finding:
    return Finding("manager", None, None, None, found, "a subnet manager in charge (MASTER)", fix)


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
    return Distances(places, hops, _up_links(known, hops))


def _up_links(ports: Iterable[PortState], leaves: Container[str]) -> Mapping[str, Mapping[str, float]]:
    """Return the rates of the active links from each of these switches to other switches, Gbit/s."""
    found: dict[str, dict[str, float]] = {}
    for port in ports:
        if port.peer is None or is_adapter(port) or port.peer.device is not None or _switch(port) not in leaves:
            continue
        if port.is_active is not False and port.rate is not None:
            found.setdefault(_switch(port), {})[f"port {port.port} to {peer_words(port.peer)}"] = port.rate
    return found


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
