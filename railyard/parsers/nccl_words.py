"""What nccl-tests and rccl-tests print, as data: headings, and the lines above and below a table.

The forms by release of nccl-tests (src/common.cu and src/util.cu at each tag):

- 2.0 to 2.11: each program has a heading of its own. all_gather and sendrecv have neither ``redop`` nor ``root``,
  broadcast has ``root``, reduce has both; alltoall names ``redop`` and leaves it blank in the row. The last
  column is ``error``, the largest difference. A rank's line has Pid from 2.0 on.
- 2.12 and 2.13: one heading for all, with ``redop`` and ``root`` ("none" and -1 if there is none), and ``#wrong``, a
  count. "agg iters" and "graph" are new in the settings; "Group" is new in a rank's line in 2.13.9.
- 2.14: the same; ``-C`` prints ``cputime`` for ``time``, ``-N`` repeats all sizes under one heading. From 2.16 on a bus
  address has domain and device: [0000:9d:00].
- 2.17: "Collective test starting" and "concluded" name the program; 2.17.4 prints versions, and ``-J`` writes JSON;
  2.17.6 may have a ``timestamp`` per row.
- 2.19: ``i_min``, ``i_max``, ``i_p99`` and ``i_cv%`` after each half of a row.
- rccl-tests follows these, and prints "rccl-tests: Version" among the settings since 2024. Up to 2022 an ``error``
  above its bound has an asterisk, and the settings have colons. Without out-of-place a table has one half. Since 2025
  it may have ``hipevt``, ``algo``, ``proto`` and ``nchannels``.

Bandwidths are 10^9 B/s in all of them: ``count * typesize / 1.0E9 / sec``.

How nccl-tests computes its "bus bandwidth" from its "algorithm bandwidth": one factor per collective, for n ranks.

It is what a link would have to carry in a ring, not what a link really carries. Source: nccl-tests, doc/PERFORMANCE.md,
and the functions ``…GetBw`` of src/*.cu in all releases from 2.0.0 to 2.19.6; rccl-tests has the same.

Until June 2020 all_gather and reduce_scatter printed one bandwidth twice: algbw was what busbw is, also today. Until
July 2021 sendrecv of rccl-tests counted the bytes of all pairs of ranks as busbw.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from railyard.base.patterns import late_regex

GB = 1000.0  # MB/s in one GB/s
_FIRST_WORD = late_regex(r"\s{0,400}[^\s]{1,40}")
_BEGINS_ROW = late_regex(r"\s{0,400}[0-9]{1,20}\s{1,40}[0-9]{1,20}\s{1,40}[a-z]")


@dataclass(frozen=True, slots=True)
class Column:
    """One printed column: its name, its unit here, the printed unit, and what converts it."""

    name: str
    unit: str | None
    printed: str
    factor: float = 1.0


#: Printed heading -> column. A new heading is a new line here.
FIGURES: MappingProxyType[str, Column] = MappingProxyType(
    {
        "time": Column("time", "us", "(us)"),
        "cputime": Column("cpu_time", "us", "(us)"),
        "hipevt": Column("hip_event_time", "us", "(us)"),
        "algbw": Column("algbw", "MB/s", "(GB/s)", GB),
        "busbw": Column("busbw", "MB/s", "(GB/s)", GB),
        "#wrong": Column("wrong", None, ""),
        "wrong": Column("wrong", None, ""),
        "error": Column("error", None, ""),
        "i_min": Column("time_min", "us", "(us)"),
        "i_max": Column("time_max", "us", "(us)"),
        "i_p99": Column("time_p99", "us", "(us)"),
        "i_cv%": Column("time_cv", "%", "(%)"),
    }
)
_TEXTS = ("type", "redop", "root")
_AFTER = ("algo", "proto", "nchannels", "timestamp")
IN_PLACE = "_in_place"
_TYPE_WIDTHS = (8, 10)  # "  %6s" and "  %8s"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: which of type, redop and root it has, its figures in order, and where in the line each column ends.

    ``columns`` are the figures' names; those of the second half end in "_in_place". ``half`` is how many a half has.
    ``after`` are the words after the figures. ``ends`` are the ends of the columns from size to the last figure.
    """

    texts: tuple[str, ...]
    columns: tuple[Column, ...]
    half: int
    after: tuple[str, ...]
    ends: tuple[int, ...]

    @property
    def units(self) -> tuple[str, ...]:
        """Return the words of the line of units below the heading."""
        return ("(B)", "(elements)", *(column.printed for column in self.columns if column.printed))

    @property
    def is_early(self) -> bool | None:
        """Return whether a release before July 2021 printed it; None if its columns do not show that.

        The column of the type is two characters wider since then, for bfloat16.
        """
        if len(self.ends) < 3 or not any(column.name == "error" for column in self.columns):
            return False
        width = self.ends[2] - self.ends[1]
        return None if width not in _TYPE_WIDTHS else width == _TYPE_WIDTHS[0]

    def shift(self, text: str, place: int = 0) -> int:
        """Return how far a line is shifted against the heading: by an indentation, or a "#" that was lost.

        ``place``: which of the columns the line's first word is in.
        """
        if place >= len(self.ends):
            return 0
        left = self.ends[place - 1] if place else 0
        first = _FIRST_WORD.match(text)
        return first.end() - (self.ends[place] - left) if first else 0

    def pieces(self, text: str) -> frozenset[int]:
        """Return where in a line a piece of a row can end: after what it measures, and after each half.

        A line may begin with any piece. None if the heading does not say where its columns end (JSON).
        """
        first = 2 + len(self.texts)
        if len(self.ends) < first + self.half:
            return frozenset()
        ends = (self.ends[first - 1], self.ends[first + self.half - 1], self.ends[-1])
        begins = ((0, 0),) if _BEGINS_ROW.match(text) else ((first, ends[0]), (first + self.half, ends[1]))
        found = {
            end - begin + self.shift(text, place) for place, begin in begins if place < len(self.ends) for end in ends
        }
        return frozenset(end for end in found if end > 0)


@lru_cache(maxsize=64)
def heading_of(text: str, above: str) -> Heading | str | None:
    """Return the heading that a line is; an unknown word of it, as a text; None if it is not a heading.

    ``above`` is the line before it: for a table with one half, it says whether that half is in place.
    """
    words = [(found[0], found.end()) for found in re.finditer(r"\S{1,40}", text[:600].removeprefix("#"))]
    shift = 1 if text.startswith("#") else 0
    names = [word for word, _ in words]
    if names[:3] != ["size", "count", "type"] or "busbw" not in names:
        return None
    known = {"size", "count", *_TEXTS, *FIGURES, *_AFTER}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        return unknown
    figures = [name for name in names if name in FIGURES]
    first = figures[0]
    both = figures.count(first) == 2
    half = len(figures) // 2 if both else len(figures)
    if figures[:half] != figures[half:] and both:
        return figures[half]
    only_in_place = not both and "in-place" in above and "out-of-place" not in above
    columns = tuple(_rename_column(FIGURES[name], place >= half or only_in_place) for place, name in enumerate(figures))
    return Heading(
        tuple(name for name in names if name in _TEXTS),
        columns,
        half,
        tuple(name for name in names if name in _AFTER),
        tuple(end + shift for name, end in words if name not in _AFTER),
    )


def _rename_column(column: Column, in_place: bool) -> Column:
    if not in_place:
        return column
    return Column(column.name + IN_PLACE, column.unit, column.printed, column.factor)


def is_place_line(text: str) -> bool:
    """Return whether a line is the one above a heading that says which half is in place."""
    return "-place" in text and text.strip(" #\t-()+").startswith(("out-of-place", "in-place"))


def units_of(text: str) -> tuple[str, ...] | None:
    """Return the words of a line of units, ``(B) (elements) …``; None for another line."""
    words = text.lstrip("# ").split() if len(text) <= 600 else []
    return tuple(word for word in words if word.startswith("(")) if words[:1] == ["(B)"] else None


# # nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
VERSION = late_regex(
    r"#? ?(?P<who>[nr]ccl)-tests version (?P<version>\S{1,80})(?: [nr]ccl-headers=[0-9]{1,9})?"
    r"(?: [nr]ccl-library=(?P<library>[0-9]{1,9}))?\s{0,4}"
)
# rccl-tests: Version develop:83d38d9
RCCL = late_regex(r"#? ?rccl-tests: Version (?P<version>\S{1,80})\s{0,4}")
STARTING = late_regex(r"#? ?Collective test starting: (?P<name>\S{1,80})\s{0,4}")
CONCLUDED = late_regex(r"#? ?Collective test concluded: (?P<name>\S{1,80})\s{0,4}")
_BEGINS_SETTINGS = late_regex(r"#? ?nThread:? [0-9]{1,9} nGpus:? [0-9]{1,9} minBytes")
_SETTING = late_regex(
    r"(?P<name>nThread|nGpus|minBytes|maxBytes|step|warmup iters|warmupIters|agg iters|iters|validation|graph|unalign)"
    r":? (?P<value>[0-9]{1,20})(?:\((?P<kind>factor|bytes)\))?"
)
_SETTINGS = MappingProxyType(
    {
        "nThread": "threads",
        "nGpus": "gpus",
        "minBytes": "min_bytes",
        "maxBytes": "max_bytes",
        "step": "step",
        "warmup iters": "warm_up",
        "warmupIters": "warm_up",
        "agg iters": "aggregated",
        "iters": "iterations",
        "validation": "validation",
        "graph": "graph",
        "unalign": "unalign",
    }
)
USING = late_regex(r"#? ?Using devices\s{0,4}")
# #  Rank  0 Group  0 Pid 440007 on cnode2-001 device  0 [0000:9d:00] NVIDIA H100 80GB HBM3
RANK = late_regex(
    r"#?\s{1,8}Rank\s{1,8}(?P<rank>[0-9]{1,9})(?:\s{1,8}Group\s{1,8}(?P<group>[0-9]{1,9}))?"
    r"(?:\s{1,8}Pid\s{1,12}(?P<pid>[0-9]{1,12}))?\s{1,4}on\s{1,12}(?P<host>\S{1,255})\s{1,4}device\s{1,8}"
    r"(?P<device>[0-9]{1,9})\s{1,4}\[(?P<bus>[^\[\]\s]{1,40})\](?:\s{1,4}(?P<name>\S.{0,199})|\s{0,4})"
)
REDUCING = late_regex(r"#? ?Reducing maxBytes to (?P<bytes>[0-9]{1,20}) due to memory limitation\s{0,4}")
OUT_OF_BOUNDS = late_regex(r"#? {0,2}Out of bounds values\s{1,8}: (?P<count>-?[0-9]{1,18}) (?P<word>OK|FAILED)\s{0,4}")
AVERAGE = late_regex(r"#? {0,2}Avg bus bandwidth\s{1,8}: (?P<value>\S{1,40})(?: (?P<word>OK|FAILED))?\s{0,4}")
CYCLE = late_regex(r"#? ?Testing [0-9]{1,12} cycle\.\s{0,4}")
PROGRAM = late_regex(
    r"(?<![\w-])(?P<name>(?:all_reduce|all_reduce_bias|all_gather|reduce_scatter|alltoall|alltoallv|gather|scatter"
    r"|broadcast|reduce|sendrecv|hypercube)_perf)(?:_[a-z]{1,12})?(?![\w.])"
)
# node1: Test NCCL failure common.cu:958 'unhandled system error'; "rank=0 #wrong=12" from a build that shows them
OWN_FAILURE = late_regex(
    r".{0,300}: Test (?:(?:NCCL|CUDA|HIP) failure|failure|timeout) .{0,1000}|#? ?error: \S.{0,1000}"
    r"|(?:\[ERROR\] The number of requested GPUs|Invalid number of GPUs: ).{0,400}"
    r"|invalid sizes? (?:specified )?for '.{0,200}|invalid option .{0,80}"
    r"|\s{0,8}rank=[0-9]{1,9} (?:#wrong=[1-9]|elt\[).{0,200}"
)
#: Lines from which nothing is kept.
OWN = (
    *(
        "Blocking Enabled",
        "Parallel Init Enabled",
        "Per-Iteration Report",
        "Writing JSON output",
        "skipping json output",
    ),
    *("Errors with asterisks", "GPU memory usage", "Swap Comms Enabled"),
)


def program_of(name: str) -> str:
    """Return the program of an executable: "/opt/all_reduce_perf_mpi" is all_reduce_perf (NAME_SUFFIX of the build)."""
    name = name.rpartition("/")[2]
    known = PROGRAM.match(name)
    return known["name"] if known else name


def settings_of(text: str) -> dict[str, int] | None:
    """Return the settings of a line ``nThread 1 nGpus 8 minBytes 8 …``; None for another line."""
    if len(text) > 600 or not _BEGINS_SETTINGS.match(text):
        return None
    found: dict[str, int] = {}
    for one in _SETTING.finditer(text):
        name = _SETTINGS[one["name"]]
        found[f"step_{one['kind']}" if name == "step" and one["kind"] else name] = int(one["value"])
    return found


def _one(ranks: int) -> float:
    return 1.0


def _others(ranks: int) -> float:
    return (ranks - 1) / ranks


def _double_factor(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


#: Program -> its factor as a function of the number of ranks.
FACTORS: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {
        "all_reduce_perf": _double_factor,
        "all_reduce_bias_perf": _double_factor,  # only in rccl-tests
        "all_gather_perf": _others,
        "reduce_scatter_perf": _others,
        "alltoall_perf": _others,
        "alltoallv_perf": _others,
        "gather_perf": _others,
        "scatter_perf": _others,
        "broadcast_perf": _one,
        "reduce_perf": _one,
        "sendrecv_perf": _one,
        "hypercube_perf": _one,
    }
)
#: Programs whose "algorithm bandwidth" is not the printed size over the printed time: for alltoallv the size is the
#: largest rank's share, for hypercube it leaves out a rank's own part.
NOT_SIZE_OVER_TIME = frozenset({"alltoallv_perf", "hypercube_perf"})


def factor(program: str, ranks: int) -> float | None:
    """Return busbw / algbw of a program of nccl-tests for this number of ranks; None for an unknown program."""
    of = FACTORS.get(program)
    return None if of is None else of(ranks)


class Way(NamedTuple):
    """How a release computes: busbw is algbw times ``factor``, and algbw is size over time, times ``share``."""

    factor: float
    share: float = 1.0


def ways(program: str, ranks: int, is_early: bool) -> tuple[Way, ...]:
    """Return how a program computes its bandwidths for this number of ranks; ``is_early``: also before July 2021."""
    of = factor(program, ranks)
    found = [] if of is None else [Way(of)]
    if is_early and program in ("all_gather_perf", "reduce_scatter_perf"):
        found.append(Way(1.0, _others(ranks)))
    if is_early and program == "sendrecv_perf":
        found.append(Way(float(ranks // 2)))
    return tuple(found)
