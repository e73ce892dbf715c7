"""The least payload that a run must have moved on each node, from the rows that it printed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from railyard.benchmarks.moved_bytes import Moved, Repetitions, moved_by
from railyard.benchmarks.table.micro import find
from railyard.parsers.parsed import Table


@dataclass(frozen=True, slots=True)
class Least:
    """What no algorithm of a collective can avoid, in units of its size S, for n nodes of p ranks each.

    ``sent`` and ``received`` are of the first node. ``rooted``: that is the root, and every other node's are those
    exchanged; else all nodes' are alike. ``whole``: messages are of S or more, whatever the algorithm; else one may cut
    the vector into n parts.
    """

    sent: Callable[[int, int], float]
    received: Callable[[int, int], float]
    rooted: bool = False
    whole: bool = False


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


# Allreduce: a node's own vector enters the result, and the result reaches it; the cheapest exact algorithms (recursive
# doubling, reduce-scatter with allgather: 2 (n-1)/n S) send no less than S for n >= 2, and a switch that reduces sends
# and receives S once. The same holds of reduce and bcast, one way each. What an exchange or an allgather brings to a
# node was nowhere on it before. In a reduction a node may add up its own ranks' vectors before it sends one.
# Source: R. Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036, pages 1-9.
_ALLREDUCE = Least(_one, _one)
_BCAST = Least(_one, _none, rooted=True)
_REDUCE = Least(_none, _one, rooted=True)
_ALLTOALL = Least(_to_others, _to_others, whole=True)
_ALLGATHER = Least(_own_blocks, _other_blocks, whole=True)
_REDUCE_SCATTER = Least(_others_parts, _own_part)

#: Collectives: the least of each, by its key; a root is the first rank (OSU's default; IMB's may rotate: left out).
LEAST_VECTORS: Mapping[str, Least] = {
    "imb/Allreduce": _ALLREDUCE,
    "imb/Alltoall": _ALLTOALL,
    "imb/Alltoallv": _ALLTOALL,
    "imb/Allgather": _ALLGATHER,
    "osu/osu_allreduce": _ALLREDUCE,
    "osu/osu_alltoall": _ALLTOALL,
    "osu/osu_alltoallv": _ALLTOALL,
    "osu/osu_allgather": _ALLGATHER,
    "osu/osu_bcast": _BCAST,
    "osu/osu_reduce": _REDUCE,
    "osu/osu_reduce_scatter": _REDUCE_SCATTER,
}


def least_moved(
    table: Table,
    key: str,
    window: int | None,
    told: Repetitions | None = None,
    nodes: int = 2,
    ranks_per_node: int = 1,
) -> Moved:
    """Return the least payload bytes that the first node sent and received in all printed rows.

    A benchmark of pairs has the ranks of the first half of the nodes on one side, so its pairs of nodes are disjoint.
    Of a collective that has no known lower bound: nothing, and then nothing is proven by it.
    """
    if find(key).traffic is not None:
        both = moved_by(table, key, window, told, node_pairs=max(1, nodes // 2))
        return both[0] if both else Moved(0, 0)
    least = LEAST_VECTORS.get(key)
    counts: Sequence[object] | None = None if told is None else (told.measured,) * len(table.rows)
    if "repetitions" in table.columns:
        counts = table.column("repetitions")
    if least is None or "size" not in table.columns or counts is None:
        return Moved(0, 0)
    total = 0
    for size, repetitions in zip(table.column("size"), counts, strict=True):
        if isinstance(size, int) and isinstance(repetitions, int):
            total += size * repetitions
    sent, received = least.sent(nodes, ranks_per_node), least.received(nodes, ranks_per_node)
    return Moved(int(sent * total), int(received * total))


def is_mirrored(key: str, node: int, nodes: int) -> bool:
    """Return whether a node (0 is the first) moved what the first did the other way round, else the same.

    Of pairs the second half of the nodes is the other side; of a collective with a root all but the root are.
    """
    if find(key).traffic is not None:
        return nodes > 1 and node >= nodes // 2
    least = LEAST_VECTORS.get(key)
    return least is not None and least.rooted and node > 0


def parts_of_a_vector(key: str, nodes: int) -> int:
    """Return into how many messages an algorithm may cut what one size stands for: 1 but for some collectives."""
    if find(key).traffic is not None:
        return 1
    least = LEAST_VECTORS.get(key)
    return 1 if least is not None and least.whole else nodes
