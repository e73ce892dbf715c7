"""TCP streams between nodes by iperf3, without MPI: over Ethernet, and over IP on InfiniBand (a fabric of kind tcp).

If one stream is low and four are good, it is the processor or the window (MTU 1500, IP over InfiniBand in datagram
mode, interrupts on one core). If both are low, few retransmissions mean the rail, many mean a cable or a switch that
drops packets. If a stream is good and MPI over the same interface is low, the cause is the MPI. The record has MTU and
mode of each interface.
"""

from collections.abc import Mapping

import reframe as rfm
from reframe.core.builtins import variable

from railyard.parsers import iperf3
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.groups import Accepts, Probes, Start
from railyard.rfm.versions import typed_parameter


@rfm.simple_test
class TcpStream(InterconnectCheck):
    """One or several streams one way (`-P streams=4` selects). The link's rate decides how many bytes they move."""

    start = Start(client_and_server=True)
    tool = "iperf3"
    tags = {"microbench", "tcp"}
    extended = True
    parse = staticmethod(iperf3.parse)
    probes = Probes(ping_pong="iperf3/iperf3")
    streams = typed_parameter([1, 4], type=int, loggable=True)
    #: How long a rail should take at its link's data rate, in seconds.
    lasting = variable(int, value=3)
    #: What a stream writes at a time, in bytes: iperf3's own default.
    smallest = 128 << 10
    largest = 128 << 10
    accepts = Accepts(sizes=("largest",))

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        # A reference for one stream is not one for four.
        streams = int(parameters["streams"])
        return "iperf3" if streams == 1 else f"iperf3/{streams}-streams"

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return ["-J", "-P", str(self.streams), "-l", str(self.largest), "-n", str(self._bytes(self.lasting))]

    def probe_arguments(self, size: int) -> list[str]:
        # By time, not by bytes: a rail with a tenth of its rate must show that before the probe's time limit.
        return ["-J", "-l", str(self.largest), "-t", "1"]

    def _bytes(self, seconds: int) -> int:
        rate_gbit_s = self.site.system.fabrics[self.current_partition.name].link.data_rate_gbit_s or 1.0
        return int(seconds * rate_gbit_s * 1e9 / 8)
