"""What every parser of a fabric's tool does with a text: its lines, and those that are not the tool's own.

Lines are plain strings, not ``railyard.parsers.lines.Line``: a fabric of some thousand ports prints hundreds of
thousands of lines.

Here are the words that begin a line of each tool: within a line, they show that two were joined.

The JSON documents of a tool's -j or --json may have a prompt before them and other lines after them.

If lines were broken at a column, as a mailer does, a port may lack part of a value. The rest of a broken value is a
line that looks like noise. Here it is put back: if the ports then say more, or something else, it belonged there, and
the text fails with that line. In a whole text, most lines end far before its longest one, so few of them are tried.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from railyard.base.patterns import late_regex
from railyard.parsers.fabric.port import PortState
from railyard.parsers.lines import is_failure, own_text
from railyard.parsers.output import ParsedOutput, ParseError, Remark

_WITHIN = r"(?<=\S)[ \t]{1,40}"
_DOTS = r":\.{2,60}[^\n.]{1,60}[ \t]\w{1,60}:\.{2}"
_LINK = rf"{_WITHIN}link [^\s/]{{1,100}}/[0-9]"
_PATTERNS = {
    "iblinkinfo": (
        r"==\([^\n]{1,300}==\(|^[ \t]{0,40}(?:Switch|CA|RT)\b[^\n]{1,300}==\("
        r"|==>[^\n]{1,300}\b(?:Switch|CA|RT):? "
    ),
    "ibnetdiscover": (
        rf"(?<=[')])[ \t]{{1,40}}(?:CA|SW|RT|\?\?)[ \t]{{1,9}}[0-9]{{1,6}}[ \t]{{1,9}}[0-9]{{1,4}} 0x"
        rf"|{_WITHIN}\[[0-9]{{1,4}}\](?:\([0-9a-f]{{1,16}}\))?[ \t]{{1,9}}\"[SHR]-"
    ),
    "ibportstate": _DOTS,
    "ibqueryerrors": rf"{_WITHIN}(?:GUID 0x|(?:Errors|Data Counters) for |Link info:|## )",
    "ibstat": (
        rf"{_WITHIN}(?:Port [0-9]{{1,4}}:|(?:State|Physical state|Rate|Base lid|SM lid|CA type|Port GUID|Link layer):"
        r"|CA ')"
    ),
    "ibstatus": (
        rf"{_WITHIN}(?:(?:base lid|sm lid|(?<!phys )state|phys state|rate|link_layer|default gid):|Infiniband device ')"
    ),
    "ibv_devinfo": (
        rf"{_WITHIN}(?:port|state|phys_state|max_mtu|active_mtu|sm_lid|port_lid|link_layer|active_width|hca_id|fw_ver"
        r"|node_guid):"
    ),
    "lspci": (
        rf"{_WITHIN}(?:(?:Lnk|Dev)(?:Cap|Sta|Ctl)|NUMA node|Subsystem):"
        rf"|{_WITHIN}(?:[0-9a-f]{{4}}:)?[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7] [A-Z]"
    ),
    "nvidia-smi": rf"{_WITHIN}(?:GPU|NIC)[0-9]{{1,3}}[ \t]{{1,40}}(?:X|NV[0-9]{{1,2}}|PIX|PXB|PHB|NODE|SYS|SOC)\b",
    "perfquery": _DOTS,
    "rdma link": rf"{_LINK}|{_WITHIN}[0-9]{{1,5}}/[0-9]{{1,5}}: [^\s/]{{1,100}}/[0-9]",
    "rdma statistic": _LINK,
}
#: In characters: no tool with one item per line prints a longer line. A longer one is foreign, and no pattern sees it.
LONGEST = 2000
_BEGIN = late_regex(r"\[\s*[{\]]|\{\s*[\"}]")
_DECODER = json.JSONDecoder(parse_float=str, parse_constant=str, parse_int=str)
_LONGEST_SHOWN = 200  # characters of a row that is not read
_COLOUR = late_regex(r"\x1b\[[0-9;]{0,12}[mK]")
# Between words. Some tools print a tab there, and where a paste has one for each blank, their patterns expect blanks.
_TABS = late_regex(r"(?<=\S) *\t[ \t]*")
# a mail's quotation
_QUOTED = late_regex(r"^> ?", re.MULTILINE)
# ibpanic: [1400444] main: stat of IB device 'mlx5_8' failed: No such file or directory
# perfquery: iberror: failed: can't resolve destination port   |   Fatal error:  No devices   |   -E- Failed to open
_FAILED = late_regex(
    r"\bib(?:panic|warn|error): |^Fatal error: |^\s*-E- |^Error: |\b[Ff]ailed\b|^No IB devices found|wasn't found"
    r"|Permission denied|Operation not permitted|No such (?:file|device)|unsupported|not supported|[Tt]imed out"
)
# Every line that _FAILED matches has one of these, and a search for them begins at few letters.
_FAILED_ROOT = late_regex(
    "ibpanic|ibwarn|iberror|rror:|-E- |ailed|No IB|wasn't|Permission|not permitted|No such|upported|imed out"
)
_LONGEST = 60_000  # characters: nobody copies more out of a terminal
_MOST_TRIED = 10  # each reads the text again: what twice the text takes stays twice as long
_MOST_LONGER = 3  # prompts and headings that were not broken
_EXPECTED = "whole lines: it goes on in the next one; paste the output without line breaks"
_SHOWN = 200


class _Values(NamedTuple):
    """How many values some ports have, and all of them but the number of their line."""

    number: int
    ports: tuple[PortState, ...]


def tools_text(text: str, tool: str, expected: str) -> str:
    """Return the text without colours and a mail's marks, if it names the tool or has one of its signs.

    ``tool``: its name as it is written, such as "rdma link". Raises ParseError otherwise, like ``own_text``.
    """
    key = tool.replace(" ", "_").replace("-", "_")
    return own_text(without_marks(text), key, f"output of {tool}: {expected}")


def without_marks(text: str) -> str:
    """Return a text without colours, the marks of a mail's quotation, and tabs between words; the same if it has none.

    Tabs at the beginning of a line stay.
    """
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if ">" in text and (text[0] == ">" or "\n>" in text):
        text = _QUOTED.sub("", text)
    if "\t" in text:
        text = _TABS.sub(" ", text)
    return text


def lines_of(text: str) -> tuple[list[str], int]:
    """Return the lines, and the number of the cut one, else 0.

    A cut line is a last line without newline: its last word may be the beginning of a longer one.
    """
    lines = text.split("\n")
    if lines[-1]:
        return lines, len(lines)
    lines.pop()
    return lines, 0


class Notes:
    """Lines that are not the tool's own form: failures that it reports, and noise."""

    def __init__(self) -> None:
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def foreign(self, number: int, line: str) -> None:
        """Take a line that the tool's patterns do not know; skip a blank one."""
        shown = line[:LONGEST].strip()
        if not shown:
            return
        failed = (_FAILED_ROOT.search(shown) and _FAILED.search(shown)) or is_failure(shown)
        (self.failures if failed else self.remarks).append(Remark(number, shown))

    def note_failure(self, number: int, line: str) -> None:
        """Take a line in which the tool itself says what is wrong."""
        self.failures.append(Remark(number, line[:LONGEST].strip()))

    def note_unread(self, number: int, line: str, expected: str) -> None:
        """Take a line that looks like one of the tool's own rows but has another form: what it says is missing."""
        shown = " ".join(line[:LONGEST].split())[:_LONGEST_SHOWN]
        self.note_failure(number, f'a row that cannot be read: found "{shown}", expected {expected}')

    def remark(self, number: int, line: str) -> None:
        """Take a line that is worth quoting but not a failure."""
        self.remarks.append(Remark(number, line[:LONGEST].strip()))

    def no_port(self, header: tuple[int, str] | None) -> None:
        """Note that no port follows this line, which names a device or a node; do nothing for None."""
        if header is not None:
            self.remark(header[0], f"no port is printed: {header[1][:LONGEST].strip()}")


def finish(
    tool: str, ports: list[PortState], known: bool, notes: Notes, lines: list[str], expected: str
) -> ParsedOutput:
    """Return the result. A text without the tool's own lines must at least name the tool and say what failed.

    Raises ParseError otherwise, with the first line that is not blank.
    """
    if not known and not (notes.failures and re.search(rf"\b{tool}\b", "\n".join(line[:LONGEST] for line in lines))):
        found = next(((number, line) for number, line in enumerate(lines, 1) if line.strip()), (0, ""))
        raise ParseError(found[0], found[1], f"output of {tool}: {expected}")
    if known and (number := first_joined_line(tool, lines)):
        notes.note_unread(number, lines[number - 1], "one line of the tool in each line: two are joined, as fmt does")
    remarks = sorted(notes.remarks, key=lambda note: note.line)
    return ParsedOutput(failures=tuple(notes.failures), remarks=tuple(remarks), fabric=tuple(ports))


def first_joined_line(tool: str, lines: list[str]) -> int:
    """Return the number of the first line of a tool's output that is two of its lines; 0 if there is none."""
    pattern = _PATTERNS.get(tool)
    if pattern is None:
        return 0
    sign = re.compile(pattern, re.MULTILINE)
    return next((number for number, line in enumerate(lines, start=1) if sign.search(line[:2000])), 0)


def documents(text: str, expected: str) -> list[tuple[int, Any]]:
    """Return (line, document) of each line that begins one: "[{", "[]" or '{"', not the prompt "[root@node1 ~]#".

    Numbers are strings as printed. A cut document ends the list. Raises ParseError if it is the first.
    """
    found: list[tuple[int, Any]] = []
    place, number = 0, 1
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        start = place + len(text[place:end]) - len(text[place:end].lstrip())
        if _BEGIN.match(text, start):
            try:
                document, after = _DECODER.raw_decode(text, start)
            except (json.JSONDecodeError, RecursionError):
                if found:
                    return found
                raise ParseError(number, text[start:end], expected) from None
            found.append((number, document))
            number += text.count("\n", start, after)
            end = text.find("\n", after)
            end = len(text) if end < 0 else end
        place, number = end + 1, number + 1
    return found


def without_broken_ports(text: str, read: Callable[[str], ParsedOutput]) -> ParsedOutput:
    """Return what was read of a text, with a failure if a line of it was broken.

    Raises ParseError like ``read``.
    """
    parsed = read(text)
    if not parsed.fabric or parsed.failures or len(text) > _LONGEST:
        return parsed
    lines, noise = without_marks(text).split("\n"), {remark.line for remark in parsed.remarks}
    found = sorted(_suspects(lines), key=lambda number: number + 1 not in noise)
    said, suspects = _values_of(parsed), found[:_MOST_TRIED]
    together = [number for number in suspects if number + 1 in noise]  # a value may follow from two lines
    for numbers in (*([number] for number in suspects), together):
        for between in ("", " "):
            other = _try(read, _join(lines, numbers, between))
            if other is None or other.ports == said.ports:
                continue
            is_noise = all(number + 1 in noise for number in numbers)
            if other.number > said.number or (other.number == said.number and is_noise):
                shown = " ".join(lines[numbers[0] - 1].split())[:_SHOWN]
                failure = Remark(numbers[0], f'a row that cannot be read: found "{shown}", expected {_EXPECTED}')
                return replace(parsed, failures=(failure,))
    return parsed


def _join(lines: Sequence[str], numbers: Iterable[int], between: str) -> str:
    """Return the text in which each of these lines goes on with the next one; the numbers of lines stay."""
    made = list(lines)
    for number in numbers:
        made[number - 1] = f"{lines[number - 1].rstrip()}{between}{lines[number].strip()}"
        made[number] = ""
    return "\n".join(made)


def _suspects(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the lines that the first word of the next one would have made too long."""
    lengths = sorted(map(len, lines), reverse=True)
    columns = set(lengths[: _MOST_LONGER + 1])
    for number, (line, following) in enumerate(pairwise(lines), start=1):
        words = following.split(None, 1)
        reach = len(line.rstrip()) + 1 + len(words[0]) if words else 0
        if line.strip() and words and any(len(line) <= column <= reach for column in columns):
            yield number


def _try(read: Callable[[str], ParsedOutput], text: str) -> _Values | None:
    try:
        return _values_of(read(text))
    except ParseError:
        return None


def _values_of(parsed: ParsedOutput) -> _Values:
    ports = tuple(port._replace(line=0) for port in parsed.fabric)
    return _Values(sum(map(_count_values, (value for port in ports for value in port))), ports)


def _count_values(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(each is not None for each in value.values())
    return int(value is not None and value != ())
