"""A system's file before its models: what another system gives it (`like`), and its part about nodes, fabrics and gate.

A part is read without the models, whose import takes longer than a gate. It is never a second opinion: `read_part`
returns a part only if the whole model would take each of its values for the same value, and None for all else, also for
what is right but rare. Then the whole file must be read, which names the mistake. Tests compare both readings.

``like: virtual`` in systems/virtual-slurm.yaml gives it the fabrics, stacks and nodes of systems/virtual.yaml. So the
same cluster under a scheduler is a file of ten lines, and its references are not copied either. Mappings are merged
entry by entry.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from railyard.base.bounds import FLAP_QUIET, FLAPS_PER_DAY
from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.json_codec import decode
from railyard.base.strict_yaml import Document, load
from railyard.base.values import (
    NAME_PATTERN,
    check_pattern,
    check_prose,
    check_size,
    check_value,
    seconds,
    show,
)
from railyard.hardware.counters import ERROR_BITS, rail_name
from railyard.hardware.limits import declared_link
from railyard.hardware.links import LANES, LINKS, SLOTS, Link
from railyard.site.systems.node_view import (
    Counters,
    HeaderModel,
    IommuMode,
    Kind,
    LinkFamily,
    LinkWidth,
    PathMtu,
    PayloadSize,
    Provider,
    RoceMode,
    check_command,
    check_fabric_of_nodes,
    check_gate_counter,
    check_limit,
    check_nodes,
    node_names,
)

#: Fields that are not inherited. If two systems had the same host names, nobody could tell them apart.
_OWN = ("system", "hostnames", "like")


def load_written_out(path: Path) -> Document:
    """Return a system's file with the fields that it leaves out. Raises InputError for what is wrong with that."""
    return inherit_fields(load(path, f"{path.parent.name}/{path.name}"), path.parent)


def inherit_fields(document: Document, folder: Path) -> Document:
    """Return the document, with missing fields from the system that it is like; unchanged if it is like none.

    If both have a field that is a mapping, its entries are merged, and its own win. A list is not merged: its own
    replaces the other's. Raises InputError if ``like`` names no file of the folder, the system itself, or a system that
    is like another. A mistake in the other's file is reported when that file is read.
    """
    name = document.data.get("like")
    if not isinstance(name, str):  # none, or a value that the model refuses
        return document
    known = sorted(path.stem for path in folder.glob("*.yaml") if path.stem != document.data.get("system"))
    if name not in known:
        raise document.error(("like",), show(name), "another file of the folder", did_you_mean(name, known))
    other = load(folder / f"{name}.yaml", f"{folder.name}/{name}.yaml").data
    if "like" in other:
        found = f"{show(name)}, which is itself like {show(other['like'])}"
        raise document.error(("like",), found, "a system that is not like another")
    inherited = {key: value for key, value in other.items() if key not in _OWN}
    return Document(document.file, _merge(inherited, document.data), document.root)


def _merge(other: Mapping[Any, Any], own: Mapping[Any, Any]) -> dict[Any, Any]:
    merged = dict(other)
    for key, value in own.items():
        before = other.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(before, value) if both and isinstance(before, Mapping) else value
    return merged


#: The largest GID index, as `stacks.ask.LARGEST` has it.
MOST_GIDS = 255


@dataclass(frozen=True, slots=True)
class RailPart:
    """A rail, without what only runs need of it."""

    device: str
    counters: Counters
    port: int | None = None
    slot: str | None = None

    @property
    def name(self) -> str:
        """The rail's name, as the whole model has it."""
        return rail_name(self.device, self.port)


@dataclass(frozen=True, slots=True)
class DeclaredLinkPart:
    """A link that is not in the table: its rate, its headers, and who says so."""

    name: str
    data_rate_gbit_s: float | None
    source: str
    headers: HeaderModel = "none"
    mtu: int | None = None
    limit_from: int = 0
    burst: int = 0
    family: LinkFamily = "declared"
    note: str | None = None


@dataclass(frozen=True, slots=True)
class StatePart:
    """The part ``fabric_state`` of a fabric; its fields are those of the whole model."""

    width: LinkWidth | None = None
    speed: str | None = None
    mtu: PathMtu | None = None
    firmware: str | None = None
    psid: str | None = None
    subnet_manager: bool | None = None
    gid_index: int | None = None
    roce_mode: RoceMode | None = None
    pfc: tuple[int, ...] | None = None
    ecn: tuple[int, ...] | None = None
    hops: int | None = None
    others: tuple[str, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict)
    max_read_request: PayloadSize | None = None
    relaxed_ordering: bool | None = None
    acs: bool | None = None
    iommu: IommuMode | None = None


@dataclass(frozen=True, slots=True)
class FabricPart:
    """A fabric, without what only runs need of it. Its link is a name of the table, or declared."""

    kind: Kind
    rails: tuple[RailPart, ...]
    link_name: str | None = None
    link_declared: DeclaredLinkPart | None = None
    slot: str | None = None
    max_payload: PayloadSize = 256
    mtu: int | None = None
    gid_index: int | None = None
    fabric_state: StatePart | None = None

    @property
    def declared_link(self) -> str | DeclaredLinkPart | None:
        """The name of a link of the table, or what is declared."""
        return self.link_declared or self.link_name

    @property
    def link(self) -> Link:
        """The link, from the table or as declared."""
        return declared_link(self.link_declared) if self.link_declared else LINKS[self.link_name or ""]


@dataclass(frozen=True, slots=True)
class NodesPart:
    """The names of nodes, or how many there are."""

    names: tuple[str, ...] = ()
    count: int | None = None

    @property
    def number(self) -> int:
        """How many nodes there are."""
        return len(self.names) or self.count or 0


@dataclass(frozen=True, slots=True)
class GatePart:
    """The part ``gate``; its fields are those of the whole model."""

    limit: str = "50s"
    most_bytes: int = 4 << 30
    counters: Mapping[str, int] = field(default_factory=dict)
    flaps_per_day: int = int(FLAPS_PER_DAY.value)
    quiet: str = f"{FLAP_QUIET.value:g}h"
    optics: bool = False
    loopback_mb_s: float | None = None
    memory_mb_s: float | None = None
    pair_mb_s: float | None = None
    neighbours: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()

    @property
    def limit_s(self) -> int:
        """How long a gate may take, in seconds."""
        return seconds(self.limit)

    @property
    def quiet_s(self) -> int:
        """How long a port must be quiet until it counts as good again, in seconds."""
        return seconds(self.quiet)


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A cluster's nodes and fabrics, without its stacks, and what its gates demand."""

    system: str
    nodes: NodesPart
    fabrics: Mapping[str, FabricPart]
    provider: Provider = "nodes"
    gate: GatePart = field(default_factory=GatePart)


#: Fields of the whole model that no part has. An unknown field is none of them, so it is refused.
OTHER_FIELDS: Mapping[type[object], Collection[str]] = {
    SystemPart: frozenset(
        (
            *("description", "like", "hostnames", "scheduler", "launcher", "site_launcher", "access", "jobs"),
            *("modules_system", "gpus", "report_only", "stacks", "disabled", "spack", "prices", "npb_classes"),
            *("applications", "wrf_cases", "time_limit", "measure"),
        )
    ),
    NodesPart: frozenset(("exclusive", "hardware")),
    FabricPart: frozenset(
        (
            *("launcher", "prepare_cmds", "unuse", "use", "modules", "env", "description", "blocking", "leaf_switches"),
            *("groups", "network", "topology", "up_links", "traffic_class", "service_level", "rail_counts"),
            *("each_rail", "placement", "proof"),
        )
    ),
    RailPart: frozenset(("rails_per_card", "rails_per_port", "bonded_ports", "subnet", "leaf_switches")),
    DeclaredLinkPart: frozenset(),
    StatePart: frozenset(),
    GatePart: frozenset(),
}


def read_part(path: Path) -> SystemPart | None:
    """Return the part of a system's file, with what it leaves out from the file that it is like.

    None if the part is not certainly right: read the whole file then.
    """
    try:
        part = part_of(load_written_out(path))
    except RailyardError:
        return None
    return part if part is not None and part.system == path.stem else None


def part_of(document: Document) -> SystemPart | None:
    """Return the part of a document to which nothing is left to add; None if it is not certainly right."""
    try:
        data = _system_fields(document.data)
        _refuse_control_characters(data)
        part = decode(SystemPart, data)
        _check_values(part)
        check_nodes(part, document)
        for name, fabric in part.fabrics.items():
            check_fabric_of_nodes(("fabrics", name), fabric, document)
    except (RailyardError, ValueError):  # what checks raise, and what does not have its field's type
        return None
    return part


def _system_fields(data: object) -> dict[str, Any]:
    found = _own_fields(SystemPart, data)
    like = _mapping(data).get("like")
    _require(like is None or isinstance(like, str))  # another value names no system whose fields these would be
    found["nodes"] = _own_fields(NodesPart, found.get("nodes"))
    found["fabrics"] = {name: _fabric_fields(each) for name, each in _mapping(found.get("fabrics")).items()}
    if "gate" in found:
        gate = found["gate"] = _own_fields(GatePart, found["gate"])
        if "most_bytes" in gate:
            gate["most_bytes"] = check_size(gate["most_bytes"])
        if "neighbours" in gate:
            gate["neighbours"] = node_names(gate["neighbours"])
    return found


def _fabric_fields(data: object) -> dict[str, Any]:
    given = dict(_mapping(data))
    link = given.pop("link", None)
    if "link_name" in given or "link_declared" in given:
        raise ValueError("a field that no file has")
    found = _own_fields(FabricPart, given)
    if isinstance(link, str):
        found["link_name"] = link
    else:
        declared = found["link_declared"] = _own_fields(DeclaredLinkPart, link)
        for name in ("limit_from", "burst"):
            if name in declared:
                declared[name] = check_size(declared[name])
    rails = found.get("rails")
    if not isinstance(rails, list) or not rails:
        raise ValueError("no rails")
    found["rails"] = [_own_fields(RailPart, rail) for rail in rails]
    if found.get("fabric_state") is not None:
        found["fabric_state"] = _own_fields(StatePart, found["fabric_state"])
    return found


def _own_fields(part: type[object], data: object) -> dict[str, Any]:
    """Return the fields of a part. Raises ValueError for an unknown field."""
    own = {each.name for each in fields(part)}  # type: ignore[arg-type]  # each is a dataclass
    found = {}
    for name, value in _mapping(data).items():
        if name in own:
            found[name] = value
        elif name not in OTHER_FIELDS[part]:
            raise ValueError("an unknown field")
    return found


def _mapping(data: object) -> Mapping[Any, Any]:
    if not isinstance(data, dict):
        raise ValueError("no mapping")
    return data


def _refuse_control_characters(value: object) -> None:
    """Raise ValueError for text that no model takes as it is, anywhere in a value: ``decode`` would clean it."""
    if isinstance(value, str) and not value.isprintable():
        raise ValueError("a control character")
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for each in value:
            _refuse_control_characters(each)


def _require(*facts: bool) -> None:
    if not all(facts):
        raise ValueError("a value that the whole model refuses or changes")


def _check_values(part: SystemPart) -> None:
    """Raise ValueError for a value that the whole model refuses or changes. Types are right already."""
    gate = part.gate
    _check_names((part.system, *part.nodes.names, *part.fabrics, *gate.neighbours))
    _require(_least(1, part.nodes.count), bool(part.fabrics), _least(0, *gate.counters.values()))
    _require(*(each is None or each > 0 for each in (gate.loopback_mb_s, gate.memory_mb_s, gate.pair_mb_s)))
    _require(_least(0, gate.flaps_per_day))
    check_limit(gate.limit)
    seconds(gate.quiet)
    for name in gate.counters:
        check_gate_counter(name)
    for words in (gate.drain, gate.resume):
        check_command(words)
    for fabric in part.fabrics.values():
        _check_fabric_values(fabric)


def _check_fabric_values(fabric: FabricPart) -> None:
    _check_names(rail.device for rail in fabric.rails)
    _require(*(slot in (None, *SLOTS) for slot in (fabric.slot, *(rail.slot for rail in fabric.rails))))
    _require(_least(1, fabric.mtu, *(rail.port for rail in fabric.rails)))
    _require(fabric.gid_index is None or 0 <= fabric.gid_index <= MOST_GIDS)
    link, state = fabric.link_declared, fabric.fabric_state
    _require(link is not None or fabric.link_name in LINKS)
    if link is not None:
        _check_names((link.name,))
        _require(_least(1, link.mtu), link.data_rate_gbit_s is None or link.data_rate_gbit_s > 0)
        _require(*(check_prose(text) == text for text in (link.source, link.note) if text is not None))
    if state is not None:
        _require(state.speed in (None, *LANES), _least(0, state.gid_index, *state.errors.values()))
        _require(_least(1, state.hops), *(name in ERROR_BITS for name in state.errors))
        _require(*(check_value(text) == text for text in (state.firmware, state.psid) if text is not None))
        _require(*(check_pattern(check_prose(text)) == text for text in state.others))
        for priorities in (state.pfc or (), state.ecn or ()):
            _require(tuple(sorted(set(priorities))) == priorities, set(priorities) <= set(range(8)))


def _check_names(names: Iterable[str]) -> None:
    _require(*(re.fullmatch(NAME_PATTERN, name) is not None for name in names))


def _least(least: int, *values: int | None) -> bool:
    """Return whether no value is below the least one."""
    return all(value is None or value >= least for value in values)
