"""The payload bytes that a benchmark's printed rows moved on each node: at least, and at most.

Tools print a mean over ranks, and not every rank has to wait. In a reduction a rank may leave as soon as the library
has its vector, and in a broadcast the root may leave. For these we only know that the mean is at least the slowest
rank's time divided by the number of ranks. In an exchange each rank waits for its own part. The ranks of a node share
its rails, and if these serve one rank after the other, the first of p leaves after 1/p of the time: (p + 1) / (2 p) on
average.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.benchmarks.model import LeastVector, Traffic
from railyard.benchmarks.table.micro import find
from railyard.benchmarks.table.micro import tool as tool_of
from railyard.parsers.output import Table

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


@dataclass(frozen=True, slots=True)
class MovedBytes:
    """Payload bytes that leave and reach the FIRST node. The second node has the same, exchanged."""

    tx: int
    rx: int

    def __add__(self, other: "MovedBytes") -> "MovedBytes":
        return MovedBytes(self.tx + other.tx, self.rx + other.rx)


@dataclass(frozen=True, slots=True)
class Repetitions:
    """How often a tool that prints no repetitions was set to measure each size, and to warm up before it.

    ``small``: the numbers of the sizes up to ``small_up_to`` bytes, if a launch of their own measured these.
    """

    measured: int
    warm_up: int
    small: "Repetitions | None" = None
    small_up_to: int = 0

    def of_size(self, size: object) -> "Repetitions":
        """Return the numbers of one size in bytes; what is no size has those of the large ones."""
        is_small = isinstance(size, int) and size <= self.small_up_to
        return self.small if is_small and self.small is not None else self


def pairs_of(table: Table, key: str) -> int:
    """Return over how many pairs of ranks a table's values are summed: 1 except for multi-pair benchmarks."""
    if not find(key).sums_pairs:
        return 1
    printed, ranks = table.context.get("pairs"), table.context.get("ranks")
    if isinstance(printed, int):
        return printed
    return max(1, ranks // 2) if isinstance(ranks, int) else 1


def rails_of(table: Table) -> int:
    """Return from how many rails' pairs of processes a table is combined (``parsers.rail_parts``); usually 1."""
    rails = table.context.get("rails")
    return rails if isinstance(rails, int) else 1


def _both_ways(traffic: Traffic, count: int) -> MovedBytes:
    return MovedBytes(count * traffic.forward, count * traffic.backward)


def moved_bytes(key: str, size: int, repetitions: int, window: int | None = None, pairs: int = 1) -> MovedBytes | None:
    """Return the payload bytes of one printed row without warm-ups, a lower bound; None if there is no closed form.

    There is one rank per node, or ``pairs`` of them, the first ranks on the first node. ``window`` None is the tool's
    default.
    """
    traffic = find(key).traffic
    if traffic is None:
        return None
    messages = repetitions * traffic.trials * pairs
    if traffic.window is not None:
        messages *= traffic.window if window is None else window
    return MovedBytes(size * messages * traffic.forward, size * messages * traffic.backward)


def row_payload(
    key: str,
    size: int,
    repetitions: int,
    window: int | None = None,
    pairs: int = 1,
    warm_up: int | None = None,
    version: str | None = None,
) -> MovedBytes | None:
    """Return the payload bytes of one printed row with all warm-ups; None if these are unknown.

    ``warm_up``: how many repetitions the tool was set to make before the measured ones. ``version``: the tool's, which
    decides how often it warms up. ``table_payload`` adds ping-pongs that happen once per run.
    """
    most = tool_of(find(key).tool).at_most(repetitions, warm_up, version)
    return None if most is None else moved_bytes(key, size, most, window, pairs)


def repetitions_of(table: Table, told: Repetitions | None) -> tuple[int, ...] | None:
    """Return how often each row was measured: as printed, else as the tool was set to; None if both are unknown."""
    name = next((each for each in ("repetitions", "iterations") if each in table.columns), None)
    if name is not None:
        printed = table.column(name)
        counts = tuple(count for count in printed if isinstance(count, int) and not isinstance(count, bool))
        return counts if len(counts) == len(printed) else None
    return None if told is None else _set_repetitions(table, told)


def _set_repetitions(table: Table, told: Repetitions) -> tuple[int, ...]:
    """Return how often a tool was set to measure each row of a table."""
    sizes = table.column("size") if "size" in table.columns else (None,) * len(table.rows)
    return tuple(told.of_size(size).measured for size in sizes)


def table_payload(
    table: Table,
    key: str,
    window: int | None = None,
    told: Repetitions | None = None,
    node_pairs: int = 1,
    *,
    beside: int = 0,
) -> tuple[MovedBytes, MovedBytes | None] | None:
    """Return the least and the most payload bytes that a whole table's run moved; None if there is no closed form.

    A benchmark with several pairs of ranks had them on ``node_pairs`` disjoint pairs of nodes: the bytes are those of
    one pair. ``told`` is how often a tool that prints no repetitions (OSU) was set to measure. The most is None if
    warm-ups are unknown. ``beside`` bytes are added to each message of the most, for its headers. A row that IMB gave
    up (time-out) moved bytes too, but neither number counts them. NetPIPE's np.out prints no repetitions and gives
    None.
    """
    traffic, sent, received = find(key).traffic, table.context.get("bytes_sent"), table.context.get("bytes_received")
    if traffic is not None and isinstance(sent, int) and isinstance(received, int):  # the tool counts them itself
        return _both_ways(traffic, received), _both_ways(traffic, max(sent, received))
    counts = repetitions_of(table, told)
    if traffic is None or "size" not in table.columns or counts is None:
        return None
    rails = rails_of(table)
    pairs = rails * max(1, pairs_of(table, key) // node_pairs)
    least, most = MovedBytes(0, 0), MovedBytes(0, 0)
    bounded = True
    tool = tool_of(find(key).tool)
    for size, repetitions in zip(table.column("size"), counts, strict=True):
        if not isinstance(size, int):
            return None
        warm_up = None if told is None else told.of_size(size).warm_up
        surely = tool.at_least(repetitions, warm_up, table.version)
        least += moved_bytes(key, size, surely, window, pairs) or MovedBytes(0, 0)
        upper = row_payload(key, size + beside, repetitions, window, pairs, warm_up, table.version)
        bounded = bounded and upper is not None
        most += upper or MovedBytes(0, 0)
    first = table.rows[0][table.columns.index("size")] if table.rows else 0
    if isinstance(first, int):
        exchanged = rails * tool.first_exchanges * (first + beside)
        most += MovedBytes(exchanged, exchanged)
    return least, most if bounded else None


def least_moved(
    table: Table,
    key: str,
    window: int | None,
    told: Repetitions | None = None,
    nodes: int = 2,
    ranks_per_node: int = 1,
) -> MovedBytes:
    """Return the least payload bytes that the first node sent and received in all printed rows.

    A benchmark of pairs has the ranks of the first half of the nodes on one side, so its pairs of nodes are disjoint.
    For a collective without a known lower bound it is nothing, and then it proves nothing.
    """
    if find(key).traffic is not None:
        both = table_payload(table, key, window, told, node_pairs=max(1, nodes // 2))
        return both[0] if both else MovedBytes(0, 0)
    least = find(key).least
    counts: Sequence[object] | None = None if told is None else _set_repetitions(table, told)
    if "repetitions" in table.columns:
        counts = table.column("repetitions")
    if least is None or "size" not in table.columns or counts is None:
        return MovedBytes(0, 0)
    total = 0
    for size, repetitions in zip(table.column("size"), counts, strict=True):
        if isinstance(size, int) and isinstance(repetitions, int):
            total += size * repetitions
    sent, received = least.sent(nodes, ranks_per_node), least.received(nodes, ranks_per_node)
    return MovedBytes(int(sent * total), int(received * total))


def is_mirrored(key: str, node: int, nodes: int) -> bool:
    """Return whether a node (0 is the first) moved the same as the first node, but in opposite directions.

    With pairs, this is the second half of the nodes; in a collective with a root, all nodes but the root.
    """
    if find(key).traffic is not None:
        return nodes > 1 and node >= nodes // 2
    least = find(key).least
    return least is not None and least.rooted and node > 0


def parts_of_a_vector(key: str, nodes: int) -> int:
    """Return into how many messages an algorithm may cut the vector of one size: 1 except for some collectives."""
    if find(key).traffic is not None:
        return 1
    least = find(key).least
    return 1 if least is not None and least.whole else nodes


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
