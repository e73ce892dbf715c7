"""Output of nvbandwidth 0.1 to 0.10, console and ``-j``, as typed tables: what a node's GPUs, CPUs and links move.

``parse`` returns one table per matrix, in the order of the text: benchmark (the test's name), version, and a row for
each number of the matrix, with its row and column in the matrix. "N/A" (no such path) has no row; the context counts
them. Bandwidth is MB/s (10^6 B/s): the printed GB/s are 10^9 B/s (memcpy.cpp: ``returnAppropriateMetric() * 1e-9``); a
latency is us. ``description`` is the sentence above the matrix. A test of two directions prints three matrices (Read1,
Read2, Total) under one name.

A table is complete if its SUM is there and is the sum of what was read; in JSON, if the object has its closing brace. A
test that ended without a matrix, that failed or was not found is a failure, and so is a matrix or a SUM that no test
announces. A test that was waived, since the machine cannot run it, is a remark. Source: output.cpp, json_output.cpp and
inline_common.h at the tags v0.1, v0.4, v0.6 and v0.8.

``-j`` (0.5 and later) writes one object, its matrices as texts. There a test has "status": Passed, Waived, Not Found,
Error or Running (json_output.cpp at the tags v0.5 to v0.8).
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from railyard.parsers.decorations import Prefixes
from railyard.parsers.lines import (
    LONGEST_NOTE,
    Line,
    decimals,
    each_line,
    figure,
    foreign,
    is_failure,
    not_a_number,
    number,
    objects,
    own_text,
)
from railyard.parsers.output import Caution, Cell, ContextValue, ParsedOutput, Remark, Table

_TITLE = "nvbandwidth"
_UNIT = re.compile(r"\((?P<unit>[A-Za-z/]{1,12})\)\s{0,8}$")
_JSON_DEVICE = re.compile(r"\s{0,8}[0-9]{1,6}: (?P<name>\S.{0,160}?) \([0-9a-fA-F:.]{5,20}\).{0,300}")
_MOST_ROWS = 4096


class Unit(NamedTuple):
    """What a matrix holds: the column's name, its unit here, and the factor that converts the printed unit."""

    column: str
    name: str
    factor: float


_UNITS = MappingProxyType({"GB/s": Unit("bandwidth", "MB/s", 1000.0), "ns": Unit("latency", "us", 0.001)})


def unit_of(printed: str) -> Unit | None:
    """Return what a matrix of this printed unit holds; None for a unit that nvbandwidth does not have."""
    return _UNITS.get(printed)


@dataclass(slots=True)
class Matrix:
    """One matrix: ``columns`` is how many it has, 0 before its head is read; ``rows`` is how many rows were read."""

    line: int
    test: str
    description: str
    unit: Unit
    columns: int = 0
    rows: int = 0
    cells: list[tuple[Cell, ...]] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    absent: int = 0
    spoiled: bool = False

    def add(self, words: Sequence[str]) -> list[str]:
        """Take one row of numbers and "N/A"; return the values that are not finite."""
        wrong = []
        for column, word in enumerate(words):
            value = number(word)
            if value is not None:
                self.cells.append((self.rows, column, float(value) * self.unit.factor))
                self.printed.append(word)
            elif not_a_number(word):
                self.spoiled = True
                wrong.append(f"{self.unit.column} {word} in row {self.rows} and column {column} of {self.test}")
            else:
                self.absent += 1
        self.rows += 1
        return wrong

    def differs(self, printed: str, test: str) -> str | None:
        """Return a sentence if the printed sum is not the sum of the numbers that were read; None if it is."""
        total = number(printed)
        if test != self.test:
            return f"the sum is of {test}, but the matrix above it is of {self.test}: lines are missing or mixed"
        if total is None:
            return f"not finite: the sum {printed} of {test}"
        found = math.fsum(float(word) for word in self.printed)
        rounding = math.fsum(0.5 * 10.0 ** -decimals(word) for word in (*self.printed, printed))
        if abs(found - total) <= rounding * 1.001 + 1e-6 * abs(total):
            return None
        return f"the sum of {test} is printed as {printed}, but the numbers above it give {found:.2f}: some are missing"

    def table(self, version: str | None, ended: bool, context: dict[str, ContextValue]) -> Table:
        """Return the table of all numbers; a matrix without numbers gives no rows."""
        said: dict[str, ContextValue] = {"description": self.description, "rows": self.rows, "columns": self.columns}
        if self.absent:
            said["not_available"] = self.absent
        return Table(
            tool="nvbandwidth",
            version=version,
            benchmark=self.test,
            columns=("row", "column", self.unit.column),
            units=(None, None, self.unit.name),
            rows=tuple(self.cells),
            line=self.line,
            complete=ended and not self.spoiled,
            context=MappingProxyType(said | context),
        )


TOOL = "nvbandwidth"

_VERSION = re.compile(r"nvbandwidth Version: v?(?P<version>\S{1,40})\s{0,8}")
_RUNNING = re.compile(r"Running (?P<name>[a-z][a-z0-9]{1,40}_[a-z0-9_]{1,80})\.\s{0,8}")
_WAIVED = re.compile(r"(?:Waived: ?|Waiving (?P<name>[a-z][a-z0-9]{1,40}_[a-z0-9_]{1,80})\.).{0,300}")
# memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
_DESCRIPTION = re.compile(r"(?:memcpy|memory|multicast|Device) \S.{4,120} \((?P<unit>[A-Za-z/]{1,12})\)\s{0,8}")
_SUM = re.compile(
    r"(?:SUM|&&&& PERF) (?P<name>[a-z][a-z0-9]{1,40}_[a-z0-9_]{1,80}) (?P<value>\S{1,40})(?: ?\S{1,12})?\s{0,8}"
)
_MORE = re.compile(r"(?:MIN|MAX|AVG|COEFFICIENT_OF_VARIATION) [a-z][a-z0-9_]{2,80} \S{1,40}\s{0,8}")
# Device 0: NVIDIA GH200 480GB (00000009:01:00)  |  Process 0 (node1): device 0: NVIDIA H100 (00000000:1b:00)
_DEVICE = re.compile(
    r"(?:Process\s{1,8}[0-9]{1,6} \(\S{1,255}\): )?[dD]evice (?P<index>[0-9]{1,6}): (?P<name>\S.{0,160}?)"
    r"(?: \((?P<bus>[0-9a-fA-F:.]{5,20})\))?\s{0,8}"
)
# Driver Version: 550.54.15   |   CUDA Driver Version (API): 13.2 (13020), since 0.10
_SETTING = re.compile(
    r"(?P<name>CUDA Runtime Version|CUDA Driver Version|Driver Version)(?: \(API\))?: (?P<value>\S.{0,60}?)\s{0,8}"
)
_ERROR = re.compile(
    r"(?:ERROR: |\[?CU_RESULT\]|\[?CUDA_ERROR|Error: |Error |Not Found|.{0,120}CUDA_ERROR_[A-Z_]{3,60}).{0,1000}"
)
_OWN = ("Built from Git version:", "MPI version:", "NOTE: ", "Performance can vary", "nvbandwidth")
_EXPECTED = 'output of nvbandwidth: "nvbandwidth Version: …" or "Running host_to_device_memcpy_ce."'
_SHOWS = ("nvbandwidth Version: ", "Running host_", "Running device_", "SUM host_", "SUM device_")
_LONGEST = 2000


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of nvbandwidth, printed or written with ``-j``.

    Raises ParseError if the text has no line of nvbandwidth.
    """
    text = own_text(text, TOOL, _EXPECTED)
    written = _read_json(text)
    reader, prefixes = _Reader(), Prefixes(text, _SHOWS)
    for line in each_line(text):
        if line.text and not line.text.isspace() and line.number not in written.lines:
            plain = prefixes.split(line.text)[1]
            if plain and not plain.isspace():
                reader.read(line if plain is line.text else Line(line.number, plain, line.ended), line.text.strip())
    reader.close()
    if not (reader.known or written.lines):
        raise foreign(text, _EXPECTED)
    if reader.known and not (reader.tables or reader.failures or reader.remarks or written.lines):
        reader.failures.append(Remark(reader.began, "an output of nvbandwidth in which no test ran"))
    return ParsedOutput(
        tuple(sorted([*written.tables, *reader.tables], key=lambda table: table.line)),
        tuple(sorted([*written.failures, *reader.failures], key=lambda failure: failure.line)),
        tuple(sorted([*written.remarks, *reader.remarks], key=lambda remark: remark.line)),
    )


@dataclass(frozen=True, slots=True)
class _WrittenJson:
    """What a text has of ``-j``, and the lines (1-based) that it takes."""

    tables: tuple[Table, ...] = ()
    failures: tuple[Remark, ...] = ()
    remarks: tuple[Remark, ...] = ()
    lines: frozenset[int] = frozenset()


def _read_json(text: str) -> _WrittenJson:
    """Return the tables of all objects of nvbandwidth in this text; nothing for a text without any."""
    if f'"{_TITLE}"' not in text:
        return _WrittenJson()
    tables: list[Table] = []
    failures: list[Remark] = []
    remarks: list[Remark] = []
    taken: set[int] = set()
    for lines, found in objects(text, lambda beginning: f'"{_TITLE}"' in beginning):
        if found is None:
            failures.append(Remark(lines.start, "JSON of nvbandwidth that ends before its closing brace"))
            taken.update(range(lines.start, text.count("\n") + 2))  # the rest of it is not console output
        elif isinstance(found.get(_TITLE), dict):
            _read_object(lines, found[_TITLE], (tables, failures, remarks))
            taken.update(lines)
    return _WrittenJson(tuple(tables), tuple(failures), tuple(remarks), frozenset(taken))


def _read_object(lines: range, found: dict[str, Any], into: tuple[list[Table], list[Remark], list[Remark]]) -> None:
    tables, failures, remarks = into
    line = lines.start
    context, version = _json_context(found), found.get("version")
    for key, notes in (("error", failures), ("warning", remarks)):
        if isinstance(found.get(key), str) and found[key].strip():
            notes.append(Remark(line, f"{key}: {found[key].strip()[:1000]}"))
    tests = found.get("testcases")
    for test in tests if isinstance(tests, list) else ():
        if not isinstance(test, dict) or not isinstance(test.get("name"), str):
            continue
        name, status = test["name"][:80], test.get("status")
        if status == "Waived":
            remarks.append(Caution(line, f"{name} was waived"))
        elif status != "Passed":
            failures.append(Remark(line, f"{name}: status {str(status)[:80]}, expected Passed"))
        else:
            matrix = _json_matrix(min(line + len(tables), lines.stop - 1), name, test, failures)
            if matrix and matrix.cells:
                tables.append(matrix.table(version[:40] if isinstance(version, str) else None, True, context))
            else:
                failures.append(Remark(line, f"a test without any matrix: {name}"))
    if not isinstance(tests, list):
        failures.append(Remark(line, "JSON of nvbandwidth without tests"))


def _json_matrix(line: int, name: str, test: dict[str, Any], failures: list[Remark]) -> Matrix | None:
    description, rows = test.get("bandwidth_description"), test.get("bandwidth_matrix")
    printed = _UNIT.search(description[:200]) if isinstance(description, str) else None
    unit = unit_of(printed["unit"]) if printed else None
    if unit is None or not isinstance(rows, list) or not isinstance(description, str):
        return None
    matrix = Matrix(line, name, description.strip()[:200], unit)
    for row in rows[:_MOST_ROWS]:
        words = [str(word).strip() for word in row] if isinstance(row, list) else []
        matrix.columns = matrix.columns or len(words)
        matrix.spoiled |= len(words) != matrix.columns or len(rows) > _MOST_ROWS
        failures += [Remark(line, f"not finite: {wrong}") for wrong in matrix.add(words)]
    total = figure(test, "sum")
    found = sum(float(word) for word in matrix.printed)
    # numbers in the matrix have six digits, the sum has all
    if total is not None and abs(found - total) > 1e-5 * abs(total) * max(1, len(matrix.printed)) + 1e-9:
        failures.append(Remark(line, f"the sum of {name} is {total:g}, but its numbers give {found:g}"))
        matrix.spoiled = True
    return matrix


def _json_context(found: dict[str, Any]) -> dict[str, ContextValue]:
    context: dict[str, ContextValue] = {}
    for key, name in (("CUDA Runtime Version", "cuda_runtime_version"), ("Driver Version", "driver_version")):
        value = found.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            context[name] = str(value)[:40]
    listed = found.get("GPU Device list")
    names = (
        [match["name"] for each in listed if isinstance(each, str) and (match := _JSON_DEVICE.fullmatch(each[:400]))]
        if (isinstance(listed, list))
        else []
    )
    if names:
        context |= {"gpus": len(names), "gpu": ", ".join(sorted(set(names)))[:200]}
    return context


@dataclass(slots=True)
class _Test:
    """A running test: its name, its first line, and how many matrices it has printed."""

    line: int
    name: str
    matrices: int = 0


@dataclass(slots=True)
class _Reader:
    """The state between lines."""

    known: bool = False
    began: int = 1
    ran: dict[str, int] = field(default_factory=dict)
    version: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)
    gpus: list[str] = field(default_factory=list)
    test: _Test | None = None
    matrix: Matrix | None = None
    tables: list[Table] = field(default_factory=list)
    failures: list[Remark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    def read(self, line: Line, whole: str) -> None:
        """Read one line: the first kind that knows it takes it. ``whole``: the line with its prefix."""
        text = line.text.strip()
        if len(text) > _LONGEST or not (
            self._row(line, text) or self._test(line, text) or self._sum(line, text) or self._read_own_line(line, text)
        ):
            failed = is_failure(text) or is_failure(whole) or bool(_ERROR.fullmatch(text[:_LONGEST]))
            (self.failures if failed else self.remarks).append(Remark(line.number, whole[:LONGEST_NOTE]))
            if self.matrix and (failed or line.dots):
                self.matrix.spoiled = True

    def close(self) -> None:
        """End the open matrix and the open test."""
        self._end_matrix(ended=False)
        if self.test and not self.test.matrices:
            self.failures.append(Remark(self.test.line, f"a test without any matrix: {self.test.name}"))
        self.test = None

    def _end_matrix(self, ended: bool) -> None:
        if self.matrix is None:
            return
        if self.matrix.cells:
            self.tables.append(self.matrix.table(self.version, ended, self._context()))
        else:
            self.failures.append(Remark(self.matrix.line, f"a matrix without any number: {self.matrix.description}"))
        self.matrix = None

    def _context(self) -> dict[str, ContextValue]:
        if not self.gpus:
            return self.context
        return self.context | {"gpus": len(self.gpus), "gpu": ", ".join(sorted(set(self.gpus)))[:200]}

    def _row(self, line: Line, text: str) -> bool:
        matrix = self.matrix
        if matrix is None or not (line.ended and text[0].isdigit()):
            return False
        words = line.words
        if matrix.columns == 0:
            matrix.columns = len(words) if all(word.isdecimal() for word in words) else 0
            return matrix.columns > 0
        if not words[0].isdecimal() or not all(_is_cell(word) for word in words[1:]):
            return False
        if len(words) != matrix.columns + 1 or int(words[0][:9]) != matrix.rows:
            matrix.spoiled = True
            self.failures.append(
                Remark(line.number, f"a row of {len(words) - 1} numbers, expected {matrix.columns}: {text[:200]}")
            )
            return True
        for wrong in matrix.add(words[1:]):
            self.failures.append(Remark(line.number, f"not finite: {wrong}"))
        return True

    def _test(self, line: Line, text: str) -> bool:
        running, waived = _RUNNING.fullmatch(text), _WAIVED.fullmatch(text)
        if running and line.ended:
            self.close()
            self.known = True
            self.test = _Test(line.number, running["name"])
            before = self.ran.setdefault(running["name"], line.number)
            if before != line.number:
                twice = f"{running['name']} ran twice, in line {before} and here: give each output a file of its own"
                self.failures.append(Remark(line.number, twice))
            return True
        if waived and self.test and not waived["name"] and not self.test.matrices:
            self.remarks.append(Caution(line.number, f"{self.test.name} was waived: {text}"))
            self.test = None
            return True
        if waived:
            self.known |= bool(waived["name"])
            self.remarks.append(Remark(line.number, text))
            return True
        found = _DESCRIPTION.fullmatch(text) if line.ended else None
        if not found:
            return False
        if self.test is None:
            what = f'a matrix without its test: found "{text[:200]}", expected "Running …." with its name above it'
            self.failures.append(Remark(line.number, what))
            return True
        self._end_matrix(ended=False)
        self.test.matrices += 1
        unit = unit_of(found["unit"])
        if unit is None:
            self.failures.append(Remark(line.number, f"a matrix in {found['unit']}, expected GB/s or ns: {text}"))
            return True
        self.matrix = Matrix(line.number, self.test.name, text, unit)
        return True

    def _sum(self, line: Line, text: str) -> bool:
        found = _SUM.fullmatch(text) if line.ended else None
        if not found:
            return bool(_MORE.fullmatch(text))
        self.known = True
        if self.matrix is not None:
            wrong = self.matrix.differs(found["value"], found["name"])
            if wrong:
                self.failures.append(Remark(line.number, wrong))
                self.matrix.spoiled = True
            self._end_matrix(ended=True)
        elif not (self.tables and self.tables[-1].benchmark == found["name"]):  # its figure may be printed twice
            what = f'a sum without its matrix: found "{text[:200]}", expected "Running {found["name"]}." and its matrix'
            self.failures.append(Remark(line.number, f"{what} above it"))
        return True

    def _read_own_line(self, line: Line, text: str) -> bool:
        version, device, setting = _VERSION.fullmatch(text), _DEVICE.fullmatch(text), _SETTING.fullmatch(text)
        if version:
            self.close()
            self.known, self.began, self.version, self.gpus = True, line.number, version["version"], []
        elif device:
            self.gpus.append(device["name"])
        elif setting:
            self.context[setting["name"].lower().replace(" ", "_")] = setting["value"]
        else:
            return text.startswith(_OWN) and not is_failure(text)
        return True


def _is_cell(word: str) -> bool:
    return word == "N/A" or number(word) is not None or not_a_number(word)
