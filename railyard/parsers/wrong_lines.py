"""Lines that say that something went wrong, in the output of any tool: each is a failure, whichever parser reads it.

A parser knows its tool's lines by their beginnings, and may take a library's message for one of them. A parser that
accepts only numbers in a row skips any other row, and the table looks whole without it.

A parser converts what is printed, so "1.7e308" MiB/s is infinite in MB/s. Such a cell becomes empty, and its table
incomplete: a figure that is left out is seen, a wrong one is not.

The lines of two outputs may be mixed in one text: two jobs, or two processes of one, wrote into the same file. A table
of these tools has its sizes in rising order, each once, and rows of one width. So a size that does not rise, or a row
that the parser left over, is of another output. The rows that were read may then be of both: none is used. Outputs one
after the other are not mixed, since each has its heading.

Other tools' rows have no order. Then two outputs are mixed if one begins and ends within the other: two beginnings,
then two ends. A server and a client of perftest may share a file if each names the other's address; without addresses
nothing tells them from two runs over two devices. The steps of WRF and the sizes of NetPIPE rise until another run
begins.
"""

import math
import operator
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from railyard.base.patterns import late_regex
from railyard.base.wording import count_of, message_size
from railyard.parsers import failure_lines
from railyard.parsers.lines import LONGEST_NOTE, PREFIX_BYTES, clean_text, decimals, is_failure, number, texts_of
from railyard.parsers.output import REPORTS, Cell, ParsedOutput, Remark, Table
from railyard.parsers.unread_rows import NO_ROW, without_commented_rows, without_lost_rows, without_unannounced_rows

_ALIGNED, _TEARABLE = frozenset({"osu", "imb"}), frozenset({"osu", "imb", "perftest"})
_LEAST_ROWS = 5  # of a table whose places say something
_MOST_TORN = 4  # at most one of so many rows: in a table that was pasted without its blanks, no place is the same
_WORD, _BLANKS = late_regex(r"\S+"), late_regex(r"\s+")
_LONGEST = 400
#: No rate, time or count of a benchmark is beyond these, in any unit.
_LARGEST, _SMALLEST = 1e26, 1e-30
#: No message is longer than a signed number of 64 bits can count, and no tool prints a larger figure before its unit.
_LARGEST_PRINTED = 2**63
#: Units of what is measured: never below 0, and never beyond these. Residuals and constants of a machine have none.
_MEASURED = frozenset({"MB/s", "us", "1/s", "B", "Gflop/s", "Gbit/s", "s", "%", "Mop/s", "GUP/s"})
#: The end of a figure beyond these. To look for it in the whole text first takes most outputs no time.
_FAR_EXPONENT = late_regex(r"[0-9]\.?[eE][+-]?(?:[3-9][0-9]|[0-9]{3,4})(?![\w.])")
#: "Time in seconds =  1e308", "latency  =  -1.5 us": a figure behind the name of what is measured.
_NAMED = late_regex(
    r"(?=[^=:]{0,80}(?:time|seconds|latency|bandwidth|bw|rate|flops?|op/s|total)\b)[^=:]{2,80}[=:]\s{0,40}"
    r"(?P<figure>\S{1,400})(?:\s{1,40}[A-Za-z/%]{1,20})?\s{0,40}",
    re.IGNORECASE,
)
_NUMBER = late_regex(
    r"(?<![^\s=:|,(])(?P<number>[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?(?:[eE][+-]?[0-9]{1,4})?|inf|infinity|nan))"
    r"(?=[\s|,)%]|\Z)",
    re.IGNORECASE,
)
# A word of its own, also behind "name=" and in a box: "4194304  nan", "HPL_Tflops=nan", "| 15.3 | -inf |"
_NOT_FINITE = late_regex(r"(?:\A|[\s=:|])[+-]?(?:nan|inf|infinity)(?=\Z|[\s|,])", re.IGNORECASE)
_LONGEST = 1000  # no row of a tool is longer
# "  1048576   1   47,78": whole numbers, then at least one with a comma as decimal point, and nothing else
_COMMA_ROW = late_regex(
    r"\A\s{0,40}[0-9]{1,18}(?:\s{1,40}[0-9]{1,18}){0,3}(?:\s{1,40}[0-9]{1,15},[0-9]{1,6})+\s{0,40}\Z"
)
# "Mop/s total  =  1234,56"   |   "Minimum latency: 1,312 usec": a list ("CUDA_VISIBLE_DEVICES=0,1") measures nothing
_COMMA_VALUE = late_regex(
    r"\A(?=[^=:]{0,80}(?:time|seconds|latency|bandwidth|rate|flops?|op/s)\b)[^=:]{2,80}[=:]\s{0,40}"
    r"[0-9]{1,15},[0-9]{1,9}(?:e[+-]?[0-9]{1,3})?(?=\Z|\s)",
    re.IGNORECASE,
)
_COMMA = "a comma in place of the decimal point, so that no figure is read (set LC_ALL=C in the job): "
#: NCCL's tests, NetPIPE and others have signs of their own, or sizes that need not rise.
_TOOLS = frozenset({"osu", "imb", "perftest", "fabtests"})
MIXED = "lines of two outputs are mixed; give each a file of its own"
_LONGEST_ROW = 400  # no row of these tools is longer
# "# Size      Bandwidth (MB/s)"   |   "#bytes #repetitions …"   |   "bytes   #sent …"
_HEADING = late_regex(r"\s*#?\s*(?:size|bytes)\b", re.IGNORECASE)
# 4096   4096l of IMB-MT   64k and 1.5k of fabtests
_SIZE = late_regex(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,3}(?=[kmg]))?)(?P<prefix>[kmg]?)l?")
# 0.00s and =10k of fabtests, and the marks of a validation
_OTHER_WORD = late_regex(r"=?[0-9.]{1,20}[kmgtbs]|=[0-9]{1,15}|pass(?:ed)?|fail(?:ed)?|skipped", re.IGNORECASE)
_FAILED = late_regex(r"\bfail(?:ed)?$", re.IGNORECASE)
#: The first and the last line of a run, or of a part of it. perftest's own end is a rule, so its heading is taken.
_RUNS = {
    "clusterkit": (
        late_regex(r"^[ \t]{0,40}Minimum (?:bandwidth|latency):", re.MULTILINE),
        late_regex(r"^[ \t]{0,40}Average (?:bandwidth|latency):", re.MULTILINE),
    ),
    "hpl": (late_regex(r"^\s*HPLinpack [0-9]", re.MULTILINE), late_regex(r"^\s*End of Tests\.", re.MULTILINE)),
    "milc": (
        late_regex(r"^MIMD version [0-9]", re.MULTILINE),
        late_regex(r"^exit: ", re.MULTILINE),
    ),
    "perftest": (
        late_regex(r"^[ \t]{1,60}[A-Z][\w -]{2,60} Test[ \t]{0,9}$", re.MULTILINE),
        late_regex(r"^[ \t]{0,9}#bytes[ \t]", re.MULTILINE),
    ),
}
#: A row with what rises (of each "domain" by itself) and the figure; the beginning of a run.
_SERIES = {
    "wrf": (
        late_regex(
            r"Timing for main.{0,40}: time (?P<place>\S{1,60}) on domain {1,12}(?P<domain>[0-9]{1,8}):"
            r" {0,20}(?P<figure>\S{1,20})",
            re.MULTILINE,
        ),
        late_regex(r"starting wrf task|Ntasks in X|SUCCESS COMPLETE WRF"),
    ),
    "netpipe": (
        late_regex(
            r"^ {0,9}(?P<place>[0-9]{1,6}): {1,20}[0-9]{1,15}(?P<domain> bytes) {1,20}(?P<figure>.{0,80})$",
            re.MULTILINE,
        ),
        late_regex(r"^Now starting the main loop|^Start testing with", re.MULTILINE),
    ),
}
#: What perftest prints in this order: titles, settings, heading, rows, rule.
_PERFTEST_PART = late_regex(
    r"^[ \t]{0,60}(?:(?P<title>[A-Z][\w -]{2,60} Test[ \t]{0,9}$)|(?P<heading>#bytes[ \t])"
    r"|(?P<rule>-{20,200}[ \t]{0,9}$)|[^:\n]{0,30}(?:: (?:ON|OFF)[ \t]{1,9})?(?P<device>\bDevice[ \t]{1,12}: )"
    r"|(?P<row>[0-9]{1,15})[ \t]{1,20}[0-9]{1,15}(?:[ \t]{1,30}[0-9]{1,15}\.[0-9]{2,6}){1,12}[ \t]{0,9}$)",
    re.MULTILINE,
)
_ADDRESS = late_regex(r"\b(?P<side>local|remote) address: (?P<address>LID .{0,40}PSN 0x[0-9a-f]{1,8})")


@dataclass(frozen=True, slots=True)
class _Row:
    """A line with the form of a row: its number, its text, its size in bytes and its number of words."""

    line: int
    text: str
    size: int
    width: int


def with_wrong_lines(parsed: ParsedOutput, text: str) -> ParsedOutput:
    """Return what was read in a text, with a failure for each line that reports one or has a value that is not finite.

    Ports are not changed: a fabric's own tools have other words for errors.
    """
    if not parsed.tables and (parsed.fabric or parsed.hardware):
        return parsed
    whole = clean_text(text)  # here once, or each check below would do it again
    parsed = without_commented_rows(without_mixed_rows(parsed, whole), whole)
    parsed = without_unannounced_rows(without_lost_rows(without_absurd_numbers(parsed, whole)))
    if not ("," in whole or _names_nothing_finite(whole) or failure_lines.ROOT.search(whole)):
        return parsed  # most outputs: no line has to be looked at
    known = {failure.line for failure in parsed.failures}
    found = {
        number: said
        for number, line in enumerate(texts_of(whole), start=1)
        if (said := _wrong(line, number in known)) is not None
    }
    commas = next((number for number, said in found.items() if said.startswith(_COMMA)), 0)
    if not found:
        return parsed
    others = (failure for failure in parsed.failures if failure.line not in found)
    new = (Remark(number, said) for number, said in found.items())
    return replace(
        parsed,
        failures=tuple(sorted((*others, *new), key=lambda failure: (failure.line != commas, failure.line))),
        remarks=tuple(remark for remark in parsed.remarks if remark.line not in found),
    )


def _names_nothing_finite(text: str) -> bool:
    small = text.lower()  # to look for the words first is thirty times faster; other alphabets have more letters for i
    can = not text.isascii() or "nan" in small or "inf" in small
    return can and _NOT_FINITE.search(text) is not None


def _wrong(line: str, is_known: bool) -> str | None:
    """Return what is wrong according to a line; None if nothing is, or if it is a known failure for another reason."""
    if "," in line and len(line) <= _LONGEST and (_COMMA_ROW.match(line) or _COMMA_VALUE.match(line)):
        return f"{_COMMA}{line.strip()}"
    if len(line) <= _LONGEST and _NOT_FINITE.search(line) and ("=" in line or any(map(str.isdigit, line))):
        return f"not finite: {line.strip()}"
    return line.strip()[:LONGEST_NOTE] if not is_known and is_failure(line) else None


def without_absurd_numbers(parsed: ParsedOutput, text: str) -> ParsedOutput:
    """Return what was read without figures that no measurement gives, and with a failure for the line of each."""
    doubtful = [table for table in parsed.tables if not table.complete or _has_absurd(table)]
    lines = texts_of(clean_text(text)) if doubtful or _FAR_EXPONENT.search(text) else []
    # also rows that no parser took for one: "1e308   1000   57.71"
    found = {
        place: Remark(place, f"{what}: {line.strip()}")
        for place, line in enumerate(lines, start=1)
        if _FAR_EXPONENT.search(line) and (what := _absurd_in(line, False)) is not None
    }
    if not doubtful and not found:
        return parsed
    for table in doubtful:
        # the root of a collective without one is -1
        negative = any(
            _is_absurd(cell, unit) and isinstance(cell, int | float) and cell < 0 for cell, unit in _cells(table)
        )
        for place, line in enumerate(lines[table.line - 1 :], start=table.line):
            what = _absurd_in(line, negative) if place not in found else None
            if what is not None:
                found[place] = Remark(place, f"{what}: {line.strip()}")
    if not found and not any(map(_has_absurd, doubtful)):
        return parsed
    remarks = tuple(remark for remark in parsed.remarks if remark.line not in found)
    new = tuple(found.values()) or (Remark(doubtful[0].line, "a figure that no measurement gives"),)
    new = tuple(failure for failure in new if failure not in parsed.failures)
    return replace(
        parsed,
        tables=tuple(map(_drop_absurd, parsed.tables)),
        failures=tuple(sorted((*new, *parsed.failures), key=lambda failure: failure.line)),
        remarks=remarks,
    )


def _cells(table: Table) -> list[tuple[Cell, str | None]]:
    return [pair for row in table.rows for pair in zip(row, table.units, strict=True)]


def _has_absurd(table: Table) -> bool:
    columns = zip(table.units, zip(*table.rows, strict=True), strict=False)  # none without a row
    return any(not _is_plain(cells) and any(_is_absurd(cell, unit) for cell in cells) for unit, cells in columns)


def _is_plain(cells: tuple[Cell, ...]) -> bool:
    """Return whether the smallest and the largest cell show that none is absurd: nearly always, and ten times faster.

    False says nothing.
    """
    if not {*map(type, cells)} <= {int, float}:
        return False
    numbers = [cell for cell in cells if cell is not None]
    # in a sum, a NaN remains; smallest and largest could miss it
    return min(numbers) >= _SMALLEST and max(numbers) <= _LARGEST_PRINTED and math.isfinite(sum(numbers))


def _is_absurd(cell: Cell, unit: str | None) -> bool:
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return False
    if isinstance(cell, float) and not math.isfinite(cell):
        return True
    most = _LARGEST_PRINTED if unit == "B" else _LARGEST
    return unit in _MEASURED and (cell < 0 or cell > most or 0 < cell < _SMALLEST)


def _absurd_in(line: str, negative: bool) -> str | None:
    """Return what is wrong with the first such number of a row, in words; None if each can be, or for other lines."""
    words = line.split() if len(line) <= _LONGEST else []
    named = _NAMED.fullmatch(line) if words else None
    if named is not None:
        words = [named["figure"]]
    if 2 * sum(_NUMBER.fullmatch(word) is not None for word in words) < max(1, len(words)):
        return None
    for found in _NUMBER.finditer(line):
        value = float(found["number"])
        if not math.isfinite(value):
            return "not finite"
        if abs(value) > _LARGEST_PRINTED or 0 < abs(value) < _SMALLEST:
            return "beyond any measurement"
        if value < 0 and negative:
            return "below 0"
    return None


def _drop_absurd(table: Table) -> Table:
    """Return a table whose absurd cells are empty; it is incomplete if it had one."""
    rows = tuple(
        tuple(None if _is_absurd(cell, unit) else cell for cell, unit in zip(row, table.units, strict=True))
        for row in table.rows
    )
    return table if rows == table.rows else replace(table, rows=rows, complete=False)


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
    failure = _first_mixed_row(parsed, text) or _first_torn_row(parsed, text)
    if failure is None:
        return parsed
    # a heading without rows is a consequence
    rest = (each for each in parsed.failures if each.line != failure.line and not NO_ROW.match(each.text))
    return ParsedOutput((), (failure, *rest), parsed.remarks)


def _first_mixed_row(parsed: ParsedOutput, text: str) -> Remark | None:
    # A row whose own validation failed is a failure, and no row of another output.
    noted = [note for note in (*parsed.failures, *parsed.remarks) if not _FAILED.search(note.text)]
    notes = [note for note in noted if _row(note.line, note.text) is not None]
    if not notes and all(map(_rises, parsed.tables)):
        return None  # most outputs: no line has to be looked at
    return next(_find_mixed(parsed, text, {note.line for note in notes}), None)


def _first_torn_row(parsed: ParsedOutput, text: str) -> Remark | None:
    """Return a failure for the first row of which a part is of another output, and what shows it; None without one.

    Two programs wrote into one file, and a row of each was broken. OSU and IMB print each figure into a field of a
    fixed width, so in one table all figures of a column end at the same place, unless a page laid it out again.
    perftest prints to the left; there its peaks show it: a run measures all or none of them (a server and ``-D`` print
    0.00). Figures of a row that contradict each other are the verdict's (rule 2).
    """
    tables = [table for table in parsed.tables if table.tool in _TEARABLE and len(table.rows) > 1]
    if not tables:
        return None
    lines = texts_of(text)
    last = 0 if text.endswith("\n") else len(lines)  # it may be cut, which is another fault
    begins = [*sorted(table.line for table in parsed.tables), len(lines) + 1]
    found: list[tuple[int, str]] = []
    for table in tables:
        end = begins[bisect_right(begins, table.line)]
        rows = [
            (number, lines[number - 1])
            for number in range(table.line, end)
            if number != last and len(lines[number - 1]) <= _LONGEST
        ]
        found += [*_find_misplaced(table, rows), *_find_lone_peaks(table, rows)]
    if not found:
        return None
    line, what = min(found)
    shown = " ".join(texts_of(clean_text(text))[line - 1].split())[:_LONGEST_ROW]
    return Remark(line, f"found {shown!r} {what}: {MIXED}")


def _find_misplaced(table: Table, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the rows whose figures end at other places than those of nearly all others."""
    if table.tool not in _ALIGNED or len(table.rows) < _LEAST_ROWS:
        return
    width = len(table.columns)
    rows_of_it = {
        at: line for at, line in lines if "." in line and line.lstrip()[:1].isdigit() and len(line.split()) == width
    }
    places = {at: tuple(word.end() for word in _WORD.finditer(line))[1:] for at, line in rows_of_it.items()}
    counted = Counter(places.values())
    usual, rows = counted.most_common(1)[0] if counted else ((), 0)
    others = len(places) - rows
    if not others or rows < _LEAST_ROWS - 1 or others * _MOST_TORN > len(places):
        return
    if _is_laid_out_again(list(rows_of_it.values())):
        return
    fixed = max(decimals(line.split()[-1]) for line in rows_of_it.values())
    for at, place in places.items():
        if place != usual and decimals(rows_of_it[at].split()[-1]) == fixed:  # one that is cut is another fault
            yield at, "whose figures are not at the place of those of the other rows"


def _is_laid_out_again(lines: Sequence[str]) -> bool:
    """Return whether a page or a program set a whole table: from the left (`column -t`), with the same blanks between
    all figures, or without the blanks before the rows.
    """
    begins = {tuple(word.start() for word in _WORD.finditer(line)) for line in lines}
    blanks = {tuple(_BLANKS.findall(line.strip())) for line in lines}
    behind_size = set()
    for line in lines:
        first, *others = (word.end() for word in _WORD.finditer(line))
        behind_size.add(tuple(end - first for end in others))
    return min(map(len, (begins, blanks, behind_size))) <= 1


def _find_lone_peaks(table: Table, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the line of the first row of perftest that has a peak where others have none, or none where they have."""
    if table.tool != "perftest" or not {"size", "bandwidth", "bandwidth_peak"} <= set(table.columns):
        return
    sizes, rates, peaks = (table.column(name) for name in ("size", "bandwidth", "bandwidth_peak"))
    has = [bool(peak) for peak, rate in zip(peaks, rates, strict=False) if rate and rate >= 1]
    if any(has) and not all(has):
        place = next(at for at, peak in enumerate(peaks) if bool(peak) != has[0] and (rates[at] or 0) >= 1)
        yield _line(lines, sizes[place], table.line), "whose peak is of another run: a run measures all peaks or none"


def _line(lines: Sequence[tuple[int, str]], size: Cell, begin: int) -> int:
    """Return the line of the row with this size; where none is, the table's line."""
    return next((at for at, line in lines if line.split()[:1] == [str(size)]), begin)


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
    said = " ".join(texts_of(plain)[line - 1].split())[:_LONGEST_ROW]
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
        is_left = line in left
        if before is not None and row.size <= before.size and (row.width == before.width or is_left):
            if is_left or own in doubtful:
                yield _failure(row, f"after the row of {message_size(before.size)}, expected a larger size")
        elif is_left and (row.width in widths or row.width > max(widths)):
            words = "a heading" if before is None else f"a row of {count_of(before.width, 'word')}"
            yield _failure(row, f"which no heading announces, expected {words}")
        before = before if is_left and before is not None else row


def _failure(row: _Row, what: str) -> Remark:
    shown = " ".join(row.text.split())
    return Remark(row.line, f"found {shown!r} {what}: {MIXED}")


def _row(line: int, text: str) -> _Row | None:
    """Return the row that a line is: a size, then at least one value, one of them with a point; None for any other."""
    words = text.split() if len(text) <= _LONGEST_ROW else []
    size = _SIZE.fullmatch(words[0]) if len(words) > 1 else None
    if size is None or not any("." in word for word in words[1:]):
        return None
    if any(number(word) is None and not _OTHER_WORD.fullmatch(word) for word in words[1:]):
        return None
    return _Row(line, text, round(float(size["number"]) * PREFIX_BYTES[size["prefix"]]), len(words))
