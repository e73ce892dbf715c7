"""Texts whose lines were broken at a column, by a terminal, a mailer or ``fold``: their figures may be halves.

"1" at the end of a line and "5.64" in the next one are 15.64, but no parser can tell: each half is a number. Two things
show it. A line that no parser knows is the rest of a number, and the line before it ends with the first part. Or the
lines that fill the column, joined with those that follow, give at least as many rows, with other figures; in a whole
text such a join destroys rows. Then none of the figures is used.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from railyard.parsers.lines import cleaned, decimals
from railyard.parsers.parsed import Parsed, ParseError, Remark

#: Narrower columns break every line of every tool. Broader ones break no row.
_NARROWEST, _BROADEST = 16, 400
#: A prompt or a banner above the output may be longer than the column.
_MOST_LONGER, _MOST_COLUMNS = 3, 3
#: Longer outputs are files, which nobody copied out of a terminal.
_LONGEST = 300_000
_WHAT = "lines that are broken at column {}, so that figures may be halves (paste it without line breaks): {}"
# "458", ".87", "e+02", "5.64 Pass": what may be the rest of a number, at the beginning of a line
_REST = re.compile(r"\A(?P<rest>\.?[0-9]{1,24}(?:\.[0-9]{0,24})?(?:[eE][+-]?[0-9]{1,3})?|[eE][+-]?[0-9]{1,3})(?=\s|\Z)")
# "… 0.000", "1.7e+": what may be the first part of it, at the end of a line
_FIRST = re.compile(r"(?:\A|[\s=:])(?P<first>[+-]?[0-9]{1,24}(?:\.[0-9]{0,24})?(?:[eE][+-]?)?)\Z")
_NUMBER = re.compile(r"\A[+-]?[0-9]{1,48}(?:\.[0-9]{1,48})?(?:[eE][+-]?[0-9]{1,3})?\Z")
_DIGITS = "0123456789.eE+-"
_ROWS_BEFORE = 40  # lines that are looked at for a row of the same form


def without_broken_lines(parsed: Parsed, text: str, read: Callable[[str], Parsed]) -> Parsed:
    """Return what was read of a text, or a failure without any table if its lines were broken at a column."""
    found = broken_at(parsed, text, read)
    if found is None:
        return parsed
    column, number, line = found
    failure = Remark(number, _WHAT.format(column, line.strip()))
    rest = tuple(each for each in parsed.failures if each.line != number)
    return Parsed((), tuple(sorted((failure, *rest), key=lambda each: each.line)), parsed.remarks)


def refuse_broken_lines(error: ParseError, text: str, read: Callable[[str], Parsed]) -> ParseError:
    """Return the error of a text that no parser knows: a better one if it can be read with its lines joined."""
    found = broken_at(Parsed(), text, read)
    if found is None:
        return error
    column, number, line = found
    return ParseError(number, line, f"whole lines: they are broken at column {column}; paste it without line breaks")


def broken_at(parsed: Parsed, text: str, read: Callable[[str], Parsed]) -> tuple[int, int, str] | None:
    """Return the column at which the lines of a text were broken, and the first such line with its number; or None."""
    if len(text) > _LONGEST or parsed.fabric or parsed.hardware:
        return None
    lines = text.replace("\r\n", "\n").split("\n")  # with colours and tags: they fill the column, too
    if parsed.tables:
        plain = cleaned(text).split("\n")
        for number in _rests(parsed, plain):
            return len(plain[number - 1]), number, plain[number - 1]
    rows = _rows(parsed)
    for column in _columns(lines):
        if not _breaks_a_number(lines, column):
            continue
        joined, first = _joined(lines, column)
        try:
            other = _rows(read(joined))
        except ParseError:
            continue
        if other and other != rows and _cells(other) >= _cells(rows) and not (rows and set(rows) <= set(other)):
            return column, first, lines[first - 1]
    return None


def _rests(parsed: Parsed, lines: Sequence[str]) -> Iterator[int]:
    """Yield the number of each line whose last number goes on in the next line, which no parser knows."""
    for note in (*parsed.remarks, *parsed.failures):
        before = lines[note.line - 2] if 1 < note.line <= len(lines) else ""
        rest, first = _REST.match(lines[note.line - 1]) if before else None, _FIRST.search(before[-60:])
        if rest is None or first is None or not _NUMBER.match(first["first"] + rest["rest"]) or not _is_row(before):
            continue
        if not _is_whole(before, lines[max(0, note.line - 2 - _ROWS_BEFORE) : note.line - 2]):
            yield note.line - 1


def _is_row(line: str) -> bool:
    """Return whether at least a half of a line's words are numbers."""
    words = line.split()
    return 2 * sum(_NUMBER.match(word) is not None for word in words) >= len(words)


def _is_whole(line: str, before: Sequence[str]) -> bool:
    """Return whether a row above has as many words and, in its last number, as many decimals: nothing is missing."""
    words = line.split()
    return any(
        len(other) == len(words) and other[-1][-1:].isdigit() and decimals(other[-1]) == decimals(words[-1])
        for other in map(str.split, before)
        if other
    )


def _rows(parsed: Parsed) -> list[tuple[object, ...]]:
    return [row for table in parsed.tables for row in table.rows]


def _cells(rows: Sequence[tuple[object, ...]]) -> int:
    return sum(cell is not None for row in rows for cell in row)


def _columns(lines: Sequence[str]) -> list[int]:
    """Return the columns at which the lines may have been broken: the longest lengths, beyond which few lines go."""
    lengths = Counter(map(len, lines[:-1]))
    found, longer = list[int](), 0
    for length in sorted(lengths, reverse=True):
        if longer > _MOST_LONGER or length < _NARROWEST:
            break
        if length <= _BROADEST:
            found.append(length)
        longer += lengths[length]
    return found[:_MOST_COLUMNS]


def _breaks_a_number(lines: Sequence[str], column: int) -> bool:
    """Return whether a line of this length ends like a number and goes on in the next: a shorter line that begins like
    one, without a blank. (Rows of one length are whole.)
    """
    return any(
        len(line) == column
        and 0 < len(following) < column
        and line[-1] in _DIGITS
        and following[0] in _DIGITS
        and _FIRST.search(line[-60:]) is not None
        and _REST.match(following) is not None
        for line, following in pairwise(lines)
    )


def _goes_on(line: str, following: str) -> bool:
    """Return whether the next line may be the rest of this one: a rule goes on with its own sign alone."""
    return len({*line}) > 1 or {*following} == {*line}


def _joined(lines: Sequence[str], column: int) -> tuple[str, int]:
    """Return the text with each line of this length joined with the next one, and the number of the first of them."""
    made: list[str] = []
    first, is_open = 0, False
    for number, line in enumerate(lines, start=1):
        if is_open:
            made[-1] += line
        else:
            made.append(line)
        is_open = len(line) == column and number < len(lines) and _goes_on(line, lines[number])
        first = first or (number if is_open else 0)
    return "\n".join(made), max(first, 1)
