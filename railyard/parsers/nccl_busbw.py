"""How nccl-tests computes its "bus bandwidth" from its "algorithm bandwidth": one factor per collective, for n ranks.

It is what a link would have to carry in a ring, not what a link really carries. Source: nccl-tests, doc/PERFORMANCE.md,
and the functions ``…GetBw`` of src/*.cu in all releases from 2.0.0 to 2.19.6; rccl-tests has the same.

Until June 2020 all_gather and reduce_scatter printed one bandwidth twice: algbw was what busbw is, also today. Until
July 2021 sendrecv of rccl-tests counted the bytes of all pairs of ranks as busbw.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple


def _one(ranks: int) -> float:
    return 1.0


def _others(ranks: int) -> float:
    return (ranks - 1) / ranks


def _double_factor(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


#: Program -> its factor as a function of the number of ranks.
FACTORS: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {
        "all_reduce_perf": _double_factor,
        "all_reduce_bias_perf": _double_factor,  # only in rccl-tests
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
#: Programs whose "algorithm bandwidth" is not the printed size over the printed time: for alltoallv the size is the
#: largest rank's share, for hypercube it leaves out a rank's own part.
NOT_SIZE_OVER_TIME = frozenset({"alltoallv_perf", "hypercube_perf"})


def factor(program: str, ranks: int) -> float | None:
    """Return busbw / algbw of a program of nccl-tests for this number of ranks; None for an unknown program."""
    of = FACTORS.get(program)
    return None if of is None else of(ranks)


class Way(NamedTuple):
    """How a release computes: busbw is algbw times ``factor``, and algbw is size over time, times ``share``."""

    factor: float
    share: float = 1.0


def ways(program: str, ranks: int, is_early: bool) -> tuple[Way, ...]:
    """Return how a program computes its bandwidths for this number of ranks; ``is_early``: also before July 2021."""
    of = factor(program, ranks)
    found = [] if of is None else [Way(of)]
    if is_early and program in ("all_gather_perf", "reduce_scatter_perf"):
        found.append(Way(1.0, _others(ranks)))
    if is_early and program == "sendrecv_perf":
        found.append(Way(float(ranks // 2)))
    return tuple(found)
