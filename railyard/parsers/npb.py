"""Output of the NAS Parallel Benchmarks 2 to 3.4, single and multi-zone, MPI, OpenMP and serial, as typed tables.

``parse`` returns one table of one row per result block ("CG Benchmark Completed."), in the order of the text:
iterations, time (s), performance (Mop/s of all processes together), passed. ``benchmark`` is the printed name
("SP-MZ"); ``context`` has class, size, processes and threads, if they are printed. ``passed`` is the benchmark's own
comparison with stored norms, None if it says NOT PERFORMED. It says nothing about the speed.

A block is whole if it has its line "Verification =". What other ranks print between its lines is skipped. A block that
stops before that line gives no table. If another run follows it, its row has no ``passed`` and the table is incomplete.
A run that announces itself and ends without a block is a failure. So are processes that were left idle, and a rate that
contradicts the size and the time. Source:
common/print_results.f and c_print_results.c of NPB 3.3.1, 3.3.1-MZ and 3.4.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.lines import (
    Line,
    filled_lines,
    foreign,
    is_failure,
    not_a_number,
    number,
    own_text,
    remember_matches,
)
from railyard.parsers.npb_operations import contradiction
from railyard.parsers.parsed import Cell, ContextValue, Parsed, Remark, Table

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


def parse(text: str) -> Parsed:
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

    def result(self, text: str) -> Parsed:
        """Return what was found, after every line was read."""
        self._close(followed=False)
        if not self.known and not (self.failures and _PROGRAM.search(text)):
            raise foreign(text, _EXPECTED)
        ordered = sorted(self.failures, key=lambda item: item.line)
        return Parsed(tuple(self.tables), tuple(ordered), tuple(self.remarks))

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
