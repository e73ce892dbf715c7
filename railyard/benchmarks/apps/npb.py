"""NPB 3.4 for MPI and NPB-MZ: ranks and memory of each kernel, the class that takes long enough, zones and threads.

The kernels of NPB 3.4 for MPI: how many processes each can take, and how much memory its arrays need at least.

How long a kernel of NPB should take, and the class, nodes and ranks with which it takes long enough to be judged.

A run of less than ``LEAST_S`` measures its start and the noise of its nodes. Class C on 8,192 ranks ends within a
second; on one node it takes a minute. So each class is for a size of machine, and a larger machine needs the next one.

The kernels of NPB-MZ: their zones, and how many ranks and threads they get on the available cores.

A zone belongs to one rank. With more ranks than zones, some find no work; with more zones than ranks, threads share it.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import count_of, number
from railyard.benchmarks.table.applications import LEAST_S
from railyard.parsers.npb import count_operations

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


def _most_is_processes(grid: Grid) -> int:
    return 128 if grid[0] <= 1 << 16 else 1024  # its authors verified no more, and it stops with more


def _least_is_processes(grid: Grid) -> int:
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
        Kernel(
            "is",
            *_POWER,
            _rows(*(1 << n for n in (16, 20, 23, 25, 27, 31, 35))),
            12,
            _most_is_processes,
            _least_is_processes,
        ),
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


#: A class is chosen so that it should take so many times that: a core of today may be twice as fast as those of RATES.
MARGIN = 2.0
#: The share of the memory that the arrays of a chosen class may take: these are a lower bound, and MPI's buffers and
#: the system come on top of it.
MEMORY_SHARE = 0.9
#: Of more nodes than that, only all and powers of two are tried.
_MOST_TRIED = 512
#: The classes of which one is chosen for a system. A and B end before a network matters.
CHOSEN = "CDE"
#: Iterations by class, S to E. Source: setparams.c of NPB 3.4, and the printed Iterations of its outputs. EP has none.
ITERATIONS: Mapping[str, tuple[int, ...]] = {
    "bt": (60, 200, 200, 200, 200, 250, 250),
    "cg": (15, 15, 15, 75, 75, 100, 100),
    "ep": (0,) * 7,
    "ft": (6, 6, 6, 20, 20, 25, 25),
    "is": (10,) * 7,
    "lu": (50, 300, 250, 250, 250, 300, 300),
    "mg": (4, 4, 4, 20, 20, 50, 50),
    "sp": (100, 400, 400, 400, 400, 500, 500),
}
#: CG prints the order of its matrix as its size; here ``CLASSES`` has its entries.
CG_ORDERS = (1400, 7000, 14000, 75000, 150000, 1500000, 9000000)
#: Mop/s of one rank, if all cores of its node compute. Sources: outputs of NPB 3.4 on one node of 2020 (thaisacs,
#: NPB3.4-MPI at d228c8f5, experiments/results-time): BT.B 8222.16 on 4 ranks, CG.C 3408.59 on 8, FT.C 8100.88 on 8,
#: LU.C 17111.43 on 8, SP.B 1689.11 on 1. EP: 216.4 on the two cores of our virtual cluster. MG and IS have no such
#: output. There 5 GB/s of memory per core (a node of 192 cores and 24 channels of DDR5-4800: 4.8) set the rate: MG
#: moves about 100 B per point for its 58 operations, IS about 32 B per key.
RATES: Mapping[str, float] = {
    **{"bt": 2055.0, "cg": 426.0, "ep": 108.0, "ft": 1012.0},
    **{"is": 156.0, "lu": 2139.0, "mg": 2900.0, "sp": 1689.0},
}


@dataclass(frozen=True, slots=True)
class KernelRun:
    """A class of a kernel on nodes of so many ranks. ``predicted_s``: how long its computation should take.

    The network adds to it (``least_traffic.messages_s``). The class is chosen without it, so it is the same on all.
    """

    problem: str
    nodes: int
    ranks_per_node: int
    predicted_s: float


def operations(name: str, problem: str) -> float:
    """Return how many operations a class counts, by the formulas of ``railyard.parsers.npb``."""
    at = CLASSES.index(problem)
    size: tuple[int, ...] = find(name).sizes[problem]
    if name == "cg":
        size = (CG_ORDERS[at],)
    elif name == "ep":
        size = (2 * size[0],)  # two random numbers for each pair
    elif name == "is":
        size = size[:1]
    counted = count_operations(name.upper(), size, ITERATIONS[name][at], problem)
    assert counted is not None
    return counted


def predicted_s(name: str, problem: str, ranks: int) -> float:
    """Return how long a class should compute on so many ranks, in seconds."""
    return operations(name, problem) / (1e6 * RATES[name] * ranks)


@lru_cache(maxsize=1024)
def place(
    name: str, problem: str, nodes: int, cores: int, memory_bytes: int | None = None, *, planned: bool = False
) -> KernelRun:
    """Return the nodes and ranks of a class: the most ranks with which a run is long enough to be judged.

    If no number of ranks is, then the most ranks; for a class that was chosen (``planned``), the number with which it
    takes the longest. Of layouts with as many ranks it takes the fewest nodes, at least two if there are two, so that
    as few cores as possible are idle on the nodes that it holds. Raises RailyardError if no number of nodes fits.
    """
    roomy = _find_layouts(name, problem, nodes, cores, _share_of(memory_bytes)) if planned else []
    found = roomy or _layouts(name, problem, nodes, cores, memory_bytes)
    long_enough = [each for each in found if each.predicted_s >= LEAST_S]
    if planned and not long_enough:
        return max(found, key=lambda each: each.predicted_s)
    return _most_ranks(long_enough or found)


def on_nodes(name: str, problem: str, nodes: int, cores: int) -> KernelRun:
    """Return the most ranks of a class on exactly so many nodes. Raises RailyardError if no number fits."""
    each = ranks_per_node(name, problem, nodes, cores)
    return KernelRun(problem, nodes, each, predicted_s(name, problem, nodes * each))


@lru_cache(maxsize=256)
def choose(name: str, nodes: int, cores: int, memory_bytes: int) -> KernelRun:
    """Return the class of a kernel for a system: the smallest of C, D and E that is long enough on the most ranks.

    If none is, it is the largest that fits into the memory, on fewer ranks. Raises RailyardError if no number of nodes
    fits.
    """
    largest = CHOSEN[0]
    for problem in CHOSEN:
        found = _find_layouts(name, problem, nodes, cores, _share_of(memory_bytes))
        if not found:
            continue
        largest, most = problem, _most_ranks(found)
        if most.predicted_s >= MARGIN * LEAST_S:
            return most
    return place(name, largest, nodes, cores, memory_bytes, planned=True)


@lru_cache(maxsize=64)
def choose_swept(name: str, most_nodes: int, cores: int, memory_bytes: int) -> str:
    """Return the class of a kernel for a sweep, which begins on one node: one that the memory of a node has.

    It is the smallest of C, D and E that takes long enough on the most nodes; else the largest of those.
    """
    chosen = CHOSEN[0]
    for problem in CHOSEN:
        if not _find_layouts(name, problem, 1, cores, _share_of(memory_bytes)):
            continue
        try:
            most = on_nodes(name, problem, most_nodes, cores)
        except RailyardError:  # its test on so many nodes says so
            continue
        chosen = problem
        if most.predicted_s >= MARGIN * LEAST_S:
            break
    return chosen


def _share_of(memory_bytes: int | None) -> int | None:
    return None if memory_bytes is None else int(MEMORY_SHARE * memory_bytes)


def _most_ranks(found: list[KernelRun]) -> KernelRun:
    return max(found, key=lambda each: (each.nodes * each.ranks_per_node, -each.nodes))


def _layouts(name: str, problem: str, nodes: int, cores: int, memory_bytes: int | None) -> list[KernelRun]:
    """Return the layout with the most ranks per node for each number of nodes whose memory has the class.

    Raises RailyardError if there is none, because of the ranks or of the memory.
    """
    found = _find_layouts(name, problem, nodes, cores, memory_bytes)
    if not found:
        with_ranks = _find_layouts(name, problem, nodes, cores, None)
        if with_ranks and memory_bytes is not None:
            refuse_too_large(name, problem, max(each.nodes for each in with_ranks), memory_bytes)
        on_nodes(name, problem, min(2, nodes), cores)
    return found


def _find_layouts(name: str, problem: str, nodes: int, cores: int, memory_bytes: int | None) -> list[KernelRun]:
    """Return what ``_layouts`` does; empty if there is none."""
    found: list[KernelRun] = []
    for count in _counts(nodes):
        if memory_bytes is not None and least_memory(name, problem) > count * memory_bytes:
            continue
        try:
            found.append(on_nodes(name, problem, count, cores))
        except RailyardError:  # other numbers of nodes may fit
            continue
    return found


def _counts(nodes: int) -> Iterator[int]:
    """Yield the numbers of nodes to try: down to half of them, then powers of two down to two."""
    yield from range(nodes, nodes // 2, -1) if nodes <= _MOST_TRIED else (nodes,)
    power = 1 << (max(1, nodes // 2 if nodes <= _MOST_TRIED else nodes - 1).bit_length() - 1)
    while power >= 2:
        yield power
        power //= 2


def limit_s(predicted: float) -> int:
    """Return the time limit that a run of this length needs, in seconds: three times it, and two minutes to start."""
    return 120 + math.ceil(3 * predicted / 60) * 60


def describe(name: str, placed: KernelRun, adds_s: float = 0.0) -> str:
    """Return in words how long a run should take; if that is too short to be judged, which class is not.

    ``adds_s``: how long its messages take, in seconds.
    """
    where = f"{count_of(placed.nodes * placed.ranks_per_node, 'rank')} of {number(RATES[name])} Mop/s"
    said = (
        f"predicted {number(placed.predicted_s)} s by {number(operations(name, placed.problem) / 1e6)} Mop on {where}"
    )
    if adds_s:
        said += f", and {number(adds_s)} s for its messages"
    if placed.predicted_s + adds_s >= LEAST_S:
        return said
    return f"{said}: below {LEAST_S:g} s it is not judged, unless the network adds the rest; {larger(placed.problem)}"


def larger(problem: str) -> str:
    """Return what gives a longer run than a class does, in words."""
    behind = CLASSES[CLASSES.find(problem) + 1 :] if problem in CLASSES else ""
    return f"take class {behind[0]} (npb_classes), or fewer nodes" if behind else "take fewer nodes"


#: Variables that would give a rank another number of threads than OMP_NUM_THREADS, or other cores than its launcher, or
#: that would time each part of the work, which itself takes time.
CLEARED = (
    *("NPB_MAX_THREADS", "NPB_TIMER_FLAG", "OMP_DYNAMIC", "OMP_MAX_ACTIVE_LEVELS", "OMP_THREAD_LIMIT"),
    *("OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY"),
    *("KMP_AFFINITY", "KMP_ALL_THREADS", "KMP_DEVICE_THREAD_LIMIT", "KMP_HW_SUBSET"),
)
#: By default, 3.3 moves threads from ranks with small zones to ranks with large ones, on any node. With four ranks of
#: two threads, BT-MZ of class S gave one rank four threads and two others one each, but still printed eight in all. A
#: rank then has more threads than cores. ``erank`` is not a number, so 3.3 takes it for 0: no moving. 3.4 knows the
#: word, moves none, and adds up the threads that each rank reports.
#: Source: env_setup and map_zones of BT-MZ/mpi_setup.f (3.3.1), env_setup of LU-MZ/mpi_setup.f90 (3.4).
BALANCE = {"NPB_MZ_BLOAD": "erank"}

#: Points along x, y and z of the whole mesh, and zones along x and along y. Only LU-MZ has others.
#: Source: check_info, write_bt_info, write_sp_info and write_lu_info of sys/setparams.c, NPB 3.3.1-MZ; table 1 of
#: R. F. Van der Wijngaart and H. Jin, NAS Technical Report NAS-03-010 (2003), classes S to D.
_MESH: Mapping[str, tuple[int, int, int]] = {
    **{"S": (24, 24, 6), "W": (64, 64, 8), "A": (128, 128, 16), "B": (304, 208, 17)},
    **{"C": (480, 320, 28), "D": (1632, 1216, 34), "E": (4224, 3456, 92)},
}
_ZONES: Mapping[str, int] = {"S": 2, "W": 4, "A": 4, "B": 8, "C": 16, "D": 32, "E": 64}
_LU_ZONES = 4
#: Only for BT-MZ: the widest zone divided by the narrowest, along x and along y.
_RATIO: Mapping[str, float] = {"S": 3.0}
_RATIO_OF_OTHERS = 4.5
#: Two layouts are equal if their estimated times are within this factor: memory and sockets matter more.
ALIKE = 1.1
#: Bytes per point: fields of 8 B, 21 in BT-MZ, 22 in SP-MZ, 17 in LU-MZ; a lower bound.
#: Source: the declarations of bt.f, sp.f and lu.f, NPB 3.3.1-MZ.
ZONE_KERNELS: Mapping[str, int] = {"bt-mz": 168, "lu-mz": 136, "sp-mz": 176}
#: What one iteration counts in a zone: per point, less per point of its mean face, per point of its mean edge, less
#: this. Source: the mflops of bt.f, lu.f and sp.f, NPB 3.3.1-MZ and 3.4-MZ.
_OPERATIONS: Mapping[str, tuple[float, float, float, float]] = {
    "bt-mz": (3478.8, 17655.7, 28023.7, 0.0),
    "lu-mz": (1984.77, 10923.3, 27770.9, 144010.0),
    "sp-mz": (881.174, 4683.91, 11484.5, 19272.4),
}


@dataclass(frozen=True, slots=True)
class Layout:
    """On how many nodes a kernel runs, with how many ranks on each node and threads in each rank."""

    nodes: int
    ranks_per_node: int
    threads: int


def zones(name: str, problem: str) -> int:
    """Return how many zones a class has: the most ranks. Raises RailyardError for an unknown kernel or class."""
    if name not in ZONE_KERNELS:
        raise RailyardError(f'NPB-MZ: found the kernel "{name}": {did_you_mean(name, ZONE_KERNELS)}')
    if problem not in CLASSES:
        raise RailyardError(f'NPB-MZ: found the class "{problem}", expected one of {", ".join(CLASSES)}')
    return _zones_per_side(name, problem) ** 2


def ranks_of_threads(ranks: int, threads: int) -> str:
    """Return both numbers in words: ``2 ranks of 1 thread``."""
    return f"{count_of(ranks, 'rank')} of {count_of(threads, 'thread')}"


def describe_time(name: str, problem: str, chosen: Layout) -> str:
    """Return in words how long a run should take; if that is too short to be judged, what runs longer."""
    seconds = predicted_zones_s(name, problem, chosen)
    cores = chosen.nodes * chosen.ranks_per_node * chosen.threads
    rate = RATES[_plain_name(name)]
    on = f"{count_of(cores, 'core')} of {number(rate)} Mop/s, as long as the rank with the most work"
    said = f"predicted {number(seconds)} s by {number(zone_operations(name, problem) / 1e6)} Mop on {on}"
    if seconds >= LEAST_S:
        return said
    return f"{said}: below {LEAST_S:g} s it is not judged; {larger(problem)}"


def describe_zones(name: str, problem: str, chosen: Layout, nodes: int, cores: int) -> str:
    """Return a layout in words, on so many available nodes of so many cores."""
    return (
        f"{chosen.nodes} of {nodes} nodes, {ranks_of_threads(chosen.ranks_per_node, chosen.threads)} on each, "
        f"{chosen.ranks_per_node * chosen.threads} of {cores} cores per node, {zones(name, problem)} zones"
    )


def zone_operations(name: str, problem: str) -> float:
    """Return how many operations a class counts, over all its zones and iterations."""
    a_point, a_face, a_edge, less = _OPERATIONS[name]
    widths, heights = _sides(name, problem)
    deep = _MESH[problem][2]
    found = 0.0
    for wide in widths:
        for high in heights:
            faces, edges = (wide * high + wide * deep + high * deep) / 3, (wide + high + deep) / 3
            found += a_point * wide * high * deep - a_face * faces + a_edge * edges - less
    return found * ITERATIONS[_plain_name(name)][CLASSES.index(problem)]


def predicted_zones_s(name: str, problem: str, there: Layout) -> float:
    """Return how long a class should compute, in seconds: as long as the rank with the most work takes.

    A core is as fast as in the kernel of the same solver without zones (``npb_duration.RATES``).
    """
    sizes, planes = _sizes(name, problem), _MESH[problem][2] - 2
    share = _time(sizes, planes, there) / (sum(sizes) * planes)
    return share * zone_operations(name, problem) / (1e6 * RATES[_plain_name(name)])


@lru_cache(maxsize=64)
def choose_zones(name: str, nodes: int, cores: int, memory_bytes: int) -> tuple[str, int]:
    """Return the class of a kernel for a system, and on how many of its nodes it runs.

    It is the smallest of C, D and E that takes long enough to be judged on all nodes; else the largest that fits into
    the memory, on so few nodes that it does. All cores count as equally busy here, which is the least time.
    Raises RailyardError if the memory has none of them.
    """
    found: tuple[str, int] | None = None
    for problem in CHOSEN:
        used = min(nodes, zones(name, problem))
        if ZONE_KERNELS[name] * math.prod(_MESH[problem]) > MEMORY_SHARE * used * memory_bytes:
            continue
        rate = 1e6 * RATES[_plain_name(name)] * cores
        needed = zone_operations(name, problem) / rate
        if needed >= MARGIN * LEAST_S * used:
            return problem, used
        least = math.ceil(ZONE_KERNELS[name] * math.prod(_MESH[problem]) / (MEMORY_SHARE * memory_bytes))
        found = problem, max(min(2, nodes), least, min(used, int(needed / LEAST_S)))
    if found is None:
        first = CHOSEN[0]
        refuse_large_zones(name, first, min(nodes, zones(name, first)), int(MEMORY_SHARE * memory_bytes))
    assert found is not None
    return found


def _plain_name(name: str) -> str:
    """Return the kernel without zones that has the same solver: ``bt`` for ``bt-mz``."""
    return name.partition("-")[0]


def programs(name: str, problem: str, ranks: int) -> tuple[str, str]:
    """Return the names of the executable: 3.4's for any number of ranks, and 3.3's, compiled for one number."""
    return f"{name}.{problem}.x", f"{name}.{problem}.{ranks}"


def layout(
    name: str, problem: str, nodes: int, cores: int, *, threads: int = 0, ranks: int = 0, least: int = 1
) -> Layout:
    """Return the nodes, ranks and threads with which a kernel should be fastest, with at least two threads.

    ``threads`` per rank and ``ranks`` per node are what was asked for; 0 leaves them open. Each node has at least
    ``least`` ranks. All nodes have the same number of ranks, and there are fewer nodes if there are not enough zones.
    Raises RailyardError if cores or zones do not allow it.
    """
    most = zones(name, problem)
    _refuse(name, problem, nodes, cores, threads, ranks, most)
    used = nodes if ranks else min(nodes, most // least)
    fitting = [
        Layout(used, each, threads or cores // each)
        for each in ([ranks] if ranks else range(least, cores // (threads or 1) + 1))
        if used * each <= most
    ]
    if not fitting or used < min(2, nodes):
        raise RailyardError(
            f"NPB-MZ: found no place for {ranks_of_threads(least, threads or 1)} on each of {min(2, nodes)} nodes of "
            f"{cores} cores, expected at most {most} ranks in all, the zones of {name} of class {problem}; take "
            f"another class or fewer threads"
        )
    return _best(fitting, cores, _sizes(name, problem), _MESH[problem][2] - 2)


def _best(fitting: list[Layout], cores: int, sizes: list[int], planes: int) -> Layout:
    """Return the layout with the most ranks among those that are about the fastest, since the network is what counts.

    Layouts with threads come first, and so do those that leave no core free and thus cross fewer sockets.
    """
    rank = [(each.threads < 2, cores % each.ranks_per_node != 0) for each in fitting]
    first = [each for each, said in zip(fitting, rank, strict=True) if said == min(rank)]
    times = [_time(sizes, planes, each) for each in first]
    near = [each for each, took in zip(first, times, strict=True) if took <= ALIKE * min(times)]
    return max(near, key=lambda each: each.ranks_per_node)


def _refuse(name: str, problem: str, nodes: int, cores: int, threads: int, ranks: int, most: int) -> None:
    """Raise RailyardError if what was asked for does not fit the cores of a node, or the zones."""
    for word, value in (("threads", threads), ("ranks", ranks)):
        if value < 0:
            raise RailyardError(f"NPB-MZ: found -S {word}={value}, expected a number above 0, or 0 to have it chosen")
    needed = (threads or 1) * (ranks or 1)
    if needed > cores:
        raise RailyardError(
            f"NPB-MZ: found {ranks_of_threads(ranks or 1, threads or 1)} on each node, {needed} cores, expected at "
            f"most {cores}, the cores of a node (nodes.hardware); take fewer (-S threads, -S ranks)"
        )
    if nodes * ranks > most:
        raise RailyardError(
            f"NPB-MZ: found {ranks} ranks on each of {nodes} nodes, {nodes * ranks} in all, expected at most {most}, "
            f"the zones of {name} of class {problem}; take fewer (-S ranks) or a larger class"
        )


def refuse_large_zones(name: str, problem: str, nodes: int, memory_bytes: int) -> None:
    """Raise RailyardError if the fields of a class do not fit into the memory of so many nodes."""
    zones(name, problem)
    refuse_above(name, problem, ZONE_KERNELS[name] * math.prod(_MESH[problem]), nodes, memory_bytes)


def _zones_per_side(name: str, problem: str) -> int:
    return _LU_ZONES if name == "lu-mz" else _ZONES[problem]


def _sizes(name: str, problem: str) -> list[int]:
    """Return the points of each zone in a plane, largest first."""
    widths, heights = _sides(name, problem)
    return sorted((width * height for width in widths for height in heights), reverse=True)


def _sides(name: str, problem: str) -> tuple[list[int], list[int]]:
    """Return how many points the zones have along x, and along y."""
    along, (wide, high, _) = _zones_per_side(name, problem), _MESH[problem]
    ratio = _RATIO.get(problem, _RATIO_OF_OTHERS) if name == "bt-mz" else 1.0
    return _cuts(wide, along, ratio), _cuts(high, along, ratio)


def _cuts(points: int, parts: int, ratio: float) -> list[int]:
    """Return how many points each of so many zones has along one side: equal, or each wider than the one before.

    Source: zone_setup of BT-MZ/zone_setup.f, NPB 3.3.1-MZ.
    """
    if ratio == 1.0:
        ends = [points * part // parts for part in range(parts + 1)]
    else:
        step = math.exp(math.log(ratio) / (parts - 1))
        first = points * (step - 1) / (step**parts - 1)
        ends = [0, *(int(first * (step**part - 1) / (step - 1) + 0.45) for part in range(1, parts + 1))]
    return [end - begin for begin, end in pairwise(ends)]


def _time(sizes: list[int], planes: int, there: Layout) -> int:
    """Return how long the rank with the most work takes, in points per thread: an estimate.

    NPB-MZ gives each zone, largest first, to the rank with the least work so far. The threads of the rank share the
    zone's inner planes along z.
    """
    ranks = [0] * (there.nodes * there.ranks_per_node)
    for size in sizes:
        heapq.heapreplace(ranks, ranks[0] + size)
    return max(ranks) * math.ceil(planes / there.threads)
