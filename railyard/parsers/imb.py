"""Intel MPI Benchmarks, from Pallas' PMB 2.2 to IMB 2021 (MPI-1, EXT, RMA, NBC, P2P, MT, IO), as typed tables.

``parse`` returns one table per block (a ``# Benchmarking`` title and a process count), in the order of the text.
Columns have the names and the order that are printed. Sizes are B, times us, bandwidths MB/s (10^6 B/s), message rates
1/s.

"Mbytes/sec" is 2^20 B/s up to IMB 4.x and 10^6 B/s from 2018 on. Source: size / t[usec] of the rows of 21 outputs,
versions 2.3 to 2021.11; ``MEGA`` in IMB_output.c since September 2017. Without a banner, and for 2017, the rows
themselves decide. If they cannot, the column has no unit and no values, and a remark says why: the row that decides may
have been cut away.

A table is complete at the largest size that the heading announces (4194304 if it announces none), or if another block
or ``# All processes entering MPI_Finalize`` follows. It is never complete with a cut row, an ellipsis, a sample that
IMB itself gave up (time-out, out of memory), or an error before that end.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from railyard.parsers.lines import (
    BINARY_MB,
    WHOLE,
    Line,
    Run,
    Scanner,
    fixed_decimals,
    foreign,
    is_failure,
    is_no_next_size,
    is_whole,
    not_a_number,
    number,
    own_text,
    restore_rate,
    run_pattern,
)
from railyard.parsers.output import Caution, Cell, ContextValue, ParsedOutput, Remark, Table

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
#: Messages that a process sends and receives in the printed time, where they are more than one (IMB's user guide).
_MESSAGES: Mapping[str | None, int] = MappingProxyType({"Sendrecv": 2, "Exchange": 4})


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

    @property
    def last_decimals(self) -> int:
        """Return how many decimals the last figure of each row has; 0 for whole numbers."""
        return _DECIMALS if _has_decimals(self.columns[-1]) else 0

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
        if places:
            rows = [row if row[places[0]] else self._restore_bandwidth(row, places[0], factor) for row in rows]
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

    def _restore_bandwidth(self, row: tuple[Cell, ...], place: int, factor: float | None) -> tuple[Cell, ...]:
        """Return a row whose bandwidth was printed as 0.00 with what its message rate or its time gives.

        A few bytes that wait for a processor for a millisecond round to 0.00; a rate that would not stays 0.
        """
        cells = dict(zip(self.columns, row, strict=True))
        size, rate = cells.get("size"), cells.get("message_rate")
        time = cells.get("time") or cells.get("time_max")
        if not size or factor is None or not (rate or time):
            return row
        moved = float(size) * _MESSAGES.get(self.benchmark, 1)
        mb_s = float(size) * float(rate) / 1e6 if rate else moved / float(time or math.inf)
        return (*row[:place], restore_rate(0.0, mb_s / factor), *row[place + 1 :])


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
    return fixed_decimals(_DECIMALS) if _has_decimals(column) else WHOLE


def _has_decimals(column: str) -> bool:
    return column not in COUNTS and column != "message_rate"


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


TOOL = "imb"

_LONGEST = 600  # no line of IMB's own is longer; longer ones are never matched
_DECIMALS = 2
_DEFAULT_MAXIMUM = 4194304
_NO_MEGA = "Mbytes/sec of 10^6 or 2^20 B: no release is named, no row tells"
#: The first release that is known to print its end with every option; too little is known about earlier ones.
_PRINTS_END = 4
_NUMERAL = "0123456789+-"  # no row begins otherwise

# The shape of IMB's headings: one that is not in HEADINGS has a column or a unit that is not known here.
_HEADING_SHAPE = re.compile(r"^#bytes\s{1,40}#repetitions\s{1,40}\S.{0,400}$")

# Every pattern is matched against a line without the blanks around it.
#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part      |  #    PALLAS MPI Benchmark Suite V2.2, MPI-1 part
_BANNER = re.compile(
    r"^#\s{0,20}(?:Intel ?\(R\)|PALLAS) MPI Benchmarks?(?: Suite)? (?P<version>[^,]{1,60}),.*$", re.IGNORECASE
)


# Maximum message length in bytes:   4194304   |   # Maximum io portion in bytes:   16777216
_MAXIMUM = re.compile(r"^#\s{0,20}Maximum (?:message length|io portion) in bytes:\s{0,20}(?P<size>[0-9]{1,15})$")


# Benchmarking Multi-PingPong
_TITLE = re.compile(r"^#\s{0,20}Benchmarking\s{1,20}(?P<name>\S+)$")

_CONTEXT = re.compile(
    r"^#\s{0,20}(?:"
    # #processes = 2; rank order (rowwise):   |   # #processes = 2 (threads: 4)
    r"#processes = (?P<ranks>[0-9]{1,9})(?:\s{0,9}\(threads: (?P<threads>[0-9]{1,9})\)|\s{0,9};.*)?"
    # ( 2 groups of 2 processes each running simultaneous )
    r"|\( (?P<groups>[0-9]{1,9}) groups of (?P<group_ranks>[0-9]{1,9}) processes each running .*"
    # ( 62 additional processes waiting in MPI_Barrier)
    r"|\( (?P<waiting>[0-9]{1,9}) additional process(?:es)? waiting in\b.*"
    #    MODE: NON-AGGREGATE    |   # window_size = 64
    r"|MODE:\s{0,9}(?P<mode>[A-Z-]{1,40})"
    r"|window_size = (?P<window>[0-9]{1,9})"
    r")$"
)


# All processes entering MPI_Finalize
_END = re.compile(r"^#\s{0,20}All processes entering MPI_Finalize$")


#       262144 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X" or …
_GIVEN_UP = re.compile(r"^(?:[0-9]{1,15}\s{1,40}){1,2}(?:time-out\.|out-of-mem\.|int-overflow)(?:[;\s].*)?$")


# IMB-MT -check on; INVALID benchmark name of IMB-MPI1
_OWN_FAILURE = re.compile(r"^(?:CHECK FAILURES: rank .*|Application error code [0-9]{1,9} occurred)$")

_SAID = (("banner", _BANNER), ("maximum", _MAXIMUM), ("end", _END), ("title", _TITLE), ("context", _CONTEXT))

_EXPECTED = 'output of IMB: a banner, a title "# Benchmarking …" or a heading'


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of IMB.

    Raises ParseError if the text has neither a banner nor a title nor a heading of IMB, and names none of its programs.
    """
    text = own_text(text, TOOL, _EXPECTED)
    scanner, reader = Scanner(text), _Reader()
    for line in scanner:
        reader.read(line)
        block = reader.block
        while block and block.headings and (run := scanner.run(pattern_of(tuple(block.headings)))):
            block.take(run)
    return reader.result(text)


class _Reader:
    """The state between lines: the run's banner, the open block, and what was found so far."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.maximum = _DEFAULT_MAXIMUM
        self.block: Block | None = None
        self.tables: list[Table] = []
        self.began = False  # a block's title or heading was seen
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []
        self.banner: Line | None = None
        self.heading_part: list[str] = []
        self.run_tables = 0  # tables before the run's banner
        self.last_headings: list[str] = []

    def read(self, line: Line) -> None:
        """Read one line: the first kind that knows it takes it; a line that no kind knows is a failure or a remark."""
        text = line.text.strip()
        if not text:
            return
        if text[0] == "#":
            known = self._comment(line, text)
        elif text[0] in _NUMERAL:
            self.heading_part = []
            known = self._row(line, text) or self._given_up(line, text) or self._read_wrapped(line)
        else:
            known = self._heading(line)
        if not known:
            self._foreign(line, text)

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._close(followed=False)
        self._end_run(ended=False)
        if self.banner and not self.began:
            self.failures.append(Remark(self.banner.number, f"no table follows: {self.banner.text.strip()}"))
        if not self.began and not self.banner and not (self.failures and "IMB-" in text):
            raise foreign(text, _EXPECTED)
        return ParsedOutput(
            tuple(self.tables), tuple(sorted(self.failures, key=lambda item: item.line)), tuple(self.remarks)
        )

    def _comment(self, line: Line, text: str) -> bool:
        kind, found = _comment_kind(text)
        if kind == "context" and found:
            if self.block and not self.block.rows:
                given = {k.removeprefix("group_"): v for k, v in found.groupdict().items() if v is not None}
                self.block.context |= {k: int(v) if v.isdigit() else v for k, v in given.items()}
        elif kind == "title" and found:
            self._close(followed=True)
            self.block = Block(line.number, self.version, self.maximum, found["name"])
        elif kind == "banner" and found:
            self._close(followed=False)
            self._end_run(ended=False)
            self.version, self.maximum, self.banner = found["version"].strip(), _DEFAULT_MAXIMUM, line
        elif kind == "maximum" and found:
            self.maximum = int(found["size"]) if line.ended else self.maximum
        elif kind == "end":
            self._close(followed=True)
            self._end_run(ended=True)
        else:
            return self._heading(line) or self._unknown_heading(line, text) or kind == "own"
        return True

    def _unknown_heading(self, line: Line, text: str) -> bool:
        """Note a heading with an unknown column or unit: no row below it can be read."""
        if not _HEADING_SHAPE.match(text):
            return False
        unknown = next((word for word in line.words if word not in HEADINGS), "")
        self.failures.append(Remark(line.number, f"a heading with {unknown}, a column or unit not known here: {text}"))
        if self.block and self.block.rows:
            self._close(followed=True)
        self.began, self.block = True, None
        return True

    def _end_run(self, ended: bool) -> None:
        """Note in the tables of one run whether its end was printed."""
        since, self.run_tables = self.run_tables, len(self.tables)
        if ended or release(self.version) >= _PRINTS_END:
            self.tables[since:] = [replace(table, ended=ended) for table in self.tables[since:]]

    def _heading(self, line: Line) -> bool:
        words = line.words
        if not words or words[0] not in HEADINGS or any(word not in HEADINGS for word in words):
            return False
        # if a mailer wrapped a heading, its second line belongs to the first; a line that repeats a column is another
        # heading
        if self.heading_part and self.block and not self.block.rows:
            joined = [HEADINGS[word][0] for word in self.block.headings + words]
            again = any(joined.count(column) > 1 for column in joined if column != "bandwidth")  # IMB-MT has two
            self.block.headings = words if again else self.block.headings + words
        else:
            if self.block is None or self.block.headings:
                self._close(followed=True)
                self.block = Block(line.number, self.version, self.maximum)
            self.block.headings = words
        self.heading_part = words
        return True

    def _row(self, line: Line, text: str) -> bool:
        block, words = self.block, line.words
        if block is None or not fits(words, block.headings):
            return False
        if is_whole(line, block.last_decimals):
            block.add(words)
            if any(not_a_number(word) for word in words):
                self.failures.append(Remark(line.number, text))
        else:
            block.spoiled = True
        block.part = []
        return True

    def _given_up(self, line: Line, text: str) -> bool:
        if self.block is None or not _GIVEN_UP.match(text):
            return False
        self.block.spoiled = True
        self.failures.append(Remark(line.number, text))
        return True

    def _read_wrapped(self, line: Line) -> bool:
        """Read a line with fewer numbers than a row: half of a wrapped row, else a cut one."""
        block, words = self.block, line.words
        if block is None or not words or any(number(word) is None for word in words):
            return False
        joined = block.part + words
        if fits(joined, block.headings) and is_whole(line, block.last_decimals):
            block.add(joined)
            return True
        sizes = [row[0] for row in block.rows[-3:]] if block.headings[:1] == ["#bytes"] else []
        if is_no_next_size(words, sizes) or block.part or not fits(words, block.headings[: len(words)]):
            block.spoiled = bool(block.part) or block.spoiled
            block.part = []
            return False
        block.part = words
        return True

    def _foreign(self, line: Line, text: str) -> None:
        block = self.block
        failed = is_failure(text) or bool(_OWN_FAILURE.match(text[:_LONGEST]))
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        if block is None:
            # a row after the end: two outputs are mixed, and the table may have rows of both
            if self.tables and fits(line.words, self.last_headings):
                self.tables[-1] = replace(self.tables[-1], complete=False)
            return
        cut = text[0] in _NUMERAL and block.begins_row(line.words)
        if (failed or line.dots or cut) and not (block.at_maximum() and not cut):
            block.spoiled = True

    def _close(self, followed: bool) -> None:
        block = self.block
        self.began |= block is not None
        if block and block.rows:
            block.ended = block.at_maximum() or followed
            block.spoiled |= bool(block.part)
            self.tables.append(block.table())
            self.last_headings = block.headings
            if "bandwidth" in block.columns and mega(block) is None:
                self.remarks.append(Caution(block.line, _NO_MEGA))
        elif block:
            # a title without heading or rows: a hang or an abort in the warm-up
            self.failures.append(Remark(block.line, f"a heading without any row: {block.benchmark or 'no title'}"))
        self.block = None


@lru_cache(maxsize=512)  # a long output repeats few different comments
def _comment_kind(text: str) -> tuple[str, re.Match[str] | None]:
    """Return what kind of comment this line is, and its match: one of ``_SAID``, else "own", else "failure"."""
    for kind, pattern in _SAID if len(text) <= _LONGEST else ():
        found = pattern.match(text)
        if found:
            return kind, found
    return "failure" if is_failure(text) else "own", None
