"""libfabric's own tests between nodes, without MPI, for fabrics without verbs: Slingshot, EFA, and TCP's ping-pong.

fi_pingpong comes with libfabric, fi_rdm_tagged_bw with fabtests; both must be in the same folder and of the same
release. The options for cxi and efa are taken from the documentation: we could not try them. fi_msg_bw needs
connections, which neither provider has. fi_rma_bw writes both ways at once and prints only one: its outputs are judged
(`railyard judge FILE --benchmark fabtests/fi_rma_bw`), but no check runs it.

If this is good and MPI over the same provider is low, the cause is the MPI. If this is low, it is the provider, its
settings, or the rail.
"""

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts
from railyard.parsers import fabtests
from railyard.rfm.checks.groups import Accepts, Probes, Start
from railyard.rfm.checks.microbench import RepeatedCheck


class FabtestsCheck(RepeatedCheck):
    """One of libfabric's tests over its own sizes, with a set number of iterations."""

    start = Start(client_and_server=True, program_per_benchmark=True)
    tool = "fabtests"
    extended = True
    parse = staticmethod(fabtests.parse)
    probes = Probes(ping_pong="fabtests/fi_pingpong", program="fi_pingpong")
    fewest, own = Amounts(10), Amounts(1000)
    accepts = Accepts(sizes=())

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        return ()  # "-S all" means all of its own sizes, which differ by release

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return ["-S", "all", "-I", str(self.repetitions)]

    def probe_arguments(self, size: int) -> list[str]:
        return ["-S", str(size), "-I", "5"]


@rfm.simple_test
class OfiPingPong(FabtestsCheck):
    """One message there and back: bandwidth is size over half the round trip, in one direction."""

    benchmark = "fi_pingpong"


@rfm.simple_test
class OfiBandwidth(FabtestsCheck):
    """Tagged messages one way, as an MPI sends them: what the provider streams over a rail."""

    benchmark = "fi_rdm_tagged_bw"
    accepts = Accepts(fabrics=("slingshot", "efa"))
    probes = Probes(ping_pong="fabtests/fi_rdm_tagged_bw", program="fi_rdm_tagged_bw")
