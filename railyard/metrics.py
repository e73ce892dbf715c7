"""What each benchmark's numbers mean: column, unit, directions, shape, and how many bytes a repetition moves.

A benchmark's key is ``<tool>/<benchmark>`` or, where the tool has one program for several patterns,
``<tool>/<mode>``: ``imb/Uniband``, ``netpipe/stream``, ``osu/osu_bw``. Bandwidths are MB/s (10^6 B/s), times us,
rates 1/s, sizes B. Nothing here reads a file, the clock or the host.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from railyard.curve import Curve, largest, n_half, peak
from railyard.errors import RailyardError, did_you_mean
from railyard.parsers.osutitles import COLLECTIVES as OSU_COLLECTIVES
from railyard.parsers.parsed import Table

Shape = Literal["pingpong", "stream", "collective", "latency"]
Better = Literal["higher", "lower"]

BANDWIDTH, LATENCY, MESSAGE_RATE = "bandwidth", "latency", "message_rate"

NETPIPE_TRIALS = 3  # TRIALS of 3.7.2; each of a row's trials makes the printed count of repeats
# Before its main loop NetPIPE makes 100 ping-pongs of the smallest size, in -s and -2 as well
NETPIPE_WARM_UP_EXCHANGES = 100


@dataclass(frozen=True, slots=True)
class Metric:
    """One printed quantity: the first of ``columns`` that a table has, in ``unit``.

    ``directions`` 1: bytes one way; 2: the sum of both ways. ``shape`` decides which floors hold: a ping-pong, one
    message at a time, never takes a stream's. ``optional``: some releases do not print it.
    """

    name: str
    columns: tuple[str, ...]
    unit: str
    shape: Shape
    better: Better
    directions: int = 1
    optional: bool = False


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
    """One benchmark: its metrics, its traffic (None where bytes have no closed form), and whether it sums pairs."""

    key: str
    metrics: tuple[Metric, ...]
    traffic: Traffic | None = None
    sums_pairs: bool = False

    @property
    def tool(self) -> str:
        """Return the key's first part."""
        return self.key.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Moved:
    """Payload bytes that leave and reach the FIRST node; the second node's are the same, exchanged."""

    tx: int
    rx: int

    def __add__(self, other: "Moved") -> "Moved":
        return Moved(self.tx + other.tx, self.rx + other.rx)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that stands for a curve; ``size`` is the message size that it belongs to, in bytes."""

    name: str
    value: float
    unit: str
    size: int | None


def _bandwidth(shape: Shape, directions: int = 1) -> Metric:
    return Metric(BANDWIDTH, ("bandwidth",), "MB/s", shape, "higher", directions)


def _latency(shape: Shape, *columns: str) -> Metric:
    return Metric(LATENCY, columns, "us", shape, "lower")


def _rate(optional: bool = False) -> Metric:
    return Metric(MESSAGE_RATE, ("message_rate",), "1/s", "stream", "higher", optional=optional)


# IMB prints t_min, t_max, t_avg in the place of t with -multi and with -show_tail.
_IMB_TIME = _latency("latency", "time", "time_avg")
_IMB_COLLECTIVE = _latency("collective", "time_avg", "time_ovrl")
_IMB_WINDOW = 256  # -window_size of IMB 2019 to 2021
_OSU_WINDOW = 64  # -W

# Source of directions: IMB_output.c and scale_bw in IMB_parse_name_mpi1.c (PingPong, PingPing, Uniband 1; Sendrecv,
# Biband 2; Exchange 4 messages a repetition, two each way). Bytes: counters of a veth pair, IMB 2021.11 over MPICH
# 5.0.2 and NetPIPE 3.7.2 over Open MPI 4.1.4, two ranks; the printed repetitions fit to 0.5 % (headers).
_IMB = (
    Benchmark("imb/PingPong", (_bandwidth("pingpong"), _IMB_TIME), Traffic(1, 1)),
    Benchmark("imb/PingPing", (_bandwidth("pingpong"), _IMB_TIME), Traffic(1, 1)),
    Benchmark("imb/Sendrecv", (_bandwidth("pingpong", 2), _IMB_TIME), Traffic(1, 1)),
    Benchmark("imb/Exchange", (_bandwidth("pingpong", 2), _IMB_TIME), Traffic(2, 2)),
    Benchmark("imb/Uniband", (_bandwidth("stream"), _rate()), Traffic(1, 0, _IMB_WINDOW), sums_pairs=True),
    Benchmark("imb/Biband", (_bandwidth("stream", 2), _rate()), Traffic(1, 1, _IMB_WINDOW), sums_pairs=True),
    # EXT and RMA: the origin's side of a transfer; what the target acknowledges is the library's own affair
    Benchmark("imb/Unidir_Put", (_bandwidth("stream"), _IMB_TIME)),
    Benchmark("imb/Unidir_Get", (_bandwidth("stream"), _IMB_TIME)),
    Benchmark("imb/Bidir_Put", (_bandwidth("stream"), _IMB_TIME)),
    Benchmark("imb/Bidir_Get", (_bandwidth("stream"), _IMB_TIME)),
    # P2P: partners drawn at random
    Benchmark("imb/Unirandom", (_bandwidth("stream"), _IMB_TIME, _rate(optional=True))),
    Benchmark("imb/Birandom", (_bandwidth("stream", 2), _IMB_TIME, _rate(optional=True))),
    Benchmark("imb/Corandom", (_bandwidth("stream", 2), _IMB_TIME, _rate(optional=True))),
)
_IMB_COLLECTIVES = (
    *("Allreduce", "Reduce", "Reduce_local", "Reduce_scatter", "Reduce_scatter_block", "Allgather", "Allgatherv"),
    *("Gather", "Gatherv", "Scatter", "Scatterv", "Alltoall", "Alltoallv", "Bcast", "Barrier"),
    *("Iallreduce", "Ireduce", "Ireduce_scatter", "Iallgather", "Iallgatherv", "Igather", "Igatherv", "Iscatter"),
    *("Iscatterv", "Ialltoall", "Ialltoallv", "Ibcast", "Ibarrier"),
)
# netpipe.c: bits = bytes * 8 * (1 + bidir). A ping-pong prints size / (round trip / 2), so bytes one way; -s the
# receiver's rate; -2 the sum of both ways.
_NETPIPE = (
    Benchmark(
        "netpipe/pingpong", (_bandwidth("pingpong"), _latency("latency", "time")), Traffic(1, 1, trials=NETPIPE_TRIALS)
    ),
    Benchmark("netpipe/stream", (_bandwidth("stream"),), Traffic(1, 0, trials=NETPIPE_TRIALS)),
    # one message each way at a time: like a ping-pong, it does not fill the link as a window does
    Benchmark("netpipe/bidirectional", (_bandwidth("pingpong", 2),), Traffic(1, 1, trials=NETPIPE_TRIALS)),
)
_OSU_LATENCY = _latency("latency", "latency")
_OSU = (
    Benchmark("osu/osu_latency", (_OSU_LATENCY,), Traffic(1, 1)),
    Benchmark("osu/osu_latency_mt", (_OSU_LATENCY,)),
    Benchmark("osu/osu_latency_mp", (_OSU_LATENCY,)),
    Benchmark("osu/osu_latency_persistent", (_OSU_LATENCY,), Traffic(1, 1)),
    Benchmark("osu/osu_multi_lat", (_OSU_LATENCY,)),
    Benchmark("osu/osu_bw", (_bandwidth("stream"),), Traffic(1, 0, _OSU_WINDOW)),
    Benchmark("osu/osu_bw_persistent", (_bandwidth("stream"),), Traffic(1, 0, _OSU_WINDOW)),
    Benchmark("osu/osu_bibw", (_bandwidth("stream", 2),), Traffic(1, 1, _OSU_WINDOW)),
    Benchmark("osu/osu_bibw_persistent", (_bandwidth("stream", 2),), Traffic(1, 1, _OSU_WINDOW)),
    Benchmark(
        "osu/osu_mbw_mr", (_bandwidth("stream"), _rate(optional=True)), Traffic(1, 0, _OSU_WINDOW), sums_pairs=True
    ),
    *(Benchmark(f"osu/osu_{name}_bw", (_bandwidth("stream"),)) for name in ("put", "get")),
    Benchmark("osu/osu_put_bibw", (_bandwidth("stream", 2),)),
    *(Benchmark(f"osu/osu_{name}_latency", (_OSU_LATENCY,)) for name in ("put", "get", "acc", "get_acc", "cas", "fop")),
)
_ALL = (
    *_IMB,
    *(Benchmark(f"imb/{name}", (_IMB_COLLECTIVE,)) for name in _IMB_COLLECTIVES),
    *_NETPIPE,
    *_OSU,
    *(Benchmark(f"osu/{name}", (_latency("collective", "avg", "overall"),)) for name in sorted(OSU_COLLECTIVES)),
)

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType({benchmark.key: benchmark for benchmark in _ALL})


def find(key: str) -> Benchmark:
    """Return the benchmark of this key. Raises RailyardError, with the nearest known key, where there is none."""
    if key not in BENCHMARKS:
        raise RailyardError(f'unknown benchmark "{key}": {did_you_mean(key, BENCHMARKS)}')
    return BENCHMARKS[key]


def metric(key: str, name: str) -> Metric:
    """Return one metric of a benchmark. Raises RailyardError where the benchmark is unknown or has no such metric."""
    known = {each.name: each for each in find(key).metrics}
    if name not in known:
        raise RailyardError(f'{key} has no metric "{name}": {did_you_mean(name, known)}')
    return known[name]


def pairs_of(table: Table, key: str) -> int:
    """Return how many pairs of ranks a table's values are the sum of: 1 but for the multi-pair benchmarks."""
    if not find(key).sums_pairs:
        return 1
    printed, ranks = table.context.get("pairs"), table.context.get("ranks")
    if isinstance(printed, int):
        return printed
    return max(1, ranks // 2) if isinstance(ranks, int) else 1


def curves(table: Table, key: str) -> tuple[Curve, ...]:
    """Return one curve a metric, in the order of the benchmark's table, units as declared.

    Size 0 counts for a latency alone; a table without sizes (a barrier) gives a curve of the one size 0. A metric
    that this release does not print is left out where it is optional.

    Raises ValueError where the table is another benchmark's (IMB 2021.11 runs all benchmarks when the name is
    misspelt), lacks a declared column, prints another unit, has no row above size 0 for it, a cell without a number,
    or sizes that do not rise (several groups or a mixed table: not one curve).
    """
    other = _other_benchmark(table, key)
    if other:
        raise ValueError(f"{key}: the table is of {other}")
    made = []
    for each in find(key).metrics:
        column = next((name for name in each.columns if name in table.columns), None)
        if column is None:
            if each.optional:
                continue
            raise ValueError(f"{key}: no column {' or '.join(each.columns)}, only {', '.join(table.columns)}")
        unit = table.units[table.columns.index(column)]
        if unit != each.unit:
            raise ValueError(f"{key}: {column} is in {unit}, expected {each.unit}")
        made.append(_curve(table, key, each, column))
    return tuple(made)


def key_figures(made: Iterable[Curve], key: str, peak_from: int = 0) -> tuple[Figure, ...]:
    """Return the few numbers that stand for a run's curves.

    ``small_message_latency``: at the smallest size that is not 0 (at 0 where there is no other). ``peak``: for a
    ping-pong the value at the largest size, since on a token-bucket shaper its middle sizes read too high; else the
    largest value at sizes from ``peak_from`` bytes, where the link's limit holds. ``n_half``: message size in bytes
    at half of that peak, left out where the curve ends below it. ``message_rate``: the largest. A collective also has
    ``large_message_latency``.
    """
    found: list[Figure] = []
    for curve in made:
        each = metric(key, curve.metric)
        if each.name == LATENCY:
            found += _latency_figures(curve, each)
        elif each.name == BANDWIDTH:
            size, value = largest(curve) if each.shape == "pingpong" else peak(curve.from_size(peak_from) or curve)
            found.append(Figure("peak", value, curve.unit, size))
            half = n_half(curve, value)
            if half != float("inf"):
                found.append(Figure("n_half", half, "B", None))
        else:
            size, value = peak(curve)
            found.append(Figure(each.name, value, curve.unit, size))
    return tuple(found)


def moved_bytes(key: str, size: int, repetitions: int, window: int | None = None, pairs: int = 1) -> Moved | None:
    """Return the payload bytes of one printed row, without warm-ups: a lower bound; None for no closed form.

    One rank a node, or ``pairs`` of them, first ranks on the first node. ``window`` None is the tool's default.
    """
    traffic = find(key).traffic
    if traffic is None:
        return None
    messages = repetitions * traffic.trials * pairs
    if traffic.window is not None:
        messages *= traffic.window if window is None else window
    return Moved(size * messages * traffic.forward, size * messages * traffic.backward)


def moved_at_most(key: str, size: int, repetitions: int, window: int | None = None, pairs: int = 1) -> Moved | None:
    """Return the payload bytes of one printed row with all warm-ups; None where they are not known (OSU: ``-x``).

    IMB makes the printed n repetitions twice: once to see how long they take (with one more before, unless
    ``-iter_policy off``), once timed; between them n/10 warm-ups, at least 1, since 2026 at least 10 or n. Checked on
    2021.11: 40.2 messages for n=20 without warm-up, 42.2 with, 43.0 under the dynamic policy.
    NetPIPE's 100 ping-pongs come once a run: ``moved_by`` adds them.
    """
    tool = find(key).tool
    if tool == "osu":
        return None
    if tool == "imb":
        repetitions = 2 * repetitions + 1 + max(1, repetitions // 10, min(10, repetitions))
    return moved_bytes(key, size, repetitions, window, pairs)


def moved_by(table: Table, key: str, window: int | None = None) -> tuple[Moved, Moved | None] | None:
    """Return the least and the most payload bytes that a whole table's run moved; None for no closed form.

    The most is None where warm-ups are not known. A row that IMB gave up (time-out) has moved bytes too and is in
    neither. NetPIPE's np.out prints no repetitions and gives None.
    """
    if find(key).traffic is None or "size" not in table.columns or "repetitions" not in table.columns:
        return None
    pairs = pairs_of(table, key)
    least, most = Moved(0, 0), Moved(0, 0)
    bounded = True
    for size, repetitions in zip(table.column("size"), table.column("repetitions"), strict=True):
        if not isinstance(size, int) or not isinstance(repetitions, int):
            return None
        least += moved_bytes(key, size, repetitions, window, pairs) or Moved(0, 0)
        upper = moved_at_most(key, size, repetitions, window, pairs)
        bounded = bounded and upper is not None
        most += upper or Moved(0, 0)
    first = table.rows[0][table.columns.index("size")] if table.rows else 0
    if find(key).tool == "netpipe" and isinstance(first, int):
        warm_up = NETPIPE_WARM_UP_EXCHANGES * first
        most += Moved(warm_up, warm_up)
    return least, most if bounded else None


def _other_benchmark(table: Table, key: str) -> str | None:
    """Return what the table says it is where that is not this key; None where it agrees or says nothing.

    NetPIPE's rows come on stderr, the sentence that names the mode on stdout: only a sentence that was read counts.
    """
    tool, _, name = key.partition("/")
    if table.tool != tool:
        return f"{table.tool}/{table.benchmark}"
    if tool == "netpipe":
        mode = table.context.get("mode")
        return None if mode in (None, "pingpong", name) else f"netpipe/{mode}"
    said = (table.benchmark or name).removeprefix("Multi-")
    return None if said.lower() == name.lower() else f"{tool}/{said}"


def _curve(table: Table, key: str, each: Metric, column: str) -> Curve:
    sizes = table.column("size") if "size" in table.columns else (0,) * len(table.rows)
    smallest = 0 if each.name == LATENCY else 1
    # np.out of a bidirectional run gives the bytes of both directions
    halves = 2 if key == "netpipe/bidirectional" and table.context.get("file") == "np.out" else 1
    points = []
    for size, value in zip(sizes, table.column(column), strict=True):
        if not isinstance(size, int) or isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{key}: {column} at {size} B is {value}, not a number")
        if size >= smallest:
            points.append((size // halves, float(value)))
    if not points:
        raise ValueError(f"{key}: no row of {smallest} B or more, so no {each.name}")
    return Curve(each.name, each.unit, tuple(size for size, _ in points), tuple(value for _, value in points))


def _latency_figures(curve: Curve, each: Metric) -> list[Figure]:
    above = curve.from_size(1) or curve
    found = [Figure("small_message_latency", above.values[0], curve.unit, above.sizes[0])]
    if each.shape == "collective" and len(above.sizes) > 1:
        found.append(Figure("large_message_latency", above.values[-1], curve.unit, above.sizes[-1]))
    return found
