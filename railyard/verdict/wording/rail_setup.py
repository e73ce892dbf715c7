"""The sentences about rails that are not set or wired as the system's file says."""

from collections.abc import Mapping, Sequence

from railyard.base.hostlist import MOST_IN_WORDS, list_nodes
from railyard.base.wording import listing


def fabric_in_file(system: str, fabric: str) -> str:
    """Return where the system's file describes a fabric."""
    return f"(systems/{system}.yaml, fabrics.{fabric})"


def slower_rail(rail: str, node: str, slower: str, system: str, fabric: str) -> str:
    """Return that a rail of a node runs slower than its file says; ``slower``: its port or its slot."""
    return f"{rail} of {node} {slower} {fabric_in_file(system, fabric)}"


def slow_port(rate: str, expected: str) -> str:
    """Return at which rate a port runs, and which generation of its link is expected."""
    return f"runs at {rate}, expected {expected}"


def slow_slot(generation: int, width: str, expected_generation: int, expected_lanes: int) -> str:
    """Return in which slot of PCI Express a card runs, and which one is expected."""
    return f"runs at PCIe Gen{generation} x{width}, expected Gen{expected_generation} x{expected_lanes}"


def different_mtus(rail: str, mtus: Mapping[str, int], fabric: str) -> str:
    """Return that the nodes' MTUs of a rail differ, and that the system's file sets none."""
    return f"the MTU of {rail} differs: {mtus_by_node(mtus)}; set mtu of fabrics.{fabric} in the system's file"


def other_mtu(rail: str, mtus: Mapping[str, int], expected: int | None, system: str, fabric: str) -> str:
    """Return that the MTU of a rail is not that of the system's file on some nodes."""
    return f"the MTU of {rail} is {mtus_by_node(mtus)}, expected {expected} {fabric_in_file(system, fabric)}"


def mtus_by_node(mtus: Mapping[str, int]) -> str:
    """Return each MTU with its node; of many nodes each value once, with all nodes that have it."""
    if len(mtus) <= MOST_IN_WORDS:
        return listing([f"{mtu} on {node}" for node, mtu in mtus.items()])
    nodes: dict[int, list[str]] = {}
    for node, mtu in mtus.items():
        nodes.setdefault(mtu, []).append(node)
    return listing([f"{mtu} on {list_nodes(where)}" for mtu, where in nodes.items()])


def outside_network(rail: str, node: str, networks: Sequence[str], expected: str, system: str, fabric: str) -> str:
    """Return that a rail of a node is in another network than the system's file says."""
    return f"wiring: {rail} of {node} is in {listing(networks)}, expected {expected} {fabric_in_file(system, fabric)}"


def crossed_rails(
    rail: str, node: str, networks: Sequence[str], other: str, shared: Sequence[str], other_networks: Sequence[str]
) -> str:
    """Return that a rail of a node shares a network only with other rails of another node."""
    return (
        f"wiring: {rail} of {node} is in {listing(networks)}, where {other} has {listing(shared)}, and {rail} of "
        f"{other} is in {listing(other_networks)}: expected rails of one name in one network"
    )


def subnet(prefix: str) -> str:
    """Return an InfiniBand subnet by its prefix."""
    return f"the subnet {prefix}"
