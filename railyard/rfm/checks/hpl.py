"""The ReFrame bases of HPL's checks: they choose the problem from the nodes of the system's file, and write HPL.dat."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import every_node, hpl_input, hpl_sizes
from railyard.parsers import hpl
from railyard.rfm.checks.application import ApplicationCheck, EveryNodeCheck, slowest_mb_s

if TYPE_CHECKING:
    from railyard.hardware.node import NodeHardware
    from railyard.site.matrix import Need
    from railyard.site.systems.model import System


def of_file(system: "System", budget_s: float) -> "tuple[NodeHardware, float]":
    """Return a system's nodes and the seconds that a solution may take: 0 is an eighth of the system's time limit."""
    hardware = hpl_input.stated_hardware(system.nodes.hardware, system.system)
    return hardware, budget_s or hpl_input.SHARE_OF_LIMIT * system.limit_s("app")


class HplCheck(ApplicationCheck):
    """One run of a named size. Of `quick` you can set `-S order=40000`, `-S share=0.5` and `-S grid=2x3`, too."""

    tool = "hpl"
    benchmark = "hpl"
    parse = staticmethod(hpl.parse)
    #: quick, acceptance or seed: how much of the memory the matrix takes, and on which ranks.
    size = variable(str, value=hpl_sizes.QUICK, loggable=True)
    #: How long the solution of `quick` may take, in seconds; 0 means an eighth of the system's time limit.
    budget_s = variable(float, value=0.0)
    #: The share of all nodes' memory that the matrix may take; 0 means that of its size.
    share = variable(float, value=0.0)
    block = variable(int, value=hpl_input.BLOCK)
    order = variable(int, value=0)
    grid = variable(str, value="")

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return str(cls.benchmark) if cls.size == hpl_sizes.QUICK else str(cls.size)

    @classmethod
    def limit_of(cls, parameters: Mapping[str, str], system: "System", need: "Need") -> int:
        own = {name: need.told.get(name, getattr(cls, name)) for name in ("block", "share", "order", "grid")}
        try:
            wish = hpl_input.Wish(int(own["block"]), float(own["share"]), int(own["order"]), str(own["grid"]))
            hardware, budget_s = of_file(system, float(need.told.get("budget_s", cls.budget_s)))
            ranks = need.ranks_told(system)
            planned = hpl_sizes.plan(
                *(str(need.told.get("size", cls.size)), hardware, need.nodes_on(system), ranks or hardware.cores),
                times=hpl_sizes.Times(budget_s, system.limit_s("app"), slowest_mb_s(system)), wish=wish,
                keep="ranks" if ranks else "" if need.all_nodes else "nodes",
            )  # fmt: skip
        except (RailyardError, ValueError):  # its test says why it does not run
            return 0
        return planned.limit_s

    def shape(self) -> None:
        super().shape()
        system = self.site.system
        hardware, budget_s = of_file(system, self.budget_s)
        planned = hpl_sizes.plan(
            *(self.size, hardware, self.num_nodes, self.ranks_per_node),
            times=hpl_sizes.Times(budget_s, system.limit_s("app"), self.node_mb_s),
            wish=hpl_input.Wish(self.block, self.share, self.order, self.grid),
            keep="ranks" if self.request.ranks else "" if self.all_nodes else "nodes",
        )  # fmt: skip
        self.take(planned.layout.nodes, planned.layout.ranks_per_node, planned.predicted_s, planned.limit_s)
        self._problem, self.remarks = planned.problem, (*self.remarks, *planned.sentences)

    def input_files(self) -> dict[str, str]:
        return {"HPL.dat": hpl_input.text(self._problem)}


class HplOnEachNode(EveryNodeCheck):
    """One process per node, with one thread per core, each by itself."""

    tool = "hpl"
    parse = staticmethod(every_node.hpl_of_nodes)
    budget_s = variable(float, value=0.0)
    share = variable(float, value=hpl_input.MEMORY_SHARE)

    def shape(self) -> None:
        super().shape()
        hardware, budget_s = of_file(self.site.system, self.budget_s)
        self._problem = hpl_input.plan(hardware, 1, 1, budget_s=budget_s, wish=hpl_input.Wish(share=self.share))
        self.remarks = (*self.remarks, self._problem.sentence)

    def input_files(self) -> dict[str, str]:
        return {**super().input_files(), "HPL.dat": hpl_input.text(self._problem)}
