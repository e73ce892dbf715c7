"""Which tests of the two sides are compared: they are alike in all but what the sides are chosen to differ in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import listing
from railyard.results.record.form import Record
from railyard.site.test_id import plain_check, without_repeat

#: Keys of a selector: fields of a record. A value may hold * and ?.
KEYS = ("system", "fabric", "stack", "rails", "policy", "benchmark", "check", "case")
GRAMMAR = "RUN[+RUN…][:KEY=VALUE[,KEY=VALUE…]]"


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
    left_out = (*_left_out("A", a, usable_a), *_left_out("B", b, usable_b))
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


def _left_out(side: str, records: Sequence[Record], usable: Sequence[Record]) -> tuple[str, ...]:
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
