"""The switches of a fabric from a file that the site has already: who is at which leaf switch, and in which group.

A system's file names that file, and its fabric is then as if the switches were written there. A form is one field of
``TopologySource`` and one entry of ``_READERS``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railyard.base.errors import InputError, did_you_mean, note_remark
from railyard.base.hostlist import label, list_nodes
from railyard.base.paths import why_absent
from railyard.base.strict_yaml import MAX_BYTES, Document
from railyard.base.values import show
from railyard.base.wording import listing
from railyard.site.systems.parts import TopologySource

if TYPE_CHECKING:
    from railyard.parsers.slurm_topology import Place, SlurmTopology, Switch
    from railyard.site.systems.model import Fabric, Rail, System

Switches = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class ReadTopology:
    """What a file says: its leaf switches (or blocks of nodes), and the groups that these are in.

    ``levels``: how many switches are above one another, 1 if there are only leaf switches.
    """

    leaves: "tuple[Switch, ...]"
    groups: Mapping[str, tuple[str, ...]]
    are_switches: bool
    levels: int


def _read_slurm(path: Path, shown: str, source: TopologySource) -> ReadTopology:
    from railyard.parsers import slurm_topology  # only for a site that states its switches so

    def read_included(name: str, place: "Place") -> tuple[str, str]:
        return str(Path(shown).parent / name), _text(path.parent / name, place)

    found: SlurmTopology = slurm_topology.parse(
        _text(path, slurm_topology.Place(shown, 1)), shown, read_included, source.name
    )
    return ReadTopology(found.leaves, found.groups, found.kind == "tree", found.levels)


#: The field that names a file -> what reads it, from the path and the name that errors show. Each raises InputError,
#: with file and line, for what it cannot read.
_READERS: Mapping[str, Callable[[Path, str, TopologySource], ReadTopology]] = {"slurm": _read_slurm}


def with_topologies(system: "System", document: Document, folder: Path) -> "System":
    """Return the system whose fabrics have the switches that their ``topology`` names, limited to the system's nodes.

    A file with an absolute path that this machine lacks is a remark, since only the cluster may have it; its fabric
    then has no known switches. Raises InputError for any other file that cannot be read, and for switches that
    contradict the system's nodes or rails.
    """
    fabrics = {
        name: fabric if fabric.topology is None else _with_switches(system, name, fabric, document, folder)
        for name, fabric in system.fabrics.items()
    }
    return system.model_copy(update={"fabrics": fabrics}) if fabrics != system.fabrics else system


def _with_switches(system: "System", name: str, fabric: "Fabric", document: Document, folder: Path) -> "Fabric":
    path, source = ("fabrics", name, "topology"), fabric.topology
    assert source is not None
    stated = [field for field in ("leaf_switches", "groups") if getattr(fabric, field)]
    stated += [f"leaf_switches of {rail.name}" for rail in fabric.rails if rail.leaf_switches]
    if stated:
        raise document.error(path, f"topology beside {listing(stated)}", "one of them", "leave one out")
    form = next(iter(_READERS))
    named = Path(getattr(source, form))
    path_of_file, file = folder / named, str(named if named.is_absolute() else Path(folder.name) / named)
    why = why_absent(path_of_file)
    if why is not None:
        if not named.is_absolute():
            action = f"save it there: scontrol show topology > {file}"
            raise document.error((*path, form), show(file), "a file that is there", action)
        note_remark(
            f"{file}: this file {why} (fabrics.{name}.topology of {system.system}), so its leaf switches are not "
            "known here"
        )
        return fabric
    found = _READERS[form](path_of_file, file, source)
    if not source.rails:
        leaves = _of_system(system, found.leaves, file, "")
        update: dict[str, object] = {"leaf_switches": leaves, "groups": _groups(found.groups, leaves)}
    else:
        rails = _rails(system, fabric, found, file, (document, path))
        known = {leaf for rail in rails for leaf in rail.leaf_switches}
        update = {"rails": rails, "groups": _groups(found.groups, known)}
    if not found.are_switches:
        update["network"] = "blocks"
    elif fabric.network == "fat-tree" and not _is_each_level_told(found, bool(update["groups"])):
        update["network"] = None
        note_remark(
            f"{file}: it has {found.levels} levels of switches, more than it has groups for, so it is not known how "
            f"many switches are between two leaf switches of {system.system} (fabrics.{name}.network)"
        )
    return fabric.model_copy(update=update)


def _is_each_level_told(found: ReadTopology, several_groups: bool) -> bool:
    """Return whether leaf switches and groups are all that decides how many switches are between two nodes."""
    return found.levels <= 2 or (bool(found.groups) and (found.levels == 3 or not several_groups))


def _groups(groups: Mapping[str, Sequence[str]], leaves: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the groups with only the leaf switches that the system has; {} if fewer than two groups are left."""
    found = {name: tuple(leaf for leaf in below if leaf in leaves) for name, below in groups.items()}
    found = {name: below for name, below in found.items() if below}
    return found if len(found) > 1 else {}


def _of_system(system: "System", leaves: "Sequence[Switch]", file: str, rail: str) -> dict[str, tuple[str, ...]]:
    """Return the leaf switches with only the system's nodes.

    Raises InputError for a node at two of them, and for a node of the system at none.
    """
    names = {label(node): node for node in system.nodes.names}
    at: dict[str, Switch] = {}
    for leaf in leaves:
        for node in leaf.nodes:
            first = at.setdefault(label(node), leaf)
            if first is not leaf:
                raise _at_two(node, first, leaf, rail)
    lost = [node for short, node in names.items() if short not in at]
    of_rail = f" of {rail}" if rail else ""
    if lost:
        found = f"no switch{of_rail} for {list_nodes(lost)}, of systems/{system.system}.yaml"
        action = "correct one of both files" if len(lost) < len(names) else "is it the file of this cluster?"
        raise InputError(file, found, f"each node of {system.system} at a leaf switch", action=action)
    if not names and len(at) < system.nodes.number:
        found = f"{len(at)} nodes at leaf switches{of_rail}"
        expected = f"at least {system.nodes.number}, the nodes of {system.system}"
        raise InputError(file, found, expected, action="correct one of both files")
    kept = {
        leaf.name: tuple(names.get(label(node), node) for node in leaf.nodes if not names or label(node) in names)
        for leaf in leaves
    }
    return {name: nodes for name, nodes in kept.items() if nodes}


def _at_two(node: str, first: "Switch", second: "Switch", rail: str) -> InputError:
    found = f"{show(node)} at {second.name}, and at {first.name} (line {first.place.line})"
    if rail:
        return second.place.error(f"{found}, both of {rail}", "each node at one leaf switch of a rail")
    action = (
        "if each rail has its own switches, say whose they are: topology: {slurm: …, rails: {mlx5_0: "
        f"{first.name}, mlx5_1: {second.name}}}}}; else correct this file, since Slurm only warns of it"
    )
    return second.place.error(found, "each node at one leaf switch", action)


def _rails(
    system: "System", fabric: "Fabric", found: ReadTopology, file: str, at: tuple[Document, tuple[str, ...]]
) -> "tuple[Rail, ...]":
    """Return the rails with their own leaf switches. Raises InputError for an unknown rail or switch."""
    (document, path), source = at, fabric.topology
    assert source is not None
    by_name = {leaf.name: leaf for leaf in found.leaves}
    names = [rail.name for rail in fabric.rails]
    for rail, switches in source.rails.items():
        if rail not in names:
            raise document.error((*path, "rails", rail), show(rail), "a rail of the fabric", did_you_mean(rail, names))
        unknown = next((switch for switch in switches if switch not in by_name), None)
        if unknown is not None:
            near = did_you_mean(unknown, by_name)
            raise document.error((*path, "rails", rail), show(unknown), f"a leaf switch of {file}", near)
    missing = next((name for name in names if name not in source.rails), None)
    if missing is not None:
        raise document.error((*path, "rails"), f"no switches of {missing}", "those of each rail of the fabric")
    return tuple(
        rail.model_copy(
            update={
                "leaf_switches": _of_system(
                    system, [by_name[each] for each in source.rails[rail.name]], file, rail.name
                )
            }
        )
        for rail in fabric.rails
    )


def _text(path: Path, place: "Place") -> str:
    """Return a file's text. Raises InputError, at the place that names it, if it cannot be read or is too long."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        found = f"{show(path.name)}, which cannot be read ({error.strerror})"
        raise place.error(found, "a file that can be read") from None
    if len(raw) > MAX_BYTES:
        raise place.error(f"{show(path.name)} of more than {MAX_BYTES >> 20} MiB", "a smaller file")
    try:
        return raw.decode("utf-8-sig")  # without the mark with which Windows begins a text
    except UnicodeDecodeError as error:
        raise place.error(f"the byte 0x{raw[error.start]:02x} in {show(path.name)}", "UTF-8 text") from None
