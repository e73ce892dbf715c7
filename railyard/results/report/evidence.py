"""What a page says about all tests together: what each fabric delivered, the sources of its bounds, what was not
tested.

What a fabric delivered is one number: the one-way bandwidth of its test over the most rails, beside its limit.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railyard.base.values import one_line
from railyard.base.wording import count_of, listing, number
from railyard.benchmarks.model import Figure
from railyard.results.record.form import CurveRecord, NodeGroup, Record
from railyard.results.report.matrix import WORST_FIRST
from railyard.results.report.summary import key_figure
from railyard.results.report.text import COMPUTED_MARK, STATE_WORDS, how_made, percent
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId

_MOST_NAMES = 8
_MOST_RUNS = 3
_CLOCK = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}(?:\.\d+)?Z")
_MB_S, _GB_S = "MB/s", "GB/s"
_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class FabricNumber:
    """One fabric: its number with its unit, what that is compared with, its test, and how all tests went.

    ``value`` has a mark if it was computed for a replay. ``limit`` is ``of 12.42 GB/s, 99.8 %``, empty if no physical
    limit is known. ``test`` says where the number is from, and whether that was a replay or a rehearsal. ``states`` are
    all states of its tests, the worst first, with how many tests are in each.
    """

    name: str
    value: str
    unit: str
    limit: str
    test: str
    index: int | None
    states: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    index: int
    record: Record
    curve: CurveRecord
    figure: Figure


@dataclass(frozen=True, slots=True)
class Basis:
    """A reference or a limit that verdicts depend on: its name, kind and source, and how many tests it judged."""

    name: str
    kind: str
    source: str
    tests: int


def bases(records: Iterable[Record]) -> tuple[Basis, ...]:
    """Return each reference and each limit of the records' curves once, references first, by name."""
    used: dict[tuple[str, str, str], int] = {}
    for record in records:
        mine = {(band.id, band.kind, band.source) for curve in record.found.curves for band in curve.bands}
        mine |= {(curve.limit.terms, "limit", curve.limit.source) for curve in record.found.curves if curve.limit}
        for key in mine:
            used[key] = used.get(key, 0) + 1
    ordered = sorted(used.items(), key=lambda item: (item[0][1] == "limit", item[0]))
    return tuple(Basis(name, kind, source, tests) for (name, kind, source), tests in ordered)


@dataclass(frozen=True, slots=True)
class UntestedCount:
    """What was not tested: how many promised ``tests`` did not run, and how many matrix ``cells`` cannot run."""

    tests: int
    cells: int


def count_untested(records: Iterable[Record], cells: Sequence[Cell]) -> UntestedCount:
    """Return how many tests did not run, and how many cells of the matrix have a reason not to."""
    return UntestedCount(
        sum(record.found.state == "not-tested" for record in records), sum(bool(cell.reason) for cell in cells)
    )


def holes(cells: Sequence[Cell]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the cells of the matrix that cannot run, by reason: ``hsn, 1 rail, mpich: imb/PingPong``."""
    return _by_reason((cell.reason, cell.test) for cell in cells if cell.reason)


def not_run(records: Iterable[Record]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the tests that did not run, by the sentence that says why, in the form of ``holes``; all by name."""
    found = (
        (
            record.found.verdict.text,
            TestId(record.where.fabric, record.test.stack, record.test.rails, record.test.benchmark),
        )
        for record in records
        if record.found.state == "not-tested"
    )
    return _by_reason(found, named=None)


def _by_reason(found: Iterable[tuple[str, TestId]], named: int | None = 3) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return tests by reason, then by place; if one place has more than ``named``, only their number."""
    reasons: dict[str, dict[tuple[str, str], dict[int, list[str]]]] = {}
    for reason, test in found:
        place = reasons.setdefault(reason, {}).setdefault((test.fabric, test.stack), {})
        place.setdefault(test.rails, []).append(test.benchmark)
    return tuple((reason, tuple(_places(places, named))) for reason, places in reasons.items())


def _places(places: dict[tuple[str, str], dict[int, list[str]]], named: int | None) -> Iterable[str]:
    for (fabric, stack), by_rails in places.items():
        for rails, benchmarks in by_rails.items():
            many = named is not None and len(benchmarks) > named
            told = f"{len(benchmarks)} benchmarks" if many else ", ".join(benchmarks)
            yield one_line(f"{fabric}, {rails} {'rail' if rails == 1 else 'rails'}, {stack}: {told}")


def hosts(records: Iterable[Record]) -> tuple[NodeGroup, ...]:
    """Return the groups of nodes that records describe, each once."""
    found: dict[str, NodeGroup] = {}
    for record in records:
        for group in record.where.hardware:
            found.setdefault(repr((group.nodes, sorted(group.facts.items()), sorted(group.devices))), group)
    return tuple(found.values())


def facts(records: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    """Return the known names and values: Nodes, Date, Run, Tests took."""
    nodes = tuple(dict.fromkeys(node for record in records for node in record.where.nodes))
    times = sorted(record.made.time for record in records if record.made.time)
    runs = list(dict.fromkeys(record.made.run for record in records))
    took_s = sum(record.made.elapsed_s or 0.0 for record in records)
    found = [("Nodes", _nodes(nodes, records))]
    if times:
        found.append(("Date", _span(shown_time(times[0]), shown_time(times[-1]))))
    if runs:
        shown = ", ".join(map(one_line, runs)) if len(runs) <= _MOST_RUNS else f"{len(runs)} runs"
        found.append(("Run" if len(runs) == 1 else "Runs", shown))
    if took_s:
        found.append(("Tests took", _length(took_s)))
    return tuple(pair for pair in found if pair[1])


def node_names(nodes: Sequence[str]) -> str:
    """Return nodes by name if they are few, else some names and the number: ``n1, n2 … n5000 (5,000 nodes)``."""
    if len(nodes) <= _MOST_NAMES:
        return one_line(", ".join(nodes))
    return one_line(f"{nodes[0]}, {nodes[1]} … {nodes[-1]} ({count_of(len(nodes), 'node', ',')})")


def shown_time(time: str) -> str:
    """Return a record's time to the minute: ``2026-11-21 06:00 UTC``; a time in another form stays as it is."""
    found = _CLOCK.fullmatch(time)
    return f"{found[1]} {found[2]} UTC" if found else one_line(time)


def _nodes(nodes: Sequence[str], records: Sequence[Record]) -> str:
    if not nodes:
        return "none: nothing was measured" if any(record.made.replayed is not None for record in records) else ""
    if len(nodes) <= _MOST_NAMES:
        return one_line(f"{count_of(len(nodes), 'node')}: {listing(nodes)}")
    return node_names(nodes)


def _span(first: str, last: str) -> str:
    day, _, _ = last.partition(" ")
    if first == last or first.startswith(f"{day} "):
        return first
    return f"{first} to {last}"


def _length(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def fabric_numbers(records: Sequence[Record]) -> tuple[FabricNumber, ...]:
    """Return a number for each fabric, in the order of the records.

    The number is from a test over the most rails. If such tests failed, it is the lowest figure of these, so that no
    better one hides it. Else it is the highest, and a printed figure counts before a computed one.
    """
    places: dict[tuple[str, str], list[tuple[int, Record]]] = {}
    for index, record in enumerate(records):
        places.setdefault((record.where.system, record.where.fabric), []).append((index, record))
    several = len({system for system, _ in places}) > 1
    return tuple(_number(f"{system}: {fabric}" if several else fabric, own) for (system, fabric), own in places.items())


def _number(name: str, own: Sequence[tuple[int, Record]]) -> FabricNumber:
    states = [record.found.state for _, record in own]
    counts = tuple((state, f"{states.count(state)} {STATE_WORDS[state]}") for state in STATE_WORDS if state in states)
    ordered = tuple(sorted(counts, key=lambda each: WORST_FIRST.index(each[0])))
    ran = [(index, record) for index, record in own if record.found.state != "not-tested"]
    chosen = _choose([each for index, record in ran for each in _bandwidths(index, record)])
    if chosen is not None:
        value, unit = _format_value(chosen.figure.value, chosen.curve.unit)
        marked = value + (COMPUTED_MARK if chosen.figure.computed else "")
        limit = _limit(chosen)
        return FabricNumber(one_line(name), marked, unit, limit, _test(chosen), chosen.index, ordered)
    for index, record in ran:
        figure = key_figure(record)
        if figure is not None:
            value, unit = _format_value(figure.value, figure.unit)
            marked = value + (COMPUTED_MARK if figure.computed else "")
            told = f"{figure.name.replace('_', ' ')}, {_place(record)}"
            return FabricNumber(one_line(name), marked, one_line(unit), "", one_line(told), index, ordered)
    told = "nothing was measured" if ran else "no test ran"
    return FabricNumber(one_line(name), _NOTHING, "", "", told, None, ordered)


def _bandwidths(index: int, record: Record) -> Iterable[_Candidate]:
    """Yield a record's bandwidths that can represent a fabric: its key figures that have a curve."""
    for curve in record.found.curves:
        if curve.metric == "bandwidth" and curve.unit == _MB_S:
            figure = next((one for one in record.found.figures if one.unit == curve.unit), None)
            if figure is not None:
                yield _Candidate(index, record, curve, figure)


def _choose(found: Sequence[_Candidate]) -> _Candidate | None:
    one_way = [each for each in found if each.curve.directions == 1] or found
    most = max((each.record.test.rails for each in one_way), default=0)
    widest = [each for each in one_way if each.record.test.rails == most]
    failed = [each for each in widest if each.record.fails]
    if failed:
        return min(failed, key=lambda each: each.figure.value)
    return max(widest, key=lambda each: (not each.figure.computed, each.figure.value), default=None)


def _format_value(value: float, unit: str) -> tuple[str, str]:
    """Return a value with four digits, as in sentences: with three, 12.40 of 12.42 GB/s would be 12.4 of 12.4."""
    if unit == _MB_S and value >= 1000:
        return number(value / 1000), _GB_S
    return number(value), unit


def _limit(chosen: _Candidate) -> str:
    """Return what the number is compared with: the limit, and the record's per cent of it.

    The limit of a long stream may be below the figure of a burst: then only the per cent are shown.
    """
    limit, share, unit = chosen.curve.limit, chosen.curve.percent_of_limit, chosen.curve.unit
    if limit is None or share is None:
        return ""
    if chosen.figure.value > limit.value:
        return f"{percent(share)} % of the limit"
    in_gb_s = _format_value(chosen.figure.value, unit)[1] == _GB_S
    shown = f"{number(limit.value / 1000)} {_GB_S}" if in_gb_s else f"{number(limit.value)} {unit}"
    return f"of {shown}, {percent(share)} %"


def _test(chosen: _Candidate) -> str:
    both = "both directions, " if chosen.curve.directions == 2 else ""
    return one_line(f"{both}{_place(chosen.record)}")


def _place(record: Record) -> str:
    rails = "1 rail" if record.test.rails == 1 else f"{record.test.rails} rails"
    made = "" if record.no_measurement is None else f", {how_made(record)}"
    return f"{record.test.benchmark}, {rails}, {record.test.stack}{made}"
