"""Half of the nodes against the other half: shift permutations, and what static routes leave of them.

Bisection by the number of cables is an upper bound; what pairs get at once depends on their routes. So all shifts are
measured (or some, evenly spread), and their mean is judged: the effective bisection bandwidth.
"""

from railyard.verdict.blame.search.model import Round

#: Of what the cables could carry, full-bisection networks with static routes give 55 to 60 % over random halves.
#: Source: T. Hoefler, T. Schneider, A. Lumsdaine, Multistage switches are not crossbars, IEEE Cluster 2008, abstract.
STATIC_SHARE = 0.55


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
