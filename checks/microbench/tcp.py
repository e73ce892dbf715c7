"""TCP streams between nodes by iperf3, without MPI: over Ethernet, and over IP on InfiniBand (a fabric of kind tcp).

One stream low and four good is the processor or the window (MTU 1500, IP over InfiniBand in datagram mode, interrupts
on one core); both low with few retransmissions is the rail, with many a cable or a switch that drops. A good stream
here with a low MPI over the same interface is the MPI's doing. MTU and mode of each interface stand in the record.
"""

from collections.abc import Mapping

import reframe as rfm
from reframe.core.builtins import parameter, variable

from railyard.parsers import iperf3
from railyard.rfm.checks.base import InterconnectCheck


@rfm.simple_test
class TcpStream(InterconnectCheck):
    """One or several streams one way (`-P streams=4` selects); the bytes to move follow from the link's rate."""

    pair = True
    tool = "iperf3"
    tags = {"microbench", "tcp"}
    extended = True
    parse = staticmethod(iperf3.parse)
    probe_key = "iperf3/iperf3"
    streams = parameter([1, 4], type=int, loggable=True)
    #: How long a rail should take, in seconds, at its link's data rate.
    lasting = variable(int, value=3)
    #: What a stream writes at a time, in bytes: iperf3's own default.
    smallest = 128 << 10
    largest = 128 << 10
    sizes_told = ("largest",)

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        # A reference of one stream is none of four.
        streams = int(parameters["streams"])
        return "iperf3" if streams == 1 else f"iperf3/{streams}-streams"

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return ["-J", "-P", str(self.streams), "-l", str(self.largest), "-n", str(self._bytes(self.lasting))]

    def probe_arguments(self, size: int) -> list[str]:
        # By time, and not by bytes: a rail at a tenth is to be seen as such before a probe's limit.
        return ["-J", "-l", str(self.largest), "-t", "1"]

    def _bytes(self, seconds: int) -> int:
        rate_gbit_s = self.site.system.fabrics[self.current_partition.name].link.data_rate_gbit_s or 1.0
        return int(seconds * rate_gbit_s * 1e9 / 8)
