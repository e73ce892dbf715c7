"""A pair of ranks within each node, through shared memory: what a node gives without any network.

It tells a slow node (memory, processor, its clock) from a slow card, slot or cable: low here and in AllPairs is the
node; good here and low there is what lies between memory and switch. No network may carry it, which the path proof
shows. Where no reference names it the values are reported, and a node far below the others is named.
"""

import reframe as rfm
from reframe.core.builtins import parameter

from railyard.rfm.checks.pairs import PairsCheck
from railyard.site.policies import DEFAULT
from railyard.verdict.blame.search.model import Round


@rfm.simple_test
class OnNodePair(PairsCheck):
    """Two ranks of each node, one node after the other: it belongs to no fabric and runs once, on the first one."""

    benchmark = "onnode"
    within_node = True
    ranks_per_node = 2
    rails = parameter([1], type=int, loggable=True)
    policy = parameter([DEFAULT], type=str, loggable=True)

    def rounds(self, nodes: int) -> tuple[Round, ...]:
        return ()
