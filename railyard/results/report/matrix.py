"""The matrix fabric x stack x rails of a report: the state of each cell, and why a cell does not run."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError
from railyard.base.files import read_regular
from railyard.base.json_codec import FormError, decode
from railyard.results.record.form import Record
from railyard.results.report.text import STATE_WORDS
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
