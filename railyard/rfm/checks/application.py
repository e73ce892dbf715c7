"""The ReFrame base of the checks of applications: a problem instead of message sizes, on the ranks that it needs.

A site's installed application starts with MPI's launcher, or starts its own processes without one.
"""

import math
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reframe.core.logging import getlogger

from railyard.base.wording import count_of, number
from railyard.benchmarks.apps import every_node, installed_applications
from railyard.benchmarks.apps.installed_applications import Application
from railyard.benchmarks.repetitions import START_OVER_RDMA_US, START_US
from railyard.benchmarks.table.applications import key_on
from railyard.job.launch import starting_agent
from railyard.parsers.output import ParsedOutput
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.groups import Accepts, Layout, Start
from railyard.rfm.versions import typed_parameter
from railyard.site.matrix import DEFAULT
from railyard.stacks.model import STACKS

if TYPE_CHECKING:
    from railyard.job.client_server import Command
    from railyard.rfm.checks.prober import Prober
    from railyard.site.systems.model import System


#: These set a program's number of threads: if every rank's BLAS used all cores, the test would measure the scheduler.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
#: If ranks share the host's cores, a waiting thread must not hold the core that the other threads of its rank need.
#: BT-MZ of class W, with four ranks of two threads on two cores, took 2 s with this setting. Without it, it was not
#: done after 120 s.
SHARED_CORES = {"OMP_WAIT_POLICY": "passive"}


def slowest_mb_s(system: "System") -> float:
    """Return what one rail of the slowest fabric of a system receives, MB/s of payload; inf if no rate is known.

    A time limit that is made from it is long enough on each fabric.
    """
    bounds = [fabric.limit(1, 1) for fabric in system.fabrics.values() if fabric.rails]
    return min((bound.value_mb_s for bound in bounds if bound is not None), default=math.inf)


def slowest_start_us(system: "System") -> float:
    """Return what a message takes besides its bytes on the fabric where that is most, in us."""
    return max((start_us(fabric.kind) for fabric in system.fabrics.values()), default=0.0)


def start_us(kind: str) -> float:
    """Return what a message takes besides its bytes on this kind of fabric, in us: rather too much than too little."""
    return START_US.get(kind, START_OVER_RDMA_US)


class ApplicationCheck(InterconnectCheck):
    """One application over one fabric, stack and number of rails.

    A check names ``tool``, ``benchmark`` (or parameters of its own and ``problem_of``) and ``parse``. It gives
    ``words``, ``input_files`` and, if it cannot run with every number of ranks, ``shape``. It runs on all nodes, or on
    as many as its parameter ``nodes`` says; this number is then part of the benchmark's name.
    """

    tags = {"apps"}
    extended = True
    all_nodes = True
    start = Start(time_limit="app")
    #: All cores of a node compute: so all cards are used if each rank has its own card.
    layout = Layout(pair_per_rail=True)
    accepts = Accepts(ranks=True, sizes=())
    _limit_s = 0
    _predicted_s: float | None = None

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
        return cls.layout.within_node or cls.nodes_of(parameters) == 1

    @property
    def words(self) -> list[str]:
        """The application's own words on its command line."""
        return []

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return self.words

    @property
    def most_ranks(self) -> int:
        """How many ranks a node may have at most: as many as were asked for, else as many as it has cores."""
        return int(self.request.ranks) or self.cores

    @property
    def told_ranks(self) -> Mapping[str, str]:
        """The variables that every rank is given: its number of threads, 1 unless a check sets another number."""
        shared = self.threads_a_rank > 1 and self.site.system.provider in ("testbed", "guests")
        return {**dict.fromkeys(THREAD_VARIABLES, str(self.threads_a_rank)), **(SHARED_CORES if shared else {})}

    @property
    def node_mb_s(self) -> float:
        """What the run's rails bring to a node, MB/s of payload; inf if their rate is not known."""
        test = self.test_id
        bound = self.site.system.fabrics[test.fabric].limit(self.rails, 1, policy=test.policy)
        return math.inf if bound is None else bound.value_mb_s

    def shape(self) -> None:
        """Choose ``ranks_per_node``, and fewer nodes if it cannot use all of them, once the nodes are known."""
        self.ranks_per_node = self.most_ranks

    def take(self, nodes: int, ranks_per_node: int, predicted_s: float | None, limit_s: int) -> None:
        """Take nodes and ranks that a plan chose, and its time limit; a line before the run gives a long one.

        ``predicted_s`` is None if nobody knows; ``limit_s`` 0 means the limit of the system's file.
        """
        self.num_nodes, self.ranks_per_node = nodes, ranks_per_node
        self._predicted_s, self._limit_s = predicted_s, limit_s
        if predicted_s is not None and limit_s > self.site.system.limit_s("app"):
            where = f"{count_of(nodes, 'node')} of {count_of(ranks_per_node, 'rank')}"
            getlogger().info(
                f"{self.display_name}: about {number(predicted_s)} s on {where}, ended after {limit_s} s at the latest"
            )

    @property
    def lasting_s(self) -> int:
        return self._limit_s

    @property
    def predicted_s(self) -> float | None:
        return self._predicted_s

    @property
    def prober(self) -> "Prober":
        """Nobody: an application cannot tell rails apart; the micro-benchmarks can."""
        from railyard.rfm.checks.prober import Nobody

        return Nobody()


class EveryNodeCheck(ApplicationCheck):
    """A copy of the application on every node, each by itself and all at once: what a node gives without any network.

    It belongs to no fabric and runs once per stack, on the first fabric. The slowest node is judged. The verdict names
    every node that is far below the others: a slow node is not a slow link.
    """

    benchmark = every_node.EVERY_NODE
    layout = Layout(within_node=True, pair_per_rail=False)
    accepts = Accepts(ranks=False)
    rails = typed_parameter([1], type=int, loggable=True)
    policy = typed_parameter([DEFAULT], type=str, loggable=True)

    @property
    def threads_a_rank(self) -> int:
        """How many threads each copy has: one per core of the node."""
        return self.cores

    def shape(self) -> None:
        self.ranks_per_node = 1

    @property
    def command(self) -> "Command":
        """A copy of the program on each node."""
        from railyard.job.client_server import CopyANode

        return CopyANode()

    def before(self, program: str) -> list[str]:
        return [f"mkdir -p {every_node.PARTS}"]

    def after(self) -> list[str]:
        return [f"cat {every_node.PARTS}/*.out"]

    def input_files(self) -> Mapping[str, str]:
        return {every_node.SCRIPT: every_node.each_script()}

    @property
    def prober(self) -> "Prober":
        """The output itself: the sentence names its slow nodes."""
        from railyard.rfm.checks.prober import NodesThemselves

        return NodesThemselves()


class InstalledApplication(ApplicationCheck):
    """One application of the system's file; a check says which (its parameter ``app``) and on how many nodes.

    On a stack without MPI one process per node is launched, and the first becomes the application. So each node's
    counters are read before and after it, whatever it starts there by itself.
    """

    tool = installed_applications.TOOL
    start = Start(by_itself=True)

    @property
    def key(self) -> str:
        """The benchmark's name in references and records: ``installed/gamess``, ``installed/gamess/2-nodes``."""
        return f"{installed_applications.TOOL}/{self.benchmark}"

    @property
    def application(self) -> Application:
        """What the system's file says about it."""
        return self.site.system.applications[self.app]

    @property
    def has_no_mpi(self) -> bool:
        """Whether it starts its own processes here."""
        return STACKS[self.current_environ.name].pair

    @property
    def words(self) -> list[str]:
        # If it starts its own processes, or is replayed, the launch has fewer ranks per node than it is given.
        ranks_per_node = max(self.ranks_per_node, self.application.ranks_per_node)
        return installed_applications.words(self.application, self.num_nodes, ranks_per_node, self.has_no_mpi)

    def parse(self, text: str) -> ParsedOutput:
        """Return what the application printed, read by the patterns of the system's file."""
        return installed_applications.parse(text, self.app, self.application)

    def shape(self) -> None:
        self.ranks_per_node = 1 if self.has_no_mpi else self.application.ranks_per_node

    @property
    def command(self) -> "Command":
        """Its ranks, or its first process if that starts the others itself."""
        from railyard.job.client_server import FirstProcess

        return FirstProcess(self.num_nodes, starting_agent(self.site)) if self.has_no_mpi else super().command

    def before(self, program: str) -> list[str]:
        if self.application.inputs is None:
            return []
        return [f"cp -R {shlex.quote(installed_applications.folder(self.application.inputs, self.site.home))}/. ."]
