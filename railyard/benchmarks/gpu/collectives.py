"""The collectives of nccl-tests and rccl-tests: what their size, algbw and busbw mean.

The printed size S is what a rank has before or after, whichever is larger: all of an all_gather's result, or all that a
rank of an alltoall sends. algbw is S/t, and busbw is algbw times a factor: the rate of a flat network on which a ring
would take the same time. It is not what a NIC carries: for that see ``railyard.benchmarks.gpu.domain_shares``.

Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md for the factors of all_reduce, reduce_scatter, all_gather, broadcast,
reduce and alltoall, and the functions GetBw of src/*.cu (commit a0b82b22) for all others. Hypercube prints an
algbw that already includes the factor (n-1)/n, and an equal busbw.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from railyard.base.errors import RailyardError, did_you_mean


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
