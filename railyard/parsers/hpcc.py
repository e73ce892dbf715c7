"""HPC Challenge 1.0 to 1.5 (hpccoutf.txt), as typed tables: its HPL section as HPL's table, then its other sections.

``parse`` returns, for each run, HPL's table (tool ``hpl``) and after it tables of the tool ``hpcc``, in the order of
the text. ``benchmark`` is the section's name, columns are the printed names in lower case:

- MPIRandomAccess, StarRandomAccess, SingleRandomAccess (and _LCG): rates in GUP/s, times in s, errors;
- StarDGEMM, SingleDGEMM, MPIFFT, StarFFT, SingleFFT: Gflop/s; StarSTREAM, SingleSTREAM: MB/s;
- PTRANS: one table per clock (``context["clock"]``), one row per repetition; the rate is MB/s of the whole machine;
- RingBySize: the rings by message size; LatencyBandwidth: the five major results; PingPong: smallest, mean and largest
  over the pairs of processes; NaturallyOrderedRing, RandomlyOrderedRing;
- Summary: every key of the closing summary that is a number, converted; the others are its context. Its PTRANS_GBs is
  of the matrix with the best rate. If that is not the largest matrix, ``ptrans_largest_gbs`` is the largest one's rate
  (MB/s): the worst of its repetitions in the rows of PTRANS.

Latencies are us (printed in ms), bandwidths MB/s (10^6 B/s, as the output says itself). A ring's bandwidth is that of
one process, both directions together. A table is complete if its section has its end. A table of a single row is
returned only then, except those of LatencyBandwidth. Source: io.c, bench_lat_bw_1.5.2.c, pdtransdriver.c, onecpu.c of
HPCC 1.5.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from railyard.parsers.hpl import HplReader
from railyard.parsers.lines import Line, filled_lines, foreign, is_failure, number, own_text, remember_matches
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table


class Figure(NamedTuple):
    """One printed number: its column (the printed name in lower case), unit, and value; None for a printed NaN."""

    column: str
    unit: str | None
    value: Cell


# Printed unit -> unit after reading, factor
_UNITS = MappingProxyType(
    {
        "GUP/s": ("GUP/s", 1),
        "Gflop/s": ("Gflop/s", 1),
        "GB/s": ("MB/s", 1000),
        "MB/s": ("MB/s", 1),
        "MByte/s": ("MB/s", 1),
        "msec": ("us", 1000),
        "msecs": ("us", 1000),
        "Byte": ("B", 1),
        "s": ("s", 1),
        "": (None, 1),
    }
)
_VALUE = r"(?P<value>\S{1,40})"
# Minimum GUP/s 0.123687   |   Average Copy GB/s 60.655841   |   Single DGEMM Gflop/s 1.081039
_RATE = re.compile(
    r"^(?P<what>(?:Minimum|Average|Maximum|Single)(?: [A-Za-z]{2,8}){0,2}) (?P<unit>GUP/s|Gflop/s|GB/s) "
    rf"{_VALUE}$"
)
# 0.004829127 Billion(10^9) Updates    per second [GUP/s]
_UPDATES = re.compile(rf"^{_VALUE} Billion\(10\^9\) (?P<what>Updates(?:/PE)?) +per second \[(?P<unit>GUP/s)\]$")
# Verification:  Real time used = 0.014582 seconds
_CLOCK = re.compile(rf"^(?P<what>(?:Verification: +)?(?:CPU|Real) time) used += {_VALUE} second(?P<unit>s)$")
# Generation time:     0.044   |   Vector size:                32768
_SECONDS = re.compile(rf"^(?P<what>Generation time|Tuning|Computing|Inverse FFT): +{_VALUE}(?P<unit>)$")
_PLAIN = re.compile(rf"^(?P<what>Vector size|max\(\|x-x0\|\)|Scaled residual|Number of nodes): +{_VALUE}(?P<unit>)$")
_FLOPS = re.compile(rf"^(?P<what>(?P<unit>Gflop/s)): +{_VALUE}$")
# A line's first character -> what it can be
_LINES = MappingProxyType(
    {
        **dict.fromkeys("MA", (_RATE,)),
        **dict.fromkeys("0123456789", (_UPDATES,)),
        "S": (_RATE, _PLAIN),
        "V": (_CLOCK, _PLAIN),
        "C": (_CLOCK, _SECONDS),
        "R": (_CLOCK,),
        "G": (_SECONDS, _FLOPS),
        **dict.fromkeys("TI", (_SECONDS,)),
        **dict.fromkeys("mN", (_PLAIN,)),
    }
)
_FOUND = re.compile(
    r"^Found (?P<errors>[0-9]{1,18}) errors in (?P<locations>[0-9]{1,18}) locations \((?P<passed>passed|failed)\)\.$"
)
_NAMES = MappingProxyType({"gflop/s": "performance", "max(|x-x0|)": "max_error", "updates/pe": "updates_per_pe"})

# Max Ping Pong Latency:                 0.000468 msecs   |   Avg Random Order Bandwidth:     20.670204 MB/s
_MAJOR = re.compile(
    r"^(?P<what>(?:(?:Max|Min) Ping Pong|(?:Randomly|Naturally) +Ordered Ring) (?:Latency|Bandwidth)): +"
    rf"{_VALUE} (?P<unit>msecs|MB/s)$"
)
_SIZED_WORDS = re.compile(
    rf"^(?P<what>(?:Natural|Avg Random) Order (?:Latency|Bandwidth)|Message Size): +{_VALUE} (?P<unit>msec|MB/s|Byte)$"
)
# A line's first character -> what it can be, and the table
_NETWORK_WORDS = MappingProxyType(
    {
        **dict.fromkeys("MN", ((_MAJOR, "LatencyBandwidth"), (_SIZED_WORDS, "RingBySize"))),
        "R": ((_MAJOR, "LatencyBandwidth"),),
        "A": ((_SIZED_WORDS, "RingBySize"),),
    }
)
# Latency   min / avg / max:   0.000446 /   0.000457 /   0.000468 msecs
_PAIRS = re.compile(
    r"^(?P<what>Latency|Bandwidth) +min / avg / max: +(?P<min>\S{1,40}) / +(?P<avg>\S{1,40}) / +(?P<max>\S{1,40})"
    r" (?P<unit>msecs|MByte/s)$"
)
# On naturally ordered ring: latency=      0.000382 msec, bandwidth=   5718.120940 MB/s
_RING_WORDS = re.compile(
    r"^On (?P<order>naturally|randomly) +ordered ring: latency= +(?P<latency>\S{1,40}) msec, "
    r"bandwidth= +(?P<bandwidth>\S{1,40}) MB/s$"
)
# What follows the last "_" of a key of the summary -> unit after reading, factor
_KEYS = MappingProxyType(
    {
        "usec": ("us", 1),
        **dict.fromkeys(("GBytes", "GBs", "Copy", "Scale", "Add", "Triad"), ("MB/s", 1000)),
        "Tflops": ("Gflop/s", 1000),
        "Gflops": ("Gflop/s", 1),
        "GUPs": ("GUP/s", 1),
        **dict.fromkeys(("time", "CheckTime", "TimeBound", "Wtick", *(f"time{step}" for step in range(10))), ("s", 1)),
    }
)
_SUCCESS = "Success"
_PROSE = re.compile(
    r"^(?:[#=-]{9,}|Current time|Running on|Total |PE Main|Main table|Default number|Number of |Node |TIME  |---- "
    r"|Node\(s\) with error 0|(?:M|N|MB|NB|P|Q): |Finished |[0-9]+ tests |END OF|This system|Array size|Each test|The "
    r"|Function |will be used|Your clock|\(= |Increase the|you are not|WARNING -- The|For best|precision of|VERBOSE:"
    r"|Solution |[A-Z][a-z]+: +[0-9]|Results Comp|Expected +:|Observed +:|Latency-Band|Written by|Details|MPI_Wtime"
    r"|Max\. MPI|wtick|Message Len|Use MPI_W|message size|max |latency for|estimation|stride|Execution|- +(?:for|[0-9])"
    r"|Major Bench|Detailed bench|(?:Ping Pong|Ring):|Benchmark cond|out of|\(1 MB/s|Latency|Bandwidth|Warning: problem"
    r"|the \*best\*)"
)

# How a line of figures begins that is long enough to be broken at a column.
_BEGUN = re.compile(
    r"^(?:[0-9.]{1,40} Billion\(|(?:Verification: +)?(?:CPU|Real) time used|Found [0-9]{1,18} errors"
    r"|(?:Max|Min) Ping Pong|(?:Randomly|Naturally) +Ordered|(?:Natural|Avg Random) Order|Message Size:"
    r"|On (?:naturally|randomly)|(?:WALL|CPU) +[0-9])"
)

_matches_prose = remember_matches(_PROSE)


def figures(text: str) -> tuple[Figure, ...]:
    """Return the figures of a line of RandomAccess, DGEMM, STREAM or FFT; none if it is another line."""
    for pattern in _LINES.get(text[:1], ()):
        found = pattern.match(text)
        if found:
            return (_figure(found["what"], found["value"], "s" if pattern is _SECONDS else found["unit"]),)
    found = _FOUND.match(text) if text.startswith("Found") else None
    if not found:
        return ()
    counts = tuple(Figure(name, None, int(found[name])) for name in ("errors", "locations"))
    return (*counts, Figure("passed", None, found["passed"] == "passed"))


def network_figures(text: str, ping_pong: bool) -> tuple[str, tuple[Figure, ...]]:
    """Return the table's name and the figures of a line of LatencyBandwidth; none if it is another line.

    ``ping_pong`` says whether the line is under "Ping Pong:": above it, the same words are of trial runs.
    """
    for pattern, table in _NETWORK_WORDS.get(text[:1], ()):
        found = pattern.match(text)
        if found:
            what = "size" if found["unit"] == "Byte" else found["what"]
            return table, (_figure(what, found["value"], found["unit"]),)
    found = _PAIRS.match(text) if ping_pong and text[0] in "LB" else None
    if found:
        return "PingPong", tuple(
            _figure(f"{found['what']} {part}", found[part], found["unit"]) for part in ("min", "avg", "max")
        )
    found = _RING_WORDS.match(text) if text[0] == "O" else None
    if found:
        parts = (_figure("latency", found["latency"], "msec"), _figure("bandwidth", found["bandwidth"], "MB/s"))
        return f"{found['order'].capitalize()}OrderedRing", parts
    return "", ()


def summary_figure(key: str, value: str) -> Figure | None:
    """Return the figure of one key of the summary; None if its value is a word ("HPL_order=R").

    "Success=1" means that every part called its own result right.
    """
    if key == _SUCCESS:
        return Figure(key.lower(), None, value == "1")
    if value.isalpha() and value.lower() not in ("nan", "inf"):
        return None
    unit, factor = _KEYS.get(key.rpartition("_")[2], (None, 1))
    found = number(value)
    if found is None and value.lstrip("-+").lower() not in ("nan", "inf"):
        return None
    return Figure(key.lower(), unit, convert(found, factor))


def convert(value: int | float | None, factor: int) -> int | float | None:
    """Return a printed value in the unit after reading; None for None and for what no float can hold."""
    if value is None or factor == 1:
        return value
    return value * factor if math.isfinite(value * factor) else None


def largest_rates(transpositions: Table) -> tuple[tuple[int, float], ...]:
    """Return (order, MB/s) of the largest matrix in a table of PTRANS: the worst repetition for each block and grid."""
    names = ("n", "mb", "nb", "p", "q", "bandwidth")
    rows = [tuple(row[transpositions.columns.index(name)] for name in names) for row in transpositions.rows]
    known = [[cell for cell in row if isinstance(cell, int | float)] for row in rows]
    order = max((row[0] for row in known), default=0)
    worst: dict[tuple[int | float, ...], float] = {}
    for row in known:
        if len(row) == len(names) and row[0] == order:
            worst[tuple(row[:-1])] = min(row[-1], worst.get(tuple(row[:-1]), row[-1]))
    return tuple((int(order), rate) for rate in worst.values())


def is_prose(text: str) -> bool:
    """Return whether HPC Challenge itself prints this line, and it has no figure that is read here."""
    return _matches_prose(text)


def begins_figures(text: str) -> bool:
    """Return whether a line begins like one with figures; if none is read, its end is missing."""
    return _BEGUN.match(text) is not None


def _figure(what: str, value: str, printed: str) -> Figure:
    unit, factor = _UNITS[printed]
    return Figure(_column(what), unit, convert(number(value), factor))


@lru_cache(maxsize=256)
def _column(what: str) -> str:
    name = "_".join(what.lower().replace(":", "").split())
    return _NAMES.get(name, name)


TOOL = "hpcc"

# This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012
_BANNER = re.compile(r"^This is the DARPA/DOE HPC Challenge Benchmark version (?P<version>[0-9]\S{0,20})\b.{0,80}$")
_SECTION = re.compile(r"^(?P<what>Begin|End) of (?P<name>[A-Za-z_]{2,40}) section\.$")
# WALL   300   300  64  64   1   2     0.01 PASSED    0.076  0.00
_PTRANS: tuple[str, ...] = ("m", "n", "mb", "nb", "p", "q", "time", "check", "bandwidth", "resid")
_PTRANS_UNITS: tuple[str | None, ...] = (None, None, None, None, None, None, "s", None, "MB/s", None)
_RING: tuple[str, ...] = (
    *("size", "natural_order_latency", "natural_order_bandwidth"),
    *("avg_random_order_latency", "avg_random_order_bandwidth"),
)
_RING_UNITS: tuple[str | None, ...] = ("B", "us", "MB/s", "us", "MB/s")
_KEY = re.compile(r"^(?P<key>[A-Za-z_][A-Za-z0-9_]{0,80})=(?P<value>\S{0,80})$")
_BAD = re.compile(
    r"^(?:Found [0-9]{1,18} errors in [0-9]{1,18} locations \(failed\)|Node\(s\) with error [1-9]|Success=0$"
    r"|Failed |Ooops|Cannot open output|Error in line|\[[0-9]+\]: ERROR"
    r"|[1-9][0-9]* tests (?:completed and failed|skipped))"
)
_CONDITIONS = re.compile(r"^The (?P<what>latency|bandwidth) +measurements were done with +(?P<size>[0-9]{1,12}) bytes$")
_OWN = re.compile(
    r"^(?:[#=-]{20,}|Produced by|Innovative Computing|University of|See the source|Compiled on|Hostname:"
    r"|Current time \(|End of HPC Challenge tests\.)"
)
_is_own = remember_matches(_OWN)
_is_bad = remember_matches(_BAD)
# The tables of LatencyBandwidth -> how many figures a whole row has
_NETWORK = MappingProxyType({"LatencyBandwidth": 5, "PingPong": 6, "NaturallyOrderedRing": 2, "RandomlyOrderedRing": 2})
_BY_SIZE = 5
_EXPECTED = 'output of HPC Challenge: its banner or a line "Begin of … section."'


@dataclass(slots=True)
class _Section:
    """One section while it is read: figures by table and column, and the rows of tables that have several rows."""

    name: str
    line: int
    ping_pong: bool = False  # the lines are under "Ping Pong:"
    lines: dict[str, int] = field(default_factory=dict)  # table's name -> its first line
    values: dict[str, dict[str, Figure]] = field(default_factory=dict)
    rows: dict[str, list[tuple[Cell, ...]]] = field(default_factory=dict)
    context: dict[str, ContextValue] = field(default_factory=dict)

    def add(self, table: str, line: int, figure: Figure) -> None:
        """Keep a figure; the first of its name counts."""
        self.lines.setdefault(table, line)
        self.values.setdefault(table, {}).setdefault(figure.column, figure)


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one hpccoutf.txt, of any number of runs.

    Raises ParseError if the text has neither the banner nor a section of HPC Challenge.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    if not reader.known:
        raise foreign(text, _EXPECTED)
    return reader.result()


class _Reader:
    """The state between lines: the run, its open section, HPL's own reader, and what was found so far."""

    def __init__(self) -> None:
        self.known = 0  # the first line that is HPC Challenge's own
        self.version: str | None = None
        self.hpl = HplReader()
        self.section: _Section | None = None
        self.hpl_ended = False
        self.run: list[Table] = []  # of the open run, without HPL's
        self.tables: list[Table] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line: a banner, a section's begin or end, else a line of the open section."""
        if text[-1] == "." and " of " in text and self._section(line, text):
            return
        if text.startswith("This ") and self._banner(line, text):
            return
        if self.section is None or self.section.name == "HPL":
            if not _is_own(text):
                self.hpl.read(line, text)
            return
        if self._read_inside(self.section, line, text):
            if text.endswith("(failed).") or text == "Success=0":
                self.failures.append(Remark(line.number, text))
        elif line.ended and begins_figures(text):
            self.failures.append(Remark(line.number, f"a line of figures that cannot be read: {text[:200]}"))
        elif (bad := _is_bad(text)) or not is_prose(text):
            failed = bad or is_failure(text)
            (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))

    def result(self) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._close(ended=False)
        self._finish()
        if not self.tables and not self.failures:
            self.failures.append(Remark(self.known, "no section of HPC Challenge gave a figure"))
        ordered = sorted(self.failures, key=lambda item: item.line)
        return ParsedOutput(tuple(self.tables), tuple(ordered), tuple(sorted(self.remarks, key=lambda item: item.line)))

    def _banner(self, line: Line, text: str) -> bool:
        banner = _BANNER.match(text)
        if banner:
            self._close(ended=False)
            self._finish()
            self.known, self.version = self.known or line.number, banner["version"]
        return bool(banner)

    def _section(self, line: Line, text: str) -> bool:
        found = _SECTION.match(text)
        if not found:
            return False
        self.known = self.known or line.number
        self._close(ended=found["what"] == "End" and self.section is not None and self.section.name == found["name"])
        if found["what"] == "Begin":
            self.section = _Section(found["name"], line.number)
        return True

    def _read_inside(self, section: _Section, line: Line, text: str) -> bool:
        if not line.ended:
            return False  # its last number may be cut
        if section.name == "PTRANS":
            return self._ptrans(section, line, text)
        if section.name == "Summary":
            return self._key(section, text)
        if section.name == "LatencyBandwidth":
            return self._network(section, line, text)
        return self._keep(section, section.name, section.line, figures(text), line)

    def _ptrans(self, section: _Section, line: Line, text: str) -> bool:
        words = text[:200].split()
        if len(words) != 1 + len(_PTRANS) or words[0] not in ("WALL", "CPU") or words[8] not in ("PASSED", "FAILED"):
            return False
        cells: list[Cell] = [number(word) for word in words[1:]]
        cells[8] = convert(number(words[9]), 1000)
        if any(cell is None for place, cell in enumerate(cells) if place != 7):
            return False
        cells[7] = words[8] == "PASSED"
        if not cells[7]:
            self.failures.append(Remark(line.number, text))
        section.lines.setdefault(words[0], line.number)
        section.rows.setdefault(words[0], []).append(tuple(cells))
        return True

    def _key(self, section: _Section, text: str) -> bool:
        found = _KEY.match(text)
        if not found:
            return False
        figure = summary_figure(found["key"], found["value"])
        if figure:
            section.add("Summary", section.line, figure)
        else:
            section.context.setdefault(found["key"], found["value"])
        return True

    def _network(self, section: _Section, line: Line, text: str) -> bool:
        conditions = _CONDITIONS.match(text) if text.startswith("The ") else None
        if conditions:
            section.context[f"{conditions['what']}_size"] = int(conditions["size"])
            return True
        section.ping_pong |= text == "Ping Pong:"
        table, found = network_figures(text, section.ping_pong)
        kept = self._keep(section, table, line.number, found, line)
        by_size = section.values.get("RingBySize", {})
        if table == "RingBySize" and len(by_size) == _BY_SIZE:
            section.rows.setdefault(table, []).append(tuple(figure.value for figure in by_size.values()))
            section.values.pop(table)
        return kept

    def _keep(self, section: _Section, table: str, begin: int, found: tuple[Figure, ...], line: Line) -> bool:
        for figure in found:
            section.add(table, begin, figure)
            if figure.value is None:
                self.failures.append(Remark(line.number, line.text.strip()))
        return bool(found)

    def _close(self, ended: bool) -> None:
        """End the open section; ``ended`` says that it printed its own end."""
        section, self.section = self.section, None
        if section is None:
            return
        if not ended:
            self.failures.append(Remark(section.line, f"the section {section.name} has no end"))
        if section.name == "HPL":
            self.hpl_ended = ended
        if section.name == "Summary" and "Summary" in section.values:
            self._add_largest(section.values["Summary"])
        for name, rows in section.rows.items():
            columns, units = (_RING, _RING_UNITS) if name == "RingBySize" else (_PTRANS, _PTRANS_UNITS)
            benchmark, context = (name, {}) if name == "RingBySize" else ("PTRANS", {"clock": name.lower()})
            self._table(benchmark, columns, units, rows, section.lines[name], ended, context)
        for name, found in section.values.items():
            if (ended and name not in (*_NETWORK, "RingBySize")) or len(found) == _NETWORK.get(name):
                row = tuple(figure.value for figure in found.values())
                units = tuple(figure.unit for figure in found.values())
                self._table(name, tuple(found), units, [row], section.lines[name], ended, section.context)

    def _add_largest(self, summary: dict[str, Figure]) -> None:
        """Add the rate of the largest transposed matrix to a summary that has the rate of a smaller one."""
        order = summary.get("ptrans_n")
        rates = [found for table in self.run if table.context.get("clock") == "wall" for found in largest_rates(table)]
        if order is not None and rates and order.value != rates[0][0]:
            best = max(rate for _, rate in rates)
            summary["ptrans_largest_gbs"] = Figure("ptrans_largest_gbs", "MB/s", best)

    def _table(
        self,
        benchmark: str,
        columns: tuple[str, ...],
        units: tuple[str | None, ...],
        rows: list[tuple[Cell, ...]],
        line: int,
        complete: bool,
        context: Mapping[str, ContextValue],
    ) -> None:
        frozen = MappingProxyType(dict(context))
        table = Table("hpcc", self.version, benchmark, columns, units, tuple(rows), line, complete, frozen)
        self.run.append(table)

    def _finish(self) -> None:
        """End the run: add HPL's table, then its own."""
        if self.hpl.rows or not self.hpl_ended:
            self.tables += self.hpl.tables()
        self.tables += sorted(self.run, key=lambda table: table.line)
        self.failures += self.hpl.failures
        self.remarks += self.hpl.remarks
        self.run, self.hpl, self.hpl_ended = [], HplReader(), False
