"""The table of benchmarks: a new benchmark is one entry here.

A benchmark's key is ``<tool>/<benchmark>`` or, where the tool has one program for several patterns,
``<tool>/<mode>`` or ``<tool>/<benchmark>/<mode>``: ``imb/Uniband``, ``netpipe/stream``, ``osu/osu_bw``,
``perftest/ib_write_bw/bidirectional``, ``npb/CG/C``. Bandwidths are MB/s (10^6 B/s), times us, rates 1/s, sizes B;
applications have s, Gflop/s and Mop/s, and an impact is so many times.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from railyard.base.errors import RailyardError, did_you_mean
from railyard.benchmarks.model import BANDWIDTH, LATENCY, MESSAGE_RATE, Benchmark, Better, Metric, Rows, Shape, Traffic
from railyard.benchmarks.table import applications, network
from railyard.parsers.osu_titles import COLLECTIVES as OSU_COLLECTIVES

NETPIPE_TRIALS = 3  # TRIALS of 3.7.2; each of a row's trials makes the printed count of repeats
BIDIRECTIONAL = "bidirectional"
LOOPBACK = "loopback"  # the output of one does not tell it
STREAMS = (2, 4, 8, 16)  # of iperf3, beside one


def _bandwidth(shape: Shape, directions: int = 1) -> Metric:
    return Metric(BANDWIDTH, ("bandwidth",), "MB/s", shape, "higher", directions)


def _latency(shape: Shape, *columns: str) -> Metric:
    return Metric(LATENCY, columns, "us", shape, "lower")


def _rate(optional: bool = False) -> Metric:
    return Metric(MESSAGE_RATE, ("message_rate",), "1/s", "stream", "higher", optional=optional)


# IMB prints t_min, t_max, t_avg in the place of t with -multi and with -show_tail.
_IMB_TIME = _latency("latency", "time", "time_avg")
_IMB_WINDOW = 256  # -window_size of IMB 2019 to 2021
_OSU_WINDOW = 64  # -W

# Source of directions: IMB_output.c and scale_bw in IMB_parse_name_mpi1.c (PingPong, PingPing, Uniband 1; Sendrecv,
# Biband 2; Exchange 4 messages a repetition, two each way). Bytes: counters of a veth pair, IMB 2021.11 over MPICH
# 5.0.2 and NetPIPE 3.7.2 over Open MPI 4.1.4, two ranks; the printed repetitions fit to 0.5 % (headers).
_IMB = (
    Benchmark("imb/PingPong", (_bandwidth("pingpong"), _IMB_TIME), Traffic(1, 1), pingpong=True),
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
        *("netpipe/pingpong", (_bandwidth("pingpong"), _latency("latency", "time"))),
        *(Traffic(1, 1, trials=NETPIPE_TRIALS),),
        pingpong=True,
    ),
    Benchmark("netpipe/stream", (_bandwidth("stream"),), Traffic(1, 0, trials=NETPIPE_TRIALS)),
    # one message each way at a time: like a ping-pong, it does not fill the link as a window does
    Benchmark("netpipe/bidirectional", (_bandwidth("pingpong", 2),), Traffic(1, 1, trials=NETPIPE_TRIALS)),
)
_OSU_LATENCY = _latency("latency", "latency")
_OSU = (
    Benchmark("osu/osu_latency", (_OSU_LATENCY,), Traffic(1, 1), pingpong=True),
    Benchmark("osu/osu_latency_mt", (_OSU_LATENCY,)),
    Benchmark("osu/osu_latency_mp", (_OSU_LATENCY,)),
    Benchmark("osu/osu_latency_persistent", (_OSU_LATENCY,), Traffic(1, 1), pingpong=True),
    Benchmark("osu/osu_multi_lat", (_OSU_LATENCY,), Traffic(1, 1)),
    Benchmark("osu/osu_bw", (_bandwidth("stream"),), Traffic(1, 0, _OSU_WINDOW)),
    Benchmark("osu/osu_bw_persistent", (_bandwidth("stream"),), Traffic(1, 0, _OSU_WINDOW)),
    Benchmark("osu/osu_bibw", (_bandwidth("stream", 2),), Traffic(1, 1, _OSU_WINDOW)),
    Benchmark("osu/osu_bibw_persistent", (_bandwidth("stream", 2),), Traffic(1, 1, _OSU_WINDOW)),
    Benchmark(
        "osu/osu_mbw_mr", (_bandwidth("stream"), _rate(optional=True)), Traffic(1, 0, _OSU_WINDOW), sums_pairs=True
    ),
    # One sided: the first rank puts into the second's memory, or gets from it; the second does nothing but progress.
    Benchmark("osu/osu_put_bw", (_bandwidth("stream"),), Traffic(1, 0, _OSU_WINDOW)),
    Benchmark("osu/osu_get_bw", (_bandwidth("stream"),), Traffic(0, 1, _OSU_WINDOW)),
    Benchmark("osu/osu_put_bibw", (_bandwidth("stream", 2),)),
    Benchmark("osu/osu_put_latency", (_OSU_LATENCY,), Traffic(1, 0)),
    Benchmark("osu/osu_get_latency", (_OSU_LATENCY,), Traffic(0, 1)),
    *(Benchmark(f"osu/osu_{name}_latency", (_OSU_LATENCY,)) for name in ("acc", "get_acc", "cas", "fop")),
    # Whole milliseconds of MPI_Init, the mean over all ranks; one figure, without message sizes.
    Benchmark(
        *("osu/osu_init", (_latency("figure", "avg"),)),
        rows="mean",
        payload=False,
        reported="the time to start hangs on launcher, file system and number of ranks more than on the fabric",
    ),
)
_BARRIERS = frozenset(
    ("imb/Barrier", "imb/Ibarrier", *(f"osu/{name}" for name in OSU_COLLECTIVES if "barrier" in name))
)


def _collective(key: str, *columns: str) -> Benchmark:
    """Return a collective over all ranks. A barrier moves no payload, and no rate of a link bounds its time."""
    told = "a barrier moves no payload, so no rate of a link bounds its time" if key in _BARRIERS else None
    return Benchmark(key, (_latency("collective", *columns),), reported=told, payload=told is None)


# perftest: the average column counts both directions with -b (perftest_resources.c: report with duplex adds the
# remote side's). time_typical is the median of half a round trip; of a read or an atomic it is the whole round trip
# (perftest's README). Bytes: of the printed iterations, a lower bound: warm-up and post lists are not printed. A loop
# leaves the node by no port: nothing of the link bounds it, and no counter of a port need see it.
_PERFTEST_TIME = _latency("latency", "time_typical", "time_avg")
_PERFTEST_SENT = ("ib_write", "ib_send", "raw_ethernet")
_PERFTEST_MOVES = {"ib_read": Traffic(0, 1), **dict.fromkeys(_PERFTEST_SENT, Traffic(1, 0))}
_PERFTEST_BANDWIDTHS = (*_PERFTEST_SENT, "ib_read", "ib_atomic")
_PERFTEST = (
    *(
        Benchmark(f"perftest/{verb}_bw", (_bandwidth("stream"), _rate(optional=True)), _PERFTEST_MOVES.get(verb))
        for verb in _PERFTEST_BANDWIDTHS
    ),
    *(
        Benchmark(
            *(f"perftest/{verb}_bw/{BIDIRECTIONAL}", (_bandwidth("stream", 2), _rate(optional=True))),
            Traffic(1, 1) if verb in _PERFTEST_MOVES else None,
        )
        for verb in _PERFTEST_BANDWIDTHS
    ),
    *(Benchmark(f"perftest/{verb}_lat", (_PERFTEST_TIME,), Traffic(1, 1), pingpong=True) for verb in _PERFTEST_SENT),
    Benchmark("perftest/ib_read_lat", (_PERFTEST_TIME,), Traffic(0, 1)),
    Benchmark("perftest/ib_atomic_lat", (_PERFTEST_TIME,)),
    Benchmark(
        *(f"perftest/ib_write_bw/{LOOPBACK}", (_bandwidth("stream"), _rate(optional=True))),
        payload=False,
        within_node=True,
        reported="what a card's loop through its own slot should give is no published figure",
    ),
)
# fabtests: an iteration of a ping-pong is a message each way, and what is printed is one of them (xfers_per_iter 2 of
# shared.c); of a stream it is one message. Warm-ups are not printed.
_FABTESTS = (
    Benchmark(
        *("fabtests/fi_pingpong", (_bandwidth("pingpong"), _latency("latency", "time")), Traffic(1, 1)), pingpong=True
    ),
    Benchmark("fabtests/fi_rdm_tagged_bw", (_bandwidth("stream"), _rate(optional=True)), Traffic(1, 0)),
    Benchmark("fabtests/fi_rma_bw", (_bandwidth("stream"), _rate(optional=True)), Traffic(1, 0)),
)


def _figure(key: str, name: str, columns: tuple[str, ...], unit: str, rows: Rows, directions: int = 1) -> Benchmark:
    better: Better = "lower" if unit in ("us", "s") else "higher"
    return Benchmark(key, (Metric(name, columns, unit, "figure", better, directions),), rows=rows)


# qperf's own list of tests (qperf --help tests); where both ends are printed, what was received is what the network
# carried. rc_bi_bw sums both directions.
_QPERF = (
    *(
        _figure(f"qperf/{name}_bw", BANDWIDTH, ("recv_bw", "bw"), "MB/s", "best")
        for name in (
            *("rds", "sctp", "sdp", "tcp", "udp", "rc", "uc", "ud", "xrc"),
            *("rc_rdma_read", "rc_rdma_write", "uc_rdma_write"),
        )
    ),
    *(_figure(f"qperf/{name}_bi_bw", BANDWIDTH, ("bw",), "MB/s", "best", 2) for name in ("rc", "uc", "ud", "xrc")),
    *(
        _figure(f"qperf/{name}_lat", LATENCY, ("latency",), "us", "best")
        for name in (
            *("rds", "sctp", "sdp", "tcp", "udp", "rc", "uc", "ud", "xrc"),
            *("rc_rdma_read", "rc_rdma_write", "rc_rdma_write_poll", "uc_rdma_write", "uc_rdma_write_poll"),
        )
    ),
)
# iperf3's sender counts what its socket took, its receiver, in the last row, what came over the network. Streams share
# a rail, and so many are another benchmark: one stream is bounded by a core and a window, four seldom are.
_IPERF3 = tuple(
    replace(_figure(key, BANDWIDTH, ("bandwidth",), "MB/s", "last"), traffic=Traffic(1, 0))
    for key in ("iperf3/iperf3", *(f"iperf3/iperf3/{count}-streams" for count in STREAMS))
)
# railyard-pairs: a row a pair of nodes; what stands for all of them, and the bytes, are
# railyard.benchmarks.node_pairs's.
_PAIRS_TIME = _latency("latency", "latency")
_PAIRS_BANDWIDTH = Metric(BANDWIDTH, ("forward", "backward"), "MB/s", "stream", "higher")
_PAIRS = (
    Benchmark("pairs/pairs", (_PAIRS_BANDWIDTH, _PAIRS_TIME), rows="pairs"),
    Benchmark("pairs/bisection", (_PAIRS_BANDWIDTH, _PAIRS_TIME), rows="pairs", of_link=False),
    Benchmark(
        *("pairs/onnode", (_PAIRS_BANDWIDTH, _PAIRS_TIME)),
        rows="pairs",
        reported="memory and processor set it, and no reference names it",
        within_node=True,
        of_link=False,
    ),
)
_ALL = (
    *_IMB,
    *(_collective(f"imb/{name}", "time_avg", "time_ovrl") for name in _IMB_COLLECTIVES),
    *_NETPIPE,
    *_OSU,
    *(_collective(f"osu/{name}", "avg", "overall") for name in sorted(OSU_COLLECTIVES)),
    *_PERFTEST,
    *_FABTESTS,
    *_QPERF,
    *_IPERF3,
    *_PAIRS,
    *network.ENTRIES,
    *applications.ENTRIES,
)


class _Benchmarks(Mapping[str, Benchmark]):
    """All entries by their key; an application on so many nodes is known too, and is in no listing of keys."""

    def __init__(self, entries: Iterable[Benchmark]) -> None:
        self._named = {benchmark.key: benchmark for benchmark in entries}
        self._made: dict[str, Benchmark] = {}

    def __getitem__(self, key: str) -> Benchmark:
        found = self._named.get(key) or self._made.get(key)
        if found is None:
            found = applications.made(key, self._named)
            if found is None:
                raise KeyError(key)
            self._made[key] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)


BENCHMARKS: Mapping[str, Benchmark] = _Benchmarks(_ALL)


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
