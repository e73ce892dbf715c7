"""The kernels of NPB 3.4 for MPI: how many processes each can take, and how much memory its arrays need at least."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from railyard.base.errors import RailyardError, did_you_mean

CLASSES = "SWABCDE"
#: If it is 0, off, no or false, NPB 3.4 leaves processes idle if their number does not fit. If it is unset, NPB stops.
STRICT_VARIABLE = "NPB_NPROCS_STRICT"

Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: ``fits`` says whether it takes a number of processes, ``sizes`` has the grid (keys, rows) per class.

    ``bytes_a_point``: a lower bound for its arrays. ``most`` gives the most processes for a grid: with more of them a
    part would be thinner than the kernel's stencil. ``least`` gives the fewest: with less of them the kernel stops.
    ``counts`` says in words which numbers it takes.
    """

    name: str
    fits: Callable[[int], bool]
    counts: str
    sizes: Mapping[str, Grid]
    bytes_a_point: float
    most: Callable[[Grid], int]
    least: Callable[[Grid], int] = lambda grid: 1

    def points(self, problem: str) -> int:
        """Return how many grid points, keys or matrix entries a class has."""
        return math.prod(self.sizes[problem])


def _cubes(*edges: int) -> dict[str, Grid]:
    return {problem: (edge, edge, edge) for problem, edge in zip(CLASSES, edges, strict=True)}


def _rows(*amounts: int) -> dict[str, Grid]:
    return {problem: (amount, 1, 1) for problem, amount in zip(CLASSES, amounts, strict=True)}


def _is_square(count: int) -> bool:
    return math.isqrt(count) ** 2 == count


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0


def _any(count: int) -> bool:
    return True


def _three_a_cell(grid: Grid) -> int:
    return (grid[0] // 3) ** 2  # sqrt(p) cells along each axis


def _four_a_part(grid: Grid) -> int:
    edge = grid[0] // 4  # of a plane that is cut by powers of two both ways, the longer one first
    return (1 << (edge.bit_length() - 1)) ** 2


def _planes(grid: Grid) -> int:
    return grid[2]  # one plane each; with more, FT would cut in two directions


def _one_cell(grid: Grid) -> int:
    return math.prod(grid) // 8  # two points along each axis on the finest level


def _most_of_is(grid: Grid) -> int:
    return 128 if grid[0] <= 1 << 16 else 1024  # its authors verified no more, and it stops with more


def _least_of_is(grid: Grid) -> int:
    return max(1, grid[0] >> 29)  # a process counts its keys in 32 bits: at least 4 in class D, 64 in class E


def _batches(grid: Grid) -> int:
    return grid[0] >> 16  # EP's processes share batches of 2^16 pairs, and each needs one


def _rank_limit(grid: Grid) -> int:
    return 1 << 20


_SQUARE, _POWER = (_is_square, "a square number"), (_is_power_of_two, "a power of two")
_FT: dict[str, Grid] = {
    **{"S": (64, 64, 64), "W": (128, 128, 32), "A": (256, 256, 128), "B": (512, 256, 256)},
    **{"C": (512, 512, 512), "D": (2048, 1024, 1024), "E": (4096, 2048, 2048)},
}
_CG = {"S": (1400, 7), "W": (7000, 8), "A": (14000, 11), "B": (75000, 13), "C": (150000, 15)} | {
    "D": (1500000, 21),
    "E": (9000000, 26),
}
#: Bytes per point, from the arrays that NPB 3.4 declares: FT has three complex fields and their exponents (56); MG has
#: u and r with all coarser levels (8/7), and v; IS has three arrays of keys of 4 B (it allocates half as much again,
#: and more from 256 processes on, but does not touch that); BT 21, SP 38, LU 20 fields of 8 B; CG has the value and the
#: column of each of na (nonzer + 1)^2 entries. Since 3.4, LU takes a grid nx x ny with nx/2 <= ny <= nx; all releases
#: take a power of two.
#: Source: get_active_nprocs.f90 of NPB 3.4 (which counts), LU/subdomain.f90 (4 points a part), setparams.c (sizes),
#: IS/is.c (MIN_PROCS, MAX_PROCS), EP/ep.f90 (Too many nodes).
KERNELS: Mapping[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        Kernel("bt", *_SQUARE, _cubes(12, 24, 64, 102, 162, 408, 1020), 168, _three_a_cell),
        Kernel("cg", *_POWER, {p: (na * (n + 1) ** 2, 1, 1) for p, (na, n) in _CG.items()}, 12, _rank_limit),
        Kernel("ep", _any, "any number", _rows(*(1 << n for n in (24, 25, 28, 30, 32, 36, 40))), 0, _batches),
        Kernel("ft", *_POWER, _FT, 56, _planes),
        Kernel("is", *_POWER, _rows(*(1 << n for n in (16, 20, 23, 25, 27, 31, 35))), 12, _most_of_is, _least_of_is),
        Kernel("lu", *_POWER, _cubes(12, 33, 64, 102, 162, 408, 1020), 160, _four_a_part),
        Kernel("mg", *_POWER, _cubes(32, 128, 256, 256, 512, 1024, 2048), 26, _one_cell),
        Kernel("sp", *_SQUARE, _cubes(12, 36, 64, 102, 162, 408, 1020), 304, _three_a_cell),
    )
}


def find(name: str) -> Kernel:
    """Return the kernel of this name. Raises RailyardError, with the nearest known name, if there is none."""
    if name not in KERNELS:
        raise RailyardError(f'NPB: found the kernel "{name}": {did_you_mean(name, KERNELS)}')
    return KERNELS[name]


def ranks_per_node(name: str, problem: str, nodes: int, cores: int) -> int:
    """Return the most ranks per node, at most one per core, with which the kernel runs on so many nodes.

    All nodes have the same number. Raises RailyardError if there is no such number, or if the class is unknown.
    """
    kernel = find(name)
    if problem not in CLASSES:
        raise RailyardError(f'NPB: found the class "{problem}", expected one of {", ".join(CLASSES)}')
    grid = kernel.sizes[problem]
    least, most = kernel.least(grid), kernel.most(grid)
    for each in range(cores, 0, -1):
        if least <= nodes * each <= most and kernel.fits(nodes * each):
            return each
    bounds = f"of at most {most}" if least == 1 else f"from {least} to {most}"
    raise RailyardError(
        f"NPB: found no number of ranks for {name} of class {problem} on {nodes} nodes of {cores} cores, expected "
        f"{kernel.counts} {bounds} in all; take other nodes or another class"
    )


def least_memory(name: str, problem: str) -> int:
    """Return what the main arrays of a class take on all nodes together, in bytes; a lower bound."""
    kernel = find(name)
    return int(kernel.bytes_a_point * kernel.points(problem))


def refuse_too_large(name: str, problem: str, nodes: int, memory_bytes: int) -> None:
    """Raise RailyardError if the arrays of a class do not fit into the memory of so many nodes."""
    refuse_above(name, problem, least_memory(name, problem), nodes, memory_bytes)


def refuse_above(name: str, problem: str, needed: int, nodes: int, memory_bytes: int) -> None:
    """Raise RailyardError if a class needs more bytes than the memory of so many nodes."""
    if needed > nodes * memory_bytes:
        raise RailyardError(
            f"NPB: found class {problem} of {name}, whose arrays take at least {needed / 2**30:.1f} GiB, expected at "
            f"most {nodes * memory_bytes / 2**30:.1f} GiB, the memory of {nodes} nodes; take a smaller class"
        )
