"""The least payload that a run must have moved on each node, from the rows that it printed."""

from collections.abc import Mapping, Sequence

from railyard.benchmarktable import find
from railyard.movedbytes import Moved, Repetitions, moved_by
from railyard.parsers.parsed import Table

#: Collectives: bytes that every node must send, and receive, for a vector of S bytes, in units of S.
#: Allreduce: a node's own vector enters the result, and the result reaches it; the cheapest exact algorithms
#: (recursive doubling, reduce-scatter with allgather: 2 (n-1)/n S) send no less than S for n >= 2, and a switch that
#: reduces sends and receives S once.
#: Source: R. Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036, pages 1-9.
LEAST_VECTORS: Mapping[str, float] = {"imb/Allreduce": 1.0, "osu/osu_allreduce": 1.0}


def least_moved(table: Table, key: str, window: int | None, told: Repetitions | None = None) -> Moved:
    """Return the least payload bytes that the first node sent and received in all printed rows.

    Of a collective that has no known lower bound: nothing, and then nothing is proven by it.
    """
    if find(key).traffic is not None:
        both = moved_by(table, key, window, told)
        return both[0] if both else Moved(0, 0)
    share = LEAST_VECTORS.get(key, 0.0)
    counts: Sequence[object] | None = None if told is None else (told.measured,) * len(table.rows)
    if "repetitions" in table.columns:
        counts = table.column("repetitions")
    if not share or "size" not in table.columns or counts is None:
        return Moved(0, 0)
    total = 0
    for size, repetitions in zip(table.column("size"), counts, strict=True):
        if isinstance(size, int) and isinstance(repetitions, int):
            total += int(share * size * repetitions)
    return Moved(total, total)
