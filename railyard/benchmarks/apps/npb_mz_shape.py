"""The kernels of NPB-MZ: their zones, and how many ranks and threads they get on the available cores.

A zone belongs to one rank. With more ranks than zones, some find no work; with more zones than ranks, threads share it.
"""

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import count_of, number
from railyard.benchmarks.apps import npb_duration
from railyard.benchmarks.apps.npb_shape import CLASSES, refuse_above
from railyard.benchmarks.table.applications import LEAST_S

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
KERNELS: Mapping[str, int] = {"bt-mz": 168, "lu-mz": 136, "sp-mz": 176}
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
    if name not in KERNELS:
        raise RailyardError(f'NPB-MZ: found the kernel "{name}": {did_you_mean(name, KERNELS)}')
    if problem not in CLASSES:
        raise RailyardError(f'NPB-MZ: found the class "{problem}", expected one of {", ".join(CLASSES)}')
    return _zones_per_side(name, problem) ** 2


def ranks_of_threads(ranks: int, threads: int) -> str:
    """Return both numbers in words: ``2 ranks of 1 thread``."""
    return f"{count_of(ranks, 'rank')} of {count_of(threads, 'thread')}"


def describe_time(name: str, problem: str, chosen: Layout) -> str:
    """Return in words how long a run should take; if that is too short to be judged, what runs longer."""
    seconds = predicted_s(name, problem, chosen)
    cores = chosen.nodes * chosen.ranks_per_node * chosen.threads
    rate = npb_duration.RATES[_plain_name(name)]
    on = f"{count_of(cores, 'core')} of {number(rate)} Mop/s, as long as the rank with the most work"
    said = f"predicted {number(seconds)} s by {number(operations(name, problem) / 1e6)} Mop on {on}"
    if seconds >= LEAST_S:
        return said
    return f"{said}: below {LEAST_S:g} s it is not judged; {npb_duration.larger(problem)}"


def describe(name: str, problem: str, chosen: Layout, nodes: int, cores: int) -> str:
    """Return a layout in words, on so many available nodes of so many cores."""
    return (
        f"{chosen.nodes} of {nodes} nodes, {ranks_of_threads(chosen.ranks_per_node, chosen.threads)} on each, "
        f"{chosen.ranks_per_node * chosen.threads} of {cores} cores per node, {zones(name, problem)} zones"
    )


def operations(name: str, problem: str) -> float:
    """Return how many operations a class counts, over all its zones and iterations."""
    a_point, a_face, a_edge, less = _OPERATIONS[name]
    widths, heights = _sides(name, problem)
    deep = _MESH[problem][2]
    found = 0.0
    for wide in widths:
        for high in heights:
            faces, edges = (wide * high + wide * deep + high * deep) / 3, (wide + high + deep) / 3
            found += a_point * wide * high * deep - a_face * faces + a_edge * edges - less
    return found * npb_duration.ITERATIONS[_plain_name(name)][CLASSES.index(problem)]


def predicted_s(name: str, problem: str, there: Layout) -> float:
    """Return how long a class should compute, in seconds: as long as the rank with the most work takes.

    A core is as fast as in the kernel of the same solver without zones (``npb_duration.RATES``).
    """
    sizes, planes = _sizes(name, problem), _MESH[problem][2] - 2
    share = _time(sizes, planes, there) / (sum(sizes) * planes)
    return share * operations(name, problem) / (1e6 * npb_duration.RATES[_plain_name(name)])


@lru_cache(maxsize=64)
def choose(name: str, nodes: int, cores: int, memory_bytes: int) -> tuple[str, int]:
    """Return the class of a kernel for a system, and on how many of its nodes it runs.

    It is the smallest of C, D and E that takes long enough to be judged on all nodes; else the largest that fits into
    the memory, on so few nodes that it does. All cores count as equally busy here, which is the least time.
    Raises RailyardError if the memory has none of them.
    """
    found: tuple[str, int] | None = None
    for problem in npb_duration.CHOSEN:
        used = min(nodes, zones(name, problem))
        if KERNELS[name] * math.prod(_MESH[problem]) > npb_duration.MEMORY_SHARE * used * memory_bytes:
            continue
        rate = 1e6 * npb_duration.RATES[_plain_name(name)] * cores
        needed = operations(name, problem) / rate
        if needed >= npb_duration.MARGIN * LEAST_S * used:
            return problem, used
        least = math.ceil(KERNELS[name] * math.prod(_MESH[problem]) / (npb_duration.MEMORY_SHARE * memory_bytes))
        found = problem, max(min(2, nodes), least, min(used, int(needed / LEAST_S)))
    if found is None:
        first = npb_duration.CHOSEN[0]
        refuse_too_large(name, first, min(nodes, zones(name, first)), int(npb_duration.MEMORY_SHARE * memory_bytes))
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


def refuse_too_large(name: str, problem: str, nodes: int, memory_bytes: int) -> None:
    """Raise RailyardError if the fields of a class do not fit into the memory of so many nodes."""
    zones(name, problem)
    refuse_above(name, problem, KERNELS[name] * math.prod(_MESH[problem]), nodes, memory_bytes)


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
