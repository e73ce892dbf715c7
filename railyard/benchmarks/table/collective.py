"""What all collectives have in common: their metric, and the least that any algorithm must move.

The root is the first rank (OSU's default; IMB's may rotate, so it is left out).
"""

from collections.abc import Mapping

from railyard.benchmarks.model import Benchmark, LeastVector, latency
from railyard.hardware.day_one import Pattern

#: The time of a collective that does not block also has what was computed meanwhile, so nothing bounds it.
_PATTERNS: Mapping[str, Pattern] = {
    **dict.fromkeys(("reduce_scatter", "reduce_scatter_block"), "reduce_scatter"),
    **{"allreduce": "allreduce", "reduce": "reduce", "bcast": "broadcast"},
    **dict.fromkeys(("alltoall", "alltoallv", "alltoallw"), "alltoall"),
    **dict.fromkeys(("allgather", "allgatherv"), "allgather"),
    **dict.fromkeys(("gather", "gatherv", "scatter", "scatterv"), "root"),
}


def collective(key: str, *columns: str, least: LeastVector | None = None) -> Benchmark:
    """Return a collective over all ranks. Its time is in the first of ``columns`` that is there."""
    name = key.partition("/")[2].removeprefix("osu_").lower()
    return Benchmark(key, (latency("collective", *columns),), least=least, pattern=_PATTERNS.get(name))


def barrier(key: str, *columns: str) -> Benchmark:
    """Return a barrier. It moves no payload, so no rate of a link bounds its time, but its rounds of messages do.

    One between two boards over TCP at 1 Gbit/s took 287 us, twice half a round trip: a tree's two rounds are allowed
    1200 us there. A barrier that does not block (``time_ovrl``) also has what was computed meanwhile.
    """
    said = "a barrier moves no payload, so no rate of a link bounds its time"
    blocks = "ibarrier" not in key.lower()
    pattern: Pattern | None = "barrier" if blocks else None
    return Benchmark(key, (latency("collective", *columns),), reported=said, payload=False, pattern=pattern)


def _one(nodes: int, ranks: int) -> float:
    return 1.0


def _none(nodes: int, ranks: int) -> float:
    return 0.0


def _to_others(nodes: int, ranks: int) -> float:
    return float(ranks * ranks * (nodes - 1))


def _own_blocks(nodes: int, ranks: int) -> float:
    return float(ranks)


def _other_blocks(nodes: int, ranks: int) -> float:
    return float(ranks * (nodes - 1))


def _others_parts(nodes: int, ranks: int) -> float:
    return (nodes - 1) / nodes


def _own_part(nodes: int, ranks: int) -> float:
    return 1 / nodes


# Allreduce: a node's own vector enters the result, and the result reaches the node. The cheapest exact algorithms
# (recursive doubling; reduce-scatter with allgather: 2 (n-1)/n S) send at least S for n >= 2, and with a switch that
# reduces a node sends and receives S once. The same is true for reduce and bcast, one way each. An exchange or an
# allgather brings to a node what was nowhere on it before. In a reduction a node may add up its own ranks' vectors
# before it sends one.
# Source: R. Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036, pages 1-9.
ALLREDUCE = LeastVector(_one, _one)
BCAST = LeastVector(_one, _none, rooted=True, waits="one")
REDUCE = LeastVector(_none, _one, rooted=True, waits="one")
ALLTOALL = LeastVector(_to_others, _to_others, whole=True, waits="own")
ALLGATHER = LeastVector(_own_blocks, _other_blocks, whole=True)
REDUCE_SCATTER = LeastVector(_others_parts, _own_part, waits="own")
