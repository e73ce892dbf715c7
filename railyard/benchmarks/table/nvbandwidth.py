"""nvbandwidth: what the GPUs, CPUs and links of one node move."""

from railyard.benchmarks.model import BANDWIDTH, LATENCY, Benchmark, Metric, Package, Tool, Within
from railyard.parsers.output import Table

_WITHIN = (
    "no network carries it: it is between the GPUs and CPUs of one node. Of one way by the copy engines (ce), --link "
    "pcie5-x16 judges host_to_device and device_to_host, and --link nvlink-4 device_to_device; else only a reference"
)


def _from_device(table: Table) -> bool:
    return True


def _is_part(table: Table) -> bool:
    """Return whether a matrix is one direction of a test of two directions, which also prints the sum of both."""
    return any(word in str(table.context.get("description")) for word in ("Read1", "Read2", "Write1", "Write2"))


TOOL = Tool(
    "nvbandwidth",
    Package("nvbandwidth", "bin/nvbandwidth", uses_mpi=False),
    is_part=_is_part,
    from_device=_from_device,
    repetitions="nowhere",
)
_WAYS = ("host_to_device", "device_to_host", "host_to_device_bidirectional", "device_to_host_bidirectional")
_PAIRS = tuple(f"device_to_device{both}_memcpy_{way}" for both in ("", "_bidirectional") for way in ("read", "write"))
_ALL = ("all_to_host", "all_to_host_bidirectional", "host_to_all", "host_to_all_bidirectional")
_OF_ALL = ("all_to_one_write", "all_to_one_read", "one_to_all_write", "one_to_all_read")
_TESTS = (
    *(f"{way}_memcpy_{engine}" for way in (*_WAYS, *_ALL) for engine in ("ce", "sm")),
    *(f"{pair}_{engine}" for pair in _PAIRS for engine in ("ce", "sm")),
    *(f"{way}_{engine}" for way in _OF_ALL for engine in ("ce", "sm")),
    "device_local_copy",
)
_LATENCIES = ("host_device_latency_sm", "device_to_device_latency_sm")
#: What each node measures by itself, and what carries it, also in an output of one node: one way at a time, between a
#: GPU and another GPU or the processors. The copy engines copy, since kernels use processors that a job's own kernels
#: would have.
EVERY_NODE: dict[str, Within] = {
    "host_to_device_memcpy_ce": "slot",
    "device_to_host_memcpy_ce": "slot",
    "device_to_device_memcpy_read_ce": "gpu-link",
    "device_to_device_memcpy_write_ce": "gpu-link",
}
_BANDWIDTH = Metric(BANDWIDTH, ("bandwidth",), "MB/s", "figure", "higher", bounded="never")
# The worst cell of a matrix stands for it, since a slow link is one of many.
ENTRIES = (
    *(
        Benchmark(
            f"nvbandwidth/{test}",
            (_BANDWIDTH,),
            rows="worst",
            of_link=False,
            payload=False,
            within_node=True,
            reported=_WITHIN,
            within=EVERY_NODE.get(test, ""),
        )
        for test in _TESTS
    ),
    *(
        Benchmark(
            f"nvbandwidth/{test}",
            (Metric(LATENCY, ("latency",), "us", "figure", "lower", bounded="never"),),
            rows="worst",
            of_link=False,
            payload=False,
            within_node=True,
            reported=_WITHIN,
        )
        for test in _LATENCIES
    ),
    *(
        Benchmark(
            f"nvbandwidth/{test}/every-node",
            (_BANDWIDTH,),
            rows="worst",
            of_link=False,
            payload=False,
            within_node=True,
            assessed="application",
            every_node=True,
            printed=test,
            reported=_WITHIN,
            within=carries,
        )
        for test, carries in EVERY_NODE.items()
    ),
)
