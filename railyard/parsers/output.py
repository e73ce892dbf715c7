"""What every parser returns: tables, failures and remarks, each with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from railyard.parsers.fabric.port import NO_HARDWARE, Hardware, PortState

if TYPE_CHECKING:
    from railyard.parsers.nccl_said import NcclOutput

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
