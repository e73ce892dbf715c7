"""HPC Challenge's communication over all nodes: ping-pongs, rings of all ranks, and a transposed matrix.

Good pairs of nodes with a low natural ring is a node that gets less when both of its sides send at once; a good natural
ring with a low random one is the middle of the network, or its routes. The ratio of ping-pong to natural to random ring
is a network's own: 1 : 1 : 1 on a crossbar with a rank a node. What of it a link bounds:
`railyard/benchmarks/table/network.py`.

All parts of HPC Challenge run, since it cannot leave any out; those that compute have 128 KiB a rank.
"""

import reframe as rfm

from railyard.benchmarks.apps import hpcc_input
from railyard.parsers import hpcc
from railyard.rfm.checks.application import ApplicationCheck


@rfm.simple_test
class Hpcc(ApplicationCheck):
    """A rank a core on all nodes; the summary of its output is what is judged, "Success=1" first."""

    tool = "hpcc"
    benchmark = "Summary"
    tags = {"microbench"}
    parse = staticmethod(hpcc.parse)
    output_file = "hpccoutf.txt"

    @property
    def validates(self) -> bool:
        """Whether its parts check what they computed: each does, and the summary says so."""
        return True

    def input_files(self) -> dict[str, str]:
        return {"hpccinf.txt": hpcc_input.text(self.num_tasks)}
