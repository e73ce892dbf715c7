"""What nvbandwidth writes with ``-j`` (0.5 and later): one object, its matrices as texts, as tables.

Source: json_output.cpp at the tags v0.5 to v0.8. A test has "status": Passed, Waived, Not Found, Error or Running.
"""

import re
from dataclasses import dataclass
from typing import Any

from railyard.parsers.json_objects import figure, objects
from railyard.parsers.nvbandwidth_table import Matrix, unit_of
from railyard.parsers.output import Caution, ContextValue, Remark, Table

_TITLE = "nvbandwidth"
_UNIT = re.compile(r"\((?P<unit>[A-Za-z/]{1,12})\)\s{0,8}$")
_DEVICE = re.compile(r"\s{0,8}[0-9]{1,6}: (?P<name>\S.{0,160}?) \([0-9a-fA-F:.]{5,20}\).{0,300}")
_MOST_ROWS = 4096


@dataclass(frozen=True, slots=True)
class WrittenJson:
    """What a text has of ``-j``, and the lines (1-based) that it takes."""

    tables: tuple[Table, ...] = ()
    failures: tuple[Remark, ...] = ()
    remarks: tuple[Remark, ...] = ()
    lines: frozenset[int] = frozenset()


def read(text: str) -> WrittenJson:
    """Return the tables of all objects of nvbandwidth in this text; nothing for a text without any."""
    if f'"{_TITLE}"' not in text:
        return WrittenJson()
    tables: list[Table] = []
    failures: list[Remark] = []
    remarks: list[Remark] = []
    taken: set[int] = set()
    for lines, found in objects(text, lambda beginning: f'"{_TITLE}"' in beginning):
        if found is None:
            failures.append(Remark(lines.start, "JSON of nvbandwidth that ends before its closing brace"))
            taken.update(range(lines.start, text.count("\n") + 2))  # the rest of it is not console output
        elif isinstance(found.get(_TITLE), dict):
            _read(lines, found[_TITLE], (tables, failures, remarks))
            taken.update(lines)
    return WrittenJson(tuple(tables), tuple(failures), tuple(remarks), frozenset(taken))


def _read(lines: range, found: dict[str, Any], into: tuple[list[Table], list[Remark], list[Remark]]) -> None:
    tables, failures, remarks = into
    line = lines.start
    context, version = _context(found), found.get("version")
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
            matrix = _matrix(min(line + len(tables), lines.stop - 1), name, test, failures)
            if matrix and matrix.cells:
                tables.append(matrix.table(version[:40] if isinstance(version, str) else None, True, context))
            else:
                failures.append(Remark(line, f"a test without any matrix: {name}"))
    if not isinstance(tests, list):
        failures.append(Remark(line, "JSON of nvbandwidth without tests"))


def _matrix(line: int, name: str, test: dict[str, Any], failures: list[Remark]) -> Matrix | None:
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


def _context(found: dict[str, Any]) -> dict[str, ContextValue]:
    context: dict[str, ContextValue] = {}
    for key, name in (("CUDA Runtime Version", "cuda_runtime_version"), ("Driver Version", "driver_version")):
        value = found.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            context[name] = str(value)[:40]
    listed = found.get("GPU Device list")
    names = (
        [match["name"] for each in listed if isinstance(each, str) and (match := _DEVICE.fullmatch(each[:400]))]
        if (isinstance(listed, list))
        else []
    )
    if names:
        context |= {"gpus": len(names), "gpu": ", ".join(sorted(set(names)))[:200]}
    return context
