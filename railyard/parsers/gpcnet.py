"""GPCNeT 1.0 to 1.3, network_test and network_load_test, as typed tables.

``parse`` returns one table per box, in the order of the text, with one row. It has a column for each printed number. A
column's name is its test and its heading in lower case, with one "_" for each run of other characters ("RR Two-sided
Lat (8 B)" and "99%" are ``rr_two_sided_lat_8_b_99``). ``context["which"]`` is "isolated", "congested" (the tests while
congestors run; if compiled with VERBOSE, one box per test) or "impact" (how many times worse, no unit); ``title`` is as
printed.

Latencies are us. Bandwidths are MB/s (10^6 B/s) of one rank, printed in MiB/s/rank, which is 2^20 (random_ring.c of
1.3: ``/ (perfvals[i] * 1024. * 1024.)``). The 99% is at the bad end of both: for a bandwidth it is below the mean.

A box is complete if another follows it or its last test is the last that the program makes, and no row is cut. A
refusal ("ERROR: this application must be run on at least 10 nodes") is a failure and no table.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from railyard.parsers.lines import BINARY_MB, Line, each_line, foreign, is_failure, not_a_number, number, own_text
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "gpcnet"

# Printed title -> which box it is.
_TITLES = MappingProxyType(
    {
        "Isolated Network Tests": "isolated",
        "Isolated Congestion Tests": "isolated",  # the congestors alone, with VERBOSE
        "Network Tests running with Congestion Tests": "congested",
        "Network Tests running with Congestion Tests - Key Results": "impact",
    }
)
# Printed unit -> our unit and factor; the factors of impact have none.
_UNITS = MappingProxyType({"usec": ("us", 1.0), "MiB/s/rank": ("MB/s", BINARY_MB), "": (None, 1.0)})
_LAST_HEADINGS = MappingProxyType({"Name": "Units", "": "99%"})  # of the tests and of the impact, by the first heading
# The last test in a box, by whether the program is network_test.
_LAST = MappingProxyType({True: ("multiple_alltoall",), False: ("multiple_allreduce", "get_bcast")})

# Network Tests v1.3   |   NetworkLoad Tests v1.3
_BANNER = re.compile(r"^\s*Network(?P<load>Load)? Tests v(?P<version>[0-9][0-9.]{0,10})\s*$")
_NODES = re.compile(r"^\s*Test with (?P<ranks>[0-9]{1,9}) MPI ranks \((?P<nodes>[0-9]{1,9}) nodes\)\s*$")
_SPLIT = re.compile(
    r"^\s*(?P<nodes>[0-9]{1,9}) nodes running (?P<which>Network|Congestion) Tests(?: \(min .{1,60}\))?\s*$"
)
_TITLE = re.compile(
    r"^\|\s{0,80}(?P<title>Isolated (?:Network|Congestion) Tests|Network Tests running with Congestion Tests"
    r"(?: - Key Results)?)\s{0,80}(?:\(\s{0,40}(?P<beside>\S[^)|]{0,60}) Network Test\)\s{0,80})?\|?\s*$"
)
_LEGEND = re.compile(r"^\s*(?:Legend|(?:RR|Nat|Lat|BW|BW\+Sync) = [a-z ]{3,60})\s*$")
_REFUSAL = re.compile(r"^\s*ERROR: this application must be run on at least [0-9]{1,9} nodes\s*$")
_EXPECTED = 'output of GPCNeT: "Network Tests v…" or one of its boxes'


@dataclass(slots=True)
class _Box:
    """One table while it is read."""

    line: int
    context: dict[str, ContextValue]
    headings: list[str] = field(default_factory=list)  # of the numbers: Avg, 99%, with VERBOSE Min, Max, …
    columns: list[str] = field(default_factory=list)
    units: list[str | None] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    last: str = ""  # test
    seen: dict[str, int] = field(default_factory=dict)  # how often a test was printed
    spoiled: bool = False
    followed: bool = False


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of GPCNeT.

    Raises ParseError if the text has neither a banner, nor a box, nor a refusal of GPCNeT.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line in each_line(text):
        reader.read(line)
    return reader.result(text)


class _Reader:
    """The state between lines: the box that is open, what the banner said, and what was found so far."""

    def __init__(self) -> None:
        self.box: _Box | None = None
        self.boxes: list[_Box] = []
        self.benchmark: str | None = None
        self.version: str | None = None
        self.context: dict[str, ContextValue] = {}
        self.known = self.untitled = False
        self.part: str | None = None  # a row's first half, if a mailer wrapped the line
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line) -> None:
        """Read one line: a box's lines begin with "|" or "+"; the others name the program or are foreign."""
        text = line.text
        if not text or text.isspace():
            return
        if self.part is not None:
            joined = f"{self.part} {text[:200].lstrip('> ')}"
            self.part = None
            if (text[0] not in "|+" or text.rstrip() == "|") and self._bars(Line(line.number, joined, line.ended)):
                return
            self._spoil()  # the held part was not the first half of this line
        if text[0] == "|" and self._bars(line):
            return
        if text[0] == "|" and self.box is None:
            self._report_untitled(line)
            return
        if text[0] == "+" and not text.rstrip().strip("+-"):
            # the rule above a title has no "+" below each bar
            if len(text) > 60 and text.count("+") == 2 and self.box and self.box.cells:
                self._close(followed=True)
            return
        if not self._read_heading(line.number, text[:200]):
            self._foreign(line)

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        if self.part is not None:
            self._spoil()
        self._close(followed=False)
        for box in self.boxes:
            if not box.cells:
                self.failures.append(Remark(box.line, f"a box without any row: {box.context['title']}"))
        if not self.known:
            raise foreign(text, _EXPECTED)
        if not (self.boxes or self.failures):
            self.remarks.append(Remark(1, "GPCNeT started no test: no box of results"))
        tables = tuple(self._table(box) for box in self.boxes if box.cells)
        return ParsedOutput(tables, tuple(sorted(self.failures, key=lambda item: item.line)), tuple(self.remarks))

    def _bars(self, line: Line) -> bool:
        """Read a line of a box: its title, its headings, a test; a line without its last bar is held for the next."""
        text = line.text.rstrip() if len(line.text) <= 1000 else ""
        title = _TITLE.match(text) if " Tests" in text else None
        if title:
            self._open(line.number, title)
            return True
        box = self.box
        if box is None or not text:
            return False
        words = [word.strip() for word in text.strip("|").split("|")]
        heading = words[0] in _LAST_HEADINGS
        missing = words[-1] != _LAST_HEADINGS[words[0]] if heading else len(words) <= len(box.headings)
        if text == "|" or (heading and words[1:] == ["Congestion Impact Factor"]):
            return True
        if missing or not text.endswith("|"):
            self.part = text
        elif heading:
            box.headings = words[1:]
        else:
            return self._test(line, box, words)
        return True

    def _report_untitled(self, line: Line) -> None:
        """Report the first line of a box whose title is missing, or broken: none of its rows can be read."""
        if not self.untitled:
            self.failures.append(
                Remark(line.number, f"a line of a box without a whole title: {line.text.strip()[:200]}")
            )
        self.untitled = True

    def _open(self, number: int, title: re.Match[str]) -> None:
        self._close(followed=True)  # an excerpt may lack the rule above
        self.known, self.untitled = True, False
        context: dict[str, ContextValue] = {"which": _TITLES[title["title"]], "title": title["title"]}
        if title["beside"]:
            context["test"] = title["beside"].strip()
        self.box = _Box(number, context | self.context)

    def _test(self, line: Line, box: _Box, words: list[str]) -> bool:
        """Read one test: its numbers under the headings, its unit in the last; anything else is a cut row."""
        with_unit = box.headings[-1:] == ["Units"]
        unit = words[-1] if with_unit else ""
        headings = box.headings[:-1] if with_unit else box.headings
        values = [word.removesuffix("X") for word in words[1 : 1 + len(headings)]]
        numbers = [number(value) for value in values]
        lost = any(read is None and not not_a_number(value) for read, value in zip(numbers, values, strict=True))
        if len(words) != 1 + len(box.headings) or not headings or unit not in _UNITS or lost:
            box.spoiled = True
            return False
        ours, factor = _UNITS[unit]
        box.last = _slug(words[0])
        again = box.seen[box.last] = box.seen.get(box.last, 0) + 1
        name = box.last if again == 1 else f"{box.last}_again_{again}"  # tests may be added in its source
        for heading, read in zip(headings, numbers, strict=True):
            box.columns.append(f"{name}_{_slug(heading)}")
            box.units.append(ours)
            box.cells.append(None if read is None else read * factor if factor != 1 else read)
        if None in numbers:
            self.failures.append(Remark(line.number, line.text.strip()))
        return True

    def _read_heading(self, line: int, text: str) -> bool:
        """Read a line above the boxes; a refusal is only there."""
        if " = " in text or "Legend" in text:
            return bool(_LEGEND.match(text))
        if "Test" not in text:
            return self._read_refusal(line, text)
        banner, nodes, split = _BANNER.match(text), _NODES.match(text), _SPLIT.match(text)
        if banner:
            self._close(followed=False)
            self.known, self.context = True, {}
            self.benchmark = "network_load_test" if banner["load"] else "network_test"
            self.version = banner["version"]
        elif nodes:
            self.context |= {"ranks": int(nodes["ranks"]), "nodes": int(nodes["nodes"])}
        elif split:
            self.context[f"{split['which'].lower()}_nodes"] = int(split["nodes"])
        return bool(banner or nodes or split)

    def _read_refusal(self, line: int, text: str) -> bool:
        if "ERROR: " not in text or not _REFUSAL.match(text):
            return False
        self.known = True
        self.failures.append(Remark(line, text.strip()))
        return True

    def _foreign(self, line: Line) -> None:
        failed = line.text.startswith(("ERROR: ", "Failed to allocate ")) or is_failure(line.text)
        (self.failures if failed else self.remarks).append(Remark(line.number, line.text.strip()[:2000]))
        if len(line.text) < 8 and line.dots:
            self._spoil()

    def _spoil(self) -> None:
        if self.box:
            self.box.spoiled = True

    def _close(self, followed: bool) -> None:
        if self.box:
            self.box.followed = followed
            self.boxes.append(self.box)
        self.box = None

    def _table(self, box: _Box) -> Table:
        whole = self.benchmark == "network_test" or any(name.startswith("rr_get_lat") for name in box.columns)
        return Table(
            tool="gpcnet",
            version=self.version,
            benchmark=self.benchmark,
            columns=tuple(box.columns),
            units=tuple(box.units),
            rows=(tuple(box.cells),),
            line=box.line,
            complete=(box.followed or box.last.startswith(_LAST[whole])) and not box.spoiled,
            context=MappingProxyType(box.context),
        )


@lru_cache(maxsize=256)
def _slug(text: str) -> str:
    return re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")
