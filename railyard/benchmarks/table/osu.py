"""OSU Micro-Benchmarks."""

from railyard.benchmarks.model import Benchmark, Package, Tool, Traffic, bandwidth, latency, message_rate
from railyard.benchmarks.table.collective import (
    ALLGATHER,
    ALLREDUCE,
    ALLTOALL,
    BCAST,
    REDUCE,
    REDUCE_SCATTER,
    barrier,
    collective,
)
from railyard.parsers.osu_titles import COLLECTIVES
from railyard.parsers.parsed import Table


def _from_device(table: Table) -> bool:
    buffers = [str(table.context.get(name)) for name in ("send_buffer", "receive_buffer") if name in table.context]
    return "DEVICE" in buffers if buffers else "device" in table.context


def _at_most(repetitions: int, warm_up: int | None, version: str | None) -> int | None:
    """Return the measured repetitions and those before them (``-x``)."""
    return None if warm_up is None else repetitions + warm_up


TOOL = Tool(
    "osu",
    Package(
        "osu-micro-benchmarks",
        "libexec/osu-micro-benchmarks/mpi",
        (
            *(f"**/osu_{name}" for name in ("latency", "bw", "bibw", "mbw_mr", "multi_lat")),
            *(f"**/osu_{name}" for name in ("allreduce", "alltoall", "bcast", "barrier")),
            *(f"**/osu_{name}" for name in ("put_bw", "get_bw", "put_latency", "get_latency")),
        ),
    ),
    from_device=_from_device,
    repetitions="told",
    at_most=_at_most,
    doubles=True,
    has_no_end=True,
)
_WINDOW = 64  # -W
ALL_CORES = "osu/osu_mbw_mr/all-cores"
_LATENCY = latency("latency", "latency")
_PAIRS = (
    Benchmark("osu/osu_latency", (_LATENCY,), Traffic(1, 1), pingpong=True),
    Benchmark("osu/osu_latency_mt", (_LATENCY,)),
    Benchmark("osu/osu_latency_mp", (_LATENCY,)),
    Benchmark("osu/osu_latency_persistent", (_LATENCY,), Traffic(1, 1), pingpong=True),
    Benchmark("osu/osu_multi_lat", (_LATENCY,), Traffic(1, 1)),
    Benchmark("osu/osu_bw", (bandwidth("stream"),), Traffic(1, 0, _WINDOW)),
    Benchmark("osu/osu_bw_persistent", (bandwidth("stream"),), Traffic(1, 0, _WINDOW)),
    Benchmark("osu/osu_bibw", (bandwidth("stream", 2),), Traffic(1, 1, _WINDOW)),
    Benchmark("osu/osu_bibw_persistent", (bandwidth("stream", 2),), Traffic(1, 1, _WINDOW)),
    Benchmark(
        "osu/osu_mbw_mr", (bandwidth("stream"), message_rate(optional=True)), Traffic(1, 0, _WINDOW), sums_pairs=True
    ),
    # The same program with a rank on every core, which one pair of ranks a node says nothing of.
    Benchmark(
        *(ALL_CORES, (bandwidth("stream"), message_rate())),
        Traffic(1, 0, _WINDOW),
        sums_pairs=True,
        printed="osu_mbw_mr",
    ),
    # One sided: the first rank puts into the second's memory, or gets from it; the second does nothing but progress.
    Benchmark("osu/osu_put_bw", (bandwidth("stream"),), Traffic(1, 0, _WINDOW)),
    Benchmark("osu/osu_get_bw", (bandwidth("stream"),), Traffic(0, 1, _WINDOW)),
    Benchmark("osu/osu_put_bibw", (bandwidth("stream", 2),)),
    Benchmark("osu/osu_put_latency", (_LATENCY,), Traffic(1, 0)),
    Benchmark("osu/osu_get_latency", (_LATENCY,), Traffic(0, 1)),
    *(Benchmark(f"osu/osu_{name}_latency", (_LATENCY,)) for name in ("acc", "get_acc", "cas", "fop")),
    # Whole milliseconds of MPI_Init, the mean over all ranks; one figure, without message sizes.
    Benchmark(
        *("osu/osu_init", (latency("figure", "avg"),)),
        rows="mean",
        payload=False,
        reported="the time to start hangs on launcher, file system and number of ranks more than on the fabric",
    ),
)
_LEAST = {
    "osu_allreduce": ALLREDUCE,
    "osu_alltoall": ALLTOALL,
    "osu_alltoallv": ALLTOALL,
    "osu_allgather": ALLGATHER,
    "osu_bcast": BCAST,
    "osu_reduce": REDUCE,
    "osu_reduce_scatter": REDUCE_SCATTER,
}
ENTRIES = (
    *_PAIRS,
    *(
        barrier(f"osu/{name}", "avg", "overall")
        if "barrier" in name
        else collective(f"osu/{name}", "avg", "overall", least=_LEAST.get(name))
        for name in sorted(COLLECTIVES)
    ),
)
