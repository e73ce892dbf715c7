"""Rows of a table that someone commented out: a table without its slow rows would look whole.

Most parsers skip a line that begins with "#", since the tools print headings so. A line that begins with a comment mark
and is a row otherwise is none of the tools' own lines. It is a row if it has the form of another row of the text, or if
its parser reads more figures without the mark. Figures without decimals ("# 8 1234") are a row if the next line above
or below that is not such a line is a row of as many numbers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from railyard.base.clean_text import one_line
from railyard.parsers import PARSERS
from railyard.parsers.broken_lines import count_cells, rows_of
from railyard.parsers.lines import clean_text, texts_of
from railyard.parsers.output import ParsedOutput, ParseError, Remark

#: Tools whose rows are below a heading: what is above the first one is none of them.
_WITH_HEADING = frozenset({"osu", "imb", "perftest", "nccl"})
_LONGEST = 400  # no row is longer
_SHOWN = 160  # characters of it
_MOST_READ = 12  # lines that are tried without their marks, since each try reads the text again
_LONGEST_READ = 300_000  # characters of a text in which this is done
_MARK = r"(?:[ \t]{0,40}(?:[#%;!]|//|--|/\*|<!--|[Rr][Ee][Mm](?=[ \t]))){1,8}[ \t]{0,40}"
# It begins at a newline, so that most texts cost one pass. The tools' own headings may have
# such a figure, as "# Avg bus bandwidth    : 12.5" of NCCL's tests and "#bytes #iterations … 99.9% percentile" have.
_OWN = r"(?!Avg bus bandwidth |nccl-tests version |Intel\(R\) MPI Benchmarks |bytes #iterations )"
_CANDIDATE = re.compile(rf"\n{_MARK}{_OWN}(?=[^\n]{{0,{_LONGEST}}}[ \t=|(:][0-9]{{1,15}}\.[0-9])[\w\[|(]")
# Whole numbers only, which ranks of groups in IMB's heads are, too.
_WHOLE_NUMBERS = re.compile(
    rf"\n{_MARK}(?P<row>[0-9]{{1,15}}(?:[ \t]{{1,40}}[0-9]{{1,15}}){{1,30}})[ \t]{{0,40}}(?=\n|\Z)"
)
_BEFORE_ROW = re.compile(_MARK)
# What closes the comment, or a note behind the row: "# 1048576  2884.24  # slow"
_AFTER_ROW = re.compile(r"[ \t]{1,40}(?:(?:\*/|-->)[ \t]{0,40}|(?:#|//).{0,200})\Z")
# 4096   11.25   1.7e+02   64k, =10 and 0.00s of fabtests   4096l of IMB-MT
_FIGURE = re.compile(
    r"=?[0-9]{1,24}(?P<decimals>\.[0-9]{1,24})?(?:e[+-]?[0-9]{1,3})?(?:[kmgtsbl](?![a-z]))?", re.IGNORECASE
)
_CHECKED = re.compile(r"\b(?:pass(?:ed)?|fail(?:ed)?|skipped)\b", re.IGNORECASE)


def without_commented_rows(parsed: ParsedOutput, text: str) -> ParsedOutput:
    """Return what was read, with a failure for each row that is commented out, and the tables above as incomplete."""
    whole = clean_text(text)
    has_decimals = _CANDIDATE.search(whole) is not None
    if not parsed.tables or not (has_decimals or _WHOLE_NUMBERS.search(whole)):
        return parsed
    lines_of_text = texts_of(whole)
    found = list(_commented_rows(parsed, lines_of_text)) if has_decimals else []
    found += _of_whole_numbers(lines_of_text)
    begins = sorted(table.line for table in parsed.tables)
    if all(table.tool in _WITH_HEADING for table in parsed.tables):
        found = [failure for failure in found if failure.line > begins[0]]
    if not found:
        return parsed
    lines = {failure.line for failure in found}
    spoiled = {max((begin for begin in begins if begin < line), default=begins[0]) for line in lines}
    others = (failure for failure in parsed.failures if failure.line not in lines)
    return replace(
        parsed,
        tables=tuple(replace(table, complete=False) if table.line in spoiled else table for table in parsed.tables),
        failures=tuple(sorted((*others, *found), key=lambda failure: failure.line)),
        remarks=tuple(remark for remark in parsed.remarks if remark.line not in lines),
    )


def _commented_rows(parsed: ParsedOutput, lines: Sequence[str]) -> Iterator[Remark]:
    """Yield a failure for each line that is a row behind a comment mark."""
    notes = {note.line for note in (*parsed.remarks, *parsed.failures)}
    marks = {number: mark for number, line in enumerate(lines, start=1) if (mark := _mark(line))}
    bare = {number: _AFTER_ROW.sub("", lines[number - 1][mark:]) for number, mark in marks.items()}
    widths = {len(row.split()) for row in bare.values()}
    others = notes | marks.keys()
    rows = (line for number, line in enumerate(lines, start=1) if number not in others and len(line.split()) in widths)
    forms = {_form(row) for row in rows if len(row) <= _LONGEST} - {None}
    doubtful: dict[str, int] = {}  # the first line of each form, since all of one form are rows, or none
    for number, row in bare.items():
        if _form(row) in forms:
            yield _failure(number, lines[number - 1])
        else:
            doubtful.setdefault(_FIGURE.sub("0", lines[number - 1]), number)
    if sum(map(len, lines)) <= _LONGEST_READ:
        tried = list(doubtful.values())[:_MOST_READ]
        yield from _read_without(parsed, lines, {number: marks[number] for number in tried})


def _of_whole_numbers(lines: Sequence[str]) -> list[Remark]:
    """Return a failure for each commented line of whole numbers that is among rows of as many numbers."""
    marked = {
        number: len(found["row"].split())
        for number, line in enumerate(lines, start=1)
        if len(line) <= _LONGEST and (found := _WHOLE_NUMBERS.fullmatch(f"\n{line}"))
    }

    def is_row_beside(number: int, step: int) -> bool:
        width, place = marked[number], number + step
        while place in marked:
            place += step
        words = lines[place - 1].split() if 1 <= place <= len(lines) and len(lines[place - 1]) <= _LONGEST else []
        return len(words) == width and all(_FIGURE.fullmatch(word) for word in words)

    return [
        _failure(number, lines[number - 1])
        for number in marked
        if is_row_beside(number, -1) or is_row_beside(number, 1)
    ]


def _read_without(parsed: ParsedOutput, lines: Sequence[str], marks: dict[int, int]) -> Iterator[Remark]:
    """Yield a failure for each line without whose mark its parser reads more figures."""
    tools = {table.tool for table in parsed.tables} & set(PARSERS)
    if len(tools) != 1:
        return
    (tool,) = tools
    known = count_cells(rows_of(PARSERS[tool]("\n".join(lines)))) if marks else 0
    for number, mark in marks.items():
        row = _AFTER_ROW.sub("", lines[number - 1][mark:])
        try:
            other = PARSERS[tool]("\n".join((*lines[: number - 1], row, *lines[number:])))
        except ParseError:
            continue
        if count_cells(rows_of(other)) > known:
            yield _failure(number, lines[number - 1])


def _mark(line: str) -> int:
    """Return how long the comment mark of a line is that has a figure behind it; 0 if it has none."""
    found = _BEFORE_ROW.match(line) if len(line) <= _LONGEST else None
    return found.end() if found and _CANDIDATE.match(f"\n{line}") else 0


def _form(row: str) -> str | None:
    """Return the words of a row with the same figure in place of each; None for a line without one with a point."""
    kinds = [_CHECKED.sub("Pass", _FIGURE.sub(_kind, word)) for word in row.split()]
    return " ".join(kinds) if len(kinds) > 1 and any("0.0" in kind for kind in kinds) else None


def _kind(found: re.Match[str]) -> str:
    return "0" if found["decimals"] is None else "0.0"


def _failure(number: int, line: str) -> Remark:
    shown = one_line(" ".join(line.split()))[:_SHOWN]
    return Remark(number, f'a row that is commented out: found "{shown}", expected it without the mark')
