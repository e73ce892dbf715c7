"""Every pair of nodes, in N-1 rounds of disjoint pairs inside one job: which node, pair, or side of the switch is slow.

The slowest pair is judged, and the record has the whole matrix. Healthy fat trees with static routes collide, so a slow
pair is measured again, alone, and its node against two good partners, before anybody is named; then each rail alone. A
row and a column that are low are a node; one cell is a cable or a route; a block is a side of the switch.
"""

import reframe as rfm
from reframe.core.builtins import variable

from railyard.rfm.checks.pairs import PairsCheck, SampledPairsCheck, SwitchGroupsCheck
from railyard.verdict.blame.search.model import Round, rounds


@rfm.simple_test
class AllPairs(PairsCheck):
    """Each node with each other one, both ways in turn."""

    benchmark = "pairs"
    measures_again = True
    #: Pairs that measure at once; 0 is all that a round can have.
    at_once = variable(int, value=0)

    def rounds(self, nodes: int) -> tuple[Round, ...]:
        return rounds(nodes, self.at_once or None)


@rfm.simple_test
class SampledPairs(SampledPairsCheck):
    """Some of all pairs within a budget: who is slow, what was covered, which faults would have been found."""

    benchmark = "pairs"
    num_nodes = 4


@rfm.simple_test
class SwitchGroups(SwitchGroupsCheck):
    """Within each leaf switch, between two of them, and across all at once: bandwidth, then messages per second."""

    benchmark = "groups"
    num_nodes = 4
