"""The rows of one OSU table: words -> cells, one row at a time or all that are together."""

import operator
import re
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from railyard.parsers.lines import DECIMAL, WHOLE, Line, Run, decimals, number, run_pattern
from railyard.parsers.output import Cell, ContextValue, Table

# Pass and Fail; osu_acc_latency, osu_cas_latency and osu_fop_latency write them out, or skip a type
VALIDATION = MappingProxyType({"pass": True, "passed": True, "fail": False, "failed": False, "skipped": None})
_DECIMALS = 2  # FLOAT_PRECISION of every release
_WHOLE_COLUMNS = frozenset({"size", "iterations", "transmit_size"})


@dataclass(slots=True)
class Block:
    """One table while it is read."""

    line: int
    benchmark: str | None = None
    version: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    units: tuple[str | None, ...] = ()
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    decimals: int = _DECIMALS
    part: list[str] = field(default_factory=list)  # a row's first half, if a mailer wrapped the line
    spoiled: bool = False

    def table(self) -> Table:
        """Return the table as far as it was read."""
        return Table(
            tool="osu",
            version=self.version,
            benchmark=self.benchmark,
            columns=self.columns,
            units=self.units,
            rows=tuple(self.rows),
            line=self.line,
            complete=not self.spoiled,
            context=MappingProxyType(self.context),
        )

    def next_block(self, line: int) -> "Block":
        """Return a block for the next table of the same program, which begins in this line."""
        return Block(line, self.benchmark, self.version, dict(self.context))

    def cells(self, words: list[str]) -> tuple[Cell, ...] | None:
        """Return one row's cells, or None if these words are not a row of this table (sizes rise in a table)."""
        if not self.columns or len(words) != len(self.columns):
            return None
        cells: list[Cell] = []
        for column, word in zip(self.columns, words, strict=True):
            if column == "validation" and word.lower() in VALIDATION:
                cells.append(VALIDATION[word.lower()])
                continue
            value = number(word)
            if value is None or column == "validation":
                return None
            cells.append(value)
        if self.columns[0] == "size" and not self.begins_row(words[:1]):
            return None
        return tuple(cells)

    def widen(self, words: list[str]) -> bool:
        """Take the columns of a collective's rows that have more than its heading, which names only the mean (7.3 with
        ``-f``): mean, least, most, and repetitions. Return whether the words are such a row.
        """
        if self.columns != ("size", "avg") or self.rows or len(words) != 5 or not words[4].isdecimal():
            return False
        mean, least, most = (number(word) for word in words[1:4])
        if mean is None or least is None or most is None or not least <= mean <= most:
            return False
        self.columns = ("size", "avg", "min", "max", "iterations")
        self.units = ("B", "us", "us", "us", None)
        return True

    def is_stray(self, words: list[str]) -> bool:
        """Return whether these words have the form of a row, but its size cannot come next."""
        if self.columns[:1] != ("size",) or len(words) != len(self.columns) or not words[0].isdigit():
            return False
        known = (number(word) is not None or word.lower() in VALIDATION for word in words)
        return all(known) and any("." in word for word in words[1:2]) and self.cells(words) is None

    def begins_row(self, words: list[str]) -> bool:
        """Return whether the first word can be the next row's size: a whole number above the last row's."""
        if not words or not self.columns or self.columns[0] != "size" or not words[0].isdigit() or len(words[0]) > 18:
            return False
        last = self.rows[-1][0] if self.rows else -1
        return len(words) < len(self.columns) and (last is None or int(words[0]) > last)

    def take(self, run: Run) -> list[Line]:
        """Add rows of ``pattern_of`` these columns; return those that are not of this table, to be read as lines."""
        words, width = run.text.split(), len(self.columns)
        columns = [_column(name, words[place::width]) for place, name in enumerate(self.columns)]
        if self.columns[0] == "size":
            sizes = [self.rows[-1][0] if self.rows else -1, *columns[0]]
            if not all(map(operator.lt, sizes, columns[0])):  # type: ignore[arg-type]
                return list(run.lines())
        if words[-1][-1].isdigit() and len(set(map(decimals, words[width - 1 :: width]))) > 1:
            return list(run.lines())  # one of them may be cut
        self.rows.extend(zip(*columns, strict=True))
        self.spoiled |= bool(self.part)
        self.part = []
        if words[-1][-1].isdigit():
            self.decimals = decimals(words[-1])
        return []


def _column(name: str, words: list[str]) -> list[Cell]:
    if name == "validation":
        return [True] * len(words)
    return list(map(int if name in _WHOLE_COLUMNS else float, words))


@lru_cache(maxsize=64)
def pattern_of(columns: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of plain rows, as every release prints them: rows that need no second look."""
    return run_pattern(*("Pass" if n == "validation" else WHOLE if n in _WHOLE_COLUMNS else DECIMAL for n in columns))
