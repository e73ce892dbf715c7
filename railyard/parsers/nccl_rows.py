"""The rows of one table of nccl-tests: words -> cells, even if another line is inside a row.

A row is printed in three pieces: what is measured, the first half, the second half. Another process, or NCCL's log, may
print between them. Each column ends where its heading ends, so a piece can be told from what is glued to it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from railyard.parsers.lines import Line, not_a_number, number
from railyard.parsers.nccl_run import Row
from railyard.parsers.nccl_words import Column, Heading
from railyard.parsers.output import Cell

_TYPE = re.compile(r"[a-z][a-z0-9_]{1,15}")
_REDOP = re.compile(r"[a-z][a-z0-9_]{1,15}")
_ROOT = re.compile(r"-1|[0-9]{1,8}")
_NOTHING = "N/A"
_TIMESTAMP_WORDS = 2  # date and time of day
_NARROWEST = 10  # characters of the column "count", unless someone took the blanks away


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a row: its size, count, type, operation and root, and the figures so far.

    ``goes_on``: it ends where a piece of a row ends, and the rest may follow on another line.
    """

    line: int
    lead: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    goes_on: bool = False


def row_of(heading: Heading, line: Line, before: Cut | None) -> Row | Cut | None:
    """Return the row that a line is or ends, the beginning of a row, or None for any other line.

    A line that continues the row before it and does not end it gives that row's beginning again, with more figures.
    """
    words = line.words
    if not words:
        return None
    whole = _whole_row(heading, line, words) if line.ended else None
    if whole is not None:
        return whole
    if before is not None and before.goes_on and line.ended:
        joined = (*before.figures, *words)
        ended = _row(heading, before.line, before.lead, joined)
        if ended is not None:
            return ended
        if len(joined) == heading.half and all(map(_is_figure, heading.columns, joined)):
            return replace(before, figures=joined)
    return (_first_half(heading, line, words) if line.ended else None) or _beginning(heading, line, words)


def _first_half(heading: Heading, line: Line, words: list[str]) -> Cut | None:
    """Return the beginning of a row that ends after its first half, even if a figure is wider than its column."""
    lead = _lead(heading, words)
    figures = words[len(_lead_columns(lead)) :] if lead is not None else []
    if lead is None or len(figures) != heading.half or not all(map(_is_figure, heading.columns, figures)):
        return None
    if heading.half == len(heading.columns) or heading.ends[1] - heading.ends[0] < _NARROWEST:
        return None
    place = line.text.index(figures[0], len(" ".join(_lead_columns(lead))))
    starts_first = place < heading.ends[_count_leading(heading)] + heading.shift(line.text)
    return Cut(line.number, lead, tuple(figures), goes_on=True) if starts_first else None


def half_of(heading: Heading, part: Cut) -> Row | None:
    """Return the row of a beginning that has the first half and nothing else; None for any other beginning."""
    if not part.lead or len(part.figures) != heading.half:
        return None
    return _row(heading, part.line, part.lead, (*part.figures, *("" for _ in heading.columns[heading.half :])))


def _whole_row(heading: Heading, line: Line, words: list[str]) -> Row | None:
    """Return the row of a line that has a whole row."""
    lead = _lead(heading, words)
    if lead is None:
        return None
    after = sum(_TIMESTAMP_WORDS if name == "timestamp" else 1 for name in heading.after)
    figures = words[len(_lead_columns(lead)) :]
    figures, rest = figures[: len(figures) - after], tuple(figures[len(figures) - after :])
    if len(figures) == len(heading.columns) - heading.half and heading.half < len(heading.columns):
        # out of place was not measured: its columns are blank
        shift = heading.shift(line.text)
        left, right = (
            heading.ends[_count_leading(heading) - 1],
            heading.ends[_count_leading(heading) + heading.half - 1],
        )
        if not line.text[left + shift : right + shift].strip():
            figures = [*("" for _ in range(heading.half)), *figures]
    return _row(heading, line.number, lead, tuple(figures), rest)


def _lead(heading: Heading, words: list[str]) -> tuple[str, ...] | None:
    """Return size, count, type, operation and root ("" for a blank one); None for any other line."""
    if len(words) < 3 or not (words[0].isdecimal() and words[1].isdecimal() and _TYPE.fullmatch(words[2])):
        return None
    if len(words[0]) > 20 or len(words[1]) > 20 or not (words[0] + words[1]).isascii():
        return None
    redop = root = ""
    following = words[3:5]
    if "redop" in heading.texts and following and _REDOP.fullmatch(following[0]):
        redop = following.pop(0)
    has_root = "root" in heading.texts
    if has_root and following and _ROOT.fullmatch(following[0]):
        root = following[0]
    if has_root and not root:
        return None
    return words[0], words[1], words[2], redop, root


def _lead_columns(lead: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in lead if word)


def _count_leading(heading: Heading) -> int:
    """Return how many columns are before the figures."""
    return 2 + len(heading.texts)


def _beginning(heading: Heading, line: Line, words: list[str]) -> Cut | None:
    """Return the row that begins in a line and does not end in it; None for any other line."""
    shift = heading.shift(line.text)
    ends = [max(0, end + shift) for end in heading.ends]
    pieces = [line.text[left:right].strip() for left, right in zip((0, *ends), ends, strict=False)]
    lead = _lead(heading, [piece for piece in pieces[: _count_leading(heading)] if piece])
    if lead is None or " " in "".join(lead):
        # does not end where a column ends: it may still be half of a row
        is_half = _lead(heading, words) is not None or (len(words) == 1 and words[0].isdecimal() and not line.ended)
        return Cut(line.number) if is_half else None
    figures = pieces[_count_leading(heading) :]
    there = next((place for place, word in enumerate(figures) if not _is_figure(heading.columns[place], word)), None)
    there = len(figures) if there is None else there
    there -= there % heading.half
    return Cut(line.number, lead, tuple(figures[:there]), goes_on=True)


def _values(heading: Heading, words: Sequence[str]) -> list[int | float | None] | None:
    """Return the numbers of a row's figures, with None for NaN and the like; None if a word is not a figure at all."""
    found: list[int | float | None] = []
    for column, word in zip(heading.columns, words, strict=True):
        value = number(word) if word else None
        if word and value is None and not _is_figure(column, word):
            return None
        found.append(value)
    return found


def _is_figure(column: Column, word: str) -> bool:
    if column.name.startswith("error"):
        word = word.removesuffix("*")  # rccl-tests up to 2022: above its bound
    return bool(word) and (number(word) is not None or not_a_number(word) or word == _NOTHING)


def _row(
    heading: Heading, line: int, lead: tuple[str, ...], words: tuple[str, ...], after: tuple[str, ...] = ()
) -> Row | None:
    """Return the row of these words; None if one of them is not a figure."""
    values = _values(heading, words) if len(words) == len(heading.columns) else None
    if values is None:
        return None
    cells: list[Cell] = []
    wrong: list[str] = []
    for column, word, value in zip(heading.columns, words, values, strict=True):
        if value is None:
            if word.endswith("*"):
                value = number(word[:-1])
                wrong.append(f"wrong results: error {word} at {lead[0]} B is above its bound")
            elif not_a_number(word):
                wrong.append(f"not finite: {column.name} {word} at {lead[0]} B")
        elif value < 0:
            wrong.append(f"below 0: {column.name} {word} at {lead[0]} B")
        elif value and column.name.startswith("wrong"):
            wrong.append(f"wrong results: {word} wrong elements at {lead[0]} B")
            value = int(value) if value == int(value) else value
        counted = column.unit is None and not column.name.startswith("error")
        cells.append(value if value is None or counted else float(value) * column.factor)
    plain = tuple(word.removesuffix("*") for word in words)
    kind = (lead[2], lead[3], lead[4])
    return Row(line, int(lead[0]), int(lead[1]), kind, tuple(cells), plain, after, tuple(wrong))
