"""Outputs out of pages, mails, chats and logs: without what these put around their lines, with their own signs again.

``strip_decorations`` takes off what is certain: fences of Markdown, quotation marks and "=3D" of mails, entities
and tags of HTML, codes of a terminal that were written out ("^[[0m"), marks at the end of each line.
``without_prefixes`` takes off what a launcher, a shell for many nodes or a logger prints before each line ("0: ",
"node1: ", "[0] ", "worker | ", a time), and the numbers of lines. Lines keep their numbers, unless a page had "<br>"
in place of newlines.

Source: RFC 2045, 6.7 (quoted-printable); srun(1) --label; pdsh(1); Hydra's -prepend-rank; RFC 3164, 4.1 (syslog);
ts(1) of moreutils, whose default is "%b %d %H:%M:%S"; TIMESTAMP_FORMAT "%c " of src/iperf.h of esnet/iperf; cat(1) -A
and -n, nl(1), grep(1) -n, less(1) -N.

What is before each line of an output of nccl-tests or nvbandwidth: launchers, pods, loggers, quotations.

``Prefixes`` knows the prefixes of common launchers, and learns others from the text: lines with a known beginning show
what is before it ("nccl-launcher-x7k2p launcher # nThread 1 …", "> # Using devices", "2026-07-01 10:00:00 # …").
Numbers in a learned prefix may differ from line to line, its words may not.

Outputs whose signs a chat, an editor or a program's log changed: "＃" for "#", "—" for "---", "\n" for a new line.

``with_own_signs`` puts back what the tools print. Nothing of it is a figure. ``kept_in_json`` returns the outputs that
JSON keeps as strings: what Ansible, a CI job or a runner's own script writes.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from railyard.base.patterns import late_regex
from railyard.parsers.output import ParseError

_FENCE = late_regex(
    r"^[ \t]{0,40}(?:```|~~~)[a-z]{0,12}(?:-session)?[ \t]{0,9}$|^[ \t]{0,40}```|```[ \t]{0,9}$", re.MULTILINE
)
_ENTITY = late_regex(r"&(?:[A-Za-z]{2,8}|#[0-9]{1,5}|#[xX][0-9a-fA-F]{1,5});")
_MOST_ESCAPED = 2  # times: "&amp;nbsp;"
_BREAK = late_regex(r"<br ?/?>(?P<end>[ \t]{0,40}(?=\n))?", re.IGNORECASE)
_TAG = late_regex(r"</?(?:html|head|body|blockquote|pre|code|samp|tt)(?: [^<>\n]{0,100})?/?>|\[/?code\]", re.IGNORECASE)
# In a page's source each line may have tags of its own; a cell of a table is a column.
_LINES_TAG = late_regex(
    r"</?(?P<name>p|div|span|li|ul|ol|font|b|i|em|strong|a|tr|t[dh]|table|t(?:head|body))(?: [^<>\n]{0,200})?/?>",
    re.IGNORECASE,
)
_CLOSING_TAG = late_regex(r"</(?:p|div|span|li|font|t[dh])>", re.IGNORECASE)
# "^[[0;32m" of cat -v, "\\033[0m" of echo, "␛[0m" of a viewer: codes of a terminal as words; "^M" is a line's end.
_WRITTEN_CODE = late_regex(r"(?:\^\[|\\(?:033|e|x1[bB]|u001[bB])|␛)\[[0-9;?]{0,16}[A-Za-z](?:\^M)?|\^M$", re.MULTILINE)
# "[0;32m" where the escape itself was lost; with it, a parser's first step takes the whole code
_BARE_CODE = late_regex(r"(?<!\x1b)\[[0-9]{1,3}(?:;[0-9]{1,3}){0,5}m")
# "$" of cat -A, "\\", "↵" and "¶" of editors, the border of tmux
_LINE_END = late_regex(r"(?:[\\$↵⏎¶│┃]|\\n)\Z")
_LINE_ENDS = "\\$↵⏎¶│┃"
_QUOTED = late_regex(r"^[ \t]{0,8}(?:>[ ]?){1,9}", re.MULTILINE)
# "# Size      Latency (us)", of a list of lines in JSON, as Ansible shows stdout_lines
_LISTED = late_regex(r'^[ \t]{0,40}"(?P<line>(?:[^"\\\n]|\\[^\n]){0,2000})"[ \t]{0,9},?[ \t]{0,9}$', re.MULTILINE)
_ESCAPED = {r"\t": "\t", r"\"": '"', r"\\": "\\"}
_ESCAPE = late_regex(r'\\[t"\\]')
# "=" of quoted-printable: a byte, or a break of a line that goes on
_ENCODED = late_regex(r"(?:=[0-9A-F]{2})+")
_SOFT_BREAK = late_regex(r"=[ \t]{0,9}$")
#: "n=21" is no code: an encoded "=", or a long line that goes on, shows that the text has codes.
_IS_ENCODED = late_regex(r"=3D|^[^\n]{60,75}=$", re.MULTILINE)
_BARE_SIGN = late_regex(r"=(?![0-9A-F]{2}|[ \t]{0,9}(?:\n|\Z))")
# |---|---:|  below the heading of a table in Markdown
_MARKDOWN_RULE = late_regex(
    r"^[ \t]{0,8}(?:\|[ \t]{0,8}:?-{3,200}:?[ \t]{0,8})(?:\|[ \t]{0,8}:?-{3,200}:?[ \t]{0,8}){0,40}\|?[ \t]{0,9}$"
    r"|^[ \t]{0,8}:?-{3,200}:?[ \t]{0,8}(?:\|[ \t]{0,8}:?-{3,200}:?[ \t]{0,8}){1,40}\|?[ \t]{0,9}$",
    re.MULTILINE,
)
# "- ", "* ", "1. " of a list; "**", "__" and "`" around a line
_MARKED = tuple(
    late_regex(form)
    for form in (
        r"^[ \t]{0,8}[-*+] |^[ \t]{0,8}[0-9]{1,4}\. (?=[*_`])",
        r"^(?P<mark>\*\*|__|``?)(?=.{0,2000}(?P=mark)[ \t]{0,9}\\?$)|(?:\*\*|__|``?)[ \t]{0,9}\\?$",
    )
)
_EMPTY_CELL = late_regex(r"(?<=\|)[ \t]{0,200}(?=\|)")
# a tool's own box in a cell: its borders are no cells
_BOX_IN_CELL = late_regex(r"^[ \t]{0,8}\|[ \t]{0,8}\+-{5}", re.MULTILINE)
_FIRST_PIPE = late_regex(r"^[ \t]{0,8}\|[ ]?")
# "||Ax-b||" of HPL is no cell
_PIPE = late_regex(r"(?<!\|)\|(?!\|)")
_BETWEEN_CELLS = late_regex(r"(?<![ \t|])[ \t]{0,200}\|(?!\|)[ \t]{0,200}")
_TAB = 8  # columns
_LONGEST_LINE = 2000
_CONTROL = late_regex(r"[\x00-\x1f\x7f]")

_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
#: Prefixes of a line, with who printed it, if they say so.
_PREFIXES = (
    # [   12.345678] of dmesg   |   1782900000.123456
    late_regex(r"(?:\[ {0,12}[0-9]{1,9}\.[0-9]{3,9}\]|[0-9]{10}\.[0-9]{3,9})(?: |$)"),
    # 2026-07-01T10:00:00.123Z   |   [2026-07-01 10:00:00]   |   10:00:00
    late_regex(rf"(?:\[)?(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ])?{_CLOCK}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?\]?(?: |$)"),
    # Jul 01 10:00:00 node1 bench[123]:
    late_regex(
        rf"[A-Z][a-z]{{2}} [ 0-9][0-9] {_CLOCK} (?P<who>[\w.-]{{1,100}} [\w./-]{{1,60}})(?:\[[0-9]{{1,9}}\])?:(?: |$)"
    ),
    # Jul 01 10:00:00 of ts
    late_regex(rf"[A-Z][a-z]{{2}} [ 0-9][0-9] {_CLOCK}(?: |$)"),
    # "%c" of strftime: Wed Jul  1 10:00:00 2026   |   Wed 01 Jul 2026 10:00:00 AM UTC. Without its weekday, what is
    # at the year's place may be a size.
    late_regex(rf"[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} [ 0-9][0-9] {_CLOCK} [0-9]{{4}}(?: |$)"),
    late_regex(
        rf"[A-Z][a-z]{{2}} [ 0-9][0-9] [A-Z][a-z]{{2}} [0-9]{{4}} {_CLOCK}(?: [AP]M)? "
        r"(?:[A-Z]{3,5}|[+-][0-9]{2,4})(?: |$)"
    ),
    # what a node of Kubernetes keeps, and GitLab's log of a job, behind their times
    late_regex(r"(?:std(?:out|err) F|[0-9a-f]{2}[OE])(?: |$)"),
    # node1 bench[123]: of the journal, behind a time of ISO
    late_regex(r"(?P<who>[\w.-]{1,100} [\w./-]{1,60})\[[0-9]{1,9}\]:(?: |$)"),
    # INFO   |   - INFO -   |   INFO:root:   of a logger
    late_regex(r"(?:- )?\[?(?:DEBUG|INFO|NOTICE|WARNING)\]?(?::[\w.]{1,60}:|:? -(?= |$)|:)?(?: |$|(?<=:))"),
    # [0]   |   [pod/a/b]   |   [0]<stdout>:
    late_regex(r"\[(?P<who>[^\[\]\n]{1,100})\](?:<std(?:out|err)>)?:?(?: |$)"),
    # " 3: " of srun -l   |   "node1: " of pdsh
    late_regex(r" {0,8}(?P<who>[0-9]{1,7}|[A-Za-z][\w.-]{0,100}):(?: |$)"),
    # perf-client-7d9f worker: pod and container, of stern
    late_regex(r"(?P<who>[a-z][a-z0-9.-]{1,200}-[a-z0-9]{1,20} [a-z][a-z0-9-]{0,62})(?: |$)"),
    # worker_1  |
    late_regex(r"(?P<who>[A-Za-z][\w./-]{0,100}) {0,20}\|(?: |$)"),
    # out.txt: of grep
    late_regex(r"[\w./+-]{1,200}\.(?:txt|out|log|o[0-9]{1,12}):"),
    # a quotation in a chat or a tracker, and the border of tmux
    late_regex(r"[|│┃] ?"),
)
# The number of a line, with the file before it, and what is behind it in all lines: "12 | ", "12:", "12<tab>" or "12 ".
_NUMBER = r"(?:[A-Za-z./][\w./+-]{0,200}[:-])?[ \t]{0,12}(?P<number>[0-9]{1,7})"
_MARKED_NUMBERS = tuple(late_regex(_NUMBER + mark) for mark in (r"[ \t]?[|│┃] ?", r"[:→-]"))
_NUMBERS = (*_MARKED_NUMBERS, late_regex(rf"{_NUMBER}(?:[.)]?[ \t]|\Z)"))
_MOST_PREFIXES = 3  # of one line
_LEAST_LINES = 3
_MOST_WITHOUT = 10  # per cent of the lines: prompts, a launcher's last words
_FIRST_LINES = 20  # of a text, which show whether it is worth looking at all
_MOST_SOURCES = 64


def strip_decorations(text: str) -> str:
    """Return a text without fences, quotation marks, entities and codes of a mail; the same text if it has none."""
    text = text.removeprefix("\ufeff")
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("", text)
    if '",\n' in text:
        text = _without_list(text)
    if "=" in text and _IS_ENCODED.search(text) and not _BARE_SIGN.search(text):
        text = _decode_printable(text)
    if "&" in text and _ENTITY.search(text):
        from html import unescape  # 0.004 s to import, and hardly any output has an entity

        for _ in range(_MOST_ESCAPED):
            text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    if "<" in text or "[/" in text:
        text = _without_tags(text)
    if "[" in text or "^M" in text:
        text = _WRITTEN_CODE.sub("", text)
        text = _BARE_CODE.sub("", text) if "[0m" in text else text
    text = _without_marks_of_lines(text)
    if ">" in text:
        lines = [line for line in text.split("\n") if line.strip()]
        quoted = sum(_QUOTED.match(line) is not None for line in lines)
        if quoted >= _LEAST_LINES and 2 * quoted > len(lines):
            text = _QUOTED.sub("", text)
    return _without_line_ends(text)


def markdown_rule(text: str) -> int:
    """Return the number of the first line that is the rule of a table in Markdown; 0 if there is none."""
    found = _MARKDOWN_RULE.search(text) if "---" in text and "|" in text else None
    return text.count("\n", 0, found.start()) + 1 if found else 0


def has_boxes_in_cells(text: str) -> bool:
    """Return whether a table in Markdown has a tool's own boxes in its cells: no one can tell their borders apart."""
    return markdown_rule(text) > 0 and _BOX_IN_CELL.search(text) is not None


def comment_mark(text: str) -> str:
    """Return the comment mark that all lines but blank ones begin with; "" if one has none, or for fewer than three."""
    filled = [line.lstrip() for line in text.split("\n") if line.strip()]
    marks = ("#", "//", "%", ";") if len(filled) >= _LEAST_LINES else ()
    return next((mark for mark in marks if all(line.startswith(mark) for line in filled)), "")


def forms_with_blanks(text: str) -> Iterator[str]:
    """Yield a text with blanks in place of what is between its columns: the pipes of Markdown, and tabs.

    Yield nothing if it has neither. Lines keep their numbers. A tab goes on to the next column of 8, as `unexpand`
    has it, or is one blank, as where a spreadsheet had a cell for each word.
    """
    if markdown_rule(text):
        joined = "\n".join([_BETWEEN_CELLS.sub(" ", line).strip() for line in map(_with_cells, text.split("\n"))])
        text = "\n".join(map(_without_pipes, text.split("\n")))
        yield text
        yield joined  # where each word had a cell
    if "\t" in text:
        lines = text.split("\n")
        yield "\n".join([line.expandtabs(_TAB) if len(line) <= _LONGEST_LINE else line for line in lines])
        yield text.replace("\t", " ")


def _without_pipes(line: str) -> str:
    """Return a row of Markdown as a row of blanks."""
    line = _with_cells(line)
    return _PIPE.sub(" ", _FIRST_PIPE.sub("", line)).rstrip() if len(line) <= _LONGEST_LINE else line


def _with_cells(line: str) -> str:
    """Return a row of Markdown with "-" in its empty cells if it is a row of figures; a rule as an empty line."""
    if "|" not in line or len(line) > _LONGEST_LINE:
        return line
    if _MARKDOWN_RULE.fullmatch(line):
        return ""
    if line.lstrip(" \t|")[:1].isdigit():
        line = _EMPTY_CELL.sub(" - ", line)
    return line


def _without_marks_of_lines(text: str) -> str:
    """Return a text without the marks of a list, and of bold or code, that all of its lines but blank ones have."""
    for form in _MARKED:
        lines = text.split("\n")
        first = list(islice(filter(str.strip, lines), _FIRST_LINES))
        if len(first) < _LEAST_LINES or not all(map(form.match, first)):
            continue
        if all(form.match(line) for line in lines if line.strip()):
            text = "\n".join([form.sub("", line) for line in lines])
    return text


def _without_list(text: str) -> str:
    """Return a text with the lines that a list in JSON has, if most of its lines are such; else the same text."""
    filled = sum(map(bool, map(str.strip, text.split("\n"))))
    if 2 * len(_LISTED.findall(text)) <= filled:
        return text
    return _LISTED.sub(lambda found: _ESCAPE.sub(lambda each: _ESCAPED[each[0]], found["line"]), text)


def _without_tags(text: str) -> str:
    text, breaks = _BREAK.subn(lambda found: "\n" if found["end"] is None else "", text)
    text = _TAG.sub("", text)
    if max(len(_CLOSING_TAG.findall(text)), breaks) < _LEAST_LINES:
        return text  # words of a usage: "<b>"
    return _LINES_TAG.sub(lambda found: "  " if found["name"].lower() in ("td", "th") else "", text)


def _without_line_ends(text: str) -> str:
    """Return a text without the mark that ends nearly all of its lines; the same text if they have none in common."""
    if not any(map(text.__contains__, _LINE_ENDS)):
        return text
    filled = [line for line in map(str.rstrip, text.split("\n")) if line]
    ends = Counter(found[0] for line in filled if (found := _LINE_END.search(line[-2:])))
    end, count = ends.most_common(1)[0] if ends else ("", 0)
    if count < _LEAST_LINES or 100 * (len(filled) - count) > _MOST_WITHOUT * len(filled):
        return text
    text = text.replace("^I", "\t") if end == "$" else text  # cat -A
    return "\n".join([line.rstrip().removesuffix(end).rstrip() for line in text.split("\n")])


def _decode_printable(text: str) -> str:
    """Return a text without the codes of quoted-printable. A joined line has empty ones below it."""
    made: list[str] = []
    joined = 0
    is_open = False
    for line in text.split("\n"):
        if is_open:
            made[-1] += line
            joined += 1
        else:
            made += [""] * joined
            made.append(line)
            joined = 0
        is_open = _SOFT_BREAK.search(made[-1]) is not None
        if is_open:
            made[-1] = _SOFT_BREAK.sub("", made[-1])
    return _ENCODED.sub(_bytes_of, "\n".join([*made, *([""] * joined)]))


def _bytes_of(found: re.Match[str]) -> str:
    return _CONTROL.sub(" ", bytes.fromhex(found[0].replace("=", "")).decode("utf-8", errors="replace"))


def begins_with_prefix(text: str) -> bool:
    """Return whether the first line has one of the prefixes."""
    first = text[:2000].lstrip("\n").partition("\n")[0]
    return any(form.match(first) for form in _PREFIXES)


def without_prefixes(text: str) -> tuple[str, dict[str, str]] | None:
    """Return a text without the prefixes of its lines, and the same for each source alone; None if it has none.

    Of a source, the lines of the others are empty. If there is one source, or if prefixes name none, no source is
    returned.
    """
    lines = text.split("\n")
    sources = [""] * len(lines)
    bare = _without_numbers(lines)
    is_found = bare is not None
    lines = bare or lines
    for _ in range(_MOST_PREFIXES):
        taken = _split_speakers(lines)
        if taken is None:
            break
        is_found = True
        for place, (who, rest) in enumerate(taken):
            lines[place] = rest
            sources[place] += who
    margin = _margin(lines)
    if not (is_found or margin):
        return None
    lines = [line[margin:] if line.strip() else line for line in lines]
    named = [who for who in dict.fromkeys(sources) if who]
    alone = dict(_lines_by_source(lines, sources, named)) if 1 < len(named) <= _MOST_SOURCES else {}
    return "\n".join(lines), alone


def _without_numbers(lines: list[str]) -> list[str] | None:
    """Return the lines without their own numbers; None unless all but blank ones have one, each higher than the last.

    If only a blank is behind the number, it may be the size of a row: then each line's is one more than the last.
    """
    first = list(islice(filter(str.strip, lines), _FIRST_LINES))
    forms = [form for form in _NUMBERS if len(first) >= _LEAST_LINES and all(map(form.match, first))]
    filled = [line for line in lines if line.strip()] if forms else []
    for form in forms:
        found = [form.match(line) for line in filled]
        numbers = [int(each["number"]) for each in found if each is not None]
        steps = {two - one for one, two in pairwise(numbers)}
        if len(numbers) == len(filled) and (steps == {1} or (form in _MARKED_NUMBERS and min(steps) > 0)):
            return [form.sub("", line, count=1) if line.strip() else line for line in lines]
    return None


def _margin(lines: list[str]) -> int:
    """Return how many blanks all lines begin with, but blank ones, as code in Markdown does."""
    if any(line and line[0] not in " \t" for line in lines):
        return 0
    filled = [line for line in lines if line.strip()]
    indents = {line[: len(line) - len(line.lstrip(" \t"))] for line in filled}
    margin = min(indents, key=len, default="")
    is_common = len(filled) >= _LEAST_LINES and all(indent.startswith(margin) for indent in indents)
    return len(margin) if is_common else 0


def _split_speakers(lines: list[str]) -> list[tuple[str, str]] | None:
    """Return who printed each line, and the rest of it, by the first form that nearly all lines have; or None."""
    filled = sum(map(bool, map(str.strip, lines)))
    first = list(islice(filter(str.strip, lines), _FIRST_LINES))
    for form in _PREFIXES:
        if 2 * sum(map(bool, map(form.match, first))) < len(first):
            continue
        found = [form.match(line) for line in lines]
        count = sum(each is not None for each in found)
        if count >= _LEAST_LINES and 100 * (filled - count) <= _MOST_WITHOUT * filled:
            return [
                ("", line) if each is None else (each.groupdict().get("who") or "", line[each.end() :])
                for each, line in zip(found, lines, strict=True)
            ]
    return None


def _lines_by_source(lines: list[str], sources: list[str], named: list[str]) -> Iterator[tuple[str, str]]:
    for who in named:
        yield who, "\n".join(line if of == who else "" for line, of in zip(lines, sources, strict=True))


def two_sources(text: str, first: str, second: str) -> ParseError:
    """Return the error of a text in which two sources print a benchmark's rows between each other's."""
    lines = text.split("\n")
    number = next((at for at, line in enumerate(lines, start=1) if second in line[:200]), 0)
    expected = f'the output of one process: "{first}" and "{second}" both print rows; give each a file of its own'
    return ParseError(number, lines[number - 1] if number else "", expected)


# Prefixes of a line: "[1,0]<stdout>:" of mpirun, " 3: " of srun -l, "[pod/a/b] " and "pod-a | " of kubectl and stern,
# "[0] " of Hydra, "node1: " of pdsh, a time of day of a container's log. cleaned() takes Open MPI's own tags already.
_KNOWN = late_regex(
    r"\[[^\[\]]{1,200}\](?:<std(?:out|err)>)?:? ?| {0,8}[0-9]{1,9}: |[\w.-]{1,120}: (?=#|  )"
    r"|[A-Za-z][\w./-]{0,200} \| ?|(?:stdout|stderr) [FP] "
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,20}(?:Z|[+-][0-9:]{4,6}) "
)
_MOST = 3  # known prefixes of one line
# What is left of a prefix without them tells who printed a line.
_TIME = late_regex(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]?)?(?:(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} {1,2}[0-9]{1,2} )?"
    r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9:]{4,6})?(?: [0-9]{4}(?![0-9]))?"
)
#: Beginnings of lines that an output of nccl-tests has.
NCCL_TESTS = ("# nThread", "# Using devices", "# nccl-tests version", "# Collective test starting", "#       size  ")
_LONGEST = 200  # characters of a prefix
_MOST_LEARNED = 64
_PREFIX_NUMBER = late_regex("[0-9]+")
_PART = late_regex(r"(?P<number>[0-9]+)|(?P<blanks>[ \t]+)|(?P<word>[^0-9 \t]+)")


class Prefixes:
    """The prefixes of the lines of one text; ``shows``: beginnings of lines, in which what is before is a prefix."""

    def __init__(self, text: str, shows: Sequence[str] = NCCL_TESTS) -> None:
        self._learned = _learn_patterns(text, shows)

    def split(self, text: str) -> tuple[str, str]:
        """Return who printed a line, and the line without its prefixes.

        A time of day names nobody. A line of a table or a heading without prefix is returned as it is.
        """
        for pattern, is_numbered in self._learned:
            found = pattern.match(text)
            if found:
                rest = text[found.end() :]
                if found[0].endswith('"'):  # a list of lines in JSON, or a container's log file
                    rest = rest.partition('"')[0].removesuffix("\\n")
                source, rest = self._split_known(rest)
                who = _who(found[0])
                return f"{_PREFIX_NUMBER.sub('', who) if is_numbered else who} {source}".strip(), rest
        return self._split_known(text)

    @staticmethod
    def _split_known(text: str) -> tuple[str, str]:
        source = ""
        for _ in range(_MOST):
            found = _KNOWN.match(text) if text[:1] not in ("#", "") and text[:3] != "   " else None
            if not found:
                break
            if not _TIME.search(found[0]):
                source += found[0]
            text = text[found.end() :]
        return source.strip(), text


def _who(prefix: str) -> str:
    """Return what is left of a prefix without a time."""
    return _TIME.sub("", prefix).strip()


def _learn_patterns(text: str, shows: Sequence[str]) -> list[tuple[re.Pattern[str], bool]]:
    """Return patterns of what is before the lines that show it, the longest first.

    Each has with it whether its numbers are those of lines: then they differ in all lines, and name nobody.
    """
    found: dict[str, list[str]] = {}
    for sign in shows:
        place = text.find(sign)
        while place >= 0 and len(found) < _MOST_LEARNED:
            prefix = text[text.rfind("\n", 0, place) + 1 : place]
            is_prefix = prefix.strip(" \t0123456789") or (prefix.endswith("\t") and prefix.strip())
            if len(prefix) <= _LONGEST and "#" not in prefix and is_prefix:
                found.setdefault(_pattern_of(prefix), []).append(prefix)
            place = text.find(sign, place + 1)
    longest = sorted(found, key=lambda pattern: -max(map(len, found[pattern])))
    return [(re.compile(pattern), _is_numbered(found[pattern])) for pattern in longest]


def _is_numbered(prefixes: Sequence[str]) -> bool:
    each = [_who(prefix) for prefix in prefixes]
    return len(each) > 1 and len(set(each)) == len(each)


def _pattern_of(prefix: str) -> str:
    """Return a pattern of a prefix, with any numbers; blanks at its end are exact, since a row begins with blanks."""
    end = prefix.rstrip(" \t")
    pattern = r"[ \t]*" if end[:1].isdigit() else ""
    for part in _PART.finditer(end):
        pattern += "[0-9]+" if part["number"] else "[ \t]+" if part["blanks"] else re.escape(part["word"])
    return f"{pattern}(?:{re.escape(prefix[len(end) :])}|$)" if len(end) < len(prefix) else pattern


_LEAST_BREAKS = 3
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
#: A tool's rule: chats write "–" or "—" for two or three hyphens, and some leave one.
_RULE = late_regex(
    rf"^(?P<before>[ \t]{{0,40}}#?[ \t]{{0,9}})(?=-{{0,200}}[{_DASHES}])[-{_DASHES}]{{1,200}}[ \t]{{0,9}}$",
    re.MULTILINE,
)
_WITHIN_WORD = late_regex(rf"(?<=[A-Za-z])[{_DASHES}](?=[A-Za-z])")
_RULE_WIDTH = 80
_FULL_WIDTH = str.maketrans({"\uff03": "#", "\uff1a": ":"})
_ESCAPED_SIGN = {r"\n": "\n", r"\r": "", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_SIGN_ESCAPE = late_regex(r'\\[nrt"\\]')


def with_own_signs(text: str) -> str:
    """Return a text with the signs and lines that tools print; the same text if it has them."""
    text = _with_lines(text)
    if text.isascii():
        return text
    text = text.translate(_FULL_WIDTH)
    if not any(map(text.__contains__, _DASHES)):
        return text
    text = _RULE.sub(lambda found: found["before"] + "-" * _RULE_WIDTH, text)
    return _WITHIN_WORD.sub("-", text)


def kept_in_json(text: str) -> list[str]:
    """Return the outputs that a text of JSON keeps in its strings, each once; none for any other text.

    The text is one object, one list, or an object on each line. A string of several lines is an output, and so is what
    was printed as an error (``stderr``). A tool's own JSON has its figures as numbers, more of them than its strings
    have lines (`iperf3 --get-server-output`): there is none in it.
    """
    begin, end = text.lstrip()[:1], text.rstrip()[-1:]
    if begin + end not in ("{}", "[]") or text.count(r"\n") < _LEAST_BREAKS:
        return []
    try:
        values = _json_values(text)
    except (ValueError, RecursionError):
        return []
    parts = list(
        dict.fromkeys(_text(value) for key, value in values if isinstance(value, str) and _is_kept(key, value))
    )
    numbers = sum(type(value) in (int, float) for _, value in values)
    breaks = [part.count("\n") for part in parts]
    return parts if max(breaks, default=0) >= _LEAST_BREAKS and numbers < sum(breaks) else []


def _json_values(text: str) -> list[tuple[str, Any]]:
    """Return every value in a text of JSON with its key. Raises ValueError."""
    try:
        read = json.loads(text)
    except ValueError:
        read = [json.loads(line) for line in text.split("\n") if line.strip()]
    return list(_values_in("", read))


def _values_in(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _values_in(name, each)
    elif isinstance(value, list):
        for each in value:
            yield from _values_in("", each)
    else:
        yield key, value


def _is_kept(key: str, value: str) -> bool:
    return "\n" in value or ("err" in key.lower() and bool(value.strip()))


def _text(value: str) -> str:
    """Return a string of JSON as lines of text, without half of a pair of surrogates."""
    lines = value.replace("\r\n", "\n").rstrip("\n") + "\n"
    return lines.encode("utf-8", "replace").decode("utf-8")


def _with_lines(text: str) -> str:
    r"""Return the lines of a text that is JSON, or one line with "\n" in place of its line breaks."""
    line = text.strip()
    if "\n" in line or line.count(r"\n") < _LEAST_BREAKS or line[0] + line[-1] in ("{}", "[]"):
        return "".join(kept_in_json(text)) or text
    if line[0] == line[-1] == '"':
        try:
            return _text(str(json.loads(line)))
        except ValueError:
            return text
    return _SIGN_ESCAPE.sub(lambda found: _ESCAPED_SIGN[found[0]], line) + "\n"
