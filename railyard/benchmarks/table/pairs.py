"""railyard-pairs: one row per pair of nodes.

``railyard.benchmarks.node_pairs`` says which value stands for all of them, and how many bytes they move.
"""

from railyard.benchmarks.model import BANDWIDTH, Benchmark, Metric, Tool, latency

PAIRS, BISECTION, GROUPS, ON_NODE = "pairs/pairs", "pairs/bisection", "pairs/groups", "pairs/onnode"
TOOL = Tool("pairs")
_TIME = latency("latency", "latency")
_BANDWIDTH = Metric(BANDWIDTH, ("forward", "backward"), "MB/s", "stream", "higher")
ENTRIES = (
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
