"""The NAS Parallel Benchmarks for MPI: eight kernels of codes that compute, each with its own way to communicate.

EP sends almost nothing: if it is low, it is the node, not the network. FT and IS exchange everything with everybody: if
they are low and EP is good, it is the network or its middle. CG sends small and irregular messages (latency), MG sends
messages of all sizes, and BT, SP and LU send only to neighbours. A site's file names the classes to run
(`npb_classes`).
"""

from collections.abc import Mapping

import reframe as rfm

from railyard.benchmarks.apps import npb_shape
from railyard.parsers import npb
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.groups import Start
from railyard.rfm.checks.variants import node_counts, stated
from railyard.rfm.versions import typed_parameter


class NpbCheck(ApplicationCheck):
    """One kernel of one class, on as many of the available ranks as it takes."""

    tool = "npb"
    parse = staticmethod(npb.parse)
    problem = typed_parameter(stated("npb", tuple(npb_shape.CLASSES)), type=str, loggable=True)
    start = Start(without=(npb_shape.STRICT_VARIABLE,))

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return f"{parameters['kernel'].upper()}/{parameters['problem']}"

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return f"npb-{parameters['problem']}"

    @property
    def program(self) -> str:
        """The executable: one per kernel and class, for any number of processes."""
        return f"{self.kernel}.{self.problem}.x"

    def shape(self) -> None:
        there, hardware = self.num_nodes, self.site.system.nodes.hardware
        if self.all_nodes:
            self.num_nodes, self.ranks_per_node = npb_shape.layout(self.kernel, self.problem, there, self.most_ranks)
        else:
            self.ranks_per_node = npb_shape.ranks_per_node(self.kernel, self.problem, there, self.most_ranks)
        if hardware is not None:
            npb_shape.refuse_too_large(self.kernel, self.problem, self.num_nodes, hardware.memory)
        self.remarks = (f"{self.num_nodes} of {there} nodes, {self.ranks_per_node} of {self.cores} cores per node",)


@rfm.simple_test
class Npb(NpbCheck):
    """One of the eight kernels: `-P kernel=ft -P problem=C` selects one."""

    kernel = typed_parameter(tuple(npb_shape.KERNELS), type=str, loggable=True)


@rfm.simple_test
class NpbScaling(NpbCheck):
    """The same problem on 1, 2, 4 … nodes, for the kernels with no and with most messages: `railyard scaling`."""

    tags = {"apps", "scaling"}
    all_nodes = False
    kernel = typed_parameter(("ep", "ft"), type=str, loggable=True)
    nodes = typed_parameter(node_counts(), type=int, loggable=True)
