"""Figures of a whole network, without message sizes: HPC Challenge's network parts, GPCNeT, all pairs of nodes.

In HPC Challenge and GPCNeT all ranks communicate at once, in rings and collectives. So a figure belongs to a number of
nodes and of ranks on each, and a published figure does not bound another machine. Without a reference of the same
system, a run's figures are only shown; its own checks, its path and what physics allows are judged.

What a link bounds: In a ring, a process' bandwidth is what it sends to both neighbours, 2 L in a time t, and it
receives as much. A ring over all processes crosses the border of each node at least twice, and each crossing carries L
each way. So no process shows more than its node's rails move one way, for any number and order of ranks. A ping-pong's
lowest bandwidth and longest time are over all pairs, and one pair (the first and the last rank) never shares a node.
Its mean and its best belong to a link only if each rank has its own node. A transposition's rate is that of the whole
machine, and the grid decides how much of it stays on a node: nothing bounds it here. A ring's latency is half of the
time of two exchanges that may overlap, so it is not the time of a way between two nodes.

Source: bench_lat_bw_1.5.2.c and pdtransdriver.c of HPC Challenge 1.5.0; random_ring.c, collectives.c of GPCNeT 1.3.

hp2p and ClusterKit: figures over all pairs of a machine's ranks or nodes, without message sizes.

Each pair of an hp2p sends both ways while all other pairs do, so that the network's own bottlenecks count, and ranks of
one node may be a pair. A minimum belongs to the slowest pair. So a link bounds its figures from above, and no floor of
a link holds.

ClusterKit has one rank on each node, and each node is in one pair at a time: only switches between the pairs are
shared. It sends windows of 32 MB, and adds both directions unless it was asked to send one way only: no report says
which. So its floors are shares of a stream one way. It uses RDMA where a network has it, so by a link of TCP a rate
that one flow reaches is not a pass. Its tests between GPUs may copy through the hosts: no floor holds.

Source: hp2p_iteration of hp2p.c (cea-hpc/hp2p); NVIDIA HPC-X 2.24, "Running ClusterKit" (rounds of n/2 pairs) and "Test
Descriptions and Options" (defaults).

railyard-pairs: one row per pair of nodes.

``railyard.benchmarks.node_pairs`` says which value stands for all of them, and how many bytes they move.
"""

from railyard.benchmarks.model import BANDWIDTH, Benchmark, Better, Bounded, Metric, Package, Tool, latency
from railyard.parsers.output import Table

#: From HPC Challenge's summary: each figure, and the columns that may have it; the first one that is there counts.
_HPCC: tuple[tuple[str, str, str, Bounded], ...] = (
    ("natural_ring_bandwidth", "naturallyorderedringbandwidth_gbytes", "MB/s", "always"),
    ("random_ring_bandwidth", "randomlyorderedringbandwidth_gbytes", "MB/s", "always"),
    ("natural_ring_latency", "naturallyorderedringlatency_usec", "us", "never"),
    ("random_ring_latency", "randomlyorderedringlatency_usec", "us", "never"),
    ("pingpong_bandwidth_min", "minpingpongbandwidth_gbytes", "MB/s", "always"),
    ("pingpong_bandwidth_avg", "avgpingpongbandwidth_gbytes", "MB/s", "one-rank-a-node"),
    ("pingpong_bandwidth_max", "maxpingpongbandwidth_gbytes", "MB/s", "one-rank-a-node"),
    ("pingpong_latency_min", "minpingponglatency_usec", "us", "one-rank-a-node"),
    ("pingpong_latency_avg", "avgpingponglatency_usec", "us", "one-rank-a-node"),
    ("pingpong_latency_max", "maxpingponglatency_usec", "us", "always"),
    ("transpose_rate", "ptrans_largest_gbs ptrans_gbs", "MB/s", "never"),
)
#: GPCNeT's rows, each with a mean and the value that 99 % keep. Its rings have one rank per node.
_GPCNET: tuple[tuple[str, str, str, Bounded], ...] = (
    ("random_ring_latency", "rr_two_sided_lat_8_b", "us", "never"),
    ("random_ring_bandwidth", "rr_two_sided_bw_131072_b", "MB/s", "always"),
    ("natural_ring_bandwidth", "nat_two_sided_bw_131072_b", "MB/s", "always"),
    ("allreduce_latency", "multiple_allreduce_8_b", "us", "always"),
)
#: How many times worse each is while other nodes congest the network: 1 means not at all.
_IMPACT: tuple[tuple[str, str, str, Bounded], ...] = (
    ("latency_impact", "rr_two_sided_lat_8_b", "times", "never"),
    ("bandwidth_impact", "rr_two_sided_bw_sync_131072_b", "times", "never"),
    ("allreduce_impact", "multiple_allreduce_8_b", "times", "never"),
)
_BETTER: dict[str, Better] = {"MB/s": "higher", "us": "lower", "times": "lower"}


def _metric(name: str, column: str, unit: str, bounded: Bounded) -> Metric:
    return Metric(name, tuple(column.split()), unit, "figure", _BETTER[unit], bounded=bounded)


def _with_percentile(rows: tuple[tuple[str, str, str, Bounded], ...]) -> tuple[Metric, ...]:
    """Return the mean of each row, then the value at the bad end of 99 %. The mean's bound also bounds that value."""
    return tuple(
        _metric(f"{name}{end}", f"{column}_{printed}", unit, "never" if end else bounded)
        for name, column, unit, bounded in rows
        for end, printed in (("", "avg"), ("_99", "99"))
    )


def _is_part(table: Table) -> bool:
    """Return whether it is what the load test measured before and during congestion: its result is the impact."""
    return table.benchmark == "network_load_test" and table.context.get("which") != "impact"


NETWORK_TOOLS = (
    Tool("hpcc", Package("hpcc", "bin/hpcc")),
    Tool("gpcnet", Package("gpcnet", "bin", ("network_test", "network_load_test")), of_mpi=True, is_part=_is_part),
)
HPCC, NETWORK_TEST, NETWORK_LOAD_TEST = "hpcc/Summary", "gpcnet/network_test", "gpcnet/network_load_test"
NETWORK_ENTRIES = (
    Benchmark(
        *(HPCC, tuple(_metric(*row) for row in _HPCC)),
        rows="last",
        assessed="application",
        physics="least_traffic:HPCC",
        reported="a ring's figures depend on the ranks per node and their order, and no reference names them",
        of_link=False,
    ),
    Benchmark(
        *(NETWORK_TEST, _with_percentile(_GPCNET)),
        rows="last",
        assessed="application",
        physics="least_traffic:GPCNET",
        reported="it depends on the number of nodes and of ranks on each, and no reference names it",
        of_link=False,
    ),
    Benchmark(
        *(NETWORK_LOAD_TEST, _with_percentile(_IMPACT)),
        rows="last",
        assessed="application",
        reported="the site decides how much congestion is too much, and no reference names a ceiling",
        of_link=False,
    ),
)


#: Of a healthy stream over one rail, one way. The best pair has its rails alone; as for any figure without a message
#: size, 70 % is asked. A tree may have a quarter of the uplinks that all pairs at once would need (blocking 4:1). So
#: the slowest pair and the mean fail below a quarter of that; between the two, only a reference says what is healthy.
_BEST_PAIR, _SHARED_PAIR = 0.7, 0.175
_SHARES = {"min": _SHARED_PAIR, "avg": _SHARED_PAIR, "max": _BEST_PAIR}
#: Half a round trip of a short message between two nodes, in those that the link's class allows. A pair through more
#: switches, or whose nodes do other work, may take longer than that, but the nearest pair and the mean may not.
_STARTS = {"min": 1.0, "avg": 1.0, "max": 4.0}
_CONGESTED = "it depends on the network between all pairs and on the ranks per node, and no reference names it"


def _is_snapshot(table: Table) -> bool:
    """Return whether it is a summary before the last one."""
    return table.context.get("stage") == "snapshot"


def _bandwidth(
    which: str, bounded: Bounded, directions: int, optional: bool = False, least_share: float | None = None
) -> Metric:
    return Metric(
        *(f"bandwidth_{which}", (f"bandwidth_{which}",), "MB/s", "figure", "higher", directions),
        bounded=bounded,
        optional=optional,
        least_share=least_share,
        sure_share=0.0 if least_share is None else _BEST_PAIR,
    )


def _latency(which: str, bounded: Bounded, optional: bool = False, most_starts: float = 0.0) -> Metric:
    return Metric(
        *(f"latency_{which}", (f"latency_{which}",), "us", "figure", "lower"),
        bounded=bounded,
        optional=optional,
        most_starts=most_starts,
    )


def _from_device(table: Table) -> bool:
    return table.context.get("gpus") is True


PAIRS_TOOLS = (Tool("hp2p", is_part=_is_snapshot), Tool("clusterkit", from_device=_from_device))
PAIRS_ENTRIES = (
    Benchmark(
        "hp2p/hp2p",
        (
            _bandwidth("min", "always", 1),
            _bandwidth("avg", "one-rank-a-node", 1),
            _bandwidth("max", "one-rank-a-node", 1),
            _latency("min", "one-rank-a-node"),
            _latency("avg", "one-rank-a-node"),
            _latency("max", "always"),
        ),
        rows="last",
        assessed="application",
        reported=_CONGESTED,
        of_link=False,
    ),
    Benchmark(
        "clusterkit/pairwise",
        (
            *(_bandwidth(which, "always", 2, optional=True, least_share=share) for which, share in _SHARES.items()),
            *(_latency(which, "always", optional=True, most_starts=most) for which, most in _STARTS.items()),
        ),
        rows="last",
        assessed="application",
        reported=_CONGESTED,
        of_link=False,
    ),
)


PAIRS, BISECTION, GROUPS, ON_NODE = "pairs/pairs", "pairs/bisection", "pairs/groups", "pairs/onnode"
RAILYARD_PAIRS = Tool("pairs")
_TIME = latency("latency", "latency")
_BANDWIDTH = Metric(BANDWIDTH, ("forward", "backward"), "MB/s", "stream", "higher")
RAILYARD_PAIRS_ENTRIES = (
    Benchmark(PAIRS, (_BANDWIDTH, _TIME), rows="pairs", assessed="node_pairs"),
    Benchmark(BISECTION, (_BANDWIDTH, _TIME), rows="pairs", assessed="node_pairs", of_link=False, of_halves=True),
    Benchmark(GROUPS, (_BANDWIDTH, _TIME), rows="pairs", assessed="node_pairs"),
    Benchmark(
        *(ON_NODE, (_BANDWIDTH, _TIME)),
        rows="pairs",
        assessed="node_pairs",
        reported="memory and processor decide it, and no reference names it",
        within_node=True,
        of_link=False,
    ),
)


TOOLS = (*NETWORK_TOOLS, *PAIRS_TOOLS, RAILYARD_PAIRS)
ENTRIES = (*NETWORK_ENTRIES, *PAIRS_ENTRIES, *RAILYARD_PAIRS_ENTRIES)
