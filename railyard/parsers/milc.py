"""Output of MILC 5 to 7 (su3_rmd, su3_rhmc, ks_spectrum, clover_invert …), as typed tables.

``parse`` returns one table with a row for each line "Time = … seconds". There is one for each set of parameters that
the program ran. Columns: time (s) and iterations ("total_iters" after it; None if the application counts none).
``context["kind"]`` is "run"; the context also has title, machine, ranks and lattice if they are printed.

If solvers were timed (compiled with CGTIME), a second table of the kind "cg" follows, with one row per solve:
iterations, time (s), performance (Gflop/s, printed in Mflop/s; None if the line has none). It is the rate as printed:
of one rank from MILC's own solvers, QUDA, QPhiX and Grid; from others ("qop") what the library counted. Source:
generic_ks/d_congrad5*.c of 7.8, ``nflop*volume*iters/(1.0e6*dtimec*numnodes())``.

A table is complete if no run begins after the last "Time =". If the text ends with a Time line, the row is cut.
"""

import re
from collections.abc import Callable
from types import MappingProxyType

from railyard.parsers.lines import Line, foreign, is_failure, line_of, own_text, texts_of
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "milc"

_E = r"[0-9]\.[0-9]{1,16}e[-+][0-2]?[0-9]{2}"
# Time = 9.019609e+00 seconds
_TIME = re.compile(rf"^Time ?= {{1,4}}(?P<time>{_E}) +seconds\s*$")
_ITERS = re.compile(r"^total_iters ?= {1,4}(?P<iters>[0-9]{1,12})\s*$")
# CONGRAD5: time = 2.85e-02 iters = 4 mflops = 3.4e+02   |   MULTI_CONGRAD5: …   |   BiCGILU: time = … iters= 9 MF = 9.9
# CONGRAD5: time = 1.2e+00 time_eig = 3.7e-01 (fn D) masses = 1 iters = 184   |   … iters = 9 masses = 4 mflops = …
_CG = re.compile(rf"^(?:MULTI_)?(?:CONGRAD|CG|BiC)\S{{0,20}}: {{1,4}}time = {{1,4}}(?P<time>{_E})(?= )")
_CG_END = re.compile(
    rf"iters ?= {{0,4}}(?P<iters>[0-9]{{1,12}})(?: masses = [0-9]{{1,6}})?"
    rf"(?: (?:mflops|MF) = (?:(?P<mflops>{_E}|[0-9]{{1,12}}\.[0-9]{{1,6}})|[-+]?(?:nan|inf)))?[ \t]{{0,200}}$"
)
_COUNTS = re.compile(r" iters ?= {0,4}([0-9]{1,12})")  # one per right-hand side
_VERSION = re.compile(r"^MIMD version (?P<version>[0-9]\S{0,40})")
# Machine = QMP (portable), with 4 nodes
_MACHINE = re.compile(r"^Machine = (?P<machine>.{1,80}), with (?P<ranks>[0-9]{1,9}) nodes\s*$")
_SIDE = re.compile(r"^n(?P<axis>[xyzt]) (?P<sites>[0-9]{1,6})\s*$")
# What MILC itself reports as wrong. A solve that does not converge ends the loop and not the run: it is a remark.
_WRONG = re.compile(
    r"Checksum violation|Unitarity problem|ERROR|^error\b|: error\b|^Termination: .{0,80}status = (?!0\b)"
    r"|^No room for|Can't (?:open|malloc|find)|: (?:Can't|Error) "
)
_WARNING = re.compile(r"[Nn]ot converged|Not Converged|NOT CONVERGED|[Ww]arning|WARN|Fix the program")
_SAID = re.compile(
    "iolation|problem|ERROR|rror|status|No room|Can't|onverged|ONVERGED|arning|WARN|Fix"
)  # what every line of either has
_QUIET, _QUIET_LENGTH = 4096, 200  # how many lines to remember, and characters of the longest
# Beginnings of lines with results.
_NUMBERS = frozenset(
    "|GMES|FMES|PLAQ|P_LO|G_LO|PBP:|FACT|Inve|LLTI|FFTI|GFTI|FLTI|CGRE| OK |eigV|prop|corr|aver|CHEC|Chec|Reco|DML_"
    "|Turn|dest|mome|op_l|forg|save".split("|")
)
# Beginnings of the lines of a run: echoed parameters, then results. They match nothing that follows a run ("Saved …",
# "Time to save", "CHECK PLAQ", "destroy", "get_i: EOF", "exit:").
_BEGINS = (
    *("SU3 ", "Pure gauge", "MIMD version", "start: ", "type 0 ", "nflavors", "nx ", "iseed ", "LAYOUT", "Mallocing"),
    *("warms ", "trajecs ", "traj_between", "beta ", "mass", "u0 ", "microcanonical", "steps_per", "max_cg", "error_"),
    *("# ", "###", "reload_", "fresh", "continue", "forget", "no_gauge_fix", "coulomb_gauge", "landau_gauge", "kappa"),
    *("number_of_", "staple_weight", "ape_", "coordinate_origin", "time_bc", "clov_c", "source", "Time to reload"),
    *("WARMUPS", "END OF HEADER", "RUNNING", "CONGRAD", "MULTI_CONGRAD", "BiCG", "GMES", "PLAQ", "Mass"),
    *("GFTIME", "FFTIME", "LLTIME", "FLTIME", "solve_ksprop", "Restored", "Unitarity"),
)
_EXPECTED = 'output of MILC: "MIMD version …" or "Time = … seconds"'


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of a MILC application.

    A run that ended before its first "Time =" gives no table. Raises ParseError if the text is not MILC's.
    """
    text = own_text(text, TOOL, _EXPECTED)
    lines = texts_of(text)
    reader = _Reader()
    quiet: set[str] = set()  # lines without meaning here: each set of parameters prints the same ones again
    for number, line in enumerate(lines, 1):
        # nine lines of ten are numbers: this is all that they cost
        read = _READERS.get(line[:4])
        if read is not None or reader.half is not None:
            reader.read(read, line_of((number, line, number < len(lines))))
        elif line not in quiet and not _says_nothing(line) and not reader.foreign(number, line):
            if len(line) < _QUIET_LENGTH and len(quiet) < _QUIET:
                quiet.add(line)
    return reader.result(text, lines)


class _Reader:
    """The state between lines: the rows so far, a time that waits for its iterations, and what the heading said."""

    def __init__(self) -> None:
        self.rows: list[tuple[Cell, ...]] = []
        self.solves: list[tuple[Cell, ...]] = []
        self.line = self.solves_line = 0
        self.waiting: float | None = None  # the value of a Time line, until its iterations come
        self.ended = 0  # the last Time line
        self.half: str | None = None  # a solver's line without its rate: a mailer may have wrapped it
        self.counted = False  # ... and whether it already is a row
        self.version: str | None = None
        self.sign = 0
        self.context: dict[str, ContextValue] = {}
        self.sides: dict[str, str] = {}
        self.spoiled = False
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, read: "_Read | None", line: Line) -> None:
        """Read one line; its first four characters select the reader."""
        if self.half is not None and line.text:
            self._second_half(line)
        if line.text and not (read and read(self, line)):
            self.foreign(line.number, line.text)

    def foreign(self, number: int, text: str) -> bool:
        """Take a line that is not a result of MILC; return whether it has a meaning here."""
        said = _SAID.search(text[:400])
        if is_failure(text) or (said and _WRONG.search(text[:400])):
            self.failures.append(Remark(number, text.strip()[:2000]))
        elif said and _WARNING.search(text[:400]):
            self.remarks.append(Remark(number, text.strip()[:2000]))
        elif text[0] in ".…[" and Line(number, text, True).dots:
            self.spoiled = True
        else:
            return False
        return True

    def result(self, text: str, lines: list[str]) -> ParsedOutput:
        """Return what was found, after every line was read."""
        # the next line tells whether iterations follow: if there is no next line, and the program iterates, the row is
        # cut
        followed = self.ended < len(lines) - 1
        if self.waiting is not None and (followed or "iter" not in text):
            self._row(None)
        if not (self.rows or self.sign or self.solves):
            raise foreign(text, _EXPECTED)
        if not self.rows:
            sign = self.sign or self.solves_line
            self.remarks.append(Remark(sign, "MILC finished no run: no line Time = … seconds"))
        tables = self._tables(lines) if self.rows else ()
        return ParsedOutput(tables, tuple(self.failures), tuple(sorted(self.remarks, key=lambda item: item.line)))

    def time(self, line: Line) -> bool:
        """Read "Time =": the end of a run."""
        found = _TIME.match(line.text)
        if not found:
            return False
        if self.waiting is not None:
            self._row(None)
        self.waiting, self.ended = float(found["time"]), line.number
        self.line = self.line or line.number
        return True

    def iterations(self, line: Line) -> bool:
        """Read "total_iters =": cut if its line has no end."""
        found = _ITERS.match(line.text)
        if found and line.ended and self.waiting is not None:
            self._row(int(found["iters"]))
        return bool(found)

    def _row(self, iterations: int | None) -> None:
        self.rows.append((self.waiting, iterations))
        self.waiting = None

    def solve(self, line: Line) -> bool:
        """Read a solver's line; one without a rate may be the first half of a wrapped one."""
        row = _solve(line.text) if line.ended else None
        if row:
            self._note_solution(line.number, row)
        self.half = line.text.rstrip() if row is None or row[2] is None else None
        self.counted = row is not None
        return row is not None

    def _second_half(self, line: Line) -> None:
        half, self.half = self.half, None
        row = _solve(f"{half} {line.text[:200].lstrip('> ')}") if line.ended else None
        if row and row[2] is not None:
            if self.counted:
                self.solves.pop()
            self._note_solution(line.number, row)
        elif not self.counted and half and _CG.match(half[:2000]):
            self.failures.append(Remark(line.number - 1, f"a solver's line without its end: {half[:400]}"))

    def _note_solution(self, number: int, row: tuple[Cell, ...]) -> None:
        self.solves.append(row)
        self.solves_line = self.solves_line or number

    def heading(self, line: Line) -> bool:
        """Read a line that names the program; the first name counts, as in the next two functions."""
        found = _VERSION.match(line.text)
        if found:
            self.sign = self.sign or line.number
            self.version = self.version or found["version"]
        return bool(found)

    def machine(self, line: Line) -> bool:
        """Read the line that names the machine and its ranks."""
        found = _MACHINE.match(line.text)
        if found and "ranks" not in self.context:
            self.context |= {"machine": found["machine"], "ranks": int(found["ranks"])}
        return bool(found)

    def side(self, line: Line) -> bool:
        """Read one side of the lattice."""
        found = _SIDE.match(line.text)
        if found:
            self.sides.setdefault(found["axis"], found["sites"])
        return bool(found)

    def _tables(self, lines: list[str]) -> tuple[Table, ...]:
        begun = any(line.startswith(_BEGINS) for line in lines[self.ended :])
        complete = not (begun or self.spoiled or self.waiting is not None)
        run = self._table("run", ("time", "iterations"), ("s", None), self.rows, self.line, complete)
        if not self.solves:
            return (run,)
        columns, units = ("iterations", "time", "performance"), (None, "s", "Gflop/s")
        return run, self._table("cg", columns, units, self.solves, self.solves_line, complete)

    def _table(
        self,
        kind: str,
        columns: tuple[str, ...],
        units: tuple[str | None, ...],
        rows: list[tuple[Cell, ...]],
        line: int,
        complete: bool,
    ) -> Table:
        context = {"kind": kind, **self.context}
        if len(self.sides) == 4:
            context["lattice"] = "x".join(self.sides[axis] for axis in "xyzt")
        return Table(
            "milc", self.version, "milc", columns, units, tuple(rows), line, complete, MappingProxyType(context)
        )


def _says_nothing(text: str) -> bool:
    """Return whether a line is only numbers: nine of ten are, and no library, launcher or shell prints such a line."""
    if text[:4] in _NUMBERS or text[0] == "#":
        return True
    if not text[-1:].isdigit():
        return False
    if " = " in text:  # "eigVal[0] = 3.6e-02"
        return not text.startswith("Termination:")
    # "4  3  1.0e+00", "error_per_site 9e-09"
    return text[0].isdigit() or ("_" in text and text[:400].partition(" ")[0].islower())


def _solve(text: str) -> tuple[Cell, ...] | None:
    """Return iterations (of all right-hand sides), time and performance of a solver's line; None for any other."""
    begun = _CG.match(text) if len(text) <= 2000 else None
    found = _CG_END.match(text, text.rfind(" iters") + 1) if begun else None
    if not begun or not found:
        return None
    rate = found["mflops"] or "0.0"
    if "e" not in rate and rate != "0.0" and "nmass[" not in text and " MF = " not in text:
        return None  # most solvers print an exponent, and 3.0 is what a broken line leaves of 3.092939e+02
    several = text.count(" iters") > 1
    iterations = sum(map(int, _COUNTS.findall(text, begun.end()))) if several else int(found["iters"])
    return iterations, float(begun["time"]), float(found["mflops"]) / 1000 if found["mflops"] else None


_Read = Callable[[_Reader, Line], bool]
_READERS: dict[str, _Read] = {
    **dict.fromkeys(("CONG", "MULT", "CGIL", "BiCG", "BiCo"), _Reader.solve),
    "MIMD": _Reader.heading,
    "Mach": _Reader.machine,
    **{f"n{axis} {digit}": _Reader.side for axis in "xyzt" for digit in range(10)},
    "Time": _Reader.time,
    "tota": _Reader.iterations,
}
