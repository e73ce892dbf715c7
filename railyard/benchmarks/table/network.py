"""The table of HPC Challenge's network parts and of GPCNeT: several figures per run, without message sizes.

In both, all ranks communicate at once, in rings and collectives. So a figure belongs to a number of nodes and of ranks
on each, and a published figure does not bound another machine. Without a reference of the same system, a run's figures
are only shown; its own checks, its path and what physics allows are judged.

What a link bounds: In a ring, a process' bandwidth is what it sends to both neighbours, 2 L in a time t, and it
receives as much. A ring over all processes crosses the border of each node at least twice, and each crossing carries L
each way. So no process shows more than its node's rails move one way, for any number and order of ranks. A ping-pong's
lowest bandwidth and longest time are over all pairs, and one pair (the first and the last rank) never shares a node.
Its mean and its best belong to a link only if each rank has its own node. A transposition's rate is that of the whole
machine, and the grid decides how much of it stays on a node: nothing bounds it here. A ring's latency is half of the
time of two exchanges that may overlap, so it is not the time of a way between two nodes.

Source: bench_lat_bw_1.5.2.c and pdtransdriver.c of HPC Challenge 1.5.0; random_ring.c, collectives.c of GPCNeT 1.3.
"""

from railyard.benchmarks.model import Benchmark, Better, Bounded, Metric, Package, Tool
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


TOOLS = (
    Tool("hpcc", Package("hpcc", "bin/hpcc")),
    Tool("gpcnet", Package("gpcnet", "bin", ("network_test", "network_load_test")), of_mpi=True, is_part=_is_part),
)
HPCC, NETWORK_TEST, NETWORK_LOAD_TEST = "hpcc/Summary", "gpcnet/network_test", "gpcnet/network_load_test"
ENTRIES = (
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
