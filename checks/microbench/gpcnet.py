"""GPCNeT over all nodes: rings and small allreduces, alone, and while other nodes congest the network.

The impact is how many times worse latency, bandwidth and allreduce get beside an all-to-all, two incasts and a
broadcast on four fifths of the nodes; 1 is not at all. A mean near 1 with a high 99 % is a few flows that wait behind
others'. Which nodes congest is drawn at each run, so compare several.

Its tests take 10 s each, whatever the network: a run is longer than a minute.
"""

import reframe as rfm

from railyard.parsers import gpcnet
from railyard.rfm.checks.application import ApplicationCheck


class GpcnetCheck(ApplicationCheck):
    """One of its two programs, with a rank a core on all nodes; neither has options."""

    tool = "gpcnet"
    program_a_benchmark = True
    tags = {"microbench"}
    parse = staticmethod(gpcnet.parse)


@rfm.simple_test
class GpcnetNetwork(GpcnetCheck):
    """Rings of one rank a node in random and natural order, and many allreduces of 8 B at once."""

    benchmark = "network_test"


@rfm.simple_test
class GpcnetCongestion(GpcnetCheck):
    """The same beside four kinds of congestion: how many times worse."""

    benchmark = "network_load_test"
    #: Two nodes that measure and two for each kind of congestion: it refuses fewer.
    num_nodes = 10
