"""Merges several tools' views of a port into one PortState: a later view fills what an earlier one lacks."""

from collections.abc import Callable, Iterable
from typing import Any

from railyard.base.hostlist import label
from railyard.parsers.fabric.port import PortState

Key = Callable[[PortState], object]
_MOST_LIDS = 65536


def by_guid(port: PortState) -> object:
    """Return what names a port on the subnet: GUID and number, or its description if it has no GUID."""
    return (port.guid, port.port) if port.guid else (port.node, port.device, port.port)


def by_device(port: PortState) -> object:
    """Return what names a node's own port."""
    return label(port.node or ""), port.device, port.port


def merge_ports(key: Key, *views: Iterable[PortState]) -> tuple[PortState, ...]:
    """Return each port once, in the order of its first view; a later view does not overwrite a field.

    The port has the counters of all views; if two have the same name, the earlier view's value is kept.
    """
    found: dict[object, PortState] = {}
    for view in views:
        for port in view:
            before = found.get(key(port))
            found[key(port)] = port if before is None else _fill_in(before, port)
    return tuple(found.values())


def _fill_in(first: PortState, second: PortState) -> PortState:
    new: dict[str, Any] = {
        name: value for name, value in second._asdict().items() if value is not None and getattr(first, name) is None
    }
    if second.counters:
        new["counters"] = {**second.counters, **first.counters}
        new["saturated"] = tuple(dict.fromkeys((*first.saturated, *second.saturated)))
    if second.extra:
        new["extra"] = {**second.extra, **first.extra}
    return first._replace(**new) if new else first


def with_subnet(known: tuple[PortState, ...], more: tuple[PortState, ...], place: int) -> tuple[PortState, ...]:
    """Return the ports of all subnets. The views of two rails show one subnet if they share a GUID, else two.

    Each subnet has its own LIDs. Those of a further subnet are moved up, so that no two ports have the same LID.
    """
    guids = {port.guid for port in known if port.guid}
    if any(port.guid in guids for port in more):
        return merge_ports(by_guid, known, more)
    return (*known, *(_renumber(port, place * _MOST_LIDS) for port in more))


def _renumber(port: PortState, by: int) -> PortState:
    peer = port.peer
    if peer is not None and peer.lid:
        peer = peer._replace(lid=peer.lid + by)
    return port._replace(lid=port.lid + by if port.lid else port.lid, peer=peer)
