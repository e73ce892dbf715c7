"""Stored records as one row of values per figure: which runs count, which do not and why, where runs are missing."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from railyard.base.errors import RailyardError
from railyard.base.hostlist import MOST_IN_WORDS, list_nodes
from railyard.base.wording import count_of, listing
from railyard.benchmarks.model import Figure
from railyard.results.pairing import why_left_out
from railyard.results.record.form import Record
from railyard.results.report.text import record_origin
from railyard.results.store.verify import unit_factor
from railyard.site.test_id import plain_check, without_repeat
from railyard.stacks.model import SINGLE

#: A gap is reported if two days with runs are at least this many days, and this many times the usual distance, apart.
_GAP_DAYS = 3
_GAP_TIMES = 3


@dataclass(frozen=True, slots=True)
class Point:
    """One value in the series' unit, and its record."""

    value: float
    record: Record


@dataclass(frozen=True, slots=True)
class Series:
    """One figure of one test, the oldest run first. ``remarks``: sentences on what was left out, and on each gap."""

    system: str
    case: str
    benchmark: str
    figure: str
    unit: str
    points: tuple[Point, ...]
    remarks: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        """Return the values in their order."""
        return tuple(point.value for point in self.points)

    @property
    def name(self) -> str:
        """Return the test in words: benchmark, and the rest of its name (``ImbUniband, hsn, mpich, 1 rail``)."""
        last = self.points[-1].record
        rails = count_of(last.test.rails, "rail")
        policy = [last.test.policy] if last.test.policy not in (None, SINGLE) else []
        own = plain_check(self.case).split()[1:]
        return (
            f"{self.benchmark} ({', '.join([self.system, last.where.fabric, last.test.stack, rails, *policy, *own])})"
        )


def series_of(records: Sequence[Record]) -> tuple[Series, ...]:
    """Return a series per test and figure, in the order in which tests first came.

    A record counts if it measured its path. Replays and tests that did not run, were disturbed or failed before rule 5
    are left out. The unit and the message sizes are those of the newest record that counts. A value in a convertible
    unit is converted; values in another unit or over other sizes are left out. A test without a record that counts has
    no series. If a run repeats a test (``--repeat``), only the middle value counts.
    """
    tests: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        tests.setdefault((record.where.system, without_repeat(record.test.case)), []).append(record)
    found: list[Series] = []
    for found_records in tests.values():
        found += _of_test(sorted(found_records, key=lambda one: (one.made.time, one.made.run)))
    return tuple(found)


def _of_test(records: Sequence[Record]) -> Iterator[Series]:
    reasons = [_why_not(record) for record in records]
    kept = [record for record, reason in zip(records, reasons, strict=True) if reason is None]
    if not kept:
        return
    sizes = _sizes(kept[-1])
    alike = [record for record in kept if _sizes(record) == sizes]
    left_out = Counter(reason for reason in reasons if reason is not None)
    left_out["measured over other message sizes"] += len(kept) - len(alike)
    remarks = tuple(f"{count_of(count, 'run')} left out: {reason}" for reason, count in left_out.items() if count)
    for name in dict.fromkeys(figure.name for record in reversed(alike) for figure in record.found.figures):
        yield _of_figure(name, alike, remarks)


def _of_figure(name: str, records: Sequence[Record], remarks: tuple[str, ...]) -> Series:
    there = [(record, figure) for record in records for figure in _figure_of_name(record, name)]
    last, newest = there[-1]
    points, foreign, converted = [], Counter[str](), Counter[str]()
    for record, figure in there:
        try:
            factor = 1.0 if figure.unit == newest.unit else unit_factor(figure.unit, newest.unit, name)
        except RailyardError:
            foreign[figure.unit] += 1
            continue
        if figure.unit != newest.unit:
            converted[figure.unit] += 1
        points.append(Point(figure.value * factor, record))
    said = [
        f"{count_of(count, 'run')} with {name} in {unit}, not {newest.unit}: left out"
        for unit, count in foreign.items()
    ]
    said += [
        f"{count_of(count, 'run')} with {name} in {unit}: converted to {newest.unit}"
        for unit, count in converted.items()
    ]
    if len(there) < len(records):
        said.append(f"{count_of(len(records) - len(there), 'run')} without {name}")
    kept, repeated = _once_a_run(points)
    if repeated:
        said.append(f"{count_of(repeated, 'run')} with repeats (--repeat): the middle value of each counts")
    gaps = _gaps([point.record.made.time[:10] for point in kept])
    case = without_repeat(last.test.case)
    return Series(last.where.system, case, last.test.benchmark, name, newest.unit, kept, (*remarks, *said, *gaps))


def _once_a_run(points: Sequence[Point]) -> tuple[tuple[Point, ...], int]:
    """Return the points with only one point per run with repeats, and how many such runs there are.

    The repeats of a run share its nodes and its hour, so as separate points they would look like a new level. If their
    number is even, the lower of the two middle ones is kept, so the point is a measured value.
    """
    runs: dict[str, list[Point]] = {}
    for point in points:
        runs.setdefault(point.record.made.run, []).append(point)
    kept: list[Point] = []
    repeated = 0
    for of_run in runs.values():
        if len({point.record.test.case for point in of_run}) == 1:  # a run may have a failure and its retry
            kept += of_run
            continue
        kept.append(sorted(of_run, key=lambda point: point.value)[(len(of_run) - 1) // 2])
        repeated += 1
    return tuple(kept), repeated


def _why_not(record: Record) -> str | None:
    if record.no_measurement is not None and record.found.state != "not-tested":
        return f"{record_origin(record)}, so nothing was measured"
    return why_left_out(record)


def _sizes(record: Record) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple(sorted((curve.metric, curve.sizes) for curve in record.found.curves))


def _figure_of_name(record: Record, name: str) -> list[Figure]:
    return [figure for figure in record.found.figures if figure.name == name][:1]


def _gaps(days: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each stretch of days without a run that is unusually long here."""
    known = sorted({day for day in map(_day, days) if day is not None})
    distances = [(after - before).days for before, after in pairwise(known)]
    if not distances:
        return
    usual = statistics.median(distances)
    for (before, after), distance in zip(pairwise(known), distances, strict=True):
        if distance >= _GAP_DAYS and distance > _GAP_TIMES * usual:
            yield f"no run from {before} to {after}, {distance} days: a change in this time has no exact date"


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def nodes_of(points: Sequence[Point]) -> frozenset[tuple[str, ...]]:
    """Return the sets of nodes on which these runs were, each sorted; () for a run whose nodes are not recorded."""
    return frozenset(tuple(sorted(point.record.where.nodes)) for point in points)


def node_words(sets: frozenset[tuple[str, ...]], most: int = 3) -> str:
    """Return sets of nodes in words, at most ``most`` of them: ``vn1+vn2, vn1+vn3 and 4 more``."""
    told = ["+".join(nodes) if len(nodes) <= MOST_IN_WORDS else list_nodes(nodes) for nodes in sorted(sets)]
    return listing([*told[:most], *([f"{len(told) - most} more"] if len(told) > most else [])])
