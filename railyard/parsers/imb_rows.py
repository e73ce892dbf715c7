"""The rows of a table of IMB: what the words of a heading mean, how the cells below are read, and what a Mbyte is.

"Mbytes/sec" is 2^20 B/s up to IMB 4.x and 10^6 B/s from 2018 on (``imb`` has the sources). If no banner names the
release, the rows themselves decide.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from railyard.parsers.lines import BINARY_MB, DECIMAL, WHOLE, Run, not_a_number, number, restore_rate, run_pattern
from railyard.parsers.output import Cell, ContextValue, Table

# Printed heading -> column and unit. A new heading is a new line here; it decides how the rows below it are read.
HEADINGS: MappingProxyType[str, tuple[str, str | None]] = MappingProxyType(
    {
        "Group": ("group", None),  # -multi 1: a row for each group
        "#bytes": ("size", "B"),
        "#repetitions": ("repetitions", None),
        "t[usec]": ("time", "us"),
        "t_min[usec]": ("time_min", "us"),
        "t_max[usec]": ("time_max", "us"),
        "t_avg[usec]": ("time_avg", "us"),
        "t_ovrl[usec]": ("time_ovrl", "us"),  # NBC, RMA and IO: time with computation
        "t_pure[usec]": ("time_pure", "us"),
        "t_CPU[usec]": ("time_cpu", "us"),
        "overlap[%]": ("overlap", "%"),
        "Mbytes/sec": ("bandwidth", "MB/s"),
        "Msg/sec": ("message_rate", "1/s"),
        "defects": ("defects", None),  # a build with CHECK
    }
)
COUNTS = frozenset({"group", "size", "repetitions"})  # whole numbers; all other columns are printed with 2 decimals
# IMB-MT prints sizes through "% 13ul": a number and the letter l
_SIZE_MARK = "l"


@dataclass(slots=True)
class Block:
    """One table while it is read: cells as printed, Mbytes not yet converted, and what makes it incomplete."""

    line: int
    version: str | None
    maximum: int
    benchmark: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)
    headings: list[str] = field(default_factory=list)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    part: list[str] = field(default_factory=list)  # a row's first half, if a mailer wrapped the line
    ended: bool = False
    spoiled: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(HEADINGS[word][0] for word in self.headings)

    def at_maximum(self) -> bool:
        """Return whether the last row has the largest size that the heading announces."""
        if "#bytes" not in self.headings:
            return bool(self.rows)
        return bool(self.rows) and int(self.rows[-1][self.headings.index("#bytes")] or 0) >= self.maximum

    def add(self, words: list[str]) -> None:
        """Add one row of words that fit."""
        self.rows.append(tuple(number(word.removesuffix(_SIZE_MARK)) for word in words))
        self.part = []

    def take(self, run: Run) -> None:
        """Add rows of ``pattern_of`` these headings."""
        words, width = run.text.split(), len(self.headings)
        columns = [_column(HEADINGS[name][0], words[place::width]) for place, name in enumerate(self.headings)]
        self.rows.extend(zip(*columns, strict=True))
        self.part = []

    def begins_row(self, words: list[str]) -> bool:
        """Return whether a foreign line begins like the next row: its counts, then something else."""
        counts = sum(1 for column in self.columns if column in COUNTS)
        if len(words) < 2 or counts < 2 or not fits(words[:counts], self.headings[:counts]):
            return False
        return number(words[-1]) is None or len(words) != len(self.headings)

    def table(self) -> Table:
        """Return the table as far as it was read, bandwidths in MB/s."""
        columns, rows, factor = self.columns, self.rows, mega(self)
        # IMB-MT has two columns of bandwidth at most; all are converted
        places = [place for place, column in enumerate(columns) if column == "bandwidth"]
        if places and "message_rate" in columns:
            rows = [_restore_bandwidth(row, places[0], columns) for row in rows]
        if factor != 1.0:
            rows = [tuple(_times(c, factor) if n in places else c for n, c in enumerate(row)) for row in rows]
        return Table(
            tool="imb",
            version=self.version,
            benchmark=self.benchmark,
            columns=columns,
            units=tuple(
                None if n in places and factor is None else HEADINGS[word][1] for n, word in enumerate(self.headings)
            ),
            rows=tuple(rows),
            line=self.line,
            complete=self.ended and not self.spoiled,
            context=MappingProxyType(self.context),
        )


def _restore_bandwidth(row: tuple[Cell, ...], place: int, columns: Sequence[str]) -> tuple[Cell, ...]:
    """Return a row whose bandwidth was printed as 0.00 with what its message rate gives, if that rounds to 0.00."""
    size, rate = (row[columns.index(name)] if name in columns else None for name in ("size", "message_rate"))
    if row[place] or not size or not rate:
        return row
    return (*row[:place], restore_rate(0.0, float(size) * float(rate) / 1e6), *row[place + 1 :])


def fits(words: list[str], headings: list[str]) -> bool:
    """Return whether these words are a row under these headings: as many, counts whole, all else numbers."""
    if not words or len(words) != len(headings):
        return False
    for word, heading in zip(words, headings, strict=True):
        if HEADINGS[heading][0] in COUNTS:
            digits = word.removesuffix(_SIZE_MARK) if heading == "#bytes" else word
            if not (digits.isdigit() and digits.isascii() and len(digits) <= 18):
                return False
        elif number(word) is None and not not_a_number(word):
            return False
    return True


@lru_cache(maxsize=64)
def pattern_of(headings: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of plain rows under these headings: rows that need no second look."""
    return run_pattern(*(_word(HEADINGS[heading][0]) for heading in headings))


def _word(column: str) -> str:
    if column == "size":
        return f"{WHOLE}{_SIZE_MARK}?"
    return WHOLE if column in COUNTS or column == "message_rate" else DECIMAL


def _column(name: str, words: list[str]) -> list[Cell]:
    if name == "size" and words[0].endswith(_SIZE_MARK):
        words = [word.removesuffix(_SIZE_MARK) for word in words]
    return list(map(int if name in COUNTS or name == "message_rate" else float, words))


def _times(cell: Cell, factor: float | None) -> Cell:
    return None if cell is None or factor is None else cell * factor


def release(version: str | None) -> int:
    """Return the first number of a banner's version, 0 if there is none."""
    found = re.match(r"V?([0-9]{1,4})", version or "", re.IGNORECASE)
    return 0 if found is None else int(found[1])


def mega(block: Block) -> float | None:
    """Return what one printed Mbyte/sec is in MB/s: by the banner's version, or without one by the rows."""
    first = release(block.version)
    if first in (0, 2017):
        return _mega_of_rows(block)
    return BINARY_MB if first < 2017 else 1.0


def _mega_of_rows(block: Block) -> float | None:
    """Return the factor that the row with the smallest rounding error shows; None if no row can tell.

    size / time, times 1 (PingPong), 2 (Sendrecv) or 4 (Exchange), is the bandwidth: in units of 10^6 the quotient is 1,
    2 or 4, in units of 2^20 it is 1/1.048576 of that. A row counts if rounding to 2 decimals changes it by less than 1
    %.
    """
    columns = block.columns
    clock = next((name for name in ("time", "time_max") if name in columns), None)
    if clock is None or "size" not in columns or "bandwidth" not in columns:
        return None
    places = [columns.index(name) for name in ("size", clock, "bandwidth")]
    best: float = 0.01
    factor: float | None = None
    for row in block.rows:
        size, time, rate = (float(row[place] or 0) for place in places)
        if not (size > 0 and time > 0 and rate > 0):
            continue
        error = 0.005 / time + 0.005 / rate
        if error < best:
            best = error
            quotients = {abs(rate * time / size / n * f - 1): f for n in (1, 2, 4) for f in (1.0, BINARY_MB)}
            factor = quotients[min(quotients)]
    return factor
