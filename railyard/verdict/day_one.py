"""The day-one band of a run: what a healthy link shows at each of its sizes, for this benchmark and these rails.

``railyard.hardware.day_one`` has the physics and the constants. Here a benchmark's pattern meets the rails of a target,
and what an output says about its run: pairs of ranks, messages in flight, repetitions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from railyard.benchmarks import moved_bytes
from railyard.benchmarks.model import BANDWIDTH, LATENCY, Benchmark, Metric
from railyard.benchmarks.table import micro
from railyard.hardware import day_one
from railyard.hardware.collective_times import time_of
from railyard.hardware.day_one import EFA, LONG_FROM_BYTES, Rail, Turn, Window
from railyard.parsers.output import Table
from railyard.site.references.band import Band, Bound, scalar_band
from railyard.verdict.rule_model import BandLike, MetricInput, points
from railyard.verdict.wording import reference

ENTRY = "day-one"
#: A tool that prints one figure without its size sends messages of about this size (qperf: 64 KiB, but 2 KiB over
#: unreliable datagrams, which have at most an MTU: run_client_ud_bw in rdma.c of linux-rdma/qperf; iperf3: 128 KiB),
#: may wait for interrupts, and may have no window: qperf over InfiniBand 4X of 2003 printed 27.6 us and 66 % of the
#: limit for datagrams. That is four times half a round trip over MPI there (7 us), and 18 us are five times the highest
#: over newer RDMA (3.4 us).
_FIGURE_BYTES = 64 << 10
_DATAGRAM_BYTES = MappingProxyType({"qperf/ud_bw": 2 << 10, "qperf/ud_bi_bw": 2 << 10})
_FIGURE_STARTS = 3
_FIGURE_SHARE = 0.7
#: Bandwidths are printed with two decimals, of MiB/s in old releases of IMB.
_ROUNDING_MB_S = 0.006


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a run besides its benchmark. None: not known.

    ``pairs``: pairs of ranks that use the rails of one pair of nodes at once. ``depth``: messages in flight, if the
    output says it. ``repetitions``: messages of one size, of a run of a few. ``ranks``: all ranks of the table;
    ``waiting``: ranks of the job that took no part. ``nodes`` and ``ranks_per_node`` as the caller knows them.
    ``from_device``: the buffers are in the memory of GPUs. ``rate_was_set``: the sender kept a rate that it was given,
    as iperf does over UDP.
    """

    pairs: int = 1
    depth: int | None = None
    repetitions: int | None = None
    ranks: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    from_device: bool = False
    waiting: int = 0
    rate_was_set: bool = False

    @property
    def why_unplaced(self) -> str | None:
        """Return why it is not known whether the ranks of a table share a node; None if it is known.

        If other ranks only wait, the first ones may be neighbours: a launcher usually fills a node first.
        """
        if not self.waiting or self.ranks_per_node == 1 or self.nodes == 1:
            return None
        return reference.ranks_may_be_neighbours(self.ranks, (self.ranks or 0) + self.waiting)

    @property
    def many_ranks(self) -> bool:
        """Whether more than two ranks take part, and nobody says how many of them share a node."""
        return self.ranks is not None and self.ranks > 2 and self.ranks_per_node is None


def facts_of(
    table: Table, benchmark: Benchmark, node_pairs: int, nodes: int | None, ranks_per_node: int | None
) -> Facts:
    """Return what a table says about its run, with what the caller knows."""
    ranks, waiting, groups = (table.context.get(name) for name in ("ranks", "waiting", "groups"))
    if isinstance(ranks, int) and isinstance(groups, int):  # IMB's -multi: all groups use the network at once
        ranks *= groups
    depth = table.context.get("tx_depth")
    if isinstance(ranks, int) and ranks == 2 and not waiting and nodes is None:
        nodes, ranks_per_node = 2, 1  # two ranks alone are meant to be on two nodes
    if isinstance(ranks, int) and ranks_per_node is not None and (not waiting or ranks_per_node == 1):
        nodes = -(-ranks // ranks_per_node)
    counts = [each for each in (table.column("iterations") if "iterations" in table.columns else ()) if each]
    least = min((each for each in counts if isinstance(each, int)), default=None)
    of_card = micro.tool(benchmark.tool).between_nics
    return Facts(
        pairs=max(1, moved_bytes.pairs_of(table, benchmark.key) // max(1, node_pairs)),
        depth=depth if isinstance(depth, int) and depth > 0 else None,
        repetitions=least if of_card else None,
        ranks=ranks if isinstance(ranks, int) else None,
        nodes=nodes,
        ranks_per_node=ranks_per_node,
        from_device=micro.tool(table.tool).from_device(table),
        waiting=waiting if isinstance(waiting, int) else 0,
        rate_was_set=table.context.get("protocol") == "UDP",
    )


def why_not(benchmark: Benchmark) -> str | None:
    """Return why no link bounds a benchmark on its first day; None if one may."""
    if benchmark.loops:
        return None
    if benchmark.within_node and not benchmark.within:
        return benchmark.reported or reference.within_node_floor(benchmark.key)
    if benchmark.pattern is not None:  # a barrier: no bytes, but rounds of messages
        return None
    return benchmark.reported if not benchmark.payload and not benchmark.within else None


def bands(
    benchmark: Benchmark, metric: Metric, rail: Rail | str, facts: Facts, sizes: Sequence[int]
) -> tuple[Band, ...] | str:
    """Return the day-one band of a metric at the measured sizes (bytes), or why it has none.

    ``rail`` is the class of the link with what its rails carry, or why there is none.
    """
    if metric.shape == "figure" and metric.name not in (BANDWIDTH, LATENCY):
        return reference.no_link_bounds(metric.name, benchmark.key)
    if isinstance(rail, str):
        return rail
    if facts.rate_was_set and metric.shape in ("figure", "stream"):
        return reference.rate_was_set(benchmark.tool, is_sender=metric.shape == "figure")
    if metric.shape == "figure":
        return _of_figure(benchmark, metric, rail)
    if metric.shape in ("stream", "one-of-two"):
        if metric.name != BANDWIDTH:
            return reference.only_bandwidth(benchmark.key, metric.name)
        return _of_stream(benchmark, metric, rail, facts, sizes)
    if metric.shape == "collective":
        return _of_collective(benchmark, metric, rail, facts, sizes)
    turn = benchmark.one_turn
    if turn is None or metric.name not in (BANDWIDTH, LATENCY):
        return reference.no_band(metric.name, benchmark.key)
    if facts.many_ranks and facts.nodes != 1:
        return reference.ranks_unplaced(facts.ranks)
    return _of_turn(metric, turn, _with_start_of(benchmark, rail), facts, sizes)


def share_asked(references: Sequence[Band], of_class: Sequence[Band], sizes: Sequence[int]) -> float:
    """Return the least share of what a link's class demands of a bandwidth that references demand at their sizes, 1 at
    most.
    """
    bounds = [(own.bound_at(size), other.bound_at(size)) for size in sizes for own in references for other in of_class]
    lows = [(own.low, by_class.low) for own, by_class in bounds if own is not None and by_class is not None]
    return min([1.0, *(low / by_class for low, by_class in lows if low and by_class)])


def at_sizes(band: Band, sizes: Sequence[int], share: float = 1.0) -> Band | None:
    """Return a band that holds only at some sizes (bytes), and demands a share of its bandwidths, which long messages
    may take longer by; None if it holds at none of them.
    """
    points = {size: bound for size in sizes if (bound := band.bound_at(size)) is not None}
    for size, one in points.items() if share < 1 else ():
        longer = 1.0 if size < LONG_FROM_BYTES else share
        low, high = one.low and one.low * share, one.high and one.high / longer
        points[size] = replace(one, low=low, high=high)
    return replace(band, points=MappingProxyType(points), everywhere=None) if points else None


def bounded_by_class(bands: Sequence[BandLike], size: int) -> bool:
    """Return whether a size, in bytes (0 for a figure without sizes), has a bound, and only from the link's class: no
    reference of a system asks for more.
    """
    bounding = {band.entry_id for band in bands if band.bound_at(size) is not None}
    return bool(bounding) and all(entry == ENTRY or entry.startswith("class:") for entry in bounding)


def ends_by_class(metric: MetricInput) -> bool:
    """Return whether only the link's class bounds the largest size of a metric."""
    found = points(metric)
    return bool(found) and bounded_by_class(metric.bands, found[-1][0])


def _with_start_of(benchmark: Benchmark, rail: Rail) -> Rail:
    """Return a rail with the start of a message that cards have alone, if the benchmark has no library in between."""
    return replace(rail, of=rail.of.without_library()) if micro.tool(benchmark.tool).between_nics else rail


def _of_turn(metric: Metric, turn: Turn, rail: Rail, facts: Facts, sizes: Sequence[int]) -> tuple[Band, ...]:
    pairs = max(facts.pairs, facts.ranks_per_node or 1)
    of, directions = rail.of, 2 if turn.both_ways else 1
    rate = _rate_words(rail, of.shares[directions], rail.one_mb_s)
    terms = reference.single_messages(turn.starts, of.start_us, rate)
    if metric.name == LATENCY:
        points = {size: Bound(None, day_one.longest_us(rail, turn, size, pairs), None) for size in sizes}
        return (_band(metric, rail, terms, points),)

    def lowest(size: int) -> float:
        return day_one.lowest_of_turn_mb_s(rail, turn, size, pairs)

    return (_band(metric, rail, terms, _lower(lowest, sizes)),)


def _of_collective(
    benchmark: Benchmark, metric: Metric, rail: Rail, facts: Facts, sizes: Sequence[int]
) -> tuple[Band, ...] | str:
    if benchmark.pattern is None or facts.nodes == 1:
        return reference.no_band(metric.name, benchmark.key)
    nodes, ranks_per_node = facts.nodes, facts.ranks_per_node
    if nodes is None or ranks_per_node is None:
        options: list[Literal["--nodes", "--ranks-per-node"]] = [] if nodes is not None else ["--nodes"]
        return reference.nodes_unknown([*options, *(() if ranks_per_node is not None else ("--ranks-per-node",))])
    if rail.of is EFA and ranks_per_node > 1:
        return reference.several_ranks_over_efa()
    times = {size: time_of(rail, benchmark.pattern, size, nodes, ranks_per_node) for size in sizes}
    points = {size: Bound(None, time.longest_us, None) for size, time in times.items()}
    terms = reference.collective(nodes, ranks_per_node, rail.of.start_us, rail.all_mb_s)
    return (_band(metric, rail, terms, points),)


def _of_stream(
    benchmark: Benchmark, metric: Metric, rail: Rail, facts: Facts, sizes: Sequence[int]
) -> tuple[Band, ...]:
    loaded = 2 if metric.directions == 2 or metric.shape == "one-of-two" else 1
    verbs = micro.tool(benchmark.tool).between_nics
    window = Window(metric.directions, loaded, verbs, facts.depth, facts.repetitions)
    share = rail.of.stream_shares[loaded]
    short, long = (rail.of.window_cost_us(size, verbs) for size in (1, LONG_FROM_BYTES))
    terms = reference.window(short, long, LONG_FROM_BYTES, _rate_words(rail, share, rail.all_mb_s))

    def lowest(size: int) -> float:
        return day_one.lowest_of_stream_mb_s(rail, window, size)

    return (_band(metric, rail, terms, _lower(lowest, sizes)),)


def _of_figure(benchmark: Benchmark, metric: Metric, rail: Rail) -> tuple[Band, ...] | str:
    """Return the band of one figure without a message size: a flow or a window of messages, or one message's time."""
    name, unit = metric.name, metric.unit
    if name == LATENCY:
        high = _FIGURE_STARTS * rail.of.start_us
        terms = reference.starts(_FIGURE_STARTS, rail.of.start_us)
        return (scalar_band(ENTRY, "class", name, unit, _source(rail, terms), Bound(None, high, None)),)
    traffic = benchmark.traffic
    loaded = 2 if traffic is not None and traffic.forward and traffic.backward else metric.directions
    window = Window(metric.directions, loaded, verbs=True)
    share = 1.0 if rail.of.flow_mb_s is not None else _FIGURE_SHARE  # over TCP a flow is all that is asked
    size = _DATAGRAM_BYTES.get(benchmark.key, _FIGURE_BYTES)
    low = share * day_one.lowest_of_stream_mb_s(rail, window, size)
    terms = reference.window_of(share, size)
    return (scalar_band(ENTRY, "class", name, unit, _source(rail, terms), Bound(low, None, None)),)


def _lower(lowest: Callable[[int], float], sizes: Sequence[int]) -> dict[int, Bound]:
    bounds = {size: lowest(size) - _ROUNDING_MB_S for size in sizes if size > 0}
    return {size: Bound(low, None, None) for size, low in bounds.items() if low > 0}


def _band(metric: Metric, rail: Rail, terms: str, points: dict[int, Bound]) -> Band:
    return Band(
        ENTRY, "class", metric.name, metric.unit, _source(rail, terms), MappingProxyType(points), None, None, None, ()
    )


def _rate_words(rail: Rail, share: float, limit_mb_s: float) -> str:
    return reference.share_of_rate(share, limit_mb_s, rail.of.flow_mb_s)


def _source(rail: Rail, terms: str) -> str:
    return reference.band_of(rail.of.name, terms)
