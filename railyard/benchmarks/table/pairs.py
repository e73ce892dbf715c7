"""railyard-pairs: a row a pair of nodes.

What stands for all of them, and the bytes, are ``railyard.benchmarks.node_pairs``'s.
"""

from railyard.benchmarks import node_pairs
from railyard.benchmarks.model import BANDWIDTH, Benchmark, Metric, Tool, latency

TOOL = Tool("pairs")
_TIME = latency("latency", "latency")
_BANDWIDTH = Metric(BANDWIDTH, ("forward", "backward"), "MB/s", "stream", "higher")
ENTRIES = (
    Benchmark(node_pairs.PAIRS, (_BANDWIDTH, _TIME), rows="pairs", assessed="node_pairs"),
    Benchmark(
        node_pairs.BISECTION, (_BANDWIDTH, _TIME), rows="pairs", assessed="node_pairs", of_link=False, of_halves=True
    ),
    Benchmark(
        *(node_pairs.ON_NODE, (_BANDWIDTH, _TIME)),
        rows="pairs",
        assessed="node_pairs",
        reported="memory and processor set it, and no reference names it",
        within_node=True,
        of_link=False,
    ),
)
