"""Output of the OSU micro-benchmarks 2.0 to 8.0, in C, Java and Python, as typed tables.

``parse`` returns one table per banner, in the order of the text: benchmark (the executable's name), version, what else
the heading says (datatype, pairs, window, buffers), columns with units, rows, OSU's own validation as true or false.
MB/s is 10^6 B/s here (osu_util: ``size / 1e6 * iterations * window / t``; 7.4 and older alike), times are us.

A table is complete unless a row is cut or belongs elsewhere, an ellipsis is in place of rows, or an error follows the
rows before the next banner. A table that only ends early is complete: the text cannot tell this from ``-m``. A heading
without any row gives a failure and no table.
"""

import operator
import re
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from railyard.base.patterns import late_regex
from railyard.parsers.lines import (
    DECIMAL,
    WHOLE,
    Line,
    Run,
    Scanner,
    decimals,
    foreign,
    is_failure,
    is_no_next_size,
    is_whole,
    number,
    own_text,
    remember_answers,
    run_pattern,
)
from railyard.parsers.osu_headings import (
    EXECUTABLES,
    LONGEST,
    columns_of,
    context_of,
    crowd_of,
    foreign_columns,
    headings_of,
    is_begun,
    is_cut_title,
    is_wrapped,
    title_of,
    unknown_heading,
    windows_of,
)
from railyard.parsers.output import Caution, Cell, ContextValue, ParsedOutput, Remark, Table
from railyard.parsers.wrong_lines import MIXED

# Pass and Fail; osu_acc_latency, osu_cas_latency and osu_fop_latency write them out, or skip a type
VALIDATION = MappingProxyType({"pass": True, "passed": True, "fail": False, "failed": False, "skipped": None})
_DECIMALS = 2  # FLOAT_PRECISION of every release
_WHOLE_COLUMNS = frozenset({"size", "iterations", "transmit_size"})


@dataclass(slots=True)
class Block:
    """One table while it is read."""

    line: int
    benchmark: str | None = None
    version: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    units: tuple[str | None, ...] = ()
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    decimals: int = _DECIMALS
    part: list[str] = field(default_factory=list)  # a row's first half, if a mailer wrapped the line
    spoiled: bool = False

    def table(self) -> Table:
        """Return the table as far as it was read."""
        return Table(
            tool="osu",
            version=self.version,
            benchmark=self.benchmark,
            columns=self.columns,
            units=self.units,
            rows=tuple(self.rows),
            line=self.line,
            complete=not self.spoiled,
            context=MappingProxyType(self.context),
        )

    @property
    def last_decimals(self) -> int:
        """Return how many decimals the last figure of each row has; 0 for whole numbers."""
        return 0 if self.columns[-1] in _WHOLE_COLUMNS else self.decimals

    def next_block(self, line: int) -> "Block":
        """Return a block for the next table of the same program, which begins in this line."""
        return Block(line, self.benchmark, self.version, dict(self.context))

    def cells(self, words: list[str]) -> tuple[Cell, ...] | None:
        """Return one row's cells, or None if these words are not a row of this table (sizes rise in a table)."""
        if not self.columns or len(words) != len(self.columns):
            return None
        cells: list[Cell] = []
        for column, word in zip(self.columns, words, strict=True):
            if column == "validation" and word.lower() in VALIDATION:
                cells.append(VALIDATION[word.lower()])
                continue
            value = number(word)
            if value is None or column == "validation":
                return None
            cells.append(value)
        if self.columns[0] == "size" and not self.begins_row(words[:1]):
            return None
        return tuple(cells)

    def widen(self, words: list[str]) -> bool:
        """Take the columns of a collective's rows that have more than its heading, which names only the mean (7.3 with
        ``-f``): mean, least, most, and repetitions. Return whether the words are such a row.
        """
        if self.columns != ("size", "avg") or self.rows or len(words) != 5 or not words[4].isdecimal():
            return False
        mean, least, most = (number(word) for word in words[1:4])
        if mean is None or least is None or most is None or not least <= mean <= most:
            return False
        self.columns = ("size", "avg", "min", "max", "iterations")
        self.units = ("B", "us", "us", "us", None)
        return True

    def is_stray(self, words: list[str]) -> bool:
        """Return whether these words have the form of a row, but its size cannot come next."""
        if self.columns[:1] != ("size",) or len(words) != len(self.columns) or not words[0].isdigit():
            return False
        known = (number(word) is not None or word.lower() in VALIDATION for word in words)
        return all(known) and any("." in word for word in words[1:2]) and self.cells(words) is None

    def begins_row(self, words: list[str]) -> bool:
        """Return whether the first word can be the next row's size: a whole number above the last row's."""
        if not words or not self.columns or self.columns[0] != "size" or not words[0].isdigit() or len(words[0]) > 18:
            return False
        last = self.rows[-1][0] if self.rows else -1
        return len(words) < len(self.columns) and (last is None or int(words[0]) > last)

    def take(self, run: Run) -> list[Line]:
        """Add rows of ``pattern_of`` these columns; return those that are not of this table, to be read as lines."""
        words, width = run.text.split(), len(self.columns)
        columns = [_column(name, words[place::width]) for place, name in enumerate(self.columns)]
        if self.columns[0] == "size":
            sizes = [self.rows[-1][0] if self.rows else -1, *columns[0]]
            if not all(map(operator.lt, sizes, columns[0])):  # type: ignore[arg-type]
                return list(run.lines())
        if words[-1][-1].isdigit():
            printed = set(map(decimals, words[width - 1 :: width]))
            if len(printed) > 1 or min(printed) < self.last_decimals:
                return list(run.lines())  # one of them may be cut
        self.rows.extend(zip(*columns, strict=True))
        self.spoiled |= bool(self.part)
        self.part = []
        if words[-1][-1].isdigit():
            self.decimals = decimals(words[-1])
        return []


def _column(name: str, words: list[str]) -> list[Cell]:
    if name == "validation":
        return [True] * len(words)
    return list(map(int if name in _WHOLE_COLUMNS else float, words))


@lru_cache(maxsize=64)
def pattern_of(columns: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of plain rows, as every release prints them: rows that need no second look."""
    return run_pattern(*("Pass" if n == "validation" else WHOLE if n in _WHOLE_COLUMNS else DECIMAL for n in columns))


TOOL = "osu"

_NUMERAL = "0123456789+-"  # no row begins otherwise
# nprocs: 144, min: 2032 ms, max: 2054 ms, avg: 2048 ms; 5.3 prints neither "ms" nor a banner
_INIT = late_regex(
    r"^nprocs:\s{0,9}(?P<ranks>[0-9]{1,9}), min:\s{0,9}(?P<min>[0-9.]{1,20})(?: ms)?, "
    r"max:\s{0,9}(?P<max>[0-9.]{1,20})(?: ms)?, avg:\s{0,9}(?P<avg>[0-9.]{1,20})(?: ms)?$"
)
# shmem_int_fadd                      1.06                0.94
_ATOMIC = late_regex(r"^(?P<operation>[a-z]\w{1,40})\s{1,40}(?P<rate>[0-9.]{1,20})\s{1,40}(?P<latency>[0-9.]{1,20})$")
# What OSU itself says when it does not measure, or when its measurement is wrong.
_REFUSAL = late_regex(
    r"^(?:This test requires (?:exactly|at least) \w{1,20} processes.{0,80}"
    r"|(?:CUDA|OPENACC|ROCM|SYCL|NCCL|RCCL) support not enabled\..{0,120}"
    r"|(?:Error|Could not) (?:initializ|allocat)\w{1,5} (?:device|host|cuda|managed|memory).{0,80}"
    r"|Please run this benchmark on more than 1 node.{0,80}|Error: OSU [NR]CCL benchmarks expect .{1,120}"
    r"|FAILED: .{1,200}|data validation failed: .{1,200})$",
    re.IGNORECASE,
)
_EXPECTED = 'output of OSU: a banner "# OSU … Test v…" or a heading "# Size …"'


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of OSU's benchmarks.

    Raises ParseError if the text has neither a banner nor a heading of OSU, nor an error of one of its programs.
    """
    text = own_text(text, TOOL, _EXPECTED)
    scanner, reader = Scanner(text), _Reader()
    for line in scanner:
        stripped = line.text.strip()
        if not stripped:
            continue
        if stripped[0] == "#" and len(stripped) <= LONGEST and is_begun(stripped):
            line = _unwrap(line, scanner)
        reader.read(line)
        block = reader.block
        while block and block.columns and (run := scanner.run(pattern_of(block.columns))):
            for other in block.take(run):
                reader.read(other)
    return reader.result(text)


def _unwrap(line: Line, scanner: Scanner) -> Line:
    """Return the line, joined with those that follow if a mailer wrapped a banner or a heading."""
    before = line.text.strip()
    while is_begun(before):
        following = scanner.peek()
        if following is None or len(following.text) > LONGEST or not is_wrapped(before, following.text.strip()):
            break
        before = _title_joined(before, following.text.strip()) or f"{before} {following.text.strip()}"
        line = Line(line.number, before, following.ended)
        next(scanner)
    return line


def _title_joined(before: str, following: str) -> str | None:
    """Return the title that two lines are without a blank between them: "… Exchang" and "e Latency Test v7.3"."""
    title = title_of(f"{before}{following}")
    return f"{before}{following}" if title is not None and title.benchmark in EXECUTABLES else None


def _has_form(text: str) -> bool:
    """Return whether a line that does not begin with a number has the form of one of OSU's own, in any place."""
    if text[0] in "#[" and (title_of(text) or crowd_of(text) or context_of(text) or windows_of(text)):
        return True
    if text[0] == "#" and is_cut_title(text):
        return True
    known = headings_of(text) or _INIT.match(text) or _ATOMIC.match(text) or unknown_heading(text)
    return bool(known)


_is_own = remember_answers(_has_form)


class _Reader:
    """The state between lines: the open table and what was found so far."""

    def __init__(self) -> None:
        self.block: Block | None = None
        self.tables: list[Table] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []
        self.known = False  # a line of OSU's own was seen
        self.cut: Remark | None = None  # a banner without its end, or words of a person: what comes next decides
        self.crowd: dict[str, int] = {}  # threads or processes of the table whose banner comes next

    def read(self, line: Line) -> None:
        """Read one line: the first kind that knows it takes it; a line that no kind knows is a failure or a remark."""
        text = line.text.strip()
        if not text:
            return
        if len(text) > LONGEST or (text[0] not in _NUMERAL and not _is_own(text)):
            known = False
        elif text[0] == "#":
            known = (
                self._title(line, text)
                or self._context(line, text)
                or self._heading(line, text)
                or self._unknown_heading(line, text)
                or self._cut_title(line, text)
            )
        elif text[0] in _NUMERAL:
            known = self._row(line) or self._read_wrapped(line)
        else:
            known = self._other(line, text)
        if self.cut is not None and (not line.ended if self.cut.line == line.number else known):
            self.failures.append(self.cut)
            self.cut = None
        if not known and not (text[0] == "#" and not is_failure(text)):
            self._foreign(line, text)

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._close()
        if not self.known and not (self.failures and re.search(r"\bosu_[a-z_]{2,40}\b", text)):
            raise foreign(text, _EXPECTED)
        ordered = sorted(self.failures, key=lambda item: item.line)
        return ParsedOutput(tuple(self.tables), tuple(ordered), tuple(self.remarks))

    def _title(self, line: Line, text: str) -> bool:
        title = title_of(text)
        if not title:
            return False
        self._close()
        self.known, self.cut = True, None
        if title.benchmark == "osu_hello":
            # it prints no measured number
            self.remarks.append(Remark(line.number, text))
            return True
        self.block = Block(line.number, title.benchmark, title.version, {**self.crowd})
        self.crowd = {}
        if title.remark:
            self.remarks.append(Caution(line.number, title.remark))
        if title.device:
            self.block.context["device"] = title.device
        return True

    def _cut_title(self, line: Line, text: str) -> bool:
        """Note a banner that is cut. It is a person's own words if a whole banner follows, or nothing of OSU's."""
        if not is_cut_title(text):
            return False
        self._close()
        said = (
            f"a banner that is cut: found {text!r}, expected '# OSU … Test v…': what is below it may be of another run"
        )
        self.cut = Remark(line.number, said)
        return True

    def _context(self, line: Line, text: str) -> bool:
        crowd = crowd_of(text)
        if crowd:
            # 5.x prints these lines under the banner, 7.x above it
            owner = self.block.context if self.block and not self.block.rows else self.crowd
            owner[crowd[0]] = crowd[1]
            return True
        given = context_of(text)
        if given and self.block:
            before = self.block.context.get("datatype")
            if self.block.rows and before in (None, dict(given).get("datatype", before)):
                self._close()  # of another run whose banner is missing: a program prints each datatype at most once
                return True
            if self.block.rows:
                # the same program goes on with another datatype: a table of its own
                self._begin_again(line.number)
            self.block.context.update(given)
        return bool(given) or self._windows(line, text)

    def _windows(self, line: Line, text: str) -> bool:
        """Read the heading of a table over window sizes; a second table has the message rates of the first."""
        columns = windows_of(text) if self.block and self.block.benchmark == "osu_mbw_mr" else ()
        if not columns or not self.block:
            return False
        unit = "1/s" if self.block.rows else "MB/s"
        if self.block.rows:
            self._begin_again(line.number)
        self.block.columns, self.block.units = ("size", *columns), ("B", *(unit for _ in columns))
        return True

    def _begin_again(self, number: int) -> None:
        before = self.block
        self._close()
        if before:
            self.block = before.next_block(number)

    def _heading(self, line: Line, text: str) -> bool:
        found = headings_of(text)
        # any tool may print one word alone ("Iterations", "MB/s")
        if not found or (len(found) < 2 and not (self.block and not self.block.columns)):
            return False
        # nor is "size MB/s" OSU's without a banner: OSU prints "Bandwidth (MB/s)", or has Messages/s beside it
        if self.block is None and len(found) == 2 and text.lower().split()[-1] == "mb/s":
            return False
        self.known = True
        if self.block is None or self.block.rows or self.block.columns:
            before = self.block
            self._close()  # a program prints one heading: the banner of this one is missing
            if before and before.benchmark and before.rows:
                said = f"a second heading below the banner of {before.benchmark}: {text}: {MIXED}"
                self.failures.append(Remark(line.number, said))
            self.block = Block(line.number)
        elif other := foreign_columns(self.block.benchmark, found):
            said = f"a heading with {other} below the banner of {self.block.benchmark}: {text}: {MIXED}"
            self.failures.append(Remark(line.number, said))
            self.block = Block(line.number)
        self.block.columns = columns_of(self.block.benchmark, tuple(name for name, _ in found))
        self.block.units = tuple(unit for _, unit in found)
        return True

    def _unknown_heading(self, line: Line, text: str) -> bool:
        """Note a heading with an unknown column or unit: no row below it can be read."""
        unknown = unknown_heading(text) if self.block else None
        if unknown is None:
            return False
        if self.block and self.block.rows:
            self._close()
        self.failures.append(Remark(line.number, f"a heading with {unknown}, a column or unit not known here: {text}"))
        self.block = None
        return True

    def _row(self, line: Line) -> bool:
        words = line.words
        if self.block:
            self.block.widen(words)
        cells = self.block.cells(words) if self.block else None
        if cells is None or self.block is None:
            return False
        self.block.spoiled |= bool(self.block.part)  # of the row before, only a part is there
        self._add(self.block, line, cells, words[-1])
        return True

    def _add(self, block: Block, line: Line, cells: tuple[Cell, ...], last: str) -> None:
        block.part = []
        checked = last.lower() in VALIDATION
        if not checked and not is_whole(line, block.last_decimals):
            block.spoiled = True
            return
        block.rows.append(cells)
        block.decimals = block.decimals if checked else decimals(last)
        if "validation" in block.columns and cells[block.columns.index("validation")] is False:
            self.failures.append(Remark(line.number, line.text.strip()))

    def _other(self, line: Line, text: str) -> bool:
        """Read a line that begins neither with a sign nor with a number."""
        if text[0] == "[":
            return self._context(line, text)
        return self._heading(line, text) or self._init(line, text) or self._atomic(line, text)

    def _init(self, line: Line, text: str) -> bool:
        found = _INIT.match(text)
        if not found or (self.block and self.block.benchmark != "osu_init" and not self.block.rows):
            return False
        if self.block is None or self.block.benchmark != "osu_init" or self.block.rows:
            self._close()
            self.block = Block(line.number, "osu_init")
        self.known = True
        values = [number(found[name]) for name in ("avg", "min", "max")]
        self.block.columns, self.block.units = ("avg", "min", "max"), ("us", "us", "us")
        self.block.context["ranks"] = int(found["ranks"])
        # a last line without newline is whole if it has its last unit
        if all(value is not None for value in values) and (line.ended or text.endswith("ms")):
            self.block.rows.append(tuple(value * 1000 for value in values if value is not None))
        self._close()
        return True

    def _atomic(self, line: Line, text: str) -> bool:
        """Read a row of osu_oshm_atomics: a table of its own, its operation in the context."""
        block, found = self.block, _ATOMIC.match(text)
        if not found or block is None or not (block.columns[:1] == ("operation",) or "operation" in block.context):
            return False
        rate, latency = number(found["rate"]), number(found["latency"])
        if rate is None or latency is None or not is_whole(line, block.decimals):
            return False
        if block.rows:
            self._begin_again(line.number)
            block = self.block or block
        block.context["operation"] = found["operation"]
        block.columns, block.units = ("operation_rate", "latency"), ("1/s", "us")
        block.rows = [(round(rate * 1e6), latency)]
        return True

    def _read_wrapped(self, line: Line) -> bool:
        """Read a line with fewer numbers than a row: half of a wrapped row, else a cut one."""
        block, words = self.block, line.words
        if block is None or not block.columns or not words or any(number(word) is None for word in words):
            return False
        joined = block.cells(block.part + words) if block.part else None
        # every measured figure has decimals: two sizes whose figures are lost are no row
        if joined is not None and "." in "".join(block.part[1:] + words):
            self._add(block, line, joined, words[-1])
            return True
        if not block.begins_row(words) or is_no_next_size(words, [row[0] for row in block.rows[-3:]]):
            return False
        block.spoiled |= bool(block.part)
        block.part = words
        return True

    def _foreign(self, line: Line, text: str) -> None:
        refused = bool(_REFUSAL.match(text)) if len(text) <= LONGEST else False
        failed, block = refused or is_failure(text), self.block
        self.known |= refused
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        if block and (failed or line.dots or (text[0] in _NUMERAL and _is_broken(line.words, block))):
            block.spoiled = True

    def _close(self) -> None:
        block = self.block
        if block and block.rows:
            block.spoiled |= bool(block.part)
            self.tables.append(block.table())
        elif block:
            self.failures.append(Remark(block.line, f"a heading without any row: {block.benchmark or 'no title'}"))
        self.block = None


def _is_broken(words: list[str], block: Block) -> bool:
    """Return whether the next size is followed by a cut value, or a whole row has a size that belongs elsewhere.

    Another process' line has overwritten the row, or rows of two outputs are mixed.
    """
    if block.is_stray(words):
        return True
    return len(words) > 1 and words[1][:1].isdigit() and "." in words[1] and block.begins_row(words[:1])
