"""The ReFrame base of NPB's checks: nodes and ranks with which a class takes long enough to be judged."""

from collections.abc import Mapping

from railyard.benchmarks.apps import npb_duration, npb_shape
from railyard.parsers import npb
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.groups import Start


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

    @property
    def program(self) -> str:
        """The executable: one per kernel and class, for any number of processes."""
        return f"{self.kernel}.{self.problem}.x"

    def shape(self) -> None:
        there, hardware = self.num_nodes, self.site.system.nodes.hardware
        if self.all_nodes:
            memory = None if hardware is None else hardware.memory
            planned = not self.site.system.npb_classes
            placed = npb_duration.place(self.kernel, self.problem, there, self.most_ranks, memory, planned=planned)
        else:
            placed = npb_duration.on_nodes(self.kernel, self.problem, there, self.most_ranks)
        self.take(placed.nodes, placed.ranks_per_node, placed.predicted_s, npb_duration.limit_s(placed.predicted_s))
        if hardware is not None:
            npb_shape.refuse_too_large(self.kernel, self.problem, self.num_nodes, hardware.memory)
        used = f"{self.num_nodes} of {there} nodes, {self.ranks_per_node} of {self.cores} cores per node"
        self.remarks = (*self.remarks, used, npb_duration.describe(self.kernel, placed))
