"""The leaf switch that each node stands at: as the system's file says, or as `railyard fabric --keep-hops` found it.

All pairs of nodes are judged by these sides of the switch: within one and across two, and a side that is slow is named.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from railyard.base.hostlist import label
from railyard.site.hops import hops_between, kept_of
from railyard.site.systems.load import System

#: Node (``hostlist.label``): its leaf switch.
Leaves = Mapping[str, str]


def stated(switches: Mapping[str, Sequence[str]]) -> Leaves:
    """Return each node's leaf switch by the system's file: switch, nodes at it."""
    return {label(node): switch for switch, nodes in switches.items() for node in nodes}


def hops_of_run(home: Path, system: System, fabric: str, nodes: Sequence[str], rails: int) -> int | None:
    """Return the switches between the two nodes of a run over the first so many rails of a fabric.

    None for other numbers of nodes, where the rails differ, and where no distance is known. Raises InputError for a
    file of distances that is damaged or of another form.
    """
    meant = system.fabrics[fabric]
    devices = [rail.device for rail in meant.rails[:rails]]
    return hops_between(home, system.system, fabric, nodes, devices, stated(meant.leaf_switches))


def leaves(
    home: Path, system: str, fabric: str, switches: Mapping[str, Sequence[str]], devices: Sequence[str]
) -> Leaves:
    """Return each node's leaf switch: as stated, else as measured; {} where neither says it.

    What was measured is taken where these rails part the nodes alike: rails of several planes have switches of their
    own. Raises InputError for a file of distances that is damaged or of another form.
    """
    if switches:
        return stated(switches)
    kept = kept_of(home, system, fabric)
    if kept is None or not devices:
        return {}
    of_rails = [{label(node): place for node, place in kept.places.get(device, {}).items()} for device in devices]
    return of_rails[0] if len({_parts(each) for each in of_rails}) == 1 else {}


def sides(leaf_of: Leaves, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the leaf switch of each host, in their order; () where no leaf switch is known.

    Raises ValueError naming a host that stands at none of the leaf switches that are known.
    """
    if not leaf_of:
        return ()
    lost = next((name for name in hosts if label(name) not in leaf_of), None)
    if lost is not None:
        raise ValueError(f"{lost} stands at none of the leaf switches that are known, which have {len(leaf_of)} nodes")
    return tuple(leaf_of[label(name)] for name in hosts)


def text(leaf_of: Leaves) -> str:
    """Return the leaf switches as ``railyard pairs --switches`` reads them: a node and its switch a line."""
    return "".join(f"{node} {switch}\n" for node, switch in leaf_of.items())


def parse(text: str) -> Leaves:
    """Return the leaf switches of such a text. Raises ValueError naming a line without both, or a node twice."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        node, _, switch = line.strip().partition(" ")
        if not switch.strip():
            raise ValueError(f"line {number}: {line!r}, expected a node and its switch")
        if found.setdefault(label(node), switch.strip()) != switch.strip():
            raise ValueError(f"line {number}: {node} stands at {switch.strip()} and at {found[label(node)]}")
    return found


def _parts(leaf_of: Leaves) -> frozenset[frozenset[str]]:
    """Return the sets of nodes that share a leaf, whatever the leaves are called."""
    members: dict[str, set[str]] = {}
    for node, switch in leaf_of.items():
        members.setdefault(switch, set()).add(node)
    return frozenset(frozenset(nodes) for nodes in members.values())
