"""The NAS Parallel Benchmarks for MPI: eight kernels of codes that compute, each with its own way to communicate.

EP sends almost nothing: if it is low, it is the node, not the network. FT and IS exchange everything with everybody: if
they are low and EP is good, it is the network or its middle. CG sends small and irregular messages (latency), MG sends
messages of all sizes, and BT, SP and LU send only to neighbours. Each kernel runs the class that takes 20 s on the
nodes of the system, or those that its file names (`npb_classes`).
"""

from collections.abc import Mapping

import reframe as rfm

from railyard.benchmarks.apps import npb
from railyard.rfm.checks.declaration import node_counts, stated
from railyard.rfm.checks.planned_problem import NpbCheck
from railyard.rfm.versions import typed_parameter


@rfm.simple_test
class Npb(NpbCheck):
    """One of the eight kernels: `-P kernel=ft -P problem=C` selects one."""

    problem = typed_parameter(stated("npb", tuple(npb.CLASSES)), type=str, loggable=True)
    kernel = typed_parameter(tuple(npb.KERNELS), type=str, loggable=True)


@rfm.simple_test
class NpbScaling(NpbCheck):
    """The same problem on 1, 2, 4 … nodes, for the kernels with no and with most messages: `railyard scaling`."""

    tags = {"apps", "scaling"}
    all_nodes = False
    problem = typed_parameter(stated("npb-swept", tuple(npb.CLASSES)), type=str, loggable=True)
    kernel = typed_parameter(("ep", "ft"), type=str, loggable=True)
    nodes = typed_parameter(node_counts(), type=int, loggable=True)

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return f"npb-swept-{parameters['kernel']}-{parameters['problem']}"
