"""Outputs whose lines were filled to paragraphs, as ``fmt`` and editors do: short lines are joined, long ones broken.

A parser that knows its lines by their beginnings then skips what is behind the first one, without a remark. Here are
the words that begin a line of each such tool: within a line, they show that two were joined. Then no figure is used.

A chat or a mailer may also join all lines in one. Then no parser finds a row, and the error says why.
"""

import re

from railyard.base.clean_text import one_line
from railyard.parsers import tool_signs
from railyard.parsers.lines import clean_text
from railyard.parsers.output import ParsedOutput, ParseError, Remark

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
_SIGNS = {tool: re.compile(pattern, re.MULTILINE) for tool, pattern in _PATTERNS.items()}
#: Tools of which a joined output may have no table left.
_LOSE_ALL = frozenset({"gpcnet", "milc", "nvbandwidth"})
#: A blank, or a line break as programs write it.
_BETWEEN_WORDS = re.compile(r"(?:\s|\\[nrt])+")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,3})?\Z")
# Two rows of two numbers, one behind the other; or so many figures among words, in a long line.
_MOST_OF_ONE_ROW, _LEAST_OF_A_REPORT, _WORDS_PER_FIGURE, _LONG = 3, 6, 10, 80
_NO_BREAKS = "the lines of the output: all lines are joined in one: paste it with its line breaks"
_WHAT = "two lines are joined, as fmt does, so that figures may be lost (paste the output with its own lines): "


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
    if is_most and not is_reported and _has_many_rows(line) and tool_signs.is_of_any(line):
        raise ParseError(number, one_line(line), _NO_BREAKS)


def _has_many_rows(line: str) -> bool:
    words = [word for word in _BETWEEN_WORDS.split(line) if word]
    run = longest = figures = 0
    for word in words:
        run = run + 1 if _NUMBER.match(word) else 0
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
    failure = Remark(number, f'{_WHAT}found "{line}"')
    rest = (each for each in parsed.failures if each.line != number)
    return ParsedOutput((), tuple(sorted((failure, *rest), key=lambda each: each.line)), parsed.remarks)
