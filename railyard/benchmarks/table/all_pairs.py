"""hp2p and ClusterKit: figures over all pairs of a machine's ranks or nodes, without message sizes.

Each pair of an hp2p sends both ways while all other pairs do, so that the network's own bottlenecks count, and ranks of
one node may be a pair. A minimum belongs to the slowest pair. So a link bounds its figures from above, and no floor of
a link holds.

ClusterKit has one rank on each node, and each node is in one pair at a time: only switches between the pairs are
shared. It sends windows of 32 MB, and adds both directions unless it was asked to send one way only: no report says
which. So its floors are shares of a stream one way. It uses RDMA where a network has it, so by a link of TCP a rate
that one flow reaches is not a pass. Its tests between GPUs may copy through the hosts: no floor holds.

Source: hp2p_iteration of hp2p.c (cea-hpc/hp2p); NVIDIA HPC-X 2.24, "Running ClusterKit" (rounds of n/2 pairs) and "Test
Descriptions and Options" (defaults).
"""

from railyard.benchmarks.model import Benchmark, Bounded, Metric, Tool
from railyard.parsers.output import Table

#: Of a healthy stream over one rail, one way. The best pair has its rails alone; as for any figure without a message
#: size, 70 % is asked. A tree may have a quarter of the uplinks that all pairs at once would need (blocking 4:1). So
#: the slowest pair and the mean fail below a quarter of that; between the two, only a reference says what is healthy.
_BEST_PAIR, _SHARED_PAIR = 0.7, 0.175
_SHARES = {"min": _SHARED_PAIR, "avg": _SHARED_PAIR, "max": _BEST_PAIR}
#: Half a round trip of a short message between two nodes, in those that the link's class allows. A pair through more
#: switches, or whose nodes do other work, may take longer than that, but the nearest pair and the mean may not.
_STARTS = {"min": 1.0, "avg": 1.0, "max": 4.0}
_CONGESTED = "it depends on the network between all pairs and on the ranks per node, and no reference names it"


def _is_part(table: Table) -> bool:
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


TOOLS = (Tool("hp2p", is_part=_is_part), Tool("clusterkit", from_device=_from_device))
ENTRIES = (
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
