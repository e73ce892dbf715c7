"""One line of HPC Challenge's output -> the figures that it prints, converted: what its sections print."""

import math
import re
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from railyard.parsers.lines import number, remember_matches
from railyard.parsers.output import Cell, Table


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
_BY_SIZE = re.compile(
    rf"^(?P<what>(?:Natural|Avg Random) Order (?:Latency|Bandwidth)|Message Size): +{_VALUE} (?P<unit>msec|MB/s|Byte)$"
)
# A line's first character -> what it can be, and the table
_NETWORK = MappingProxyType(
    {
        **dict.fromkeys("MN", ((_MAJOR, "LatencyBandwidth"), (_BY_SIZE, "RingBySize"))),
        "R": ((_MAJOR, "LatencyBandwidth"),),
        "A": ((_BY_SIZE, "RingBySize"),),
    }
)
# Latency   min / avg / max:   0.000446 /   0.000457 /   0.000468 msecs
_PAIRS = re.compile(
    r"^(?P<what>Latency|Bandwidth) +min / avg / max: +(?P<min>\S{1,40}) / +(?P<avg>\S{1,40}) / +(?P<max>\S{1,40})"
    r" (?P<unit>msecs|MByte/s)$"
)
# On naturally ordered ring: latency=      0.000382 msec, bandwidth=   5718.120940 MB/s
_RING = re.compile(
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
    for pattern, table in _NETWORK.get(text[:1], ()):
        found = pattern.match(text)
        if found:
            what = "size" if found["unit"] == "Byte" else found["what"]
            return table, (_figure(what, found["value"], found["unit"]),)
    found = _PAIRS.match(text) if ping_pong and text[0] in "LB" else None
    if found:
        return "PingPong", tuple(
            _figure(f"{found['what']} {part}", found[part], found["unit"]) for part in ("min", "avg", "max")
        )
    found = _RING.match(text) if text[0] == "O" else None
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
