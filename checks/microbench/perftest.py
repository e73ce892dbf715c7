"""RDMA verbs between cards by perftest, without MPI: what a rail's card, slot and cable give before any library.

All of it good with a low MPI is the MPI's doing. Writes good and reads low is the responder's side (outstanding reads,
ordering of PCIe). One rail low and its loop low too is the card or its slot; its loop good, the cable or the switch.
Over several rails bandwidths are summed, a pair of processes a rail; latencies are measured one rail after the other,
and the worst counts.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts, Pace
from railyard.benchmarks.table.perftest import BIDIRECTIONAL, LOOPBACK
from railyard.parsers import perftest
from railyard.rfm.checks.repeated import RepeatedCheck

if TYPE_CHECKING:
    from railyard.site.systems.model import Fabric

#: A slow link gets as few iterations as pass in this time, all sizes together; perftest takes no fewer than 5.
SLOW_LINK_S = 20
#: Of a probe after a failure; a slow link gets no more than of a test, or the probe would not end in its time.
PROBE_ITERATIONS = 200
#: perftest's -u of Soft-RoCE: a queue pair sends again after 4.096 us * 2^18, 1.07 s, without an answer (source:
#: ibv_modify_qp(3)). With perftest's own 14, 67 ms, it does so while its packets wait to leave: up to 64 do (source:
#: RXE_INFLIGHT_SKBS_PER_QP_HIGH of Linux), 107 ms of a link of 20 Mbit/s, and the processor works for other things too.
SOFT_ROCE_TIMEOUT = 18


class PerftestCheck(RepeatedCheck):
    """One program of perftest over all of its own sizes (2 B to 8 MiB), with told iterations."""

    pair = True
    tool = "perftest"
    program_a_benchmark = True
    extended = True
    parse = staticmethod(perftest.parse)
    probe_key = "perftest/ib_write_bw"
    probe_program = "ib_write_bw"
    fewest, own = Amounts(5), Amounts(1000)
    smallest = 2
    largest = 8 << 20

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        both_ways = ["-b"] if str(self.benchmark).endswith(f"/{BIDIRECTIONAL}") else []
        return ["-a", "-n", str(self.repetitions), *self._timeout(), *both_ways]

    def fitting(self, pace: Pace | None, window: int) -> Amounts:
        # Whatever is measured, a recording too: perftest's own number is too much for slow links alone.
        rate_gbit_s = self._fabric().link.data_rate_gbit_s
        if rate_gbit_s is None:
            return self.own
        once = 2 * self.largest  # each size is half of the next
        affordable = int(rate_gbit_s / 8 * 1e9 * SLOW_LINK_S / once)
        return replace(self.own, repetitions=max(self.fewest.repetitions, min(self.own.repetitions, affordable)))

    def _timeout(self) -> list[str]:
        is_software = any(rail.counters == "rxe" for rail in self._fabric().rails)
        return ["-u", str(SOFT_ROCE_TIMEOUT)] if is_software else []

    def _fabric(self) -> "Fabric":
        return self.site.system.fabrics[self.current_partition.name]

    def probe_arguments(self, size: int) -> list[str]:
        return ["-s", str(size), "-n", str(min(PROBE_ITERATIONS, self.repetitions)), *self._timeout()]


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
