"""The ReFrame bases of HPL's checks: they choose the problem from the nodes of the system's file, and write HPL.dat.

The ReFrame base of NPB's checks: nodes and ranks with which a class takes long enough to be judged.

The ReFrame base of NPB's multi-zone benchmarks: ranks, and threads in each, chosen from cores and zones.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import every_node
from railyard.benchmarks.apps import hpl as hpl_input
from railyard.benchmarks.apps import npb as npb_shape
from railyard.benchmarks.apps.npb import KernelRun
from railyard.benchmarks.table.applications import NPB_MZ
from railyard.parsers import hpl, npb
from railyard.rfm.checks.application import ApplicationCheck, EveryNodeCheck
from railyard.rfm.checks.groups import Outputs, Start
from railyard.stacks.model import NIC_PER_RANK

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
    size = variable(str, value=hpl_input.QUICK, loggable=True)
    #: How long the solution of `quick` may take, in seconds; 0 means an eighth of the system's time limit.
    budget_s = variable(float, value=0.0)
    #: The share of all nodes' memory that the matrix may take; 0 means that of its size.
    share = variable(float, value=0.0)
    block = variable(int, value=hpl_input.BLOCK)
    order = variable(int, value=0)
    grid = variable(str, value="")

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return str(cls.benchmark) if cls.size == hpl_input.QUICK else str(cls.size)

    @classmethod
    def limit_of(cls, parameters: Mapping[str, str], system: "System", need: "Need") -> int:
        own = {name: need.told.get(name, getattr(cls, name)) for name in ("block", "share", "order", "grid")}
        try:
            wish = hpl_input.Wish(int(own["block"]), float(own["share"]), int(own["order"]), str(own["grid"]))
            hardware, budget_s = of_file(system, float(need.told.get("budget_s", cls.budget_s)))
            ranks = need.ranks_told(system)
            planned = hpl_input.plan_size(
                *(str(need.told.get("size", cls.size)), hardware, need.nodes_on(system), ranks or hardware.cores),
                times=hpl_input.Times(budget_s, system.limit_s("app")), wish=wish,
                keep="ranks" if ranks else "" if need.all_nodes else "nodes",
            )  # fmt: skip
        except (RailyardError, ValueError):  # its test says why it does not run
            return 0
        return planned.limit_s

    def shape(self) -> None:
        super().shape()
        system = self.site.system
        hardware, budget_s = of_file(system, self.budget_s)
        planned = hpl_input.plan_size(
            *(self.size, hardware, self.num_nodes, self.ranks_per_node),
            times=hpl_input.Times(budget_s, system.limit_s("app")),
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


def place(system: "System", kernel: str, problem: str, nodes: int, cores: int, *, all_nodes: bool) -> KernelRun:
    """Return on which nodes and ranks a class runs on a system: ``all_nodes`` False keeps the number of nodes."""
    if not all_nodes:
        return npb_shape.on_nodes(kernel, problem, nodes, cores)
    hardware = system.nodes.hardware
    memory = None if hardware is None else hardware.memory
    return npb_shape.place(kernel, problem, nodes, cores, memory, planned=not system.npb_classes)


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
        return npb_shape.limit_s(placed.predicted_s)

    @property
    def program(self) -> str:
        """The executable: one per kernel and class, for any number of processes."""
        return f"{self.kernel}.{self.problem}.x"

    def shape(self) -> None:
        there, hardware = self.num_nodes, self.site.system.nodes.hardware
        placed = place(
            self.site.system, self.kernel, self.problem, there, self.most_ranks, all_nodes=bool(self.all_nodes)
        )
        self.take(placed.nodes, placed.ranks_per_node, placed.predicted_s, npb_shape.limit_s(placed.predicted_s))
        if hardware is not None:
            npb_shape.refuse_too_large(self.kernel, self.problem, self.num_nodes, hardware.memory)
        used = f"{self.num_nodes} of {there} nodes, {self.ranks_per_node} of {self.cores} cores per node"
        self.remarks = (*self.remarks, used, npb_shape.describe(self.kernel, placed))


class MultiZoneCheck(ApplicationCheck):
    """One kernel of one class; a check has the parameters ``code`` and ``problem``."""

    tool = "npb"
    parse = staticmethod(npb.parse)
    #: Threads per rank, and ranks per node; 0 means: choose them from cores and zones.
    threads = variable(int, value=0, loggable=True)
    ranks = variable(int, value=0, loggable=True)
    start = Start(without=npb_shape.CLEARED)
    outputs = Outputs(has_threads=True)

    @classmethod
    def tool_of(cls, parameters: Mapping[str, str]) -> str:
        return NPB_MZ

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return f"{parameters['code'].upper()}/{parameters['problem']}"

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return f"npb-{parameters['code']}-{parameters['problem']}"

    @property
    def key(self) -> str:
        """The benchmark's name in references and records, ``npb/BT-MZ/C``: the same as read from NPB's output."""
        return f"npb/{self.benchmark}"

    @property
    def threads_a_rank(self) -> int:
        """How many threads each rank has: as many as it has cores."""
        return int(self.threads) or 1

    @property
    def told_ranks(self) -> Mapping[str, str]:
        """The variables that every rank gets: its number of threads, and that no thread moves to another rank."""
        return {**super().told_ranks, **npb_shape.BALANCE}

    @property
    def program(self) -> str:
        """The executable of NPB 3.4: one per kernel and class, for any number of ranks."""
        return self.programs[0]

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of its executable by release: NPB 3.4's, and that of earlier ones with the number of ranks."""
        return tuple(npb_shape.programs(self.code, self.problem, self.num_tasks))

    def shape(self) -> None:
        there, hardware = self.num_nodes, self.site.system.nodes.hardware
        least = self.rails if self.test_id.policy == NIC_PER_RANK else 1
        chosen = npb_shape.layout(
            *(self.code, self.problem, there, self.cores),
            threads=self.threads,
            ranks=self.ranks or self.request.ranks,
            least=least,
        )
        self.num_nodes, self.ranks_per_node, self.threads = chosen.nodes, chosen.ranks_per_node, chosen.threads
        if hardware is not None:
            npb_shape.refuse_large_zones(self.code, self.problem, self.num_nodes, hardware.memory)
        self.remarks = (npb_shape.describe_zones(self.code, self.problem, chosen, there, self.cores),)
