"""How long a collective must take: from the bytes that no algorithm of it can avoid, and who has to wait for them.

What is printed is a mean over ranks, and not every rank has to wait. Who hands its vector to the library may leave a
reduction at once, and a root a broadcast; so of these the mean is only known to be at least the slowest rank's time
divided by their number. In an exchange each rank waits for its own part: the ranks of a node share its rails, and if
these serve one rank after the other, the first of p leaves after 1/p of the time: (p + 1) / (2 p) on average.
"""

from dataclasses import dataclass

from railyard.benchmarks.model import LeastVector

#: Where the number of ranks a node is not known: enough of them to find the least share of any.
_ANY_RANKS = (1, 2, 4, 64, 1024)


@dataclass(frozen=True, slots=True)
class Crossing:
    """What must cross the border of a node in a collective, and how much of that time the mean over ranks shows.

    ``times``: so many times the printed size one way, at the node that has most. ``waiting``: the mean over ranks is at
    least so much of the time that takes.
    """

    times: float
    waiting: float


def crossing(least: LeastVector, nodes: int | None, ranks_per_node: int | None) -> Crossing | None:
    """Return what must cross on so many nodes (None: not known, two at least), so many ranks on each (None: any).

    None where nothing is known to cross, or to be waited for.
    """
    if nodes == 1 or (least.waits == "one" and (nodes is None or ranks_per_node is None)):
        return None
    several = nodes or 2  # what each of these collectives moves grows with the number of nodes
    ranks = _ANY_RANKS if ranks_per_node is None else (ranks_per_node,)
    found = [_of(least, several, each) for each in ranks]
    return min(found, key=lambda each: each.times * each.waiting)


def _of(least: LeastVector, nodes: int, ranks: int) -> Crossing:
    times = max(least.sent(nodes, ranks), least.received(nodes, ranks))
    waiting = {"all": 1.0, "own": (ranks + 1) / (2 * ranks), "one": 1 / (nodes * ranks)}[least.waits]
    return Crossing(times, waiting)
