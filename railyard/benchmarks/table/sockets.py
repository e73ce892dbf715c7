"""Programs that measure sockets between two hosts: iperf 2, iperf3, netperf, qperf (RDMA too) and sockperf."""

from collections.abc import Iterable

from railyard.benchmarks.model import (
    BANDWIDTH,
    LATENCY,
    Benchmark,
    Better,
    Metric,
    Tool,
    Traffic,
    bandwidth,
    latency,
    message_rate,
    printed_benchmark,
)
from railyard.parsers.output import Table

IPERF3_STREAMS = (2, 4, 8, 16)  # beside one
BOTH_WAYS = "both-ways"


def _iperf3_name(table: Table) -> str | None:
    named, streams = printed_benchmark(table), table.context.get("streams")
    if named and table.context.get("bidirectional"):
        return f"{named}/{BOTH_WAYS}"
    return f"{named}/{streams}-streams" if named and streams in IPERF3_STREAMS else named


def both_ways(key: str) -> Benchmark:
    """Return the benchmark of a run that loads both directions at once: the slower one counts, not their sum.

    Their number of streams decides nothing: iperf3 before 3.16 moves all of them in one thread.
    """
    return Benchmark(f"{key}/{BOTH_WAYS}", (bandwidth("figure"),), Traffic(1, 1), rows="worst", over_tcp=True)


def by_streams(key: str, streams: Iterable[tuple[object, int]]) -> tuple[Benchmark, ...]:
    """Return the benchmark of one stream and those of several; ``streams``: the word in each name, how many at least.

    Each number of streams is another benchmark: a core and a window limit one stream, but seldom four.
    """
    return tuple(
        Benchmark(*(name, (bandwidth("figure"),), Traffic(1, 0)), rows="last", over_tcp=True, flows=flows)
        for name, flows in ((key, 1), *((f"{key}/{word}-streams", least) for word, least in streams))
    )


IPERF3 = Tool("iperf3", client=r"iperf3", said=_iperf3_name)
# iperf3's sender counts what its socket took; its receiver, in the last row, counts what came over the network. Streams
# share a rail.
IPERF3_ENTRIES = (
    *by_streams("iperf3/iperf3", zip(IPERF3_STREAMS, IPERF3_STREAMS, strict=True)),
    both_ways("iperf3/iperf3"),
)


IPERF2_STREAMS = {2: 2, 4: 4, 8: 8, 16: 16, "several": 2}  # beside one, with the least number of streams


def _iperf2_name(table: Table) -> str | None:
    named, streams = printed_benchmark(table), table.context.get("streams")
    if named is not None and table.context.get("bidirectional"):
        return f"{named}/{BOTH_WAYS}"
    if named is None or streams == 1:
        return named
    return f"{named}/{streams if streams in IPERF2_STREAMS else 'several'}-streams"


IPERF2 = Tool("iperf2", client=r"iperf2?", said=_iperf2_name)
# A client counts what its socket took. For UDP the server's report, in the last row, counts what came over the network.
IPERF2_ENTRIES = (*by_streams("iperf2/iperf2", IPERF2_STREAMS.items()), both_ways("iperf2/iperf2"))


def _netperf_name(table: Table) -> str | None:
    """Return the test; None if its table lacks the figure that is judged: requests in flight, datagrams sent."""
    named = printed_benchmark(table)
    figure = "latency" if named and named.endswith("_rr") else "bandwidth"
    return named if figure in table.columns else None


NETPERF = Tool("netperf", said=_netperf_name)
# MAERTS is a stream in the other direction. A transaction is a request and its response, so a round trip.
NETPERF_ENTRIES = (
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


QPERF = Tool("qperf", client=r"qperf")
#: Tests of the kernel's own protocols, which no card does.
_OF_KERNEL = ("rds", "sctp", "tcp", "udp")


def _figure(key: str, name: str, columns: tuple[str, ...], unit: str, directions: int = 1) -> Benchmark:
    better: Better = "lower" if unit in ("us", "s") else "higher"
    of_kernel = key.removeprefix("qperf/").startswith(_OF_KERNEL)
    return Benchmark(key, (Metric(name, columns, unit, "figure", better, directions),), rows="best", over_tcp=of_kernel)


# qperf's own list of tests (qperf --help tests). If both ends are printed, the network carried what was received.
# rc_bi_bw sums both directions.
QPERF_ENTRIES = (
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


SOCKPERF = Tool("sockperf", client=r"sockperf")
# A ping-pong's latency is half of the mean round trip (avgLatency in client_statistics of sockperf's client.cpp). Under
# load, messages wait in queues: the rate that the user set decides it. A throughput counts what the sender's socket
# took; over UDP nobody counts what arrived.
_TIME = latency("latency", "latency")
SOCKPERF_ENTRIES = (
    Benchmark("sockperf/ping-pong", (_TIME,), Traffic(1, 1), pingpong=True, over_tcp=True),
    Benchmark(
        *("sockperf/under-load", (_TIME,)),
        reported="the rate that it was set to decides how long messages wait, and no reference names it",
        over_tcp=True,
    ),
    Benchmark(
        *("sockperf/throughput", (bandwidth("stream"), message_rate(optional=True)), Traffic(1, 0)),
        over_tcp=True,
    ),
)


TOOLS = (IPERF2, IPERF3, NETPERF, QPERF, SOCKPERF)
ENTRIES = (*IPERF2_ENTRIES, *IPERF3_ENTRIES, *NETPERF_ENTRIES, *QPERF_ENTRIES, *SOCKPERF_ENTRIES)
