"""libfabric's fabtests, and the tests of Slingshot's libcxi, which measure the cards directly, without libfabric."""

from railyard.benchmarks.model import Benchmark, Tool, Traffic, bandwidth, latency, message_rate, printed_benchmark
from railyard.parsers.output import Table

FABTESTS = Tool("fabtests", client=r"fi_\w+", shared=r"-p ?shm(?![\w;])", has_no_end=True)
#: fabtests/benchmarks: their pingpong functions are all those of benchmark_shared.c.
_PINGPONGS = (
    "fi_rdm_pingpong",
    "fi_rdm_tagged_pingpong",
    "fi_rdm_cntr_pingpong",
    "fi_msg_pingpong",
    "fi_dgram_pingpong",
)
# fabtests: an iteration of a ping-pong is one message each way, and the printed value is for one of them
# (xfers_per_iter 2 of shared.c). An iteration of a stream is one message. Warm-ups are not printed. fi_rma_bw: both
# ends write at once, and each prints only what it wrote itself ("read/write bw tests are bidirectional", rma_bw.c;
# bandwidth_rma of benchmark_shared.c).
FABTESTS_ENTRIES = (
    Benchmark(
        *("fabtests/fi_pingpong", (bandwidth("pingpong"), latency("latency", "time")), Traffic(1, 1)),
        pingpong=True,
        warms_up=False,
    ),
    *(
        Benchmark(f"fabtests/{name}", (bandwidth("pingpong"), latency("latency", "time")), Traffic(1, 1), pingpong=True)
        for name in _PINGPONGS
    ),
    *(
        Benchmark(f"fabtests/{name}", (bandwidth("stream"), message_rate(optional=True)), Traffic(1, 0))
        for name in ("fi_rdm_tagged_bw", "fi_msg_bw", "fi_rdm_bw")
    ),
    Benchmark("fabtests/fi_rma_bw", (bandwidth("one-of-two"), message_rate(optional=True)), Traffic(1, 1)),
)


BIDIRECTIONAL = "bidirectional"


def _cxi_name(table: Table) -> str | None:
    named = printed_benchmark(table)
    return f"{named}/{BIDIRECTIONAL}" if named and table.context.get("bidirectional") is True else named


CXI = Tool("cxi", client=r"cxi_\w+", said=_cxi_name)
# Writes are all messages of the client. With both directions, only the bandwidths are summed (print_bw_results of
# libcxi's utils/utils_common.c). There are no warm-ups.
CXI_ENTRIES = (
    Benchmark("cxi/cxi_write_bw", (bandwidth("stream"),), Traffic(1, 0)),
    Benchmark(f"cxi/cxi_write_bw/{BIDIRECTIONAL}", (bandwidth("stream", 2),), Traffic(1, 1)),
)


TOOLS = (FABTESTS, CXI)
ENTRIES = (*FABTESTS_ENTRIES, *CXI_ENTRIES)
