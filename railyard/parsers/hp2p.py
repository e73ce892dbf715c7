"""Standard output of hp2p 4.0 to 4.3, all ranks in random pairs at once, as typed tables: one row per summary.

Columns, each with ``_min``, ``_avg``, ``_max`` and ``_std``: bandwidth (MB/s, 10^6 B/s; the printed MB/s are MiB/s) and
latency (us) over all pairs of ranks, bisection_bandwidth over the iterations; bisection_efficiency (%). A pair sends
both ways at once. Its bandwidth counts one way, and its latency is the time of such an exchange. ``context``: size (B)
of a message, if the largest bandwidth and the least time are its own; ``stage``: "snapshot" for all summaries but the
last. A summary is complete if its last line is there. If the matrix of all pairs is there, ``bandwidth_min_of`` names
the ranks of the slowest pair, and a rank that is slow with every partner is a failure.

Source: hp2p_result_display, hp2p_result_display_bw of src/hp2p_result.c, hp2p_iteration of src/hp2p.c, hp2p_util.c
(cea-hpc/hp2p).
"""

import re
from dataclasses import dataclass, field

from railyard.parsers.lines import BINARY_MB, Line, filled_lines, foreign, is_failure, own_text
from railyard.parsers.output import ContextValue, ParsedOutput, Remark, Table
from railyard.parsers.pairs import PairMatrix, figures
from railyard.parsers.wrong_lines import MIXED

TOOL = "hp2p"

_SUMMARY = re.compile(r"^={2,3} SUMMARY ={2,3}$")
_END = re.compile(r"^={10,40}$")
#  Min bandwidth            : 11021.37 MB/s
_FIGURE = re.compile(
    r"^(?P<which>Min|Max|Avg|Std) (?P<what>bandwidth|latency|bisection bandwidth|bisection efficiency) {0,20}: "
    r"(?P<value>[0-9]{1,12}\.[0-9]{2}) (?P<unit>MB/s|us|%)$"
)
_NOT_FINITE = re.compile(r"^(?:Min|Max|Avg|Std) [a-z ]{7,22}: [+-]?(?:nan|inf) \S{1,4}$")
_BEGUN = re.compile(r"^(?:Min|Max|Avg|Std) (?:bisection )?(?:bandwidth|latency|efficiency)\b")  # of another form
_UNITS = {"bandwidth": "MB/s", "latency": "us", "bisection bandwidth": "MB/s", "bisection efficiency": "%"}
#  Message size                : 1048576
_SIZE = re.compile(r"^Message size {1,20}: (?P<size>[1-9][0-9]{0,11})$")
_CONFIGURED = re.compile(
    r"^[A-Z][A-Za-z. _]{2,30} {1,20}: .{0,200}$|^(?:time_mult|max_communication_time|output format) "
)
_OWN = re.compile(r"^=== Benchmark configuration ===$|^[0-9]{1,3} % done$|^Writing final result\.\.\.(?: Done)?$")
_SLOW = re.compile(r"^warning: the communication between [0-9]{1,9} and [0-9]{1,9} was slow")
_LONGEST = 400  # characters of a line that is no row of the matrix
_EXPECTED = 'output of hp2p: "=== SUMMARY ===" and "Min bandwidth … MB/s" below it'


@dataclass(slots=True)
class _Summary:
    """One summary while it is read."""

    line: int
    size: int | None
    figures: dict[str, tuple[float, str]] = field(default_factory=dict)
    ended: bool = False
    spoiled: bool = False


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output.

    Raises ParseError if the text has no summary of hp2p.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    return reader.result(text)


class _Reader:
    """The open summary, and what was found so far."""

    def __init__(self) -> None:
        self.size: int | None = None
        self.begun = 0  # the line of a configuration
        self.finished = False  # since then
        self.mixed: Remark | None = None
        self.summaries: list[_Summary] = []
        self.matrices: list[PairMatrix] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line."""
        if _SUMMARY.match(text[:60]):
            if self.finished or (self._open() and self.begun < self.summaries[-1].line):
                self._report_mixed(line, text)
            self.summaries.append(_Summary(line.number, self.size))
        elif not self._of_matrix(line) and not self._own(line, text[:_LONGEST]):
            is_unread = line.ended and bool(_BEGUN.match(text))
            failed = is_unread or is_failure(text) or bool(_NOT_FINITE.match(text[:120]))
            if failed and (is_unread or _NOT_FINITE.match(text[:120])):
                text = f"{'not finite' if _NOT_FINITE.match(text[:120]) else 'a figure that cannot be read'}: {text}"
            (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
            for summary in self._open() if failed or line.dots else ():
                summary.spoiled = True

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        found = [summary for summary in self.summaries if summary.figures]
        if not found and self.begun:
            self.failures.append(Remark(self.begun, "a configuration without a summary"))
        elif not found:
            raise foreign(text, _EXPECTED)
        if self.mixed is not None:
            return ParsedOutput((), (self.mixed, *self.failures), tuple(self.remarks))
        matrix = self.matrices[-1] if self.matrices else None
        least = found[-1].figures.get("bandwidth_min") if found else None
        if matrix is not None and least and matrix.has_minimum(least[0] / BINARY_MB, 0.01):
            slow = matrix.slow_node("MiB/s")
            self.failures += [Remark(matrix.line, slow)] if slow else []
        tables = tuple(_table(summary, summary is found[-1], matrix) for summary in found)
        return ParsedOutput(tables, tuple(sorted(self.failures, key=lambda each: each.line)), tuple(self.remarks))

    def _of_matrix(self, line: Line) -> bool:
        """Take a row of the matrix: figures with six decimals, a tab behind each. Rows are the ranks, in order."""
        words = line.text.rstrip("\t").split("\t") if "\t" in line.text and line.ended else []
        row = figures(words) if words and all(len(word) > 7 and word[-7] == "." for word in words) else None
        if row is None:
            return False
        matrix = self.matrices[-1] if self.matrices else None
        if matrix is None or len(matrix.rows[0]) != len(row) or len(matrix.rows) == len(row):
            matrix = PairMatrix(line.number)
            self.matrices.append(matrix)
        matrix.names.append(f"rank {len(matrix.rows)}")
        matrix.rows.append(row)
        return True

    def _report_mixed(self, line: Line, text: str) -> None:
        self.mixed = self.mixed or Remark(line.number, f"found {text!r} before the run above has ended: {MIXED}")

    def _open(self) -> list[_Summary]:
        return [summary for summary in self.summaries[-1:] if not summary.ended]

    def _own(self, line: Line, text: str) -> bool:
        if found := _FIGURE.match(text):
            name = f"{found['what'].replace(' ', '_')}_{found['which'].lower()}"
            known = found["unit"] == _UNITS[found["what"]]
            for summary in self._open() if known else ():
                if name in summary.figures:
                    self._report_mixed(line, text)
                factor = BINARY_MB if found["unit"] == "MB/s" else 1.0
                summary.figures[name] = float(found["value"]) * factor, found["unit"]
            if known and self.summaries and not self._open():
                self._report_mixed(line, text)
            return known and bool(self._open())
        if size := _SIZE.match(text):
            self.size = int(size["size"]) if line.ended else None
            return True
        if _END.match(text):
            for summary in self._open():
                summary.ended = bool(summary.figures)
            return True
        if text == "=== Benchmark configuration ===":
            self.begun, self.size, self.finished = line.number, None, False
        elif _SLOW.match(text):
            return False
        self.finished = self.finished or text == "Writing final result... Done"
        return bool(_OWN.match(text)) or bool(self.begun and not self.summaries and _CONFIGURED.match(text))


def _table(summary: _Summary, is_last: bool, matrix: PairMatrix | None) -> Table:
    context: dict[str, ContextValue] = {"stage": "final" if is_last else "snapshot"}
    if summary.size is not None and _is_size(summary, summary.size):
        context["size"] = summary.size
    if matrix is not None and "bandwidth_min" in summary.figures:
        pair = matrix.smallest(summary.figures["bandwidth_min"][0] / BINARY_MB, 0.01)
        context |= {"bandwidth_min_of": pair} if pair else {}
    complete = summary.ended and not summary.spoiled
    return Table.of_figures(TOOL, None, "hp2p", summary.figures, line=summary.line, complete=complete, context=context)


def _is_size(summary: _Summary, size: int) -> bool:
    """Return whether the largest bandwidth is this size in the least time, within the digits that are printed."""
    if not {"bandwidth_max", "latency_min"} <= summary.figures.keys():
        return False
    rate, time = summary.figures["bandwidth_max"][0], summary.figures["latency_min"][0]
    return abs(rate * time - size) <= 0.0051 * BINARY_MB * time + 0.0051 * rate + 1e-6 * size
