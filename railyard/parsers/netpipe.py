"""Output of NetPIPE 2.4 to 5, printed or in its file ``np.out``, as typed tables.

``parse`` returns one table per run (a run begins at "Now starting the main loop", in 5 at "Start testing with …"), in
the order of the text: size (B), repetitions, bandwidth (MB/s, 10^6 B/s), time (us, one way). The repetitions are those
of one trial; NetPIPE makes several trials and prints the best (5: the mean).

``context["mode"]`` is "pingpong", "stream" or "bidirectional", from the sentence that the option prints. In a stream,
time is that of one message. Bidirectional bandwidth is the sum of both directions, and np.out (not the console) then
has twice the size. "Mbps" is 2^20 bit/s in NetPIPE 2 and 3 and 10^6 in 5. Source: netpipe.c of 2.4, 3.7 and 5.1, ``bps
= bits / (t * 1024 * 1024)``; checked on the rows of 6 outputs of 3.6 and 3.7. NetPIPE 4 prints the form of 3 in 10^6
(its README): the rows decide, and if they cannot, it is 2^20.

A table is complete unless a row is cut, the printed index does not start at its first value (0; in 5: 1) or jumps, or
an error is between the rows or after them.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.lines import (
    BINARY_MB,
    DECIMAL,
    WHOLE,
    Line,
    Run,
    Scanner,
    decimals,
    foreign,
    is_failure,
    is_whole,
    number,
    own_text,
    restore_rate,
    run_pattern,
)
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "netpipe"

_COLUMNS = ("size", "repetitions", "bandwidth", "time")
_UNITS = ("B", None, "MB/s", "us")
_LONGEST = 600  # no line of NetPIPE's own is longer; longer ones are never matched

# Printed unit -> factor: rates to MB/s, times to us, sizes to B. Only NetPIPE 5 has sizes in B, KB, MB (10^3, 10^6).
_BIT_RATES = {"bps": 1e-6 / 8, "Kbps": 1e-3 / 8, "Mbps": 1 / 8, "Gbps": 1e3 / 8, "Tbps": 1e6 / 8, "MBps": 1.0}
_TIMES = {"nsec": 1e-3, "usec": 1.0, "msec": 1e3, "sec": 1e6}
_SIZES = {"bytes": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}

# Every pattern is matched against a line without the blanks around it.
#  43:    1021 bytes   6095 times -->   |   1:       1  B     24999 times -->
_HEAD = re.compile(
    r"^(?P<index>[0-9]{1,6}):\s{1,20}(?P<size>[0-9]{1,15}(?:\.[0-9]{1,9})?)\s{0,9}(?P<unit>bytes|[KMGT]?B)\s{1,20}"
    r"(?P<times>[0-9]{1,12}) times -->(?P<rest>.*)$"
)
#    1063.33 Mbps in       5.53 usec    |    5.94 Mbps  in   1.28 usecs    |   21774.40 Mbps in 0.000005739 sec
# 2.4 goes on with ", avg utime=…"; 5 with "   3 failures"; MPICH's netmpi prints MBps, 2^20 B/s, with -B
_TAIL = re.compile(
    r"^(?P<rate>[0-9]{1,15}\.[0-9]{1,9})\s{1,9}(?P<unit>[KMGT]?bps|MBps)\s{1,9}in\s{1,20}"
    r"(?P<time>[0-9]{1,15}\.[0-9]{1,12})\s{1,9}(?P<clock>[num]?sec)s?"
    r"(?:,.*|\s{1,20}(?P<failures>[0-9]{1,12}) failures.*|\s.*)?$"
)
# As many rows as are together, all of the form that 3 prints: 11 words each.
_ROWS = run_pattern(
    *("[0-9]{1,6}:", WHOLE, "bytes", "[0-9]{1,12}", "times", "-->", DECIMAL, "Mbps", "in", DECIMAL, "usec")
)
# A row of another form: a size of 8,388,608 bytes, a time of -1.10 or nan usec
_UNREAD = re.compile(r" times -->|(?:^|\s)[KMGT]?bps\s{1,9}in\s{1,30}(?:\S{1,60}\s{0,9})?[num]?sec")
_TITLE = re.compile(r"^(?:Now starting the main loop|Start testing with (?P<trials>[0-9]{1,6}) trials .*)$")
# NetPIPE 5 says when it is done; what follows no longer changes the table
_END = re.compile(r"^Completed with\s{1,40}max bandwidth\s.*$")
# -i: "Integrity check passed" (3), "0 failures" (5): a row without values
_INTEGRITY = re.compile(r"^(?:Integrity check passed|(?P<failures>[0-9]{1,12}) failures)$")
_MODES = (
    (re.compile(r"^Streaming (?:in one direction only\.|data in one direction)$"), "stream"),
    (re.compile(r"^Passing data in both directions simultaneously\.$"), "bidirectional"),
    (re.compile(r"^Bidirectional mode using [0-9]{1,9} pairs of processes\.$"), "bidirectional"),
)
_OWN = re.compile(
    r"^(?:[0-9]{1,9}: \S+|Using .{1,60}|Sending output to .*|Saving output to .*|Send and receive buffers are .*"
    r"|\(A bug in Linux doubles .*|Output is for the combined bandwidth\.|The output shows the combined .*"
    r"|Preposting .*|Performance measured without .*|Streaming does not .*|measurement of the latency .*"
    r"|messages may get bundled .*|Sockets are reset .*|degradation from .*|Clock (?:resolution|accuracy) ~ .*"
    r"|Proc [0-9]+ is on .*|of the latency since .*|NOTE: Be leary .*|Doing (?:an|a message) integrity check .*"
    r"|Pass data from a different memory buffer .*|The data will always come from .*|Test using cache effects\..*"
    r"|Only testing factors of 2 .*|Offsetting (?:send|recv) buffer by .*|Measuring the CPU workload .*)$"
)
_EXPECTED = 'output of NetPIPE: "Now starting the main loop" or its rows'
_PROGRAM = re.compile(r"\bNP[a-z0-9]{2,12}\b")
Row = tuple[Cell, ...]  # size (B), bandwidth (MB/s), time (us)
_CONTEXT = MappingProxyType[str, ContextValue]({"file": "np.out"})
_MBPS = BINARY_MB / 8  # MB/s in 2^20 bit/s
_GBPS = 1e3 / 8  # MB/s in 10^9 bit/s
_NUMBER = re.compile(rf"\A(?:{WHOLE}|{DECIMAL})\Z")


@dataclass(slots=True)
class _Run:
    """One table while it is read."""

    line: int
    titled: bool
    context: dict[str, ContextValue] = field(default_factory=dict)
    rows: list[tuple[int, int, float, float]] = field(default_factory=list)  # rates in Mbps as printed
    following: int | None = None  # the index that the next row must have
    head: re.Match[str] | None = None  # a row that waits for its values
    spoiled: bool = False
    decimal: bool = False  # its units are surely powers of ten: NetPIPE 5


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of NetPIPE, or of one of its np.out files.

    Raises ParseError if the text has neither a row nor a title of NetPIPE.
    """
    written = data_file(text)
    if written:
        return ParsedOutput((written,))
    text = own_text(text, TOOL, _EXPECTED)
    scanner, reader = Scanner(text), _Reader()
    for line in scanner:
        reader.read(line)
        while reader.run and (rows := scanner.run(_ROWS)):
            for other in reader.take(reader.run, rows):
                reader.read(other)
    return reader.result(text)


class _Reader:
    """The state between lines: the open run, the announced mode, and what was found so far."""

    def __init__(self) -> None:
        self.run: _Run | None = None
        self.runs: list[_Run] = []
        self.mode: str | None = None  # announced before the run
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line) -> None:
        """Read one line: the first kind that knows it takes it; a line that no kind knows is a failure or a remark."""
        text = line.text.strip()
        if not text:
            return
        if len(text) > _LONGEST:
            kinds: tuple[Callable[[Line, str], bool], ...] = ()
        elif text[0].isdigit():
            kinds = (self._head, self._tail, self._own)
        else:
            kinds = (self._title, self._read_announcement, self._end, self._own)
        if not any(kind(line, text) for kind in kinds):
            self._foreign(line, text)

    def take(self, run: _Run, rows: Run) -> Iterable[Line]:
        """Add rows that are together; return those whose index is not the next, to be read line by line."""
        words = rows.text.split()
        following = 0 if run.following is None else run.following
        after = following + len(words) // 11
        if run.head or run.decimal or words[0::11] != [f"{index}:" for index in range(following, after)]:
            return rows.lines()
        sizes, times = map(int, words[1::11]), map(int, words[3::11])
        run.rows.extend(zip(sizes, times, map(float, words[6::11]), map(float, words[9::11]), strict=True))
        run.following = after
        return ()

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._close()
        for run in self.runs:
            if not run.rows:
                self.failures.append(Remark(run.line, "the main loop gave no row"))
        if not self.runs and not (self.failures and _PROGRAM.search(text)):
            raise foreign(text, _EXPECTED)
        if self.mode and len(self.runs) == 1:
            # the sentence has a buffer of its own and may come last (3.7.2 under mpirun, no -o)
            self.runs[0].context["mode"] = self.mode
        tables = tuple(_table(run) for run in self.runs if run.rows)
        return ParsedOutput(tables, tuple(sorted(self.failures, key=lambda item: item.line)), tuple(self.remarks))

    def _title(self, line: Line, text: str) -> bool:
        title = _TITLE.match(text)
        if title:
            self._close()
            self._open(line.number, titled=True)
            if self.run and title["trials"]:
                self.run.context["trials"] = int(title["trials"])
        return bool(title)

    def _open(self, number: int, titled: bool) -> None:
        self.run = _Run(number, titled, {"mode": self.mode or "pingpong"})
        self.mode = None

    def _read_announcement(self, line: Line, text: str) -> bool:
        for pattern, mode in _MODES:
            if pattern.match(text):
                if self.run and len(self.run.rows) < 2:
                    self.run.context["mode"] = mode
                else:
                    self.mode = mode
                return True
        return False

    def _head(self, line: Line, text: str) -> bool:
        head = _HEAD.match(text)
        if not head:
            return False
        if self.run is None:
            self._open(line.number, titled=False)
        assert self.run is not None
        run, index = self.run, int(head["index"])
        run.decimal = head["unit"] != "bytes"
        first = 1 if run.decimal else 0
        run.spoiled |= run.head is not None or index != (first if run.following is None else run.following)
        run.following, run.head = index + 1, head
        rest = head["rest"].strip()
        if rest and not self._values(line.number, rest):
            self._rest(line, rest)
        return True

    def _rest(self, line: Line, rest: str) -> None:
        """Read what is in place of a row's values: another rank's line, an error, an integrity check."""
        checked = _INTEGRITY.match(rest)
        if checked and self.run:
            self.run.head = None
            if int(checked["failures"] or 0):
                self.failures.append(Remark(line.number, rest))
            elif checked["failures"]:
                return
        if not _OWN.match(rest) and not (checked and checked["failures"]):
            self._foreign(line, rest)

    def _tail(self, line: Line, text: str) -> bool:
        return self._values(line.number, text)

    def _values(self, number: int, text: str) -> bool:
        """Read bandwidth and time; they may be on a later line than their row's beginning."""
        tail = _TAIL.match(text)
        if not tail or self.run is None or self.run.head is None:
            return False
        head, run = self.run.head, self.run
        rate = float(tail["rate"]) * _BIT_RATES[tail["unit"]] / _BIT_RATES["Mbps"]
        size = round(float(head["size"]) * _SIZES[head["unit"]])
        run.rows.append((size, int(head["times"]), rate, float(tail["time"]) * _TIMES[tail["clock"]]))
        run.head = None
        if int(tail["failures"] or 0):
            self.failures.append(Remark(number, text))
        return True

    def _end(self, line: Line, text: str) -> bool:
        if self.run and _END.match(text):
            self._close()
            return True
        return False

    def _own(self, line: Line, text: str) -> bool:
        return bool(_OWN.match(text)) and not is_failure(text)

    def _foreign(self, line: Line, text: str) -> None:
        is_row = line.ended and bool(_UNREAD.search(text[:_LONGEST]))
        failed = is_row or is_failure(text)
        said = f"a row that cannot be read: {line.text.strip()[:300]}" if is_row else text[:2000]
        (self.failures if failed else self.remarks).append(Remark(line.number, said))
        if self.run and (failed or Line(line.number, text, True).dots):
            self.run.spoiled = True

    def _close(self) -> None:
        if self.run:
            self.run.spoiled |= self.run.head is not None
            self.runs.append(self.run)
        self.run = None


def _table(run: _Run) -> Table:
    mega = 1.0 if run.decimal else _mega(run.rows)
    factor = _BIT_RATES["Mbps"] * mega
    return Table(
        tool="netpipe",
        version=None,
        benchmark="netpipe",
        columns=_COLUMNS,
        units=_UNITS,
        rows=tuple(
            [(size, times, _rate(size, rate, time, mega) * factor, time) for size, times, rate, time in run.rows]
        ),
        line=run.line,
        complete=not run.spoiled,
        context=MappingProxyType(run.context),
    )


def _rate(size: int, printed: float, time_us: float, mega: float) -> float:
    """Return a rate in Mbps as printed; one that was printed as 0.00 is what the time of one message gives."""
    return printed if printed or time_us <= 0 else restore_rate(printed, 8 * size / time_us / mega)


def _mega(rows: list[tuple[int, int, float, float]]) -> float:
    """Return what one printed Mbps is in 10^6 bit/s: 1 if at least five rows can tell and all say 1, else 2^20 / 10^6.

    size / time, times 1 or (bidirectional) 2, is the bandwidth: in 2^20 bit/s the quotient is 1/1.048576 of it. A row
    can tell if rounding to 2 decimals changes it by less than 1 %.
    """
    decimal = 0
    for size, _, rate, time in rows:
        if not (size > 0 and rate > 0 and time > 0) or 0.005 / rate + 0.005 / time >= 0.01:
            continue
        quotient = rate * time / (8 * size)
        if min(abs(quotient - 1), abs(quotient / 2 - 1)) > 0.02:
            return BINARY_MB
        decimal += 1
    return 1.0 if decimal >= 5 else BINARY_MB


def data_file(text: str) -> Table | None:
    """Return the table of an np.out file: every line has the numbers of one release, and they agree; else None.

    A cut last line does not count, and the table is then incomplete.
    """
    for read, pattern in _RELEASES:
        table = _table_of_file(Scanner(text), read, pattern)
        if table:
            return table
    return None


def _table_of_file(
    scanner: Scanner, read: Callable[[list[str], int], list[Row] | None], pattern: re.Pattern[str]
) -> Table | None:
    rows: list[Row] = []
    first = fixed = 0  # the first row's line, and the decimals of the last row's last word
    for line in scanner:
        words = line.words
        if not line.text.strip():
            continue
        one = read(words, 1) if all(_NUMBER.match(word) for word in words) else None
        if one is None or not is_whole(line, fixed):
            # if this release cannot print such a last line, it is foreign, and the text is not an np.out at all
            if rows and line.ended and read is not _written_by_2 and _is_no_size(words, rows[-1][0]):
                continue
            cut = bool(rows and words) and all(number(word) is not None for word in words)
            return _make_table(rows, first, False) if cut and not any(rest.text.strip() for rest in scanner) else None
        rows += one
        first, fixed = first or line.number, decimals(words[-1])
        while run := scanner.run(pattern):
            words, count = run.text.split(), run.text.count("\n")
            many = read(words, count)
            if many is None:
                return None
            printed = {decimals(word) for word in words[len(words) // count - 1 :: len(words) // count]}
            if printed != {fixed}:
                return _make_table(rows, first, False)  # one of them is cut
            rows += many
    return _make_table(rows, first, True) if rows else None


def _is_no_size(words: list[str], last: Cell) -> bool:
    """Return whether a line is a whole number that a command prints below the file: the next size is at most twice the
    last one, and above it.
    """
    return len(words) == 1 and words[0].isdecimal() and last is not None and not last < float(words[0]) <= 2 * last


def _make_table(rows: list[Row], line: int, complete: bool) -> Table:
    columns, units = ("size", "bandwidth", "time"), ("B", "MB/s", "us")
    return Table("netpipe", None, "netpipe", columns, units, tuple(rows), line, complete, _CONTEXT)


def _written_by_3(words: list[str], count: int) -> list[Row] | None:
    """``       1 5.944874   0.00000128`` (3 and 4): bytes, 2^20 bit/s, seconds."""
    if len(words) != 3 * count or not words[0].isdigit() or "." not in words[2]:
        return None
    half = 0.5 * 10.0 ** -decimals(words[2])  # a run prints all values with the same number of decimals
    found: list[Row] = []
    for size, rate, time in zip(*(map(float, words[place::3]) for place in range(3)), strict=True):
        if time <= 0 or abs(rate * time * 131072 - size) > size * (half / time + 1e-3):
            return None
        found.append((int(size), rate * _MBPS, time * 1e6))
    return found


def _written_by_5(words: list[str], count: int) -> list[Row] | None:
    """``      1     0.006     0.005     0.006    1.33`` (5): bytes, mean, worst and best 10^9 bit/s, microseconds."""
    if len(words) != 5 * count or not words[0].isdigit() or "." not in words[4]:
        return None
    found: list[Row] = []
    for size, rate, worst, best, time in zip(*(map(float, words[place::5]) for place in range(5)), strict=True):
        if time <= 0 or not worst <= rate <= best or abs(size * 8e-3 / time - rate) > 0.002 + rate * 0.006 / time:
            return None
        found.append((int(size), rate * _GBPS, time))
    return found


def _written_by_2(words: list[str], count: int) -> list[Row] | None:
    """``0.000097 0.078 8 1 0.000000`` (2): seconds, 2^20 bit/s, bits, bytes, variance; with getrusage four more."""
    width = len(words) // count
    if len(words) != width * count or width not in (5, 9) or not (words[2].isdigit() and words[3].isdigit()):
        return None
    times, rates, bits, sizes = (list(map(float, words[place::width])) for place in range(4))
    if any(bit != 8 * size for bit, size in zip(bits, sizes, strict=True)):
        return None
    return [(int(size), rate * _MBPS, time * 1e6) for size, rate, time in zip(sizes, rates, times, strict=True)]


_RELEASES = (
    (_written_by_3, run_pattern(WHOLE, DECIMAL, DECIMAL)),
    (_written_by_5, run_pattern(WHOLE, DECIMAL, DECIMAL, DECIMAL, DECIMAL)),
    (_written_by_2, run_pattern(DECIMAL, DECIMAL, WHOLE, WHOLE, DECIMAL)),
)
