"""Two ranks that share a processor: what a rank that computes pays for one that waits, by how its library waits.

With a data process beside each compute process on two processors, as GAMESS ran in the survey of 2004, an MPI that
polls takes half of a processor; over TCP, whose wait sleeps, the same four nodes were ahead. An application that is
slow on a good network has this cause before a network's: try fewer ranks a node, or a library that yields.
"""

import reframe as rfm
from reframe.core.builtins import parameter

from railyard.parsers import sharing
from railyard.rfm.checks.application import ApplicationCheck
from railyard.site.policies import DEFAULT


@rfm.simple_test
class SharedProcessor(ApplicationCheck):
    """The same work beside a rank that sleeps, waits in MPI_Recv, polls, and yields: two ranks of one node."""

    tool = "sharing"
    tags = {"apps", "nodes"}
    benchmark = sharing.BENCHMARK
    num_nodes = 1
    all_nodes = False
    pair_a_rail = False
    takes_ranks = False
    parse = staticmethod(sharing.parse)
    rails = parameter([1], type=int, loggable=True)
    policy = parameter([DEFAULT], type=str, loggable=True)

    def shape(self) -> None:
        self.ranks_per_node = 2
