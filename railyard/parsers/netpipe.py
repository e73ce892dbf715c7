"""NetPIPE 2.4 to 5, what it prints and the ``np.out`` that it writes, as typed tables.

``parse`` returns one table a run (a run begins at "Now starting the main loop", in 5 at "Start testing with …"), in
the order of the text: size (B), repetitions, bandwidth (MB/s, 10^6 B/s), time (us, one way). The repetitions are those
of one trial; NetPIPE makes several and prints the best (5: the mean).

``context["mode"]`` is "pingpong", "stream" or "bidirectional", by the sentence that the option prints. In a stream
time is that of one message; bidirectional bandwidth is the sum of both directions, and np.out (not the console) then
gives twice the size. "Mbps" is 2^20 bit/s up to NetPIPE 4 and 10^6 in 5. Source: netpipe.c of 3.7 and 5.1,
``bps = bits / (t * 1024 * 1024)``; checked on the rows of 6 outputs of 3.6 and 3.7.

A table is complete unless a row is cut, the printed index does not start at its beginning (0; in 5: 1) or jumps, or
an error stands between the rows or after them.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.lines import BINARY_MB, Line, decimals, is_failure, lines_of, number
from railyard.parsers.parsed import Cell, ContextValue, Parsed, ParseError, Remark, Table

_COLUMNS = ("size", "repetitions", "bandwidth", "time")
_UNITS = ("B", None, "MB/s", "us")
_FILE_COLUMNS = ("size", "bandwidth", "time")
_FILE_UNITS = ("B", "MB/s", "us")

# Printed unit -> factor: rates to MB/s, times to us, sizes to B. NetPIPE 5 alone has sizes in B, KB, MB (10^3, 10^6).
_BIT_RATES = {"bps": 1e-6 / 8, "Kbps": 1e-3 / 8, "Mbps": 1 / 8, "Gbps": 1e3 / 8, "Tbps": 1e6 / 8}
_TIMES = {"nsec": 1e-3, "usec": 1.0, "msec": 1e3, "sec": 1e6}
_SIZES = {"bytes": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}

#  43:    1021 bytes   6095 times -->   |   1:       1  B     24999 times -->
_HEAD = re.compile(
    r"^\s*(?P<index>[0-9]{1,6}):\s+(?P<size>[0-9]{1,15}(?:\.[0-9]{1,9})?)\s*(?P<unit>bytes|[KMGT]?B)\s+"
    r"(?P<times>[0-9]{1,12}) times -->(?P<rest>.*)$"
)
#    1063.33 Mbps in       5.53 usec    |    5.94 Mbps  in   1.28 usecs    |   21774.40 Mbps in 0.000005739 sec
_TAIL = re.compile(
    r"^\s*(?P<rate>[0-9]{1,15}\.[0-9]{1,9})\s+(?P<unit>[KMGT]?bps)\s+in\s+"
    r"(?P<time>[0-9]{1,15}\.[0-9]{1,12})\s+(?P<clock>[num]?sec)s?(?:\s.*)?$"
)
_TITLE = re.compile(r"^\s*(?:Now starting the main loop|Start testing with (?P<trials>[0-9]{1,6}) trials .*)\s*$")
# NetPIPE 5 says when it is through; what follows no longer touches the table
_END = re.compile(r"^\s*Completed with\s+max bandwidth\s.*$")
_MODES = (
    (re.compile(r"^\s*Streaming (?:in one direction only\.|data in one direction)\s*$"), "stream"),
    (re.compile(r"^\s*Passing data in both directions simultaneously\.\s*$"), "bidirectional"),
    (re.compile(r"^\s*Bidirectional mode using [0-9]{1,9} pairs of processes\.\s*$"), "bidirectional"),
)
_OWN = re.compile(
    r"^\s*(?:[0-9]{1,9}: \S+|Using .{1,60}|Sending output to .*|Saving output to .*|Send and receive buffers are .*"
    r"|\(A bug in Linux doubles .*|Output is for the combined bandwidth\.|The output shows the combined .*"
    r"|Preposting .*|Performance measured without .*|Streaming does not provide .*|measurement of the latency .*"
    r"|messages may get bundled .*|Sockets are reset .*|degradation from .*|Clock resolution ~ .*|Proc [0-9]+ is on .*"
    r"|of the latency since .*|NOTE: Be leary .*)$"
)


@dataclass(slots=True)
class _Run:
    """One table while it is read."""

    line: int
    titled: bool
    context: dict[str, ContextValue] = field(default_factory=dict)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    following: int | None = None  # the index that the next row must have
    head: re.Match[str] | None = None  # a row whose values have not come yet
    spoiled: bool = False
    ended: bool = False


def parse(text: str) -> Parsed:
    """Return the tables, failures and remarks of one output of NetPIPE, or of one of its np.out files.

    Raises ParseError where the text has neither a row nor a title of NetPIPE.
    """
    lines = lines_of(text)
    written = _data_file(lines)
    if written:
        return Parsed((written,))
    reader = _Reader()
    for line in lines:
        reader.read(line)
    return reader.parsed(lines, text)


class _Reader:
    """The state between lines: the run that is open, the mode that was announced, and what was found so far."""

    def __init__(self) -> None:
        self.run: _Run | None = None
        self.runs: list[_Run] = []
        self.mode: str | None = None  # announced before its run
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line) -> None:
        """Read one line: the first kind that knows it takes it; what no kind knows is a failure or a remark."""
        kinds = (self._title, self._announced, self._head, self._tail, self._end, self._own)
        if line.text.strip() and not any(kind(line) for kind in kinds):
            self._foreign(line.number, line.text)

    def parsed(self, lines: list[Line], text: str) -> Parsed:
        """Return what was found, once every line was read."""
        self._close()
        for run in self.runs:
            if not run.rows:
                self.failures.append(Remark(run.line, "the main loop gave no row"))
        if not self.runs and not (self.failures and re.search(r"\bNP[a-z0-9]{2,12}\b", text)):
            first = next((line for line in lines if line.text.strip()), Line(0, "", True))
            raise ParseError(first.number, first.text, 'output of NetPIPE: "Now starting the main loop" or its rows')
        if self.mode and len(self.runs) == 1:
            # printed through a buffer of its own, the sentence may come last (3.7.2 under mpirun, no -o)
            self.runs[0].context["mode"] = self.mode
        tables = tuple(_table(run) for run in self.runs if run.rows)
        return Parsed(tables, tuple(sorted(self.failures, key=lambda item: item.line)), tuple(self.remarks))

    def _title(self, line: Line) -> bool:
        title = _TITLE.match(line.text)
        if title:
            self._close()
            self._open(line.number, titled=True)
            if self.run and title["trials"]:
                self.run.context["trials"] = int(title["trials"])
        return bool(title)

    def _open(self, number: int, titled: bool) -> None:
        self.run = _Run(number, titled, {"mode": self.mode or "pingpong"})
        self.mode = None

    def _announced(self, line: Line) -> bool:
        for pattern, mode in _MODES:
            if pattern.match(line.text):
                if self.run and len(self.run.rows) < 2:
                    self.run.context["mode"] = mode
                else:
                    self.mode = mode
                return True
        return False

    def _head(self, line: Line) -> bool:
        head = _HEAD.match(line.text)
        if not head:
            return False
        if self.run is None:
            self._open(line.number, titled=False)
        assert self.run is not None
        run, index = self.run, int(head["index"])
        first = 0 if head["unit"] == "bytes" else 1
        run.spoiled |= run.head is not None or index != (first if run.following is None else run.following)
        run.following, run.head = index + 1, head
        rest = head["rest"].strip()
        if rest and not self._values(rest):
            self._rest(line.number, rest)
        return True

    def _rest(self, number: int, rest: str) -> None:
        """Read what stands in the place of a row's values: another rank's line, an error, an integrity check."""
        if self.run and rest == "Integrity check passed":
            self.run.head = None
        if not _OWN.match(rest):
            self._foreign(number, rest)

    def _tail(self, line: Line) -> bool:
        return self._values(line.text)

    def _values(self, text: str) -> bool:
        """Read bandwidth and time; they may stand on a later line than their row's beginning."""
        tail = _TAIL.match(text)
        if not tail or self.run is None or self.run.head is None:
            return False
        head, run = self.run.head, self.run
        unit = _BIT_RATES[tail["unit"]] * (BINARY_MB if head["unit"] == "bytes" else 1.0)
        size = round(float(head["size"]) * _SIZES[head["unit"]])
        run.rows.append(
            (size, int(head["times"]), float(tail["rate"]) * unit, float(tail["time"]) * _TIMES[tail["clock"]])
        )
        run.head = None
        return True

    def _end(self, line: Line) -> bool:
        if self.run and _END.match(line.text):
            self._close()
            return True
        return False

    def _own(self, line: Line) -> bool:
        return bool(_OWN.match(line.text)) and not is_failure(line.text)

    def _foreign(self, number: int, text: str) -> None:
        failed = is_failure(text)
        (self.failures if failed else self.remarks).append(Remark(number, text.strip()[:2000]))
        if self.run and (failed or Line(number, text, True).dots):
            self.run.spoiled = True

    def _close(self) -> None:
        if self.run:
            self.run.spoiled |= self.run.head is not None
            self.runs.append(self.run)
        self.run = None


def _table(run: _Run) -> Table:
    return Table(
        tool="netpipe",
        version=None,
        benchmark="netpipe",
        columns=_COLUMNS,
        units=_UNITS,
        rows=tuple(run.rows),
        line=run.line,
        complete=not run.spoiled,
        context=MappingProxyType(run.context),
    )


def _data_file(lines: list[Line]) -> Table | None:
    """Return the table of an np.out file: every line has the numbers of one release, and they agree; else None."""
    filled = [line for line in lines if line.text.strip()]
    for read in (_written_by_3, _written_by_5, _written_by_2):
        rows = [read(line.words) for line in filled[:-1]]
        if not filled or any(row is None for row in rows):
            continue
        last = filled[-1]
        row = read(last.words)
        fixed = decimals(filled[-2].words[-1]) if rows else 0
        cut = row is None or not (last.ended or (fixed > 0 and decimals(last.words[-1]) == fixed))
        kept = tuple(row for row in ([*rows] if cut else [*rows, row]) if row is not None)
        # a last line that this release cannot have begun is foreign: then the text is no np.out at all
        if kept and (not cut or all(number(word) is not None for word in last.words)):
            context = MappingProxyType[str, ContextValue]({"file": "np.out"})
            return Table(
                "netpipe", None, "netpipe", _FILE_COLUMNS, _FILE_UNITS, kept, filled[0].number, not cut, context
            )
    return None


def _floats(words: list[str], count: int) -> list[float] | None:
    values = [number(word) for word in words]
    if len(values) != count:
        return None
    numbers = [float(value) for value in values if value is not None]
    return numbers if len(numbers) == count and all(value >= 0 for value in numbers) else None


def _written_by_3(words: list[str]) -> tuple[Cell, ...] | None:
    """``       1 5.944874   0.00000128`` (3 and 4): bytes, 2^20 bit/s, seconds."""
    values = _floats(words, 3)
    if values is None or not words[0].isdigit() or "." not in words[2]:
        return None
    size, rate, time = values
    digits = 0.5 * 10.0 ** -decimals(words[2])
    if time <= 0 or abs(rate * time * 2**20 / 8 - size) > size * (digits / time + 1e-3):
        return None
    return int(size), rate * _BIT_RATES["Mbps"] * BINARY_MB, time * 1e6


def _written_by_5(words: list[str]) -> tuple[Cell, ...] | None:
    """``      1     0.006     0.005     0.006    1.33`` (5): bytes, mean, worst and best 10^9 bit/s, microseconds."""
    values = _floats(words, 5)
    if values is None or not words[0].isdigit() or "." not in words[4]:
        return None
    size, rate, worst, best, time = values
    if time <= 0 or not worst <= rate <= best or abs(size * 8e-3 / time - rate) > 0.002 + rate * 0.006 / time:
        return None
    return int(size), rate * _BIT_RATES["Gbps"], time


def _written_by_2(words: list[str]) -> tuple[Cell, ...] | None:
    """``0.000097 0.078 8 1 0.000000`` (2): seconds, 2^20 bit/s, bits, bytes, variance."""
    values = _floats(words, 5)
    if values is None or not (words[2].isdigit() and words[3].isdigit()) or values[2] != 8 * values[3]:
        return None
    return int(values[3]), values[1] * _BIT_RATES["Mbps"] * BINARY_MB, values[0] * 1e6
