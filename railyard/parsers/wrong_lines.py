"""Lines that say that something went wrong, in the output of any tool: each is a failure, whichever parser reads it.

A parser knows its tool's lines by their beginnings, and may take a library's message for one of them. A parser that
accepts only numbers in a row skips any other row, and the table looks whole without it.

A parser converts what is printed, so "1.7e308" MiB/s is infinite in MB/s. Such a cell becomes empty, and its table
incomplete: a figure that is left out is seen, a wrong one is not.
"""

import math
import re
from dataclasses import replace

from railyard.parsers import failure_lines
from railyard.parsers.commented_rows import without_commented_rows
from railyard.parsers.lines import LONGEST_NOTE, clean_text, is_failure, texts_of
from railyard.parsers.mixed_rows import without_mixed_rows
from railyard.parsers.output import Cell, ParsedOutput, Remark, Table
from railyard.parsers.unread_rows import without_lost_rows, without_unannounced_rows

#: No rate, time or count of a benchmark is beyond these, in any unit.
_LARGEST, _SMALLEST = 1e26, 1e-30
#: No message is longer than a signed number of 64 bits can count, and no tool prints a larger figure before its unit.
_LARGEST_PRINTED = 2**63
#: Units of what is measured: never below 0, and never beyond these. Residuals and constants of a machine have none.
_MEASURED = frozenset({"MB/s", "us", "1/s", "B", "Gflop/s", "Gbit/s", "s", "%", "Mop/s", "GUP/s"})
#: The end of a figure beyond these. To look for it in the whole text first takes most outputs no time.
_FAR_EXPONENT = re.compile(r"[0-9]\.?[eE][+-]?(?:[3-9][0-9]|[0-9]{3,4})(?![\w.])")
#: "Time in seconds =  1e308", "latency  =  -1.5 us": a figure behind the name of what is measured.
_NAMED = re.compile(
    r"(?=[^=:]{0,80}(?:time|seconds|latency|bandwidth|bw|rate|flops?|op/s|total)\b)[^=:]{2,80}[=:]\s{0,40}"
    r"(?P<figure>\S{1,400})(?:\s{1,40}[A-Za-z/%]{1,20})?\s{0,40}",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![^\s=:|,(])(?P<number>[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?(?:[eE][+-]?[0-9]{1,4})?|inf|infinity|nan))"
    r"(?=[\s|,)%]|\Z)",
    re.IGNORECASE,
)
# A word of its own, also behind "name=" and in a box: "4194304  nan", "HPL_Tflops=nan", "| 15.3 | -inf |"
_NOT_FINITE = re.compile(r"(?:\A|[\s=:|])[+-]?(?:nan|inf|infinity)(?=\Z|[\s|,])", re.IGNORECASE)
_LONGEST = 1000  # no row of a tool is longer
# "  1048576   1   47,78": whole numbers, then at least one with a comma as decimal point, and nothing else
_COMMA_ROW = re.compile(
    r"\A\s{0,40}[0-9]{1,18}(?:\s{1,40}[0-9]{1,18}){0,3}(?:\s{1,40}[0-9]{1,15},[0-9]{1,6})+\s{0,40}\Z"
)
# "Mop/s total  =  1234,56"   |   "Minimum latency: 1,312 usec": a list ("CUDA_VISIBLE_DEVICES=0,1") measures nothing
_COMMA_VALUE = re.compile(
    r"\A(?=[^=:]{0,80}(?:time|seconds|latency|bandwidth|rate|flops?|op/s)\b)[^=:]{2,80}[=:]\s{0,40}"
    r"[0-9]{1,15},[0-9]{1,9}(?:e[+-]?[0-9]{1,3})?(?=\Z|\s)",
    re.IGNORECASE,
)
_COMMA = "a comma in place of the decimal point, so that no figure is read (set LC_ALL=C in the job): "


def with_wrong_lines(parsed: ParsedOutput, text: str) -> ParsedOutput:
    """Return what was read in a text, with a failure for each line that reports one or has a value that is not finite.

    Ports are not changed: a fabric's own tools have other words for errors.
    """
    if not parsed.tables and (parsed.fabric or parsed.hardware):
        return parsed
    whole = clean_text(text)  # here once, or each check below would do it again
    parsed = without_commented_rows(without_mixed_rows(parsed, whole), whole)
    parsed = without_unannounced_rows(without_lost_rows(without_absurd_numbers(parsed, whole)))
    if not ("," in whole or _names_nothing_finite(whole) or failure_lines.ROOT.search(whole)):
        return parsed  # most outputs: no line has to be looked at
    known = {failure.line for failure in parsed.failures}
    found = {
        number: said
        for number, line in enumerate(texts_of(whole), start=1)
        if (said := _wrong(line, number in known)) is not None
    }
    commas = next((number for number, said in found.items() if said.startswith(_COMMA)), 0)
    if not found:
        return parsed
    others = (failure for failure in parsed.failures if failure.line not in found)
    new = (Remark(number, said) for number, said in found.items())
    return replace(
        parsed,
        failures=tuple(sorted((*others, *new), key=lambda failure: (failure.line != commas, failure.line))),
        remarks=tuple(remark for remark in parsed.remarks if remark.line not in found),
    )


def _names_nothing_finite(text: str) -> bool:
    small = text.lower()  # to look for the words first is thirty times faster; other alphabets have more letters for i
    can = not text.isascii() or "nan" in small or "inf" in small
    return can and _NOT_FINITE.search(text) is not None


def _wrong(line: str, is_known: bool) -> str | None:
    """Return what is wrong according to a line; None if nothing is, or if it is a known failure for another reason."""
    if "," in line and len(line) <= _LONGEST and (_COMMA_ROW.match(line) or _COMMA_VALUE.match(line)):
        return f"{_COMMA}{line.strip()}"
    if len(line) <= _LONGEST and _NOT_FINITE.search(line) and ("=" in line or any(map(str.isdigit, line))):
        return f"not finite: {line.strip()}"
    return line.strip()[:LONGEST_NOTE] if not is_known and is_failure(line) else None


def without_absurd_numbers(parsed: ParsedOutput, text: str) -> ParsedOutput:
    """Return what was read without figures that no measurement gives, and with a failure for the line of each."""
    doubtful = [table for table in parsed.tables if not table.complete or _has_absurd(table)]
    lines = texts_of(clean_text(text)) if doubtful or _FAR_EXPONENT.search(text) else []
    # also rows that no parser took for one: "1e308   1000   57.71"
    found = {
        number: Remark(number, f"{what}: {line.strip()}")
        for number, line in enumerate(lines, start=1)
        if _FAR_EXPONENT.search(line) and (what := _absurd_in(line, False)) is not None
    }
    if not doubtful and not found:
        return parsed
    for table in doubtful:
        # the root of a collective without one is -1
        negative = any(
            _is_absurd(cell, unit) and isinstance(cell, int | float) and cell < 0 for cell, unit in _cells(table)
        )
        for number, line in enumerate(lines[table.line - 1 :], start=table.line):
            what = _absurd_in(line, negative) if number not in found else None
            if what is not None:
                found[number] = Remark(number, f"{what}: {line.strip()}")
    if not found and not any(map(_has_absurd, doubtful)):
        return parsed
    remarks = tuple(remark for remark in parsed.remarks if remark.line not in found)
    new = tuple(found.values()) or (Remark(doubtful[0].line, "a figure that no measurement gives"),)
    new = tuple(failure for failure in new if failure not in parsed.failures)
    return replace(
        parsed,
        tables=tuple(map(_drop_absurd, parsed.tables)),
        failures=tuple(sorted((*new, *parsed.failures), key=lambda failure: failure.line)),
        remarks=remarks,
    )


def _cells(table: Table) -> list[tuple[Cell, str | None]]:
    return [pair for row in table.rows for pair in zip(row, table.units, strict=True)]


def _has_absurd(table: Table) -> bool:
    columns = zip(table.units, zip(*table.rows, strict=True), strict=False)  # none without a row
    return any(not _is_plain(cells) and any(_is_absurd(cell, unit) for cell in cells) for unit, cells in columns)


def _is_plain(cells: tuple[Cell, ...]) -> bool:
    """Return whether the smallest and the largest cell show that none is absurd: nearly always, and ten times faster.

    False says nothing.
    """
    if not {*map(type, cells)} <= {int, float}:
        return False
    numbers = [cell for cell in cells if cell is not None]
    # in a sum, a NaN remains; smallest and largest could miss it
    return min(numbers) >= _SMALLEST and max(numbers) <= _LARGEST_PRINTED and math.isfinite(sum(numbers))


def _is_absurd(cell: Cell, unit: str | None) -> bool:
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return False
    if isinstance(cell, float) and not math.isfinite(cell):
        return True
    most = _LARGEST_PRINTED if unit == "B" else _LARGEST
    return unit in _MEASURED and (cell < 0 or cell > most or 0 < cell < _SMALLEST)


def _absurd_in(line: str, negative: bool) -> str | None:
    """Return what is wrong with the first such number of a row, in words; None if each can be, or for other lines."""
    words = line.split() if len(line) <= _LONGEST else []
    named = _NAMED.fullmatch(line) if words else None
    if named is not None:
        words = [named["figure"]]
    if 2 * sum(_NUMBER.fullmatch(word) is not None for word in words) < max(1, len(words)):
        return None
    for found in _NUMBER.finditer(line):
        value = float(found["number"])
        if not math.isfinite(value):
            return "not finite"
        if abs(value) > _LARGEST_PRINTED or 0 < abs(value) < _SMALLEST:
            return "beyond any measurement"
        if value < 0 and negative:
            return "below 0"
    return None


def _drop_absurd(table: Table) -> Table:
    """Return a table whose absurd cells are empty; it is incomplete if it had one."""
    rows = tuple(
        tuple(None if _is_absurd(cell, unit) else cell for cell, unit in zip(row, table.units, strict=True))
        for row in table.rows
    )
    return table if rows == table.rows else replace(table, rows=rows, complete=False)
