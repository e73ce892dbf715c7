"""The ReFrame bases of HPL's checks: they choose the problem from the nodes of the system's file, and write HPL.dat."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of
from railyard.benchmarks.apps import every_node, hpl_input, hpl_sizes
from railyard.parsers import hpl
from railyard.rfm.checks.application import ApplicationCheck, EveryNodeCheck, slowest_mb_s
from railyard.rfm.checks.groups import Accepts, Layout
from railyard.rfm.versions import typed_parameter
from railyard.site.policies import DEFAULT

if TYPE_CHECKING:
    from railyard.hardware.node import NodeHardware
    from railyard.site.matrix import Need
    from railyard.site.systems.model import System


def of_file(system: "System", budget_s: float) -> "tuple[NodeHardware, float]":
    """Return a system's nodes and the seconds that a solution may take: 0 is an eighth of the system's time limit."""
    hardware = hpl_input.stated_hardware(system.nodes.hardware, system.system)
    return hardware, budget_s or hpl_input.SHARE_OF_LIMIT * system.limit_s("app")


def threads_of(system: "System", key: str, size: str, told: int) -> int:
    """Return how many threads each rank has: as told by `-S threads`, else as the system's file says, else 1."""
    measure = system.measure
    stated = measure.benchmarks.get(key) if hpl_sizes.is_published(size) else measure.amounts_of(key)
    return told or (stated.threads if stated is not None else None) or 1


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
    #: Threads of each rank; 0: those of the system's file (`measure: benchmarks: hpl`), or 1.
    threads = variable(int, value=0, loggable=True)

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return str(cls.benchmark) if cls.size == hpl_sizes.QUICK else str(cls.size)

    @classmethod
    def limit_of(cls, parameters: Mapping[str, str], system: "System", need: "Need") -> int:
        names = ("block", "share", "order", "grid", "threads")
        own = {name: need.told.get(name, getattr(cls, name)) for name in names}
        size = str(need.told.get("size", cls.size))
        try:
            threads = threads_of(system, need.benchmark, size, int(own["threads"]))
            numbers = int(own["block"]), float(own["share"]), int(own["order"])
            wish = hpl_input.Wish(*numbers, str(own["grid"]), threads)
            hardware, budget_s = of_file(system, float(need.told.get("budget_s", cls.budget_s)))
            ranks = need.ranks_told(system) or (hardware.cores // threads if threads > 1 else 0)
            planned = hpl_sizes.plan(
                *(size, hardware, need.nodes_on(system), ranks or hardware.cores),
                times=hpl_sizes.Times(budget_s, system.limit_s("app"), slowest_mb_s(system)), wish=wish,
                keep="ranks" if ranks else "" if need.all_nodes else "nodes",
            )  # fmt: skip
        except (RailyardError, ValueError):  # its test says why it does not run
            return 0
        return planned.limit_s

    @property
    def threads_a_rank(self) -> int:
        """How many threads each rank has."""
        return int(self.threads) or 1

    def shape(self) -> None:
        super().shape()
        system = self.site.system
        hardware, budget_s = of_file(system, self.budget_s)
        self.threads = threads_of(system, self.key, self.size, self.threads)
        if self.threads > 1 and not self.request.ranks:
            self.ranks_per_node = max(1, self.cores // self.threads)
        hpl_sizes.refuse_threads(self.ranks_per_node, self.threads, self.cores)
        planned = hpl_sizes.plan(
            *(self.size, hardware, self.num_nodes, self.ranks_per_node),
            times=hpl_sizes.Times(budget_s, system.limit_s("app"), self.node_mb_s),
            wish=hpl_input.Wish(self.block, self.share, self.order, self.grid, self.threads),
            keep="ranks" if self.request.ranks or self.threads > 1 else "" if self.all_nodes else "nodes",
        )  # fmt: skip
        self.take(planned.layout.nodes, planned.layout.ranks_per_node, planned.predicted_s, planned.limit_s)
        several = (f"{count_of(self.threads, 'thread')} per rank",) if self.threads > 1 else ()
        self._problem, self.remarks = planned.problem, (*self.remarks, *planned.sentences, *several)

    def input_files(self) -> dict[str, str]:
        return {"HPL.dat": hpl_input.text(self._problem)}


class HplOnOneNode(ApplicationCheck):
    """One node, whose cores a check splits among the ranks by its parameter ``per``; all cores compute in each."""

    tool = "hpl"
    parse = staticmethod(hpl.parse)
    num_nodes = 1
    all_nodes = False
    layout = Layout(within_node=True, pair_per_rail=False)
    accepts = Accepts(ranks=False)
    rails = typed_parameter([1], type=int, loggable=True)
    policy = typed_parameter([DEFAULT], type=str, loggable=True)
    #: How long the solution may take, in seconds; 0 means an eighth of the system's time limit.
    budget_s = variable(float, value=0.0)
    block = variable(int, value=hpl_input.BLOCK)
    _threads = 1

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return f"per-{parameters['per']}"

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return f"hpl-per-{parameters['per']}"

    @property
    def threads_a_rank(self) -> int:
        """How many threads each rank has: its share of the cores."""
        return self._threads

    def shape(self) -> None:
        hardware, budget_s = of_file(self.site.system, self.budget_s)
        ranks = hpl_sizes.splits(hardware)[self.per]
        self._threads = hardware.cores // ranks
        planned = hpl_sizes.plan(
            *(hpl_sizes.QUICK, hardware, 1, ranks),
            times=hpl_sizes.Times(budget_s, self.site.system.limit_s("app")),
            wish=hpl_input.Wish(self.block, threads=self._threads),
            keep="ranks",
        )
        self.take(1, ranks, planned.predicted_s, planned.limit_s)
        self._problem = planned.problem
        self.remarks = (*self.remarks, *planned.sentences, hpl_sizes.say_split(ranks, self._threads))

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
