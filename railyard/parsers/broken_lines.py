"""Texts whose lines were broken at a column or joined, by a terminal, a mailer, ``fold`` or ``fmt``.

The figures of broken lines may be halves. "1" at the end of a line and "5.64" in the next one are 15.64, but no parser
can tell: each half is a number. Three things show it. A line that no parser knows is the rest of a number, and the line
before it ends with the first part. A line that no parser knows has words of a heading, and a heading is above it. Or
more is in the text once its broken lines are joined (or as much, with other figures, if a number was broken); in a
whole text such a join destroys rows. Lines are broken at a column, with what follows indented or not, or at the last
blank before the column. Then none of the figures is used.

``fmt`` and editors fill lines to paragraphs: short lines are joined, long ones broken. A parser that knows its lines by
their beginnings then skips what is behind the first one, without a remark. Here are the words that begin a line of each
such tool: within a line, they show that two were joined. Then no figure is used.

A chat or a mailer may also join all lines in one. Then no parser finds a row, and the error says why.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import pairwise, starmap
from operator import and_
from typing import NamedTuple

from railyard.base.patterns import late_regex
from railyard.base.values import one_line
from railyard.parsers.lines import clean_text, decimals, has_any_sign
from railyard.parsers.output import ParsedOutput, ParseError, Remark

#: Narrower columns break every line of every tool. Broader ones break no row.
_NARROWEST, _BROADEST = 16, 400
#: Shorter lines of numbers, one below the other, are what commands beside a benchmark print (nproc, tcp_rmem).
_NARROWEST_REST = 24
#: A prompt or a banner above the output may be longer than the column.
_MOST_LONGER, _MOST_COLUMNS = 3, 3
#: Longer outputs are files, which nobody copied out of a terminal.
_LONGEST = 300_000
#: In longer ones only breaks inside of numbers are looked for, since each way to join lines reads the text again.
_LONGEST_PASTED = 30_000
_BROKEN = "broken at column"
_WHAT = _BROKEN.join(("lines that are ", " {}, so that figures may be halves (paste it without line breaks): {}"))
# "458", ".87", "e+02", "5.64 Pass": what may be the rest of a number, at the beginning of a line
_REST = late_regex(r"\A(?P<rest>\.?[0-9]{1,24}(?:\.[0-9]{0,24})?(?:[eE][+-]?[0-9]{1,3})?|[eE][+-]?[0-9]{1,3})(?=\s|\Z)")
# "… 0.000", "1.7e+": what may be the first part of it, at the end of a line
_FIRST = late_regex(r"(?:\A|[\s=:])(?P<first>[+-]?[0-9]{1,24}(?:\.[0-9]{0,24})?(?:[eE][+-]?)?)\Z")
_NUMBER = late_regex(r"\A[+-]?[0-9]{1,48}(?:\.[0-9]{1,48})?(?:[eE][+-]?[0-9]{1,3})?\Z")
_POINT = late_regex(r"\s[0-9]{1,24}\.\Z")  # no tool prints a figure without digits behind its point
_DIGITS = "0123456789.eE+-"
#: Parsers that skip a line which they do not know, without a remark.
_SILENT = ("gpcnet", "hpcc", "hpl", "milc", "netpipe", "npb", "sockperf", "wrf")
#: Parsers that compare the last number of each row with its others.
_COMPARED = ("ucx_perftest",)
# "MPI_Test(us)  MPI_Wait(us)   Pure Comm.(us)   Min"   |   "Comm.(us)"   |   "99.9% percentile[usec]": a heading's rest
_UNIT = r"(?:[\[(](?:usec|us|%|[MG]i?B/s(?:ec)?|Gb/sec|Mpps)[\])])"
_NAME = r"[A-Za-z0-9_.%/#]{1,30}"
_HEADING_WORDS = late_regex(
    rf"\A[ \t]*(?:{_NAME}[ \t]{{1,80}}){{0,12}}[A-Za-z_.]{{0,30}}{_UNIT}"
    rf"(?:[ \t]{{1,80}}{_NAME}{_UNIT}?){{0,12}}[ \t]*\Z"
)
_MOST_PARTS = 5  # lines of a broken heading
_ROWS_BEFORE = 40  # lines that are looked at for a row of the same form
_SHOWN = 100  # characters
_WITHIN = r"(?<=\S)[ \t]{1,40}"
# "[ 3] local …" and "[SUM] 0.0-10.0 sec"; fmt may also break behind the bracket. A title may precede it ("s1: [ 4]").
_STREAM = (
    r"(?<=[^\s:])[ \t]{1,40}\[ {0,3}(?:SUM|[0-9]{1,5})\](?: {1,3}(?:local\b|[0-9]{1,9}\.[0-9]{1,4}- {0,3}[0-9])|$)"
    r"|^[ \t]{0,8}[0-9]{1,5}\] {1,3}(?:local |[0-9]{1,9}\.[0-9]{1,4}-)"
)
_SECTION = rf"{_WITHIN}(?:Begin|End) of \w{{1,40}} section\."
_PATTERNS = {
    "gpcnet": r"(?<=[|+])[ \t]{1,40}(?=\+-{5})|(?<=-\+)[ \t]{1,40}\|",
    "hp2p": (
        rf"{_WITHIN}(?:={{2,3}} SUMMARY"
        r"|(?:Min|Max|Avg|Std)(?: (?:bisection )?(?:bandwidth|latency|efficiency) {0,20}:|$))"
    ),
    # "Column=128 Fraction=0.005 Gflops=1.5e+01" of HPL is one line, and 'TERM="xterm" TTY="/dev/pts/0"' of script(1)
    "hpcc": rf"{_SECTION}|=[^\s=\"]{{1,40}}[ \t]{{1,40}}(?!Fraction|[GM]flops)[A-Z]\w{{1,40}}=",
    "hpl": _SECTION,  # of HPCC, whose name was broken
    "imb": r"#-{20,90}[ \t]{1,40}#|^# \S[^\n]{0,200}?[ \t]#(?:[ \t]|$)",
    "iperf2": _STREAM,
    "iperf3": _STREAM,
    "milc": rf"{_WITHIN}(?:CONGRAD\w{{0,3}}:|total_iters =|RUNNING COMPLETED)",
    "netpipe": rf"{_WITHIN}[0-9]{{1,6}}: {{1,20}}[0-9]{{1,15}}(?: bytes|$)",
    "nvbandwidth": rf"{_WITHIN}(?:Running \w{{5,80}}\.|SUM \w{{5,80}} [0-9]|memcpy (?:CE|SM) )",
    "qperf": r"^[ \t]{1,20}\w{2,20} {1,20}= [^=\n]{1,60} \w{2,20} {1,20}=",
    "sockperf": rf"{_WITHIN}sockperf: ",
    # a row behind the heading, whose units are "[usec]", "[MB/sec]", …; "[usec]   99% percentile[usec]" is the heading
    "perftest": r"\[(?:usec|[GM]i?[Bb]/sec|Mpps)\][ \t]{1,40}[0-9]{1,15}(?:[ \t]|$)",
    "wrf": r"(?<=\S)[ \t]{0,40}Timing for main: ",
}
_SIGNS = {tool: late_regex(pattern, re.MULTILINE) for tool, pattern in _PATTERNS.items()}
#: Tools of which a joined output may have no table left.
_LOSE_ALL = frozenset({"gpcnet", "milc", "nvbandwidth"})
#: A blank, or a line break as programs write it.
_BETWEEN_WORDS = late_regex(r"(?:\s|\\[nrt])+")
_FIGURE_WORD = late_regex(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,3})?\Z")
# Two rows of two numbers, one behind the other; or so many figures among words, in a long line.
_MOST_OF_ONE_ROW, _LEAST_OF_A_REPORT, _WORDS_PER_FIGURE, _LONG = 3, 6, 10, 80
_NO_BREAKS = "the lines of the output: all lines are joined in one: paste it with its line breaks"
_JOINED_WHAT = "two lines are joined, as fmt does, so that figures may be lost (paste the output with its own lines): "


class _Way(NamedTuple):
    """A text whose broken lines were joined in one way; the number of the first one; whether a number was broken."""

    text: str
    first: int
    breaks_a_number: bool


def without_broken_lines(parsed: ParsedOutput, text: str, read: Callable[[str], ParsedOutput]) -> ParsedOutput:
    """Return what was read of a text, or a failure without any table if its lines were broken at a column."""
    found = break_column(parsed, text, read)
    if found is None:
        return parsed
    column, number, line = found
    failure = Remark(number, _WHAT.format(column, line.strip()))
    rest = tuple(each for each in parsed.failures if each.line != number)
    return ParsedOutput((), tuple(sorted((failure, *rest), key=lambda each: each.line)), parsed.remarks)


def says_broken(failure: str) -> bool:
    """Return whether a failure, or what an error expected, is that of broken lines."""
    return _BROKEN in failure[:40]


def refuse_broken_lines(error: ParseError, text: str, read: Callable[[str], ParsedOutput]) -> ParseError:
    """Return the error of a text that no parser knows: a better one if it can be read with its lines joined.

    A text of two tools is no such text.
    """
    found = None if "of one tool:" in error.expected else break_column(ParsedOutput(), text, read)
    if found is None:
        return error
    column, number, line = found
    return ParseError(number, line, f"whole lines: they are {_BROKEN} {column}; paste it without line breaks")


def break_column(parsed: ParsedOutput, text: str, read: Callable[[str], ParsedOutput]) -> tuple[int, int, str] | None:
    """Return the column at which the lines of a text were broken, and the first such line with its number; or None."""
    if len(text) > _LONGEST or parsed.fabric or parsed.hardware:
        return None
    lines = text.replace("\r\n", "\n").split("\n")  # with colours and tags: they fill the column, too
    if parsed.tables:
        plain = clean_text(text).split("\n")
        for number in _rests(parsed, plain):
            if len(plain[number - 1]) >= _NARROWEST_REST:
                return len(plain[number - 1]), number, plain[number - 1]
        for number in _parts_of_headings(parsed):
            return len(plain[number - 1]), number, plain[number - 1]
    for column, way in _all_ways(text, lines, _suspects(parsed)):
        if _is_intended(parsed, way, read):
            return column, way.first, lines[way.first - 1]
    return None


def _all_ways(text: str, lines: Sequence[str], suspects: Container[int] | None) -> Iterator[tuple[int, _Way]]:
    """Yield the ways to join the lines of a text, each with the column at which they were broken."""
    is_short = len(text) <= _LONGEST_PASTED
    for column in _columns(lines):
        breaks_numbers = is_short or any(
            len(line) == column > len(following) and _breaks_a_number(line, following.lstrip())
            for line, following in pairwise(lines)
        )
        for way in _ways_to_join(lines, column, suspects) if breaks_numbers else ():
            yield column, way
    for way in _ways_at_blanks(lines, suspects) if is_short else ():
        yield len(lines[way.first - 1]), way


def _is_intended(parsed: ParsedOutput, way: _Way, read: Callable[[str], ParsedOutput]) -> bool:
    """Return whether the text with its lines joined in this way has the intended rows, or names a benchmark in full."""
    try:
        other = read(way.text)
    except ParseError:
        return False
    return _is_nearer(rows_of(parsed), rows_of(other), way.breaks_a_number) or _is_named_in_full(parsed, other)


def _is_named_in_full(parsed: ParsedOutput, other: ParsedOutput) -> bool:
    """Return whether the same rows have a longer name: "PingPong" in place of "PingP", or a name in place of none."""
    if rows_of(parsed) != rows_of(other) or len(parsed.tables) != len(other.tables):
        return False
    names = [(one.benchmark or "", two.benchmark or "") for one, two in zip(parsed.tables, other.tables, strict=True)]
    return any(one != two for one, two in names) and all(two.startswith(one) for one, two in names)


def _suspects(parsed: ParsedOutput) -> frozenset[int] | None:
    """Return the lines that may be the rest of a broken one: those that no parser knows. None: any line."""
    if any(table.tool in _SILENT for table in parsed.tables) or not parsed.tables:
        return None
    return frozenset(note.line for note in (*parsed.remarks, *parsed.failures))


def _is_nearer(rows: Sequence[tuple[object, ...]], other: Sequence[tuple[object, ...]], number_breaks: bool) -> bool:
    """Return whether the rows of the joined text are the intended ones: more is in them than in what they replace.

    If the break is inside a number, half as much is enough: a whole line that fills the column was joined, too.
    """
    before, after = Counter(rows), Counter(other)
    new, lost = count_cells((after - before).elements()), count_cells((before - after).elements())
    return new > lost or (number_breaks and 0 < new and lost <= 2 * new)


def _rests(parsed: ParsedOutput, lines: Sequence[str]) -> Iterator[int]:
    """Yield the number of each line whose last number goes on in the next line, one of which no parser knows."""
    longest = max(map(len, lines))
    for note in (*parsed.remarks, *parsed.failures):
        own, following = lines[note.line - 1 : note.line + 1] if 0 < note.line < len(lines) else ("", "")
        if _POINT.search(own[-60:]) and _REST.match(following.lstrip()) and _is_row(own):
            yield note.line
        before = lines[note.line - 2] if 1 < note.line <= len(lines) else ""
        line = lines[note.line - 1] if before else ""
        line = line.lstrip() if len(line) < len(before) == longest else line
        rest, first = _REST.match(line), _FIRST.search(before[-60:])
        if rest is None or first is None or not _NUMBER.match(first["first"] + rest["rest"]) or not _is_row(before):
            continue
        above = lines[max(0, note.line - 2 - _ROWS_BEFORE) : note.line - 2]
        if not _is_whole(before, above) and not _is_compared(before, parsed):
            yield note.line - 1


def _parts_of_headings(parsed: ParsedOutput) -> Iterator[int]:
    """Yield the line of each heading whose last part is in a line below it, which no parser knows."""
    headings = {table.line for table in parsed.tables}
    for remark in parsed.remarks:
        if headings & {*range(remark.line - _MOST_PARTS, remark.line)} and _HEADING_WORDS.match(remark.text):
            yield max(line for line in headings if line < remark.line)


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


def _is_compared(line: str, parsed: ParsedOutput) -> bool:
    """Return whether a line is a row whose parser compared its last number with the others: no digit is lost."""
    last = line.split()[-1].replace(",", "")
    compared = (row for table in parsed.tables if table.tool in _COMPARED for row in table.rows)
    return any(str(row[-1]) == last for row in compared)


def rows_of(parsed: ParsedOutput) -> list[tuple[object, ...]]:
    """Return the rows of all tables."""
    return [row for table in parsed.tables for row in table.rows]


def count_cells(rows: Iterable[tuple[object, ...]]) -> int:
    """Return how many values some rows have."""
    return sum(cell is not None for row in rows for cell in row)


def _columns(lines: Sequence[str]) -> list[int]:
    """Return the columns at which the lines may have been broken: the longest lengths, beyond which few lines go."""
    lengths = Counter(map(len, lines))
    found, longer = list[int](), 0
    for length in sorted(lengths, reverse=True):
        if longer > _MOST_LONGER or length < _NARROWEST:
            break
        if length <= _BROADEST:
            found.append(length)
        longer += lengths[length]
    return found[:_MOST_COLUMNS]


def _breaks_a_number(line: str, following: str) -> bool:
    """Return whether a line ends like a number that goes on in the next one."""
    return (
        line[-1:] in _DIGITS
        and following[:1] in _DIGITS
        and _FIRST.search(line[-60:]) is not None
        and _REST.match(following) is not None
    )


def _goes_on(line: str, following: str) -> bool:
    """Return whether the next line may be the rest of this one: a rule goes on with its own sign alone."""
    return len({*line}) > 1 or {*following} == {*line}


def _ways_to_join(lines: Sequence[str], column: int, suspects: Container[int] | None) -> Iterator[_Way]:
    """Yield the text with its broken lines joined, for each way in which lines are broken at a column.

    The lines that fill the column go on in the next one, or only those do before a short one: a whole line may fill the
    column by chance. What follows may be indented. In a text without any row, each line may have two halves of one
    length.
    """
    pairs = list(pairwise(lines))
    full = [len(line) == column and _goes_on(line, following) for line, following in pairs]
    before_short = [
        is_full and 0 < 2 * len(following) < column for is_full, (_, following) in zip(full, pairs, strict=True)
    ]
    ways = [(full, "", False), (full, "", True)]
    if before_short != full:
        ways += [(before_short, "", False), (before_short, "", True)]
    if suspects is None:
        ways.append((_every_second(full), "", False))
    for goes_on, between, is_indented in ways:
        # rows of one length are whole: what was broken has a rest
        broken = [
            pair
            for number, (pair, is_open) in enumerate(zip(pairs, goes_on, strict=True), start=2)
            if is_open and 0 < len(pair[1]) <= column and (suspects is None or number in suspects)
        ]
        rests = [(line, following) for line, following in broken if len(following) < column or suspects is None]
        if any(not is_indented or between or following[0].isspace() for _, following in rests):
            ends = ((line, following.lstrip() if is_indented else following) for line, following in rests)
            in_number = goes_on is not before_short and not between and any(starmap(_breaks_a_number, ends))
            yield _Way(_join(lines, goes_on, between, is_indented), goes_on.index(True) + 1, in_number)


def _ways_at_blanks(lines: Sequence[str], suspects: Container[int] | None) -> Iterator[_Way]:
    """Yield the text with its broken lines joined, if they were broken at the last blank before a column.

    The next word would go beyond the column. Blanks at the end of a line may be lost, so any line that no parser knows
    may also go on the line before.
    """
    pairs = list(pairwise(lines))
    can = [bool(line.strip() and following.strip()) and _goes_on(line, following) for line, following in pairs]
    unknown = [is_open and (suspects is None or number in suspects) for number, is_open in enumerate(can, start=2)]
    if not any(unknown):
        return
    words = [len(following.split(None, 1)[0]) if following.strip() else 0 for _, following in pairs]
    ways: list[tuple[tuple[bool, ...], str]] = []
    for column in _columns([line for line in lines if " " in line.strip()]):
        # as fold -s does: a blank stays at the end of its line, and a word that is longer than a line is broken
        folded = (
            len(line) == column or (line[-1:].isspace() and len(line) <= column < len(line) + word)
            for (line, _), word in zip(pairs, words, strict=True)
        )
        beyond = [len(line) + 1 + word > column for (line, _), word in zip(pairs, words, strict=True)]
        ways += [
            (tuple(map(and_, can, folded)), ""),
            (tuple(map(and_, can, beyond)), " "),
            (tuple(map(and_, unknown, beyond)), " "),
        ]
    if suspects is not None:
        ways.append((tuple(unknown), " "))
    for goes_on, between in dict.fromkeys(ways):
        if any(map(and_, goes_on, unknown)):
            yield _Way(_join(lines, goes_on, between, bool(between)), goes_on.index(True) + 1, False)


def _every_second(goes_on: Sequence[bool]) -> list[bool]:
    """Return which lines go on if what follows a line that goes on does not go on itself."""
    found: list[bool] = []
    for is_open in goes_on:
        found.append(is_open and not (found and found[-1]))
    return found


def _join(lines: Sequence[str], goes_on: Sequence[bool], between: str, is_indented: bool) -> str:
    """Return the text with each line that goes on joined with the next one."""
    made = [lines[0]]
    for is_open, line in zip(goes_on, lines[1:], strict=True):
        if is_open:
            made[-1] += between + (line.lstrip() if is_indented else line)
        else:
            made.append(line)
    return "\n".join(made)


def refuse_one_line(parsed: ParsedOutput, text: str) -> None:
    """Do nothing if something was read, or if a line says why nothing was. Raises ParseError for lines joined in one.

    An output in JSON may be in one line: then it was read.
    """
    if parsed.tables or parsed.fabric or parsed.hardware:
        return
    plain = clean_text(text)
    number, line = max(enumerate(plain.split("\n"), start=1), key=lambda each: len(each[1]))
    is_most = 2 * len(line) > len(plain)  # what is above and below it are words of whoever sent it
    line = line.lstrip("> \t").rstrip()
    is_reported = any(failure.line == number and line.startswith(failure.text[:_SHOWN]) for failure in parsed.failures)
    if is_most and not is_reported and _has_many_rows(line) and has_any_sign(line):
        raise ParseError(number, one_line(line), _NO_BREAKS)


def _has_many_rows(line: str) -> bool:
    words = [word for word in _BETWEEN_WORDS.split(line) if word]
    run = longest = figures = 0
    for word in words:
        run = run + 1 if _FIGURE_WORD.match(word) else 0
        longest = max(longest, run)
        figures += any(map(str.isdigit, word))
    is_report = len(line) > _LONG and figures >= _LEAST_OF_A_REPORT and figures * _WORDS_PER_FIGURE >= len(words)
    has_heading = any(map(str.isalpha, line))  # figures alone may be one row
    return (longest > _MOST_OF_ONE_ROW and has_heading) or is_report


def without_joined_lines(parsed: ParsedOutput, text: str) -> ParsedOutput:
    """Return what was read of a text, or a failure without any table if lines of its tool were joined.

    A text without a table may be of one of several tools.
    """
    if parsed.fabric or parsed.hardware:
        return parsed
    tools = _SIGNS.keys() & ({table.tool for table in parsed.tables} if parsed.tables else _LOSE_ALL)
    plain = clean_text(text)
    found = [match.end() for tool in tools if (match := _SIGNS[tool].search(plain))]
    if not found:
        return parsed
    place = min(found)
    number = plain.count("\n", 0, place) + 1
    begin = plain.rfind("\n", 0, place) + 1
    end = plain.find("\n", place)
    line = one_line(plain[begin : None if end < 0 else end].strip())[:_SHOWN]
    failure = Remark(number, f'{_JOINED_WHAT}found "{line}"')
    rest = (each for each in parsed.failures if each.line != number)
    return ParsedOutput((), tuple(sorted((failure, *rest), key=lambda each: each.line)), parsed.remarks)
