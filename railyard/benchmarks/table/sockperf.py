"""sockperf: sockets, over TCP or UDP."""

from railyard.benchmarks.model import Benchmark, Tool, Traffic, bandwidth, latency, message_rate

TOOL = Tool("sockperf", client=r"sockperf")
# A ping-pong's latency is half of the mean round trip (avgLatency in client_statistics of sockperf's client.cpp). Under
# load, messages wait in queues: the rate that the user set decides it. A throughput counts what the sender's socket
# took; over UDP nobody counts what arrived.
_TIME = latency("latency", "latency")
ENTRIES = (
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
