"""OSU micro-benchmarks between nodes: latency, windowed bandwidth one way and both ways, over one pair and over many.

A high osu_latency with a good osu_bw means latency (placement, power states, the wrong provider). If both are bad, it
is the path: a fallback to TCP raises small-message latency tenfold. A good osu_bw with a low osu_bibw means the card or
its slot. A good osu_bw with a low osu_mbw_mr means what the pairs share: the switch, or the card if several ranks use
it.
"""

from dataclasses import replace

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts
from railyard.rfm.checks.declaration import many_pairs
from railyard.rfm.checks.groups import Accepts, Layout, Probes
from railyard.rfm.checks.microbench import BANDWIDTH, OsuCheck


@rfm.simple_test
class OsuLatency(OsuCheck):
    """Half the round trip of one message."""

    benchmark = "osu_latency"
    #: Ranks that poll on few cores stall now and then, and OSU prints the mean: two stalls of 8 ms were in six
    #: repetitions of 44 ms.
    fewest = Amounts(6, 1)


@rfm.simple_test
class OsuBandwidth(OsuCheck):
    """A window of messages one way: what a rail, or several, can stream."""

    benchmark = "osu_bw"
    fewest, own = Amounts(2, 1, window=16), BANDWIDTH
    probes = Probes(other_way_seen_by="osu/osu_bibw and AllPairs", other_way_unless=("imb",))


@rfm.simple_test
class OsuBidirectional(OsuCheck):
    """A window of messages both ways at once: the sum of both directions."""

    benchmark = "osu_bibw"
    fewest, own = Amounts(2, 1, window=8), BANDWIDTH


@many_pairs
class OsuPairs(OsuCheck):
    """Disjoint pairs of nodes at once: the first half of the nodes with the second, so no two pairs share a node."""

    extended = True
    num_nodes = 4
    accepts = Accepts(fewest_nodes=2, even_nodes=True, ranks=True)


@rfm.simple_test
class OsuMessageRate(OsuPairs):
    """A window of messages one way over every pair: bandwidth and messages per second, per pair of nodes."""

    benchmark = "osu_mbw_mr"
    fewest, own = Amounts(1, 1, window=8), BANDWIDTH


@rfm.simple_test
class OsuCoresMessageRate(OsuPairs):
    """Small messages one way, from each core of a node to a core of another: the most messages per second of a card.

    One pair of ranks is as fast as one core, but a card takes the messages of many (EDR: 150 million per second).
    """

    benchmark = "osu_mbw_mr/all-cores"
    num_nodes = 2
    layout = Layout(every_core=True)
    largest = 8 << 10
    #: OSU's own 100 windows end after 10 ms, when the ranks have hardly begun to run together.
    fewest, own = Amounts(1, 1, window=8), replace(BANDWIDTH, repetitions=10_000)
    #: Every core has a rank, and no NUMA node of a rail has enough cores.
    placement = "launcher"
    #: OSU's validation stops after each window, and then the card waits for the processor.
    can_validate = False

    def shape(self) -> None:
        self.ranks_per_node = self.cores


@rfm.simple_test
class OsuMultiLatency(OsuPairs):
    """Half the round trip of one message, all pairs at once."""

    benchmark = "osu_multi_lat"
    fewest = Amounts(3, 1)
