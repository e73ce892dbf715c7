"""RDMA verbs between cards by perftest, without MPI: what a rail's card, slot and cable give before any library.

All of it good with a low MPI is the MPI's doing. Writes good and reads low is the responder's side (outstanding reads,
ordering of PCIe). One rail low and its loop low too is the card or its slot; its loop good, the cable or the switch.
Over several rails bandwidths are summed, one pair of processes per rail; latencies are measured one rail after the
other, and the worst counts.
"""

import reframe as rfm

from railyard.benchmarks.table.perftest import BIDIRECTIONAL, LOOPBACK
from railyard.rfm.checks.perftest import PerftestCheck


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
    """RDMA reads: the same way back, asked for by the receiver."""

    benchmark = "ib_read_bw"


@rfm.simple_test
class SendBandwidth(PerftestCheck):
    """Sends into posted receives, which the receiver's processor has a part in."""

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
    """Writes of a card to itself: card and slot alone, without cable and switch; the worst of a node's cards."""

    benchmark = f"ib_write_bw/{LOOPBACK}"
    in_turn = True
    num_nodes = 1
    ranks_per_node = 2
