"""HPC Challenge 1.0 to 1.5 (hpccoutf.txt), as typed tables: its HPL section as HPL's table, then its other sections.

``parse`` returns, for each run, HPL's table (tool ``hpl``) and after it tables of the tool ``hpcc``, in the order of
the text. ``benchmark`` is the section's name, columns are the printed names in lower case:

- MPIRandomAccess, StarRandomAccess, SingleRandomAccess (and _LCG): rates in GUP/s, times in s, errors;
- StarDGEMM, SingleDGEMM, MPIFFT, StarFFT, SingleFFT: Gflop/s; StarSTREAM, SingleSTREAM: MB/s;
- PTRANS: one table per clock (``context["clock"]``), one row per repetition; the rate is MB/s of the whole machine;
- RingBySize: the rings by message size; LatencyBandwidth: the five major results; PingPong: smallest, mean and largest
  over the pairs of processes; NaturallyOrderedRing, RandomlyOrderedRing;
- Summary: every key of the closing summary that is a number, converted; the others are its context. Its PTRANS_GBs is
  of the matrix with the best rate. If that is not the largest matrix, ``ptrans_largest_gbs`` is the largest one's rate
  (MB/s): the worst of its repetitions in the rows of PTRANS.

Latencies are us (printed in ms), bandwidths MB/s (10^6 B/s, as the output says itself). A ring's bandwidth is that of
one process, both directions together. A table is complete if its section has its end. A table of a single row is
returned only then, except those of LatencyBandwidth. Source: io.c, bench_lat_bw_1.5.2.c, pdtransdriver.c, onecpu.c of
HPCC 1.5.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.hpcc_words import (
    Figure,
    begins_figures,
    convert,
    figures,
    is_prose,
    largest_rates,
    network_figures,
    summary_figure,
)
from railyard.parsers.hpl import HplReader
from railyard.parsers.lines import Line, filled_lines, foreign, is_failure, number, own_text, remember_matches
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "hpcc"

# This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012
_BANNER = re.compile(r"^This is the DARPA/DOE HPC Challenge Benchmark version (?P<version>[0-9]\S{0,20})\b.{0,80}$")
_SECTION = re.compile(r"^(?P<what>Begin|End) of (?P<name>[A-Za-z_]{2,40}) section\.$")
# WALL   300   300  64  64   1   2     0.01 PASSED    0.076  0.00
_PTRANS: tuple[str, ...] = ("m", "n", "mb", "nb", "p", "q", "time", "check", "bandwidth", "resid")
_PTRANS_UNITS: tuple[str | None, ...] = (None, None, None, None, None, None, "s", None, "MB/s", None)
_RING: tuple[str, ...] = (
    *("size", "natural_order_latency", "natural_order_bandwidth"),
    *("avg_random_order_latency", "avg_random_order_bandwidth"),
)
_RING_UNITS: tuple[str | None, ...] = ("B", "us", "MB/s", "us", "MB/s")
_KEY = re.compile(r"^(?P<key>[A-Za-z_][A-Za-z0-9_]{0,80})=(?P<value>\S{0,80})$")
_BAD = re.compile(
    r"^(?:Found [0-9]{1,18} errors in [0-9]{1,18} locations \(failed\)|Node\(s\) with error [1-9]|Success=0$"
    r"|Failed |Ooops|Cannot open output|Error in line|\[[0-9]+\]: ERROR"
    r"|[1-9][0-9]* tests (?:completed and failed|skipped))"
)
_CONDITIONS = re.compile(r"^The (?P<what>latency|bandwidth) +measurements were done with +(?P<size>[0-9]{1,12}) bytes$")
_OWN = re.compile(
    r"^(?:[#=-]{20,}|Produced by|Innovative Computing|University of|See the source|Compiled on|Hostname:"
    r"|Current time \(|End of HPC Challenge tests\.)"
)
_is_own = remember_matches(_OWN)
_is_bad = remember_matches(_BAD)
# The tables of LatencyBandwidth -> how many figures a whole row has
_NETWORK = MappingProxyType({"LatencyBandwidth": 5, "PingPong": 6, "NaturallyOrderedRing": 2, "RandomlyOrderedRing": 2})
_BY_SIZE = 5
_EXPECTED = 'output of HPC Challenge: its banner or a line "Begin of … section."'


@dataclass(slots=True)
class _Section:
    """One section while it is read: figures by table and column, and the rows of tables that have several rows."""

    name: str
    line: int
    ping_pong: bool = False  # the lines are under "Ping Pong:"
    lines: dict[str, int] = field(default_factory=dict)  # table's name -> its first line
    values: dict[str, dict[str, Figure]] = field(default_factory=dict)
    rows: dict[str, list[tuple[Cell, ...]]] = field(default_factory=dict)
    context: dict[str, ContextValue] = field(default_factory=dict)

    def add(self, table: str, line: int, figure: Figure) -> None:
        """Keep a figure; the first of its name counts."""
        self.lines.setdefault(table, line)
        self.values.setdefault(table, {}).setdefault(figure.column, figure)


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one hpccoutf.txt, of any number of runs.

    Raises ParseError if the text has neither the banner nor a section of HPC Challenge.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    if not reader.known:
        raise foreign(text, _EXPECTED)
    return reader.result()


class _Reader:
    """The state between lines: the run, its open section, HPL's own reader, and what was found so far."""

    def __init__(self) -> None:
        self.known = 0  # the first line that is HPC Challenge's own
        self.version: str | None = None
        self.hpl = HplReader()
        self.section: _Section | None = None
        self.hpl_ended = False
        self.run: list[Table] = []  # of the open run, without HPL's
        self.tables: list[Table] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line: a banner, a section's begin or end, else a line of the open section."""
        if text[-1] == "." and " of " in text and self._section(line, text):
            return
        if text.startswith("This ") and self._banner(line, text):
            return
        if self.section is None or self.section.name == "HPL":
            if not _is_own(text):
                self.hpl.read(line, text)
            return
        if self._read_inside(self.section, line, text):
            if text.endswith("(failed).") or text == "Success=0":
                self.failures.append(Remark(line.number, text))
        elif line.ended and begins_figures(text):
            self.failures.append(Remark(line.number, f"a line of figures that cannot be read: {text[:200]}"))
        elif (bad := _is_bad(text)) or not is_prose(text):
            failed = bad or is_failure(text)
            (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))

    def result(self) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._close(ended=False)
        self._finish()
        if not self.tables and not self.failures:
            self.failures.append(Remark(self.known, "no section of HPC Challenge gave a figure"))
        ordered = sorted(self.failures, key=lambda item: item.line)
        return ParsedOutput(tuple(self.tables), tuple(ordered), tuple(sorted(self.remarks, key=lambda item: item.line)))

    def _banner(self, line: Line, text: str) -> bool:
        banner = _BANNER.match(text)
        if banner:
            self._close(ended=False)
            self._finish()
            self.known, self.version = self.known or line.number, banner["version"]
        return bool(banner)

    def _section(self, line: Line, text: str) -> bool:
        found = _SECTION.match(text)
        if not found:
            return False
        self.known = self.known or line.number
        self._close(ended=found["what"] == "End" and self.section is not None and self.section.name == found["name"])
        if found["what"] == "Begin":
            self.section = _Section(found["name"], line.number)
        return True

    def _read_inside(self, section: _Section, line: Line, text: str) -> bool:
        if not line.ended:
            return False  # its last number may be cut
        if section.name == "PTRANS":
            return self._ptrans(section, line, text)
        if section.name == "Summary":
            return self._key(section, text)
        if section.name == "LatencyBandwidth":
            return self._network(section, line, text)
        return self._keep(section, section.name, section.line, figures(text), line)

    def _ptrans(self, section: _Section, line: Line, text: str) -> bool:
        words = text[:200].split()
        if len(words) != 1 + len(_PTRANS) or words[0] not in ("WALL", "CPU") or words[8] not in ("PASSED", "FAILED"):
            return False
        cells: list[Cell] = [number(word) for word in words[1:]]
        cells[8] = convert(number(words[9]), 1000)
        if any(cell is None for place, cell in enumerate(cells) if place != 7):
            return False
        cells[7] = words[8] == "PASSED"
        if not cells[7]:
            self.failures.append(Remark(line.number, text))
        section.lines.setdefault(words[0], line.number)
        section.rows.setdefault(words[0], []).append(tuple(cells))
        return True

    def _key(self, section: _Section, text: str) -> bool:
        found = _KEY.match(text)
        if not found:
            return False
        figure = summary_figure(found["key"], found["value"])
        if figure:
            section.add("Summary", section.line, figure)
        else:
            section.context.setdefault(found["key"], found["value"])
        return True

    def _network(self, section: _Section, line: Line, text: str) -> bool:
        conditions = _CONDITIONS.match(text) if text.startswith("The ") else None
        if conditions:
            section.context[f"{conditions['what']}_size"] = int(conditions["size"])
            return True
        section.ping_pong |= text == "Ping Pong:"
        table, found = network_figures(text, section.ping_pong)
        kept = self._keep(section, table, line.number, found, line)
        by_size = section.values.get("RingBySize", {})
        if table == "RingBySize" and len(by_size) == _BY_SIZE:
            section.rows.setdefault(table, []).append(tuple(figure.value for figure in by_size.values()))
            section.values.pop(table)
        return kept

    def _keep(self, section: _Section, table: str, begin: int, found: tuple[Figure, ...], line: Line) -> bool:
        for figure in found:
            section.add(table, begin, figure)
            if figure.value is None:
                self.failures.append(Remark(line.number, line.text.strip()))
        return bool(found)

    def _close(self, ended: bool) -> None:
        """End the open section; ``ended`` says that it printed its own end."""
        section, self.section = self.section, None
        if section is None:
            return
        if not ended:
            self.failures.append(Remark(section.line, f"the section {section.name} has no end"))
        if section.name == "HPL":
            self.hpl_ended = ended
        if section.name == "Summary" and "Summary" in section.values:
            self._add_largest(section.values["Summary"])
        for name, rows in section.rows.items():
            columns, units = (_RING, _RING_UNITS) if name == "RingBySize" else (_PTRANS, _PTRANS_UNITS)
            benchmark, context = (name, {}) if name == "RingBySize" else ("PTRANS", {"clock": name.lower()})
            self._table(benchmark, columns, units, rows, section.lines[name], ended, context)
        for name, found in section.values.items():
            if (ended and name not in (*_NETWORK, "RingBySize")) or len(found) == _NETWORK.get(name):
                row = tuple(figure.value for figure in found.values())
                units = tuple(figure.unit for figure in found.values())
                self._table(name, tuple(found), units, [row], section.lines[name], ended, section.context)

    def _add_largest(self, summary: dict[str, Figure]) -> None:
        """Add the rate of the largest transposed matrix to a summary that has the rate of a smaller one."""
        order = summary.get("ptrans_n")
        rates = [found for table in self.run if table.context.get("clock") == "wall" for found in largest_rates(table)]
        if order is not None and rates and order.value != rates[0][0]:
            best = max(rate for _, rate in rates)
            summary["ptrans_largest_gbs"] = Figure("ptrans_largest_gbs", "MB/s", best)

    def _table(
        self,
        benchmark: str,
        columns: tuple[str, ...],
        units: tuple[str | None, ...],
        rows: list[tuple[Cell, ...]],
        line: int,
        complete: bool,
        context: Mapping[str, ContextValue],
    ) -> None:
        frozen = MappingProxyType(dict(context))
        table = Table("hpcc", self.version, benchmark, columns, units, tuple(rows), line, complete, frozen)
        self.run.append(table)

    def _finish(self) -> None:
        """End the run: add HPL's table, then its own."""
        if self.hpl.rows or not self.hpl_ended:
            self.tables += self.hpl.tables()
        self.tables += sorted(self.run, key=lambda table: table.line)
        self.failures += self.hpl.failures
        self.remarks += self.hpl.remarks
        self.run, self.hpl, self.hpl_ended = [], HplReader(), False
