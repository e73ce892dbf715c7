"""NetPIPE."""

from railyard.benchmarks.model import Benchmark, Package, Tool, Traffic, bandwidth, latency, printed_repetitions
from railyard.hardware.day_one import EXCHANGE_OF_2
from railyard.parsers.output import Table

_TRIALS = 3  # TRIALS of 3.7.2; each of a row's trials makes the printed number of repeats
#: Before its main loop it makes 100 ping-pongs of the smallest size, also with -s and -2.
WARM_UP_EXCHANGES = 100


def _mode(table: Table) -> str | None:
    """Return the mode of a run. Its rows are printed on stderr, the sentence that names the mode on stdout."""
    mode = table.context.get("mode")
    return None if mode is None else str(mode)


TOOL = Tool(
    "netpipe",
    Package("netpipe", "bin/NPmpi"),
    of_mpi=True,
    client=r"NP(?:tcp6?|ibv|ib|sctp)",
    said=_mode,
    unsaid="pingpong",
    at_most=printed_repetitions,
    first_exchanges=WARM_UP_EXCHANGES,
    sizes_a_doubling=2,  # 1, 2, 3, 4, 6, 8, 12 …
    has_no_end=True,
)
# netpipe.c: bits = bytes * 8 * (1 + bidir). A ping-pong prints size / (round trip / 2), so bytes one way; -s prints the
# receiver's rate; -2 prints the sum of both ways.
ENTRIES = (
    Benchmark(
        *("netpipe/pingpong", (bandwidth("pingpong"), latency("latency", "time"))),
        *(Traffic(1, 1, trials=_TRIALS),),
        pingpong=True,
        signature=True,
    ),
    Benchmark("netpipe/stream", (bandwidth("stream"),), Traffic(1, 0, trials=_TRIALS)),
    # one message each way at a time: like a ping-pong, it does not fill the link as a window does
    Benchmark(
        *("netpipe/bidirectional", (bandwidth("pingpong", 2),), Traffic(1, 1, trials=_TRIALS)),
        doubled_in="np.out",
        turn=EXCHANGE_OF_2,
    ),
)
