"""Texts in which the lines of two outputs are mixed: two jobs, or two processes of one, wrote into the same file.

A table of these tools has its sizes in rising order, each once, and rows of one width. So a size that does not rise,
or a row that the parser left over, is of another output. The rows that were read may then be of both: none is used.
Outputs one after the other are not mixed, since each has its heading.

Other tools' rows have no order. Then two outputs are mixed if one begins and ends within the other: two beginnings,
then two ends. A server and a client of perftest may share a file if each names the other's address; without addresses
nothing tells them from two runs over two devices. The steps of WRF and the sizes of NetPIPE rise until another run
begins.
"""

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass

from railyard.base.wording import count_of, message_size
from railyard.parsers.lines import PREFIX_BYTES, clean_text, number, texts_of
from railyard.parsers.output import REPORTS, ParsedOutput, Remark, Table
from railyard.parsers.unread_rows import NO_ROW

#: NCCL's tests, NetPIPE and others have signs of their own, or sizes that need not rise.
_TOOLS = frozenset({"osu", "imb", "perftest", "fabtests"})
MIXED = "lines of two outputs are mixed; give each a file of its own"
_LONGEST = 400  # no row of these tools is longer
# "# Size      Bandwidth (MB/s)"   |   "#bytes #repetitions …"   |   "bytes   #sent …"
_HEADING = re.compile(r"\s*#?\s*(?:size|bytes)\b", re.IGNORECASE)
# 4096   4096l of IMB-MT   64k and 1.5k of fabtests
_SIZE = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,3}(?=[kmg]))?)(?P<prefix>[kmg]?)l?")
# 0.00s and =10k of fabtests, and the marks of a validation
_OTHER_WORD = re.compile(r"=?[0-9.]{1,20}[kmgtbs]|=[0-9]{1,15}|pass(?:ed)?|fail(?:ed)?|skipped", re.IGNORECASE)
_FAILED = re.compile(r"\bfail(?:ed)?$", re.IGNORECASE)


#: The first and the last line of a run, or of a part of it. perftest's own end is a rule, so its heading is taken.
_RUNS = {
    "clusterkit": (
        re.compile(r"^[ \t]{0,40}Minimum (?:bandwidth|latency):", re.MULTILINE),
        re.compile(r"^[ \t]{0,40}Average (?:bandwidth|latency):", re.MULTILINE),
    ),
    "hpl": (re.compile(r"^\s*HPLinpack [0-9]", re.MULTILINE), re.compile(r"^\s*End of Tests\.", re.MULTILINE)),
    "milc": (
        re.compile(r"^MIMD version [0-9]", re.MULTILINE),
        re.compile(r"^exit: ", re.MULTILINE),
    ),
    "perftest": (
        re.compile(r"^[ \t]{1,60}[A-Z][\w -]{2,60} Test[ \t]{0,9}$", re.MULTILINE),
        re.compile(r"^[ \t]{0,9}#bytes[ \t]", re.MULTILINE),
    ),
}
#: A row with what rises (of each "domain" by itself) and the figure; the beginning of a run.
_SERIES = {
    "wrf": (
        re.compile(
            r"Timing for main.{0,40}: time (?P<place>\S{1,60}) on domain {1,12}(?P<domain>[0-9]{1,8}):"
            r" {0,20}(?P<figure>\S{1,20})",
            re.MULTILINE,
        ),
        re.compile(r"starting wrf task|Ntasks in X|SUCCESS COMPLETE WRF"),
    ),
    "netpipe": (
        re.compile(
            r"^ {0,9}(?P<place>[0-9]{1,6}): {1,20}[0-9]{1,15}(?P<domain> bytes) {1,20}(?P<figure>.{0,80})$",
            re.MULTILINE,
        ),
        re.compile(r"^Now starting the main loop|^Start testing with", re.MULTILINE),
    ),
}
#: What perftest prints in this order: titles, settings, heading, rows, rule.
_PERFTEST_PART = re.compile(
    r"^[ \t]{0,60}(?:(?P<title>[A-Z][\w -]{2,60} Test[ \t]{0,9}$)|(?P<heading>#bytes[ \t])"
    r"|(?P<rule>-{20,200}[ \t]{0,9}$)|[^:\n]{0,30}(?:: (?:ON|OFF)[ \t]{1,9})?(?P<device>\bDevice[ \t]{1,12}: )"
    r"|(?P<row>[0-9]{1,15})[ \t]{1,20}[0-9]{1,15}(?:[ \t]{1,30}[0-9]{1,15}\.[0-9]{2,6}){1,12}[ \t]{0,9}$)",
    re.MULTILINE,
)
_ADDRESS = re.compile(r"\b(?P<side>local|remote) address: (?P<address>LID .{0,40}PSN 0x[0-9a-f]{1,8})")


@dataclass(frozen=True, slots=True)
class _Row:
    """A line with the form of a row: its number, its text, its size in bytes and its number of words."""

    line: int
    text: str
    size: int
    width: int


def without_mixed_rows(parsed: ParsedOutput, text: str) -> ParsedOutput:
    """Return what was read of a text, or a failure without any table if lines of two outputs are mixed in it."""
    tools = {table.tool for table in parsed.tables}
    nested = next((found for tool in tools if (found := _find_nested(tool, text)) is not None), None)
    if nested is not None:
        return ParsedOutput(
            (), (nested, *(each for each in parsed.failures if each.line != nested.line)), parsed.remarks
        )
    if not tools & _TOOLS:
        return parsed
    # A row whose own validation failed is a failure, and no row of another output.
    noted = [note for note in (*parsed.failures, *parsed.remarks) if not _FAILED.search(note.text)]
    notes = [note for note in noted if _row(note.line, note.text) is not None]
    if not notes and all(map(_rises, parsed.tables)):
        return parsed  # most outputs: no line has to be looked at
    failure = next(_find_mixed(parsed, text, {note.line for note in notes}), None)
    if failure is None:
        return parsed
    # a heading without rows is a consequence
    rest = (each for each in parsed.failures if each.line != failure.line and not NO_ROW.match(each.text))
    return ParsedOutput((), (failure, *rest), parsed.remarks)


def _find_nested(tool: str, text: str) -> Remark | None:
    """Return a failure for the first line that shows a run within another one, None if there is none."""
    plain = clean_text(text)
    if tool == "perftest":
        found = min(filter(None, (_nested_begin(*_RUNS[tool], plain), _out_of_turn(plain))), default=None)
    elif tool in _RUNS:
        found = _nested_begin(*_RUNS[tool], plain)
    elif tool in _SERIES:
        found = _falls(*_SERIES[tool], plain)
    else:
        return None
    if found is None or (tool == "perftest" and _is_of_both_sides(plain)):
        return None
    line = plain.count("\n", 0, found) + 1
    said = " ".join(texts_of(plain)[line - 1].split())[:_LONGEST]
    return Remark(line, f"found {said!r} before the run above has ended: {MIXED}")


def _nested_begin(begin: re.Pattern[str], end: re.Pattern[str], text: str) -> int | None:
    """Return where the second of two runs begins that are both open when both end; None if there is none."""
    begins = [(found.end(), False) for found in begin.finditer(text)]
    ends = [(found.end(), True) for found in end.finditer(text)] if len(begins) > 1 else []
    begun: list[int] = []  # since the last end
    second: int | None = None  # the second beginning of those, after the first end
    for place, is_end in sorted([*begins, *ends]):
        if not is_end:
            begun.append(place)
            second = None
        elif second is not None:
            return second
        else:
            second = begun[1] if len(begun) > 1 else None
            begun = []
    return None


def _falls(row: re.Pattern[str], begin: re.Pattern[str], text: str) -> int | None:
    """Return where a series falls for the first time within a run; None if it never or once does, as an excerpt may.

    The same row twice is of an output that is on two streams.
    """
    last: dict[str, tuple[str, str, int]] = {}
    falls: list[int] = []
    for found in row.finditer(text):
        place = found["place"].zfill(60)
        before = last.get(found["domain"])
        last[found["domain"]] = place, found["figure"], found.end()
        if before is None or place > before[0] or (place, found["figure"]) == before[:2]:
            continue
        if begin.search(text, before[2], found.start()) is None:
            falls.append(found.end())
    return falls[0] if len(falls) > 1 else None


def _out_of_turn(text: str) -> int | None:
    """Return where perftest prints what its own run cannot: a second device before a heading, or a row after the rule
    that ended its table, or one of a smaller size; None if there is no such line.

    Source: linux-rdma/perftest, src/perftest_parameters.c: ctx_print_test_info prints the device once below a title.
    """
    titles = devices = size = 0
    ended = False
    for found in _PERFTEST_PART.finditer(text):
        kind = found.lastgroup
        titles += kind == "title"
        devices += kind == "device"
        ended |= kind == "rule" and size > 0
        if kind == "heading":
            titles, devices, size, ended = 0, 0, 0, False
        before, size = size, int(found["row"]) if kind == "row" else size
        if devices > max(titles, 1) or (kind == "row" and (ended or size < before)):
            return found.end()
    return None


def _is_of_both_sides(text: str) -> bool:
    """Return whether an output names the same addresses as local and remote ones, or prints both results."""
    if "Remote results:" in text:
        return True  # two headings of one run
    sides: dict[str, set[str]] = {"local": set(), "remote": set()}
    for found in _ADDRESS.finditer(text):
        sides[found["side"]].add(" ".join(found["address"].split()))
    return bool(sides["local"] & sides["remote"])


def _rises(table: Table) -> bool:
    """Return whether the sizes of a table rise, or are not known; perftest repeats one size without end if asked to."""
    sizes = table.column("size") if table.tool in _TOOLS and {"size", "group"} & {*table.columns} == {"size"} else ()
    known = [size for size in sizes if isinstance(size, int)]
    repeats = table.tool == "perftest" and len({*known}) == 1 and (REPORTS in table.context or not table.complete)
    return repeats or "sl" in table.columns or all(map(operator.lt, known, known[1:]))


def _find_mixed(parsed: ParsedOutput, text: str, left: set[int]) -> Iterator[Remark]:
    """Yield a failure for each row of another output; ``left``: rows that the parser left over."""
    doubtful = [table.line for table in parsed.tables if not _rises(table)]
    begins = sorted(table.line for table in parsed.tables)
    widths = {len(table.columns) for table in parsed.tables}
    before: _Row | None = None
    for line, said in enumerate(texts_of(clean_text(text)), start=1):
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
            words = "a heading" if before is None else f"a row of {count_of(before.width, 'word')}"
            yield _failure(row, f"which no heading announces, expected {words}")
        before = before if line in left and before is not None else row


def _failure(row: _Row, what: str) -> Remark:
    shown = " ".join(row.text.split())
    return Remark(row.line, f"found {shown!r} {what}: {MIXED}")


def _row(line: int, text: str) -> _Row | None:
    """Return the row that a line is: a size, then at least one value, one of them with a point; None for any other."""
    words = text.split() if len(text) <= _LONGEST else []
    size = _SIZE.fullmatch(words[0]) if len(words) > 1 else None
    if size is None or not any("." in word for word in words[1:]):
        return None
    if any(number(word) is None and not _OTHER_WORD.fullmatch(word) for word in words[1:]):
        return None
    return _Row(line, text, round(float(size["number"]) * PREFIX_BYTES[size["prefix"]]), len(words))
