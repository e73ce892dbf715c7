"""Intel MPI Benchmarks between two nodes: ping-pong, windowed bandwidth one way and both ways, and exchanges.

A low PingPong with a good Uniband means latency (placement, power states). If both are low at large messages, it is the
rail (link width, slot, a slow cable). A good Uniband with a low Biband means the card or the slot, which carry both
directions.
"""

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts
from railyard.rfm.checks.declaration import many_pairs
from railyard.rfm.checks.groups import Accepts, Probes
from railyard.rfm.checks.microbench import ImbCheck, ImbExtended

#: IMB's default window has changed (256 in 2019 to 2021). This is OSU's, so that the two can be compared.
WINDOWS = Amounts(1000, window=64)


@rfm.simple_test
class ImbPingPong(ImbCheck):
    """One message there and back: bandwidth is size over half the round trip, in one direction."""

    benchmark = "PingPong"
    #: Ranks that poll on few cores stall now and then. The median of three passes ignores one stall.
    passes = 3


@rfm.simple_test
class ImbPingPongColdCaches(ImbExtended):
    """The same with messages that no cache has, as after a computation: each is read from memory, and written there.

    Without this, all messages of a size are in one buffer, which stays in the caches up to some MiB.
    """

    benchmark = "PingPong/cold-caches"
    #: Buffers of twice as much: more than the last-level cache of a core in most servers, and within IMB's own limit of
    #: 1 GB per process (`-mem`). `-S cold_cache_mb=` sets another number.
    cold_cache_mb = 256.0
    fewest = Amounts(3)


@many_pairs
class ImbWindows(ImbCheck):
    """Windows of messages from the first half of the ranks to the second: one pair of nodes, many pairs of ranks."""

    own = WINDOWS
    accepts = Accepts(ranks=True)


@rfm.simple_test
class ImbUniband(ImbWindows):
    """A window of messages one way: what a rail, or several, can stream."""

    benchmark = "Uniband"
    #: One window of 16: with fewer messages in flight, the rails of a pair do not end at the same time, and the tail
    #: counts. In one run a stall of 24 ms within the 1.4 s of the largest size was enough to miss a bound: so here too
    #: the median of three passes counts.
    passes = 3
    fewest = Amounts(1, window=16)
    probes = Probes(other_way_seen_by="imb/Biband and AllPairs", other_way_unless=())


@rfm.simple_test
class ImbBiband(ImbWindows):
    """A window of messages both ways at once: the sum of both directions."""

    benchmark = "Biband"
    passes = 3
    fewest = Amounts(1, window=8)


@rfm.simple_test
class ImbSendrecv(ImbExtended):
    """One message each way at the same time: the sum of both directions."""

    benchmark = "Sendrecv"
    #: With one repetition three passes send 2.1 MB in striped messages, and the split of two rails can be told from
    #: 2.5 MB on. The second one takes 0.2 s over the rails of the virtual cluster.
    fewest = Amounts(2)


@rfm.simple_test
class ImbExchange(ImbExtended):
    """Two messages each way at the same time, as with a left and a right neighbour: the sum of all four."""

    benchmark = "Exchange"
