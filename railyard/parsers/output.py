"""What every parser returns: tables, failures and remarks, each with its line; one pair per rail, put together.

What every parser returns: tables, failures and remarks, each with its line.

What one pair of processes per rail printed, one rail after the other -> tables of the run as a whole.

``pair.sh`` prints each client's output after a line ``# railyard: rail hsn0``. The rails' first tables are combined row
by row, then their second tables, and so on. If the rails ran at once, bandwidths and rates are summed and the longest
time counts. If they ran in turn, the worst of each counts. ``context["rails"]`` is the number of rails. A text without
such lines is of one rail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from railyard.parsers.fabric.port import NO_HARDWARE, Hardware, PortState

if TYPE_CHECKING:
    from railyard.parsers.nccl_words import NcclOutput

Cell = int | float | bool | None
ContextValue = str | int | float | bool | None

NO_CONTEXT: Mapping[str, ContextValue] = MappingProxyType({})
#: In a table's context: each of its rows is a report of the same run, as long as the others (perftest).
REPORTS = "reports"
#: In a table's context: the numbers of rows, from 1 and with blanks between, in whose time the tool also did something
#: else than what it measures (WRF wrote a file).
OTHER_WORK = "other_work"
#: Columns in which a benchmark says whether its result or its data was right.
_OWN_CHECKS = ("validation", "passed", "success")


class ParseError(ValueError):
    """The text is not an output of the tool: says which line (1-based, 0 for the whole text) and what was expected."""

    def __init__(self, line_number: int, line: str, expected: str) -> None:
        shown = line if len(line) <= 80 else line[:77] + "..."
        where = f"line {line_number}: found {shown!r}" if line_number else f"found {shown!r}"
        super().__init__(f"{where}, expected {expected}")
        self.line_number = line_number
        self.line = line
        self.expected = expected


class Remark(NamedTuple):
    """A line that is not a row: an error that the output reports, or noise (a tuple: made by the million)."""

    line: int
    text: str


class Caution(Remark):
    """What a parser itself says of the figures, where a remark only quotes a line: their verdict shows it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Table:
    """One table of an output, units converted: sizes B, times us (applications s), bandwidths MB/s (10^6 B/s).

    ``rows`` has one tuple per printed row, as long as ``columns``; a cell is None if the row prints none. ``complete``
    is False if the text shows that rows are missing. ``line`` is the heading's, 1-based. ``ended``: whether the tool's
    last line follows; None if it prints none, or if ``complete`` already says it.
    """

    tool: str
    version: str | None
    benchmark: str | None
    columns: tuple[str, ...]
    units: tuple[str | None, ...]
    rows: tuple[tuple[Cell, ...], ...]
    line: int
    complete: bool
    context: Mapping[str, ContextValue] = field(default_factory=lambda: NO_CONTEXT)
    ended: bool | None = None

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.units):
            raise ValueError(f"{len(self.columns)} columns but {len(self.units)} units")
        other = set(map(len, self.rows)) - {len(self.columns)}
        if other:
            raise ValueError(f"{len(self.columns)} columns but a row of {min(other)}")

    @staticmethod
    def of_figures(
        tool: str,
        version: str | None,
        benchmark: str | None,
        figures: Mapping[str, tuple[Cell, str | None]],
        *,
        line: int,
        complete: bool,
        context: Mapping[str, ContextValue],
    ) -> Table:
        """Return the table of one row; ``figures``: the value and the unit of each column, at least one."""
        values, units = zip(*figures.values(), strict=True)
        made = MappingProxyType(dict(context)) if context else NO_CONTEXT
        return Table(tool, version, benchmark, tuple(figures), units, (values,), line, complete, made)

    def column(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of one column, one per row. Raises KeyError for a column that the table lacks."""
        if name not in self.columns:
            raise KeyError(f"{self.benchmark}: no column {name!r}, only {', '.join(self.columns)}")
        index = self.columns.index(name)
        return tuple(map(itemgetter(index), self.rows))


def validation_of(tables: Sequence[Table]) -> bool | None:
    """Return whether the benchmark's own check of its data or result passed; None if no table has one.

    A row that was not checked (OSU writes "skipped") did not pass.
    """
    checks = [
        value for table in tables for name in _OWN_CHECKS if name in table.columns for value in table.column(name)
    ]
    return all(value is True for value in checks) if checks else None


@dataclass(frozen=True, slots=True)
class ParsedOutput:
    """All that is in one output, in the order of the text.

    ``nccl``: the jobs of nccl-tests or rccl-tests, and the log of NCCL or RCCL; None if there is neither.
    ``hardware``: the slots, GIDs and nearness that a node's tools print (lspci, show_gids, nvidia-smi).
    """

    tables: tuple[Table, ...] = ()
    failures: tuple[Remark, ...] = ()
    remarks: tuple[Remark, ...] = ()
    fabric: tuple[PortState, ...] = ()
    nccl: NcclOutput | None = None
    hardware: Hardware = NO_HARDWARE


_MOST_RAILS = 256  # no node has more, and each is read separately
_HEAD = re.compile(r"^# railyard: rail (?P<device>\S{1,80})[ \t\r]*$", re.MULTILINE)
# Columns that say how much was done: with several rails, the smallest counts for each rail's bytes.
_LEAST = frozenset({"repetitions", "iterations"})
_SUMMED_UNITS = frozenset({"MB/s", "1/s"})
#: What a tool itself counted: with several rails, the sum.
_SUMMED_CONTEXT = ("bytes_sent", "bytes_received")


def parse_each_rail(text: str, read: Callable[[str], ParsedOutput], worst: bool = False) -> ParsedOutput:
    """Return what ``read`` finds in each rail's part, with combined tables; ``worst`` if the rails ran in turn.

    A part that ``read`` refuses is a failure, with its rail and line. Raises ParseError if it refuses all of them.
    """
    heads = list(_HEAD.finditer(text))
    if not heads:
        return read(text)
    if len(heads) > _MOST_RAILS:
        number = text.count("\n", 0, heads[_MOST_RAILS].start()) + 1
        raise ParseError(number, heads[_MOST_RAILS][0], f"at most {_MOST_RAILS} rails' outputs")
    parts: list[ParsedOutput] = []
    errors: list[ParseError] = []
    before = ParsedOutput(remarks=tuple(_lines(text[: heads[0].start()], 1)))
    lines, counted_to = 1, 0  # counted from the head before: else each of a million heads would count all again
    for head, end in zip(heads, [*(each.start() for each in heads[1:]), len(text)], strict=True):
        lines += text.count("\n", counted_to, head.end())
        counted_to = head.end()
        try:
            parts.append(_moved_down(read(text[head.end() + 1 : end]), lines))
        except ParseError as error:
            expected = f"{error.expected}, for rail {head['device']}"
            errors.append(ParseError(error.line_number and error.line_number + lines, error.line, expected))
            parts.append(ParsedOutput(failures=(Remark(errors[-1].line_number, str(errors[-1])),)))
    if len(errors) == len(parts):
        raise errors[0]
    tables = _combine_tables([part.tables for part in parts], worst) if len(parts) > 1 else parts[0].tables
    uneven = () if len({len(part.tables) for part in parts}) == 1 else (Remark(0, "the rails' tables differ"),)
    return ParsedOutput(
        tables,
        tuple(failure for part in parts for failure in part.failures) + uneven,
        tuple(remark for part in (before, *parts) for remark in part.remarks),
    )


def _lines(text: str, first: int) -> list[Remark]:
    numbered = enumerate(text.split("\n"), first)
    return [Remark(number, line.strip()[:2000]) for number, line in numbered if line.strip()]


def _moved_down(parsed: ParsedOutput, lines: int) -> ParsedOutput:
    return replace(
        parsed,
        tables=tuple(replace(table, line=table.line + lines) for table in parsed.tables),
        failures=tuple(Remark(failure.line + lines, failure.text) for failure in parsed.failures),
        remarks=tuple(remark._replace(line=remark.line + lines) for remark in parsed.remarks),
    )


def _combine_tables(rails: Sequence[Sequence[Table]], worst: bool) -> tuple[Table, ...]:
    return tuple(_one(tables, worst) for tables in zip(*rails, strict=False))


def _one(tables: Sequence[Table], worst: bool) -> Table:
    """Return the rails' tables as one; it has no rows and is incomplete if the rails' rows differ."""
    first = tables[0]
    if any(other.columns != first.columns or other.units != first.units for other in tables):
        return replace(first, rows=(), complete=False)
    rows = [
        tuple(map(_cell, first.columns, first.units, zip(*cells, strict=True), [worst] * len(first.columns)))
        for cells in zip(*(table.rows for table in tables), strict=False)
    ]
    sizes = [tuple(table.column("size")) if "size" in table.columns else len(table.rows) for table in tables]
    same = all(each == sizes[0] for each in sizes)
    context: dict[str, ContextValue] = {**first.context, "rails": len(tables)}
    for name in _SUMMED_CONTEXT:
        counted = [table.context.get(name) for table in tables]
        if name in context:
            numbers = [value for value in counted if isinstance(value, int)]
            context[name] = sum(numbers) if len(numbers) == len(tables) else None
    return replace(
        first,
        rows=tuple(rows) if same else (),
        complete=same and all(table.complete for table in tables),
        context=MappingProxyType(context),
    )


def _cell(column: str, unit: str | None, cells: tuple[Cell, ...], worst: bool) -> Cell:
    numbers = [cell for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]
    if len(numbers) < len(cells):
        return None
    if column in _LEAST or column == "size" or (worst and unit in _SUMMED_UNITS):
        return min(numbers)
    if unit in _SUMMED_UNITS or unit is None:
        return sum(numbers)
    return max(numbers)
