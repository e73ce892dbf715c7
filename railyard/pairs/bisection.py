"""Half of the nodes against the other half: shift permutations, and what they should give together.

Bisection by the number of cables is an upper bound; what pairs get at once depends on their routes. So all shifts are
measured (or some, evenly spread), and their mean is judged: the effective bisection bandwidth.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.pairs.model import Round
from railyard.wording import number, percent

#: Of what the cables could carry, full-bisection networks with static routes give 55 to 60 % over random halves.
#: Source: T. Hoefler, T. Schneider, A. Lumsdaine, Multistage switches are not crossbars, IEEE Cluster 2008, abstract.
STATIC_SHARE = 0.55
#: Where routes adapt, or are by destination with the nodes in topology order, the day-one floor of a pair holds.
APART_SHARE = 0.85
#: Above this share the pairs gave more than they can: the pair alone or the blocking factor is wrong.
POSSIBLE = 1.05


@dataclass(frozen=True, slots=True)
class Bisection:
    """What half against half gives: the mean over the shifts and the worst one, MB/s of all pairs, one way."""

    passed: bool
    aggregate_mb_s: float
    worst_mb_s: float
    worst_shift: int
    expected_mb_s: float
    share: float
    sentence: str


def shifts(nodes: int, count: int | None = None) -> tuple[Round, ...]:
    """Return the shifts of the second half against the first: shift s pairs i with N/2 + (i+s) mod N/2.

    N/2 of them, or ``count`` evenly spread ones; of an odd number of nodes the last one rests. With the nodes in
    topology order all pairs of a shift cross the middle. Raises ValueError for fewer than two nodes, or no shift.
    """
    half = nodes // 2
    if half < 1:
        raise ValueError(f"{nodes} nodes have no two halves")
    if count is not None and count < 1:
        raise ValueError(f"{count} shifts: at least 1")
    made = min(count or half, half)
    chosen = [place * half // made for place in range(made)]
    return tuple(tuple((i, half + (i + shift) % half) for i in range(half)) for shift in chosen)


def expected_mb_s(nodes: int, pair_mb_s: float, blocking: float = 1.0) -> float:
    """Return what N/2 pairs give at once, one way: a pair alone times their number, over the blocking factor.

    ``blocking`` is 2 where a leaf has half as many up-links as nodes (2:1). It holds where the halves are apart, that
    is with more nodes than one leaf has. Raises ValueError for a factor below 1.
    """
    if not blocking >= 1:
        raise ValueError(f"blocking {blocking}: 1 (none) or more, 2 for 2:1")
    return nodes // 2 * pair_mb_s / blocking


def judge(
    per_shift_mb_s: Sequence[Sequence[float]], pair_mb_s: float, blocking: float = 1.0, static_routing: bool = True
) -> Bisection:
    """Return whether the mean over the shifts is what the blocking factor leaves, by the floor of the routing.

    ``per_shift_mb_s`` has a value a pair, one way, for each shift measured; ``pair_mb_s`` is a healthy pair alone.
    More than expected fails too. Raises ValueError for shifts of different numbers of pairs, or none.
    """
    lengths = {len(each) for each in per_shift_mb_s}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"{len(per_shift_mb_s)} shifts of {sorted(lengths)} pairs: expected one number of pairs, not 0"
        )
    expected = expected_mb_s(2 * lengths.pop(), pair_mb_s, blocking)
    sums = [sum(each) for each in per_shift_mb_s]
    mean, worst = statistics.fmean(sums), min(sums)
    share, floor = mean / expected, STATIC_SHARE if static_routing else APART_SHARE
    passed = floor <= share <= POSSIBLE
    pairs = len(per_shift_mb_s[0])
    what = (
        f"half against half gives {number(mean)} MB/s one way over {pairs} pairs at once, mean of {len(sums)} shifts, "
        f"{percent(share)} of {number(expected)} MB/s ({pairs} pairs of {number(pair_mb_s)} MB/s alone"
    )
    what += f", blocking {blocking:g}:1)" if blocking > 1 else ", non-blocking)"
    place = sums.index(worst)
    return Bisection(
        passed, mean, worst, place, expected, share, f"{what}{_why(share, floor, static_routing, place, worst)}"
    )


def _why(share: float, floor: float, static_routing: bool, place: int, worst: float) -> str:
    if share > POSSIBLE:
        return ": more than that cannot be, so the pair alone was slow or the blocking factor is too high"
    routes = "with static routes" if static_routing else "with routes kept apart"
    if share >= floor:
        return f", at least {percent(floor)} {routes}"
    return (
        f", below {percent(floor)} {routes}; the worst is shift {place} with {number(worst)} MB/s: look for missing "
        "up-links, or a routing engine that does not know the topology"
    )
