"""The collectives of nccl-tests and rccl-tests: what their size, algbw and busbw mean.

The printed size S is what a rank has before or after, whichever is larger: all of an all_gather's result, or all that a
rank of an alltoall sends. algbw is S/t, and busbw is algbw times a factor: the rate of a flat network on which a ring
would take the same time. It is not what a NIC carries: for that see ``railyard.benchmarks.gpu.domain_shares``.

Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md for the factors of all_reduce, reduce_scatter, all_gather, broadcast,
reduce and alltoall, and the functions GetBw of src/*.cu (commit a0b82b22) for all others. Hypercube prints an
algbw that already includes the factor (n-1)/n, and an equal busbw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from railyard.base.errors import RailyardError, did_you_mean
from railyard.benchmarks.gpu.domain_shares import FORMULAE

if TYPE_CHECKING:
    from railyard.hardware.gpu_nodes import Shape

#: The words for each algorithm, in the order in which sentences name them.
ALGORITHMS: Mapping[str, str] = MappingProxyType(
    {
        "ring": "ring",
        "tree": "double binary tree",
        "nvls": "NVLink SHARP (NVLS)",
        "nvls-tree": "NVLink SHARP and a tree between nodes (NVLSTree)",
        "collnet-direct": "in-network reduction (CollNet, direct)",
        "collnet-chain": "in-network reduction (CollNet, chain)",
        "nvls-collnet": "NVLink SHARP and in-network reduction (NVLS over several nodes)",
        "pat": "parallel aggregated trees (PAT)",
        "hierarchical": "any other exact algorithm with messages between GPUs, each node's own GPUs first",
        "p2p": "sends and receives by nccl-tests itself",
    }
)
_NVLS = ("nvls", "nvls-tree", "nvls-collnet")
_REDUCED = ("nvls-collnet", "collnet-direct", "collnet-chain")
#: NCCL's names (NCCL_ALGO, and its TUNING lines). NVLS has two entries here, since its name does not tell the network.
_NCCL_WORDS: Mapping[str, str] = {
    "ring": "ring",
    "tree": "tree",
    "collnetdirect": "collnet-direct",
    "collnetchain": "collnet-chain",
    "nvlstree": "nvls-tree",
    "pat": "pat",
}


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective: ``factor`` is busbw / (S/t) for n ranks. ``rooted``: one rank (0) sends or receives for all.

    ``point_to_point``: nccl-tests builds it from sends and receives, so the library does not choose an algorithm.
    """

    name: str
    factor: Callable[[int], float]
    rooted: bool = False
    point_to_point: bool = False


def _double_factor(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _all_but_own(ranks: int) -> float:
    return (ranks - 1) / ranks


def _one(ranks: int) -> float:
    return 1.0


COLLECTIVES: Mapping[str, Collective] = MappingProxyType(
    {
        each.name: each
        for each in (
            Collective("all_reduce", _double_factor),
            Collective("reduce_scatter", _all_but_own),
            Collective("all_gather", _all_but_own),
            Collective("broadcast", _one, rooted=True),
            Collective("reduce", _one, rooted=True),
            Collective("alltoall", _all_but_own, point_to_point=True),
            Collective("gather", _all_but_own, rooted=True, point_to_point=True),
            Collective("scatter", _all_but_own, rooted=True, point_to_point=True),
            Collective("sendrecv", _one, point_to_point=True),
            Collective("hypercube", _all_but_own, point_to_point=True),
        )
    }
)


def collective(name: str) -> Collective:
    """Return a collective by its name or its program's (``all_reduce_perf``). Raises RailyardError for other names."""
    found = COLLECTIVES.get(name.removesuffix("_perf"))
    if found is None:
        raise RailyardError(f'unknown collective "{name}": {did_you_mean(name.removesuffix("_perf"), COLLECTIVES)}')
    return found


def busbw(name: str, size_bytes: int, time_us: float, ranks: int) -> float:
    """Return the bus bandwidth of a row, MB/s (10^6 B/s), as nccl-tests defines it. Raises ValueError below 2 ranks."""
    if ranks < 2:
        raise ValueError(f"{ranks} ranks: a collective of one rank moves nothing")
    return collective(name).factor(ranks) * size_bytes / time_us


def ranks_of(name: str, algbw_gb_s: float, busbw_gb_s: float, rounded_by: float = 0.005) -> tuple[float, float] | None:
    """Return the least and the most ranks that fit a row's two printed bandwidths; None if these do not tell.

    Two jobs of one node each show 8 ranks although 16 were intended: the ratio is 1.75, not 1.875. ``rounded_by``: how
    much printing rounds at most, in GB/s (two decimals). The upper end is infinite if n and n + 1 print the same.
    """
    of = collective(name)
    if of.factor(2) == of.factor(3) or of.name == "hypercube" or algbw_gb_s <= rounded_by:
        return None
    most_by = 2.0 if of.factor is _double_factor else 1.0
    low = (busbw_gb_s - rounded_by) / (algbw_gb_s + rounded_by)
    high = (busbw_gb_s + rounded_by) / (algbw_gb_s - rounded_by)
    # factor = most (n - 1) / n, so n = most / (most - factor)
    first, last = (most_by / (most_by - each) if each < most_by else math.inf for each in (low, high))
    return first, last


def algorithm_of_nccl(word: str, shape: Shape) -> str:
    """Return the algorithm with this name in NCCL (``NVLS``, ``CollNetDirect``). Raises RailyardError for others."""
    low = word.lower().replace("_", "")  # NVLSTree in NCCL_ALGO, NVLS_TREE in the TUNING lines
    if low == "nvls":
        return "nvls" if shape.domains == 1 else "nvls-collnet"
    if low not in _NCCL_WORDS:
        raise RailyardError(f'unknown algorithm "{word}" of NCCL: {did_you_mean(low, [*_NCCL_WORDS, "nvls"])}')
    return _NCCL_WORDS[low]


def set_algorithm(value: str, collective: str) -> str | None:
    """Return the one name that a value of NCCL_ALGO leaves for a collective; None if it leaves several or all.

    ``Ring`` is for all functions. ``ring,tree;allreduce:nvls`` has another list for one of them (since 2.24). ``^tree``
    forbids. Source: ``parseList`` in NCCL's src/graph/tuning.cc.
    """
    names = ""
    for entry in value.strip("\"'. ").split(";"):
        function, colon, listed = entry.rpartition(":")
        if not colon or function.strip().lower() == collective.replace("_", ""):
            names = listed.strip()
    return names if names and "," not in names and not names.startswith("^") else None


def why_not(algorithm: str, collective: str, shape: Shape) -> str | None:
    """Return None if a run of this shape can have used the algorithm, else the reason.

    A reason follows from the shape alone. If a switch can reduce, that does not mean that the library let it.
    """
    if (collective, algorithm) not in FORMULAE:
        return f"{ALGORITHMS[algorithm]} does not do {collective}"
    link, one = shape.node.gpu_link, shape.domains == 1
    if algorithm in _NVLS and link is not None and not link.multicasts:
        return f"{link.generation} has no switch that reduces: NVLS needs NVLink 4 or later"
    if algorithm in _NVLS and shape.gpus_a_domain == 1:
        return "one GPU has no other to reach over NVLink"
    if algorithm == "nvls" and not one:
        return "NVLS by itself cannot leave an NVLink domain"
    if algorithm in (*_REDUCED, "nvls-tree", "pat") and one:
        return "it needs several nodes, and here all GPUs reach each other without a NIC"
    if algorithm in _REDUCED and not shape.node.reduces:
        return "the switches of this network do not reduce (SHARP needs InfiniBand HDR or later)"
    if algorithm == "pat" and shape.gpus_a_domain > 1:
        return "NCCL uses PAT only with one GPU per node"
    if collective == "hypercube" and shape.ranks & (shape.ranks - 1):
        return f"a hypercube needs a power of two as number of ranks, and there are {shape.ranks}"
    return None


def possible_algorithms(collective: str, shape: Shape) -> tuple[str, ...]:
    """Return the algorithms that a run of this shape can have used, in the order of ``ALGORITHMS``."""
    return tuple(name for name in ALGORITHMS if why_not(name, collective, shape) is None)
