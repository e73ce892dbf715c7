"""What a benchmark measures: a metric as a function of message size, and what its entry says of metrics and traffic.

Its ``Physics`` is what is known about its computation besides its figures. Only runs of that benchmark ask for it. An
entry names it as "module:name" of ``railyard.benchmarks.apps``, so that no other run imports it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal

from railyard.base.wording import message_size, number
from railyard.hardware.day_one import HALF_ROUND_TRIP, Pattern, Turn
from railyard.parsers.output import Cell, Table

Shape = Literal["pingpong", "stream", "one-of-two", "collective", "latency", "figure"]
Better = Literal["higher", "lower"]
Rows = Literal["sizes", "best", "worst", "last", "mean", "mean-after-first", "pairs"]
#: Whether a link bounds a bandwidth, and the way between two nodes a latency: always; only if each rank has its own
#: node, since otherwise two ranks may share one; never.
Bounded = Literal["always", "one-rank-a-node", "never"]

#: How a run is assessed (``railyard.verdict.sizes``): by message sizes; as an application, whose figure also depends on
#: processors, memory and the number of nodes, or whose rings and collectives use all ranks at once and have no message
#: sizes; by pairs of nodes; as a collective between GPUs, by message sizes, where not only a link sets the bounds; as
#: such a collective between two nodes at a time, each a step of one job.
AssessedBy = Literal["sizes", "application", "node_pairs", "gpus", "gpu_pairs"]
#: How we know a tool's repetitions, and with them the bytes of a run: the tool prints them; its check sets them; nobody
#: knows them, and only the counters show the path of its runs.
RepetitionsFrom = Literal["printed", "told", "nowhere"]

#: What bounds a copy within a node: a GPU's slot, or what connects two GPUs.
Within = Literal["", "slot", "gpu-link"]

#: Who has to wait in a collective: every rank, for the bytes of all; each rank only for its own part, so that the first
#: one leaves when a part has moved; one rank.
Waits = Literal["all", "own", "one"]

BANDWIDTH, LATENCY, MESSAGE_RATE = "bandwidth", "latency", "message_rate"


@dataclass(frozen=True, slots=True)
class Figure:
    """A key figure in its unit. ``size`` is the message size in bytes at which it was read, if it has one.

    ``computed``: it was computed for a replay, and no source printed it.
    """

    name: str
    value: float
    unit: str
    size: int | None = None
    computed: bool = False
    extra: Mapping[str, object] = field(
        default_factory=dict, kw_only=True
    )  # keys of a stored figure that a newer Railyard wrote

    @property
    def words(self) -> str:
        """``bandwidth 46.00 MB/s at 1 MiB``."""
        return f"{self.name} {number(self.value)} {self.unit}{self.size_words}"

    @property
    def size_words(self) -> str:
        """`` at 1 MiB``; empty without a message size."""
        return "" if self.size is None else f" at {message_size(self.size)}"


@dataclass(frozen=True, slots=True)
class Curve:
    """One value per message size: sizes in bytes, rising; values finite, in ``unit``.

    Raises ValueError if the lengths differ, sizes do not rise, or a value is not finite.
    """

    metric: str
    unit: str
    sizes: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.values):
            raise ValueError(f"{self.metric}: {len(self.sizes)} sizes but {len(self.values)} values")
        if not self.sizes:
            raise ValueError(f"{self.metric}: no sizes at all")
        for left, right in zip(self.sizes, self.sizes[1:], strict=False):
            if right <= left:
                raise ValueError(f"{self.metric}: sizes do not rise at {left} B -> {right} B")
        if all(map(math.isfinite, self.values)):
            return
        for size, value in zip(self.sizes, self.values, strict=True):
            if not math.isfinite(value):
                raise ValueError(f"{self.metric}: the value at {size} B is {value}, not a finite number")

    def value_at(self, size_bytes: int) -> float:
        """Return the value at exactly this size. Raises KeyError if the curve lacks it: nothing is interpolated."""
        try:
            return self.values[self.sizes.index(size_bytes)]
        except ValueError:
            raise KeyError(f"{self.metric}: no value at {size_bytes} B") from None

    def from_size(self, size_bytes: int) -> "Curve | None":
        """Return the part from a size on, or None if there is none."""
        pairs = [(s, v) for s, v in zip(self.sizes, self.values, strict=True) if s >= size_bytes]
        if not pairs:
            return None
        return Curve(self.metric, self.unit, tuple(s for s, _ in pairs), tuple(v for _, v in pairs))

    def up_to_size(self, size_bytes: int) -> "Curve":
        """Return the part up to one of its sizes. Raises ValueError if the curve begins above it."""
        count = sum(size <= size_bytes for size in self.sizes)
        return Curve(self.metric, self.unit, self.sizes[:count], self.values[:count])


@dataclass(frozen=True, slots=True)
class Metric:
    """One printed quantity: the first of ``columns`` that a table has, in ``unit``.

    ``directions`` 1: bytes one way; 2: the sum of both ways. ``shape`` decides which floors hold. A stream's floor
    never holds for a ping-pong (one message at a time), nor for ``one-of-two`` (one of two directions that are loaded
    at once). A ``figure`` has no message sizes and no floor. ``optional``: some releases do not print it. ``coarse``:
    it has so few decimals that a short run prints 0. ``bounded``: whether what moves between two nodes bounds it.
    ``of_peak``: it is work in double precision, which the processors' peak bounds. ``least_share``: the part of a
    healthy stream over one rail, one way, that a run reaches, though not only the link sets it; None: not known. Below
    ``sure_share``, only a reference can say whether the run is healthy. ``most_starts``: a latency takes at most so
    many times half a round trip of the link's class; above one of them, only a reference can say it. 0: not known.
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
    of_peak: bool = False
    least_share: float | None = None
    sure_share: float = 0.0
    most_starts: float = 0.0

    @property
    def is_bandwidth(self) -> bool:
        """Whether it is bytes per second, whatever its name."""
        return self.unit == "MB/s"

    def is_bounded(self, ranks_per_node: int | None) -> bool:
        """Return whether the link between two nodes bounds it with so many ranks on each (None: unknown)."""
        return self.bounded == "always" or (self.bounded == "one-rank-a-node" and ranks_per_node == 1)


def deciding_sizes(rising: Sequence[int], at_largest: bool) -> list[int]:
    """Return the message sizes, bytes, of which one must have a bound; none if there are no sizes.

    ``at_largest``: the largest, as for a bandwidth and a collective's times; else the smallest, and with 0 B the next.
    """
    return list(rising[-1:] if at_largest else rising[: 2 if rising and rising[0] == 0 else 1])


#: From here on a bandwidth is the link's, not that of the start of a message: tables are quoted at 1 MiB and above.
_RATE_FROM_BYTES = 1 << 20
#: Sizes from this share of the largest on show the link's rate, whatever the tool: collectives between GPUs reach it at
#: 1 GiB, and one step of IMB's sizes is a factor of 4.
_RATE_FROM_SHARE = 1 / 4


def rate_sizes(measured: Sequence[int]) -> list[int]:
    """Return the message sizes, bytes, at which a bandwidth shows a link's rate: each must have a bound."""
    least = max(_RATE_FROM_BYTES, _RATE_FROM_SHARE * max(measured, default=0))
    return [size for size in measured if size >= least]


def bandwidth(shape: Shape, directions: int = 1) -> Metric:
    """Return the bandwidth from a table's column of that name, in MB/s."""
    return Metric(BANDWIDTH, ("bandwidth",), "MB/s", shape, "higher", directions)


def latency(shape: Shape, *columns: str) -> Metric:
    """Return the time per message in us, from the first of these columns that is there."""
    return Metric(LATENCY, columns, "us", shape, "lower")


def message_rate(optional: bool = False) -> Metric:
    """Return the messages per second from a table's column of that name."""
    return Metric(MESSAGE_RATE, ("message_rate",), "1/s", "stream", "higher", optional=optional)


@dataclass(frozen=True, slots=True)
class Traffic:
    """How many messages one printed repetition moves between a pair, from the first rank to the second and back.

    ``window``: how many messages in flight are sent for each of those: the default of a benchmark with a window, else
    None. ``trials``: how often the printed number of repetitions is run.
    """

    forward: int
    backward: int
    window: int | None = None
    trials: int = 1

    @property
    def reads(self) -> bool:
        """Whether the data only comes back, as with RDMA reads: each waits for its request."""
        return self.forward == 0 and self.backward > 0


@dataclass(frozen=True, slots=True)
class LeastVector:
    """What no algorithm of a collective can avoid, in units of its size S, for n nodes of p ranks each.

    ``sent`` and ``received`` are the first node's. ``rooted``: the first node is the root, and every other node has
    these two exchanged; otherwise all nodes are alike. ``whole``: messages have S bytes or more with any algorithm;
    otherwise an algorithm may cut the vector into n parts. ``waits``: who cannot leave before all of it has moved.
    """

    sent: Callable[[int, int], float]
    received: Callable[[int, int], float]
    rooted: bool = False
    whole: bool = False
    waits: Waits = "all"


@dataclass(frozen=True, slots=True)
class Package:
    """The Spack package of a tool: ``path`` in its prefix is its executable, or the folder with several.

    ``executables`` are glob patterns below ``path`` (the path itself if it is the executable). Each must match at least
    one executable file. ``uses_mpi`` is False for a tool that uses the fabric or the memory directly.
    ``has_files``: a run copies files that are beside the executable.
    """

    name: str
    path: str
    executables: tuple[str, ...] = ()
    uses_mpi: bool = True
    has_files: bool = False

    @property
    def is_folder(self) -> bool:
        """Whether the tool is a folder of executables."""
        return bool(self.executables)


def printed_benchmark(table: Table) -> str | None:
    """Return the benchmark that a table names; None if it names none."""
    return None if table.benchmark is None else table.benchmark.removeprefix("Multi-")


def _accept_none(table: Table) -> bool:
    return False


def _printed_cells(table: Table, column: str) -> tuple[Cell, ...]:
    return table.column(column)


def _unknown_repetitions(repetitions: int, warm_up: int | None, version: str | None) -> int | None:
    return None


def printed_repetitions(repetitions: int, warm_up: int | None, version: str | None) -> int:
    """Return the repetitions of a tool that makes only those that it prints."""
    return repetitions


@dataclass(frozen=True, slots=True)
class Tool:
    """What all benchmarks of a tool have in common.

    ``package`` None: Spack has none, or nobody builds it. ``said``: the part of the key after the tool's name, from a
    table; None if the table does not say it. ``unsaid``: what such a table is taken for. ``is_part``: the table is of a
    part of a run and not a result. ``from_device``: the buffers were in the memory of an accelerator.

    ``at_most``: how often a row was measured with all warm-ups, from its printed (or set) repetitions, the warm-ups
    that the tool was set to, and its printed version; None if that is unknown. ``at_least``: from the same, how often
    it was surely measured. ``first_exchanges``: ping-pongs of the first size, once per run.
    ``sizes_a_doubling``: how many sizes it measures from one power of two to the next.
    ``end_line``: what it prints when all is done, if a table does not show its own end; else empty.
    ``doubles``: each of its sizes is twice the one before (1 after 0), whatever its options. ``has_no_end``: nothing
    in its output shows that a row was the last. ``between_gpus``: its nodes' GPUs and NICs bound what it measures, not
    only a link. ``between_nics``: it runs between two NICs without MPI, and one NIC bounds what it measures.
    ``of_mpi``: a launcher starts its ranks. ``fills_link``: the own condition of a link's class (12 GB/s over EDR) is
    asked of its windows of long messages; False if healthy links were seen to give it less. ``client``: the programs
    that are given a server, and ``shared``: their options for a transport within one host, both as patterns; empty if
    there are none.
    ``values``: a column of a table, where what is printed as 0 for lack of digits has the value that its row gives.
    """

    name: str
    package: Package | None = None
    said: Callable[[Table], str | None] = printed_benchmark
    unsaid: str | None = None
    is_part: Callable[[Table], bool] = _accept_none
    from_device: Callable[[Table], bool] = _accept_none
    repetitions: RepetitionsFrom = "printed"
    at_most: Callable[[int, int | None, str | None], int | None] = _unknown_repetitions
    at_least: Callable[[int, int | None, str | None], int] = printed_repetitions
    first_exchanges: int = 0
    sizes_a_doubling: int = 1
    end_line: str = ""
    doubles: bool = False
    has_no_end: bool = False
    between_gpus: bool = False
    between_nics: bool = False
    of_mpi: bool = False
    fills_link: bool = True
    client: str = ""
    shared: str = ""
    values: Callable[[Table, str], tuple[Cell, ...]] = _printed_cells


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: its metrics, its traffic (None if its bytes have no closed form), and whether it sums pairs.

    ``rows``: what the rows of a table are: message sizes; or one figure several times, where the best, worst, last,
    mean, or mean without the first row stands for the run; or pairs of nodes (``railyard.benchmarks.node_pairs``).
    ``pingpong``: its latency is half a round trip between two ranks.
    ``reported``: why its values are only shown unless a reference names them; None if they must be judged.
    ``payload``: False if a run moves none, so that no counter can show its path.
    ``within_node``: the ranks of a pair share a node, and no fabric should carry anything.
    ``of_link``: False if not only the link sets the bandwidth, so that the floors of its class do not hold.
    ``least_s``: a run that computed for less is not judged; 0: any is.
    ``too_little``: it moves too little for a counter to tell it from what the start of a job moves.
    ``assessed``: how its runs are assessed. ``least``: what a collective must move with any algorithm.
    ``physics``: where the facts about its computation are, "module:name" in ``railyard.benchmarks.apps``
    (``Physics``). ``every_node``: each node ran it by itself, and a row is a node.
    ``of_halves``: one half of a network against the other. ``printed``: what an output says about it, if that is less
    than its key. ``doubled_in``: the file of the tool whose sizes count both directions together.
    ``grows``: its problem grows with the number of nodes; otherwise it is one problem, on any number of nodes.
    ``signature``: a report plots its bandwidth over the time of a message. ``in_gpu``: its buffers are in the memory of
    GPUs, at least at one end, so the GPUs' slots bound it too. ``every_gpu``: all GPUs of its nodes take part, each
    with its own rank. ``within``: what carries it within a node, between a GPU and the processors or between two GPUs;
    empty if no such link bounds it. ``turn``: what happens in the time of one printed value, if one message follows
    another and it is not a ping-pong. ``pattern``: how the ranks of a collective exchange messages; None if
    nothing is known. ``over_tcp``: it uses TCP or UDP itself, whatever the link. ``loops``: its
    bytes leave a card and come back to the same node. ``flows``: so many flows of TCP share its bytes.
    ``hides_pairs``: many pairs of ranks exchange messages at once, and no output says how many.
    ``warms_up``: False if the set-up of the connection is part of what it measures.
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
    least_s: float = 0.0
    assessed: AssessedBy = "sizes"
    least: LeastVector | None = None
    physics: str | None = None
    every_node: bool = False
    of_halves: bool = False
    printed: str | None = None
    doubled_in: str | None = None
    grows: bool = False
    signature: bool = False
    in_gpu: bool = False
    every_gpu: bool = False
    within: Within = ""
    turn: Turn | None = None
    pattern: Pattern | None = None
    over_tcp: bool = False
    loops: bool = False
    flows: int = 1
    hides_pairs: bool = False
    warms_up: bool = True

    @property
    def one_turn(self) -> Turn | None:
        """Return what happens in the time of one printed value, with one message after another; None if unknown."""
        return HALF_ROUND_TRIP if self.turn is None and self.pingpong else self.turn

    @property
    def tool(self) -> str:
        """Return the key's first part."""
        return self.key.partition("/")[0]

    @property
    def printed_key(self) -> str:
        """Return the key that an output of this benchmark gives by itself."""
        return self.key if self.printed is None else f"{self.tool}/{self.printed}"

    @property
    def no_payload(self) -> str | None:
        """Return why a counter cannot show the path of a run, or None if it can."""
        if not self.payload:
            return f"{self.key} moves no payload"
        if self.too_little:
            return f"{self.key} moves too little to tell from what the start of a job moves"
        return None

    @property
    def is_application(self) -> bool:
        """Whether it is an application, not a measurement of the network itself."""
        return self.assessed == "application"


@dataclass(frozen=True, slots=True)
class Least:
    """Payload bytes of one node. ``split_bytes`` is the part of each way in messages of a threshold or more."""

    sent_bytes: int
    received_bytes: int
    split_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Physics:
    """Functions of a benchmark's key and of a run's tables.

    ``wrong``: line and sentence for each sign that it computed something else. ``remarks``: what a reader should know.
    ``figures``: what it gives besides its metrics. ``least``: the bytes that each node must move, from a table, the
    number of nodes, the ranks on each, and the size from which a message is split; () if there is no bound.
    """

    wrong: Callable[[str, Sequence[Table]], Sequence[tuple[int, str]]] = lambda key, tables: ()
    remarks: Callable[[str, Sequence[Table]], tuple[str, ...]] = lambda key, tables: ()
    figures: Callable[[str, Sequence[Table]], tuple[Figure, ...]] = lambda key, tables: ()
    least: Callable[[Table, int, int, int], tuple[Least, ...]] = lambda table, nodes, ranks_per_node, threshold: ()


_NOTHING = Physics()


def physics_of(benchmark: Benchmark) -> Physics:
    """Return the physics that the benchmark's entry names; if it names none, functions that say nothing."""
    if benchmark.physics is None:
        return _NOTHING
    module, _, name = benchmark.physics.partition(":")
    found = getattr(import_module(f"railyard.benchmarks.apps.{module}"), name)
    assert isinstance(found, Physics)
    return found


def median(passes: Sequence[Curve]) -> Curve:
    """Return the median of several passes at each size. A stall of the machine in one pass then does not count.

    Raises ValueError without a pass, and if passes differ in metric, unit or sizes.
    """
    if not passes:
        raise ValueError("no pass to take the median of")
    first = passes[0]
    for other in passes[1:]:
        if (other.metric, other.unit, other.sizes) != (first.metric, first.unit, first.sizes):
            raise ValueError(f"{first.metric}: passes of one run differ in their sizes or unit")
    if len(passes) == 1:
        return first
    import statistics  # 0.01 s to import, and most outputs have one pass

    values = zip(*(one.values for one in passes), strict=True)
    return Curve(first.metric, first.unit, first.sizes, tuple(statistics.median(column) for column in values))


def peak(curve: Curve) -> tuple[int, float]:
    """Return (size in bytes, value) of the largest value; if several are equal, with the smallest size."""
    best = max(curve.values)
    return curve.sizes[curve.values.index(best)], best


def n_half(curve: Curve, plateau: float) -> float:
    """Return N½ in bytes: the message size at which half of ``plateau`` is reached.

    It is linear between the two sizes around the last rise through the half. (On a token-bucket shaper a curve may pass
    it early, fall, and pass it again: the last one counts.) It is the smallest size if the whole curve is above the
    half, and infinity if the end of the curve is below it.

    Source: R. W. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994) 389-398.
    """
    half = plateau / 2
    if curve.values[-1] < half:
        return math.inf
    index = len(curve.values) - 1
    while index > 0 and curve.values[index - 1] >= half:
        index -= 1
    if index == 0:
        return float(curve.sizes[0])
    low_size, high_size = curve.sizes[index - 1], curve.sizes[index]
    low, high = curve.values[index - 1], curve.values[index]
    return low_size + (high_size - low_size) * (half - low) / (high - low)
