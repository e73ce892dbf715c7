"""iperf 2: TCP or UDP, one stream or several."""

from railyard.benchmarks.model import Benchmark, Tool, Traffic, bandwidth, printed_benchmark
from railyard.benchmarks.table.iperf3 import BOTH_WAYS, both_ways
from railyard.parsers.output import Table

STREAMS = {2: 2, 4: 4, 8: 8, 16: 16, "several": 2}  # beside one, with the least number of streams


def _printed_name(table: Table) -> str | None:
    named, streams = printed_benchmark(table), table.context.get("streams")
    if named is not None and table.context.get("bidirectional"):
        return f"{named}/{BOTH_WAYS}"
    if named is None or streams == 1:
        return named
    return f"{named}/{streams if streams in STREAMS else 'several'}-streams"


TOOL = Tool("iperf2", client=r"iperf2?", said=_printed_name)
# A client counts what its socket took. For UDP the server's report, in the last row, counts what came over the network.
# Each number of streams is another benchmark: a core and a window limit one stream, but seldom four.
ENTRIES = (
    *(
        Benchmark(
            *(key, (bandwidth("figure"),), Traffic(1, 0)),
            rows="last",
            over_tcp=True,
            flows=flows,
        )
        for key, flows in (
            ("iperf2/iperf2", 1),
            *((f"iperf2/iperf2/{count}-streams", least) for count, least in STREAMS.items()),
        )
    ),
    both_ways("iperf2/iperf2"),
)
