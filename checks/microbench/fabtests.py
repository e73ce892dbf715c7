"""libfabric's own ping-pong between nodes, without MPI, where a fabric has no verbs: Slingshot, EFA, and TCP.

Of fabtests (fi_rdm_tagged_bw, fi_rma_bw), which neither Debian nor PyPI packages, outputs are judged (`railyard judge
FILE --benchmark fabtests/fi_rma_bw`), and no check runs them: nothing here could try its words.

Good here with a low MPI over the same provider is the MPI's doing; low here is the provider, its settings, or the rail.
"""

import reframe as rfm
from reframe.core.builtins import variable

from railyard.parsers import fabtests
from railyard.rfm.checks.base import InterconnectCheck


class FabtestsCheck(InterconnectCheck):
    """One of libfabric's tests over its own sizes, with fixed iterations."""

    pair = True
    tool = "fabtests"
    program_a_benchmark = True
    extended = True
    parse = staticmethod(fabtests.parse)
    probe_key = "fabtests/fi_pingpong"
    probe_program = "fi_pingpong"
    repetitions = variable(int, value=10)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return ["-S", "all", "-I", str(self.repetitions)]

    def probe_arguments(self, size: int) -> list[str]:
        return ["-S", str(size), "-I", "5"]


@rfm.simple_test
class OfiPingPong(FabtestsCheck):
    """One message there and back: bandwidth is size over half the round trip, in one direction."""

    benchmark = "fi_pingpong"
