"""Rows of which one part is of another output: two programs wrote into one file, and a row of each was broken.

Two things show it. OSU and IMB print each figure into a field of a fixed width, so in one table all figures of a column
end at the same place, unless a page laid it out again. And the figures of a row agree: a bandwidth is the
message rate times the size, and in IMB the size over the time, times the same factor in each row of a table.

perftest prints to the left, so its figures have no place. Its peaks show it instead: a run measures all or none of them
(a server and ``-D`` print 0.00).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from railyard.parsers.lines import texts_of
from railyard.parsers.output import Cell, ParsedOutput, Table

_ALIGNED = frozenset({"osu", "imb"})
_LEAST_ROWS = 5  # of a table whose places say something
_MOST_TORN = 4  # at most one of so many rows: in a table that was pasted without its blanks, no place is the same
#: What both figures may differ by, beside their rounding: no more than MB and MiB do, of which a page may take one for
#: the other. In 1,168 rows of 30 clusters they agree within their rounding.
_AGREE = 0.06
_HALF_RATE = {"osu": 0.005, "imb": 0.5, "perftest": 0.5}  # 1/s
_HALF_GBIT, _HALF_MB = 0.005 * 125.0, 0.005 * 1.05  # MB/s
_MOST_ROUNDED = 0.1  # a figure that lost more says nothing
_WORD, _BLANKS = re.compile(r"\S+"), re.compile(r"\s+")
_LONGEST = 400


def find_torn(parsed: ParsedOutput, text: str) -> tuple[int, str] | None:
    """Return the line (1-based) of the first torn row, and what shows it; None if there is none."""
    tables = [table for table in parsed.tables if table.tool in _HALF_RATE and len(table.rows) > 1]
    if not tables:
        return None
    lines = texts_of(text)
    begins = [*sorted(table.line for table in parsed.tables), len(lines) + 1]
    found: list[tuple[int, str]] = []
    for table in tables:
        end = next((begin for begin in begins if begin > table.line), len(lines) + 1)
        rows = [(number, lines[number - 1]) for number in range(table.line, end) if len(lines[number - 1]) <= _LONGEST]
        found += [*_find_misplaced(table, rows), *_find_contradictions(table, rows)]
    return min(found, default=None)


def _find_misplaced(table: Table, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the rows whose figures end at other places than those of nearly all others."""
    if table.tool not in _ALIGNED or len(table.rows) < _LEAST_ROWS:
        return
    width = len(table.columns)
    rows_of_it = {
        number: line
        for number, line in lines
        if "." in line and line.lstrip()[:1].isdigit() and len(line.split()) == width
    }
    if _is_laid_out_again(list(rows_of_it.values())):
        return
    places = {number: tuple(word.end() for word in _WORD.finditer(line))[1:] for number, line in rows_of_it.items()}
    counted = Counter(places.values())
    usual, rows = counted.most_common(1)[0] if counted else ((), 0)
    others = len(places) - rows
    if rows < _LEAST_ROWS - 1 or others * _MOST_TORN > len(places):
        return
    for number, place in places.items():
        if place != usual:
            yield number, "whose figures are not at the place of those of the other rows"


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


def _find_contradictions(table: Table, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the line of each row whose bandwidth is not its message rate times its size, or that alone has a peak."""
    columns = {name: table.column(name) for name in table.columns}
    if not {"size", "bandwidth"} <= columns.keys():
        return
    sizes, rates = columns["size"], columns["bandwidth"]
    for place, count in enumerate(columns.get("message_rate", ())):
        if _differ(table, sizes[place], rates[place], count):
            yield _line(lines, sizes[place], table.line), "whose bandwidth is not its message rate times its size"
    if table.tool == "imb":
        for place in _slower_or_faster(table, columns):
            yield _line(lines, sizes[place], table.line), "whose bandwidth is not its size over its time"
    peaks = columns.get("bandwidth_peak", ()) if table.tool == "perftest" else ()
    has = [bool(peak) for peak, rate in zip(peaks, rates, strict=False) if rate and rate >= 1]
    if any(has) and not all(has):
        place = next(at for at, peak in enumerate(peaks) if bool(peak) != has[0] and (rates[at] or 0) >= 1)
        yield _line(lines, sizes[place], table.line), "whose peak is of another run: a run measures all peaks or none"


def _slower_or_faster(table: Table, columns: Mapping[str, Sequence[Cell]]) -> Iterator[int]:
    """Yield the places of IMB's rows whose size over time is another share of the bandwidth than in most rows."""
    times = columns.get("time") or columns.get("time_max") or ()
    shares = {}
    for place, (size, rate, time) in enumerate(zip(columns["size"], columns["bandwidth"], times, strict=False)):
        if not (size and rate and time) or min(size, rate, time) < 0:  # a changed sign is refused as such
            continue
        if (error := _HALF_MB / float(rate) + 0.005 / float(time)) < _MOST_ROUNDED:
            shares[place] = float(rate) * float(time) / float(size), error
    if len(shares) < _LEAST_ROWS - 1:
        return
    usual = median(share for share, _ in shares.values())
    yield from (place for place, (share, error) in shares.items() if abs(share / usual - 1) > _AGREE + error)


def _differ(table: Table, size: Cell, rate: Cell, count: Cell) -> bool:
    if not size or not rate or not count:
        return False
    half = _HALF_GBIT if table.context.get("report_gbits") else _HALF_MB
    due = float(size) * float(count) / 1e6
    allowed = half + _HALF_RATE[table.tool] * float(size) / 1e6 + _AGREE * max(float(rate), due)
    return abs(float(rate) - due) > allowed


def _line(lines: Sequence[tuple[int, str]], size: Cell, begin: int) -> int:
    """Return the line of the row with this size; where none is, the table's line."""
    return next((number for number, line in lines if line.split()[:1] == [str(size)]), begin)
