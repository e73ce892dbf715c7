"""What a benchmark's entry says: its metrics, its traffic, and whether its values sum several pairs."""

from dataclasses import dataclass
from typing import Literal

Shape = Literal["pingpong", "stream", "collective", "latency", "figure"]
Better = Literal["higher", "lower"]
Rows = Literal["sizes", "best", "worst", "last", "mean", "mean-after-first", "pairs"]
#: Whether a link bounds a bandwidth, and the way between two nodes a latency: always; only where each rank has a node
#: of its own, since two ranks may else share one; never.
Bounded = Literal["always", "one-rank-a-node", "never"]

BANDWIDTH, LATENCY, MESSAGE_RATE = "bandwidth", "latency", "message_rate"
#: Tools that are applications: their figure is set by processors and memory too, and by the number of nodes. So are HPC
#: Challenge and GPCNeT, whose rings and collectives are of all ranks at once and have no message sizes.
APPLICATIONS = frozenset(("hpl", "npb", "wrf", "milc", "stream", "installed", "sharing", "hpcc", "gpcnet"))


@dataclass(frozen=True, slots=True)
class Metric:
    """One printed quantity: the first of ``columns`` that a table has, in ``unit``.

    ``directions`` 1: bytes one way; 2: the sum of both ways. ``shape`` decides which floors hold: a ping-pong, one
    message at a time, never takes a stream's; a ``figure`` has no message sizes and takes none. ``optional``: some
    releases do not print it. ``coarse``: printed with so few decimals that a short run reads 0. ``bounded``: whether
    what moves between two nodes bounds it.
    """

    name: str
    columns: tuple[str, ...]
    unit: str
    shape: Shape
    better: Better
    directions: int = 1
    optional: bool = False
    coarse: bool = False
    bounded: Bounded = "always"

    @property
    def is_bandwidth(self) -> bool:
        """Whether it is bytes a second, whatever its name."""
        return self.unit == "MB/s"

    def is_bounded(self, ranks_per_node: int | None) -> bool:
        """Return whether the link between two nodes bounds it with so many ranks on each; None: not known."""
        return self.bounded == "always" or (self.bounded == "one-rank-a-node" and ranks_per_node == 1)


@dataclass(frozen=True, slots=True)
class Traffic:
    """How many messages one printed repetition moves between a pair, first to second rank and back.

    ``window``: messages in flight, sent for each of those, where the benchmark has a window (its default); else None.
    ``trials``: how often the printed count of repetitions is made.
    """

    forward: int
    backward: int
    window: int | None = None
    trials: int = 1


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: its metrics, its traffic (None where bytes have no closed form), and whether it sums pairs.

    ``rows``: what the rows of a table are: message sizes, or one figure several times, of which best, worst, last,
    the mean or the mean without the first row stands for the run, or pairs of nodes
    (``railyard.benchmarks.node_pairs``). ``pingpong``: half a round trip between two ranks is its latency.
    ``reported``: why its values are shown and judged only where a reference names them; None where they must be judged.
    ``payload``: False where a run moves none, so that no counter can show its path.
    ``within_node``: the ranks of a pair share a node, and no fabric is meant to carry anything.
    ``of_link``: False where no link sets the bandwidth alone, so that the floors of its class do not hold.
    ``too_little``: it moves less than a counter can tell from what the start of a job moves.
    """

    key: str
    metrics: tuple[Metric, ...]
    traffic: Traffic | None = None
    sums_pairs: bool = False
    rows: Rows = "sizes"
    pingpong: bool = False
    reported: str | None = None
    payload: bool = True
    within_node: bool = False
    of_link: bool = True
    too_little: bool = False

    @property
    def tool(self) -> str:
        """Return the key's first part."""
        return self.key.partition("/")[0]

    @property
    def is_application(self) -> bool:
        """Whether its tool is an application, no measurement of the network itself."""
        return self.tool in APPLICATIONS
