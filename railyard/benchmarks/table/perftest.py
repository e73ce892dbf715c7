"""perftest: the verbs themselves."""

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
from railyard.hardware.day_one import ROUND_TRIP
from railyard.parsers.output import Table

BIDIRECTIONAL = "bidirectional"
ONE_OF_TWO = "one-of-two"  # --report-both: what one side sent, while both did
LOOPBACK = "loopback"  # an output does not show that it is one
DEVICE = "device"


def _printed_name(table: Table) -> str | None:
    named = printed_benchmark(table)
    if named and table.context.get("results") in ("local", "remote"):
        return f"{named}/{ONE_OF_TWO}"
    if named and table.context.get("bidirectional") is True:
        named = f"{named}/{BIDIRECTIONAL}"
    return f"{named}/{DEVICE}" if named in _OF_DEVICE and _from_device(table) else named


def _from_device(table: Table) -> bool:
    """Return whether the buffers were in a GPU's own memory, not in memory that it shares with the processor."""
    return table.context.get("memory") in ("cuda", "rocm") and table.context.get("memory_kind", "device") == "device"


TOOL = Tool(
    "perftest",
    Package(
        "perftest",
        "bin",
        tuple(f"ib_{verb}_{what}" for verb in ("send", "write", "read") for what in ("bw", "lat")),
        uses_mpi=False,
    ),
    client=r"(?:ib|raw_ethernet)_\w+",
    said=_printed_name,
    from_device=_from_device,
    doubles=True,
    between_nics=True,
)
# perftest: with -b the average column counts both directions (perftest_resources.c: report with duplex adds the
# remote side's). time_typical is the median of half a round trip; for a read or an atomic it is the whole round trip
# (perftest's README). The bytes are those of the printed iterations, a lower bound: warm-up and post lists are not
# printed. A loop does not leave the node through a port: the link does not bound it, and a port's counters may miss it.
_TIME = latency("latency", "time_typical", "time_avg")
_SENT = ("ib_write", "ib_send", "raw_ethernet")
_MOVES = {"ib_read": Traffic(0, 1), **dict.fromkeys(_SENT, Traffic(1, 0))}
_BANDWIDTHS = (*_SENT, "ib_read", "ib_atomic")
_TESTS = (
    *(
        Benchmark(f"perftest/{verb}_bw", (bandwidth("stream"), message_rate(optional=True)), _MOVES.get(verb))
        for verb in _BANDWIDTHS
    ),
    *(
        Benchmark(
            *(f"perftest/{verb}_bw/{BIDIRECTIONAL}", (bandwidth("stream", 2), message_rate(optional=True))),
            Traffic(1, 1) if verb in _MOVES else None,
        )
        for verb in _BANDWIDTHS
    ),
    *(
        Benchmark(f"perftest/{verb}_bw/{ONE_OF_TWO}", (bandwidth("one-of-two"), message_rate(optional=True)))
        for verb in _BANDWIDTHS
    ),
    *(Benchmark(f"perftest/{verb}_lat", (_TIME,), Traffic(1, 1), pingpong=True) for verb in _SENT),
    Benchmark("perftest/ib_read_lat", (_TIME,), Traffic(0, 1), turn=ROUND_TRIP),
    Benchmark("perftest/ib_atomic_lat", (_TIME,), turn=ROUND_TRIP),
    Benchmark(
        *(f"perftest/ib_write_bw/{LOOPBACK}", (bandwidth("stream"), message_rate(optional=True))),
        payload=False,
        within_node=True,
        printed="ib_write_bw",
        reported="no published figure says what a card's loop through its own slot should give",
        loops=True,
    ),
)
#: Benchmarks that are also measured from the memory of GPUs.
_OF_DEVICE = ("ib_write_bw", f"ib_write_bw/{BIDIRECTIONAL}", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_send_lat")
ENTRIES = (
    *_TESTS,
    *(
        replace(test, key=f"{test.key}/{DEVICE}", in_gpu=True)
        for test in _TESTS
        if test.key.removeprefix("perftest/") in _OF_DEVICE
    ),
)
