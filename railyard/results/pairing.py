"""Which tests of the two sides are compared: they are alike in all but what the sides are chosen to differ in.

Also what differed around the two sides: hosts, versions, settings; and whether the fabric alone is the cause.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.hostlist import MOST_IN_WORDS, fold_names
from railyard.base.wording import listing
from railyard.results.record.form import NodeGroup, Record
from railyard.site.test_id import plain_check, without_repeat

#: Keys of a selector: fields of a record. A value may hold * and ?.
KEYS = ("system", "fabric", "stack", "rails", "policy", "benchmark", "check", "case")
GRAMMAR = "RUN[+RUN…][:KEY=VALUE[,KEY=VALUE…]]"
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


@dataclass(frozen=True, slots=True)
class Selector:
    """One side as the user named it; no ``runs``: those of the other side."""

    text: str
    runs: tuple[str, ...]
    where: tuple[tuple[str, str], ...] = ()


#: What two sides may differ in and still be compared; everything else about a test must be alike.
DIMENSIONS = ("system", "fabric", "stack", "rails", "policy")
_LAST_RULE = 5
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatchedTest:
    """One test on both sides: its name, and its repeats on side A and side B."""

    name: str
    benchmark: str
    a: tuple[Record, ...]
    b: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Pairing:
    """Matched tests; the chosen differences of the sides (name, A's value, B's); what has no partner or no figures."""

    matched: tuple[MatchedTest, ...]
    contrasts: tuple[tuple[str, str, str], ...] = ()
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def pair(a: Sequence[Record], b: Sequence[Record]) -> Pairing:
    """Return the tests that both sides have. Records of one test are its repeats.

    If no value of A in a dimension is a value of B, the comparison is about that dimension. A record that is not a
    measurement of its path (not tested, disturbed, or failed before rule 5) is left out, and the result says so. An
    output that is played several times is one repeat.

    Raises RailyardError if nothing can be compared: the benchmarks differ, or a side has several values of a dimension
    in which the sides differ.
    """
    usable_a, usable_b = _usable(a), _usable(b)
    left_out = (*_excluded_records("A", a, usable_a), *_excluded_records("B", b, usable_b))
    if not usable_a or not usable_b:
        side = "A" if not usable_a else "B"
        raise RailyardError(f"side {side}: found no test that measured anything, expected one; {'; '.join(left_out)}")
    differing = tuple(name for name in DIMENSIONS if not _values(usable_a, name) & _values(usable_b, name))
    groups_a, groups_b = _group_records(usable_a, differing), _group_records(usable_b, differing)
    both = [key for key in groups_a if key in groups_b]
    if not both:
        raise RailyardError(_nothing_common(usable_a, usable_b, groups_a, groups_b))
    for side, groups in (("A", groups_a), ("B", groups_b)):
        for key in both:
            _refuse_several(side, groups[key], differing)
    return Pairing(
        matched=tuple(
            MatchedTest(_name(key), groups_a[key][0].test.benchmark, _repeats(groups_a[key]), _repeats(groups_b[key]))
            for key in both
        ),
        contrasts=tuple(
            (name, listing(sorted(_values(usable_a, name))), listing(sorted(_values(usable_b, name))))
            for name in differing
        ),
        only_a=tuple(_name(key) for key in groups_a if key not in groups_b),
        only_b=tuple(_name(key) for key in groups_b if key not in groups_a),
        left_out=left_out,
    )


def _usable(records: Sequence[Record]) -> tuple[Record, ...]:
    return tuple(record for record in records if why_left_out(record) is None)


def why_left_out(record: Record) -> str | None:
    """Return why a record gives no figures to compare, None if it does."""
    if record.found.state in ("not-tested", "disturbed"):
        return record.found.state.replace("-", " ")
    if record.found.state == "fail" and (record.found.verdict.rule or 0) < _LAST_RULE:
        return (
            f"failed rule {record.found.verdict.rule}" if record.found.verdict.rule else "failed before its first rule"
        )
    if not record.found.figures and not record.found.curves:
        return "without figures"
    return None


def _excluded_records(side: str, records: Sequence[Record], usable: Sequence[Record]) -> tuple[str, ...]:
    if len(records) == len(usable):
        return ()
    why: dict[str, list[str]] = {}
    for record in records:
        reason = why_left_out(record)
        if reason is not None:
            why.setdefault(reason, []).append(record.test.case)
    return tuple(
        f"side {side}: {len(cases)} left out, {reason}: {listing(sorted(set(cases)))}" for reason, cases in why.items()
    )


def _values(records: Sequence[Record], name: str) -> set[str]:
    return {str(record.value(name)) for record in records}


def _group_records(records: Sequence[Record], differing: Sequence[str]) -> dict[Key, list[Record]]:
    """Return records by benchmark, check with its other parameters, nodes, and what is the same on both sides."""
    groups: dict[Key, list[Record]] = {}
    for record in records:
        kept = [(name, str(record.value(name))) for name in DIMENSIONS if name not in differing]
        words = tuple(f"{name} {value}" if name == "rails" else value for name, value in kept if value != "None")
        check = without_repeat(plain_check(record.test.case)) or record.test.check
        groups.setdefault((record.test.benchmark, check, f"{len(record.where.nodes)} nodes", *words), []).append(record)
    return groups


def _name(key: Key) -> str:
    benchmark, check, nodes, *rest = key
    parameters = check.partition(" ")[2]
    told = [word for word in (*rest, parameters, "" if nodes in ("0 nodes", "2 nodes") else nodes) if word]
    return f"{benchmark} ({', '.join(told)})" if told else benchmark


def _repeats(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the records of a test; each played output only once, since playing it again is not a new measurement."""
    measured = [record for record in records if record.no_measurement is None]
    return tuple(measured) or tuple({_output_of(record): record for record in reversed(records)}.values())[::-1]


def _output_of(record: Record) -> str:
    """Return what identifies a played output; all outputs of unknown recordings count as one."""
    recording = record.how.environment.get("recording")
    return str(recording.get("sha256", "")) if isinstance(recording, Mapping) else ""


def _refuse_several(side: str, records: Sequence[Record], differing: Sequence[str]) -> None:
    """Raise RailyardError if one side has several values of a dimension in which the sides differ."""
    for name in differing:
        values = sorted(_values(records, name))
        if len(values) > 1:
            raise RailyardError(
                f"side {side}: found {name} {listing(values)} for {records[0].test.benchmark}, expected one {name}, "
                f"since the sides differ in it; name one, such as :{name}={values[0]}"
            )


def _nothing_common(
    a: Sequence[Record], b: Sequence[Record], groups_a: dict[Key, list[Record]], groups_b: dict[Key, list[Record]]
) -> str:
    ours, theirs = _values(a, "benchmark"), _values(b, "benchmark")
    if not ours & theirs:
        return (
            f"A has {listing(sorted(ours))}, B has {listing(sorted(theirs))}: found no benchmark that both have; "
            "figures of different benchmarks are not compared; name runs of the same one"
        )
    one, other = _name(next(iter(groups_a))), _name(next(iter(groups_b)))
    return f"A has {one}, B has {other}: found no test that is the same on both sides except for their difference"


def selector(text: str) -> Selector:
    """Return what the word for a side asks for. Raises RailyardError naming the word that GRAMMAR does not allow."""
    names, colon, conditions = _split_conditions(text)
    runs = tuple(names.split("+")) if names else ()
    if "" in runs or (colon and not conditions) or not (runs or conditions):
        raise RailyardError(f'"{text}": found an empty word, expected {GRAMMAR}')
    where: list[tuple[str, str]] = []
    for condition in conditions.split(",") if conditions else ():
        key, sign, value = condition.partition("=")
        if not sign or not value:
            raise RailyardError(f'"{text}": found "{condition}", expected KEY=VALUE, such as fabric=hsn')
        if key not in KEYS:
            raise RailyardError(f'"{text}": found key "{key}", expected a field of a test; {did_you_mean(key, KEYS)}')
        if key in dict(where):
            raise RailyardError(f'"{text}": found {key} twice, expected it once; * stands for several values')
        where.append((key, value))
    return Selector(text, runs, tuple(where))


def choose_records(asked: Selector, records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the records that meet all conditions of a side.

    Raises RailyardError if none does, naming the condition that no record meets, and the known values.
    """
    left = tuple(records)
    for key, pattern in asked.where:
        there = sorted({_value(record, key) for record in left})
        left = tuple(record for record in left if fnmatchcase(_value(record, key), pattern))
        if not left:
            known = did_you_mean(pattern, there)
            raise RailyardError(f'"{asked.text}": found no test with {key}={pattern}, expected one; {known}')
    if not left:
        raise RailyardError(f'"{asked.text}": found no test in these runs, expected at least one; name another run')
    return left


def _split_conditions(text: str) -> tuple[str, str, str]:
    """Return runs, colon and conditions; a colon in a path does not count, since no KEY= follows it."""
    at = text.find(":")
    while at >= 0:
        rest = text[at + 1 :]
        if "/" not in rest.partition("=")[0]:
            return text[:at], ":", rest
        at = text.find(":", at + 1)
    return text, "", ""


def _value(record: Record, key: str) -> str:
    value = record.value(key)
    return "" if value is None else str(value)


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
                (_missing_names(mine, other), _missing_names(other, mine))
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


def _missing_names(mine: frozenset[str], other: frozenset[str]) -> tuple[str, ...]:
    """Return what one side has and the other lacks."""
    return tuple(sorted(mine - other)) or (("no other",) if mine else ())


def _format_values(values: tuple[str, ...]) -> str:
    return listing(values) if values else _NOT_RECORDED
