"""What differed around two sets of results: hosts, versions, settings; and whether the fabric alone is the cause."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.base.hostlist import MOST_IN_WORDS, fold_names
from railyard.base.wording import listing
from railyard.results.record.form import NodeGroup, Record

#: Facts of a node (``railyard.job.node_facts``). If one of them is missing, two hosts are not known to be alike except
#: for their network.
HOST_FACTS = (
    *("processor", "sockets", "logical_processors", "numa_nodes_per_socket", "memory"),
    *("sys_vendor", "product_name", "board_name"),
)
_SETTING = re.compile(r"[A-Z][A-Z0-9_]{2,}=")
_LAUNCHER_PAIRS = ("-genv", "-env", "--mca", "-mca", "--prtemca")
_KIB = re.compile(r"(\d+) ?(?:kB|KiB)?")
_NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Difference:
    """One property that differs between the sides: its name, and its values on each; () if none is recorded."""

    name: str
    a: tuple[str, ...]
    b: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return ``kernel: 6.1 on A, 6.8 on B``."""
        return f"{self.name}: {_format_values(self.a)} on A, {_format_values(self.b)} on B"


def differences(a: Sequence[Record], b: Sequence[Record]) -> tuple[Difference, ...]:
    """Return how the hosts, environments, settings and nodes of two sides differ, by name.

    If a property has several values on a side (specs, linked libraries), only those that the other side lacks are
    named.
    """
    ours, theirs = _properties(a), _properties(b)
    found = []
    for name in sorted({*ours, *theirs}):
        mine, other = ours.get(name, frozenset()), theirs.get(name, frozenset())
        if mine != other:
            many = len(mine | other) > 2
            sides = (
                (_only_on_first(mine, other), _only_on_first(other, mine))
                if many
                else (tuple(sorted(mine)), tuple(sorted(other)))
            )
            found.append(Difference(name, *sides))
    return tuple(found)


def not_the_fabric_alone(a: Sequence[Record], b: Sequence[Record]) -> str | None:
    """Return why the fabric alone may not be the cause of a difference; None if the hosts are known to be alike.

    Two systems whose processors are not recorded are not known to be alike.
    """
    hosts = [one for one in differences(a, b) if one.name in {f"host {name}" for name in HOST_FACTS}]
    if hosts:
        return f"not attributable to the fabric alone: {'; '.join(one.words for one in hosts)}"
    systems = sorted({record.where.system for record in (*a, *b)})
    known = all("host processor" in _properties(side) for side in (a, b))
    if len(systems) > 1 and not known:
        return (
            f"not attributable to the fabric alone: {listing(systems)} are two systems, and their processors, chipsets "
            "and memory are not recorded"
        )
    return None


def settings(command: Sequence[str]) -> dict[str, str]:
    """Return the variables and parameters that a launcher's command line sets, by name."""
    found: dict[str, str] = {}
    for index, word in enumerate(command):
        after = command[index + 1 : index + 3]
        if word in _LAUNCHER_PAIRS and len(after) == 2:
            found[after[0]] = after[1]
        elif _SETTING.match(word):
            name, _, value = word.partition("=")
            found[name] = value
    return found


def _properties(records: Iterable[Record]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for record in records:
        for name, value in _of(record):
            found.setdefault(name, set()).add(value)
    return {name: frozenset(values) for name, values in found.items()}


def _of(record: Record) -> Iterator[tuple[str, str]]:
    """Yield each property of a record with its value; a name may occur several times."""
    yield from _flat(record.how.environment)
    for name, value in {**settings(record.how.command), **record.how.variables}.items():
        yield f"setting {name}", value
    for library in record.how.linked:
        yield "linked library", library
    if record.test.benchmark_version:
        yield f"version of {record.test.benchmark.partition('/')[0]}", record.test.benchmark_version
    if record.where.nodes:
        yield (
            "nodes",
            listing(record.where.nodes)
            if len(record.where.nodes) <= MOST_IN_WORDS
            else fold_names(sorted(record.where.nodes)),
        )
    for group in record.where.hardware:
        yield from _of_group(group)


def _of_group(group: NodeGroup) -> Iterator[tuple[str, str]]:
    for name, value in group.facts.items():
        yield f"host {name}", _memory(value) if name == "memory" else value
    for device, facts in group.devices.items():
        for name, value in facts.items():
            yield f"{device} {name}", value
    for name, values in group.varied.items():
        for value in {*values} - {""}:
            own = name if " " in name else f"host {name}"
            yield own, _memory(value) if name == "memory" else value


def _memory(value: str) -> str:
    """Return an amount of memory, rounded to GiB: the kernel's own share differs from boot to boot."""
    known = _KIB.fullmatch(value)
    return f"{round(int(known[1]) / 2**20)} GiB" if known else value


def _flat(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield each scalar of nested properties under its dotted name; the items of a list have the list's name."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item, name)
    elif value is not None:
        yield name, str(value)


def _only_on_first(mine: frozenset[str], other: frozenset[str]) -> tuple[str, ...]:
    """Return what one side has and the other lacks."""
    return tuple(sorted(mine - other)) or (("no other",) if mine else ())


def _format_values(values: tuple[str, ...]) -> str:
    return listing(values) if values else _NOT_RECORDED
