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

import re
from dataclasses import replace
from functools import lru_cache

from railyard.parsers.imb_rows import HEADINGS, Block, fits, mega, pattern_of, release
from railyard.parsers.lines import (
    Line,
    Scanner,
    foreign,
    is_failure,
    is_no_next_size,
    is_whole,
    not_a_number,
    number,
    own_text,
)
from railyard.parsers.output import Caution, ParsedOutput, Remark, Table

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
        if is_whole(line, _DECIMALS):
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
        if fits(joined, block.headings) and is_whole(line, _DECIMALS):
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
