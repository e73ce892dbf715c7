"""The ReFrame base of NPB's checks: nodes and ranks with which a class takes long enough to be judged."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import npb_duration, npb_shape
from railyard.benchmarks.apps.npb_duration import KernelRun
from railyard.parsers import npb
from railyard.rfm.checks.application import ApplicationCheck, slowest_mb_s
from railyard.rfm.checks.groups import Start

if TYPE_CHECKING:
    from railyard.site.matrix import Need
    from railyard.site.systems.model import System


def place(system: "System", kernel: str, problem: str, nodes: int, cores: int, *, all_nodes: bool) -> KernelRun:
    """Return on which nodes and ranks a class runs on a system: ``all_nodes`` False keeps the number of nodes."""
    if not all_nodes:
        return npb_duration.on_nodes(kernel, problem, nodes, cores)
    hardware = system.nodes.hardware
    memory = None if hardware is None else hardware.memory
    return npb_duration.place(kernel, problem, nodes, cores, memory, planned=not system.npb_classes)


class NpbCheck(ApplicationCheck):
    """One kernel of one class: a check has the parameters ``kernel`` and ``problem``."""

    tool = "npb"
    parse = staticmethod(npb.parse)
    start = Start(without=(npb_shape.STRICT_VARIABLE,))

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return f"{parameters['kernel'].upper()}/{parameters['problem']}"

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return f"npb-{parameters['kernel']}-{parameters['problem']}"

    @classmethod
    def limit_of(cls, parameters: Mapping[str, str], system: "System", need: "Need") -> int:
        cores = need.ranks_told(system) or (1 if system.nodes.hardware is None else system.nodes.hardware.cores)
        kernel, problem = parameters["kernel"], parameters["problem"]
        try:
            placed = place(system, kernel, problem, need.nodes_on(system), cores, all_nodes=need.all_nodes)
        except RailyardError:  # its test says why it does not run
            return 0
        adds_s = npb_duration.messages_s(kernel, placed, slowest_mb_s(system))
        return npb_duration.limit_s(placed.predicted_s + adds_s)

    @property
    def program(self) -> str:
        """The executable: one per kernel and class, for any number of processes."""
        return f"{self.kernel}.{self.problem}.x"

    def shape(self) -> None:
        there, hardware = self.num_nodes, self.site.system.nodes.hardware
        placed = place(
            self.site.system, self.kernel, self.problem, there, self.most_ranks, all_nodes=bool(self.all_nodes)
        )
        adds_s = npb_duration.messages_s(self.kernel, placed, self.node_mb_s)
        predicted_s = placed.predicted_s + adds_s
        self.take(placed.nodes, placed.ranks_per_node, predicted_s, npb_duration.limit_s(predicted_s))
        if hardware is not None:
            npb_shape.refuse_too_large(self.kernel, self.problem, self.num_nodes, hardware.memory)
        used = f"{self.num_nodes} of {there} nodes, {self.ranks_per_node} of {self.cores} cores per node"
        self.remarks = (*self.remarks, used, npb_duration.describe(self.kernel, placed, adds_s))
