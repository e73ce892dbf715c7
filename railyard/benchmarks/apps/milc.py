"""A run of MILC's su3_rmd: its input, its figures, and whether it computed what was asked.

A rate alone does not show what was computed: a run with other data, or with data that arrived wrong, is as fast.

The rate: with each solve (CONGRAD5) MILC prints its time and the Mflop/s of one rank, with 1187 operations per site and
iteration. The mean over the solves, weighted by their time, times ranks, divided by nodes, is Mflop/s per node.
Source: generic_ks/d_congrad5_fn_milc.c of 7.8.1, ``nflop*volume*iters/(1.0e6*dtimec*numnodes())``: its nodes are ranks.

It is weak scaling as published: each node has L^4 sites, L from 4 to 14, on 1 to 16 nodes. The source does not say
along which sides the lattice grew. Here t doubles first, then z, y and x: 2 nodes have L x L x L x 2L, 16 have (2L)^4.
Source: D. Holmgren, Infiniband Performance, lattice QCD cluster notes, 8 September 2003, MILC scaling.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of
from railyard.benchmarks.model import Physics
from railyard.benchmarks.table.applications import nodes_of_key
from railyard.parsers import milc
from railyard.parsers.output import Cell, ParsedOutput, Remark, Table

Lattice = tuple[int, int, int, int]
#: The most nodes of the published sweep.
MOST_NODES = 16
#: Points that each rank must have on each side. The action couples third neighbours. With fewer points, MILC 7.8.1 as
#: compiled by default (D_FN_GATHER13) ends with "Can't use D_FN_GATHER13 with this layout!" or SIGSEGV, or never ends.
LEAST_SIDE = 3
STEPS, MASSES, SOURCES = 4, 2, 2
#: Solves of CG in a run: one per mass and step, and at the end two for the one measurement of psi-bar-psi.
SOLVES = MASSES * STEPS + MASSES * SOURCES
#: What CG must reach, as MILC is given it (error_per_site) and as MILC prints it (its square): |r|^2 / |source|^2.
ERROR = 1e-5
RESIDUAL = ERROR**2
FILE = "milc.in"
# 2 + 1 flavours, starting from a unit gauge field. Four steps of 0.05 take the plaquette from 3 to 2.53, so random
# numbers, gauge force and the data of all neighbours influence it.
_TEXT = """\
prompt 0
nflavors1 2
nflavors2 1
nx {0}
ny {1}
nz {2}
nt {3}
iseed 5682304

warms 0
trajecs 1
traj_between_meas 1
beta 7.0
mass1 0.02
mass2 0.05
u0 0.8441
microcanonical_time_step 0.05
steps_per_trajectory {steps}
max_cg_iterations 500
max_cg_restarts 5
error_per_site {error}
error_for_propagator {error}
npbp_reps 1
prec_pbp 1
fresh
forget
"""
_KEY = re.compile(r"^milc/asqtad/L(?P<edge>[1-9][0-9]?)$")
# The primes of MILC's own table: it divides by no larger one.
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
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
#: By how much a plaquette may differ. PLAQ has six decimals in single precision, and adding up the sites in another
#: order may change the last ones. All of them agreed in single and in double precision (4^4 and 8^4 sites), and on 1, 2
#: and 4 ranks (4x4x4x8, 6^4, 4x4x8x8 and 6x6x12x12), since each site has its own random numbers. On 6^4 sites another
#: seed gave 2.521976 in space instead of 2.532602; on 500 times as many sites the difference is some 20 times smaller.
TOLERANCE = 1e-5
#: Mean traces of the plaquettes in space and in time after the four steps of ``text``, by lattice. Two keys
#: with the same lattice (L8 on one node, L4 on 16) have the same value.
#: Source: our own runs of su3_rmd of MILC 7.8.1 (milc_qcd, commit 1e11e121), gcc 12.2 -O2, Open MPI 4.1.4, single
#: precision, on one rank, 22 November 2026.
STORED: Mapping[str, tuple[float, float]] = {
    "4x4x4x4": (2.521637, 2.521089),
    "4x4x4x8": (2.527383, 2.537003),
    "4x4x8x8": (2.529866, 2.539771),
    "6x6x6x6": (2.532602, 2.536084),
    "4x8x8x8": (2.530098, 2.532656),
    "6x6x6x12": (2.532557, 2.532607),
    "8x8x8x8": (2.528977, 2.530493),
    "6x6x12x12": (2.532456, 2.529884),
    "8x8x8x16": (2.528858, 2.529898),
    "10x10x10x10": (2.528522, 2.528503),
    "6x12x12x12": (2.529847, 2.528320),
    "8x8x16x16": (2.528395, 2.528334),
    "10x10x10x20": (2.528873, 2.527302),
    "12x12x12x12": (2.528328, 2.527663),
    "8x16x16x16": (2.528512, 2.527297),
    "14x14x14x14": (2.527982, 2.528564),
    "10x10x20x20": (2.527599, 2.528176),
    "12x12x12x24": (2.527395, 2.528755),
    "16x16x16x16": (2.527431, 2.528421),
    "14x14x14x28": (2.526608, 2.527852),
    "10x20x20x20": (2.526759, 2.527680),
    "12x12x24x24": (2.526667, 2.527624),
    "14x14x28x28": (2.527558, 2.527567),
    "20x20x20x20": (2.527581, 2.527520),
    "12x24x24x24": (2.527450, 2.527777),
}
_PLAQUETTE = ("plaquette_space", "plaquette_time")


def wrong(key: str, tables: Sequence[Table]) -> tuple[tuple[int, str], ...]:
    """Return line and sentence for what is wrong with a run's lattice, plaquette and residuals; () for other keys."""
    meant = lattice_of(key)
    if meant is None:
        return ()
    return tuple((table.line, why) for table in tables for why in _of_table(table, format_lattice(meant)) if why)


def remarks(key: str, tables: Sequence[Table]) -> tuple[str, ...]:
    """Return what was checked of a run's physics, and what was not judged. If something is wrong, only the lattice."""
    meant = lattice_of(key)
    if meant is None or not tables:
        return ()
    name = format_lattice(meant)
    if wrong(key, tables):  # its sentence says what
        return (f"lattice {name}",)
    found = [value for value in _values(tables[0], _PLAQUETTE) if _is_number(value)]
    shown = " and ".join(f"{value:.6f}" for value in found) or "not printed"
    kept = f"is the stored one within {TOLERANCE:.0e}" if name in STORED else f"not judged: no stored value for {name}"
    residual = _values(tables[0], ("residual",))[0]
    solves = (
        f"residuals of all solves at most {residual:.1e}, {RESIDUAL:.0e} was asked for"
        if _is_number(residual)
        else "residuals not judged: none was printed (compile MILC with -DCG_OK)"
    )
    return (f"lattice {name}", f"plaquette {shown} {kept}", solves)


def _of_table(table: Table, meant: str) -> list[str | None]:
    """Return a sentence for each check, None if it is right."""
    lattice = table.context.get("lattice")
    if lattice != meant:
        return [f"MILC ran on the lattice {lattice or '(not printed)'}, expected {meant}: it read another input"]
    return [_wrong_plaquette(table, meant), _find_unconverged(table), _wrong_count(table)]


def _wrong_plaquette(table: Table, meant: str) -> str | None:
    found = _values(table, _PLAQUETTE)
    if not all(_is_number(value) for value in found):
        return "MILC printed no plaquette (a line PLAQ with two numbers): nothing says what it computed"
    stored = STORED.get(meant)
    pairs = zip(found, stored or (), strict=False)
    off = max((abs(float(value or 0) - known) for value, known in pairs), default=0.0)
    if stored is None or off <= TOLERANCE:
        return None
    return (
        f"the plaquette is {found[0]:.6f} in space and {found[1]:.6f} in time, stored for {meant}: {stored[0]:.6f} "
        f"and {stored[1]:.6f}; they are {off:.1e} apart, and rounding explains {TOLERANCE:.0e}"
    )


def _find_unconverged(table: Table) -> str | None:
    residual, lost = _values(table, ("residual", "unconverged"))
    too_much = _is_number(residual) and not residual <= RESIDUAL
    if not too_much and not lost:
        return None
    shown = f"{residual:.1e}" if _is_number(residual) else "no number"
    said = f"CG did not converge in {count_of(int(lost), 'solve')}" if lost else "CG stopped too early"
    return f"{said}: the largest residual is {shown}, expected at most {RESIDUAL:.0e}"


def _wrong_count(table: Table) -> str | None:
    (solves,) = _values(table, ("solves",))
    if solves == SOLVES:
        return None
    return f"MILC timed {solves} solves of CG, expected {SOLVES}: lines are lost, or it read another input"


def _values(table: Table, names: Sequence[str]) -> list[Cell]:
    """Return the cells of the last row; None for a column that is not there."""
    return [table.column(name)[-1] if name in table.columns and table.rows else None for name in names]


def _is_number(value: Cell) -> TypeGuard[float]:
    return isinstance(value, float) and value == value and abs(value) != float("inf")


ASQTAD = Physics(wrong=wrong, remarks=remarks)


def parse(text: str, nodes: int) -> ParsedOutput:
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


def lattice(edge: int, nodes: int) -> Lattice:
    """Return the sides x, y, z and t for edge^4 sites per node.

    Raises RailyardError if the number of nodes is not a power of two, since one side doubles at a time.
    """
    if nodes < 1 or nodes & (nodes - 1):
        raise RailyardError(f"MILC with {edge}^4 sites per node: found {nodes} nodes, expected 1, 2, 4, 8 or 16")
    sides = [edge] * 4
    for doubling in range(nodes.bit_length() - 1):
        sides[3 - doubling % 4] *= 2
    return sides[0], sides[1], sides[2], sides[3]


def lattice_of(key: str) -> Lattice | None:
    """Return the lattice of ``milc/asqtad/L4/2-nodes``; None for any other key."""
    problem, nodes = nodes_of_key(key)
    found = _KEY.match(problem)
    return None if found is None or nodes is None else lattice(int(found["edge"]), nodes)


def local(sides: Lattice, ranks: int) -> Lattice | None:
    """Return the part of a lattice that each of so many ranks has in MILC's default layout; None if MILC stops.

    MILC takes the largest prime factor of the remaining ranks and cuts the longest side that it divides. If two are
    equally long, it takes one that was cut before, else the first. Each part must have ``LEAST_SIDE`` points along each
    side. Source: setup_hyper_prime of generic/layout_hyper_prime.c, MILC 7.8.1.
    """
    part, cut, left = list(sides), [False] * 4, ranks
    while left > 1:
        prime = next((prime for prime in reversed(_PRIMES) if left % prime == 0), None)
        if prime is None:
            return None
        longest = max((side for side in part if side % prime == 0), default=0)
        if not longest:
            return None
        along = [axis for axis in range(4) if part[axis] == longest]
        axis = next((axis for axis in along if cut[axis]), along[0])
        part[axis] //= prime
        cut[axis] = True
        left //= prime
    return (part[0], part[1], part[2], part[3]) if min(part) >= LEAST_SIDE else None


def ranks_per_node(edge: int, nodes: int, cores: int) -> int:
    """Return the most ranks per node, at most one per core, for which MILC can divide the lattice; one always fits."""
    sides = lattice(edge, nodes)
    return next((each for each in range(min(cores, edge**4), 1, -1) if local(sides, each * nodes) is not None), 1)


def text(sides: Lattice) -> str:
    """Return su3_rmd's input for MILC 7, from the release on that asks for max_cg_restarts and npbp_reps."""
    return _TEXT.format(*sides, steps=STEPS, error=f"{ERROR:.5f}")


def format_lattice(sides: Lattice) -> str:
    """Return a lattice as the parsers write it: ``4x4x4x8``."""
    return "x".join(str(side) for side in sides)


def sites(sides: Lattice) -> int:
    """Return how many sites a lattice has."""
    return math.prod(sides)
