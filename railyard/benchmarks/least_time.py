"""How long a collective must take, from the bytes that no algorithm can avoid, and from which ranks wait for them.

Tools print a mean over ranks, and not every rank has to wait. In a reduction a rank may leave as soon as the library
has its vector, and in a broadcast the root may leave. For these we only know that the mean is at least the slowest
rank's time divided by the number of ranks. In an exchange each rank waits for its own part. The ranks of a node share
its rails, and if these serve one rank after the other, the first of p leaves after 1/p of the time: (p + 1) / (2 p) on
average.
"""

from dataclasses import dataclass

from railyard.benchmarks.model import LeastVector

#: If the number of ranks per node is unknown: enough ranks to find the smallest possible share.
_ANY_RANKS = (1, 2, 4, 64, 1024)


@dataclass(frozen=True, slots=True)
class Crossing:
    """What must cross the border of a node in a collective, and how much of that time the mean over ranks shows.

    ``times``: how many times the printed size crosses one way, at the node with the most. ``waiting``: the mean over
    ranks is at least this share of the time that the crossing takes.
    """

    times: float
    waiting: float


def crossing(least: LeastVector, nodes: int | None, ranks_per_node: int | None) -> Crossing | None:
    """Return what must cross with so many nodes (None: unknown, at least two) and ranks on each (None: any number).

    Return None if we do not know that anything crosses, or that anybody waits for it.
    """
    if nodes == 1 or (least.waits == "one" and (nodes is None or ranks_per_node is None)):
        return None
    several = nodes or 2  # each of these collectives moves more with more nodes
    ranks = _ANY_RANKS if ranks_per_node is None else (ranks_per_node,)
    found = [_of(least, several, each) for each in ranks]
    return min(found, key=lambda each: each.times * each.waiting)


def _of(least: LeastVector, nodes: int, ranks: int) -> Crossing:
    times = max(least.sent(nodes, ranks), least.received(nodes, ranks))
    waiting = {"all": 1.0, "own": (ranks + 1) / (2 * ranks), "one": 1 / (nodes * ranks)}[least.waits]
    return Crossing(times, waiting)
