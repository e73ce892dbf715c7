"""Intel MPI Benchmarks."""

from railyard.benchmarks.model import (
    Benchmark,
    Package,
    Tool,
    Traffic,
    bandwidth,
    latency,
    message_rate,
    printed_benchmark,
)
from railyard.benchmarks.table.collective import ALLGATHER, ALLREDUCE, ALLTOALL, barrier, collective
from railyard.hardware.day_one import EXCHANGE_OF_2, EXCHANGE_OF_4, FENCED, FENCED_BOTH_WAYS, PING_PING
from railyard.parsers.output import Table

_ONE_SIDED = {"Unidir_Put": FENCED, "Unidir_Get": FENCED, "Bidir_Put": FENCED_BOTH_WAYS, "Bidir_Get": FENCED_BOTH_WAYS}


def _most_repetitions(repetitions: int, warm_up: int | None, version: str | None) -> int:
    """Return how often a row was measured with all warm-ups.

    IMB makes the printed n repetitions twice: once to see how long they take (with one more before, unless
    ``-iter_policy off``), and once timed. Between them are n/10 warm-ups, at least 1; since 2026 at least 10 or n.
    Checked with 2021.11: 40.2 messages for n=20 without warm-up, 42.2 with, 43.0 with the dynamic policy. With the
    policy that our checks set (off): 7.0 for n=3, and 2.0 for n=1, which is not warmed up. IMB does not print which
    policy a run had.
    """
    if _is_2021(version):
        return 2 * repetitions + (max(1, repetitions // 10) if repetitions > 1 else 0)
    return 2 * repetitions + 1 + max(1, repetitions // 10, min(10, repetitions))


def _least_repetitions(repetitions: int, warm_up: int | None, version: str | None) -> int:
    """Return the repetitions, timed and before that untimed; of other releases only the timed ones are sure."""
    return 2 * repetitions if _is_2021(version) else repetitions


def _is_2021(version: str | None) -> bool:
    return version is not None and version.lstrip("Vv").partition(".")[0] == "2021"


def _with_mode(table: Table) -> str | None:
    """Return the benchmark of a table; with its mode if it sends many messages before it waits for their end."""
    is_one_sided = (table.benchmark or "").lower() in map(str.lower, _ONE_SIDED)  # IMB-RMA has Unidir_put
    is_aggregate = is_one_sided and table.context.get("mode") == "AGGREGATE"
    return f"{table.benchmark}/aggregate" if is_aggregate else printed_benchmark(table)


TOOL = Tool(
    "imb",
    Package("intel-mpi-benchmarks", "bin/IMB-MPI1"),
    of_mpi=True,
    at_most=_most_repetitions,
    at_least=_least_repetitions,
    said=_with_mode,
    end_line="# All processes entering MPI_Finalize",
)
# With -multi and with -show_tail IMB prints t_min, t_max, t_avg instead of t.
_TIME = latency("latency", "time", "time_avg")
_SOURCES = ("SpecificSource", "AnySource")  # what a receive names; the times are those of the plain benchmark
COLD_CACHES = "imb/PingPong/cold-caches"
_WINDOW = 256  # -window_size of IMB 2019 to 2021

# Source of directions: IMB_output.c and scale_bw in IMB_parse_name_mpi1.c (PingPong, PingPing, Uniband 1; Sendrecv,
# Biband 2; Exchange 4 messages per repetition, two each way). Bytes: counters of a veth pair, IMB 2021.11 over MPICH
# 5.0.2 and NetPIPE 3.7.2 over Open MPI 4.1.4, two ranks; the printed repetitions agree within 0.5 % (headers).
_PAIRS = (
    Benchmark("imb/PingPong", (bandwidth("pingpong"), _TIME), Traffic(1, 1), pingpong=True),
    # -off_cache: each message is elsewhere in a buffer larger than the caches; the output does not say so
    Benchmark(
        COLD_CACHES,
        (bandwidth("pingpong"), _TIME),
        Traffic(1, 1),
        pingpong=True,
        printed="PingPong",
    ),
    Benchmark("imb/PingPing", (bandwidth("pingpong"), _TIME), Traffic(1, 1), turn=PING_PING),
    *(
        Benchmark(f"imb/PingPong{source}", (bandwidth("pingpong"), _TIME), Traffic(1, 1), pingpong=True)
        for source in _SOURCES
    ),
    *(
        Benchmark(f"imb/PingPing{source}", (bandwidth("pingpong"), _TIME), Traffic(1, 1), turn=PING_PING)
        for source in _SOURCES
    ),
    Benchmark("imb/Sendrecv", (bandwidth("pingpong", 2), _TIME), Traffic(1, 1), turn=EXCHANGE_OF_2),
    Benchmark("imb/Exchange", (bandwidth("pingpong", 2), _TIME), Traffic(2, 2), turn=EXCHANGE_OF_4),
    Benchmark("imb/Uniband", (bandwidth("stream"), message_rate()), Traffic(1, 0, _WINDOW), sums_pairs=True),
    Benchmark("imb/Biband", (bandwidth("stream", 2), message_rate()), Traffic(1, 1, _WINDOW), sums_pairs=True),
    # EXT and RMA: the origin's side of a transfer; what the target acknowledges is up to the library. Without
    # aggregation it waits for the end of each; with it, t is how often it begins one, which is no latency.
    *(Benchmark(f"imb/{name}", (bandwidth("pingpong"), _TIME), turn=turn) for name, turn in _ONE_SIDED.items()),
    *(Benchmark(f"imb/{name}/aggregate", (bandwidth("pingpong"),), turn=turn) for name, turn in _ONE_SIDED.items()),
    # P2P: random partners
    Benchmark("imb/Unirandom", (bandwidth("stream"), _TIME, message_rate(optional=True))),
    Benchmark("imb/Birandom", (bandwidth("stream", 2), _TIME, message_rate(optional=True))),
    Benchmark("imb/Corandom", (bandwidth("stream", 2), _TIME, message_rate(optional=True))),
)
_COLLECTIVES = (
    *("Allreduce", "Reduce", "Reduce_local", "Reduce_scatter", "Reduce_scatter_block", "Allgather", "Allgatherv"),
    *("Gather", "Gatherv", "Scatter", "Scatterv", "Alltoall", "Alltoallv", "Bcast"),
    *("Iallreduce", "Ireduce", "Ireduce_scatter", "Iallgather", "Iallgatherv", "Igather", "Igatherv", "Iscatter"),
    *("Iscatterv", "Ialltoall", "Ialltoallv", "Ibcast"),
)
_BARRIERS = ("Barrier", "Ibarrier")
_LEAST = {"Allreduce": ALLREDUCE, "Alltoall": ALLTOALL, "Alltoallv": ALLTOALL, "Allgather": ALLGATHER}
ENTRIES = (
    *_PAIRS,
    *(collective(f"imb/{name}", "time_avg", "time_ovrl", least=_LEAST.get(name)) for name in _COLLECTIVES),
    *(barrier(f"imb/{name}", "time_avg", "time_ovrl") for name in _BARRIERS),
)
