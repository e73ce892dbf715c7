"""The table of benchmarks: a new benchmark is one entry here.

A benchmark's key is ``<tool>/<benchmark>`` or, where the tool has one program for several patterns,
``<tool>/<mode>`` or ``<tool>/<benchmark>/<mode>``: ``imb/Uniband``, ``netpipe/stream``, ``osu/osu_bw``,
``perftest/ib_write_bw/bidirectional``, ``npb/CG/C``. Bandwidths are MB/s (10^6 B/s), times us, rates 1/s, sizes B;
applications have s, Gflop/s and Mop/s.
"""

from collections.abc import Mapping
from types import MappingProxyType

from railyard.benchmarkform import BANDWIDTH, LATENCY, MESSAGE_RATE, Benchmark, Better, Metric, Rows, Shape, Traffic
from railyard.errors import RailyardError, did_you_mean
from railyard.parsers.osutitles import COLLECTIVES as OSU_COLLECTIVES

__all__ = ["BENCHMARKS", "BIDIRECTIONAL", "NETPIPE_TRIALS", "find", "metric"]

NETPIPE_TRIALS = 3  # TRIALS of 3.7.2; each of a row's trials makes the printed count of repeats
BIDIRECTIONAL = "bidirectional"


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
# perftest: the average column counts both directions with -b (perftest_resources.c: report with duplex adds the
# remote side's). time_typical is the median of half a round trip; of a read or an atomic it is the whole round trip
# (perftest's README). Bytes on the wire depend on warm-up and post lists, which the output does not print.
_PERFTEST_TIME = _latency("latency", "time_typical", "time_avg")
_PERFTEST_SENT = ("ib_write", "ib_send", "raw_ethernet")
_PERFTEST = (
    *(
        Benchmark(f"perftest/{verb}_bw", (_bandwidth("stream"), _rate(optional=True)))
        for verb in (*_PERFTEST_SENT, "ib_read", "ib_atomic")
    ),
    *(
        Benchmark(f"perftest/{verb}_bw/{BIDIRECTIONAL}", (_bandwidth("stream", 2), _rate(optional=True)))
        for verb in (*_PERFTEST_SENT, "ib_read", "ib_atomic")
    ),
    *(Benchmark(f"perftest/{verb}_lat", (_PERFTEST_TIME,), pingpong=True) for verb in _PERFTEST_SENT),
    *(Benchmark(f"perftest/{verb}_lat", (_PERFTEST_TIME,)) for verb in ("ib_read", "ib_atomic")),
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
# iperf3 prints the same bytes at both ends: the lowest row would hide a receiver's loss behind the sender's burst.
_IPERF3 = (_figure("iperf3/iperf3", BANDWIDTH, ("bandwidth",), "MB/s", "mean"),)
# Applications: the best of HPL's rows is its result (hpl.dat lists trials); the first step of WRF reads its input.
_NPB = (*("BT", "CG", "DT", "EP", "FT", "IS", "LU", "MG", "SP", "UA"), *("BT-MZ", "LU-MZ", "SP-MZ"))
_NPB_CLASSES = "SWABCDEF"
_APPLICATIONS = (
    _figure("hpl/hpl", "performance", ("performance",), "Gflop/s", "best"),
    _figure("hpl/hpl_ai", "performance", ("performance_irs",), "Gflop/s", "best"),
    *(
        _figure(f"npb/{name}/{problem}", "op_rate", ("performance",), "Mop/s", "best")
        for name in _NPB
        for problem in _NPB_CLASSES
    ),
    _figure("wrf/wrf", "runtime", ("time",), "s", "mean-after-first"),
    _figure("milc/milc", "runtime", ("time",), "s", "mean"),
)
_ALL = (
    *_IMB,
    *(Benchmark(f"imb/{name}", (_IMB_COLLECTIVE,)) for name in _IMB_COLLECTIVES),
    *_NETPIPE,
    *_OSU,
    *(Benchmark(f"osu/{name}", (_latency("collective", "avg", "overall"),)) for name in sorted(OSU_COLLECTIVES)),
    *_PERFTEST,
    *_QPERF,
    *_IPERF3,
    *_APPLICATIONS,
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
