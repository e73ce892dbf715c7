"""Rows of figures that no parser read: what a text without a table says about them."""

import re

from railyard.base.clean_text import one_line
from railyard.base.wording import counted
from railyard.parsers.parsed import Parsed, Remark

#: How a parser names a heading that no row of its form follows.
NO_ROW = re.compile(r"^a (?:heading|title|box) without any row\b")
#: A row: a number first, at least one more, and fewer words than numbers beside them ("8  1000  1.23 us").
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:[.,][0-9]{1,15})?(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST = 400
_MOST_SHOWN = 60


def unread_rows(parsed: Parsed) -> str | None:
    """Return how many rows of figures are among the remarks of a text without a table, and why none was read.

    Return None if there is no such row, or if a table was read.
    """
    if parsed.tables or parsed.fabric or parsed.hardware:
        return None
    rows = [remark for remark in parsed.remarks if _is_row(remark)]
    if not rows:
        return None
    first = rows[0]
    heading = max(
        (each.line for each in parsed.failures if NO_ROW.match(each.text) and each.line < first.line), default=0
    )
    why = (
        f"they do not have the columns that the heading in line {heading} announces"
        if heading
        else "no heading above them says what they measure"
    )
    shown = one_line(first.text)
    shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[: _MOST_SHOWN - 3]}..."
    what = counted(len(rows), "line")
    is_are = "is" if len(rows) == 1 else "are"
    return f'{what} with figures {is_are} among the remarks, first line {first.line}, "{shown}", but {why}'


def _is_row(remark: Remark) -> bool:
    words = remark.text.split() if len(remark.text) <= _LONGEST else []
    numbers = [word for word in words if _NUMBER.fullmatch(word)]
    return len(numbers) >= 2 and words[0] in numbers and 2 * len(numbers) > len(words)
