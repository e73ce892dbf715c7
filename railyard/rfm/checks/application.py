"""The ReFrame base of the checks of applications: a problem in place of message sizes, on the ranks that it takes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reframe.core.builtins import parameter

from railyard.benchmarks.apps import every_node
from railyard.benchmarks.table.applications import key_on
from railyard.rfm.checks.base import InterconnectCheck
from railyard.site.policies import DEFAULT

if TYPE_CHECKING:
    from railyard.job.command import Command
    from railyard.rfm.checks.prober import Prober

#: What tells a program its threads: a BLAS that started one a core in every rank would measure the scheduler.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
#: Where ranks share the host's cores, a thread that waits for its rank's others must not hold the core that they need:
#: BT-MZ of class W, four ranks of two threads on two cores, took 2 s so and was not done after 120 s without.
SHARED_CORES = {"OMP_WAIT_POLICY": "passive"}


class ApplicationCheck(InterconnectCheck):
    """One application over one fabric, stack and number of rails.

    A check names ``tool``, ``benchmark`` (or parameters of its own and ``problem_of``) and ``parse``, and gives
    ``words``, ``input_files`` and, where not every number of ranks will do, ``shape``. It spans all nodes, or as
    many as its parameter ``nodes`` says, which is then part of the benchmark's name.
    """

    tags = {"apps"}
    extended = True
    all_nodes = True
    check_class = "app"
    #: All cores of a node compute, so that where each rank has a card of its own all cards are used.
    pair_a_rail = True
    takes_ranks = True
    sizes_told: tuple[str, ...] = ()

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        """Return the problem of a variant, whatever its number of nodes."""
        return str(cls.benchmark)

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        problem = cls.problem_of(parameters)
        return key_on(problem, int(parameters["nodes"])) if "nodes" in parameters else problem

    @classmethod
    def nodes_of(cls, parameters: Mapping[str, str]) -> int:
        return int(parameters.get("nodes", cls.num_nodes))

    @classmethod
    def is_within_node(cls, parameters: Mapping[str, str]) -> bool:
        return bool(cls.within_node) or cls.nodes_of(parameters) == 1

    @property
    def words(self) -> list[str]:
        """The application's own words on its command line."""
        return []

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return self.words

    @property
    def most_ranks(self) -> int:
        """How many ranks a node is to have at most: as many as it was told, else as it can have."""
        return int(self.asked_ranks) or self.cores

    @property
    def told_ranks(self) -> Mapping[str, str]:
        """The variables that every rank is given: its threads, one unless a check says another number."""
        shared = self.threads_a_rank > 1 and self.site.system.provider in ("testbed", "guests")
        return {**dict.fromkeys(THREAD_VARIABLES, str(self.threads_a_rank)), **(SHARED_CORES if shared else {})}

    def shape(self) -> None:
        """Choose ``ranks_per_node`` (and fewer nodes, where all of them will not do) once the nodes are known."""
        self.ranks_per_node = self.most_ranks

    @property
    def prober(self) -> "Prober":
        """Nobody: an application tells no rail from another; the micro-benchmarks do."""
        from railyard.rfm.checks.prober import Nobody

        return Nobody()


class EveryNodeCheck(ApplicationCheck):
    """A copy of the application on every node, each by itself and all at once: what a node gives without any network.

    It belongs to no fabric and runs once a stack, on the first one. The slowest node is judged, and every node far
    below the others is named: a slow node is not a slow link.
    """

    benchmark = every_node.EVERY_NODE
    within_node = True
    pair_a_rail = False
    takes_ranks = False
    rails = parameter([1], type=int, loggable=True)
    policy = parameter([DEFAULT], type=str, loggable=True)

    @property
    def threads_a_rank(self) -> int:
        """How many threads each copy has: one a core of the node."""
        return self.cores

    def shape(self) -> None:
        self.ranks_per_node = 1

    @property
    def command(self) -> "Command":
        """A copy of the program on each node."""
        from railyard.job.command import CopyANode

        return CopyANode()

    def before(self, program: str) -> list[str]:
        return [f"mkdir -p {every_node.PARTS}"]

    def after(self) -> list[str]:
        return [f"cat {every_node.PARTS}/*.out"]

    def input_files(self) -> Mapping[str, str]:
        return {every_node.SCRIPT: every_node.each_script()}

    @property
    def prober(self) -> "Prober":
        """The output itself, whose slow nodes stand in the sentence."""
        from railyard.rfm.checks.prober import NodesThemselves

        return NodesThemselves()
