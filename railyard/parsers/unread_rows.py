"""Rows of figures that no parser read: what a text without a table says about them, and which are lost in a table.

A parser takes only words that are numbers, and a line that it does not take is a remark. So a table would end before
the first row whose figure is marked, missing or overflowed, and the sizes that decide would not be judged.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from railyard.base.clean_text import one_line
from railyard.base.wording import count_of
from railyard.parsers.lines import PREFIX_BYTES, number
from railyard.parsers.output import ParsedOutput, Remark, Table

#: How a parser names a heading that no row of its form follows.
NO_ROW = re.compile(r"^a (?:heading|title|box) without any row\b")
#: A row: a number first, at least one more, and fewer words than numbers beside them ("8  1000  1.23 us").
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:[.,][0-9]{1,15})?(?:[eE][+-]?[0-9]{1,3})?")
#: A row of a spreadsheet: "65536,11499.25" or "65536;11499,25".
_SEPARATED = re.compile(r"[0-9]{1,18}[ \t]?[,;][ \t]?[0-9][0-9.,;+eE \t-]{0,300}")
_SEPARATOR = re.compile(r"[,;]")
_LONGEST = 400
_MOST_SHOWN = 60
#: A row with figures of 400 digits is longer than any other.
_LONGEST_LOST = 1000
_LONGEST_ROW = 160  # characters of it that are shown
# "65536", "64K", and "4096l" of IMB-MT; "**65536**", "<b>65536</b>" and "65,536" in a row that someone formatted
_SIZE = re.compile(
    r"(?:<\w{1,9}>|[*_~(\[|]{1,3})?(?P<digits>[0-9]{1,3}(?:[,'_][0-9]{3}){1,5}|[0-9]{1,18})(?P<prefix>[KkMmGg]?)(?:i?B|l)?"
    r"(?![\w.:-])\S{0,12}"
)
# What tells why no row was read: a word of "1  2.50  2,500,000.00", and a row as "8 & 1.20".
_IN_THOUSANDS = re.compile(r"[0-9]{1,3}(?:[,'_][0-9]{3}){1,5}(?:\.[0-9]{1,15})?")
_LATEX = re.compile(r"(?:\\\w{1,20}\s{0,9}){0,3}[0-9][0-9.,]{0,20}\s{0,20}&\s{0,20}[0-9][^\n]{0,200}")
_NO_ROW_READ = "so that no row is read (paste the output as its tool prints it)"
_ROW_BEGINS = frozenset("0123456789<*_~([|>!-=+?#∞")
# In place of a size: "-4194304", "0x1F", "********", "∞", or more digits than a size has.
_NO_SIZE = re.compile(r"-[0-9]{1,400}|[0-9]{19,400}|0[xX][0-9A-Fa-f]{1,20}|[-*?#]{2,40}|[-+]?∞")
# "  5) gcc/13.2.0   11) cuda/12.4" of `module list`, whose first number is no size
_LISTED = re.compile(r"[0-9]{1,4}\)[ \t]{1,20}[A-Za-z]")
#: Tools that print figures without a heading while they run.
_PRINT_PROGRESS = frozenset({"hpl", "hpcc"})
# What someone wrote in front of a row, a word of its own.
_MARK = re.compile(r"[^\w\s#]{1,8}")
# What is in place of a figure: "-", "N/A", "******". Any other has a digit, and is no time of day.
_NO_FIGURE = re.compile(
    r"[-*?.#~x_\u2013\u2014]{1,40}|n\.?/?a\.?|none|null|err(?:or)?|slow|bad|failed|fail|missing|overflow|unknown",
    re.IGNORECASE,
)
_HAS_DIGIT = re.compile(r"(?=.*[0-9])[^:@=]*")
_CHECKED = re.compile(r"pass(?:ed)?|fail(?:ed)?|skipped", re.IGNORECASE)


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
