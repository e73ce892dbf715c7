"""libfabric's fabtests."""

from railyard.benchmarks.model import Benchmark, Tool, Traffic, bandwidth, latency, message_rate

TOOL = Tool("fabtests", client=r"fi_\w+", shared=r"-p ?shm(?![\w;])", has_no_end=True)
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
ENTRIES = (
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
