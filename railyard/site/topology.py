"""The leaf switch of each node, and the number of switches between two nodes of a fabric.

Both come from the system's file, or from `railyard fabric --keep-hops`, which found and stored them. A latency
reference may hold for one number of hops only. Then the switches between a run's two nodes decide whether the run is
judged by it. In the test of all pairs of nodes, leaf switches are sides: pairs are judged within one and across two,
and a slow side is named.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import InputError
from railyard.base.files import write_whole
from railyard.base.hostlist import label
from railyard.base.json_codec import FormError, decode, encode
from railyard.base.paths import state_folder
from railyard.site.systems.model import Rail, System

# History of the format: 1 the first.


FORMAT = 1
_AGAIN = "measure it again: railyard fabric --keep-hops"


@dataclass(frozen=True, slots=True)
class StoredDistances:
    """The distances of a fabric. ``places``: device, node, place. ``hops``: place, place, switches between them."""

    format: int
    system: str
    fabric: str
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hops: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def file_of(home: Path, system: str, fabric: str) -> Path:
    """Return where a fabric's distances are kept."""
    return state_folder(home) / "hops" / f"{system}.{fabric}.json"


def keep(home: Path, kept: StoredDistances) -> Path:
    """Store a fabric's distances in place of older ones, and return the file."""
    file = file_of(home, kept.system, kept.fabric)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, f"{json.dumps(encode(kept), ensure_ascii=False)}\n")
    return file


def hops_between(
    home: Path, system: str, fabric: str, nodes: Sequence[str], devices: Sequence[str], leaf_of: Mapping[str, str]
) -> int | None:
    """Return the switches between two nodes, if all these rails have the same number; None if that is unknown.

    If no distances are kept, two nodes at one leaf switch of the system's file (``leaf_of``) have 1. Raises InputError
    for a file that is damaged or has another form.
    """
    if len(nodes) != 2:
        return None
    one, other = map(label, nodes)
    kept = kept_of(home, system, fabric)
    if kept is None:
        return 1 if one in leaf_of and leaf_of[one] == leaf_of.get(other) else None
    found = set()
    for device in devices:
        places = kept.places.get(device, {})
        found.add(kept.hops.get(places.get(one, ""), {}).get(places.get(other, "")))
    return found.pop() if len(found) == 1 else None


def kept_of(home: Path, system: str, fabric: str) -> StoredDistances | None:
    """Return what is kept of a fabric, None if nothing is.

    Raises InputError for a file that is damaged or has another form.
    """
    file = file_of(home, system, fabric)
    if not file.is_file():
        return None
    try:
        kept = decode(StoredDistances, json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, FormError) as error:
        raise InputError(str(file), f"no whole table ({error})", "what --keep-hops wrote", action=_AGAIN) from None
    if kept.format != FORMAT:
        raise InputError(str(file), f"format {kept.format}", f"format {FORMAT}", action=_AGAIN)
    return kept


#: Node (``hostlist.label``): its leaf switch.
Leaves = Mapping[str, str]


def stated_leaves(switches: Mapping[str, Sequence[str]]) -> Leaves:
    """Return each node's leaf switch from the system's file, which has each switch with its nodes."""
    return {label(node): switch for switch, nodes in switches.items() for node in nodes}


def hops_of_run(home: Path, system: System, fabric: str, nodes: Sequence[str], rails: Sequence[Rail]) -> int | None:
    """Return the switches between the two nodes of a run over these rails of a fabric.

    None for other numbers of nodes, if the rails differ, and if no distance is known. Raises InputError for a file of
    distances that is damaged or has another form.
    """
    devices, switches = [rail.device for rail in rails], system.fabrics[fabric].leaf_switches
    return hops_between(home, system.system, fabric, nodes, devices, stated_leaves(switches))


def leaves(
    home: Path, system: str, fabric: str, switches: Mapping[str, Sequence[str]], devices: Sequence[str]
) -> Leaves:
    """Return each node's leaf switch: as stated, else as measured; {} if neither says it.

    Measured switches only count if all these rails divide the nodes in the same way: rails of several planes have
    separate switches. Raises InputError for a file of distances that is damaged or has another form.
    """
    if switches:
        return stated_leaves(switches)
    kept = kept_of(home, system, fabric)
    if kept is None or not devices:
        return {}
    of_rails = [{label(node): place for node, place in kept.places.get(device, {}).items()} for device in devices]
    return of_rails[0] if len({_parts(each) for each in of_rails}) == 1 else {}


def sides(leaf_of: Leaves, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the leaf switch of each host, in their order; () if no leaf switch is known.

    Raises ValueError with the name of a host that is at none of the known leaf switches.
    """
    if not leaf_of:
        return ()
    lost = next((name for name in hosts if label(name) not in leaf_of), None)
    if lost is not None:
        raise ValueError(f"{lost} is at none of the known leaf switches, which have {len(leaf_of)} nodes")
    return tuple(leaf_of[label(name)] for name in hosts)


def text(leaf_of: Leaves) -> str:
    """Return the leaf switches as ``railyard pairs --switches`` reads them: one node and its switch per line."""
    return "".join(f"{node} {switch}\n" for node, switch in leaf_of.items())


def parse(text: str) -> Leaves:
    """Return the leaf switches of such a text. Raises ValueError for a line without both, or a node named twice."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        node, _, switch = line.strip().partition(" ")
        if not switch.strip():
            raise ValueError(f"line {number}: {line!r}, expected a node and its switch")
        if found.setdefault(label(node), switch.strip()) != switch.strip():
            raise ValueError(f"line {number}: {node} is at {switch.strip()} and at {found[label(node)]}")
    return found


def _parts(leaf_of: Leaves) -> frozenset[frozenset[str]]:
    """Return the sets of nodes that share a leaf switch, whatever the switches' names are."""
    members: dict[str, set[str]] = {}
    for node, switch in leaf_of.items():
        members.setdefault(switch, set()).add(node)
    return frozenset(frozenset(nodes) for nodes in members.values())
