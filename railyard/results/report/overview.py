"""All tests together: the matrix fabric x stack x rails, what each fabric delivered, and the sources of its bounds.

The matrix fabric x stack x rails of a report: the state of each cell, and why a cell does not run.

What a page says about all tests together: what each fabric delivered, the sources of its bounds, what was not
tested.

What a fabric delivered is one number: the one-way bandwidth of its test over the most rails, beside its limit.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError
from railyard.base.files import read_regular
from railyard.base.json_codec import FormError, decode
from railyard.base.values import one_line
from railyard.base.wording import count_of, listing, number
from railyard.benchmarks.model import Figure
from railyard.results.record.form import CurveRecord, NodeGroup, Record
from railyard.results.report.summary import key_figure
from railyard.results.report.text import COMPUTED_MARK, STATE_WORDS, percent, record_origin
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId, named_policy, plain_check

FILE_NAME = "matrix.json"

_UNRUN = "unrun"
_ABSENT = "absent"
_WORDS: dict[str, str] = {
    **{str(state): words for state, words in STATE_WORDS.items()},
    _UNRUN: "no record",
    _ABSENT: "does not run",
}
#: A cell of several benchmarks has the colour of the first of these states that it has; its words count every state.
#: What ran comes before what did not: if tests passed in a cell, something is known about it.
WORST_FIRST = ("fail", _UNRUN, "disturbed", "pass", "report-only", "xfail", "not-tested")


@dataclass(frozen=True, slots=True)
class Entry:
    """One benchmark in a cell: its state (a record's, ``unrun`` or ``absent``), and its reason if there is no verdict.

    ``index`` is the index of its record.
    """

    benchmark: str
    state: str
    words: str
    index: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """All benchmarks of one (fabric, rails, stack): those with a state, and the absent ones by their reason.

    ``state`` decides its colour, ``words`` are the counts of all states.
    """

    state: str
    words: str
    entries: tuple[Entry, ...]
    absent: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def why(self) -> str | None:
        """Return the one reason why nothing in this cell runs; None if something does, or if the reasons differ."""
        return self.absent[0][0] if not self.entries and len(self.absent) == 1 else None

    @property
    def by_state(self) -> tuple[tuple[str, str, tuple[Entry, ...]], ...]:
        """Return the entries by state, the worst first: its name, its words, and its entries."""
        states = {entry.state: entry.words for entry in self.entries}
        return tuple(
            (state, states[state], tuple(entry for entry in self.entries if entry.state == state))
            for state in WORST_FIRST
            if state in states
        )


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One fabric with a number of rails; one cell per stack, None if the matrix has no such cell."""

    fabric: str
    rails: int
    cells: tuple[MatrixCell | None, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The table: its columns, its rows, and the cells that should have run and left no record.

    ``idle`` are the rows (``eth, 2 rails``) and the stacks in which nothing runs, with all reasons; they are not drawn.
    """

    stacks: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    unrun: tuple[Cell, ...]
    idle: tuple[tuple[str, tuple[str, ...]], ...] = ()


def read_cells(path: Path) -> tuple[Cell, ...]:
    """Return the cells of a ``matrix.json``: a list of objects, or an object whose ``cells`` is that list.

    Raises InputError naming the cell and the field if the file has another form.
    """
    try:
        data = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(str(path), f"no readable JSON ({error})", "the cells of a matrix") from error
    cells = data.get("cells") if isinstance(data, dict) else data
    if not isinstance(cells, list):
        raise InputError(str(path), "no list of cells", '[{"fabric": …, "stack": …, "rails": …, "benchmark": …}, …]')
    try:
        return tuple(_cell_of(cell, f"cells[{index}]") for index, cell in enumerate(cells))
    except FormError as error:
        raise InputError(str(path), error.found, error.expected, field=error.field) from error


@dataclass(frozen=True, slots=True)
class _StoredCell:
    """A cell as in a ``matrix.json``; ``policy`` is None if its test's name leaves that to the stack."""

    fabric: str
    stack: str
    rails: int
    benchmark: str
    check: str | None = None
    reason: str | None = None
    policy: str | None = None
    system: str | None = None


def cell_json(cell: Cell) -> dict[str, Any]:
    """Return a cell as in a ``matrix.json``, with its rail policy if its test's name has it."""
    test, policy = cell.test, {"policy": cell.test.policy} if cell.named else {}
    kept = _StoredCell(test.fabric, test.stack, test.rails, test.benchmark, test.check, cell.reason)
    return {key: value for key, value in asdict(kept).items() if key not in ("policy", "system")} | policy


def _cell_of(value: object, where: str) -> Cell:
    kept = decode(_StoredCell, value, where)
    test = TestId(
        *(kept.fabric, kept.stack, kept.rails, kept.benchmark, kept.check or ""),
        policy=kept.policy or "",
        system=kept.system or "",
    )
    return Cell(test, kept.reason, named=kept.policy is not None)


def _key(cell: Cell) -> TestId:
    """Return what identifies a cell's entry in the table; its rail policy only if its test's name has it."""
    test = cell.test
    return replace(test.place, benchmark=test.benchmark, policy=test.policy if cell.named else "")


def cell_words(cell: Cell) -> str:
    """Return the sentence on a promised cell that left no record."""
    test = cell.test
    rails = "1 rail" if test.rails == 1 else f"{test.rails} rails"
    return f"{_label(_key(cell))} on {test.fabric}, {rails}, {test.stack}: should have run, but left no record"


def matrix(records: Sequence[Record], cells: Sequence[Cell] = (), places: Sequence[int] | None = None) -> Matrix:
    """Return the matrix of the records and of the cells that a caller promised or gave a reason for.

    A promised cell without a record is ``unrun``: a report with such a cell is not a pass. A record counts more than a
    reason. ``places`` are the records' indices if they are part of a longer list.
    """
    entries: dict[TestId, list[Entry]] = {_key(cell): [] for cell in cells}
    measured_by = {
        replace(cell.test.place, check=cell.test.check): cell.test.benchmark for cell in cells if cell.test.check
    }
    for index, record in enumerate(records):
        place = TestId(record.where.fabric, record.test.stack, record.test.rails)
        measured = measured_by.get(replace(place, check=plain_check(record.test.case)), record.test.benchmark)
        test = replace(place, benchmark=measured, policy=named_policy(record.test.case) or "")
        found = _entry_of(record, _label(test), index if places is None else places[index])
        entries.setdefault(test, []).append(found)
    unrun = []
    for cell in cells:
        if not entries[_key(cell)]:
            state = _ABSENT if cell.reason else _UNRUN
            entries[_key(cell)].append(Entry(_label(_key(cell)), state, _WORDS[state], reason=cell.reason or None))
            unrun += [cell] if state == _UNRUN else []
    return _table(entries, tuple(unrun))


def matrices(records: Sequence[Record], cells: Sequence[Cell] = ()) -> list[tuple[str, Matrix]]:
    """Return the matrix of each system with its name; the name is empty if there is only one."""
    systems = list(dict.fromkeys(record.where.system for record in records))
    if len(systems) < 2:
        return [("", matrix(records, cells))]
    found = []
    for system in systems:
        own = [cell for cell in cells if cell.test.system in ("", system)]
        places = [index for index, record in enumerate(records) if record.where.system == system]
        found.append((system, matrix([records[index] for index in places], own, places)))
    return found


def _label(test: TestId) -> str:
    return f"{test.benchmark}, {test.policy}" if test.policy else test.benchmark


def _entry_of(record: Record, benchmark: str, index: int) -> Entry:
    reason = record.found.verdict.text if record.found.state == "not-tested" else None
    return Entry(benchmark, record.found.state, _WORDS[record.found.state], index, reason)


def _table(entries: dict[TestId, list[Entry]], unrun: tuple[Cell, ...]) -> Matrix:
    stacks = tuple(dict.fromkeys(test.stack for test in entries))
    fabrics = list(dict.fromkeys(test.fabric for test in entries))
    places = {(test.fabric, test.rails) for test in entries}
    rows = []
    idle: list[tuple[str, tuple[str, ...]]] = []
    for fabric, rails in sorted(places, key=lambda place: (fabrics.index(place[0]), place[1])):
        cells = []
        for stack in stacks:
            place = TestId(fabric, stack, rails)
            here = [entry for test, all_of in entries.items() if test.place == place for entry in all_of]
            cells.append(_cell(here) if here else None)
        if any(map(_runs, cells)):
            rows.append(MatrixRow(fabric, rails, tuple(cells)))
        else:
            idle.append((f"{fabric}, {'1 rail' if rails == 1 else f'{rails} rails'}", _reasons(cells)))
    columns = [column for column in range(len(stacks)) if any(_runs(row.cells[column]) for row in rows)]
    if rows:
        for column in sorted(set(range(len(stacks))) - set(columns)):
            idle.append((stacks[column], _reasons([row.cells[column] for row in rows])))
        stacks = tuple(stacks[column] for column in columns)
        rows = [MatrixRow(row.fabric, row.rails, tuple(row.cells[column] for column in columns)) for row in rows]
    return Matrix(stacks, tuple(rows), unrun, tuple(idle))


def _runs(cell: MatrixCell | None) -> bool:
    return cell is not None and bool(cell.entries)


def _reasons(cells: Sequence[MatrixCell | None]) -> tuple[str, ...]:
    """Return the reasons of cells in which nothing runs, each once."""
    return tuple(dict.fromkeys(reason for cell in cells if cell for reason, _ in cell.absent))


def _cell(entries: Sequence[Entry]) -> MatrixCell:
    states = [entry.state for entry in entries]
    present = [state for state in WORST_FIRST if state in states]
    words = ", ".join(f"{states.count(state)} {_WORDS[state]}" for state in present) or _WORDS[_ABSENT]
    absent: dict[str, list[str]] = {}
    for entry in entries:
        if entry.state == _ABSENT and entry.reason:
            absent.setdefault(entry.reason, []).append(entry.benchmark)
    return MatrixCell(
        state=present[0] if present else _ABSENT,
        words=words,
        entries=tuple(entry for entry in entries if entry.state != _ABSENT),
        absent=tuple((reason, tuple(benchmarks)) for reason, benchmarks in absent.items()),
    )


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
    made = "" if record.no_measurement is None else f", {record_origin(record)}"
    return f"{record.test.benchmark}, {rails}, {record.test.stack}{made}"
