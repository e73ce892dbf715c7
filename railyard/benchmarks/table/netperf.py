"""netperf: TCP or UDP, one stream, or requests and responses in turn."""

from railyard.benchmarks.model import BANDWIDTH, Benchmark, Metric, Tool, Traffic, latency, printed_benchmark
from railyard.parsers.output import Table


def _printed_name(table: Table) -> str | None:
    """Return the test; None if its table lacks the figure that is judged: requests in flight, datagrams sent."""
    named = printed_benchmark(table)
    figure = "latency" if named and named.endswith("_rr") else "bandwidth"
    return named if figure in table.columns else None


TOOL = Tool("netperf", said=_printed_name)
# MAERTS is a stream in the other direction. A transaction is a request and its response, so a round trip.
ENTRIES = (
    *(
        Benchmark(
            *(f"netperf/{name}", (Metric(BANDWIDTH, ("bandwidth",), "MB/s", "figure", "higher"),), moved),
            rows="last",
            over_tcp=True,
            flows=1,
        )
        for name, moved in (
            ("tcp_stream", Traffic(1, 0)),
            ("tcp_sendfile", Traffic(1, 0)),
            ("udp_stream", Traffic(1, 0)),
            ("tcp_maerts", Traffic(0, 1)),
        )
    ),
    *(
        Benchmark(f"netperf/{name}", (latency("latency", "latency"),), Traffic(1, 1), pingpong=True, over_tcp=True)
        for name in ("tcp_rr", "udp_rr")
    ),
)
