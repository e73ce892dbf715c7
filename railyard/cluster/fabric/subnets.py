"""Two fabrics on the same nodes: which of the discovered subnets belong to the fabric that is judged.

A node with an EDR and an FDR card is on two subnets, and the diagnostics ask from both. What is on the other fabric's
subnet is not compared with the link, nodes and counters of this one.
"""

from collections.abc import Iterable
from dataclasses import replace

from railyard.cluster.fabric.merge import by_guid
from railyard.cluster.fabric.model import ExpectedFabric, Readings
from railyard.cluster.fabric.words import asked_as, is_adapter
from railyard.parsers.fabric.port import Peer, PortState


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
