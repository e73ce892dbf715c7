"""OSU's collectives over all nodes, and how long MPI_Init takes: all rails of all nodes at once.

If pairs are good and a collective is slow, it is the algorithm (the stack's choice, a switch that should reduce and
does not) or a node that is slower than the rest. If all of them are slow at large messages, it is a rail, or the switch
between its sides. A barrier and the start move no payload: their times are shown, and judged only if a reference names
them.
"""

from collections.abc import Mapping

import reframe as rfm
from reframe.core.builtins import run_after

from railyard.benchmarks.repetitions import Amounts
from railyard.rfm.checks.groups import Accepts
from railyard.rfm.checks.microbench import COLLECTIVE, OsuCheck
from railyard.rfm.versions import typed_parameter

#: Without allreduce, which runs every day.
COLLECTIVES = ("alltoall", "alltoallv", "allgather", "bcast", "reduce", "reduce_scatter", "barrier")


@rfm.simple_test
class OsuAllreduce(OsuCheck):
    """A reduction over four nodes: all rails of all nodes at once."""

    benchmark = "osu_allreduce"
    num_nodes = 4
    accepts = Accepts(fewest_nodes=2, ranks=True)
    fewest, own = Amounts(3, 1), COLLECTIVE
    reduces = True
    #: OSU reduces floats of 4 bytes.
    smallest = 4


@rfm.simple_test
class OsuCollective(OsuCheck):
    """One collective of ``COLLECTIVES`` over four nodes: `-P collective=alltoall` selects one."""

    extended = True
    collective = typed_parameter(COLLECTIVES, type=str, loggable=True)
    num_nodes = 4
    accepts = Accepts(fewest_nodes=2, ranks=True)
    fewest, own = Amounts(1, 1), COLLECTIVE
    smallest = 4

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        return f"osu_{parameters['collective']}"

    @run_after("init")
    def choose_data(self) -> None:
        """Set what the ranks' data are: a barrier has none to check."""
        self.can_validate = self.collective != "barrier"
        self.reduces = self.collective.startswith("reduce")


@rfm.simple_test
class OsuInit(OsuCheck):
    """How long MPI_Init takes over four nodes. osu_hello is not a check: it only prints that the ranks started."""

    extended = True
    benchmark = "osu_init"
    num_nodes = 4
    accepts = Accepts(fewest_nodes=2, ranks=True, sizes=())
    can_validate = False

    @classmethod
    def takes(cls) -> tuple[str, ...]:
        return ()

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return []
