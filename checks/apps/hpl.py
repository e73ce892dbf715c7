"""HPL over all nodes: what processors, memory and network reach together in a dense linear system.

A low HPL with a good AllPairs means a slow node (its clock, its memory), not a slow link. If each node alone is good
and HPL is low, it is the network, or the problem is too small. HPL hides much of its communication behind work. On most
clusters a difference of a few percent between two networks is within the noise, so compare repeats (`railyard
compare`). `-S Hpl.size=acceptance` fills the memory, and takes hours on large nodes.
"""

import reframe as rfm

from railyard.benchmarks.table.applications import HPL_SPLITS
from railyard.rfm.checks.declaration import node_counts, stated
from railyard.rfm.checks.planned_problem import HplCheck, HplOnEachNode, HplOnOneNode
from railyard.rfm.versions import typed_parameter


@rfm.simple_test
class Hpl(HplCheck):
    """HPL over all nodes: `-S size=` is quick, acceptance or seed; of quick `-S order=40000` and `-S grid=2x3`, too."""


@rfm.simple_test
class HplScaling(HplCheck):
    """HPL on 1, 2, 4 … nodes; the problem grows with the nodes (weak scaling): `railyard scaling`."""

    tags = {"apps", "scaling"}
    all_nodes = False
    nodes = typed_parameter(node_counts(), type=int, loggable=True)


@rfm.simple_test
class HplEveryNode(HplOnEachNode):
    """HPL on each node by itself: one process with one thread per core."""

    tags = {"apps", "nodes"}


@rfm.simple_test
class HplLayout(HplOnOneNode):
    """HPL on one node, a rank per core, NUMA domain, socket or node: `railyard capture --hpl-layout` keeps the best."""

    tags = {"apps", "nodes"}
    per = typed_parameter(stated("hpl-per", HPL_SPLITS), type=str, loggable=True)
