"""qperf."""

from railyard.benchmarks.model import BANDWIDTH, LATENCY, Benchmark, Better, Metric, Tool

TOOL = Tool("qperf", client=r"qperf")
#: Tests of the kernel's own protocols, which no card does.
_OF_KERNEL = ("rds", "sctp", "tcp", "udp")


def _figure(key: str, name: str, columns: tuple[str, ...], unit: str, directions: int = 1) -> Benchmark:
    better: Better = "lower" if unit in ("us", "s") else "higher"
    of_kernel = key.removeprefix("qperf/").startswith(_OF_KERNEL)
    return Benchmark(key, (Metric(name, columns, unit, "figure", better, directions),), rows="best", over_tcp=of_kernel)


# qperf's own list of tests (qperf --help tests). If both ends are printed, the network carried what was received.
# rc_bi_bw sums both directions.
ENTRIES = (
    *(
        _figure(f"qperf/{name}_bw", BANDWIDTH, ("recv_bw", "bw"), "MB/s")
        for name in (
            *("rds", "sctp", "sdp", "tcp", "udp", "rc", "uc", "ud", "xrc"),
            *("rc_rdma_read", "rc_rdma_write", "uc_rdma_write"),
        )
    ),
    *(_figure(f"qperf/{name}_bi_bw", BANDWIDTH, ("bw",), "MB/s", 2) for name in ("rc", "uc", "ud", "xrc")),
    *(
        _figure(f"qperf/{name}_lat", LATENCY, ("latency",), "us")
        for name in (
            *("rds", "sctp", "sdp", "tcp", "udp", "rc", "uc", "ud", "xrc"),
            *("rc_rdma_read", "rc_rdma_write", "rc_rdma_write_poll", "uc_rdma_write", "uc_rdma_write_poll"),
        )
    ),
)
