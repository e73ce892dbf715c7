"""Output of the NAS Parallel Benchmarks 2 to 3.4, single and multi-zone, MPI, OpenMP and serial, as typed tables.

``parse`` returns one table of one row per result block ("CG Benchmark Completed."), in the order of the text:
iterations, time (s), performance (Mop/s of all processes together), passed. ``benchmark`` is the printed name
("SP-MZ"); ``context`` has class, size, processes and threads, if they are printed. ``passed`` is the benchmark's own
comparison with stored norms, None if it says NOT PERFORMED. It says nothing about the speed.

A block is whole if it has its line "Verification =". What other ranks print between its lines is skipped. A block that
stops before that line gives no table. If another run follows it, its row has no ``passed`` and the table is incomplete.
A run that announces itself and ends without a block is a failure. So are processes that were left idle, and a rate that
contradicts the size and the time. Source: common/print_results.f and c_print_results.c of NPB 3.3.1, 3.3.1-MZ and 3.4.

Its Mop/s and its time are compared by the number of operations that it counts. Each benchmark divides a number of
operations by its time. The number follows from the printed size and iterations, and CG's also from its class. UA's
depends on the mesh, that of multi-zone runs on the zones: they are not known here. Source: the printed mflops of bt.f,
sp.f, lu.f, mg.f, ft.f, cg.f, ep.f and is.c in NPB 3.3.1; all outputs of these that we know agree within the rounding of
their time (NPB 3.2 to 3.4).
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.base.bounds import AGREEMENT_SHARE
from railyard.base.wording import number as shown
from railyard.parsers.lines import (
    Line,
    decimals,
    filled_lines,
    foreign,
    is_failure,
    not_a_number,
    number,
    own_text,
    remember_matches,
)
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "npb"

COLUMNS = ("iterations", "time", "performance", "passed")
UNITS = (None, "s", "Mop/s", None)

# Printed name of a line, in lower case -> what it is; old, C and C++ wordings side by side
_KEYS = MappingProxyType(
    {
        "class": "class",
        "class_npb": "class",
        "size": "size",
        "iterations": "iterations",
        "time in seconds": "time",
        "total processes": "processes",
        "active processes": "active",
        "total threads": "threads",
        "threads": "threads",
        "mop/s total": "performance",
        "mop/s/process": "of_process",
        "mop/s/thread": "of_thread",
        "verification": "passed",
        "version": "version",
    }
)
_VERDICTS = MappingProxyType({"SUCCESSFUL": True, "UNSUCCESSFUL": False, "NOT PERFORMED": None})

# Every pattern is matched against a line without the blanks around it.
#  LU-MZ Benchmark Completed.    |    IS Benchmark Completed
_TITLE = re.compile(r"^(?P<name>[A-Z]{2}(?:-[A-Z]{2,6})?) Benchmark Completed\.?$")
#  NAS Parallel Benchmarks (NPB3.3-MZ-MPI) - LU-MZ MPI+OpenMP Benchmark  |   NAS Parallel Benchmarks 3.3 -- EP Benchmark
_BANNER = re.compile(r"^NAS Parallel Benchmarks?\b.{0,200}$")
# ./bin/ft.C.16: what a launcher says about a program that never started
_PROGRAM = re.compile(r"\b(?:bt|cg|dc|dt|ep|ft|is|lu|mg|sp|ua)(?:-mz)?\.[SWA-F]\.(?:x|[0-9]{1,7})", re.IGNORECASE)
# " FAILURE:  1 0.4767129350013E+05 …", " Verification failed", " ERROR: number of processes …"
_OWN_FAILURE = re.compile(r"^(?:FAILURE:|Verification failed|VERIFICATION FAILED|ERROR\b)")
_OWN = re.compile(
    r"^(?:Time step\s|Benchmark completed|VERIFICATION SUCCESSFUL|Verification (?:Success|being performed)|Size\s*:"
    r"|[Aa]ccuracy setting|Comparison of |Iterations?\s*:|Number of |Total number of |Calculated speedup|Zeta |iter "
    r"|Use the default|No input file|The correct |Error is |L2 Norm |Result verification|iteration\b|Sums =|Counts:"
    r"|[Ii]nitial(?:ization| )|EP Benchmark Results|CPU Time =|N = 2\^|No\. Gaussian|class = |T = |Step\s+[0-9]"
    r"|Nonzeros |Eigenvalue |Levels of |Adaptation |Time steps:|CG iter|Heat source|Compile options:|RAND\s*="
    r"|[A-Z0-9]{1,6}_?(?:FLAGS|LIB|INC)\s*=|(?:MPI)?(?:F77|FC|CC)\s*=|C?F?LINK\s*=|Mop/s/|Operation type|Compile date"
    r"|Compiled procs|Active proc|Avail threads|Request threads|Please send|NPB Development|Internet: npb|npb@nas"
    r"|[-+0-9.ED ]+$)"
)
_is_own = remember_matches(_OWN)
_EXPECTED = 'output of NPB: a banner "NAS Parallel Benchmarks …" or a result block "… Benchmark Completed."'
#: If a figure lost more than this share by rounding, it says nothing.
_TOLD_BY = 0.25
_LENGTHS = re.compile(r"[0-9]{1,15}")
#: CG: nonzeros in a row, by class.
_NONZEROS = {"S": 7, "W": 8, "A": 11, "B": 13, "C": 15, "D": 21, "E": 26}
Size = tuple[int, ...]


@dataclass(slots=True)
class _Block:
    """One result block while it is read: its printed name, and its lines, only the first one of each name."""

    line: int
    name: str
    said: dict[str, str] = field(default_factory=dict)

    def contradiction(self) -> str | None:
        """Return which two of its figures cannot both be true; None if all agree."""
        said = self.said
        kind = "thread" if "of_thread" in said else "process"
        count = said.get("threads" if kind == "thread" else "active", said.get("processes", ""))
        return contradiction(self.name, said | {"each": said.get(f"of_{kind}", ""), "parts": count})

    def table(self) -> Table:
        """Return its table of one row."""
        numbers = tuple(number(self.said.get(name, "")) for name in COLUMNS[:-1])
        row: tuple[Cell, ...] = (*numbers, _VERDICTS.get(self.said.get("passed", "NOT PERFORMED")))
        context: dict[str, ContextValue] = {}
        for name in ("class", "size", "processes", "threads"):
            if name in self.said:
                value = self.said[name]
                context[name] = int(value) if value.isdecimal() and len(value) <= 18 else value
        return Table(
            tool="npb",
            version=self.said.get("version"),
            benchmark=self.name,
            columns=COLUMNS,
            units=UNITS,
            rows=(row,),
            line=self.line,
            complete="passed" in self.said,
            context=MappingProxyType(context),
        )


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of the NAS Parallel Benchmarks, of any number of runs.

    Raises ParseError if the text has neither a banner nor a result block, nor an error that names a program of NPB.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    return reader.result(text)


class _Reader:
    """The state between lines: the announced run, the open block, and what was found so far."""

    def __init__(self) -> None:
        self.run: Line | None = None  # announced, and still without a result block
        self.block: _Block | None = None
        self.tables: list[Table] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []
        self.known = False

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line: a title, a line of the open block, or another line."""
        if " Bench" in text and self._title(line, text):
            return
        if self.block and "=" in text and self._read_setting(self.block, line, text):
            return
        if not _is_own(f"{text} "):  # a label may be alone
            failed = is_failure(text) or _OWN_FAILURE.match(text)
            (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._close(followed=False)
        if not self.known and not (self.failures and _PROGRAM.search(text)):
            raise foreign(text, _EXPECTED)
        ordered = sorted(self.failures, key=lambda item: item.line)
        return ParsedOutput(tuple(self.tables), tuple(ordered), tuple(self.remarks))

    def _title(self, line: Line, text: str) -> bool:
        title = _TITLE.match(text)
        if title:
            self.run = None
            self._close(followed=True)
            self.block = _Block(line.number, title["name"])
        elif _BANNER.match(text):
            self._close(followed=True)
            self.run = line
        else:
            return False
        self.known = True
        return True

    def _read_setting(self, block: _Block, line: Line, text: str) -> bool:
        """Read a line "name = value" of the block."""
        name, _, value = text[:400].partition("=")
        key, value = _KEYS.get(name.rstrip().lower()), value.strip()
        if key is None or key in block.said:
            return False
        if key == "passed":
            if value not in _VERDICTS:
                return False
            if _VERDICTS[value] is False:
                self.failures.append(Remark(line.number, text))
        elif not line.ended:
            return False  # the version or a number may be cut
        if not_a_number(value):
            self.failures.append(Remark(line.number, text))
        elif key in COLUMNS[:-1] and number(value) is None:
            self.failures.append(Remark(line.number, f"a figure that cannot be read: {text}"))
        block.said[key] = value
        return True

    def _close(self, followed: bool) -> None:
        """End the open run and the open block; ``followed`` says that another run begins here."""
        if self.run:
            self.failures.append(Remark(self.run.number, f"no result block follows: {self.run.text.strip()}"))
        block = self.block
        if block and ("passed" in block.said or (followed and {"time", "performance"} <= block.said.keys())):
            self.tables.append(block.table())
            if why := block.contradiction():
                self.failures.append(Remark(block.line, why))
        elif block:
            self.failures.append(Remark(block.line, f"the result block of {block.name} has no line Verification"))
        if block:
            self._idle(block)
        self.run = self.block = None

    def _idle(self, block: _Block) -> None:
        """Report started processes that got no part of the problem: NPB 3.4 has an option that leaves some idle."""
        active, started = block.said.get("active"), block.said.get("processes")
        if active is not None and started is not None and active != started:
            self.failures.append(Remark(block.line, f"{block.name} ran on {active} active processes of {started}"))


def _of_cg(size: Size, iterations: int, klass: str) -> float | None:
    nonzeros = _NONZEROS.get(klass)
    if nonzeros is None or len(size) != 1:
        return None
    row = nonzeros * (nonzeros + 1)
    return 2.0 * iterations * size[0] * (3 + row + 25 * (5 + row) + 3)


def _of_ft(size: Size, iterations: int, klass: str) -> float | None:
    points = math.prod(size)
    log = math.log(points)
    return points * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * iterations)


def _polynomial(cubed: float, squared: float, once: float, constant: float) -> Callable[[Size, int, str], float | None]:
    """Return the operations of a solver on a grid: a polynomial in its points and its mean side."""

    def of(size: Size, iterations: int, klass: str) -> float | None:
        if len(size) != 3:
            return None
        side = sum(size) / 3
        return iterations * (cubed * math.prod(size) + squared * side**2 + once * side + constant)

    return of


_OPERATIONS: Mapping[str, Callable[[Size, int, str], float | None]] = {
    "BT": _polynomial(3478.8, -17655.7, 28023.7, 0.0),
    "CG": _of_cg,
    "EP": lambda size, iterations, klass: float(size[0]),
    "FT": _of_ft,
    "IS": lambda size, iterations, klass: float(iterations * size[0]),
    "LU": _polynomial(1984.77, -10923.3, 27770.9, -144010.0),
    "MG": _polynomial(58.0, 0.0, 0.0, 0.0),
    "SP": _polynomial(881.174, -4683.91, 11484.5, -19272.4),
}


def count_operations(benchmark: str, size: Size, iterations: int, klass: str) -> float | None:
    """Return the operations of a benchmark ("CG") of a size and a class ("C"); None if they are not known."""
    of = _OPERATIONS.get(benchmark)
    return of(size, iterations, klass) if of is not None and len(size) in (1, 3) and all(size) else None


def contradiction(benchmark: str, said: Mapping[str, str]) -> str | None:
    """Return which two figures of a result block cannot both be true; None if all agree, or if nothing follows.

    ``said`` has the printed words by "size", "class", "iterations", "time" (s), "performance" (Mop/s), "each" (Mop/s of
    one process or thread) and "parts" (how many there are).
    """
    rate, took = (number(said.get(name, "")) for name in ("performance", "time"))
    if not rate or rate < 0:
        return None
    return _with_time(benchmark, said, rate, took) or _with_parts(said, rate)


def _with_time(benchmark: str, said: Mapping[str, str], rate: float, took: float | None) -> str | None:
    size = tuple(map(int, _LENGTHS.findall(said.get("size", ""))))
    count = number(said.get("iterations", ""))
    if not isinstance(count, int) or not took or took < 0:
        return None
    operations = count_operations(benchmark, size, count, said.get("class", ""))
    if not operations or operations < 0 or (rounding := _rounding(said["time"], took)) > _TOLD_BY:
        return None
    due = operations / took / 1e6
    if abs(rate / due - 1) <= AGREEMENT_SHARE.value + 2 * rounding + _rounding(said["performance"], rate):
        return None
    return (
        f"{shown(rate)} Mop/s contradict size {said['size']} and time {shown(took)} s, which are {shown(due)} Mop/s: "
        "was the output changed?"
    )


def _with_parts(said: Mapping[str, str], rate: float) -> str | None:
    each, parts = (number(said.get(name, "")) for name in ("each", "parts"))
    if not each or not isinstance(parts, int) or parts < 1 or (rounding := _rounding(said["each"], each)) > _TOLD_BY:
        return None
    due = each * parts
    if abs(rate / due - 1) <= AGREEMENT_SHARE.value + 2 * rounding:
        return None
    return (
        f"{shown(rate)} Mop/s in total contradict {parts} processes or threads with {shown(each)} Mop/s each, which "
        f"are {shown(due)} Mop/s: was the output changed?"
    )


def _rounding(word: str, value: float) -> float:
    """Return how much of a printed value may be rounding, as a share of it."""
    return 0.5 * 10.0 ** -decimals(word) / abs(value)
