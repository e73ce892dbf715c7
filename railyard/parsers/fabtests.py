"""Output of libfabric's tests, fi_pingpong (its own) and fabtests (fi_rdm_tagged_bw …), as typed tables.

``parse`` returns one table per heading: size (B; printed in units of 1024, "1.5k"), iterations (in units of 1000),
bandwidth (MB/s, 10^6 B/s; where 0.00 is printed, from size and time), time (us, one transfer: half a round trip of a
ping-pong) and message_rate (1/s). The columns ``total`` and ``time`` in seconds are products of these and are left out.
fi_pingpong is known by its heading (``#sent``). All others print the same heading, so their benchmark is null, unless a
row begins with its name, or the command's line is above the heading.

A table is complete unless a row is cut, or an error or an ellipsis is between its rows or after them. A missing
acknowledgement (``-3`` in place of ``=10``) is a failure.

Source: show_perf, size_str and cnt_str of fabtests/common/shared.c and util/pingpong.c, libfabric 1.17 to 2.1.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from railyard.parsers.lines import (
    DECIMAL,
    PREFIX_BYTES,
    Line,
    Run,
    Scanner,
    foreign,
    is_failure,
    number,
    own_text,
    restore_rate,
    run_pattern,
)
from railyard.parsers.output import Cell, ParsedOutput, Remark, Table

TOOL = "fabtests"

_COLUMNS = ("size", "iterations", "bandwidth", "time", "message_rate")
_UNITS = ("B", None, "MB/s", "us", "1/s")
_PINGPONG, _OTHER = ("bytes", "#sent", "#ack"), ("bytes", "iters")
_REST = ("total", "time", "MB/sec", "usec/xfer", "Mxfers/sec")
# 64   1.5k   4m
_SIZE = re.compile(r"\A(?P<number>[0-9]{1,15}(?:\.[0-9]{1,3})?)(?P<prefix>[kmg]?)\Z")
# 10   10k   1m   2b
_COUNT = re.compile(r"\A(?P<number>[0-9]{1,15})(?P<prefix>[kmb]?)\Z")
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_ACKNOWLEDGED = re.compile(r"\A(?P<sign>[=+-])(?P<count>[0-9]{1,15}[kmb]?)\Z")
# fi_getinfo(): util/pingpong.c:1234, ret=-61 (No data available)   |   [error] fabtests:common/shared.c:2345: …
_OWN_FAILURE = re.compile(r"\): \S{1,200}:[0-9]{1,6}\s{0,4}, ret=-?[0-9]{1,6} \(|^\[error\] ")
# $ fi_rdm_tagged_bw -p verbs 10.1.0.2   |   [user@n1 ~]$ ./fi_msg_pingpong   |   + srun -N2 fi_rma_bw -o write
_CALL = re.compile(
    r"\A[^\n$#%>]{0,120}[$#%>+] {1,4}(?:\S{1,200} {1,4}){0,12}?(?:\S{1,200}/)?(?P<program>fi_[a-z0-9_]{2,40})"
    r"(?=\s|\Z)"
)
_DECIMALS = 2  # of every figure of a row
# Rows without a name that need no second look, by whether they say what was acknowledged.
_BEFORE, _AFTER = r"[0-9]{1,15}(?:\.[0-9]{1,3})?[kmg]?", ("[0-9.]{1,20}[kmgtb]?", "[0-9.]{1,20}s", *[DECIMAL] * 3)
_ROWS = {
    True: run_pattern(_BEFORE, "[0-9]{1,15}[kmb]?", "=[0-9]{1,15}[kmb]?", *_AFTER),
    False: run_pattern(_BEFORE, "[0-9]{1,15}[kmb]?", *_AFTER),
}
_EXPECTED = 'output of libfabric\'s tests: a heading "bytes … usec/xfer"'


@dataclass(slots=True)
class _Run:
    """One table while it is read; ``before`` is how many words are before a row's size: 1 for a name, or 0."""

    line: int
    before: int
    acknowledged: bool
    benchmark: str | None = None
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    spoiled: bool = False

    def take(self, run: Run) -> None:
        """Add rows of ``_ROWS``."""
        words, width = run.text.split(), 7 + self.acknowledged
        rates, times, transfers = (list(map(float, words[place::width])) for place in range(width - 3, width))
        sizes, counts = list(map(_size, words[::width])), map(_count, words[1::width])
        exact = map(_exact_rate, rates, sizes, times)
        self.rows.extend(zip(sizes, counts, exact, times, [rate * 1e6 for rate in transfers], strict=True))


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output.

    Raises ParseError if the text has neither a heading of these tests nor an error in their form.
    """
    text = own_text(text, TOOL, _EXPECTED)
    runs: list[_Run] = []
    failures: list[Remark] = []
    remarks: list[Remark] = []
    scanner = Scanner(text)
    program: str | None = None
    for line in scanner:
        words = line.words
        run = _heading(line.number, words) if "usec/xfer" in words else None
        if run is not None:
            run.benchmark, program = run.benchmark or program, None
            runs.append(run)
        elif called := _CALL.match(line.text):
            program = called["program"]
        elif line.text.strip() and not (runs and _row(runs[-1], line, words, failures)):
            _foreign(line, runs, failures, remarks)
        while runs and not runs[-1].before and (alike := scanner.run(_ROWS[runs[-1].acknowledged])):
            runs[-1].take(alike)
    failures += [Remark(run.line, "a heading without any row") for run in runs if not run.rows]
    if not runs and not any(_OWN_FAILURE.search(failure.text) for failure in failures):
        raise foreign(text, _EXPECTED)
    tables = tuple(_table(run) for run in runs if run.rows)
    return ParsedOutput(tables, tuple(sorted(failures, key=lambda item: item.line)), tuple(remarks))


def _heading(line: int, words: list[str]) -> _Run | None:
    for own in (_PINGPONG, _OTHER):
        for before in ((), ("name",)):
            if tuple(words) == (*before, *own, *_REST):
                is_pingpong = own is _PINGPONG
                return _Run(line, len(before), is_pingpong, "fi_pingpong" if is_pingpong else None)
    return None


def _row(run: _Run, line: Line, words: list[str], failures: list[Remark]) -> bool:
    """Add a row, or note that it is cut; return whether the line is one."""
    own = words[run.before :]
    # size, iterations, (acknowledged), total, seconds, MB/sec, usec/xfer, Mxfers/sec
    length = 2 + run.acknowledged + len(_REST)
    size, count = _size(own[0]) if own else None, _count(own[1]) if len(own) > 1 else None
    if size is None:
        return False
    figures = [number(word) for word in own[-3:]] if len(own) == length and own[-4].endswith("s") else []
    cut = not line.ended and not re.search(rf"\.[0-9]{{{_DECIMALS}}}\s*\Z", line.text)
    if count is None or len(figures) != 3 or cut:
        run.spoiled = run.spoiled or not line.ended or count is not None  # a size and a count, but not their figures
        return not line.ended
    rate, time, transfers = figures
    if rate is None or time is None or transfers is None:
        run.spoiled = True
        return False
    if run.acknowledged:
        found = _ACKNOWLEDGED.match(own[2])
        if found is None:
            return False
        if found["sign"] != "=":
            failures.append(Remark(line.number, line.text.strip()[:2000]))
    if run.before and run.benchmark is None:
        run.benchmark = words[0]
    exact = _exact_rate(float(rate), size, float(time))
    run.rows.append((size, count, exact, float(time), float(transfers) * 1e6))
    return True


def _exact_rate(rate: float, size: int | None, time_us: float) -> float:
    """Return a row's rate, MB/s: where its two decimals are 0.00, size over time, if that is so little."""
    return rate if rate or not size or time_us <= 0 else restore_rate(rate, size / time_us)


@lru_cache(maxsize=1024)  # an output repeats few different ones of both
def _size(word: str) -> int | None:
    found = _SIZE.match(word)
    return None if found is None else round(float(found["number"]) * PREFIX_BYTES[found["prefix"]])


@lru_cache(maxsize=1024)
def _count(word: str) -> int | None:
    found = _COUNT.match(word)
    return None if found is None else int(found["number"]) * _DECIMAL[found["prefix"]]


def _foreign(line: Line, runs: list[_Run], failures: list[Remark], remarks: list[Remark]) -> None:
    text = line.text.strip()[:2000]
    failed = is_failure(text) or bool(_OWN_FAILURE.search(text))
    (failures if failed else remarks).append(Remark(line.number, text))
    for run in runs[-1:] if failed or line.dots else ():
        run.spoiled = True


def _table(run: _Run) -> Table:
    return Table(
        tool="fabtests",
        version=None,
        benchmark=run.benchmark,
        columns=_COLUMNS,
        units=_UNITS,
        rows=tuple(run.rows),
        line=run.line,
        complete=not run.spoiled,
    )
