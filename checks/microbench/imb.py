"""Intel MPI Benchmarks between nodes: ping-pong, windowed bandwidth one way and both ways, exchanges and collectives.

A low PingPong with a good Uniband is latency (placement, power states); both low at large messages is the rail (link
width, slot, a slow cable); a good Uniband with a low Biband is the card or the slot, which carry both directions.
"""

from dataclasses import replace

import reframe as rfm
from reframe.core.builtins import variable

from railyard.benchmarks.repetitions import Amounts, Pace, Work
from railyard.parsers import imb
from railyard.rfm.checks.repeated import RepeatedCheck
from railyard.rfm.checks.sizes import PROBE_SIZE_BYTES
from railyard.rfm.checks.variants import many_pairs
from railyard.site.systems.measure import StatedAmounts

#: Of a size: IMB's own 40 MB (its "-iter" is 1000,40 by itself), and less over a slow link.
VOLUME_MB, SLOW_VOLUME_MB = 40, 24
#: IMB has had other windows as its own, 256 in 2019 to 2021: OSU's, so that the two can be compared.
WINDOWS = Amounts(1000, window=64)
SIZES_FILE = "sizes.txt"
PROBE_SIZE_FILE = "probe-size.txt"


class ImbCheck(RepeatedCheck):
    """IMB-MPI1 with told repetitions, so that the bytes a run must move are known."""

    tool = "imb"
    parse = staticmethod(imb.parse)
    probe_key = "imb/PingPong"
    fewest = Amounts(3)
    #: The most that one size may move, in MB: fewer repetitions for large messages. 0: as the repetitions.
    volume = variable(int, value=0)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return self._words([self.benchmark] * self.passes, SIZES_FILE, self.repetitions)

    def work(self) -> Work:
        return replace(super().work(), volume_bytes=(self.volume or VOLUME_MB) << 20)

    def choose_amounts(self, pace: Pace | None, stated: StatedAmounts | None) -> None:
        super().choose_amounts(pace, stated)
        if not self.volume:
            self.volume = VOLUME_MB if self.repetitions > self.fewest.repetitions else SLOW_VOLUME_MB

    def probe_arguments(self, size: int) -> list[str]:
        return self._words(["PingPong"], PROBE_SIZE_FILE, 5)

    def _words(self, benchmarks: list[str], sizes_file: str, repetitions: int) -> list[str]:
        return [*benchmarks, "-npmin", str(self.num_tasks), "-msglen", sizes_file, "-time", "20",
                "-iter", f"{repetitions},{self.volume}", "-iter_policy", "off",
                "-window_size", str(self.window)]  # fmt: skip

    def input_files(self) -> dict[str, str]:
        # From a file every IMB takes its sizes; 2021.7 knows no word for them.
        sizes = {SIZES_FILE: self.message_sizes, PROBE_SIZE_FILE: (PROBE_SIZE_BYTES,)}
        return {name: "".join(f"{size}\n" for size in each) for name, each in sizes.items()}


@rfm.simple_test
class ImbPingPong(ImbCheck):
    """One message there and back: bandwidth is size over half the round trip, in one direction."""

    benchmark = "PingPong"
    #: Ranks that poll on few cores stall now and then; the median of three passes leaves one stall out.
    passes = 3


@many_pairs
class ImbWindows(ImbCheck):
    """Windows of messages from the first half of the ranks to the second: a pair of nodes, as many pairs of ranks."""

    own = WINDOWS
    takes_ranks = True


@rfm.simple_test
class ImbUniband(ImbWindows):
    """A window of messages one way: what a rail, or several, can stream."""

    benchmark = "Uniband"
    #: One window of 16: with fewer in flight, the rails of a pair end unevenly and the tail counts. A stall of 24 ms
    #: within the 1.4 s of the largest one missed a bound by itself, as seen: here too the median of three passes.
    passes = 3
    fewest = Amounts(1, window=16)


@rfm.simple_test
class ImbBiband(ImbWindows):
    """A window of messages both ways at once: the sum of both directions."""

    benchmark = "Biband"
    passes = 3
    fewest = Amounts(1, window=8)


@rfm.simple_test
class ImbAllreduce(ImbCheck):
    """A reduction over four nodes: every node's rails at once."""

    benchmark = "Allreduce"
    num_nodes = 4
    fewest_nodes = 2
    takes_ranks = True
    fewest = Amounts(3)
    #: IMB reduces floats of 4 bytes, and rounds other sizes up.
    smallest = 4


class ImbExtended(ImbCheck):
    """What every day's checks answer less closely: more partners at once, and messages both ways one at a time."""

    extended = True
    #: A stall of a rank that polls on few cores is left out by the median of three passes.
    passes = 3
    fewest = Amounts(1)


@rfm.simple_test
class ImbSendrecv(ImbExtended):
    """One message each way at the same time: the sum of both directions."""

    benchmark = "Sendrecv"


@rfm.simple_test
class ImbExchange(ImbExtended):
    """Two messages each way at the same time, as with a left and a right neighbour: the sum of all four."""

    benchmark = "Exchange"


@rfm.simple_test
class ImbAlltoall(ImbExtended):
    """Every node sends a message of its own to each of the others: all pairs of nodes at once."""

    benchmark = "Alltoall"
    num_nodes = 4
    fewest_nodes = 2
    takes_ranks = True
    passes = 1


@rfm.simple_test
class ImbAlltoallv(ImbAlltoall):
    """The same with sizes by partner, for which stacks have other algorithms."""

    benchmark = "Alltoallv"
