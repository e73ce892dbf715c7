"""NetPIPE between two nodes: ping-pong, a stream one way, and both ways at once.

NetPIPE goes through its own sizes (two per doubling), so it shows a dip between powers of two. Read it like the IMB
checks: a good stream with a low ping-pong means latency; if both are low at large messages, it is the rail.
"""

import reframe as rfm
from reframe.core.builtins import variable

from railyard.benchmarks.repetitions import Amounts
from railyard.parsers import netpipe
from railyard.rfm.checks.groups import Outputs, Probes, Start
from railyard.rfm.checks.microbench import RepeatedCheck
from railyard.site.systems.measure import doubled


class NetpipeCheck(RepeatedCheck):
    """NetPIPE's MPI module with a set number of repetitions per size, so we know the bytes that a run must move."""

    tool = "netpipe"
    parse = staticmethod(netpipe.parse)
    outputs = Outputs(on_stderr=True)
    probes = Probes(ping_pong="netpipe/pingpong", one_way="netpipe/stream")
    #: The options that select the kind of test; none for a ping-pong.
    mode = variable(str, value="")
    fewest = Amounts(2)
    #: NetPIPE itself goes by time and has no default number; this is IMB's.
    own = Amounts(1000)
    #: The file that NetPIPE writes besides its output.
    written = variable(str, value="np.out")

    def measured_sizes(self) -> tuple[int, ...]:
        """Return the sizes that NetPIPE goes through: two per doubling."""
        smallest, largest = self.message_sizes[0], self.message_sizes[-1]
        return tuple(size for each in doubled(smallest, largest) for size in (each, each * 3 // 2) if size <= largest)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return [*self.mode.split(), "-p", "0", "-n", str(self.repetitions),
                "-l", str(sizes[0]), "-u", str(sizes[-1]), "-o", str(self.written)]  # fmt: skip

    def probe_arguments(self, size: int) -> list[str]:
        # From 1 byte: NetPIPE sends its first size 100 times before it measures. At 1 MiB, over a rail with a tenth of
        # its rate, that takes 20 s.
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
    """The same ping-pong over sockets, without MPI: NetPIPE's TCP module, a client and a server."""

    start = Start(client_and_server=True)
    tags = {"microbench", "tcp"}
    extended = True
    benchmark = "pingpong"
    #: ``pair.sh`` prints a client's two streams one after the other, both on standard output.
    outputs = Outputs(on_stderr=False)
    #: The file of each rail's client.
    written = "np-{device}.out"
