"""Output of railyard-pairs (``provision/programs/pairs.c``), as typed tables: one per measurement.

There is one row per pair of ranks. Columns are round (1 is the first), first and second rank, bandwidth from first to
second and back (MB/s of 10^6 B/s, each one way), and latency (us, half a round trip). The context has the settings of
the program, so the bytes are known: size (B), window, repeats, warm_up, exchanges, exchange_bytes; ranks and rounds;
and ``hosts``, the host names in the order of the ranks, separated by blanks. If the
program measured a sample of the pairs, ``sample`` is True, and the benchmark is that of all pairs, or of switch groups.

A table is complete if it has the closing line with the number of its rows. A heading without any row gives a failure
and no table.

A matrix of what each pair of ranks or nodes reached, as hp2p and ClusterKit print it: the slowest pair, a slow node.

A cell counts if its row is whole: as many figures as there are rows. A cell of 0 was not measured, as on the diagonal.
"""

import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from railyard.parsers.lines import (
    DECIMAL,
    Line,
    Run,
    Scanner,
    fixed_decimals,
    foreign,
    is_failure,
    is_whole,
    not_a_number,
    number,
    own_text,
)
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "pairs"

COLUMNS = ("round", "first", "second", "forward", "backward", "latency")
UNITS = (None, None, None, "MB/s", "MB/s", "us")
DECIMALS = 2  # of the three values of a row
#: What the program calls a measurement of all pairs, of a sample, of switch groups (a sample, too), of suspects, and of
#: these over one rail alone.
ALL, SAMPLE, GROUPS, ALONE, ONE_RAIL = "pairs", "sample", "groups", "alone", "onerail"
LONGEST = 1000

# # railyard-pairs 1 bisection: 4 ranks, 2 rounds
_TITLE = re.compile(
    r"\A# railyard-pairs (?P<format>[0-9]{1,4}) (?P<name>[a-z]{1,20}): (?P<ranks>[0-9]{1,7}) ranks?, "
    r"(?P<rounds>[0-9]{1,9}) rounds?\Z"
)
# # size 4194304 window 8 repeats 1 warm-up 1 exchanges 20 of 8 bytes
_WORDS = re.compile(
    r"\A# size (?P<size>[0-9]{1,12}) window (?P<window>[0-9]{1,9}) repeats (?P<repeats>[0-9]{1,9}) "
    r"warm-up (?P<warm_up>[0-9]{1,9}) exchanges (?P<exchanges>[0-9]{1,9}) of (?P<exchange_bytes>[0-9]{1,6}) bytes\Z"
)
# # rank 3 on vn4
_RANK = re.compile(r"\A# rank (?P<rank>[0-9]{1,7}) on (?P<host>\S{1,256})\Z")
_HEADING = "# round first second forward_MB/s backward_MB/s latency_us"
# # FAILED: 3 messages arrived with wrong data
_FAILED = re.compile(r"\A# FAILED: .{1,200}\Z")
# # end: 6 pairs
_END = re.compile(r"\A# end: (?P<rows>[0-9]{1,12}) pairs\Z")
# 1 0 1 47.82 47.80 35.20
_ROW = re.compile(r"\A(?:[0-9]{1,9} ){3}\S{1,30} \S{1,30} \S{1,30}\Z")
_ROWS = re.compile(rf"(?:(?:[0-9]{{1,9}} ){{3}}{DECIMAL} {DECIMAL} {fixed_decimals(DECIMALS)}\n){{1,64}}")
# railyard-pairs: found no readable file of rounds: rounds.txt
_REFUSAL = re.compile(r"\Arailyard-pairs: \S.{0,400}\Z")
_EXPECTED = 'output of railyard-pairs: "# railyard-pairs 1 NAME: … ranks"'


@dataclass(slots=True)
class _Block:
    """One table while it is read."""

    line: int
    version: str
    name: str
    ranks: int
    context: dict[str, ContextValue]
    hosts: list[str] = field(default_factory=list)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    stated: int | None = None  # rows, according to the closing line
    spoiled: bool = False

    def take(self, rows: Run) -> Iterable[Line]:
        """Add rows that are together; if one of them names a rank that the job lacks, return all, to be read alone."""
        words = rows.text.split()
        counts = [list(map(int, words[place::6])) for place in range(3)]
        values = [map(float, words[place::6]) for place in range(3, 6)]
        if not all(map(operator.lt, counts[1], counts[2])) or max(counts[2]) >= self.ranks:
            return rows.lines()
        self.rows.extend(zip(*counts, *values, strict=True))
        return ()

    def table(self) -> Table:
        named = len(self.hosts) == self.ranks and "size" in self.context
        context = {**self.context, "hosts": " ".join(self.hosts)}
        complete = named and not self.spoiled and self.stated == len(self.rows)
        name = ALL if self.name == SAMPLE else self.name
        context |= {"sample": True} if self.name in (SAMPLE, GROUPS) else {}
        return Table("pairs", self.version, name, COLUMNS, UNITS, tuple(self.rows), self.line, complete, context)


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of railyard-pairs.

    Raises ParseError if the text has neither its heading nor a sentence of its own.
    """
    text = own_text(text, TOOL, _EXPECTED)
    scanner, reader = Scanner(text), _Reader()
    for line in scanner:
        reader.read(line)
        while reader.block and (rows := scanner.run(_ROWS)):
            for other in reader.block.take(rows):
                reader.read(other)
    return reader.result(text)


def text_of(table: Table) -> str:
    """Return a whole table as the program prints it: ``parse`` gives the same table, with its heading on line 1."""
    context = table.context
    hosts = str(context["hosts"]).split()
    name = SAMPLE if context.get("sample") and table.benchmark == ALL else table.benchmark
    told = "size {size} window {window} repeats {repeats} warm-up {warm_up} exchanges {exchanges} of {exchange_bytes}"
    lines = [
        f"# railyard-pairs {table.version} {name}: {len(hosts)} ranks, {context['rounds']} rounds",
        f"# {told.format_map(context)} bytes",
        *(f"# rank {rank} on {host}" for rank, host in enumerate(hosts)),
        _HEADING,
        *(f"{row[0]} {row[1]} {row[2]} {' '.join(f'{value or 0:.2f}' for value in row[3:])}" for row in table.rows),
        f"# end: {len(table.rows)} pairs",
    ]
    return "\n".join(lines) + "\n"


class _Reader:
    """The state between lines: the open table and what was found so far."""

    def __init__(self) -> None:
        self.block: _Block | None = None
        self.tables: list[Table] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []
        self.known = False

    def read(self, line: Line) -> None:
        """Read one line; a line that is not the program's is a failure or a remark."""
        text = line.text.strip()
        if not text:
            return
        if len(text) > LONGEST:
            known = False
        elif text[0] == "#":
            known = self._header(line, text) or self._end(line, text) or self._title(line, text)
        else:
            known = self._row(line, text)
        if known:
            return
        refused = len(text) <= LONGEST and bool(_REFUSAL.match(text))
        self.known |= refused
        failed = refused or is_failure(text)
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        if self.block and (failed or line.dots):
            self.block.spoiled = True

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._close()
        if not self.known:
            raise foreign(text, _EXPECTED)
        ordered = sorted(self.failures, key=lambda failure: failure.line)
        return ParsedOutput(tuple(self.tables), tuple(ordered), tuple(self.remarks))

    def _title(self, line: Line, text: str) -> bool:
        found = _TITLE.match(text)
        if not found or not line.ended:
            return False
        self._close()
        self.known = True
        ranks, rounds = int(found["ranks"]), int(found["rounds"])
        counts: dict[str, ContextValue] = {"ranks": ranks, "rounds": rounds}
        self.block = _Block(line.number, found["format"], found["name"], ranks, counts)
        return True

    def _header(self, line: Line, text: str) -> bool:
        block = self.block
        if block is None or not line.ended:
            return False
        if host := _RANK.match(text):
            block.spoiled |= int(host["rank"]) != len(block.hosts)
            block.hosts.append(host["host"])
        elif words := _WORDS.match(text):
            block.context.update({name: int(value) for name, value in words.groupdict().items()})
        elif _FAILED.match(text):
            self.failures.append(Remark(line.number, text))
        else:
            return text == _HEADING
        return True

    def _end(self, line: Line, text: str) -> bool:
        found = _END.match(text)
        if not found or self.block is None:
            return False
        self.block.stated = int(found["rows"])
        self._close()
        return True

    def _row(self, line: Line, text: str) -> bool:
        block = self.block
        if block is None or not _ROW.match(text):
            if block is not None and text[0].isdigit():
                block.spoiled = True  # half a row, or one that another process' line has overwritten
            return False
        cells = [number(word) for word in text.split()]
        missing = [word for word, cell in zip(text.split(), cells, strict=True) if cell is None]
        if not all(map(not_a_number, missing)) or not is_whole(line, DECIMALS):
            block.spoiled = True
            return False
        if missing:
            self.failures.append(Remark(line.number, text))
        # A rank that the job does not have: a row of another process, or a torn one.
        ranks = [rank for rank in cells[1:3] if isinstance(rank, int)]
        if len(ranks) != 2 or not ranks[0] < ranks[1] < block.ranks:
            block.spoiled = True
            return False
        block.rows.append(tuple(cells))
        return True

    def _close(self) -> None:
        block, self.block = self.block, None
        if block and block.rows:
            self.tables.append(block.table())
        elif block:
            self.failures.append(Remark(block.line, f"a heading without any row: {block.name}"))


#: A node is slow if it reaches less than this share, with every partner, of what the slowest pair of others reaches.
_SLOW = 0.8
_LEAST_NODES = 4  # with three, a slow node leaves one pair to compare with


@dataclass(slots=True)
class PairMatrix:
    """Rows of figures (more is better) while they are read; ``names`` are those of the rows."""

    line: int
    names: list[str] = field(default_factory=list)
    rows: list[tuple[float, ...]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Return whether there is a figure for each pair."""
        return len(self.rows) > 1 and all(len(row) == len(self.rows) for row in self.rows)

    def pairs(self) -> dict[tuple[int, int], float]:
        """Return the smaller figure of each measured pair, by the places of both; none if the matrix is not whole."""
        found: dict[tuple[int, int], float] = {}
        for place, row in enumerate(self.rows if self.is_whole else ()):
            for other, value in enumerate(row):
                if value > 0 and other != place:
                    key = (min(place, other), max(place, other))
                    found[key] = min(value, found.get(key, value))
        return found

    def has_minimum(self, printed: float, digit: float) -> bool:
        """Return whether the smallest figure is the printed one, within half a digit: the matrix is of this report."""
        return abs(min(self.pairs().values(), default=-1.0) - printed) <= 0.51 * digit

    def smallest(self, printed: float, digit: float) -> str | None:
        """Return the names of the pair that has the printed minimum, within half a digit; None if several have it."""
        at = [pair for pair, value in self.pairs().items() if abs(value - printed) <= 0.51 * digit]
        return ", ".join(self.names[place] for place in at[0]) if len(at) == 1 else None

    def slow_node(self, unit: str) -> str | None:
        """Return a sentence on the node that is slow with every partner; None if there is none."""
        pairs = self.pairs()
        if len(self.rows) < _LEAST_NODES or 2 * len(pairs) != len(self.rows) * (len(self.rows) - 1):
            return None
        for place, name in enumerate(self.names):
            own = [value for pair, value in pairs.items() if place in pair]
            others = [value for pair, value in pairs.items() if place not in pair]
            if max(own) < _SLOW * min(others):
                return (
                    f"{name} is slow with every partner: at best {max(own):g} {unit}, while all other pairs reach at "
                    f"least {min(others):g} {unit}"
                )
        return None


def figures(words: Sequence[str]) -> tuple[float, ...] | None:
    """Return the figures of a row; None if a word is none ("98011.298107.4" are two that touch)."""
    if not all(word.count(".") == 1 and word.replace(".", "").isdigit() and word.isascii() for word in words):
        return None
    return tuple(map(float, words))
