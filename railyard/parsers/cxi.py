"""Output of cxi_write_bw (libcxi), Slingshot's own test of writes between two cards, as typed tables.

Columns: size (B), iterations (writes: the given iterations times the list size), bandwidth (MB/s, 10^6 B/s; if
bidirectional, the sum of both directions) and packet_rate (1/s, of packets of up to 2 KiB). ``context``: bidirectional,
list_size. A table is complete if its largest size was measured and the closing line follows it.

Source: main of utils/write_bw.c, print_bw_results and print_separator of utils/utils_common.c, libcxi (HPE) of 2025.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.lines import foreign, is_failure, lines_of, number, own_text
from railyard.parsers.output import Cell, ParsedOutput, Remark, Table

TOOL = "cxi"

COLUMNS = ("size", "iterations", "bandwidth", "packet_rate")
_UNITS = ("B", None, "MB/s", "1/s")
_TITLE = "CXI RDMA Write Bandwidth Test"
_HEADING = ["RDMA", "Size[B]", "Writes", "BW[MB/s]", "PktRate[Mpkt/s]"]
#           65536      256000  23850.12        11.645566
_ROW = re.compile(r"\A[0-9]{1,10} {1,12}[0-9]{1,15} {1,12}[0-9]{1,9}\.[0-9]{2} {1,16}[0-9]{1,9}\.[0-9]{6}\Z")
_LINE = re.compile(r"\A-{20,200}\Z")
# Max Write Size   : 4194304   |   Bidirectional    : Disabled
_SAID = re.compile(r"\A(?P<name>[A-Za-z(][A-Za-z0-9 ()]{0,30}?) {0,20}: (?P<value>\S.{0,200})\Z")
# Iteration failed: Connection timed out   |   cxi_write_bw: Invalid size: 0
_REFUSAL = re.compile(
    r"\A(?:cxi_write_bw: |Iteration failed: |[A-Za-z-]{1,20} handshake failed: |[a-z]{1,20}\(\) failed: |Failed to "
    r"|Peer results size )\S.{0,400}\Z"
)
_EXPECTED = f'output of cxi_write_bw: a line "{_TITLE}"'


@dataclass(slots=True)
class _Run:
    """One table while it is read; ``said`` are the lines of its head."""

    line: int
    said: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    headed: bool = False
    ended: bool = False
    spoiled: bool = False


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output.

    Raises ParseError if the text has neither the test's title nor an error of its own.
    """
    plain = own_text(text, TOOL, _EXPECTED)
    runs: list[_Run] = []
    failures: list[Remark] = []
    remarks: list[Remark] = []
    for line in lines_of(plain):
        said = line.text.strip()
        if said == _TITLE:
            runs.append(_Run(line.number))
        elif said and not (_take_line(runs[-1], said, line.ended) if runs else _LINE.match(said)):
            broken = bool(runs) and runs[-1].headed and said[0].isdigit()
            if runs and not runs[-1].ended and (line.dots or broken or is_failure(said)):
                runs[-1].spoiled = True
            failed = bool(_REFUSAL.match(said)) or is_failure(said)
            (failures if failed else remarks).append(Remark(line.number, said[:2000]))
    failures += [Remark(run.line, "a title without any row") for run in runs if not run.rows]
    if not runs and not any(_REFUSAL.match(failure.text) for failure in failures):
        raise foreign(plain, _EXPECTED)
    return ParsedOutput(
        tuple(_table(run) for run in runs if run.rows),
        tuple(sorted(failures, key=lambda each: each.line)),
        tuple(remarks),
    )


def _take_line(run: _Run, said: str, whole: bool) -> bool:
    """Take a line if it is the test's own; return whether it is."""
    if _LINE.match(said):
        run.ended = run.ended or bool(run.headed and whole)
    elif said.split() == _HEADING:
        run.headed = True
    elif run.headed and not run.ended and whole and _ROW.match(said):
        size, writes, rate, packets = said.split()
        run.rows.append((int(size), int(writes), number(rate), float(packets) * 1e6))
    elif not run.headed and (found := _SAID.match(said)):
        run.said[found["name"].strip()] = found["value"]
    else:
        return False
    return True


def _table(run: _Run) -> Table:
    largest = run.said.get("Max Write Size", run.said.get("Write Size"))
    listed = run.said.get("List Size", "")
    context: dict[str, bool | int] = {"bidirectional": run.said.get("Bidirectional") == "Enabled"}
    if listed.isascii() and listed.isdigit():
        context["list_size"] = int(listed[:9])
    return Table(
        tool=TOOL,
        version=None,
        benchmark="cxi_write_bw",
        columns=COLUMNS,
        units=_UNITS,
        rows=tuple(run.rows),
        line=run.line,
        complete=run.ended and not run.spoiled and str(run.rows[-1][0]) == largest,
        context=MappingProxyType(context),
    )
