"""MILC, lattice QCD: its improved staggered code on a lattice of L^4 sites per node, on 1, 2, 4, 8 and 16 nodes.

In each iteration, its solver twice sends each side of every node's lattice to a neighbour, and sums over all nodes.
With L = 4 the messages are short and their latency counts; with L = 14 the node's own memory counts. If the rate falls
with more nodes for small L and not for large L, it is the network's latency. If it falls for all L, it is the
bandwidth, or a slow node.
"""

from collections.abc import Mapping

import reframe as rfm

from railyard.benchmarks.apps import milc
from railyard.benchmarks.table.applications import MILC_EDGES
from railyard.parsers.output import ParsedOutput
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.declaration import node_counts
from railyard.rfm.checks.groups import Accepts
from railyard.rfm.versions import typed_parameter


@rfm.simple_test
class MilcScaling(ApplicationCheck):
    """su3_rmd, with a lattice that grows with the nodes: `-P edge=4` selects a size, `railyard scaling` sums it up."""

    tool = "milc"
    program = "su3_rmd"
    tags = {"apps", "scaling"}
    all_nodes = False
    edge = typed_parameter(MILC_EDGES, type=int, loggable=True)
    accepts = Accepts(powers_to=milc.MOST_NODES)
    nodes = typed_parameter(node_counts(milc.MOST_NODES), type=int, loggable=True)

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return f"asqtad/L{parameters['edge']}"

    @property
    def words(self) -> list[str]:
        return [milc.FILE]

    def parse(self, text: str) -> ParsedOutput:
        """Return what the run printed. Its rate is per node."""
        return milc.parse(text, self.num_nodes)

    def shape(self) -> None:
        self.ranks_per_node = milc.ranks_per_node(self.edge, self.num_nodes, self.most_ranks)
        self.remarks = (f"{self.ranks_per_node} of {self.cores} cores per node",)

    def input_files(self) -> dict[str, str]:
        return {milc.FILE: milc.text(milc.lattice(self.edge, self.num_nodes))}
