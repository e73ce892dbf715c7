"""The ReFrame bases of checks that choose their problem from the nodes: HPL, NPB and NPB's multi-zone benchmarks.

The ReFrame bases of HPL's checks: they choose the problem from the nodes of the system's file, and write HPL.dat.

The ReFrame base of NPB's checks: nodes and ranks with which a class takes long enough to be judged.

The ReFrame base of NPB's multi-zone benchmarks: ranks, and threads in each, chosen from cores and zones.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of
from railyard.benchmarks.apps import every_node, hpl, least_traffic, npb
from railyard.benchmarks.apps.npb import KernelRun
from railyard.benchmarks.table.applications import NPB_MZ
from railyard.parsers.hpl import parse as parse_hpl
from railyard.parsers.npb import parse as parse_npb
from railyard.rfm.checks.application import (
    ApplicationCheck,
    EveryNodeCheck,
    slowest_mb_s,
    slowest_start_us,
    start_us,
)
from railyard.rfm.checks.groups import Accepts, Layout, Outputs, Start
from railyard.rfm.versions import typed_parameter
from railyard.site.matrix import DEFAULT
from railyard.stacks.model import NIC_PER_RANK

if TYPE_CHECKING:
    from railyard.hardware.node import NodeHardware
    from railyard.site.matrix import Need
    from railyard.site.systems.model import System


def of_file(system: "System", budget_s: float) -> "tuple[NodeHardware, float]":
    """Return a system's nodes and the seconds that a solution may take: 0 is an eighth of the system's time limit."""
    hardware = hpl.stated_hardware(system.nodes.hardware, system.system)
    return hardware, budget_s or hpl.SHARE_OF_LIMIT * system.limit_s("app")


def threads_of(system: "System", key: str, size: str, told: int) -> int:
    """Return how many threads each rank has: as told by `-S threads`, else as the system's file says, else 1."""
    measure = system.measure
    stated = measure.benchmarks.get(key) if hpl.is_published(size) else measure.amounts_of(key)
    return told or (stated.threads if stated is not None else None) or 1


class HplCheck(ApplicationCheck):
    """One run of a named size. Of `quick` you can set `-S order=40000`, `-S share=0.5` and `-S grid=2x3`, too."""

    tool = "hpl"
    benchmark = "hpl"
    parse = staticmethod(parse_hpl)
    #: quick, acceptance or seed: how much of the memory the matrix takes, and on which ranks.
    size = variable(str, value=hpl.QUICK, loggable=True)
    #: How long the solution of `quick` may take, in seconds; 0 means an eighth of the system's time limit.
    budget_s = variable(float, value=0.0)
    #: The share of all nodes' memory that the matrix may take; 0 means that of its size.
    share = variable(float, value=0.0)
    block = variable(int, value=hpl.BLOCK)
    order = variable(int, value=0)
    grid = variable(str, value="")
    #: Threads of each rank; 0: those of the system's file (`measure: benchmarks: hpl`), or 1.
    threads = variable(int, value=0, loggable=True)

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return str(cls.benchmark) if cls.size == hpl.QUICK else str(cls.size)

    @classmethod
    def limit_of(cls, parameters: Mapping[str, str], system: "System", need: "Need") -> int:
        names = ("block", "share", "order", "grid", "threads")
        own = {name: need.told.get(name, getattr(cls, name)) for name in names}
        size = str(need.told.get("size", cls.size))
        try:
            threads = threads_of(system, need.benchmark, size, int(own["threads"]))
            numbers = int(own["block"]), float(own["share"]), int(own["order"])
            wish = hpl.Wish(*numbers, str(own["grid"]), threads)
            hardware, budget_s = of_file(system, float(need.told.get("budget_s", cls.budget_s)))
            ranks = need.ranks_told(system) or (hardware.cores // threads if threads > 1 else 0)
            planned = hpl.plan_size(
                *(size, hardware, need.nodes_on(system), ranks or hardware.cores),
                times=hpl.Times(budget_s, system.limit_s("app"), slowest_mb_s(system)), wish=wish,
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
        hpl.refuse_threads(self.ranks_per_node, self.threads, self.cores)
        planned = hpl.plan_size(
            *(self.size, hardware, self.num_nodes, self.ranks_per_node),
            times=hpl.Times(budget_s, system.limit_s("app"), self.node_mb_s),
            wish=hpl.Wish(self.block, self.share, self.order, self.grid, self.threads),
            keep="ranks" if self.request.ranks or self.threads > 1 else "" if self.all_nodes else "nodes",
        )  # fmt: skip
        self.take(planned.layout.nodes, planned.layout.ranks_per_node, planned.predicted_s, planned.limit_s)
        several = (f"{count_of(self.threads, 'thread')} per rank",) if self.threads > 1 else ()
        self._problem, self.remarks = planned.problem, (*self.remarks, *planned.sentences, *several)

    def input_files(self) -> dict[str, str]:
        return {"HPL.dat": hpl.text(self._problem)}


class HplOnOneNode(ApplicationCheck):
    """One node, whose cores a check splits among the ranks by its parameter ``per``; all cores compute in each."""

    tool = "hpl"
    parse = staticmethod(parse_hpl)
    num_nodes = 1
    all_nodes = False
    layout = Layout(within_node=True, pair_per_rail=False)
    accepts = Accepts(ranks=False)
    rails = typed_parameter([1], type=int, loggable=True)
    policy = typed_parameter([DEFAULT], type=str, loggable=True)
    #: How long the solution may take, in seconds; 0 means an eighth of the system's time limit.
    budget_s = variable(float, value=0.0)
    block = variable(int, value=hpl.BLOCK)
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
        ranks = hpl.splits(hardware)[self.per]
        self._threads = hardware.cores // ranks
        planned = hpl.plan_size(
            *(hpl.QUICK, hardware, 1, ranks),
            times=hpl.Times(budget_s, self.site.system.limit_s("app")),
            wish=hpl.Wish(self.block, threads=self._threads),
            keep="ranks",
        )
        self.take(1, ranks, planned.predicted_s, planned.limit_s)
        self._problem = planned.problem
        self.remarks = (*self.remarks, *planned.sentences, hpl.say_split(ranks, self._threads))

    def input_files(self) -> dict[str, str]:
        return {"HPL.dat": hpl.text(self._problem)}


class HplOnEachNode(EveryNodeCheck):
    """One process per node, with one thread per core, each by itself."""

    tool = "hpl"
    parse = staticmethod(every_node.hpl_of_nodes)
    budget_s = variable(float, value=0.0)
    share = variable(float, value=hpl.MEMORY_SHARE)

    def shape(self) -> None:
        super().shape()
        hardware, budget_s = of_file(self.site.system, self.budget_s)
        self._problem = hpl.plan(hardware, 1, 1, budget_s=budget_s, wish=hpl.Wish(share=self.share))
        self.remarks = (*self.remarks, self._problem.sentence)

    def input_files(self) -> dict[str, str]:
        return {**super().input_files(), "HPL.dat": hpl.text(self._problem)}


def place(system: "System", kernel: str, problem: str, nodes: int, cores: int, *, all_nodes: bool) -> KernelRun:
    """Return on which nodes and ranks a class runs on a system: ``all_nodes`` False keeps the number of nodes."""
    if not all_nodes:
        return npb.on_nodes(kernel, problem, nodes, cores)
    hardware = system.nodes.hardware
    memory = None if hardware is None else hardware.memory
    return npb.place(kernel, problem, nodes, cores, memory, planned=not system.npb_classes)


class NpbCheck(ApplicationCheck):
    """One kernel of one class: a check has the parameters ``kernel`` and ``problem``."""

    tool = "npb"
    parse = staticmethod(parse_npb)
    start = Start(without=(npb.STRICT_VARIABLE,))

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
        adds_s = least_traffic.messages_s(kernel, placed, slowest_mb_s(system), slowest_start_us(system))
        return npb.limit_s(placed.predicted_s + adds_s)

    @property
    def program(self) -> str:
        """The executable: one per kernel and class, for any number of processes."""
        return f"{self.kernel}.{self.problem}.x"

    def shape(self) -> None:
        there, hardware = self.num_nodes, self.site.system.nodes.hardware
        placed = place(
            self.site.system, self.kernel, self.problem, there, self.most_ranks, all_nodes=bool(self.all_nodes)
        )
        kind = self.site.system.fabrics[self.current_partition.name].kind
        adds_s = least_traffic.messages_s(self.kernel, placed, self.node_mb_s, start_us(kind))
        predicted_s = placed.predicted_s + adds_s
        self.take(placed.nodes, placed.ranks_per_node, predicted_s, npb.limit_s(predicted_s))
        if hardware is not None:
            npb.refuse_too_large(self.kernel, self.problem, self.num_nodes, hardware.memory)
        used = f"{self.num_nodes} of {there} nodes, {self.ranks_per_node} of {self.cores} cores per node"
        self.remarks = (*self.remarks, used, npb.describe(self.kernel, placed, adds_s))


def _nodes(system: "System", code: str, problem: str, there: int) -> int:
    """Return on how many of the nodes a class runs: on fewer only if it was chosen, and would else be too short."""
    hardware = system.nodes.hardware
    if system.npb_classes or hardware is None:
        return there
    chosen, used = npb.choose_zones(code, there, hardware.cores, hardware.memory)
    return used if chosen == problem else there


class MultiZoneCheck(ApplicationCheck):
    """One kernel of one class; a check has the parameters ``code`` and ``problem``."""

    tool = "npb"
    parse = staticmethod(parse_npb)
    #: Threads per rank, and ranks per node; 0 means: choose them from cores and zones.
    threads = variable(int, value=0, loggable=True)
    ranks = variable(int, value=0, loggable=True)
    start = Start(without=npb.CLEARED)
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
        return {**super().told_ranks, **npb.BALANCE}

    @property
    def program(self) -> str:
        """The executable of NPB 3.4: one per kernel and class, for any number of ranks."""
        return self.programs[0]

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of its executable by release: NPB 3.4's, and that of earlier ones with the number of ranks."""
        return tuple(npb.programs(self.code, self.problem, self.num_tasks))

    @classmethod
    def limit_of(cls, parameters: Mapping[str, str], system: "System", need: "Need") -> int:
        code, problem = parameters["code"], parameters["problem"]
        cores = 1 if system.nodes.hardware is None else system.nodes.hardware.cores
        nodes = need.nodes_on(system)
        try:
            used = _nodes(system, code, problem, nodes) if need.all_nodes else nodes
            chosen = npb.layout(
                *(code, problem, used, cores),
                threads=int(need.told.get("threads", cls.threads)),
                ranks=int(need.told.get("ranks", cls.ranks)) or need.ranks_told(system),
            )
        except (RailyardError, ValueError):  # its test says why it does not run
            return 0
        return npb.limit_s(npb.predicted_zones_s(code, problem, chosen))

    def shape(self) -> None:
        there, hardware = self.num_nodes, self.site.system.nodes.hardware
        least = self.rails if self.test_id.policy == NIC_PER_RANK else 1
        used = _nodes(self.site.system, self.code, self.problem, there) if self.all_nodes else there
        chosen = npb.layout(
            *(self.code, self.problem, used, self.cores),
            threads=self.threads,
            ranks=self.ranks or self.request.ranks,
            least=least,
        )
        self.threads, predicted_s = chosen.threads, npb.predicted_zones_s(self.code, self.problem, chosen)
        self.take(chosen.nodes, chosen.ranks_per_node, predicted_s, npb.limit_s(predicted_s))
        if hardware is not None:
            npb.refuse_large_zones(self.code, self.problem, self.num_nodes, hardware.memory)
        self.remarks = (
            npb.describe_zones(self.code, self.problem, chosen, there, self.cores),
            npb.describe_time(self.code, self.problem, chosen),
        )
