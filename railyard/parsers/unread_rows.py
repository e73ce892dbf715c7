"""Rows of figures that no parser read: what a text without a table says about them, and which are lost in a table.

A parser takes only words that are numbers, and a line that it does not take is a remark. So a table would end before
the first row whose figure is marked, missing or overflowed, and the sizes that decide would not be judged.

Nor would rows that someone commented out: a table without its slow rows would look whole. Most parsers skip a line that
begins with "#", since the tools print headings so. A line that begins with a comment mark and is a row otherwise is
none of the tools' own lines. It is a row if it has the form of another row of the text, or if its parser reads more
figures without the mark. Figures without decimals ("# 8 1234") are a row if the next line above or below that is not
such a line is a row of as many numbers.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from railyard.base.patterns import late_regex
from railyard.base.values import one_line
from railyard.base.wording import count_of
from railyard.parsers import PARSERS
from railyard.parsers.broken_lines import count_cells, rows_of
from railyard.parsers.lines import PREFIX_BYTES, clean_text, number, texts_of
from railyard.parsers.output import ParsedOutput, ParseError, Remark, Table

#: How a parser names a heading that no row of its form follows.
NO_ROW = late_regex(r"^a (?:heading|title|box) without any row\b")
#: A row: a number first, at least one more, and fewer words than numbers beside them ("8  1000  1.23 us").
_NUMBER = late_regex(r"[+-]?[0-9]{1,18}(?:[.,][0-9]{1,15})?(?:[eE][+-]?[0-9]{1,3})?")
#: A row of a spreadsheet: "65536,11499.25" or "65536;11499,25".
_SEPARATED = late_regex(r"[0-9]{1,18}[ \t]?[,;][ \t]?[0-9][0-9.,;+eE \t-]{0,300}")
_SEPARATOR = late_regex(r"[,;]")
_LONGEST = 400
_MOST_SHOWN = 60
#: A row with figures of 400 digits is longer than any other.
_LONGEST_LOST = 1000
_LONGEST_ROW = 160  # characters of it that are shown
# "65536", "64K", and "4096l" of IMB-MT; "**65536**", "<b>65536</b>" and "65,536" in a row that someone formatted
_SIZE = late_regex(
    r"(?:<\w{1,9}>|[*_~(\[|]{1,3})?(?P<digits>[0-9]{1,3}(?:[,'_][0-9]{3}){1,5}|[0-9]{1,18})(?P<prefix>[KkMmGg]?)(?:i?B|l)?"
    r"(?![\w.:-])\S{0,12}"
)
# What tells why no row was read: a word of "1  2.50  2,500,000.00", and a row as "8 & 1.20".
_IN_THOUSANDS = late_regex(r"[0-9]{1,3}(?:[,'_][0-9]{3}){1,5}(?:\.[0-9]{1,15})?")
_LATEX = late_regex(r"(?:\\\w{1,20}\s{0,9}){0,3}[0-9][0-9.,]{0,20}\s{0,20}&\s{0,20}[0-9][^\n]{0,200}")
_NO_ROW_READ = "so that no row is read (paste the output as its tool prints it)"
_ROW_BEGINS = frozenset("0123456789<*_~([|>!-=+?#∞")
# In place of a size: "-4194304", "0x1F", "********", "∞", or more digits than a size has.
_NO_SIZE = late_regex(r"-[0-9]{1,400}|[0-9]{19,400}|0[xX][0-9A-Fa-f]{1,20}|[-*?#]{2,40}|[-+]?∞")
# "  5) gcc/13.2.0   11) cuda/12.4" of `module list`, whose first number is no size
_LISTED = late_regex(r"[0-9]{1,4}\)[ \t]{1,20}[A-Za-z]")
#: Tools that print figures without a heading while they run.
_PRINT_PROGRESS = frozenset({"hpl", "hpcc"})
# What someone wrote in front of a row, a word of its own.
_MARK = late_regex(r"[^\w\s#]{1,8}")
# What is in place of a figure: "-", "N/A", "******". Any other has a digit, and is no time of day.
_NO_FIGURE = late_regex(
    r"[-*?.#~x_\u2013\u2014]{1,40}|n\.?/?a\.?|none|null|err(?:or)?|slow|bad|failed|fail|missing|overflow|unknown",
    re.IGNORECASE,
)
_HAS_DIGIT = late_regex(r"(?=.*[0-9])[^:@=]*")
_CHECKED = late_regex(r"pass(?:ed)?|fail(?:ed)?|skipped", re.IGNORECASE)
#: Tools whose rows are below a heading: what is above the first one is none of them.
_WITH_HEADING = frozenset({"osu", "imb", "perftest", "nccl"})
_SHOWN = 160  # characters of it
_MOST_READ = 12  # lines that are tried without their marks, since each try reads the text again
_LONGEST_READ = 300_000  # characters of a text in which this is done
_COMMENT_MARK = r"(?:[ \t]{0,40}(?:[#%;!]|//|--|/\*|<!--|[Rr][Ee][Mm](?=[ \t]))){1,8}[ \t]{0,40}"
# It begins at a newline, so that most texts cost one pass. The tools' own headings may have
# such a figure, as "# Avg bus bandwidth    : 12.5" of NCCL's tests and "#bytes #iterations … 99.9% percentile" have.
_OWN = r"(?!Avg bus bandwidth |nccl-tests version |Intel\(R\) MPI Benchmarks |bytes #iterations )"
_CANDIDATE = late_regex(rf"\n{_COMMENT_MARK}{_OWN}(?=[^\n]{{0,{_LONGEST}}}[ \t=|(:][0-9]{{1,15}}\.[0-9])[\w\[|(]")
# Whole numbers only, which ranks of groups in IMB's heads are, too.
_WHOLE_NUMBERS = late_regex(
    rf"\n{_COMMENT_MARK}(?P<row>[0-9]{{1,15}}(?:[ \t]{{1,40}}[0-9]{{1,15}}){{1,30}})[ \t]{{0,40}}(?=\n|\Z)"
)
_BEFORE_ROW = late_regex(_COMMENT_MARK)
# What closes the comment, or a note behind the row: "# 1048576  2884.24  # slow"
_AFTER_ROW = late_regex(r"[ \t]{1,40}(?:(?:\*/|-->)[ \t]{0,40}|(?:#|//).{0,200})\Z")
# 4096   11.25   1.7e+02   64k, =10 and 0.00s of fabtests   4096l of IMB-MT
_FIGURE = late_regex(
    r"=?[0-9]{1,24}(?P<decimals>\.[0-9]{1,24})?(?:e[+-]?[0-9]{1,3})?(?:[kmgtsbl](?![a-z]))?", re.IGNORECASE
)
_CHECK_WORD = late_regex(r"\b(?:pass(?:ed)?|fail(?:ed)?|skipped)\b", re.IGNORECASE)


def unread_rows(parsed: ParsedOutput) -> str | None:
    """Return how many rows of figures are among the remarks of a text without a table, and why none was read.

    Return None if there is no such row, if a table was read, or if a failure says it.
    """
    if parsed.tables or parsed.fabric or parsed.hardware or any(_NO_ROW_READ in each.text for each in parsed.failures):
        return None
    rows = [remark for remark in parsed.remarks if _is_row(remark)]
    if not rows:
        return None
    first = rows[0]
    heading = max(
        (each.line for each in parsed.failures if NO_ROW.match(each.text) and each.line < first.line), default=0
    )
    why = (
        "commas or semicolons separate them: paste the output as its tool prints it, with blanks"
        if _SEPARATED.fullmatch(first.text.strip()[:_LONGEST])
        else f"they do not have the columns that the heading in line {heading} announces"
        if heading
        else "no heading above them says what they measure"
    )
    shown = one_line(first.text)
    shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[: _MOST_SHOWN - 3]}..."
    what = count_of(len(rows), "line")
    is_are = "is" if len(rows) == 1 else "are"
    return f'{what} with figures {is_are} among the remarks, first line {first.line}, "{shown}", but {why}'


def _is_row(remark: Remark) -> bool:
    text = remark.text if len(remark.text) <= _LONGEST else ""
    words = (_SEPARATOR.sub(" ", text) if _SEPARATED.fullmatch(text.strip()) else text).split()
    numbers = [word for word in words if _NUMBER.fullmatch(word)]
    return len(numbers) >= 2 and words[0] in numbers and 2 * len(numbers) > len(words)


def without_unannounced_rows(parsed: ParsedOutput) -> ParsedOutput:
    """Return what was read, with a failure for the first of the rows beside its tables which no heading announces.

    Such a remark has three numbers or more, one of them with decimals, and no other word: a table whose heading is
    lost or commented out. HPL prints its own progress so.
    """
    if not parsed.tables or parsed.failures or any(table.tool in _PRINT_PROGRESS for table in parsed.tables):
        return parsed
    rows = [remark for remark in parsed.remarks if _is_bare_row(remark.text)]
    if not rows:
        return parsed
    shown = one_line(" ".join(rows[0].text.split()))[:_LONGEST_ROW]
    others = "" if len(rows) == 1 else f" (and {count_of(len(rows) - 1, 'line')} more)"
    what = f'a row which no heading announces: found "{shown}"{others}, expected its heading above it'
    return replace(parsed, failures=(Remark(rows[0].line, what),))


def _is_bare_row(text: str) -> bool:
    words = text.split() if len(text) <= _LONGEST else []
    begins = len(words) > 2 and words[0].isdecimal()  # with a size, unlike a load average
    return begins and any("." in word for word in words) and all(map(_NUMBER.fullmatch, words))


def without_lost_rows(parsed: ParsedOutput) -> ParsedOutput:
    """Return what was read, with a failure for each row of a table that was not, and these tables as incomplete.

    Such a line begins with a size that the table lacks, and has a word for each column; one is no number, or more
    words follow. Or its size is none, such as "-4194304".
    """
    parsed = _with_first_rows(parsed)
    tables = sorted((table for table in parsed.tables if "size" in table.columns), key=lambda table: table.line)
    lost = list(_lost_rows(tables, parsed.remarks)) if tables else []
    if not lost:
        return parsed
    begins, new = {table.line for table, _ in lost}, [failure for _, failure in lost]
    lines = {failure.line for failure in new}
    return replace(
        parsed,
        tables=tuple(replace(table, complete=False) if table.line in begins else table for table in parsed.tables),
        failures=tuple(sorted((*parsed.failures, *new), key=lambda failure: failure.line)),
        remarks=tuple(remark for remark in parsed.remarks if remark.line not in lines),
    )


def _with_first_rows(parsed: ParsedOutput) -> ParsedOutput:
    """Return what was read; a heading whose only rows have no size, or a form of their own, fails with the line of the
    first of them.
    """
    headings = [failure for failure in parsed.failures if NO_ROW.match(failure.text)]
    rows = [row for remark in parsed.remarks if (row := _unreadable(remark)) is not None] if headings else []
    if not rows:
        return parsed
    begins = sorted([*(table.line for table in parsed.tables), *(failure.line for failure in parsed.failures)])
    found = dict[Remark, Remark]()
    for heading in headings:
        end = next((line for line in begins if line > heading.line), rows[-1].line + 1)
        below = [row for row in rows if heading.line < row.line < end]
        if below:
            found[heading] = below[0]
    lines = {failure.line for failure in found.values()}
    return replace(
        parsed,
        failures=tuple(found.get(failure, failure) for failure in parsed.failures),
        remarks=tuple(remark for remark in parsed.remarks if remark.line not in lines),
    )


def _has_no_size(words: Sequence[str], place: int = 0) -> bool:
    """Return whether a line is a row with something else in place of its size, which is the word at ``place``."""
    if len(words) < 2 or _NO_SIZE.fullmatch(words[place]) is None:
        return False
    others = [word for word in (*words[:place], *words[place + 1 :]) if not _CHECKED.fullmatch(word)]
    return any("." in word for word in others) and all(number(word) is not None for word in others)


def _expected_size(found: str) -> str:
    return f'a size, such as 65536, in place of "{one_line(found)[:_MOST_SHOWN]}"'


def _unread_row(line: int, words: Sequence[str], what: str) -> Remark:
    shown = one_line(" ".join(words))
    shown = shown if len(shown) <= _LONGEST_ROW else f"{shown[: _LONGEST_ROW - 3]}..."
    return Remark(line, f'a row that cannot be read: found "{shown}", expected {what}')


def _unreadable(remark: Remark) -> Remark | None:
    """Return the failure of a row without a size, or with separators of thousands or of LaTeX; None for others."""
    text = remark.text[:_LONGEST].strip()
    words = text.split()
    if _has_no_size(words):
        return _unread_row(remark.line, words, _expected_size(words[0]))
    numbers = [word for word in words if _IN_THOUSANDS.fullmatch(word) or _NUMBER.fullmatch(word)]
    if len(words) == len(numbers) > 1 and any(map(_IN_THOUSANDS.fullmatch, words)):
        form = "separators of thousands"
    elif _LATEX.fullmatch(text):
        form = "rows of LaTeX (&)"
    else:
        return None
    return Remark(remark.line, f"{form}, {_NO_ROW_READ}: {one_line(' '.join(words))[:_LONGEST_ROW]}")


def _lost_rows(tables: Sequence[Table], remarks: Sequence[Remark]) -> Iterator[tuple[Table, Remark]]:
    """Yield each remark that is a row of the table above it, with that table and a sentence; tables by their lines."""
    rows = [remark for remark in remarks if remark.text[:1] in _ROW_BEGINS and len(remark.text) <= _LONGEST_LOST]
    if not rows:
        return
    begins = [table.line for table in tables]
    sizes = [frozenset(size for size in table.column("size") if isinstance(size, int)) for table in tables]
    for line, text in rows:
        if _LISTED.match(text):
            continue
        place = bisect_left(begins, line) - 1
        words = text.split()
        what = _wrong_word(words, tables[place], sizes[place]) if place >= 0 else None
        if what is not None:
            yield tables[place], _unread_row(line, words, what)


def _wrong_word(words: Sequence[str], table: Table, sizes: frozenset[int]) -> str | None:
    """Return what was expected in place of the first word that is no figure; None for a line that is no row."""
    marked = len(words) > 1 and _MARK.fullmatch(words[0]) is not None
    row, width = words[marked:], len(table.columns)
    place = table.columns.index("size")
    if len(words) == width and _has_no_size(words, place):
        return _expected_size(words[place])
    if len(row) < max(width, 2) or not _is_lacking(row[place], sizes):
        return None
    is_checked = "validation" in table.columns
    wrong = [word for word in row[:width] if number(word) is None and not (is_checked and _CHECKED.fullmatch(word))]
    strange = [word for word in wrong if not (_NO_FIGURE.fullmatch(word) or _HAS_DIGIT.fullmatch(word))]
    beside = words[0] if marked else row[width] if len(row) > width else None
    # "8388608 2 processes" and "8388608 bytes in 5 s" are prose: one other word at most, and a figure with decimals
    has_figure = any("." in word for word in row[1:width] if word not in strange)
    if len(strange) > (beside is None) or ((strange or (beside and not wrong)) and not has_figure):
        return None
    others = [*wrong, *([beside] if beside else [])]
    if _size(row[place]) < min(sizes) and not _is_above(row[place], others):
        return None
    if wrong:
        return f'plain numbers, such as 1234.56, in place of "{one_line(wrong[0])[:_MOST_SHOWN]}"'
    return None if beside is None else f'{count_of(width, "word")} without "{one_line(beside)[:_MOST_SHOWN]}"'


def _is_above(size: str, others: Sequence[str]) -> bool:
    """Return whether a line above a table's smallest size is a row of it, though a text has prose of any kind there.

    Its words that are no figures must be marks ("***", "N/A", "<--") or begin as a number does ("1.3O"). "[0]" is no
    size but a rank.
    """
    is_size = size[-1] not in ")]"
    return is_size and all(
        _NO_FIGURE.fullmatch(word) or not (word[0].isalpha() or number(word) is not None) for word in others
    )


def _is_lacking(word: str, sizes: frozenset[int]) -> bool:
    """Return whether a word is a size that a table of these sizes lacks."""
    return bool(sizes) and _SIZE.fullmatch(word) is not None and _size(word) not in sizes


def _size(word: str) -> int:
    found = _SIZE.fullmatch(word)
    return int(re.sub(r"[,'_]", "", found["digits"])) * PREFIX_BYTES[found["prefix"].lower()] if found else -1


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
    marks = {place: mark for place, line in enumerate(lines, start=1) if (mark := _mark(line))}
    bare = {place: _AFTER_ROW.sub("", lines[place - 1][mark:]) for place, mark in marks.items()}
    widths = {len(row.split()) for row in bare.values()}
    others = notes | marks.keys()
    rows = (line for place, line in enumerate(lines, start=1) if place not in others and len(line.split()) in widths)
    forms = {_form(row) for row in rows if len(row) <= _LONGEST} - {None}
    doubtful: dict[str, int] = {}  # the first line of each form, since all of one form are rows, or none
    for place, row in bare.items():
        if _form(row) in forms:
            yield _failure(place, lines[place - 1])
        else:
            doubtful.setdefault(_FIGURE.sub("0", lines[place - 1]), place)
    if sum(map(len, lines)) <= _LONGEST_READ:
        tried = list(doubtful.values())[:_MOST_READ]
        yield from _read_without(parsed, lines, {place: marks[place] for place in tried})


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
    for place, mark in marks.items():
        row = _AFTER_ROW.sub("", lines[place - 1][mark:])
        try:
            other = PARSERS[tool]("\n".join((*lines[: place - 1], row, *lines[place:])))
        except ParseError:
            continue
        if count_cells(rows_of(other)) > known:
            yield _failure(place, lines[place - 1])


def _mark(line: str) -> int:
    """Return how long the comment mark of a line is that has a figure behind it; 0 if it has none."""
    found = _BEFORE_ROW.match(line) if len(line) <= _LONGEST else None
    return found.end() if found and _CANDIDATE.match(f"\n{line}") else 0


def _form(row: str) -> str | None:
    """Return the words of a row with the same figure in place of each; None for a line without one with a point."""
    kinds = [_CHECK_WORD.sub("Pass", _FIGURE.sub(_kind, word)) for word in row.split()]
    return " ".join(kinds) if len(kinds) > 1 and any("0.0" in kind for kind in kinds) else None


def _kind(found: re.Match[str]) -> str:
    return "0" if found["decimals"] is None else "0.0"


def _failure(number: int, line: str) -> Remark:
    shown = one_line(" ".join(line.split()))[:_SHOWN]
    return Remark(number, f'a row that is commented out: found "{shown}", expected it without the mark')
