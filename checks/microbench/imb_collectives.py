"""Intel MPI Benchmarks' collectives over four nodes: all rails of all nodes at once.

If pairs are good and a collective is slow, it is the algorithm (the stack's choice, a switch that should reduce and
does not) or a node that is slower than the rest. If it is slow at large messages, it is a rail, or the switch between
its sides.
"""

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts
from railyard.rfm.checks.groups import Accepts
from railyard.rfm.checks.microbench import ImbCheck, ImbExtended


@rfm.simple_test
class ImbAllreduce(ImbCheck):
    """A reduction over four nodes: all rails of all nodes at once."""

    benchmark = "Allreduce"
    num_nodes = 4
    accepts = Accepts(fewest_nodes=2, ranks=True)
    fewest = Amounts(3)
    #: IMB reduces floats of 4 bytes, and rounds other sizes up.
    smallest = 4


@rfm.simple_test
class ImbAlltoall(ImbExtended):
    """Each node sends a different message to each other node: all pairs of nodes at once."""

    benchmark = "Alltoall"
    num_nodes = 4
    accepts = Accepts(fewest_nodes=2, ranks=True)
    passes = 1


@rfm.simple_test
class ImbAlltoallv(ImbAlltoall):
    """The same with a size per partner, for which stacks have other algorithms."""

    benchmark = "Alltoallv"
