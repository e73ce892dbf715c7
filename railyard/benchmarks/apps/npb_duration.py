"""How long a kernel of NPB should take, and the class, nodes and ranks with which it takes long enough to be judged.

A run of less than ``LEAST_S`` measures its start and the noise of its nodes. Class C on 8,192 ranks ends within a
second; on one node it takes a minute. So each class is for a size of machine, and a larger machine needs the next one.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of, number
from railyard.benchmarks.apps import least_traffic
from railyard.benchmarks.apps.npb_shape import CLASSES, find, least_memory, ranks_per_node, refuse_too_large
from railyard.benchmarks.table.applications import LEAST_S
from railyard.parsers.npb import count_operations

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
#: CG prints the order of its matrix as its size; here ``npb_shape`` has its entries.
_CG_ORDERS = (1400, 7000, 14000, 75000, 150000, 1500000, 9000000)
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

    The network adds to it (``messages_s``): the class is chosen without it, so that it is the same on each network.
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
        size = (_CG_ORDERS[at],)
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


def messages_s(name: str, placed: KernelRun, node_mb_s: float) -> float:
    """Return how long the messages of a run take if a node's rails receive so many MB/s, in seconds.

    Only those of FT and IS are known. CG, LU, MG, BT and SP send less; on a slow network they too take longer than they
    compute.
    """
    iterations = ITERATIONS[name][CLASSES.index(placed.problem)]
    return least_traffic.predict_of_kernel(name, placed.problem, iterations, placed.nodes) / (node_mb_s * 1e6)


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
