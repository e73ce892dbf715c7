"""What every parser does first: ask whether a text can be its tool's; clean, number and read the lines.

Every parser begins with ``own_text``, since ``railyard parse`` asks all of them which tool printed a text. A parser of
another tool then refuses as fast as a search for a few words of its tool.

The JSON objects in a text, each with its lines; a cut one is marked.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain, count, pairwise, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from railyard.base.patterns import late_regex
from railyard.parsers import failure_lines
from railyard.parsers.output import Cell, ParseError
from railyard.parsers.tool_signs import FABRIC_SIGNS, SIGNS, Form

BINARY_MB = 2**20 / 10**6  # MB/s in one MiB/s: IMB up to 4.x and NetPIPE up to 4 print MiB/s and call it MB
#: Bytes of a unit's prefix in a message size: 64K, 4m.
PREFIX_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

# "Mon Feb 19 15:13:08 2018[1,0]<stdout>:" from mpirun --tag-output --timestamp-output; "[prterun-n1-7@1,0]<stdout>: "
# of Open MPI 5, with "[n1:12]" behind it for tag-detailed; colours of NetPIPE 5
_DATE = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}"
_TAG = late_regex(
    rf"(?:(?:{_DATE})?\[(?:[\w.-]{{1,100}}@)?[0-9]{{1,9}},[0-9]{{1,9}}\](?:\[[\w.-]{{1,100}}:[0-9]{{1,9}}\])?|{_DATE})"
    r"<std(?:out|err|diag)>: ?"
    r"|\x1b\[[0-9;?]{0,12}[A-Za-z]"
)
# Blanks of other widths, which pages and spreadsheets put between columns; and marks without any width.
_BLANKS = late_regex("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_NO_WIDTH = late_regex("[\xad\u200b-\u200d\u2060\ufeff]")
_DIGITS = 24  # of a number before its point
_MOST_DIGITS = 18  # of a size
# C, Fortran and Python print two digits or more after the sign of an exponent: "1.517e+0" is cut.
_NUMBER = late_regex(r"\A[+-]?[0-9]{1,24}(?:\.[0-9]{1,24})?(?:[eE](?:[0-9]{1,3}|[+-][0-9]{2,3}))?\Z")
_NOT_A_NUMBER = late_regex(r"\A[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)

#: How many characters of a line a failure or a remark quotes.
LONGEST_NOTE = 2000
_BEGINNING = 2**16  # characters: nearly every output shows its tool there
_REMEMBERED = 200  # characters of the longest line to remember
_ROW_BEGINS = " \t0123456789"
# Words of rows for run_pattern: what they match, number() reads.
WHOLE, DECIMAL = "[0-9]{1,18}", r"[0-9]{1,15}\.[0-9]{1,15}"


class Line(NamedTuple):
    """One line: 1-based number, text without its end, and whether a newline ends it (a tuple: made by the million)."""

    number: int
    text: str
    ended: bool

    @property
    def words(self) -> list[str]:
        """Return the words between blanks; none for a line that is too long to be a row or a heading."""
        return self.text.split() if len(self.text) <= 1000 else []

    @property
    def dots(self) -> bool:
        """Return whether someone put an ellipsis in place of rows."""
        return self.text.strip() in ("...", "…", "[...]", ". . .")


line_of: Callable[[Iterable[object]], Line] = partial(tuple.__new__, Line)
"""Return a Line of three values: takes half the time of ``Line._make``, since it needs no Python frame."""


class Run(NamedTuple):
    """Rows that were taken at once: the first one's 1-based number, and their text, each row with its newline."""

    number: int
    text: str

    def lines(self) -> Iterator[Line]:
        """Return the rows one by one."""
        for offset, text in enumerate(self.text.split("\n")[:-1]):
            yield Line(self.number + offset, text, True)


class Scanner(Iterator[Line]):
    """The lines of a text, one after another, as ``lines_of`` gives them.

    It takes many rows of one form at once: ten times faster than one by one.
    """

    def __init__(self, text: str) -> None:
        self._text = clean_text(text)
        self._position = 0
        self._number = 0  # number of the line before the position

    def __iter__(self) -> Iterator[Line]:
        while (line := self._next()) is not None:
            yield line

    def __next__(self) -> Line:
        line = self._next()
        if line is None:
            raise StopIteration
        return line

    def _next(self) -> Line | None:
        start, end = self._position, self._text.find("\n", self._position)
        if end < 0:
            if start == len(self._text):
                return None
            self._position = len(self._text)
        else:
            self._position = end + 1
        self._number += 1
        return line_of((self._number, self._text[start : None if end < 0 else end], end >= 0))

    def peek(self) -> Line | None:
        """Return the next line without taking it, None at the end."""
        position, number = self._position, self._number
        line = next(self, None)
        self._position, self._number = position, number
        return line

    def run(self, pattern: re.Pattern[str]) -> Run | None:
        """Take the next rows, as many as the pattern matches, with their newlines; None if it matches none."""
        if self._text[self._position : self._position + 1] not in _ROW_BEGINS:
            return None
        found = pattern.match(self._text, self._position)
        if not found:
            return None
        taken = Run(self._number + 1, found[0])
        self._position = found.end()
        self._number += taken.text.count("\n")
        return taken


def run_pattern(*words: str) -> re.Pattern[str]:
    """Return the pattern of up to 64 rows of these words for ``Scanner.run``; each word is a pattern.

    The bounds keep the work on any text linear: a line that is not a row costs at most its own length.
    """
    return re.compile("(?:[ \t]{0,40}" + "[ \t]{1,40}".join(words) + "[ \t]{0,40}\n){1,64}")


def texts_of(text: str) -> list[str]:
    """Return the texts of all lines, cleaned of carriage returns, launcher tags and colours.

    The last one has no newline: it is empty if the text ends in one. Only a newline ends a line: str.splitlines would
    also break at form feeds and shift every later line number.
    """
    return clean_text(text).split("\n")


def each_line(text: str) -> Iterator[Line]:
    """Return the lines of ``texts_of``, one after another, without a list of them in memory."""
    parts = texts_of(text)
    last = parts.pop()
    cut = [Line(len(parts) + 1, last, False)] if last else []
    return chain(map(line_of, zip(count(1), parts, repeat(True), strict=False)), cut)


def filled_lines(text: str) -> Iterator[tuple[Line, str]]:
    """Return the lines of ``each_line`` that are not blank, each with its text without the blanks around it."""
    parts = texts_of(text)
    ended = chain(repeat(True, len(parts) - 1), (False,))
    lines = map(line_of, zip(count(1), parts, ended, strict=False))
    return filter(itemgetter(1), zip(lines, map(str.strip, parts), strict=True))


def lines_of(text: str) -> list[Line]:
    """Return the lines of ``each_line`` as a list, for a parser that looks ahead."""
    return list(each_line(text))


def remember_matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """Return a test whether a line matches, for lines that an output repeats: prose, labels, flags.

    It remembers short lines: such a pattern has many alternatives, and a tool prints few different lines of prose.
    """
    return remember_answers(lambda text: pattern.match(text) is not None)


def remember_answers(holds: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return a test of a line by itself that remembers its answers for short lines."""
    known = lru_cache(maxsize=8192)(holds)
    return lambda text: known(text) if len(text) <= _REMEMBERED else holds(text)


def first_line(text: str) -> Line:
    """Return the first line that is not blank; number 0 if there is none."""
    return clean_text(text).first


class CleanText(str):
    """A text after ``clean_text``: the next reader does not have to search it again."""

    @cached_property
    def folded_text(self) -> str:
        """Return it as signs are searched for in it; computed once."""
        return fold_text(self)

    @cached_property
    def first(self) -> Line:
        """Return the first line that is not blank; number 0 if there is none."""
        return next((line for line in Scanner(self) if line.text.strip()), Line(0, "", True))


def clean_text(text: str) -> CleanText:
    """Return a text without carriage returns at line ends, launcher tags and colours; each blank is one of ASCII.

    The lines stay the same ones.
    """
    if isinstance(text, CleanText):
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if not text.isascii():
        text = _NO_WIDTH.sub("", _BLANKS.sub(" ", text))
    if "\r" in text or "<std" in text or "\x1b" in text:
        text = "\n".join([_clean(part) for part in text.split("\n")])
    return CleanText(text)


def _clean(text: str) -> str:
    return _TAG.sub("", text.rstrip("\r")) if "<std" in text or "\x1b" in text else text.rstrip("\r")


def number(word: str) -> int | float | None:
    """Return the number that a word prints: an int without a point, a finite float else; None for any other word."""
    if word.isdigit() and word.isascii():
        return int(word) if len(word) <= _DIGITS else None
    if not _NUMBER.match(word):
        return None
    if word[1:].isdigit():  # after a sign
        return int(word)
    value = float(word)
    return value if math.isfinite(value) else None


def not_a_number(word: str) -> bool:
    """Return whether a word is a printed NaN or infinity: the cell has no value, and the line is a failure."""
    return bool(_NOT_A_NUMBER.match(word))


_ROUNDED_TO_ZERO = 0.0051  # with two decimals, from a time or a count that is rounded too


def decimals(word: str) -> int:
    """Return how many digits are after the point."""
    return len(word.partition(".")[2])


def restore_rate(printed: float, exact: float) -> float:
    """Return a rate that was printed as 0.00, in its unit: what it must have been, if so little rounds to 0.00.

    8 B in 1.7 ms, over a busy host's TCP, are 0.0047 MB/s.
    """
    return printed if printed or not 0 < exact < _ROUNDED_TO_ZERO else exact


def is_no_next_size(words: Sequence[str], sizes: Sequence[Cell]) -> bool:
    """Return whether a line is a whole number that a command prints below a table, and no size cut off its row.

    Where the last ``sizes`` of the table doubled, only the double comes next: `nproc` and `echo $?` print others. Else
    a number is no size if it is more than twice the last one and looks like the time in seconds since 1970, which
    `date +%s` prints: its ten digits begin with 1 from 2001 to 2033.
    """
    if len(words) != 1 or not words[0].isdecimal() or len(words[0]) > _MOST_DIGITS or not sizes or sizes[-1] is None:
        return False
    value, last = int(words[0]), sizes[-1]
    if len(sizes) > 1 and all(size and other == 2 * size for size, other in pairwise(sizes[-3:])):
        return value != 2 * last
    return len(words[0]) == 10 and words[0][0] == "1" and value > 2 * last


def is_whole(line: Line, fixed: int) -> bool:
    """Return whether a row's last number is surely not cut; ``fixed``: the decimals that its column has in each row.

    A row that the end of the text cut has no newline, unless something else was written behind it: `time` begins with a
    newline, and so does the next program of a job that went on. So a number with fewer decimals is cut in either case.
    Without a newline, a number is whole only if a fixed, non-zero number of decimals is there. For a column of whole
    numbers (0) the newline alone decides.
    """
    last = line.words[-1] if line.words else ""
    if not line.ended:
        return 0 < fixed == decimals(last)
    return decimals(last) >= fixed or number(last) is None


def fixed_decimals(count: int) -> str:
    """Return the word of ``run_pattern`` for a figure of at least this many decimals."""
    return rf"[0-9]{{1,15}}\.[0-9]{{{count},15}}"


def _reports_failure(text: str) -> bool:
    start = text[:LONGEST_NOTE]
    return failure_lines.ROOT.search(start) is not None and failure_lines.PATTERN.search(start) is not None


is_failure = remember_answers(_reports_failure)  # each process of a run prints the same warnings
"""Return whether a line reports that the run, a process or the network failed.

It searches the first 2,000 characters: a launcher's message is at a line's beginning.
"""


# Rows of numbers alone: nine of ten lines of most outputs. They show no tool, except at the beginning of a text. A line
# of one word may be a GUID without a letter.
_ROWS = late_regex(r"(?:\n[ \t]{0,40}[0-9]{1,15}[ \t][0-9. \t]{1,200}(?=\n)){1,1000}")
_WEB_PAGE = late_regex(r"\s{0,200}<(?:!doctype html|html)\b", re.IGNORECASE)


def own_text(text: str, tool: str, expected: str) -> CleanText:
    """Return the text, cleaned, if it has a sign of the tool (``tool_signs``); even then it may be another tool's.

    Raises ParseError, which says what was expected, for a text without any sign: none of its lines can be the tool's.
    It also does for a whole web page, with its doctype: even if it shows an output, lines may be left out or changed
    there. (``pasted`` takes away the tags of a piece of one.)
    """
    plain = clean_text(text)
    if _WEB_PAGE.match(plain):
        raise foreign(plain, expected)
    in_beginning = len(plain) > _BEGINNING and can_be_of(tool, fold_text(plain[:_BEGINNING]))
    if not (in_beginning or can_be_of(tool, plain.folded_text)):
        raise foreign(plain, expected)
    return plain


def fold_text(text: str) -> str:
    """Return a text as signs are searched for in it: in lower case, after a newline, with a 0 in place of many rows."""
    return _ROWS.sub("\n0", f"\n{text}").lower()


def can_be_of(tool: str, text: str) -> bool:
    """Return whether a folded text has one of the tool's signs; True for a tool that has none."""
    signs = SIGNS.get(tool) or FABRIC_SIGNS.get(tool) or ("",)
    return any(sign in text if isinstance(sign, str) else _has_form(sign, text) for sign in signs)


def has_any_sign(line: str) -> bool:
    """Return whether a line has a sign of a tool."""
    folded = fold_text(line)
    return any(can_be_of(tool, folded) for tool in (*SIGNS, *FABRIC_SIGNS))


def _has_form(form: Form, text: str) -> bool:
    return form.word in text and re.search(form.pattern, text) is not None


def foreign(text: str, expected: str) -> ParseError:
    """Return the error for a text that is not the tool's: it shows the first line that is not blank."""
    first = first_line(text)
    return ParseError(first.number, first.text, expected)


_ATTEMPTS = 8  # texts that only look like an object: each costs at most its length
_OBJECT_BEGINNING = 4000


class JsonObject(NamedTuple):
    """An object: its lines, 1-based, and its value; None if it is cut or not JSON."""

    lines: range
    value: dict[str, Any] | None


def objects(text: str, is_own: Callable[[str], bool]) -> Iterator[JsonObject]:
    """Yield every object that begins a line, at any indent.

    If an object is not whole, ``is_own`` says, from its beginning, whether it is one of the tool's.
    """
    decoder, line, counted, start, failed = json.JSONDecoder(), 1, 0, 0, 0
    while failed < _ATTEMPTS:
        if text[start : start + 1] != "{":
            start = text.find("\n{", start) + 1
            if start == 0:
                return
        line, counted = line + text.count("\n", counted, start), start
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            failed += 1
            if is_own(text[start : start + _OBJECT_BEGINNING]):
                yield JsonObject(range(line, line + 1), None)
            start += 1
            continue
        if isinstance(found, dict):
            yield JsonObject(range(line, line + text.count("\n", start, end) + 1), found)
        start = end


def figure(values: dict[str, Any], key: str) -> float | None:
    """Return a number that a float can hold; None for anything else (true is not a number)."""
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e30 < value < 1e30 else None
