"""The tests of Slingshot's libcxi: they measure the cards directly, without libfabric and without MPI."""

from railyard.benchmarks.model import Benchmark, Tool, Traffic, bandwidth, printed_benchmark
from railyard.parsers.output import Table

BIDIRECTIONAL = "bidirectional"


def _printed_name(table: Table) -> str | None:
    named = printed_benchmark(table)
    return f"{named}/{BIDIRECTIONAL}" if named and table.context.get("bidirectional") is True else named


TOOL = Tool("cxi", client=r"cxi_\w+", said=_printed_name)
# Writes are all messages of the client. With both directions, only the bandwidths are summed (print_bw_results of
# libcxi's utils/utils_common.c). There are no warm-ups.
ENTRIES = (
    Benchmark("cxi/cxi_write_bw", (bandwidth("stream"),), Traffic(1, 0)),
    Benchmark(f"cxi/cxi_write_bw/{BIDIRECTIONAL}", (bandwidth("stream", 2),), Traffic(1, 1)),
)
