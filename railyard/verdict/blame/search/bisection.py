"""Half of the nodes against the other half: shift permutations, and what static routes leave of them.

The bisection by the number of cables is an upper bound. What pairs reach at the same time depends on their routes. So
all shifts are measured (or some, evenly spread), and their mean is judged: the effective bisection bandwidth.
"""

from railyard.verdict.blame.search.model import Round


def shifts(nodes: int, count: int | None = None) -> tuple[Round, ...]:
    """Return the shifts of the second half against the first: shift s pairs i with N/2 + (i+s) mod N/2.

    There are N/2 of them, or ``count`` evenly spread ones; with an odd number of nodes the last one rests. If the nodes
    are in topology order, all pairs of a shift cross the middle. Raises ValueError for fewer than two nodes, or no
    shift.
    """
    half = nodes // 2
    if half < 1:
        raise ValueError(f"{nodes} nodes have no two halves")
    if count is not None and count < 1:
        raise ValueError(f"{count} shifts: at least 1")
    made = min(count or half, half)
    chosen = [place * half // made for place in range(made)]
    return tuple(tuple((i, half + (i + shift) % half) for i in range(half)) for shift in chosen)
