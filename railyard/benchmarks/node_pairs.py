"""What a table of railyard-pairs says about a run: each pair's figures, the curves that are judged, the bytes moved.

A table has one row per pair and one message size. The worst value stands for the run: the slower direction of the
slowest pair. After all, pairs are measured to find one bad cable among a thousand. A bisection is the exception, since
a single pair says little there: the mean over all pairs and rounds is the bandwidth per node, one half of the nodes
against the other. Of switch groups, in whose crowded rounds up-links are shared, each node's best pair counts: the
slowest node stands for the run, and its figures have the rest.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.benchmarks.model import BANDWIDTH, LATENCY, Curve
from railyard.benchmarks.table.network import BISECTION, GROUPS, ON_NODE, PAIRS
from railyard.parsers.output import Cell, Table
from railyard.parsers.pairs import ALONE, ONE_RAIL

#: Which value stands for a run, by benchmark and metric.
FIGURES = {
    (PAIRS, BANDWIDTH): "slowest_pair",
    (PAIRS, LATENCY): "slowest_latency",
    (BISECTION, BANDWIDTH): "mean_pair",
    (BISECTION, LATENCY): "slowest_latency",
    (GROUPS, BANDWIDTH): "slowest_node",
    (GROUPS, LATENCY): "slowest_latency",
    (ON_NODE, BANDWIDTH): "slowest_node",
    (ON_NODE, LATENCY): "slowest_latency",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One measured pair: host names, MB/s (10^6 B/s) from the first to the second and back, half a round trip in us."""

    round: int
    first: str
    second: str
    forward_mb_s: float
    backward_mb_s: float
    latency_us: float

    @property
    def slower_mb_s(self) -> float:
        """The bandwidth of the slower direction."""
        return min(self.forward_mb_s, self.backward_mb_s)

    @property
    def hosts(self) -> frozenset[str]:
        """Both hosts, without an order."""
        return frozenset((self.first, self.second))


def hosts_of(table: Table) -> tuple[str, ...]:
    """Return the host names in the order of the ranks."""
    return tuple(str(table.context.get("hosts", "")).split())


def is_of_all(table: Table) -> bool:
    """Return whether a table is of all pairs, in rounds, and not a sample, a bisection or a measurement of suspects."""
    return f"pairs/{table.benchmark}" == PAIRS and not is_sample(table)


def is_sample(table: Table) -> bool:
    """Return whether a table is of only some of all pairs, in rounds."""
    return bool(table.context.get("sample"))


def is_again(table: Table) -> bool:
    """Return whether a table is of a later step of a run: suspects, suspects over one rail, or more of a sample."""
    return table.benchmark in (ALONE, ONE_RAIL) or is_sample(table)


def all_rail_tables(tables: Iterable[Table]) -> tuple[Table, ...]:
    """Return the tables that were measured over all rails of their run."""
    return tuple(table for table in tables if table.benchmark != ONE_RAIL)


def merge_tables(tables: Sequence[Table], hosts: Sequence[str]) -> Table:
    """Return tables of the same program over several groups of nodes as one table, whose ranks are those of ``hosts``.

    The rounds of a table follow those of the one before it. Raises ValueError if there is no table, if a host is not
    among ``hosts``, or if the program had different settings.
    """
    if not tables:
        raise ValueError("found no table, expected that of a group of nodes")
    first, places = tables[0], {host: place for place, host in enumerate(hosts)}
    rows: list[tuple[Cell, ...]] = []
    rounds = 0
    for table in tables:
        unlike = next((name for name in _TOLD if table.context.get(name) != first.context.get(name)), None)
        if unlike is not None:
            found, wanted = table.context.get(unlike), first.context.get(unlike)
            raise ValueError(f"found {unlike} {found}, expected {wanted} as in the group before it")
        for pair in pairs_of(table):
            unknown = next((host for host in (pair.first, pair.second) if host not in places), None)
            if unknown is not None:
                raise ValueError(f"{unknown} is in the table of a group, but not in any group")
            a, b = places[pair.first], places[pair.second]
            ways = (pair.forward_mb_s, pair.backward_mb_s)
            rows.append((rounds + pair.round, *sorted((a, b)), *(ways if a < b else ways[::-1]), pair.latency_us))
        rounds += int(str(table.context.get("rounds") or 0))
    context = {**first.context, "ranks": len(hosts), "rounds": rounds, "hosts": " ".join(hosts)}
    complete = all(table.complete for table in tables)
    return replace(first, rows=tuple(rows), complete=complete, context=context)


#: The settings of the program besides its rounds.
_TOLD = ("size", "window", "repeats", "warm_up", "exchanges", "exchange_bytes")


def pairs_of(table: Table) -> tuple[Pair, ...]:
    """Return the pairs in the order of the rows. Raises ValueError for a row without numbers."""
    hosts = hosts_of(table)
    found = []
    for line, row in enumerate(table.rows, start=1):
        round_, first, second, *values = row
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        if not (isinstance(round_, int) and isinstance(first, int) and isinstance(second, int)) or len(numbers) != 3:
            raise ValueError(f"pairs/{table.benchmark}: row {line} lacks a number")
        if max(first, second) >= len(hosts):
            raise ValueError(f"pairs/{table.benchmark}: row {line} is of rank {max(first, second)}, which has no host")
        found.append(Pair(round_, hosts[first], hosts[second], *numbers))
    return tuple(found)


def curves(table: Table, key: str) -> tuple[Curve, Curve]:
    """Return bandwidth (MB/s, one way, at its message size) and latency (us), each with the value that stands for the
    run.

    Raises ValueError if the table is of another measurement, a row has no number, or two ranks shared a node against
    the rules.
    """
    if key != f"pairs/{table.benchmark}":
        raise ValueError(f"{key}: the table is of pairs/{table.benchmark}")
    pairs = pairs_of(table)
    for pair in pairs:
        if (pair.first == pair.second) != (key == ON_NODE):
            where = f"both on {pair.first}" if pair.first == pair.second else f"on {pair.first} and {pair.second}"
            raise ValueError(f"{key}: the ranks of a pair were {where}")
    size, small = table.context.get("size"), table.context.get("exchange_bytes")
    if not pairs or not isinstance(size, int) or not isinstance(small, int):
        raise ValueError(f"{key}: no pair with a message size")
    if key == BISECTION:
        bandwidth = min(
            statistics.fmean(pair.forward_mb_s for pair in pairs),
            statistics.fmean(pair.backward_mb_s for pair in pairs),
        )
    elif key == GROUPS:
        bandwidth = min(_best_by_host(pairs).values())
    else:
        bandwidth = min(pair.slower_mb_s for pair in pairs)
    slowest = max(pair.latency_us for pair in pairs)
    return Curve(BANDWIDTH, "MB/s", (size,), (bandwidth,)), Curve(LATENCY, "us", (small,), (slowest,))


def _best_by_host(pairs: Iterable[Pair]) -> Mapping[str, float]:
    """Return what each host reaches with its best partner, in the slower direction."""
    found: dict[str, float] = {}
    for pair in pairs:
        for host in pair.hosts:
            found[host] = max(pair.slower_mb_s, found.get(host, 0.0))
    return found


def fastest(table: Table) -> Curve:
    """Return the fastest pair's faster direction as a curve with one size. It must be possible too."""
    best = max(max(pair.forward_mb_s, pair.backward_mb_s) for pair in pairs_of(table))
    size = table.context["size"]
    assert isinstance(size, int)  # curves() has refused any other
    return Curve(BANDWIDTH, "MB/s", (size,), (best,))


def add_later_steps(table: Table, steps: Iterable[Table]) -> Table:
    """Return a sample with the rows of its later steps; any other table as it is.

    Raises ValueError if the program had different settings in a later step, or if a row has no numbers.
    """
    more = [step for step in steps if is_sample(step)]
    return merge_tables([table, *more], hosts_of(table)) if is_sample(table) and more else table


def take_better_values(table: Table, steps: Iterable[Table]) -> Table:
    """Return the table with the better value of each direction, if a pair was measured again in a later step.

    In a healthy network with static routes, pairs that measure at once may share a link, and a pair may have had a bad
    moment. A pair that is also slow alone is slow. If a step repeats a pair, the median counts.
    Source: T. Hoefler, T. Schneider, A. Lumsdaine, "Multistage Switches are not Crossbars", IEEE Cluster 2008.
    """
    again: dict[tuple[str, str], float] = {}
    for step in steps:
        values: dict[tuple[str, str], list[float]] = {}
        for pair in pairs_of(step):
            values.setdefault((pair.first, pair.second), []).append(pair.forward_mb_s)
            values.setdefault((pair.second, pair.first), []).append(pair.backward_mb_s)
        for way, repeats in values.items():
            again[way] = max(statistics.median(repeats), again.get(way, 0.0))
    rows = []
    for row, pair in zip(table.rows, pairs_of(table), strict=True):
        forward = max(pair.forward_mb_s, again.get((pair.first, pair.second), 0.0))
        backward = max(pair.backward_mb_s, again.get((pair.second, pair.first), 0.0))
        rows.append((*row[:3], forward, backward, *row[5:]))
    return replace(table, rows=tuple(rows))


def matrix(pairs: Iterable[Pair], hosts: Sequence[str]) -> tuple[tuple[float | None, ...], ...]:
    """Return MB/s by sender (row) and receiver (column); None for what was not measured.

    A pair in several rounds (as in a bisection) has the mean, a pair within a node the slower direction.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for pair in pairs:
        if pair.first == pair.second:
            found.setdefault((pair.first, pair.second), []).append(pair.slower_mb_s)
            continue
        found.setdefault((pair.first, pair.second), []).append(pair.forward_mb_s)
        found.setdefault((pair.second, pair.first), []).append(pair.backward_mb_s)
    return tuple(
        tuple(statistics.fmean(found[a, b]) if (a, b) in found else None for b in hosts) for a in hosts
    )  # fmt: skip


def latencies(pairs: Iterable[Pair], hosts: Sequence[str]) -> tuple[tuple[float | None, ...], ...]:
    """Return half a round trip in us by both nodes of a pair, in both places; None for what was not measured."""
    found: dict[frozenset[str], float] = {}
    for pair in pairs:
        found[pair.hosts] = min(pair.latency_us, found.get(pair.hosts, pair.latency_us))
    return tuple(tuple(found.get(frozenset((a, b))) for b in hosts) for a in hosts)


def moved_bytes(table: Table) -> Mapping[str, tuple[int, int]]:
    """Return the payload bytes that each host in a pair sent and received: at least, and at most with warm-ups.

    Every pair moves the same both ways. The result is empty if the heading is cut.
    """
    words = [table.context.get(name) for name in _TOLD]
    if not all(isinstance(word, int) for word in words):
        return {}
    size, window, repeats, warm_up, exchanges, small = (int(word) for word in words if isinstance(word, int))
    least = size * window * repeats
    most = least + size * warm_up + small * (exchanges + exchanges // 10 + 1)
    counts: dict[str, int] = {}
    for pair in pairs_of(table):
        for host in pair.hosts:
            counts[host] = counts.get(host, 0) + 1
    return {host: (n * least, n * most) for host, n in counts.items()}


def slow_nodes(table: Table, share: float) -> tuple[tuple[str, float, float], ...]:
    """Return (host, its MB/s, the median) for hosts whose pair within the node is below a share of the median."""
    pairs = pairs_of(table)
    middle = statistics.median(pair.slower_mb_s for pair in pairs)
    return tuple((pair.first, pair.slower_mb_s, middle) for pair in pairs if pair.slower_mb_s < share * middle)
