"""iperf3: TCP, one stream or several."""

from railyard.benchmarks.model import Benchmark, Tool, Traffic, bandwidth, printed_benchmark
from railyard.parsers.output import Table

STREAMS = (2, 4, 8, 16)  # beside one
BOTH_WAYS = "both-ways"


def _printed_name(table: Table) -> str | None:
    named, streams = printed_benchmark(table), table.context.get("streams")
    if named and table.context.get("bidirectional"):
        return f"{named}/{BOTH_WAYS}"
    return f"{named}/{streams}-streams" if named and streams in STREAMS else named


def both_ways(key: str) -> Benchmark:
    """Return the benchmark of a run that loads both directions at once: the slower one counts, not their sum.

    Their number of streams decides nothing: iperf3 before 3.16 moves all of them in one thread.
    """
    return Benchmark(f"{key}/{BOTH_WAYS}", (bandwidth("figure"),), Traffic(1, 1), rows="worst", over_tcp=True)


TOOL = Tool("iperf3", client=r"iperf3", said=_printed_name)
# iperf3's sender counts what its socket took; its receiver, in the last row, counts what came over the network. Streams
# share a rail. Each number of streams is another benchmark: a core and a window limit one stream, but seldom four.
ENTRIES = (
    *(
        Benchmark(
            *(key, (bandwidth("figure"),), Traffic(1, 0)),
            rows="last",
            over_tcp=True,
            flows=flows,
        )
        for key, flows in (("iperf3/iperf3", 1), *((f"iperf3/iperf3/{count}-streams", count) for count in STREAMS))
    ),
    both_ways("iperf3/iperf3"),
)
