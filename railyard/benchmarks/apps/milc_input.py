"""The input of MILC's su3_rmd (improved staggered, asqtad, R algorithm): a lattice of L^4 sites per node, few steps.

It is weak scaling as published: each node has L^4 sites, L from 4 to 14, on 1 to 16 nodes. The source does not say
along which sides the lattice grew. Here t doubles first, then z, y and x: 2 nodes have L x L x L x 2L, 16 have (2L)^4.
Source: D. Holmgren, Infiniband Performance, lattice QCD cluster notes, 8 September 2003, MILC scaling.
"""

import math
import re

from railyard.base.errors import RailyardError
from railyard.benchmarks.table.applications import nodes_of_key

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
