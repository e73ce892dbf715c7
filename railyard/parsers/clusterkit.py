"""Summaries of ClusterKit (NVIDIA HPC-X), of bandwidth.txt, latency.txt and bwResultAnalyzer.py, as typed tables.

One row per report: ``bandwidth`` (MB/s, 10^6 B/s; both ways together, unless it ran with ``--unidirectional``, which no
report says) and ``latency`` (us, one way), each with ``_min``, ``_max`` and ``_avg`` over all pairs of nodes.
``context`` names the pairs or nodes of the minimum and the maximum, if the line or the matrix does; ``gpus`` is True if
the text names GPUs. A matrix of bandwidths is read if no figures of it touch, as they may in wide columns: then it is a
remark that says so. A node that is slow with every partner is a failure. Matrices of latencies are not read: no public
output that we know shows one. A table is complete if it has all three figures of what it measured.

A printed MB is 10^6 B: with MiB, published 98.1 GB/s over one NDR card would be above what its link can carry.

Source: NVIDIA HPC-X 2.23, "Test Descriptions and Options" (what is measured); the report in apps/health_checks of
Azure/azurehpc, and the lines that ck-bench.sh of wuchanghui5220/pot reads (its form).
"""

import re
from dataclasses import dataclass, field

from railyard.parsers.lines import Line, filled_lines, foreign, is_failure, own_text
from railyard.parsers.output import Caution, ContextValue, ParsedOutput, Remark, Table
from railyard.parsers.pairs import PairMatrix, figures

TOOL = "clusterkit"

# Minimum bandwidth: 40029 MB/sec node6, node11  (5.0% below the avg)   |   Average latency: 1.743 usec
_FIGURE = re.compile(
    r"^(?P<which>Minimum|Maximum|Average) (?P<what>bandwidth|latency): {1,8}(?P<value>[0-9]{1,12}(?:\.[0-9]{1,6})?) "
    r"(?P<unit>MB/s(?:ec)?|us(?:ec)?)(?P<rest>(?:\s.{0,300})?)$"
)
_NOT_FINITE = re.compile(r"^(?:Minimum|Maximum|Average) (?:bandwidth|latency): {1,8}[+-]?(?:nan|inf)(?:\s|$)")
_BEGUN = re.compile(r"^(?:Minimum|Maximum|Average) (?:bandwidth|latency):")  # of another form
_WHICH = {"Minimum": "min", "Maximum": "max", "Average": "avg"}
_UNITS = {"bandwidth": ("MB/s", "MB/sec"), "latency": ("us", "usec")}
_NAMES = re.compile(r"\A[\s(]*(?P<names>[\w.-]{1,100}(?:, ?[\w.-]{1,100})?)(?=\s|\Z)")
# Rank:              0        1        2   |      0 (node01):     0.0  98011.2  98107.4
_HEADING = re.compile(r"^Rank: {1,40}0(?: {1,40}[0-9]{1,6}){1,4000}$")
_ROW = re.compile(r"^(?P<rank>[0-9]{1,6}) \((?P<node>[\w.-]{1,100})\): {0,40}(?P<cells>[0-9. ]{3,60000})$")
_GPUS = re.compile(r"(?<![A-Za-z])gpu", re.IGNORECASE)
_EXPECTED = 'report of ClusterKit: "Minimum bandwidth: … MB/s" or "Average latency: … usec"'


@dataclass(slots=True)
class _Report:
    """One report while it is read."""

    line: int
    figures: dict[str, tuple[float, str]] = field(default_factory=dict)
    context: dict[str, ContextValue] = field(default_factory=dict)
    spoiled: bool = False
    matrix: PairMatrix | None = None


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one report.

    Raises ParseError if the text has no figure of ClusterKit.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reports: list[_Report] = []
    failures: list[Remark] = []
    remarks: list[Remark] = []
    matrix: PairMatrix | None = None
    for line, stripped in filled_lines(text):
        if _HEADING.match(stripped):
            matrix = PairMatrix(line.number)
            continue
        if matrix is not None and _take_row(matrix, line, stripped):
            continue
        found = _FIGURE.match(stripped) if len(stripped) <= 500 else None
        if found is None or found["unit"] not in _UNITS[found["what"]]:
            is_wrong = bool(_NOT_FINITE.match(stripped[:100]))
            is_unread = line.ended and bool(_BEGUN.match(stripped))
            failed = is_wrong or is_unread or is_failure(stripped)
            what = "not finite: " if is_wrong else "a figure that cannot be read: " if is_unread else ""
            stripped = what + stripped
            (failures if failed else remarks).append(Remark(line.number, stripped[:2000]))
            for report in reports[-1:] if failed or line.dots else ():
                report.spoiled = True
        elif line.ended or found["unit"].endswith("ec") or found["rest"]:
            _take(reports, line, found)
            reports[-1].matrix = matrix
    is_of_gpus = bool(_GPUS.search(text))
    for report in reports:
        report.context.update({"gpus": True} if is_of_gpus else {})
        _judge(report, failures, remarks)
    if not reports:
        raise foreign(text, _EXPECTED)
    return ParsedOutput(tuple(map(_table, reports)), tuple(failures), tuple(remarks))


def _take_row(matrix: PairMatrix, line: Line, text: str) -> bool:
    """Take a row of a matrix; one whose figures touch, or that is cut, counts as a row without figures."""
    found = _ROW.match(text)
    if found is None or int(found["rank"]) != len(matrix.rows):
        return False
    matrix.names.append(found["node"])
    matrix.rows.append((figures(found["cells"].split()) or ()) if line.ended else ())
    return True


def _judge(report: _Report, failures: list[Remark], remarks: list[Remark]) -> None:
    """Add what the matrix of bandwidths says; one whose smallest figure is not the report's may be of another test."""
    matrix, least = report.matrix, report.figures.get("bandwidth_min")
    if matrix is None or least is None:
        return
    if not matrix.is_whole:
        not_read = "the matrix of all pairs is not read: a row has not a figure for each node"
        remarks.append(Caution(matrix.line, not_read))
    elif matrix.has_minimum(least[0], 0.1) and (slow := matrix.slow_node("MB/s")):
        failures.append(Remark(matrix.line, slow))


def _take(reports: list[_Report], line: Line, found: re.Match[str]) -> None:
    """Keep a figure; one that the open report has begins another."""
    which, what = _WHICH[found["which"]], found["what"]
    name = f"{what}_{which}"
    if not reports or name in reports[-1].figures:
        reports.append(_Report(line.number))
    reports[-1].figures[name] = (float(found["value"]), _UNITS[what][0])
    named = _NAMES.match(found["rest"]) if line.ended else None
    if named and which != "avg":
        reports[-1].context[f"{name}_of"] = named["names"]


def _table(report: _Report) -> Table:
    measured = {name.partition("_")[0] for name in report.figures}
    whole = all(f"{what}_{which}" in report.figures for what in measured for which in _WHICH.values())
    if report.matrix is not None and "bandwidth_min" in report.figures:
        pair = report.matrix.smallest(report.figures["bandwidth_min"][0], 0.1)
        report.context.update({"bandwidth_min_of": pair} if pair else {})
    complete = whole and not report.spoiled
    return Table.of_figures(
        TOOL, None, "pairwise", report.figures, line=report.line, complete=complete, context=report.context
    )
