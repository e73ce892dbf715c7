"""OSU micro-benchmarks 2.0 to 7.5, as typed tables.

``parse`` returns one table a banner, in the order of the text: benchmark (the executable's name), version, what the
heading says besides (datatype, pairs, window, buffers), columns with units, rows, OSU's own validation as true or
false. MB/s is 10^6 B/s here (osu_util: ``size / 1e6 * iterations * window / t``; 7.4 and older alike), times are us.

A table is complete unless a row is cut, an ellipsis stands in the place of rows, or an error follows the rows before
the next banner. A table that merely ends early is complete: the text cannot tell it from ``-m``.
A heading without any row gives no table but a failure.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.lines import Line, decimals, is_failure, lines_of, number, whole
from railyard.parsers.osutitles import COLLECTIVES, benchmark_of
from railyard.parsers.parsed import Cell, ContextValue, Parsed, ParseError, Remark, Table

# Printed heading -> column and unit, old and new wording side by side. A new heading is a new line here.
HEADINGS: MappingProxyType[str, tuple[str, str | None]] = MappingProxyType(
    {
        "Size": ("size", "B"),
        "Latency (us)": ("latency", "us"),
        "Avg Latency(us)": ("avg", "us"),  # point to point since 7.5: the column is latency
        "Min Latency(us)": ("min", "us"),
        "Max Latency(us)": ("max", "us"),
        "Iterations": ("iterations", None),
        "Bandwidth (MB/s)": ("bandwidth", "MB/s"),
        "Bi-Directional Bandwidth (MB/s)": ("bandwidth", "MB/s"),
        "MB/s": ("bandwidth", "MB/s"),
        "Messages/s": ("message_rate", "1/s"),
        "Overall(us)": ("overall", "us"),
        "Compute(us)": ("compute", "us"),
        "Coll. Init(us)": ("coll_init", "us"),
        "MPI_Test(us)": ("mpi_test", "us"),
        "MPI_Wait(us)": ("mpi_wait", "us"),
        "Pure Comm.(us)": ("pure_comm", "us"),
        "Min Comm.(us)": ("min_comm", "us"),
        "Max Comm.(us)": ("max_comm", "us"),
        "Overlap(%)": ("overlap", "%"),
        "P50 Tail Lat(us)": ("p50_tail_lat", "us"),
        "P90 Tail Lat(us)": ("p90_tail_lat", "us"),
        "P99 Tail Lat(us)": ("p99_tail_lat", "us"),
        "P50 Tail BW(MB/s)": ("p50_tail_bw", "MB/s"),
        "P90 Tail BW(MB/s)": ("p90_tail_bw", "MB/s"),
        "P99 Tail BW(MB/s)": ("p99_tail_bw", "MB/s"),
        "Validation": ("validation", None),
    }
)
_VALIDATION = MappingProxyType({"pass": True, "fail": False})
_DECIMALS = 2  # FLOAT_PRECISION of every release

_BY_TEXT = {re.sub(r"\s", "", text).lower(): value for text, value in HEADINGS.items()}
_ONE_HEADING = re.compile(
    r"\s*(?:"
    + "|".join(re.escape(text).replace(r"\ ", r"\s?") for text in sorted(HEADINGS, key=len, reverse=True))
    + r")"
    r"(?=\s|\Z)",
    re.IGNORECASE,
)
# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.5   |   # OSU MPI Latency Test (Version 2.1)   |   #OSU … Test v5.7
_TITLE = re.compile(
    r"^\s*#\s*OSU (?P<name>\S.{0,120}?) Test\s{0,20}"
    r"(?:v\.?(?P<v>[0-9]\S{0,40})|\(Version (?P<version>[^)\s]{1,40})\))?\s*$",
    re.IGNORECASE,
)
_TITLE_BEGUN = re.compile(r"^\s*#\s*OSU .{0,200}$", re.IGNORECASE)
_HEADING_BEGUN = re.compile(r"^\s*#\s*Size\b.{0,300}$", re.IGNORECASE)
# nprocs: 144, min: 2032 ms, max: 2054 ms, avg: 2048 ms
_INIT = re.compile(
    r"^\s*nprocs:\s*(?P<ranks>[0-9]{1,9}), min:\s*(?P<min>[0-9.]{1,20}) ms, max:\s*(?P<max>[0-9.]{1,20}) ms, "
    r"avg:\s*(?P<avg>[0-9.]{1,20}) ms\s*$"
)
_CONTEXT = (
    # [ pairs: 4 ] [ window size: 64 ]
    re.compile(r"^\s*#?\s*\[ pairs: (?P<pairs>[0-9]{1,9}) \](?: \[ window size: (?P<window>[0-9]{1,9}) \])?\s*$"),
    re.compile(r"^\s*#\s*Datatype: (?P<datatype>[A-Za-z_]{1,60})\.?\s*$"),
    # Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)
    re.compile(
        r"^\s*#\s*Send Buffer on (?P<send_buffer>[A-Z ]{1,20}) \(\S+\) "
        r"and Receive Buffer on (?P<receive_buffer>[A-Z ]{1,20}) \(.*$"
    ),
    re.compile(r"^\s*#\s*Window creation: (?P<window_creation>\S{1,60})\s*$"),
    re.compile(r"^\s*#\s*Synchronization: (?P<synchronization>\S{1,60})\s*$"),
)
_OWN_COMMENT = re.compile(r"^\s*#.*$")


@dataclass(slots=True)
class _Block:
    """One table while it is read."""

    line: int
    benchmark: str | None = None
    version: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    units: tuple[str | None, ...] = ()
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    decimals: int = _DECIMALS
    part: list[str] = field(default_factory=list)  # a row's first half, when a mailer wrapped the line
    spoiled: bool = False


def parse(text: str) -> Parsed:
    """Return the tables, failures and remarks of one output of OSU's MPI benchmarks.

    Raises ParseError where the text has neither a banner nor a heading of OSU, nor an error of one of its programs.
    """
    reader = _Reader()
    for line in _unwrapped(lines_of(text)):
        reader.read(line)
    return reader.parsed(text)


def _unwrapped(lines: list[Line]) -> list[Line]:
    """Return the lines with every banner and heading that a mailer wrapped put together again."""
    out: list[Line] = []
    for line in lines:
        before = out[-1] if out else None
        if before and not before.text.isspace() and _is_wrapped(before, line):
            out[-1] = Line(before.number, f"{before.text.rstrip()} {line.text.strip()}", line.ended)
        else:
            out.append(line)
    return out


def _is_wrapped(before: Line, line: Line) -> bool:
    if _TITLE_BEGUN.match(before.text) and not _TITLE.match(before.text):
        return bool(_TITLE.match(f"{before.text.rstrip()} {line.text.strip()}"))
    if _HEADING_BEGUN.match(before.text) and not line.text.lstrip().startswith("#"):
        # no row is made of headings; a heading broken inside one ("Bandwidth" / "(MB/s)") is none before it is joined
        return bool(_headings(f"{before.text.rstrip()} {line.text.strip()}")) and bool(line.text.strip())
    return False


def _headings(text: str) -> list[tuple[str, str | None]]:
    """Return column and unit of each heading of this line; none where it is not made of headings alone."""
    if len(text) > 600:
        return []
    stripped = text.strip()
    position = 1 if stripped.startswith("#") else 0
    found: list[tuple[str, str | None]] = []
    while position < len(stripped):
        one = _ONE_HEADING.match(stripped, position)
        if not one:
            return []
        found.append(_BY_TEXT[re.sub(r"\s", "", one[0]).lower()])
        position = one.end()
    return found


class _Reader:
    """The state between lines: the table that is open and what was found so far."""

    def __init__(self) -> None:
        self.block: _Block | None = None
        self.blocks: list[_Block] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []
        self.known = False  # a line of OSU's own was seen

    def read(self, line: Line) -> None:
        """Read one line: the first kind that knows it takes it; what no kind knows is a failure or a remark."""
        kinds = (self._title, self._context, self._heading, self._row, self._init, self._wrapped, self._own)
        if line.text.strip() and not any(kind(line) for kind in kinds):
            self._foreign(line)

    def parsed(self, text: str) -> Parsed:
        """Return what was found, once every line was read."""
        self._close()
        tables = []
        for block in self.blocks:
            if block.rows:
                tables.append(_table(block))
            else:
                self.failures.append(Remark(block.line, f"a heading without any row: {block.benchmark or 'no title'}"))
        if not self.known and not (self.failures and re.search(r"\bosu_[a-z_]{2,40}\b", text)):
            first = next((line for line in lines_of(text) if line.text.strip()), Line(0, "", True))
            raise ParseError(
                first.number, first.text, 'output of OSU: a banner "# OSU … Test v…" or a heading "# Size …"'
            )
        ordered = sorted(self.failures, key=lambda item: item.line)
        return Parsed(tuple(tables), tuple(ordered), tuple(self.remarks))

    def _title(self, line: Line) -> bool:
        title = _TITLE.match(line.text)
        if not title:
            return False
        self._close()
        self.known = True
        benchmark = benchmark_of(title["name"])
        if benchmark == "osu_hello":
            # prints no measured number
            self.remarks.append(Remark(line.number, line.text.strip()))
            return True
        self.block = _Block(line.number, benchmark, title["v"] or title["version"])
        device = re.search(r"-(CUDA|ROCM|OPENACC|SYCL|MANAGED)\b", title["name"], re.IGNORECASE)
        if device:
            self.block.context["device"] = device[1].upper()
        return True

    def _context(self, line: Line) -> bool:
        for pattern in _CONTEXT:
            found = pattern.match(line.text)
            if not found:
                continue
            if self.block and self.block.rows:
                # the same program goes on with another datatype: a table of its own
                self._again(line)
            if self.block:
                given = found.groupdict().items()
                self.block.context |= {k: int(v) if v.isdigit() else v for k, v in given if v is not None}
            return True
        return False

    def _again(self, line: Line) -> None:
        before = self.block
        self._close()
        if before:
            self.block = _Block(line.number, before.benchmark, before.version, dict(before.context))

    def _heading(self, line: Line) -> bool:
        found = _headings(line.text)
        # one word alone ("Iterations", "MB/s") may be anyone's
        if not found or (len(found) < 2 and not (self.block and not self.block.columns)):
            return False
        self.known = True
        if self.block is None or self.block.rows:
            self._close()
            self.block = _Block(line.number)
        self.block.columns = _columns(self.block.benchmark, [name for name, _ in found])
        self.block.units = tuple(unit for _, unit in found)
        return True

    def _row(self, line: Line) -> bool:
        block, words = self.block, line.words
        if block is None or not words:
            return False
        cells = _cells(words, block)
        if cells is None:
            return False
        self._add(block, line, cells, words[-1])
        return True

    def _add(self, block: _Block, line: Line, cells: tuple[Cell, ...], last: str) -> None:
        block.part = []
        if not (whole(line, block.decimals) or last.lower() in _VALIDATION):
            block.spoiled = True
            return
        block.rows.append(cells)
        block.decimals = decimals(last)
        if cells[-1] is False:
            self.failures.append(Remark(line.number, line.text.strip()))

    def _init(self, line: Line) -> bool:
        found = _INIT.match(line.text)
        if not found or self.block is None or self.block.benchmark != "osu_init":
            return False
        values = [number(found[name]) for name in ("avg", "min", "max")]
        self.block.columns, self.block.units = ("avg", "min", "max"), ("us", "us", "us")
        self.block.context["ranks"] = int(found["ranks"])
        if all(value is not None for value in values):
            self.block.rows.append(tuple(value * 1000 for value in values if value is not None))
        self._close()
        return True

    def _wrapped(self, line: Line) -> bool:
        """Read a line of numbers that are fewer than a row: half of a wrapped row, else a cut one."""
        block, words = self.block, line.words
        if block is None or not block.columns or not words or any(number(word) is None for word in words):
            return False
        joined = _cells(block.part + words, block) if block.part else None
        if joined is not None:
            self._add(block, line, joined, words[-1])
            return True
        if not _begins_row(words, block):
            return False
        block.spoiled |= bool(block.part)
        block.part = words
        return True

    def _own(self, line: Line) -> bool:
        return bool(_OWN_COMMENT.match(line.text)) and not is_failure(line.text)

    def _foreign(self, line: Line) -> None:
        failed, block = is_failure(line.text), self.block
        (self.failures if failed else self.remarks).append(Remark(line.number, line.text.strip()[:2000]))
        if block and (failed or line.dots or (_begins_row(line.words[:1], block) and _looks_cut(line.words))):
            block.spoiled = True

    def _close(self) -> None:
        if self.block:
            self.block.spoiled |= bool(self.block.part)
            self.blocks.append(self.block)
        self.block = None


def _columns(benchmark: str | None, names: list[str]) -> tuple[str, ...]:
    """Return the columns: the one value of a collective is avg, that of a point to point test is latency."""
    one = "min" not in names and "max" not in names
    if benchmark in COLLECTIVES:
        return tuple("avg" if name == "latency" else name for name in names)
    if benchmark is not None and one:
        return tuple("latency" if name == "avg" else name for name in names)
    return tuple(names)


def _cells(words: list[str], block: _Block) -> tuple[Cell, ...] | None:
    """Return one row's cells, or None where these words are no row of this table (sizes rise within one)."""
    if not block.columns or len(words) != len(block.columns):
        return None
    cells: list[Cell] = []
    for column, word in zip(block.columns, words, strict=True):
        value = _VALIDATION.get(word.lower()) if column == "validation" else number(word)
        if value is None:
            return None
        cells.append(value)
    if block.columns[0] == "size" and not _begins_row(words[:1], block):
        return None
    return tuple(cells)


def _begins_row(words: list[str], block: _Block) -> bool:
    """Return whether the first word can be the next row's size: a whole number above the last row's."""
    if not words or not block.columns or block.columns[0] != "size" or not words[0].isdigit() or len(words[0]) > 18:
        return False
    last = block.rows[-1][0] if block.rows else -1
    return len(words) < len(block.columns) and (last is None or int(words[0]) > last)


def _looks_cut(words: list[str]) -> bool:
    """Return whether a value's beginning follows the size: the row was overrun by another process' line."""
    return len(words) > 1 and words[1][:1].isdigit() and "." in words[1]


def _table(block: _Block) -> Table:
    return Table(
        tool="osu",
        version=block.version,
        benchmark=block.benchmark,
        columns=block.columns,
        units=block.units,
        rows=tuple(block.rows),
        line=block.line,
        complete=not block.spoiled,
        context=MappingProxyType(block.context),
    )
