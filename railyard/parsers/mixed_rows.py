"""Texts in which the lines of two outputs are mixed: two jobs, or two processes of one, wrote into the same file.

A table of these tools has its sizes in rising order, each once, and rows of one width. So a size that does not rise,
or a row that the parser left over, is of another output. The rows that were read may then be of both: none is used.
Outputs one after the other are not mixed, since each has its heading.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from railyard.base.wording import counted, message_size
from railyard.parsers.lines import cleaned, number, texts_of
from railyard.parsers.parsed import Parsed, Remark, Table
from railyard.parsers.unread_rows import NO_ROW

#: NCCL's tests, NetPIPE and others have signs of their own, or sizes that need not rise.
_TOOLS = frozenset({"osu", "imb", "perftest", "fabtests"})
_LONGEST = 400  # no row of these tools is longer
# "# Size      Bandwidth (MB/s)"   |   "#bytes #repetitions …"   |   "bytes   #sent …"
_HEADING = re.compile(r"\s*#?\s*(?:size|bytes)\b", re.IGNORECASE)
# 4096   4096l of IMB-MT   64k and 1.5k of fabtests
_SIZE = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,3}(?=[kmg]))?)(?P<prefix>[kmg]?)l?")
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# 0.00s and =10k of fabtests, and the marks of a validation
_OTHER_WORD = re.compile(r"=?[0-9.]{1,20}[kmgtbs]|=[0-9]{1,15}|pass(?:ed)?|fail(?:ed)?|skipped", re.IGNORECASE)
_FAILED = re.compile(r"\bfail(?:ed)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Row:
    """A line with the form of a row: its number, its text, its size in bytes and its number of words."""

    line: int
    text: str
    size: int
    width: int


def without_mixed_rows(parsed: Parsed, text: str) -> Parsed:
    """Return what was read of a text, or a failure without any table if lines of two outputs are mixed in it."""
    if not {table.tool for table in parsed.tables} & _TOOLS:
        return parsed
    # A row whose own validation failed is a failure, and no row of another output.
    noted = [note for note in (*parsed.failures, *parsed.remarks) if not _FAILED.search(note.text)]
    notes = [note for note in noted if _row(note.line, note.text) is not None]
    if not notes and all(map(_rises, parsed.tables)):
        return parsed  # most outputs: no line has to be looked at
    failure = next(_mixed(parsed, text, {note.line for note in notes}), None)
    if failure is None:
        return parsed
    # a heading without rows is a consequence
    rest = (each for each in parsed.failures if each.line != failure.line and not NO_ROW.match(each.text))
    return Parsed((), (failure, *rest), parsed.remarks)


def _rises(table: Table) -> bool:
    """Return whether the sizes of a table rise, or are not known; perftest repeats one size without end if asked to."""
    sizes = table.column("size") if table.tool in _TOOLS and {"size", "group"} & {*table.columns} == {"size"} else ()
    known = [size for size in sizes if isinstance(size, int)]
    repeats = table.tool == "perftest" and len({*known}) == 1
    return repeats or "sl" in table.columns or all(before < after for before, after in pairwise(known))


def _mixed(parsed: Parsed, text: str, left: set[int]) -> Iterator[Remark]:
    """Yield a failure for each row of another output; ``left``: rows that the parser left over."""
    doubtful = [table.line for table in parsed.tables if not _rises(table)]
    begins = sorted(table.line for table in parsed.tables)
    widths = {len(table.columns) for table in parsed.tables}
    before: _Row | None = None
    for line, said in enumerate(texts_of(cleaned(text)), start=1):
        if _HEADING.match(said):
            before = None
        row = _row(line, said) if line > begins[0] else None
        if row is None:
            continue
        own = max(begin for begin in begins if begin < line)
        if before is not None and row.width == before.width and row.size <= before.size:
            if line in left or own in doubtful:
                yield _failure(row, f"after the row of {message_size(before.size)}, expected a larger size")
        elif line in left and (row.width in widths or row.width > max(widths)):
            words = "a heading" if before is None else f"a row of {counted(before.width, 'word')}"
            yield _failure(row, f"which no heading announces, expected {words}")
        before = before if line in left and before is not None else row


def _failure(row: _Row, what: str) -> Remark:
    shown = " ".join(row.text.split())
    return Remark(row.line, f"found {shown!r} {what}: lines of two outputs are mixed; give each a file of its own")


def _row(line: int, text: str) -> _Row | None:
    """Return the row that a line is: a size, then at least one value, one of them with a point; None for any other."""
    words = text.split() if len(text) <= _LONGEST else []
    size = _SIZE.fullmatch(words[0]) if len(words) > 1 else None
    if size is None or not any("." in word for word in words[1:]):
        return None
    if any(number(word) is None and not _OTHER_WORD.fullmatch(word) for word in words[1:]):
        return None
    return _Row(line, text, round(float(size["number"]) * _BYTES[size["prefix"]]), len(words))
