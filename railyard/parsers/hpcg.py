"""HPCG's report, HPCG-Benchmark_3.x….txt or what a run prints of it, as typed tables: one row per report.

Columns: performance (Gflop/s, the rating: with the overheads of convergence and of the optimization phase), raw
(Gflop/s, without them), time (s, of all sets of CG), ddot, waxpby, spmv and mg (Gflop/s), and passed: whether HPCG
calls its result valid. An invalid result is a failure; its rate is that of the summary, since it gets no rating.
``context``: processes, threads, nx, ny, nz of a process, the equations, and ``official``: False if the run was shorter
than HPCG demands.

A figure counts if a newline ends its line and the next line is not the rest of a broken one. The rating is in the
report twice. Two that differ are a failure. A table is complete if the report says whether it is valid.

Source: src/ReportResults.cpp, YAML_Doc.cpp and YAML_Element.cpp (3.0: "  Key: value" below "Section: "), and
OutputFile.cpp (3.1: "Section::Key=value") of HPCG (hpcg-benchmark/hpcg).
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.lines import Line, filled_lines, foreign, is_failure, not_a_number, number, own_text
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "hpcg"

# Final Summary::HPCG result is VALID with a GFLOP/s rating of=77.0017
_FLAT = re.compile(
    r"^(?:(?P<section>[A-Z][\w/ .&-]{2,60})::)?(?P<key>[A-Za-z][\w/ .()+&:-]{1,110})=(?P<value>.{0,200})$"
)
#   HPCG result is VALID with a GFLOP/s rating of: 12.7
_INDENTED = re.compile(r"^(?P<key>[A-Za-z#_][\w/ .()+&#-]{1,110}): ?(?P<value>.{0,200})$")
_TITLE = re.compile(r"^HPCG-Benchmark(?: version: (?P<version>[0-9.]{1,10}))?$")
_RATES, _TIMES = "GFLOP/s Summary", "Benchmark Time Summary"
_RATED = "HPCG result is VALID with a GFLOP/s rating of"
#: Section and key -> column, its unit. The rating is the first line of the last section.
_COLUMNS = {
    (_RATES, "Total with convergence and optimization phase overhead"): ("performance", "Gflop/s"),
    (_RATES, "Raw Total"): ("raw", "Gflop/s"),
    (_RATES, "Raw DDOT"): ("ddot", "Gflop/s"),
    (_RATES, "Raw WAXPBY"): ("waxpby", "Gflop/s"),
    (_RATES, "Raw SpMV"): ("spmv", "Gflop/s"),
    (_RATES, "Raw MG"): ("mg", "Gflop/s"),
    (_TIMES, "Total"): ("time", "s"),
}
_SHORTEST_PART = 12  # characters: "Total" alone may begin many lines
_CONTEXT = {
    "Distributed Processes": "processes",
    "Threads per processes": "threads",
    "nx": "nx",
    "ny": "ny",
    "nz": "nz",
}
_EQUATIONS = ("Linear System Information", "Number of Equations")
_SHORT = ("Official results execution time (sec) must be at least", "You have selected the QuickPath option")
# The rest of a figure whose line a page has broken
_REST = re.compile(r"[0-9.]|e?[+-][0-9]")
_ERROR = re.compile(r"^(?:Error in call to |[0-9]{1,9} error\(s\) in call\(s\) |Failed to reduce the residual )")
_EXPECTED = 'report of HPCG: "HPCG-Benchmark", or "HPCG result is VALID with a GFLOP/s rating of"'


@dataclass(slots=True)
class _Report:
    """One report while it is read; ``rating`` is that of the last section."""

    line: int
    version: str | None = None
    figures: dict[str, tuple[float, str]] = field(default_factory=dict)
    context: dict[str, ContextValue] = field(default_factory=dict)
    rating: float | None = None
    rating_line: int = 0
    passed: bool | None = None
    spoiled: bool = False


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one report.

    Raises ParseError if the text has neither the report's title nor a rating.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    last: tuple[Line, str] | None = None
    for line, stripped in filled_lines(text):
        if last is not None:
            reader.read(*last, broken=bool(_REST.match(stripped)))
        last = line, stripped
    if last is not None:
        reader.read(*last, broken=False)
    return reader.result(text)


class _Reader:
    """The open report and its section, and what was found so far."""

    def __init__(self) -> None:
        self.reports: list[_Report] = []
        self.section = ""
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line, text: str, broken: bool) -> None:
        """Read one stripped line; ``broken``: the next one may be its rest."""
        title = _TITLE.match(text[:100])
        if title:
            self.section = ""
            self.reports.append(_Report(line.number, title["version"]))
            return
        found = self._field(text) if len(text) <= 400 else None
        if found is None and line.ended and self._is_part(text):
            self.failures.append(Remark(line.number, f"a part of a line of figures: {text}"))
        elif found is None or not self._take(line, *found, whole=line.ended and not broken):
            self._foreign(line, text)

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        if not self.reports:
            raise foreign(text, _EXPECTED)
        tables = []
        for report in self.reports:
            table = self._table(report)
            if table is not None:
                tables.append(table)
            elif report.rating is None:
                self.failures.append(Remark(report.line, "a report without any figure"))
        return ParsedOutput(
            tuple(tables), tuple(sorted(self.failures, key=lambda each: each.line)), tuple(self.remarks)
        )

    def _field(self, text: str) -> tuple[str, str] | None:
        """Return key and value of a line, and enter its section; None for any other line."""
        if flat := _FLAT.match(text):
            self.section = flat["section"] or (flat["key"] if not flat["value"] else self.section)
            return flat["key"].rpartition("::")[2], flat["value"].strip()
        if indented := _INDENTED.match(text):
            if not indented["value"].strip():
                self.section = indented["key"].strip("_# ")
            return indented["key"].strip(), indented["value"].strip()
        return None

    def _is_part(self, text: str) -> bool:
        """Return whether a line is the beginning of a figure's name, and the rest is missing."""
        begun = text.rpartition("::")[2].strip()
        names = [key for section, key in _COLUMNS if section == self.section or section in text]
        return len(begun) > _SHORTEST_PART and any(name.startswith(begun) for name in names)

    def _take(self, line: Line, key: str, value: str, whole: bool) -> bool:
        """Keep a field; return whether it is one of the report's."""
        if key.startswith("HPCG result is"):
            return self._result(line, key, value, whole)
        if not self.reports:
            return False
        report = self.reports[-1]
        if key == "version" and not report.version and whole:
            report.version = value[:20] or None
        known = _COLUMNS.get((self.section, key))
        figure = number(value) if whole else None
        if known is not None and figure is not None and figure >= 0:
            report.figures.setdefault(known[0], (float(figure), known[1]))
        elif known is not None and (line.ended or not_a_number(value)):
            what = "" if not_a_number(value) else "a figure that cannot be read: "
            self.failures.append(Remark(line.number, f"{what}{key}: {value}"))
        elif isinstance(figure, int):
            name = "equations" if (self.section, key) == _EQUATIONS else _CONTEXT.get(key)
            if name is not None:
                report.context.setdefault(name, figure)
        if key.startswith(_SHORT):
            report.context["official"] = False
        return True

    def _result(self, line: Line, key: str, value: str, whole: bool) -> bool:
        if not self.reports or self.reports[-1].passed is not None:
            self.reports.append(_Report(line.number))
        report = self.reports[-1]
        if key == _RATED:
            rating = number(value) if whole else None
            if rating is not None:
                report.rating, report.passed, report.rating_line = float(rating), True, line.number
            elif line.ended:
                self.failures.append(Remark(line.number, f"a figure that cannot be read: {key}: {value}"))
            return True
        if key == "HPCG result is" and value.startswith("INVALID"):
            report.passed = False
            self.failures.append(Remark(line.number, f"{key} {value}"))
            return True
        return False

    def _foreign(self, line: Line, text: str) -> None:
        failed = is_failure(text) or bool(_ERROR.match(text))
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        for report in self.reports[-1:] if failed or line.dots else ():
            report.spoiled = True

    def _table(self, report: _Report) -> Table | None:
        figures = dict(report.figures)
        summed = figures.get("performance", (report.rating, ""))[0]
        if report.rating is not None:
            if summed != report.rating:
                report.spoiled = True
                both = f"{report.rating:g} and {summed:g} Gflop/s"
                self.failures.append(Remark(report.rating_line, f"two ratings that differ: {both}"))
            figures = {"performance": (report.rating, "Gflop/s"), **figures} if summed == report.rating else {}
        if not figures:
            return None
        cells: list[Cell] = [value for value, _ in figures.values()]
        said = {} if report.passed is None else {"passed": report.passed}
        return Table(
            tool=TOOL,
            version=report.version,
            benchmark="hpcg",
            columns=(*figures, *said),
            units=(*(unit for _, unit in figures.values()), *(None for _ in said)),
            rows=((*cells, *said.values()),),
            line=report.line,
            complete=report.passed is not None and not report.spoiled,
            context=MappingProxyType(report.context),
        )
