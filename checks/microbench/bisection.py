"""One half of the nodes with the other half, all at once, over every shift: what the middle of the network carries.

The mean over all pairs and shifts is a node's share of the bisection. Its reference is divided by the fabric's blocking
factor (``blocking`` in systems/*.yaml). A low bisection with a good AllPairs is not a cable. It means fewer up-links
than the factor says, or routes that collide (T. Hoefler et al., "Multistage Switches are not Crossbars", IEEE Cluster
2008).
"""

import reframe as rfm

from railyard.rfm.checks.pairs import PairsCheck
from railyard.verdict.blame.search.model import Round, shifts


@rfm.simple_test
class Bisection(PairsCheck):
    """The first half of the nodes, in the order of the system's file, with each shift of the second half."""

    benchmark = "bisection"
    #: Two nodes are a pair, not two halves.
    num_nodes = 4

    def rounds(self, nodes: int) -> tuple[Round, ...]:
        return shifts(nodes)
