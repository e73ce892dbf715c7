"""Output of perftest 1.2 to 26.07 (ib_write_bw …, raw_ethernet_*), console and ``--out_json``, as typed tables.

``parse`` returns one table per ``#bytes`` heading, in the order of the text, columns as printed: sizes B, times us,
bandwidths MB/s (10^6 B/s, converted from the 2^20 B/s or 10^9 bit/s that the heading names), message rates 1/s.
Bidirectional values are the sum of both directions. A peak of 0.00 stays 0: a server and ``-D`` measure none. With
``--use_cuda`` and ``--use_rocm`` the context has the GPU whose memory had the buffers.

Client and server may share one file. A heading waits until the table before it has a row. A row goes to the table that
began last, unless its size repeats there and fits another table. A rule after rows ends one table.

A table is complete if such a rule ends it, and there is no cut row, ellipsis or error between heading and rule. Rows
that are reports of ``--run_infinitely`` have no end; their context says whether each of them is whole. A heading
without any row, a title without heading, and a server without client are failures.

``--out_json`` is read line by line, since no release up to 2023 wrote valid JSON. It gives one table of one row per
object, with the columns of the printed table of the same test. The file does not name the unit of a bandwidth. It is
10^9 bit/s (``--report_gbits``) if size times message rate says so, else 2^20 B/s; a bandwidth of 0 is the same in both.
An object counts only if its results end with their brace.
"""

import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from railyard.parsers import perftest_formats as formats
from railyard.parsers.lines import Line, decimals, foreign, is_failure, is_whole, line_of, number, own_text, texts_of
from railyard.parsers.output import REPORTS, Cell, ContextValue, ParsedOutput, Remark, Table
from railyard.parsers.perftest_formats import Device, Heading, with_memory

# "test": "RDMA_Write_BW_Test",   |   MsgSize: 65536,   |   "test_info": {   |   }
_WORD = re.compile(
    r'"?(?P<open>test_info|results)"?\s{0,8}:\s{0,8}\{'
    r'|"?(?P<name>[A-Za-z][A-Za-z0-9_.]{0,40})"?\s{0,8}:\s{0,8}(?P<value>"[^"\n]{0,200}"|[^\s,{}"]{1,200}(?:,[0-9]{1,20}(?=[\s,}]))?)'
    r"|(?P<close>\})"
)
_GBIT = formats.GBIT / formats.HEADINGS["BW average[MiB/sec]"].factor  # 119: far more than any rounding


@dataclass(frozen=True, slots=True)
class WrittenJson:
    """What a text has of ``--out_json``, and the lines (1-based) that it takes."""

    tables: tuple[Table, ...] = ()
    failures: tuple[Remark, ...] = ()
    lines: range | frozenset[int] = range(0)


@dataclass(slots=True)
class _Object:
    """One object while it is read."""

    line: int
    info: dict[str, str]
    results: dict[str, str] | None = None


def read_json(text: str) -> WrittenJson:
    """Return the tables of all objects in this text, in its order; nothing for a text without any."""
    if "results" not in text or ("MsgSize" not in text and "test_info" not in text):
        return WrittenJson()
    tables: list[Table] = []
    failures: list[Remark] = []
    taken: set[int] = set()
    one: _Object | None = None
    line, position = 1, 0
    for word in _WORD.finditer(text):
        line += text.count("\n", position, word.start())
        position = word.start()
        if word["open"]:
            one, ended = _open_object(one, word["open"], line)
            if ended:
                failures.append(_unfinished_remark(ended))
        if one is None:
            continue
        taken.add(line)
        if word["name"]:
            (one.info if one.results is None else one.results)[word["name"]] = word["value"].strip('"')
        elif word["close"] and one.results is not None:
            table = _table(one)
            if table:
                tables.append(table)
            else:
                failures.append(Remark(one.line, 'results without "MsgSize" and a figure for each column'))
            one = None
    if one:
        failures.append(_unfinished_remark(one))
    # the braces around the object are on their own lines
    return WrittenJson(tuple(tables), tuple(failures), frozenset(taken | _braces(text) if taken else ()))


def _open_object(one: _Object | None, name: str, line: int) -> tuple[_Object, _Object | None]:
    """Return the object that goes on or begins here, and the one that ends too early because of it."""
    if name == "results" and one is not None and one.results is None:
        one.results = {}
        return one, None
    return _Object(line, {}, {} if name == "results" else None), one


def _unfinished_remark(one: _Object) -> Remark:
    return Remark(one.line, "results of --out_json that end before their closing brace")


def _braces(text: str) -> set[int]:
    return {number for number, line in enumerate(text.split("\n"), 1) if line.strip() in ("{", "}", "},")}


def _table(one: _Object) -> Table | None:
    results = one.results or {}
    keys = [key for key in formats.JSON_KEYS if key in results]
    heads = tuple(formats.HEADINGS[formats.JSON_KEYS[key]] for key in keys)
    cells = formats.cells(heads, [results[key] for key in keys])
    if cells is None or keys[:1] != ["MsgSize"] or len(keys) < 3:
        return None
    names = [head.column for head in heads]
    in_gbits = "bandwidth" in names and _in_gbit(dict(zip(names, cells, strict=True)))
    if in_gbits:
        cells = tuple(
            cell * _GBIT if head.unit == "MB/s" and cell is not None else cell
            for head, cell in zip(heads, cells, strict=True)
        )
    title = formats.title_of(one.info.get("test", "")) or (None, {})
    context = title[1] | _context(one.info) | ({"report_gbits": True} if in_gbits else {})
    return Table(
        tool="perftest",
        version=None,
        benchmark=formats.executable(title[0], context),
        columns=tuple(names),
        units=tuple(head.unit for head in heads),
        rows=(cells,),
        line=one.line,
        complete=True,
        context=MappingProxyType(context),
    )


def _in_gbit(row: dict[str, Cell]) -> bool:
    """Return whether size times rate is nearer to the bandwidth taken in 10^9 bit/s than in 2^20 B/s."""
    moved = float(row.get("size") or 0) * float(row.get("message_rate") or 0) / 1e6
    printed = float(row["bandwidth"] or 0)
    return printed > 0 and moved / printed > _GBIT**0.5


def _context(info: dict[str, str]) -> dict[str, ContextValue]:
    found: dict[str, ContextValue] = {}
    for name, value in info.items():
        found |= formats.settings(f"{name.replace('Dual_port', 'Dual-port')} : {value}") or {}
    return with_memory(found)


TOOL = "perftest"

_PARTS = 6  # lines below a heading that may be its parts
_SIDES = 4  # tables that may be open at once: of two programs, and of two that were killed before
_RULE = re.compile(r"\A-{20,200}\Z")  # 66 dashes up to 2012, then 87, per port 115; a mailer may have wrapped it
_EXPECTED = 'output of perftest: a title "… BW Test" or a heading "#bytes #iterations …"'


@dataclass(slots=True)
class Title:
    """A title and the settings below it, until a heading takes it."""

    line: int
    benchmark: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)


@dataclass(slots=True)
class Run:
    """One table while it is read."""

    line: int
    heads: tuple[Heading, ...]
    again: str | None  # its run prints this heading again: "" after -H or -U, "local" or "remote" results
    title: Title | None = None
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    part: list[str] = field(default_factory=list)  # a row's first half, if a mailer wrapped the line
    decimals: list[int] = field(default_factory=list)  # of each time of its rows
    spoiled: bool = False
    closed: bool = False

    def follows(self, words: list[str]) -> bool:
        """Return whether there is one word per column, and the size is above the last row's."""
        if len(words) != len(self.heads) or not self.rows:
            return len(words) == len(self.heads)
        return words[0].isdecimal() and int(words[0][:24]) > (self.rows[-1][0] or 0)

    def has_form(self, words: list[str]) -> bool:
        """Return whether these times have as many decimals as in the rows before; small rates are printed with more.

        With fewer, a figure has lost its end.
        """
        plain = [(head.decimals, word) for head, word in zip(self.heads, words, strict=True) if "e" not in word]
        if any(decimals(word) < least for least, word in plain):
            return False
        found = [decimals(word) for head, word in zip(self.heads, words, strict=True) if head.unit == "us"]
        self.decimals = self.decimals or found
        return found == self.decimals

    def has_reports(self, asked: bool) -> bool:
        """Return whether its rows are the reports of ``--run_infinitely``, which no rule ends; ``asked``: the text has
        this option, else two rows show it.

        Such a run has one size, measures no peak (it prints 0.00), and prints a row each time ``-D`` (5 s) is over,
        until it is killed. Source: linux-rdma/perftest, src/perftest_parameters.c, force_dependencies, and
        src/perftest_resources.c, catch_alarm_infintely.
        """
        columns = [head.column for head in self.heads]
        if self.closed or self.again is not None or len(self.rows) < (1 if asked else 2):
            return False
        if "sl" in columns or "bandwidth_peak" not in columns or len({row[0] for row in self.rows}) != 1:
            return False
        peak = columns.index("bandwidth_peak")
        return all(row[peak] == 0 for row in self.rows)

    def table(self, asked: bool = False) -> Table:
        """Return what was read, under the name of its run; ``asked``: the text has ``--run_infinitely``."""
        title, reports = self.title or Title(self.line), self.has_reports(asked)
        said = formats.in_gbits(self.heads) | ({"results": self.again} if self.again else {})
        said |= {REPORTS: not self.spoiled and not self.part} if reports else {}
        return Table(
            tool="perftest",
            version=None,
            benchmark=formats.executable(title.benchmark, title.context),
            columns=tuple(head.column for head in self.heads),
            units=tuple(head.unit for head in self.heads),
            rows=tuple(self.rows),
            line=title.line if self.again is None else self.line,
            complete=self.closed and not self.spoiled and not self.part,
            context=MappingProxyType(with_memory(title.context) | said),
        )


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of perftest, printed or written by ``--out_json``.

    Raises ParseError if the text has neither title nor heading nor results of perftest, nor an error of its own.
    """
    text = own_text(text, TOOL, _EXPECTED)
    written = read_json(text)
    lines = texts_of(text)
    reader = _Reader(lines)
    for place, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped and place > reader.skip and place not in written.lines:
            reader.read(line_of((place, line, place < len(lines))), stripped)
    return reader.result(text, written)


class _Reader:
    """The state between lines: titles without heading, open tables, and what was found so far."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.titles: list[Title] = []  # which no heading has taken
        self.headed: list[Run] = []  # which have taken no title yet
        self.title: Title | None = None  # of the last run with a name
        self.runs: list[Run] = []
        self.open: list[Run] = []
        self.current: Run | None = None
        self.beginning = False  # a run has begun and waits for its heading: no rule ends a table
        self.again: str | None = None
        self.device = Device()  # of the run that begins: its lines are above its title
        self.unit: str | None = None  # of the times that -H and -U list
        self.waiting: int | None = None
        self.skip = 0
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line, by its first letter; a line that no kind knows is a failure or a remark."""
        if "0" <= text[0] <= "9":
            taken = self._row(line, text) or (self.unit is not None and ", " in text[:24])
        elif text[0] == "-":
            taken = self._rule(line, text)
        elif text[0] == "#":
            taken = self._heading(line, text)
        else:
            taken = self._title(line, text) or (text[0] == "b" and self._heading(line, text))
        if not (taken or self._own(line, text) or self._setting(text)):
            self._foreign(line, text)

    def result(self, text: str, written: WrittenJson) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._name()
        if self.waiting is not None:
            self.failures.append(Remark(self.waiting, "waited for a client and none came"))
        tables, asked = [*written.tables], "--run_infinitely" in text
        for run in self.runs:
            if run.rows:
                tables.append(run.table(asked))
            else:
                name = run.table().benchmark or "no title"
                self.failures.append(Remark(run.line, f"a heading without any row: {name}"))
        failures = sorted([*self.failures, *written.failures], key=lambda item: item.line)
        if not (tables or self.runs or written.lines or (failures and formats.SIGN.search(text))):
            raise foreign(text, _EXPECTED)
        return ParsedOutput(tuple(sorted(tables, key=lambda table: table.line)), tuple(failures), tuple(self.remarks))

    def _title(self, line: Line, text: str) -> bool:
        title = formats.title_of(text) if text[-1] in "tT" and text[-4:].lower() == "test" else None
        if not title:
            return False
        if self.headed:
            self._name()
        # the run of a heading without rows ended there; a heading with rows may be of the other side
        self.open = [run for run in self.open if run.rows][-_SIDES:]
        self.current = self.open[-1] if self.open else None
        self.titles.append(Title(line.number, title[0], {**title[1], **self.device.context}))
        self.waiting, self.again, self.unit, self.beginning = None, None, None, True
        return True

    def _name(self) -> None:
        """Give the headings their titles; if there are fewer headings than titles, the first titles have none."""
        fresh = [run for run in self.headed if run.again is None]
        spare = max(0, len(self.titles) - len(fresh))
        for title in self.titles[:spare]:
            self.failures.append(Remark(title.line, f"a title without any heading: {title.benchmark}"))
        for run, own in zip(fresh, self.titles[spare:], strict=False):
            run.title = own
        for run in self.headed:
            run.title = self.title if run.again is not None else run.title
            self.title = run.title
        self.titles, self.headed = [], []

    def _setting(self, text: str) -> bool:
        found = formats.settings(text) if self.titles and not self.headed else None
        # two programs' settings may alternate: if the last title already has one, it belongs to the title before
        for title in reversed(self.titles if found else []):
            if found and found.keys().isdisjoint(title.context):
                title.context |= found
                break
        return found is not None

    def _heading(self, line: Line, text: str) -> bool:
        if text in ("#, usec", "#, cycles"):
            self.unit = text[3:]
        if not text.startswith(("#bytes", "#flows", "bytes ")):
            return False
        heads, before = self._join_heading(line, text), self.current
        if not heads:
            return False
        if self.unit == "cycles":
            heads = tuple(replace(head, unit="cycles") if head.unit == "us" else head for head in heads)
        again = "" if self.unit and self.runs else self.again
        self.unit, self.beginning = None, False
        if again == "" and before and not before.rows:
            before.heads = heads
            return True
        run = Run(line.number, heads, again)
        for runs in (self.runs, self.open, self.headed):
            runs.append(run)
        del self.open[:-_SIDES]
        if before is None or before.rows:
            self.current = run
        return True

    def _join_heading(self, line: Line, text: str) -> tuple[Heading, ...]:
        """Return the columns of a heading, including those on lines to which a mailer wrapped it."""
        heads = formats.columns(text)
        for after, following in enumerate(self.lines[line.number : line.number + _PARTS], line.number + 1):
            if "#" in following:
                break
            text = f"{text} {following.strip()[:200]}"
            if joined := formats.columns(text):
                heads, self.skip = joined, after
        return heads

    def _row(self, line: Line, text: str) -> bool:
        run, words = self.current, text.split() if len(text) <= 1000 else []
        if run is None or len(words) < len(run.heads):
            return run is not None and bool(words) and self._half(run, line, words)
        if run.rows and not run.follows(words):
            run = next((other for other in self.open if other.follows(words)), run)
        run.spoiled |= bool(run.part)
        return self._add(run, line, words)

    def _half(self, run: Run, line: Line, words: list[str]) -> bool:
        """Read a line with fewer numbers than a row: a part of a wrapped row, else a cut one."""
        if any(number(word) is None for word in words):
            return False
        joined = [*run.part, *words]
        if run.part and len(joined) == len(run.heads):
            # a cut line is not a wrapped one: each figure that has decimals must show its point
            fits = all("." in word for head, word in zip(run.heads, joined, strict=True) if head.decimals)
            return fits and self._add(run, line, joined)
        begins = words[0].isdecimal() and (words[1].isdecimal() if len(words) > 1 else not line.ended)
        if begins or (run.part and len(joined) < len(run.heads)):
            run.spoiled |= begins and bool(run.part)
            run.part[:] = words if begins else joined
        return begins or bool(run.part)

    def _add(self, run: Run, line: Line, words: list[str]) -> bool:
        cells = formats.cells(run.heads, words)
        if cells is None:
            return False
        run.part.clear()
        if not is_whole(line, run.heads[-1].decimals):
            run.spoiled = True
            return True
        if None not in cells and not run.has_form(words):
            run.spoiled = True  # a row of another table is in this one, or a row is cut
            return False
        run.rows.append(cells)
        empty = {head.column for head, cell in zip(run.heads, cells, strict=True) if cell is None}
        if empty:
            noted = self.remarks if empty == {formats.STDEV} else self.failures
            noted.append(Remark(line.number, line.text.strip()))
        return True

    def _rule(self, line: Line, text: str) -> bool:
        if not _RULE.match(text):
            return False
        following = next(filter(str.strip, self.lines[line.number : line.number + 3]), "")
        if self.beginning or formats.title_of(following[:200]):
            return True  # it begins what follows and ends nothing
        filled = [run for run in self.open if run.rows]
        if filled:
            run = self.current if self.current in filled else filled[0]
            run.closed = True
            self.open = [other for other in self.open if other is not run]
            self.current = self.open[0] if self.open else None
        return True

    def _own(self, line: Line, text: str) -> bool:
        if text[0] == "*" and text.startswith("* Waiting for client to connect"):
            self.waiting = line.number
        elif text[0] in "LR" and text.startswith(("Local results:", "Remote results:")):
            self.again = text.partition(" ")[0].lower()
        elif text.startswith("****"):
            figures = text.split()[1:]
            return not figures or None in map(number, figures)  # else a row whose size is too long for its column
        elif text[0] in "DW" and text.startswith(formats.BEGINNINGS):
            self.beginning = True
        return text.startswith(formats.OWN) or self.device.take_line(text)

    def _foreign(self, line: Line, text: str) -> None:
        failed = is_failure(text) or formats.is_own_failure(text)
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        for run in self.open if failed or line.dots else ():
            run.spoiled = True
