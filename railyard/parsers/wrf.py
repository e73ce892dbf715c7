"""Output of WRF 2 to 4 (rsl.out, rsl.error or the console of wrf.exe), as typed tables.

``parse`` returns one table per domain and kind, in the order of their first lines: time (s), one row per line.
``context["kind"]`` is "main" (one step of the domain, its nests' steps included) or "writing" (a wrfout or restart
file); ``context["domain"]`` is WRF's number of the domain, ``ranks`` the product of "Ntasks in X, ntasks in Y",
``step_s`` the time that a step of the domain simulates, in s, by the first and last of its rows. Other "Timing for"
lines are in no table. A line that is in both stdout and stderr gives two rows.

A step writes its files before it computes, and its time includes that: its row follows "Timing for Writing" of its
domain or a nest, and ``context["other_work"]`` has its number. Source: frame/module_integrate.F of 4.7.1 (start_timing,
med_before_solve_io, the nests' steps, end_timing). What is written after the last step is in no step.

The first step and each radiation step take 2 to 10 times the others' time: a mean over all rows is not the time of any
step. Source: frame/module_timing.F of 4.7.1, ``"Timing for ",A,": ",F10.5," elapsed seconds"`` (up to 3.x with a full
stop); frame/module_integrate.F and share/mediation_integrate.F for the A.

A table is complete if "SUCCESS COMPLETE WRF" follows its last row, and no row before is cut or missing.

Between ``COMPARE`` and ``COMPARED``, two lines of the job, is what diffwrf prints about a field of the run and a
reference field. The main table of the outer domain then has ``context["reference"]``, the name of the reference field,
and ``context["differences"]``, each field that is not the same in all bits with the root mean square of its difference:
"U=0.005675 V=0.007353". What diffwrf could not compare is a failure. Without diffwrf there is only a remark.
Source: external/io_netcdf/diffwrf.F90 of 4.7.1, formats 76 and 77.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from math import isfinite
from types import MappingProxyType

from railyard.parsers.lines import Line, each_line, foreign, is_failure, own_text
from railyard.parsers.output import OTHER_WORK, Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "wrf"

# Timing for main (dt= 60.00): time 2001-10-25_00:01:12 on domain   1:    0.41142 elapsed seconds Timing for Writing
# wrfout_d01_2001-10-25_03:00:00 for domain        1:    2.04553 elapsed seconds F10.5 always has 5 decimals, so a
# shorter value is cut; stars are printed from 10,000 s on.
_ROW = re.compile(
    r"Timing for (?:main(?: \(dt= {0,8}[-0-9.*]{1,12}\))?: {1,8}time {1,8}(?P<moment>\S{1,60}) {1,8}on"
    r"|Writing {1,8}(?P<file>\S{1,300}) {1,8}for) {1,8}domain {1,12}(?P<domain>[0-9]{1,8}): {0,20}"
    r"(?:(?P<time>-?[0-9]{0,12}\.[0-9]{5})(?![0-9])|(?P<none>\*{10}|[-+]?(?i:NaN|Inf(?:inity)?))(?= |\Z))"
)
_ROW_BEGUN = re.compile(r"Timing for (?:main(?: \(dt=|: +time )|Writing +(?:\S{0,300}/)?(?:wrfout|wrfrst|restart\b))")
# Any file: wrfout, wrfrst, auxhist2_d01_…, "restart".
_WRITING = re.compile(r"Timing for Writing {1,8}\S.{0,300}? {1,8}for {1,8}domain {1,12}(?P<domain>[0-9]{1,8}):")
# 2001-10-25_02:56:24, with .500 or +1/2 behind it if a step is not whole seconds
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)(?:(?P<fraction>\.\d{1,9})|\+(?P<over>\d{1,6})/(?P<under>[1-9]\d{0,5}))?"
)
#  12  points exceeded cfl=2 in domain d01 at time …; "v_cfl = 2" in WRF 4
_CFL = re.compile(r"points exceeded (?:v_)?cfl\b")
_SUCCESS = re.compile(r"(?:\A|[ :])wrf: SUCCESS COMPLETE WRF(?![A-Za-z0-9_])")
_VERSION = re.compile(r"\bWRF(?:-[A-Za-z]{1,20})? V(?P<version>[0-9]\S{0,40}) MODEL\b")
#  Ntasks in X            8 , ntasks in Y           14
_TASKS = re.compile(r"Ntasks in X +(?P<x>[0-9]{1,8}) *, *ntasks in Y +(?P<y>[0-9]{1,8})\b")
# Only WRF's programs print these; they are there even if no step was timed.
_SIGNS = re.compile(
    r"^ *(?:taskid: +[0-9]{1,9} hostname: |starting wrf task +[0-9]|(?:d[0-9]{2} \S{1,40} +)?wrf: [a-zA-Z]|WRF V[0-9]"
    r"|Ntasks in X |-{10,20} FATAL CALLED -{10,20})"
)
_FATAL = re.compile(r"-{10,20} FATAL CALLED -{10,20}")
_RULE = re.compile(r"^ *-{20,80} *$")
_CRASH = re.compile(r"\bforrtl: (?:severe|error)|\bSIG(?:SEGV|ABRT|BUS|FPE|ILL|KILL|TERM)\b|Fortran runtime error")
_CRASH_ROOT = re.compile("SIG|ortr")  # every line of _CRASH holds one: forrtl, Fortran
#: Lines of the job around what diffwrf prints: "railyard: compare A with B".
COMPARE, COMPARED = "railyard: compare", "railyard: compared"
_NO_DIFFWRF = re.compile(r"railyard: found no (?P<program>\S{1,500})")
_HEADING = re.compile(r" +Field +Ndifs +Dims +RMS \(1\) +RMS \(2\) +DIGITS +RMSE +pntwise max *")
#          U    199915    3   0.2077143625E+02   0.2077142723E+02   6   0.5675E-02   0.1523E-01
_REAL = r"(?:[-+]?[0-9]{0,3}\.[0-9]{4,10}(?:E?[-+][0-9]{2,3})?|[-+]?(?i:NaN|Inf(?:inity)?)|\*{4,18})"
_FIELD = re.compile(
    rf" {{0,9}}(?P<name>[A-Z][A-Z0-9_]{{0,9}}) +(?:[0-9]{{1,9}}|\*{{9}}) +[0-4] +{_REAL} +{_REAL} +"
    rf"(?:-?[0-9]{{1,3}}|\*{{3}}) +(?P<rmse>{_REAL}) +{_REAL} *"
)
#: What diffwrf says instead of comparing.
_NOT_COMPARED = re.compile(r" *(?:Big difference|They differ big time|error opening|could not open|Error reading)\b")
_FATAL_LINES = 8  # of one FATAL block at most, if its closing rule is missing
_EXPECTED = 'output of WRF: "Timing for main: …" or another line of wrf.exe'


@dataclass(slots=True)
class _Steps:
    """One table while it is read."""

    line: int
    last: int = 0
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    spoiled: bool = False
    writes: int = 0  # how many files there were at its last row
    wrote: list[int] = field(default_factory=list)  # numbers of the steps that also wrote a file
    moments: list[float] = field(default_factory=list)  # each simulated time once, in s


@dataclass(slots=True)
class _Comparison:
    """What diffwrf prints about one file of the run, while it is read."""

    line: int
    reference: str
    headings: int = 0
    differences: list[str] = field(default_factory=list)
    said: bool = False  # why nothing was compared

    def read(self, line: Line) -> Remark | None:
        """Read one line. Return a failure if diffwrf could not compare something, or if a field holds no numbers."""
        found = _FIELD.fullmatch(line.text)
        if found is not None:
            try:
                rmse = float(found["rmse"])
            except ValueError:  # stars
                rmse = float("inf")
            if not isfinite(rmse):
                return Remark(line.number, f"diffwrf: no finite difference of {found['name']}: {found['rmse']}")
            self.differences.append(f"{found['name']}={rmse:g}")
        elif _HEADING.fullmatch(line.text):
            self.headings += 1
        elif _NOT_COMPARED.match(line.text):
            return Remark(line.number, f"diffwrf: {line.text.strip()[:2000]}")
        return None


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one rsl file or console output of WRF.

    A run that ended before its first timed step gives no table. Raises ParseError if the text is not WRF's.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line in each_line(text):
        reader.read(line)
    return reader.result(text)


class _Reader:
    """The state between lines: the tables so far, a row that waits for its second half, an open FATAL block."""

    def __init__(self) -> None:
        self.tables: dict[tuple[int, str], _Steps] = {}
        self.version: str | None = None
        self.ranks: int | None = None
        self.sign: int | None = None  # the first line that is WRF's own
        self.success = 0
        self.begun: tuple[int, str] | None = None  # a row that a mailer may have wrapped
        self.writes = 0  # files that were written so far
        self.last_write: dict[int, int] = {}  # by domain: the number of the last one
        self.fatal = 0  # how many more lines the open FATAL block may have
        self.comparing: _Comparison | None = None
        self.compared: _Comparison | None = None  # the last one that compared something
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line) -> None:
        """Read one line."""
        text = line.text
        if self.comparing is not None and ("Timing for " in text or text.startswith("taskid:")):
            self._end_cut()  # the log follows: diffwrf was ended
        elif self.comparing is not None or text.startswith(f"{COMPARE} "):
            self._compare(line)
            return
        if self.begun and text and not text.isspace():
            self._read_wrapped(text)
        self._sort(line)
        if "cfl" in text and _CFL.search(text[:2000]):  # wind crosses more than a cell per step: its answer is in doubt
            self.failures.append(Remark(line.number, text.strip()[:2000]))
        elif "arning" in text or "WARN" in text:
            self._remark(line)

    def _sort(self, line: Line) -> None:
        """Read a line by what it is. The tests come in the order that suits a debug log: most lines mean nothing."""
        text = line.text
        if "Timing for " in text:
            self._timing(line)
        elif self.fatal or "FATAL CALLED" in text:
            self._fatal(line)
        elif "---- ERROR" in text:  # of the namelist or an input; WRF counts these and ends
            self.failures.append(Remark(line.number, text.strip()[:2000]))
        elif "WRF" in text or "wrf" in text or "asks in" in text or text[:7] == "taskid:":
            self._note_name(line)
        elif text[:1] not in ("", " ") and text[:2] != "d0":
            self._foreign(line)
        elif len(text) < 8 and line.dots:
            self._spoil()

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        if self.begun:
            self._spoil(_kind(self.begun[1]))
        if self.comparing is not None:
            self._end_cut()
        if not self.tables:
            if self.sign is None:
                raise foreign(text, _EXPECTED)
            self.remarks.append(Remark(self.sign, "WRF timed no step and no file: no line Timing for main or Writing"))
        tables = tuple(self._table(*item) for item in self.tables.items())
        remarks = sorted(self.remarks, key=lambda item: item.line)
        return ParsedOutput(tables, tuple(sorted(self.failures, key=lambda item: item.line)), tuple(remarks))

    def _compare(self, line: Line) -> None:
        """Read a line of the job around diffwrf, or of diffwrf."""
        if self.comparing is None:
            self.comparing = _Comparison(line.number, line.text.rpartition(" ")[2])
        elif line.text.rstrip() == COMPARED:
            done, self.comparing = self.comparing, None
            if done.headings:
                self.compared = done
            elif not done.said:
                self.failures.append(Remark(done.line, f"diffwrf compared nothing with {done.reference}"))
        elif found := _NO_DIFFWRF.match(line.text):
            self.comparing.said = True
            self.remarks.append(Remark(line.number, f"no field was compared: found no {found['program']}"))
        elif failure := self.comparing.read(line):
            self.comparing.said = True
            self.failures.append(failure)

    def _end_cut(self) -> None:
        assert self.comparing is not None
        cut = f"the comparison with {self.comparing.reference} did not end"
        self.failures.append(Remark(self.comparing.line, cut))
        self.comparing = None

    def _timing(self, line: Line) -> None:
        rows = list(_ROW.finditer(line.text))
        for each in _WRITING.finditer(line.text[:4000]):
            self.writes += 1
            self.last_write[int(each["domain"])] = self.writes
        for row in rows:
            self._row(line.number, row)
        begun = None if rows else _ROW_BEGUN.search(line.text)
        if begun and len(line.text) <= 2000:
            self.begun = (line.number, line.text[begun.start() :].strip())

    def _row(self, number: int, row: re.Match[str]) -> None:
        moment, file, domain, time, none = row.groups()
        name = file.rpartition("/")[2] if file else ""
        if name and not (name == "restart" or name.startswith(("wrfout", "wrfrst"))):
            return
        key = (int(domain), "writing" if name else "main")
        steps = self.tables.get(key)
        if steps is None:
            steps = self.tables[key] = _Steps(number)
        steps.rows.append((float(time) if time else None,))
        if not name:
            self._note_step(steps, int(domain), moment)
        steps.last = number
        if none:
            self.failures.append(Remark(number, row[0]))

    def _note_step(self, steps: _Steps, domain: int, moment: str) -> None:
        """Note whether a step wrote a file, by itself or in the steps of its nests, and when it ends."""
        at = _seconds(moment)
        is_again = at is not None and at in steps.moments[-1:]  # the same step in a rank's other log
        wrote = any(write > steps.writes for other, write in self.last_write.items() if other >= domain)
        if wrote or (is_again and len(steps.rows) - 1 in steps.wrote[-1:]):
            steps.wrote.append(len(steps.rows))
        steps.writes = self.writes
        if at is not None and not is_again:
            steps.moments.append(at)

    def _read_wrapped(self, text: str) -> None:
        """Read the second half of a row; a first half alone is a cut row."""
        assert self.begun is not None
        number, begun = self.begun
        self.begun = None
        row = _ROW.match(f"{begun} {text[:400].lstrip('> ')}")
        if row and "elapsed" in f"{begun} {text[:400]}":
            self._row(number, row)
        else:
            self._spoil(_kind(begun))
            self.failures.append(Remark(number, f"a row without its time: {begun[:200]}"))

    def _spoil(self, kind: str | None = None) -> None:
        for (_, one), steps in self.tables.items():
            steps.spoiled |= kind in (None, one)

    def _fatal(self, line: Line) -> None:
        """Read a line of a FATAL block: the call, file and line, the message, until a rule; "taskid" may be between."""
        if _FATAL.search(line.text[:2000]):
            self.fatal = _FATAL_LINES
            self.sign = self.sign or line.number
            self.failures.append(Remark(line.number, "FATAL CALLED"))
            return
        if _RULE.match(line.text):
            self.fatal = 0
            return
        self.sign = self.sign or line.number
        self._note_success(line)  # the fire model ends a complete run this way
        if line.text.strip() and not line.text.startswith("taskid:"):
            self._fatal_words(line)

    def _fatal_words(self, line: Line) -> None:
        """Add a line to the open block's failure, so that a quote of it has the message too."""
        said = " ".join(line.text[:2000].split())
        if not self.fatal:  # its head is missing
            self.fatal = _FATAL_LINES
            self.failures.append(Remark(line.number, said))
            return
        self.fatal -= 1
        first = self.failures[-1]
        whole = said if first.text == "FATAL CALLED" else f"{first.text} {said}"
        self.failures[-1] = Remark(first.line, whole[:2000])

    def _note_name(self, line: Line) -> None:
        text = line.text
        self._note_success(line)
        if self.version is None and "MODEL" in text:
            version = _VERSION.search(text[:2000])
            self.version = version["version"] if version else None
        if self.ranks is None and "asks in" in text:
            tasks = _TASKS.search(text[:2000])
            self.ranks = int(tasks["x"]) * int(tasks["y"]) if tasks else None
        if self.sign is None and _SIGNS.match(text[:2000]):
            self.sign = line.number
        if text[:1] != " " and text[:2] != "d0":
            self._foreign(line)

    def _note_success(self, line: Line) -> None:
        if "SUCCESS" in line.text and _SUCCESS.search(line.text[:2000]):
            self.success = line.number
            self.sign = self.sign or line.number

    def _foreign(self, line: Line) -> None:
        if is_failure(line.text) or (_CRASH_ROOT.search(line.text) and _CRASH.search(line.text[:2000])):
            self.failures.append(Remark(line.number, line.text.strip()[:2000]))
        elif line.dots:
            self._spoil()

    def _remark(self, line: Line) -> None:
        if not (self.failures and self.failures[-1].line == line.number):
            self.remarks.append(Remark(line.number, line.text.strip()[:2000]))

    def _table(self, key: tuple[int, str], steps: _Steps) -> Table:
        context: dict[str, ContextValue] = {"domain": key[0], "kind": key[1]}
        if self.ranks is not None:
            context["ranks"] = self.ranks
        if steps.wrote:
            context[OTHER_WORK] = " ".join(map(str, steps.wrote))
        # Two logs one after the other begin again, and say nothing about one step.
        if len(steps.moments) > 1 and all(one < other for one, other in pairwise(steps.moments)):
            context["step_s"] = (steps.moments[-1] - steps.moments[0]) / (len(steps.moments) - 1)
        if self.compared is not None and key == (1, "main"):
            context["reference"] = self.compared.reference
            context["differences"] = " ".join(self.compared.differences)
        return Table(
            tool="wrf",
            version=self.version,
            benchmark="wrf",
            columns=("time",),
            units=("s",),
            rows=tuple(steps.rows),
            line=steps.line,
            complete=self.success > steps.last and not steps.spoiled,
            context=MappingProxyType(context),
        )


def _seconds(moment: str) -> float | None:
    """Return a simulated time in s since a fixed day; None if the text is no time."""
    found = _MOMENT.fullmatch(moment)
    if found is None:
        return None
    try:
        whole = datetime.fromisoformat(found["date"].replace("_", "T"))
    except ValueError:  # month 13
        return None
    part = float(found["fraction"] or 0) if found["over"] is None else int(found["over"]) / int(found["under"])
    return (whole - datetime(1, 1, 1)).total_seconds() + part


def _kind(begun: str) -> str:
    return "main" if begun.startswith("Timing for main") else "writing"
