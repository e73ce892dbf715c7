"""The collectives of nccl-tests and rccl-tests: what their size, algbw and busbw mean.

The printed size S is the larger of what a rank holds before and after: all of an all_gather's result, all that a rank
of an alltoall sends. algbw is S/t, and busbw is algbw times a factor, so that one number stands for the rate of a flat
network on which a ring would take as long. It is not what a NIC carries: ``railyard.benchmarks.gpu.carried`` has that.

Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md for the factors of all_reduce, reduce_scatter, all_gather, broadcast,
reduce and alltoall, and the functions GetBw of src/*.cu (commit a0b82b22) for all others. Hypercube prints an
algbw that holds the factor (n-1)/n already, and a busbw equal to it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from railyard.base.errors import RailyardError, did_you_mean


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective: ``factor`` is busbw / (S/t) for n ranks. ``rooted``: one rank (0) sends or receives for all.

    ``point_to_point``: nccl-tests makes it of sends and receives, so the library chooses no algorithm.
    """

    name: str
    factor: Callable[[int], float]
    rooted: bool = False
    point_to_point: bool = False


def _twice(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _all_but_own(ranks: int) -> float:
    return (ranks - 1) / ranks


def _one(ranks: int) -> float:
    return 1.0


COLLECTIVES: Mapping[str, Collective] = MappingProxyType(
    {
        each.name: each
        for each in (
            Collective("all_reduce", _twice),
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
    """Return a collective by its name or its program's (``all_reduce_perf``). Raises RailyardError for another."""
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
    """Return from how many to how many ranks a row's two printed bandwidths are of; None where they do not show it.

    Two jobs of one node each show 8 ranks where 16 were meant: 1.75 between both, and not 1.875. ``rounded_by``: what
    printing took at most, GB/s (two decimals). The upper end is infinite where n and n + 1 print alike.
    """
    of = collective(name)
    if of.factor(2) == of.factor(3) or of.name == "hypercube" or algbw_gb_s <= rounded_by:
        return None
    most_by = 2.0 if of.factor is _twice else 1.0
    low = (busbw_gb_s - rounded_by) / (algbw_gb_s + rounded_by)
    high = (busbw_gb_s + rounded_by) / (algbw_gb_s - rounded_by)
    # factor = most (n - 1) / n, so n = most / (most - factor)
    first, last = (most_by / (most_by - each) if each < most_by else math.inf for each in (low, high))
    return first, last
