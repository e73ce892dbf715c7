"""NetPIPE between two nodes: ping-pong, a stream one way, and both ways at once.

NetPIPE walks through its own sizes (two a doubling), so a dip between the powers of two is seen. The same reading as of
the IMB checks: a good stream with a low ping-pong is latency, both low at large messages is the rail.
"""

import reframe as rfm
from reframe.core.builtins import variable

from railyard.benchmarks.repetitions import Amounts
from railyard.parsers import netpipe
from railyard.rfm.checks.repeated import RepeatedCheck
from railyard.site.sizes import doubled


class NetpipeCheck(RepeatedCheck):
    """NetPIPE's MPI module with a told number of repetitions a size, so that the bytes a run must move are known."""

    tool = "netpipe"
    parse = staticmethod(netpipe.parse)
    rows_on_stderr = True
    probe_key = "netpipe/pingpong"
    one_way_key = "netpipe/stream"
    #: What selects the kind of test: nothing is a ping-pong.
    mode = variable(str, value="")
    fewest = Amounts(2)
    #: NetPIPE itself goes by time and has no number of its own; IMB has this one.
    own = Amounts(1000)
    #: What NetPIPE writes besides its output.
    written = variable(str, value="np.out")

    def measured_sizes(self) -> tuple[int, ...]:
        """Return the sizes that NetPIPE goes through: two a doubling."""
        smallest, largest = self.message_sizes[0], self.message_sizes[-1]
        return tuple(size for each in doubled(smallest, largest) for size in (each, each * 3 // 2) if size <= largest)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return [*self.mode.split(), "-p", "0", "-n", str(self.repetitions),
                "-l", str(sizes[0]), "-u", str(sizes[-1]), "-o", str(self.written)]  # fmt: skip

    def probe_arguments(self, size: int) -> list[str]:
        # From 1 byte: NetPIPE sends its first size 100 times before it measures, 20 s at 1 MiB over a rail at a tenth.
        return ["-p", "0", "-n", "2", "-l", "1", "-u", str(size), "-o", "probe.out"]

    def one_way_arguments(self, size: int) -> list[str]:
        return ["-s", *self.probe_arguments(size)]

    def again_arguments(self, size: int) -> list[str]:
        return [*self.mode.split(), *self.probe_arguments(size)]


@rfm.simple_test
class NetpipePingPong(NetpipeCheck):
    """One message there and back: bandwidth is size over half the round trip, in one direction."""

    benchmark = "pingpong"


@rfm.simple_test
class NetpipeStream(NetpipeCheck):
    """Messages one way, one after another."""

    benchmark = "stream"
    mode = "-s"


@rfm.simple_test
class NetpipeBidirectional(NetpipeCheck):
    """A message each way at the same time: the sum of both directions."""

    benchmark = "bidirectional"
    #: Without asynchronous receives (-a) both sides block in their sends above the eager limit.
    mode = "-2 -a"


@rfm.simple_test
class NetpipeTcpPingPong(NetpipeCheck):
    """The same ping-pong over sockets and without MPI: NetPIPE's TCP module, a client and a server."""

    pair = True
    tags = {"microbench", "tcp"}
    extended = True
    benchmark = "pingpong"
    #: ``pair.sh`` prints a client's two streams one after the other, both on its output.
    rows_on_stderr = False
    #: Of each rail's client.
    written = "np-{device}.out"
