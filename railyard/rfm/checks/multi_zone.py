"""The ReFrame base of NPB's multi-zone benchmarks: ranks, and threads in each, chosen from cores and zones."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import npb_duration, npb_mz_shape
from railyard.benchmarks.table.applications import NPB_MZ
from railyard.parsers import npb
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.groups import Outputs, Start
from railyard.stacks.model import NIC_PER_RANK

if TYPE_CHECKING:
    from railyard.site.matrix import Need
    from railyard.site.systems.model import System


def _nodes(system: "System", code: str, problem: str, there: int) -> int:
    """Return on how many of the nodes a class runs: on fewer only if it was chosen, and would else be too short."""
    hardware = system.nodes.hardware
    if system.npb_classes or hardware is None:
        return there
    chosen, used = npb_mz_shape.choose(code, there, hardware.cores, hardware.memory)
    return used if chosen == problem else there


class MultiZoneCheck(ApplicationCheck):
    """One kernel of one class; a check has the parameters ``code`` and ``problem``."""

    tool = "npb"
    parse = staticmethod(npb.parse)
    #: Threads per rank, and ranks per node; 0 means: choose them from cores and zones.
    threads = variable(int, value=0, loggable=True)
    ranks = variable(int, value=0, loggable=True)
    start = Start(without=npb_mz_shape.CLEARED)
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
        return {**super().told_ranks, **npb_mz_shape.BALANCE}

    @property
    def program(self) -> str:
        """The executable of NPB 3.4: one per kernel and class, for any number of ranks."""
        return self.programs[0]

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of its executable by release: NPB 3.4's, and that of earlier ones with the number of ranks."""
        return tuple(npb_mz_shape.programs(self.code, self.problem, self.num_tasks))

    @classmethod
    def limit_of(cls, parameters: Mapping[str, str], system: "System", need: "Need") -> int:
        code, problem = parameters["code"], parameters["problem"]
        cores = 1 if system.nodes.hardware is None else system.nodes.hardware.cores
        nodes = need.nodes_on(system)
        try:
            used = _nodes(system, code, problem, nodes) if need.all_nodes else nodes
            chosen = npb_mz_shape.layout(
                *(code, problem, used, cores),
                threads=int(need.told.get("threads", cls.threads)),
                ranks=int(need.told.get("ranks", cls.ranks)) or need.ranks_told(system),
            )
        except (RailyardError, ValueError):  # its test says why it does not run
            return 0
        return npb_duration.limit_s(npb_mz_shape.predicted_s(code, problem, chosen))

    def shape(self) -> None:
        there, hardware = self.num_nodes, self.site.system.nodes.hardware
        least = self.rails if self.test_id.policy == NIC_PER_RANK else 1
        used = _nodes(self.site.system, self.code, self.problem, there) if self.all_nodes else there
        chosen = npb_mz_shape.layout(
            *(self.code, self.problem, used, self.cores),
            threads=self.threads,
            ranks=self.ranks or self.request.ranks,
            least=least,
        )
        self.threads, predicted_s = chosen.threads, npb_mz_shape.predicted_s(self.code, self.problem, chosen)
        self.take(chosen.nodes, chosen.ranks_per_node, predicted_s, npb_duration.limit_s(predicted_s))
        if hardware is not None:
            npb_mz_shape.refuse_too_large(self.code, self.problem, self.num_nodes, hardware.memory)
        self.remarks = (
            npb_mz_shape.describe(self.code, self.problem, chosen, there, self.cores),
            npb_mz_shape.describe_time(self.code, self.problem, chosen),
        )
