"""What one run of su3_rmd gives: its solver's rate per node, its time, and the numbers that say what it computed.

The rate: with each solve (CONGRAD5) MILC prints its time and the Mflop/s of one rank, with 1187 operations per site and
iteration. The mean over the solves, weighted by their time, times ranks, divided by nodes, is Mflop/s per node.
Source: generic_ks/d_congrad5_fn_milc.c of 7.8.1, ``nflop*volume*iters/(1.0e6*dtimec*numnodes())``: its nodes are ranks.
"""

import re
from dataclasses import replace

from railyard.parsers import milc
from railyard.parsers.parsed import Cell, Parsed, Remark, Table

COLUMNS = ("performance", "time", "plaquette_space", "plaquette_time", "residual", "solves", "unconverged")
UNITS = ("Mflop/s", "s", None, None, None, None, None)
_NUMBER = r"[-+]?(?:[0-9.]{1,24}(?:e[-+]?[0-9]{1,3})?|nan|inf)"
# PLAQ:	2.254443	2.254160
_PLAQ = re.compile(rf"^PLAQ:\s+(?P<space>{_NUMBER})\s+(?P<time>{_NUMBER})\s*$", re.MULTILINE)
#  OK converged final_rsq= 4.8e-12 (cf 2.5e-11) rel = 1 (cf 0) restarts = 1 iters= 12
_RESIDUAL = re.compile(rf"^ (?P<said>OK|NOT) converged final_rsq= {{0,4}}(?P<rsq>{_NUMBER}) ", re.MULTILINE)
_STOPPED = (
    "the output ends before MILC's lines Time = and total_iters =: MILC stopped without a message, or its output is cut"
)
_UNTIMED = "MILC printed no rate: compile it with CTIME = -DCGTIME, so that each solve prints a line CONGRAD5"


def parse(text: str, nodes: int) -> Parsed:
    """Return one table with one row, with the columns ``COLUMNS``. A run that did not end gives none.

    ``residual`` is the largest |r|^2 / |source|^2 that MILC printed, None if it printed none. Raises ParseError if the
    text is not MILC's.
    """
    read = milc.parse(text)
    runs = [table for table in read.tables if table.context["kind"] == "run"]
    solves = [table for table in read.tables if table.context["kind"] == "cg"]
    failures = list(read.failures)
    if not runs:
        stopped = Remark(text.count("\n") or 1, _STOPPED)
        return replace(read, tables=(), failures=read.failures or (stopped,))
    if not solves:
        failures.append(Remark(runs[0].line, _UNTIMED))
    return replace(read, tables=(_table(text, runs[0], solves, nodes),), failures=tuple(failures))


def _table(text: str, run: Table, solves: list[Table], nodes: int) -> Table:
    timed = [row for table in solves for row in zip(table.column("time"), table.column("performance"), strict=True)]
    plaquette = [(_float(found["space"]), _float(found["time"])) for found in _PLAQ.finditer(text)]
    reached = [(found["said"], _float(found["rsq"])) for found in _RESIDUAL.finditer(text)]
    residuals = [value for _, value in reached if value is not None]
    ranks = run.context.get("ranks")
    space, time = plaquette[-1] if plaquette else (None, None)
    row: tuple[Cell, ...] = (
        _a_node(timed, ranks if isinstance(ranks, int) else None, nodes),
        run.column("time")[-1],
        space,
        time,
        max(residuals, default=None),
        len(timed),
        sum(said == "NOT" for said, _ in reached),
    )
    return Table("milc", run.version, "asqtad", COLUMNS, UNITS, (row,), run.line, run.complete, run.context)


def _a_node(timed: list[tuple[Cell, Cell]], ranks: int | None, nodes: int) -> float | None:
    """Return Mflop/s per node; None if no solve has both time and rate, or if the ranks are not printed."""
    both = [(s, rate) for s, rate in timed if isinstance(s, float) and isinstance(rate, float)]
    whole = sum(s for s, _ in both)
    if not whole or ranks is None:
        return None
    return 1000 * sum(s * rate for s, rate in both) / whole * ranks / nodes


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
