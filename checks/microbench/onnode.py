"""A pair of ranks within each node, through shared memory: what a node gives without any network.

It tells a slow node (memory, processor, its clock) from a slow card, slot or cable. If this and AllPairs are low, it is
the node. If this is good and AllPairs is low, it is something between memory and switch. No network may carry it; the
path proof checks that. If no reference names it, the values are only reported, and a node far below the others is
named.
"""

import reframe as rfm

from railyard.rfm.checks.groups import Layout
from railyard.rfm.checks.pairs import PairsCheck
from railyard.rfm.versions import typed_parameter
from railyard.site.matrix import DEFAULT
from railyard.verdict.blame.search.model import Round


@rfm.simple_test
class OnNodePair(PairsCheck):
    """Two ranks on each node, one node after the other. It belongs to no fabric, and runs once, with the first one."""

    benchmark = "onnode"
    layout = Layout(within_node=True)
    ranks_per_node = 2
    rails = typed_parameter([1], type=int, loggable=True)
    policy = typed_parameter([DEFAULT], type=str, loggable=True)

    def rounds(self, nodes: int) -> tuple[Round, ...]:
        return ()
