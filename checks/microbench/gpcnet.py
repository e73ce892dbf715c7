"""GPCNeT over all nodes: rings and small allreduces, alone, and while other nodes congest the network.

The impact is how many times worse latency, bandwidth and allreduce get beside an all-to-all, two incasts and a
broadcast on four fifths of the nodes; 1 means not at all. A mean near 1 with a high 99 % value means that a few flows
wait behind others. Each run draws the nodes that congest at random, so compare several runs.

Its tests take 10 s each on any network: a run is longer than a minute.
"""

import reframe as rfm

from railyard.parsers import gpcnet
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.groups import Start


class GpcnetCheck(ApplicationCheck):
    """One of its two programs, with one rank per core on all nodes. Neither has options."""

    tool = "gpcnet"
    start = Start(program_per_benchmark=True)
    tags = {"microbench"}
    parse = staticmethod(gpcnet.parse)


@rfm.simple_test
class GpcnetNetwork(GpcnetCheck):
    """Rings with one rank per node in random and natural order, and many allreduces of 8 B at once."""

    benchmark = "network_test"


@rfm.simple_test
class GpcnetCongestion(GpcnetCheck):
    """The same beside four kinds of congestion: how many times worse it gets."""

    benchmark = "network_load_test"
    #: Two nodes measure, and each kind of congestion needs two: it refuses fewer.
    num_nodes = 10
