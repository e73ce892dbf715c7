"""The subnet: whether a manager is in charge, which nodes and rails it lacks, which hosts are unexpected."""

import re
from collections.abc import Iterable

from railyard.base.hostlist import label
from railyard.base.wording import count_of
from railyard.cluster.fabric.model import ExpectedFabric, Finding, Manager, Readings
from railyard.cluster.fabric.words import is_adapter, is_other, some, unique
from railyard.parsers.fabric.port import PortState

# sminfo: sm lid 1 sm guid 0xb8599f0300001015, activity count 446 priority 0 state 3 SMINFO_MASTER
_SMINFO = re.compile(
    r"^sminfo: sm lid (?P<lid>[0-9]{1,6}) sm guid (?P<guid>0x[0-9a-fA-F]{1,16}), activity count [0-9]{1,20} "
    r"priority [0-9]{1,3} state [0-9]{1,3} SMINFO_(?P<state>[A-Z_]{1,30})\s*$",
    re.MULTILINE,
)
_START = "start one (opensm, or the switch's own), and read its log"
_CABLE = "is the node up? check its cable, and ibstat on the node"


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
