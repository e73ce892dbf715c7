"""The table of HPC Challenge's network parts and of GPCNeT: several figures of one run, without message sizes.

Both let all ranks communicate at once, in rings and collectives, so that a figure belongs to a number of nodes and of
ranks on each. No published one is another machine's bound: without a reference of the same system a run is shown, its
own checks, its path and what physics allows are judged.

What a link bounds. Of a ring a process' bandwidth is what it sends to both neighbours, 2 L in a time t, and it receives
as much. A ring over all processes crosses the border of each node twice at least, and each crossing carries L either
way: so whatever ranks a node has, and in whichever order, no process shows more than its node's rails move one way. A
ping-pong's least bandwidth and longest time are of all pairs, one of which (the first and the last rank) never shares a
node; its mean and its best are a link's only where each rank has a node of its own. A transposition's rate is of the
whole machine, and what of it stays on a node hangs on the grid: nothing bounds it here. A ring's latency is half of the
time of two exchanges that may pass at once, which is no way between two nodes.

Source: bench_lat_bw_1.5.2.c and pdtransdriver.c of HPC Challenge 1.5.0; random_ring.c, collectives.c of GPCNeT 1.3.
"""

from railyard.benchmarks.model import Benchmark, Better, Bounded, Metric, Package, Tool
from railyard.parsers.parsed import Table

#: Of HPC Challenge's summary: each figure, the column that has it, or columns of which the first that is there does.
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
#: GPCNeT's rows, each with a mean and the value that 99 % keep. Its rings are of one rank a node, on other nodes all.
_GPCNET: tuple[tuple[str, str, str, Bounded], ...] = (
    ("random_ring_latency", "rr_two_sided_lat_8_b", "us", "never"),
    ("random_ring_bandwidth", "rr_two_sided_bw_131072_b", "MB/s", "always"),
    ("natural_ring_bandwidth", "nat_two_sided_bw_131072_b", "MB/s", "always"),
    ("allreduce_latency", "multiple_allreduce_8_b", "us", "always"),
)
#: How many times worse each is while other nodes congest the network: 1 is not at all.
_IMPACT: tuple[tuple[str, str, str, Bounded], ...] = (
    ("latency_impact", "rr_two_sided_lat_8_b", "times", "never"),
    ("bandwidth_impact", "rr_two_sided_bw_sync_131072_b", "times", "never"),
    ("allreduce_impact", "multiple_allreduce_8_b", "times", "never"),
)
_BETTER: dict[str, Better] = {"MB/s": "higher", "us": "lower", "times": "lower"}


def _metric(name: str, column: str, unit: str, bounded: Bounded) -> Metric:
    return Metric(name, tuple(column.split()), unit, "figure", _BETTER[unit], bounded=bounded)


def _with_percentile(rows: tuple[tuple[str, str, str, Bounded], ...]) -> tuple[Metric, ...]:
    """Return of each row its mean, then the value at the bad end of 99 %, which what bounds the mean bounds anyhow."""
    return tuple(
        _metric(f"{name}{end}", f"{column}_{printed}", unit, "never" if end else bounded)
        for name, column, unit, bounded in rows
        for end, printed in (("", "avg"), ("_99", "99"))
    )


def _is_part(table: Table) -> bool:
    """Return whether it is what the load test's tests gave before and during congestion: its result is the impact."""
    return table.benchmark == "network_load_test" and table.context.get("which") != "impact"


TOOLS = (
    Tool("hpcc", Package("hpcc", "bin/hpcc")),
    Tool("gpcnet", Package("gpcnet", "bin", ("network_test", "network_load_test")), is_part=_is_part),
)
HPCC, NETWORK_TEST, NETWORK_LOAD_TEST = "hpcc/Summary", "gpcnet/network_test", "gpcnet/network_load_test"
ENTRIES = (
    Benchmark(
        *(HPCC, tuple(_metric(*row) for row in _HPCC)),
        rows="last",
        assessed="application",
        physics="least_traffic:HPCC",
        reported="ranks a node and their order set what a ring gives, and no reference names it",
        of_link=False,
    ),
    Benchmark(
        *(NETWORK_TEST, _with_percentile(_GPCNET)),
        rows="last",
        assessed="application",
        physics="least_traffic:GPCNET",
        reported="the number of nodes and of ranks on each set it, and no reference names it",
        of_link=False,
    ),
    Benchmark(
        *(NETWORK_LOAD_TEST, _with_percentile(_IMPACT)),
        rows="last",
        assessed="application",
        reported="how much congestion is too much is the site's to say, and no reference names a ceiling",
        of_link=False,
    ),
)
