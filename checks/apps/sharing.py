"""Two ranks that share a processor: what a rank that computes pays for one that waits, by how its library waits.

In the survey of 2004 GAMESS ran with a data process beside each compute process on two processors. There an MPI that
polls takes half of a processor. With TCP, which sleeps while it waits, the same four nodes were faster. If an
application is slow on a good network, this cause is more likely than the network: try fewer ranks per node, or a
library that yields.
"""

import reframe as rfm

from railyard.parsers import sharing
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.groups import Accepts, Layout
from railyard.rfm.versions import typed_parameter
from railyard.site.matrix import DEFAULT


@rfm.simple_test
class SharedProcessor(ApplicationCheck):
    """The same work beside a rank that sleeps, waits in MPI_Recv, polls, or yields: two ranks of one node."""

    tool = "sharing"
    tags = {"apps", "nodes"}
    benchmark = sharing.BENCHMARK
    num_nodes = 1
    all_nodes = False
    layout = Layout(pair_per_rail=False)
    accepts = Accepts(ranks=False)
    parse = staticmethod(sharing.parse)
    rails = typed_parameter([1], type=int, loggable=True)
    policy = typed_parameter([DEFAULT], type=str, loggable=True)

    def shape(self) -> None:
        self.ranks_per_node = 2
