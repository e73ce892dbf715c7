"""How nccl-tests makes its "bus bandwidth" of its "algorithm bandwidth": one factor a collective, for n ranks.

It is what a link would have to carry if a ring were used, and not what any link carries.
Source: nccl-tests, doc/PERFORMANCE.md, and the functions ``…GetBw`` of src/*.cu in all releases from 2.0.0 to 2.19.6;
rccl-tests has the same.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType


def _one(ranks: int) -> float:
    return 1.0


def _others(ranks: int) -> float:
    return (ranks - 1) / ranks


def _twice(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


#: Program -> the factor for so many ranks.
FACTORS: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {
        "all_reduce_perf": _twice,
        "all_reduce_bias_perf": _twice,  # rccl-tests alone
        "all_gather_perf": _others,
        "reduce_scatter_perf": _others,
        "alltoall_perf": _others,
        "alltoallv_perf": _others,
        "gather_perf": _others,
        "scatter_perf": _others,
        "broadcast_perf": _one,
        "reduce_perf": _one,
        "sendrecv_perf": _one,
        "hypercube_perf": _one,
    }
)
#: Programs whose "algorithm bandwidth" is not the printed size over the printed time: of alltoallv it is the largest
#: rank's share, of hypercube the size without a rank's own part.
NOT_SIZE_OVER_TIME = frozenset({"alltoallv_perf", "hypercube_perf"})


def factor(program: str, ranks: int) -> float | None:
    """Return busbw / algbw of a program of nccl-tests for so many ranks; None for a program that is not known."""
    of = FACTORS.get(program)
    return None if of is None else of(ranks)
