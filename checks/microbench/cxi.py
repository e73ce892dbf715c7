"""Writes between Slingshot's cards by libcxi's own test, without libfabric and MPI: what card, slot and cable give.

If this is good and OfiBandwidth is low, the cause is libfabric. If both are good and MPI is low, it is the MPI.
cxi_write_bw comes with Slingshot's host software. Its options and its output are taken from its source: we could not
try them.
"""

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts
from railyard.benchmarks.table.fabtests import BIDIRECTIONAL
from railyard.parsers import cxi
from railyard.rfm.checks.groups import Probes, Start
from railyard.rfm.checks.microbench import RepeatedCheck


@rfm.simple_test
class CxiWriteBandwidth(RepeatedCheck):
    """Lists of writes one way: what a card streams."""

    start = Start(client_and_server=True, program_per_benchmark=True)
    tool = "cxi"
    extended = True
    benchmark = "cxi_write_bw"
    parse = staticmethod(cxi.parse)
    probes = Probes(ping_pong="cxi/cxi_write_bw", program="cxi_write_bw")
    fewest, own = Amounts(5, window=64), Amounts(1000, window=64)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        both_ways = ["-b"] if str(self.benchmark).endswith(f"/{BIDIRECTIONAL}") else []
        return ["-s", f"{sizes[0]}:{sizes[-1]}", "-n", str(self.repetitions), "-l", str(self.window), *both_ways]

    def measured_sizes(self) -> tuple[int, ...]:
        return tuple(1 << n for n in range(self.message_sizes[-1].bit_length()))

    def probe_arguments(self, size: int) -> list[str]:
        return ["-s", str(size), "-n", "5", "-l", "64"]


@rfm.simple_test
class CxiWriteBidirectional(CxiWriteBandwidth):
    """Lists of writes both ways at once: the sum of both directions."""

    benchmark = f"cxi_write_bw/{BIDIRECTIONAL}"
