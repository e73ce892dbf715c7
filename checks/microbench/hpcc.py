"""HPC Challenge's communication over all nodes: ping-pongs, rings of all ranks, and a transposed matrix.

If pairs of nodes are good and the natural ring is low, a node gets less when both of its sides send at once. If the
natural ring is good and the random ring is low, it is the middle of the network, or its routes. The ratio of ping-pong
to natural to random ring is typical of a network: 1 : 1 : 1 on a crossbar with one rank per node.
`railyard/benchmarks/table/network.py` says what a link bounds.

All parts of HPC Challenge run, since it cannot leave any out. Those that compute have 128 KiB per rank.
"""

import reframe as rfm

from railyard.benchmarks.apps import hpl
from railyard.parsers import hpcc
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.groups import Outputs


@rfm.simple_test
class Hpcc(ApplicationCheck):
    """One rank per core on all nodes. The summary of its output is judged, "Success=1" first."""

    tool = "hpcc"
    benchmark = "Summary"
    tags = {"microbench"}
    parse = staticmethod(hpcc.parse)
    outputs = Outputs(file="hpccoutf.txt")

    @property
    def validates(self) -> bool:
        """Whether its parts check what they computed. Each does, and the summary says so."""
        return True

    def input_files(self) -> dict[str, str]:
        return {"hpccinf.txt": hpl.hpcc_text(self.num_tasks)}
