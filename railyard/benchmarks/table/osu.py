"""OSU Micro-Benchmarks."""

import re
from dataclasses import replace

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
from railyard.hardware.day_one import HALF_ROUND_TRIP, ONE_SIDED, ONE_SIDED_SUM
from railyard.parsers.osu_headings import COLLECTIVES
from railyard.parsers.output import Table

#: Where the buffers of the two ranks are, as a heading says -> the part of a key that says so.
BUFFERS = {
    ("DEVICE", "DEVICE"): "device",
    ("HOST", "DEVICE"): "host-device",
    ("DEVICE", "HOST"): "device-host",
}
_OF_BUFFERS = ("osu_latency", "osu_bw", "osu_bibw")
#: Benchmarks with one rank per GPU, whose buffers are all in GPUs. The title and lines of osu_mbw_mr up to 5.9 do not
#: say so (osu_mbw_mr.c), but 7.5's title does. A collective has no other buffers if its title is MPI-CUDA.
_OF_ALL_GPUS = ("osu_mbw_mr", "osu_allreduce")
# "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)" is in the headings of 5.3 to 7.4 (print_header of
# osu_util.c). 7.5 prints no such line: its title has MPI-CUDA if it was given D D, and MPI if it was given H H
# (recorded with both, on Slingshot with MPICH and Open MPI).
_TITLE_ALONE = (7, 5)
_RELEASE = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")


def _printed_name(table: Table) -> str | None:
    """Return the benchmark that a table names, and where its buffers were, if that is not the host's memory."""
    named, context = printed_benchmark(table), table.context
    found = BUFFERS.get((str(context.get("send_buffer")), str(context.get("receive_buffer"))))
    if "send_buffer" not in context and "device" in context:
        found = "device" if named == "osu_allreduce" or _has_title_alone(table.version) else found
    if named in _OF_ALL_GPUS and found != "device":
        found = None
    return f"{named}/{found}" if found is not None and named in (*_OF_BUFFERS, *_OF_ALL_GPUS) else named


def _has_title_alone(version: str | None) -> bool:
    release = _RELEASE.match(version or "")
    return release is not None and (int(release[1]), int(release[2])) >= _TITLE_ALONE


def _from_device(table: Table) -> bool:
    buffers = [str(table.context.get(name)) for name in ("send_buffer", "receive_buffer") if name in table.context]
    return "DEVICE" in buffers if buffers else "device" in table.context


def _most_repetitions(repetitions: int, warm_up: int | None, version: str | None) -> int | None:
    """Return the measured repetitions and those before them (``-x``)."""
    return None if warm_up is None else repetitions + warm_up


def _least_repetitions(repetitions: int, warm_up: int | None, version: str | None) -> int:
    return repetitions + (warm_up or 0)


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
    of_mpi=True,
    said=_printed_name,
    from_device=_from_device,
    repetitions="told",
    at_most=_most_repetitions,
    at_least=_least_repetitions,
    doubles=True,
    has_no_end=True,
)
_WINDOW = 64  # -W
ALL_CORES = "osu/osu_mbw_mr/all-cores"
_LATENCY = latency("latency", "latency")
_PAIRS = (
    Benchmark("osu/osu_latency", (_LATENCY,), Traffic(1, 1), pingpong=True),
    Benchmark("osu/osu_latency_mt", (_LATENCY,), turn=HALF_ROUND_TRIP),
    Benchmark("osu/osu_latency_mp", (_LATENCY,), turn=HALF_ROUND_TRIP),
    Benchmark("osu/osu_latency_persistent", (_LATENCY,), Traffic(1, 1), pingpong=True),
    Benchmark("osu/osu_multi_lat", (_LATENCY,), Traffic(1, 1), turn=HALF_ROUND_TRIP, hides_pairs=True),
    Benchmark("osu/osu_bw", (bandwidth("stream"),), Traffic(1, 0, _WINDOW)),
    Benchmark("osu/osu_bw_persistent", (bandwidth("stream"),), Traffic(1, 0, _WINDOW)),
    Benchmark("osu/osu_bibw", (bandwidth("stream", 2),), Traffic(1, 1, _WINDOW)),
    Benchmark("osu/osu_bibw_persistent", (bandwidth("stream", 2),), Traffic(1, 1, _WINDOW)),
    Benchmark(
        "osu/osu_mbw_mr", (bandwidth("stream"), message_rate(optional=True)), Traffic(1, 0, _WINDOW), sums_pairs=True
    ),
    # The same program with a rank on every core. One pair of ranks per node says nothing about this.
    Benchmark(
        *(ALL_CORES, (bandwidth("stream"), message_rate())),
        Traffic(1, 0, _WINDOW),
        sums_pairs=True,
        printed="osu_mbw_mr",
    ),
    # One-sided: the first rank puts into the second's memory, or gets from it; the second only makes progress.
    Benchmark("osu/osu_put_bw", (bandwidth("stream"),), Traffic(1, 0, _WINDOW)),
    Benchmark("osu/osu_get_bw", (bandwidth("stream"),), Traffic(0, 1, _WINDOW)),
    Benchmark("osu/osu_put_bibw", (bandwidth("stream", 2),)),
    Benchmark("osu/osu_put_latency", (_LATENCY,), Traffic(1, 0), turn=ONE_SIDED),
    Benchmark("osu/osu_get_latency", (_LATENCY,), Traffic(0, 1), turn=ONE_SIDED),
    *(
        Benchmark(f"osu/osu_{name}_latency", (_LATENCY,), turn=ONE_SIDED_SUM)
        for name in ("acc", "get_acc", "cas", "fop")
    ),
    # Whole milliseconds of MPI_Init, as the mean over all ranks; one figure, without message sizes.
    Benchmark(
        *("osu/osu_init", (latency("figure", "avg"),)),
        rows="mean",
        payload=False,
        reported="the time to start depends more on launcher, file system and number of ranks than on the fabric",
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
        replace(entry, key=f"{entry.key}/{where}", in_gpu=True)
        for entry in _PAIRS
        if entry.key.removeprefix("osu/") in _OF_BUFFERS
        for where in BUFFERS.values()
    ),
    *(
        replace(entry, key=f"{entry.key}/device", in_gpu=True, every_gpu=True)
        for entry in (*_PAIRS, collective("osu/osu_allreduce", "avg", "overall", least=ALLREDUCE))
        if entry.key.removeprefix("osu/") in _OF_ALL_GPUS
    ),
    *(
        barrier(f"osu/{name}", "avg", "overall")
        if "barrier" in name
        else collective(f"osu/{name}", "avg", "overall", least=_LEAST.get(name))
        for name in sorted(COLLECTIVES)
    ),
)
