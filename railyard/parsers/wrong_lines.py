"""Lines that say that something went wrong, in the output of any tool: each is a failure, whichever parser reads it.

A parser knows its tool's lines by their beginnings, and may take a library's message for one of them. A parser that
accepts only numbers in a row skips any other row, and the table looks whole without it.
"""

import re
from dataclasses import replace

from railyard.parsers import failure_lines
from railyard.parsers.absurd_numbers import without_absurd_numbers
from railyard.parsers.commented_rows import without_commented_rows
from railyard.parsers.lines import LONGEST_NOTE, clean_text, is_failure, texts_of
from railyard.parsers.mixed_rows import without_mixed_rows
from railyard.parsers.parsed import Parsed, Remark
from railyard.parsers.unread_rows import without_lost_rows, without_unannounced_rows

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


def with_wrong_lines(parsed: Parsed, text: str) -> Parsed:
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
