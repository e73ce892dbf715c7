"""The payload bytes that a benchmark's printed rows moved between the first pair of nodes, least and most."""

from dataclasses import dataclass

from railyard.benchmarks.model import Traffic
from railyard.benchmarks.table.micro import find
from railyard.parsers.parsed import Table

# Before its main loop NetPIPE makes 100 ping-pongs of the smallest size, in -s and -2 as well
NETPIPE_WARM_UP_EXCHANGES = 100


@dataclass(frozen=True, slots=True)
class Moved:
    """Payload bytes that leave and reach the FIRST node; the second node's are the same, exchanged."""

    tx: int
    rx: int

    def __add__(self, other: "Moved") -> "Moved":
        return Moved(self.tx + other.tx, self.rx + other.rx)


@dataclass(frozen=True, slots=True)
class Repetitions:
    """How often a tool that prints no repetitions was told to measure each size, and to warm up before."""

    measured: int
    warm_up: int


def pairs_of(table: Table, key: str) -> int:
    """Return how many pairs of ranks a table's values are the sum of: 1 but for the multi-pair benchmarks."""
    if not find(key).sums_pairs:
        return 1
    printed, ranks = table.context.get("pairs"), table.context.get("ranks")
    if isinstance(printed, int):
        return printed
    return max(1, ranks // 2) if isinstance(ranks, int) else 1


def rails_of(table: Table) -> int:
    """Return how many rails' pairs of processes a table is put together of (``parsers.rail_parts``), 1 as a rule."""
    rails = table.context.get("rails")
    return rails if isinstance(rails, int) else 1


def _both_ways(traffic: Traffic, count: int) -> Moved:
    return Moved(count * traffic.forward, count * traffic.backward)


def moved_bytes(key: str, size: int, repetitions: int, window: int | None = None, pairs: int = 1) -> Moved | None:
    """Return the payload bytes of one printed row, without warm-ups: a lower bound; None for no closed form.

    One rank a node, or ``pairs`` of them, first ranks on the first node. ``window`` None is the tool's default.
    """
    traffic = find(key).traffic
    if traffic is None:
        return None
    messages = repetitions * traffic.trials * pairs
    if traffic.window is not None:
        messages *= traffic.window if window is None else window
    return Moved(size * messages * traffic.forward, size * messages * traffic.backward)


def moved_at_most(
    key: str, size: int, repetitions: int, window: int | None = None, pairs: int = 1, warm_up: int | None = None
) -> Moved | None:
    """Return the payload bytes of one printed row with all warm-ups; None where they are not known.

    OSU makes ``warm_up`` repetitions (``-x``) before the measured ones, and a message of 4 B for each window.

    IMB makes the printed n repetitions twice: once to see how long they take (with one more before, unless
    ``-iter_policy off``), once timed; between them n/10 warm-ups, at least 1, since 2026 at least 10 or n. Checked on
    2021.11: 40.2 messages for n=20 without warm-up, 42.2 with, 43.0 under the dynamic policy.
    NetPIPE's 100 ping-pongs come once a run: ``moved_by`` adds them.
    """
    tool = find(key).tool
    if tool == "osu":
        if warm_up is None:
            return None
        repetitions += warm_up
    if tool in ("perftest", "fabtests"):  # their warm-ups are neither told nor printed
        return None
    if tool == "imb":
        repetitions = 2 * repetitions + 1 + max(1, repetitions // 10, min(10, repetitions))
    return moved_bytes(key, size, repetitions, window, pairs)


def repetitions_of(table: Table, told: Repetitions | None) -> tuple[int, ...] | None:
    """Return how often each row was measured: as printed, else as the tool was told; None where neither says it."""
    name = next((each for each in ("repetitions", "iterations") if each in table.columns), None)
    if name is not None:
        printed = table.column(name)
        counts = tuple(count for count in printed if isinstance(count, int) and not isinstance(count, bool))
        return counts if len(counts) == len(printed) else None
    return None if told is None else (told.measured,) * len(table.rows)


def moved_by(
    table: Table, key: str, window: int | None = None, told: Repetitions | None = None, node_pairs: int = 1
) -> tuple[Moved, Moved | None] | None:
    """Return the least and the most payload bytes that a whole table's run moved; None for no closed form.

    A benchmark of several pairs of ranks had them on ``node_pairs`` disjoint pairs of nodes: the bytes are one's.
    ``told`` is how often a tool that prints no repetitions (OSU) was told to measure. The most is None where warm-ups
    are not known. A row that IMB gave up (time-out) has moved bytes too and is in neither. NetPIPE's np.out prints no
    repetitions and gives None.
    """
    traffic, sent, received = find(key).traffic, table.context.get("bytes_sent"), table.context.get("bytes_received")
    if traffic is not None and isinstance(sent, int) and isinstance(received, int):  # the tool counts them itself
        return _both_ways(traffic, received), _both_ways(traffic, max(sent, received))
    counts = repetitions_of(table, told)
    if traffic is None or "size" not in table.columns or counts is None:
        return None
    rails = rails_of(table)
    pairs = rails * max(1, pairs_of(table, key) // node_pairs)
    least, most = Moved(0, 0), Moved(0, 0)
    bounded = True
    for size, repetitions in zip(table.column("size"), counts, strict=True):
        if not isinstance(size, int):
            return None
        least += moved_bytes(key, size, repetitions, window, pairs) or Moved(0, 0)
        upper = moved_at_most(key, size, repetitions, window, pairs, None if told is None else told.warm_up)
        bounded = bounded and upper is not None
        most += upper or Moved(0, 0)
    first = table.rows[0][table.columns.index("size")] if table.rows else 0
    if find(key).tool == "netpipe" and isinstance(first, int):
        warm_up = rails * NETPIPE_WARM_UP_EXCHANGES * first
        most += Moved(warm_up, warm_up)
    return least, most if bounded else None
