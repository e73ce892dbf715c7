"""ucx_perftest: UCX itself, without MPI."""

from dataclasses import replace

from railyard.benchmarks.model import (
    Benchmark,
    Tool,
    Traffic,
    bandwidth,
    latency,
    message_rate,
    printed_benchmark,
)
from railyard.hardware.day_one import ONE_SIDED
from railyard.parsers.output import ContextValue, Table

LOOPBACK, DEVICE, ALONE = "loopback", "device", "one-at-a-time"
#: The last figure of a test's entry in the table ``tests`` of perftest.c; -O sets another. Up to 1.8 it was 1 for all
#: tests (init_test_params of v1.8.0), and their heading says "latency". Of put_bw it was 1 up to 1.17.
_WINDOW = 32
_HOST = ("host", "None")


def _printed_name(table: Table) -> str | None:
    """Return the test, and what makes it another one: a loop, buffers of a GPU, or one message at a time (-O 1)."""
    named = printed_benchmark(table)
    if named is None:
        return None
    if table.context.get("loopback") is True:
        return f"{named}/{LOOPBACK}"
    if _from_device(table):
        return f"{named}/{DEVICE}"
    return f"{named}/{ALONE}" if named in _WINDOWED and _window(table, named) == 1 else named


def _window(table: Table, named: str) -> ContextValue:
    """Return how many messages of a test are under way at once; 1 if it could be one by the release's default."""
    by_default = 1 if named == "put_bw" or "latency" in table.columns else _WINDOW
    return table.context.get("window", by_default)


def _from_device(table: Table) -> bool:
    return any(str(table.context.get(name)) not in _HOST for name in ("send_memory", "receive_memory"))


TOOL = Tool(
    "ucx_perftest",
    client=r"ucx_perftest",
    # posted: 11,659 to 11,746 MB/s over EDR at 256 KiB (openucx/ucx, issue 9520), below the condition of 12,000
    fills_link=False,
    shared=r"-x (?:sm|mm|posix|sysv|cma|knem|xpmem|self)(?![\w,])",
    said=_printed_name,
    from_device=_from_device,
    has_no_end=True,
)
# A time is one message's: half a round trip of a ping-pong (factor 2 in ucx_perf_calc_result of libperf.c), the whole
# of a get or an atomic that returns a value. A batch file's heading says "overhead" for any test. Bandwidth is one way.
_TIME = latency("latency", "latency", "overhead", "thread_latency", "thread_overhead")
_RATE = message_rate(optional=True)
_PINGPONGS = ("am_lat", "put_lat", "tag_lat", "tag_sync_lat", "ucp_put_lat", "stream_lat", "ucp_am_lat")
_WINDOWED = ("tag_bw", "tag_sync_bw", "ucp_put_bw", "ucp_am_bw", "put_bw")
# One message at a time unless -O says more: that does not fill a link.
_SINGLE = ("am_bw", "stream_bw")
_GETS = ("get", "ucp_get")
_ATOMICS = ("add_lat", "fadd", "swap", "cswap", "ucp_fadd", "ucp_swap", "ucp_cswap")
_TESTS = (
    *(
        Benchmark(f"ucx_perftest/{name}", (bandwidth("pingpong"), _TIME), Traffic(1, 1), pingpong=True)
        for name in _PINGPONGS
    ),
    *(Benchmark(f"ucx_perftest/{name}", (bandwidth("stream"), _RATE), Traffic(1, 0, _WINDOW)) for name in _WINDOWED),
    Benchmark("ucx_perftest/get_bw", (bandwidth("stream"), _RATE), Traffic(0, 1, _WINDOW)),
    # a heading of a stream whose test the text does not name: it may be one that sends one message at a time
    Benchmark("ucx_perftest/bandwidth", (bandwidth("pingpong"), _RATE), turn=ONE_SIDED),
    *(
        Benchmark(f"ucx_perftest/{name}", (bandwidth("pingpong"), _RATE), Traffic(1, 0), turn=ONE_SIDED)
        for name in _SINGLE
    ),
    *(
        Benchmark(f"ucx_perftest/{name}", (bandwidth("pingpong"), _TIME), Traffic(0, 1), turn=ONE_SIDED)
        for name in _GETS
    ),
    *(Benchmark(f"ucx_perftest/{name}", (_TIME,), turn=ONE_SIDED) for name in _ATOMICS),
)
ENTRIES = (
    *_TESTS,
    *(replace(test, key=f"{test.key}/{DEVICE}", in_gpu=True) for test in _TESTS),
    *(
        replace(
            test,
            key=f"{test.key}/{LOOPBACK}",
            payload=False,
            within_node=True,
            of_link=False,
            reported="its messages stay on one node, and no published figure says what that should give",
        )
        for test in _TESTS
    ),
    *(
        Benchmark(f"{test.key}/{ALONE}", (bandwidth("pingpong"), _RATE), Traffic(1, 0), turn=ONE_SIDED)
        for test in _TESTS
        if test.key.removeprefix("ucx_perftest/") in _WINDOWED
    ),
)
