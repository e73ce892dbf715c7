"""RDMA verbs between cards by perftest, without MPI: what a rail's card, slot and cable give before any library.

If all of this is good and MPI is low, the cause is the MPI. If writes are good and reads are low, it is the responder's
side (outstanding reads, ordering of PCIe). If one rail and its loop are low, it is the card or its slot; if the loop is
good, it is the cable or the switch. Over several rails bandwidths are added up, with one pair of processes per rail.
Latencies are measured one rail after the other, and the worst one counts.
"""

import reframe as rfm

from railyard.benchmarks.table.perftest import BIDIRECTIONAL, LOOPBACK
from railyard.rfm.checks.microbench import PerftestCheck


@rfm.simple_test
class WriteBandwidth(PerftestCheck):
    """RDMA writes one way: what a card streams."""

    benchmark = "ib_write_bw"


@rfm.simple_test
class WriteBidirectional(PerftestCheck):
    """RDMA writes both ways at once: the sum of both directions."""

    benchmark = f"ib_write_bw/{BIDIRECTIONAL}"


@rfm.simple_test
class ReadBandwidth(PerftestCheck):
    """RDMA reads: the bytes go the other way, and the receiver asks for them."""

    benchmark = "ib_read_bw"


@rfm.simple_test
class SendBandwidth(PerftestCheck):
    """Sends into posted receives. The receiver's processor takes part in these."""

    benchmark = "ib_send_bw"


@rfm.simple_test
class WriteLatency(PerftestCheck):
    """Half the round trip of a write."""

    benchmark = "ib_write_lat"
    in_turn = True


@rfm.simple_test
class ReadLatency(PerftestCheck):
    """A read there and back: the whole round trip."""

    benchmark = "ib_read_lat"
    in_turn = True


@rfm.simple_test
class SendLatency(PerftestCheck):
    """Half the round trip of a send."""

    benchmark = "ib_send_lat"
    in_turn = True


@rfm.simple_test
class WriteLoopback(PerftestCheck):
    """Writes of a card to itself: only card and slot, without cable and switch. The worst of a node's cards counts."""

    benchmark = f"ib_write_bw/{LOOPBACK}"
    in_turn = True
    num_nodes = 1
    ranks_per_node = 2
