"""Intel MPI Benchmarks, from Pallas' PMB 2.2 to IMB 2021 (MPI-1, EXT, RMA, NBC, P2P, MT, IO), as typed tables.

``parse`` returns one table a block (a ``# Benchmarking`` title and a process count), in the order of the text, with
columns named and ordered as printed. Sizes are B, times us, bandwidths MB/s (10^6 B/s), message rates 1/s.

"Mbytes/sec" is 2^20 B/s up to IMB 4.x and 10^6 B/s from 2018 on. Source: size / t[usec] of the rows of 21 outputs,
versions 2.3 to 2021.11; ``MEGA`` in IMB_output.c since September 2017. Without a banner, and for 2017, the rows
themselves decide; where they cannot, it is 10^6.

A table is complete at the largest size that the heading announces (4194304 where it announces none), or when another
block or ``# All processes entering MPI_Finalize`` follows; never with a cut row, an ellipsis, a sample that IMB
itself gave up (time-out, out of memory), or an error before that end.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.lines import BINARY_MB, Line, is_failure, lines_of, not_a_number, number, whole
from railyard.parsers.parsed import Cell, ContextValue, Parsed, ParseError, Remark, Table

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
_COUNTS = frozenset({"group", "size", "repetitions"})  # whole numbers; all other columns are printed with 2 decimals
_DECIMALS = 2
_DEFAULT_MAXIMUM = 4194304

#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part      |  #    PALLAS MPI Benchmark Suite V2.2, MPI-1 part
_BANNER = re.compile(
    r"^\s*#\s*(?:Intel ?\(R\)|PALLAS) MPI Benchmarks?(?: Suite)? (?P<version>[^,]{1,60}),\s*(?P<part>\S{0,20}).*$",
    re.IGNORECASE,
)
# Maximum message length in bytes:   4194304
_MAXIMUM = re.compile(r"^\s*#\s*Maximum message length in bytes:\s*(?P<size>[0-9]{1,15})\s*$")
# Benchmarking Multi-PingPong
_TITLE = re.compile(r"^\s*#\s*Benchmarking\s+(?P<name>\S+)\s*$")
# #processes = 2; rank order (rowwise):   |   # #processes = 2 (threads: 4)
_PROCESSES = re.compile(
    r"^\s*#\s*#processes = (?P<ranks>[0-9]{1,9})(?:\s*\(threads: (?P<threads>[0-9]{1,9})\)|\s*;.*)?\s*$"
)
# ( 2 groups of 2 processes each running simultaneous )
_GROUPS = re.compile(r"^\s*#\s*\( (?P<groups>[0-9]{1,9}) groups of (?P<ranks>[0-9]{1,9}) processes each running .*$")
# ( 62 additional processes waiting in MPI_Barrier)
_WAITING = re.compile(r"^\s*#\s*\( (?P<waiting>[0-9]{1,9}) additional process(?:es)? waiting in .*$")
#    MODE: NON-AGGREGATE    |   # window_size = 64
_MODE = re.compile(r"^\s*#\s*MODE:\s*(?P<mode>[A-Z-]+)\s*$")
_WINDOW = re.compile(r"^\s*#\s*window_size = (?P<window>[0-9]{1,9})\s*$")
# All processes entering MPI_Finalize
_END = re.compile(r"^\s*#\s*All processes entering MPI_Finalize\s*$")
#       262144 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X" or …
_GIVEN_UP = re.compile(r"^\s*(?:[0-9]{1,15}\s+){1,2}(?:time-out\.|out-of-mem\.|int-overflow)(?:[;\s].*)?$")
_OWN_COMMENT = re.compile(r"^\s*#.*$")
_CONTEXT = (_PROCESSES, _GROUPS, _WAITING, _MODE, _WINDOW)


@dataclass(slots=True)
class _Block:
    """One table while it is read: words of the rows as printed, and what spoils its completeness."""

    line: int
    version: str | None
    maximum: int
    benchmark: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)
    headings: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    part: list[str] = field(default_factory=list)  # a row's first half, when a mailer wrapped the line
    ended: bool = False
    spoiled: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(HEADINGS[word][0] for word in self.headings)

    def at_maximum(self) -> bool:
        """Return whether the last row is the last that the heading announces."""
        if "#bytes" not in self.headings:
            return bool(self.rows)
        return bool(self.rows) and int(self.rows[-1][self.headings.index("#bytes")]) >= self.maximum


def parse(text: str) -> Parsed:
    """Return the tables, failures and remarks of one output of IMB.

    Raises ParseError where the text has neither a banner nor a title nor a heading of IMB, nor names a program of it.
    """
    reader = _Reader()
    for line in lines_of(text):
        reader.read(line)
    return reader.parsed(text)


class _Reader:
    """The state between lines: the run's banner, the block that is open, and what was found so far."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.maximum = _DEFAULT_MAXIMUM
        self.block: _Block | None = None
        self.blocks: list[_Block] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []
        self.banner: Line | None = None
        self.heading_part: list[str] = []

    def read(self, line: Line) -> None:
        """Read one line: the first kind that knows it takes it; what no kind knows is a failure or a remark."""
        kinds = (self._run, self._title, self._heading, self._row, self._given_up, self._wrapped, self._own)
        if line.text.strip() and not any(kind(line) for kind in kinds):
            self._foreign(line)

    def parsed(self, text: str) -> Parsed:
        """Return what was found, once every line was read."""
        self._close(followed=False)
        tables = tuple(_table(block) for block in self.blocks if block.rows)
        self.failures += [
            Remark(block.line, f"a heading without any row: {block.benchmark or 'no title'}")
            for block in self.blocks
            if not block.rows
        ]
        if self.banner and not self.blocks:
            self.failures.append(Remark(self.banner.number, f"no table follows: {self.banner.text.strip()}"))
        if not self.blocks and not self.banner and not (self.failures and "IMB-" in text):
            first = next((line for line in lines_of(text) if line.text.strip()), Line(0, "", True))
            raise ParseError(
                first.number, first.text, 'output of IMB: a banner, a title "# Benchmarking …" or a heading'
            )
        return Parsed(tables, tuple(sorted(self.failures, key=lambda item: item.line)), tuple(self.remarks))

    def _run(self, line: Line) -> bool:
        banner, maximum = _BANNER.match(line.text), _MAXIMUM.match(line.text)
        if banner:
            self._close(followed=False)
            self.version, self.maximum, self.banner = banner["version"].strip(), _DEFAULT_MAXIMUM, line
        elif maximum and line.ended:
            self.maximum = int(maximum["size"])
        elif _END.match(line.text):
            self._close(followed=True)
        return bool(banner or maximum or _END.match(line.text))

    def _title(self, line: Line) -> bool:
        title = _TITLE.match(line.text)
        if title:
            self._close(followed=True)
            self.block = _Block(line.number, self.version, self.maximum, title["name"])
            return True
        for pattern in _CONTEXT:
            found = pattern.match(line.text)
            if found:
                if self.block and not self.block.rows:
                    given = found.groupdict().items()
                    self.block.context |= {k: int(v) if v.isdigit() else v for k, v in given if v is not None}
                return True
        return False

    def _heading(self, line: Line) -> bool:
        words = line.words
        if not words or any(word not in HEADINGS for word in words):
            self.heading_part = []
            return False
        # the second line of a heading that a mailer wrapped belongs to the first
        if self.heading_part and self.block and not self.block.rows:
            self.block.headings += words
        else:
            if self.block is None or self.block.headings:
                self._close(followed=True)
                self.block = _Block(line.number, self.version, self.maximum)
            self.block.headings = words
        self.heading_part = words
        return True

    def _row(self, line: Line) -> bool:
        block, words = self.block, line.words
        if block is None or not _fits(words, block.headings):
            return False
        if whole(line, _DECIMALS):
            block.rows.append(words)
            self._note_nan(line)
        else:
            block.spoiled = True
        block.part = []
        return True

    def _note_nan(self, line: Line) -> None:
        if any(not_a_number(word) for word in line.words):
            self.failures.append(Remark(line.number, line.text.strip()))

    def _given_up(self, line: Line) -> bool:
        if self.block is None or not _GIVEN_UP.match(line.text):
            return False
        self.block.spoiled = True
        self.failures.append(Remark(line.number, line.text.strip()))
        return True

    def _wrapped(self, line: Line) -> bool:
        """Read a line of numbers that are fewer than a row: half of a wrapped row, else a cut one."""
        block, words = self.block, line.words
        if block is None or not words or any(number(word) is None for word in words):
            return False
        joined = block.part + words
        if _fits(joined, block.headings) and whole(line, _DECIMALS):
            block.rows.append(joined)
            block.part = []
            return True
        if block.part or not _fits(words, block.headings[: len(words)]):
            block.spoiled = bool(block.part) or block.spoiled
            block.part = []
            return False
        block.part = words
        return True

    def _own(self, line: Line) -> bool:
        return bool(_OWN_COMMENT.match(line.text)) and not is_failure(line.text)

    def _foreign(self, line: Line) -> None:
        block = self.block
        failed = is_failure(line.text)
        (self.failures if failed else self.remarks).append(Remark(line.number, line.text.strip()[:2000]))
        if block is None:
            return
        cut = _is_cut_row(line.words, block)
        if (failed or line.dots or cut) and not (block.at_maximum() and not cut):
            block.spoiled = True

    def _close(self, followed: bool) -> None:
        block = self.block
        if block and block.headings:
            block.ended = block.at_maximum() or followed
            block.spoiled |= bool(block.part)
            self.blocks.append(block)
        elif block:
            # a title whose heading never came: a hang or an abort in the warm-up
            self.blocks.append(block)
        self.block = None


def _fits(words: list[str], headings: list[str]) -> bool:
    """Return whether these words are a row under these headings: as many, counts whole, all else numbers."""
    if not words or len(words) != len(headings):
        return False
    for word, heading in zip(words, headings, strict=True):
        if HEADINGS[heading][0] in _COUNTS:
            if not (word.isdigit() and word.isascii() and len(word) <= 18):
                return False
        elif number(word) is None and not not_a_number(word):
            return False
    return True


def _is_cut_row(words: list[str], block: _Block) -> bool:
    """Return whether a foreign line begins as this table's next row would: its counts, then something else."""
    counts = sum(1 for column in block.columns if column in _COUNTS)
    if len(words) < 2 or counts < 2 or not _fits(words[:counts], block.headings[:counts]):
        return False
    return number(words[-1]) is None or len(words) != len(block.headings)


def _table(block: _Block) -> Table:
    factor = _mega(block)
    cells = tuple(
        tuple(_cell(column, word, factor) for column, word in zip(block.columns, words, strict=True))
        for words in block.rows
    )
    return Table(
        tool="imb",
        version=block.version,
        benchmark=block.benchmark,
        columns=block.columns,
        units=tuple(HEADINGS[word][1] for word in block.headings),
        rows=cells,
        line=block.line,
        complete=block.ended and not block.spoiled,
        context=MappingProxyType(block.context),
    )


def _cell(column: str, word: str, factor: float) -> Cell:
    value = number(word)
    return value * factor if column == "bandwidth" and value is not None and factor != 1.0 else value


def _mega(block: _Block) -> float:
    """Return what one printed Mbyte/sec is in MB/s: by the banner's version, without one by the rows."""
    found = re.match(r"V?([0-9]{1,4})", block.version or "", re.IGNORECASE)
    if found is None or int(found[1]) == 2017:
        return _mega_of_rows(block)
    return BINARY_MB if int(found[1]) < 2017 else 1.0


def _mega_of_rows(block: _Block) -> float:
    """Return the factor that the row with the smallest rounding error shows; 1.0 where none can tell.

    size / time, times 1 (PingPong), 2 (Sendrecv) or 4 (Exchange), is the bandwidth: in units of 10^6 the quotient is
    1, 2 or 4, in units of 2^20 it is 1/1.048576 of that. A row counts where rounding to 2 decimals is below 1 %.
    """
    columns = block.columns
    clock = next((name for name in ("time", "time_max") if name in columns), None)
    if clock is None or "size" not in columns or "bandwidth" not in columns:
        return 1.0
    best, factor = 0.01, 1.0
    for words in block.rows:
        size, time, rate = (float(words[columns.index(name)]) for name in ("size", clock, "bandwidth"))
        if not (size > 0 and time > 0 and rate > 0):
            continue
        error = 0.005 / time + 0.005 / rate
        if error < best:
            best = error
            quotients = {abs(rate * time / size / n * f - 1): f for n in (1, 2, 4) for f in (1.0, BINARY_MB)}
            factor = quotients[min(quotients)]
    return factor
