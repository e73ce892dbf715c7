"""hp2p and ClusterKit: figures over all pairs of a machine's ranks or nodes, without message sizes.

Each pair of an hp2p sends both ways while all other pairs do, so that the network's own bottlenecks count, and ranks of
one node may be a pair. A minimum belongs to the slowest pair. ClusterKit adds both directions unless it was asked to
send one way only, and no report says which. So a link bounds these figures from above, and no floor of a link holds.

Source: hp2p_iteration of hp2p.c (cea-hpc/hp2p); NVIDIA HPC-X, ClusterKit, "Test Descriptions and Options".
"""

from railyard.benchmarks.model import Benchmark, Bounded, Metric, Tool
from railyard.parsers.parsed import Table

_CONGESTED = "it depends on the network between all pairs and on the ranks per node, and no reference names it"


def _is_part(table: Table) -> bool:
    """Return whether it is a summary before the last one."""
    return table.context.get("stage") == "snapshot"


def _bandwidth(which: str, bounded: Bounded, directions: int, optional: bool = False) -> Metric:
    return Metric(
        *(f"bandwidth_{which}", (f"bandwidth_{which}",), "MB/s", "figure", "higher", directions),
        bounded=bounded,
        optional=optional,
    )


def _latency(which: str, bounded: Bounded, optional: bool = False) -> Metric:
    return Metric(
        f"latency_{which}", (f"latency_{which}",), "us", "figure", "lower", bounded=bounded, optional=optional
    )


TOOLS = (Tool("hp2p", is_part=_is_part), Tool("clusterkit"))
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
            *(_bandwidth(which, "always", 2, optional=True) for which in ("min", "avg", "max")),
            *(_latency(which, "always", optional=True) for which in ("min", "avg", "max")),
        ),
        rows="last",
        assessed="application",
        reported=_CONGESTED,
        of_link=False,
    ),
)
