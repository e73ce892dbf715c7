"""The base class of perftest's checks: fixed iterations over all of its own sizes, by a client and a server."""

from dataclasses import replace
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.benchmarks.repetitions import Amounts, Pace, Work
from railyard.benchmarks.table.perftest import BIDIRECTIONAL
from railyard.parsers import perftest
from railyard.rfm.checks.groups import Accepts, Probes, Start
from railyard.rfm.checks.repeated_check import RepeatedCheck
from railyard.site.sizes import doubled

if TYPE_CHECKING:
    from railyard.site.systems.measure import StatedAmounts

#: Iterations of a probe after a failure. On a slow link it makes no more than the test, or it would not end in time.
PROBE_ITERATIONS = 200
#: perftest's -u for Soft-RoCE: without an answer a queue pair sends again after 4.096 us * 2^18, 1.07 s (source:
#: ibv_modify_qp(3)). With perftest's own 14, 67 ms, it would do so while its packets still wait to leave: up to 64 wait
#: (source: RXE_INFLIGHT_SKBS_PER_QP_HIGH of Linux), which takes 107 ms on a link of 20 Mbit/s, and the processor has
#: other work too.
SOFT_ROCE_TIMEOUT = 18
#: Queue pairs of a bandwidth test over a rail of 200 Gbit/s or more (``-q``): one alone may not fill it. Sources:
#: ngc_rdma_test.sh of Mellanox/ngc_multinode_perf, which gives ib_write_bw two; linux-rdma/perftest issue 252, where
#: perftest's maintainer asks for several on a card of 200 Gbit/s.
QUEUE_PAIRS, MANY_FROM_GBIT_S = 2, 200.0


def queue_pairs_of(data_rate_gbit_s: float | None) -> int:
    """Return how many queue pairs a rail of this rate needs; one if its rate is not known."""
    return QUEUE_PAIRS if data_rate_gbit_s is not None and data_rate_gbit_s >= MANY_FROM_GBIT_S else 1


class PerftestCheck(RepeatedCheck):
    """One program of perftest over all of its own sizes (2 B to 8 MiB), with fixed iterations."""

    start = Start(client_and_server=True, program_per_benchmark=True)
    tool = "perftest"
    extended = True
    parse = staticmethod(perftest.parse)
    probes = Probes(ping_pong="perftest/ib_write_bw", program="ib_write_bw")
    fewest, own = Amounts(5), Amounts(1000)
    smallest = 2
    largest = 8 << 20
    accepts = Accepts(sizes=())
    #: Queue pairs of a bandwidth test; 0: what its link needs. Each makes all repetitions, and perftest prints the sum.
    queue_pairs = variable(int, value=0)

    @property
    def asked_queue_pairs(self) -> int:
        """How many queue pairs each process has. A latency test has one: perftest refuses more."""
        if not str(self.benchmark).partition("/")[0].endswith("_bw"):
            return 1
        link = self.site.system.fabrics[self.current_partition.name].link
        return int(self.queue_pairs) or queue_pairs_of(link.data_rate_gbit_s)

    def work(self) -> Work:
        work, pairs = super().work(), self.asked_queue_pairs
        return replace(work, made=lambda count: pairs * count)

    def choose_amounts(self, pace: Pace | None, stated: "StatedAmounts | None") -> None:
        super().choose_amounts(pace, stated)
        if self.asked_queue_pairs > 1:
            self.remarks = (*self.remarks, f"{self.asked_queue_pairs} queue pairs (-q)")

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        both_ways = ["-b"] if str(self.benchmark).endswith(f"/{BIDIRECTIONAL}") else []
        return ["-a", "-n", str(self.repetitions), *self._queue_pairs(), *self._timeout(), *both_ways]

    def measured_sizes(self) -> tuple[int, ...]:
        """Return the sizes that perftest doubles through."""
        return doubled(int(self.smallest), int(self.largest))

    def fit_amounts(self, pace: Pace | None, window: int) -> Amounts:
        # For a recording, or a link of unknown rate: perftest's own number is too much only for slow links.
        return self.own if pace is None else super().fit_amounts(pace, window)

    def _queue_pairs(self) -> list[str]:
        return ["-q", str(self.asked_queue_pairs)] if self.asked_queue_pairs > 1 else []

    def _timeout(self) -> list[str]:
        rails = self.site.system.fabrics[self.current_partition.name].rails
        return ["-u", str(SOFT_ROCE_TIMEOUT)] if any(rail.counters == "rxe" for rail in rails) else []

    def probe_arguments(self, size: int) -> list[str]:
        return ["-s", str(size), "-n", str(min(PROBE_ITERATIONS, self.repetitions)), *self._timeout()]
