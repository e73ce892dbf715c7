"""The leaf switch of each node, its group, and the number of switches between two nodes of a fabric.

They come from the system's file (which may name a file of the scheduler), or from `railyard fabric --keep-hops`, which
found and stored leaf switches and distances. A latency reference may hold for one number of hops only. Then the
switches between a run's two nodes decide whether the run is judged by it. In the test of all pairs of nodes, leaf
switches are sides: pairs are judged within one and across two, and a slow side is named. Groups (of a dragonfly, pods)
are sides of a second level.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import InputError
from railyard.base.files import write_whole
from railyard.base.hostlist import label
from railyard.base.json_codec import FormError, decode, encode
from railyard.base.paths import state_folder
from railyard.base.wording import listing
from railyard.site.systems.model import Fabric, Rail, System

# History of the format: 1 the first; up_links came later, and a file without them has none.


FORMAT = 1
_AGAIN = "measure it again: railyard fabric --keep-hops"


@dataclass(frozen=True, slots=True)
class StoredDistances:
    """The distances of a fabric. ``places``: device, node, place. ``hops``: place, place, switches between them.

    ``up_links``: place, the link from there to another switch in words, its rate in Gbit/s.
    """

    format: int
    system: str
    fabric: str
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hops: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    up_links: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


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
    home: Path, system: str, fabric: str, nodes: Sequence[str], devices: Sequence[str], stated: int | None
) -> int | None:
    """Return the switches between two nodes, if all these rails have the same number; None if that is unknown.

    If no distances are kept, the number that the system's file states counts. Raises InputError for a file that is
    damaged or has another form.
    """
    if len(nodes) != 2:
        return None
    one, other = map(label, nodes)
    kept = stored_distances(home, system, fabric)
    if kept is None:
        return stated
    found = set()
    for device in devices:
        places = kept.places.get(device, {})
        found.add(kept.hops.get(places.get(one, ""), {}).get(places.get(other, "")))
    return found.pop() if len(found) == 1 else None


def stored_distances(home: Path, system: str, fabric: str) -> StoredDistances | None:
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


#: Node (``hostlist.label``): its leaf switch, or its group.
Leaves = Mapping[str, str]
_NONE: Leaves = {}


@dataclass(frozen=True, slots=True)
class Places:
    """The leaf switch of each node on some rails of a fabric, and its group; {} for what is not known.

    If rails have leaf switches of their own, those of all these rails together are one: ``r0leaf1+r1leaf1``; ``rails``
    then has each rail's own by its name.
    """

    leaf_of: Leaves = field(default_factory=dict)
    group_of: Leaves = field(default_factory=dict)
    rails: Mapping[str, Leaves] = field(default_factory=dict)

    def leaf_on(self, rail: str, node: str) -> str | None:
        """Return the leaf switch of a node on one rail; None if it is not known."""
        return self.rails.get(rail, self.leaf_of).get(label(node))


def stated_leaves(switches: Mapping[str, Sequence[str]]) -> Leaves:
    """Return each node's leaf switch from the system's file, which has each switch with its nodes."""
    return {label(node): switch for switch, nodes in switches.items() for node in nodes}


def places_of(home: Path, system: System, fabric: str, rails: Sequence[Rail]) -> Places:
    """Return where each node is on these rails: as the system's file states it, else as it was measured.

    Several rails only count if all of them divide the nodes in the same way. Raises InputError for a file of distances
    that is damaged or has another form.
    """
    own = system.fabrics[fabric]
    if own.leaf_switches:
        leaf_of = stated_leaves(own.leaf_switches)
        return Places(leaf_of, _groups_of(leaf_of, own.groups))
    stated = {rail.name: stated_leaves(rail.leaf_switches) for rail in rails if rail.leaf_switches}
    if stated:
        groups = [_groups_of(each, own.groups) for each in stated.values()]
        same = groups[0] if len({_parts(each) for each in groups}) == 1 else _NONE
        return Places(_common_leaves(list(stated.values())), same, stated)
    return Places(_measured_leaves(home, system.system, fabric, [rail.device for rail in rails]))


def hops_of_run(home: Path, system: System, fabric: str, nodes: Sequence[str], rails: Sequence[Rail]) -> int | None:
    """Return the switches between the two nodes of a run over these rails of a fabric.

    None for other numbers of nodes, if the rails differ, and if no distance is known. Raises InputError for a file of
    distances that is damaged or has another form.
    """
    devices = [rail.device for rail in rails]
    stated = {_stated_hops(system.fabrics[fabric], rail, nodes) for rail in rails} or {None}
    return hops_between(home, system.system, fabric, nodes, devices, stated.pop() if len(stated) == 1 else None)


def _stated_hops(fabric: Fabric, rail: Rail, nodes: Sequence[str]) -> int | None:
    """Return the switches between two nodes on a rail, by the system's file; None if it does not say them.

    Two nodes at one leaf switch have 1. Others are known if the file says what joins leaf switches: in a fat tree there
    is one spine between them, or also a switch above each pod; in a group of a dragonfly all switches are joined.
    Between groups of a dragonfly there are two to four, by the cable that a route takes, so that is not known.
    """
    leaf_of = stated_leaves(rail.leaf_switches or fabric.leaf_switches)
    if len(nodes) != 2 or fabric.network == "blocks" or not all(label(node) in leaf_of for node in nodes):
        return None
    one, other = (leaf_of[label(node)] for node in nodes)
    if one == other:
        return 1
    group_of = {leaf: group for group, leaves in fabric.groups.items() for leaf in leaves}
    same = group_of.get(one) == group_of.get(other)
    if fabric.network == "fat-tree":
        return 3 if same else 5
    return 2 if fabric.network == "dragonfly" and same and fabric.groups else None


def contradiction(places: Places, kept: StoredDistances | None, devices: Sequence[str]) -> str | None:
    """Return how the stated leaf switches contradict the measured ones of these devices; None if they do not.

    They contradict each other if two nodes are at one switch by one of them, and at two by the other.
    """
    for device in devices if kept is not None else ():
        there = {label(node): place for node, place in kept.places.get(device, {}).items()} if kept else {}
        both = [node for node in places.leaf_of if node in there]
        for first, second in ((places.leaf_of, there), (there, places.leaf_of)):
            seen: dict[str, str] = {}
            for node in both:
                other = seen.setdefault(first[node], node)
                if second[other] != second[node]:
                    stated, measured = (places.leaf_of[node] for node in (other, node)), (there[other], there[node])
                    return (
                        f"{other} and {node} are at {' and '.join(dict.fromkeys(stated))} by the file, and at "
                        f"{' and '.join(dict.fromkeys(measured))} on {device} as measured"
                    )
    return None


def contradictions(home: Path, system: System) -> Iterator[tuple[str, str]]:
    """Yield each fabric whose stated leaf switches contradict its kept distances, and how.

    Raises InputError for a file of distances that is damaged or has another form.
    """
    for name, fabric in system.fabrics.items():
        kept = stored_distances(home, system.system, name)
        for rail in fabric.rails if kept is not None else ():
            found = contradiction(places_of(home, system, name, (rail,)), kept, (rail.device,))
            if found is not None:
                yield name, found
                break


def _groups_of(leaf_of: Leaves, groups: Mapping[str, Sequence[str]]) -> Leaves:
    group_of = {leaf: group for group, leaves in groups.items() for leaf in leaves}
    return {node: group_of[leaf] for node, leaf in leaf_of.items() if leaf in group_of}


def _common_leaves(of_rails: Sequence[Leaves]) -> Leaves:
    """Return each node's leaf switches of all rails together, if all rails divide the nodes in the same way."""
    if len({_parts(each) for each in of_rails}) != 1:
        return _NONE
    return {node: "+".join(dict.fromkeys(each[node] for each in of_rails)) for node in of_rails[0]}


def _measured_leaves(home: Path, system: str, fabric: str, devices: Sequence[str]) -> Leaves:
    """Return each node's leaf switch as it was measured, if all these rails divide the nodes in the same way: rails of
    several planes have separate switches.
    """
    kept = stored_distances(home, system, fabric)
    if kept is None or not devices:
        return _NONE
    of_rails = [{label(node): place for node, place in kept.places.get(device, {}).items()} for device in devices]
    return of_rails[0] if len({_parts(each) for each in of_rails}) == 1 else _NONE


@dataclass(frozen=True, slots=True)
class PlacesInJob:
    """Where the nodes of a job are. ``is_live``: as its scheduler states it there.

    ``contradiction`` is how that contradicts the system's file; None if it does not. ``agrees``: both divide the nodes
    in the same way.
    """

    places: Places
    is_live: bool = False
    agrees: bool = False
    contradiction: str | None = None


def places_in_job(stated: Places, text: str, file: str, nodes: Sequence[str]) -> PlacesInJob:
    """Return where these nodes are: as Slurm states it in their job (``scontrol show topology``), else as ``stated``.

    What is not readable, has not each node, or has a node at two leaf switches (of two rails) changes nothing. If both
    divide the nodes in the same way, the names of the system's file stay.
    """
    from railyard.parsers import slurm_topology  # only for such a job

    def refuse(name: str, place: slurm_topology.Place) -> tuple[str, str]:
        raise place.error(f"an Include of {name}", "what scontrol show topology prints")

    try:
        found = slurm_topology.parse(text, file, refuse)
    except InputError:
        return PlacesInJob(stated)
    wanted = {label(node): node for node in nodes}
    at = [(label(node), leaf.name) for leaf in found.leaves for node in leaf.nodes if label(node) in wanted]
    leaf_of = dict(at)
    if len(at) != len(wanted) or len(leaf_of) != len(wanted):
        return PlacesInJob(stated)
    live = Places(leaf_of, _groups_of(leaf_of, found.groups))
    known = {node: leaf for node, leaf in stated.leaf_of.items() if node in wanted}
    if _parts(known) == _parts(leaf_of):
        return PlacesInJob(stated, agrees=True)
    if len(known) < len(wanted):
        return PlacesInJob(live, is_live=True)
    return PlacesInJob(live, is_live=True, contradiction=_contradiction(known, leaf_of, wanted))


def _contradiction(stated: Leaves, live: Leaves, nodes: Mapping[str, str]) -> str | None:
    """Return two nodes that are at one leaf switch by one of both, and at two by the other."""
    for first, second in ((stated, live), (live, stated)):
        seen: dict[str, str] = {}
        for node in nodes:
            other = seen.setdefault(first[node], node)
            if second[other] != second[node]:
                both = [listing([*dict.fromkeys((each[other], each[node]))]) for each in (stated, live)]
                return f"{other} and {node} are at {both[0]} by the file, and at {both[1]} by the scheduler"
    return None


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


def text(places: Places) -> str:
    """Return who is where as ``railyard pairs --switches`` reads it: a node and its switch per line, and after a tab
    its group, if it is known.
    """
    groups = places.group_of
    return "".join(
        f"{node} {switch}\t{groups[node]}\n" if node in groups else f"{node} {switch}\n"
        for node, switch in places.leaf_of.items()
    )


def parse(text: str) -> Places:
    """Return who is where by such a text.

    Raises ValueError for a line without node and switch, a node named twice, and a group that only some nodes have.
    """
    found: dict[str, str] = {}
    groups: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        node, _, rest = line.strip().partition(" ")
        switch, _, group = (part.strip() for part in rest.partition("\t"))
        if not switch:
            raise ValueError(f"line {number}: {line.strip()!r}, expected a node and its switch")
        if found.setdefault(label(node), switch) != switch:
            raise ValueError(f"line {number}: {node} is at {switch} and at {found[label(node)]}")
        if group:
            groups[label(node)] = group
    lost = next((node for node in found if node not in groups), None) if groups else None
    if lost is not None:
        raise ValueError(f"{lost} has no group, and others have one")
    return Places(found, groups)


def _parts(leaf_of: Leaves) -> frozenset[frozenset[str]]:
    """Return the sets of nodes that share a leaf switch, whatever the switches' names are."""
    members: dict[str, set[str]] = {}
    for node, switch in leaf_of.items():
        members.setdefault(switch, set()).add(node)
    return frozenset(frozenset(nodes) for nodes in members.values())
