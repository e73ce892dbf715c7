"""The ReFrame base of the checks of applications: a problem in place of message sizes, on the ranks that it takes."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reframe.core.builtins import parameter, run_after, run_before
from reframe.core.exceptions import ReframeError

from railyard.benchmarks.apps import every_node
from railyard.benchmarks.table.applications import key_on
from railyard.job.launch import TESTBEDS, Launch
from railyard.results.scaling import node_counts_up_to
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.current import environment_features, partition_features
from railyard.rfm.guards import as_reframe_error
from railyard.rfm.run.options import EXTENDED
from railyard.site.matrix import NO_APPLICATION
from railyard.site.policies import DEFAULT
from railyard.stacks import ask

if TYPE_CHECKING:
    from railyard.verdict.assess import Assessment

#: What tells a program its threads: a BLAS that started one a core in every rank would measure the scheduler.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
#: Where ranks share the host's cores, a thread that waits for its rank's others must not hold the core that they need:
#: BT-MZ of class W, four ranks of two threads on two cores, took 2 s so and was not done after 120 s without.
SHARED_CORES = {"OMP_WAIT_POLICY": "passive"}
#: Where each node has a copy of its own, what they print; a folder a job.
PARTS = "parts"
#: On how many nodes a sweep is where no system is known, which is so for the matrix alone.
_COUNTS = (1, 2, 4, 8, 16, 32, 64)


def stated(prefix: str, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of these problems the current system asks for, by features such as ``npb-W`` of its environments.

    All of them where ReFrame has no system (the matrix reads the checks so, and leaves out what a system asks not for);
    the first alone where it asks for none, since a parameter must have a value.
    """
    features = environment_features()
    if features is None:
        return every
    return tuple(name for name in every if f"{prefix}-{name}" in features) or every[:1]


def stated_names(prefix: str) -> tuple[str, ...]:
    """Return the names that the current system states, by features such as ``app-gamess``; ``none`` where it has none.

    A parameter must have a value, and no stack has a tool of that name.
    """
    features = environment_features() or ()
    return tuple(sorted(f.removeprefix(f"{prefix}-") for f in features if f.startswith(f"{prefix}-"))) or (
        NO_APPLICATION,
    )


def node_counts() -> tuple[int, ...]:
    """Return on how many nodes a sweep is measured: powers of two up to what the current system has."""
    features = partition_features()
    if features is None:
        return _COUNTS
    most = max((count for count in range(1, _COUNTS[-1] + 1) if f"nodes{count}" in features), default=1)
    return node_counts_up_to(most)


class ApplicationCheck(InterconnectCheck):
    """One application over one fabric, stack and number of rails.

    A check names ``tool``, ``benchmark`` (or ``own_parameters`` and ``problem_of``) and ``parse``, and gives ``words``,
    ``input_files`` and, where not every number of ranks will do, ``shape``. It spans all nodes, or as many as its
    parameter ``nodes`` says, which is then part of the benchmark's name.
    """

    tags = {"apps", EXTENDED}
    all_nodes = True
    check_class = "app"
    #: All cores of a node compute, so that where each rank has a card of its own all cards are used.
    pair_a_rail = True
    #: The check's own parameters, which choose its problem; ``nodes`` among them makes it a sweep.
    own_parameters: tuple[str, ...] = ()

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

    @property
    def words(self) -> list[str]:
        """The application's own words on its command line."""
        return []

    def input_files(self) -> Mapping[str, str]:
        """Return the files that the application reads in its folder: name and text."""
        return {}

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return self.words

    @property
    def cores(self) -> int:
        """How many ranks a node can have: its cores, one where the system's file states none."""
        hardware = self.site.system.nodes.hardware
        return 1 if hardware is None else hardware.cores

    @property
    def told_ranks(self) -> Mapping[str, str]:
        """The variables that every rank is given: its threads, one unless a check says another number."""
        shared = self.threads_a_rank > 1 and self.site.system.provider in ("testbed", "guests")
        return {**dict.fromkeys(THREAD_VARIABLES, str(self.threads_a_rank)), **(SHARED_CORES if shared else {})}

    @run_after("init")
    def take_problem(self) -> None:
        """Take benchmark and nodes from the parameters, and load only where the system asks for this problem."""
        own = {name: str(getattr(self, name)) for name in self.own_parameters}
        self.tool, self.benchmark = self.tool_of(own), self.benchmark_of(own)
        self.num_nodes = self.nodes_of(own)
        self.select_cells()
        feature = self.feature_of(own)
        if feature:
            self.valid_prog_environs = [f"{term} +{feature}" for term in self.valid_prog_environs]
        if self.num_nodes == 1:  # no network carries it: once, on the first fabric
            once = self.rails == 1 and self.policy == DEFAULT
            self.valid_systems = [f"{term} +first" for term in self.valid_systems] if once else []

    def fit_ranks(self) -> None:
        if self.num_nodes == 1:
            self.within_node = True
        if not self.is_replayed:
            with as_reframe_error():
                self.shape()

    def shape(self) -> None:
        """Choose ``ranks_per_node`` (and fewer nodes, where all of them will not do) once the nodes are known."""
        self.ranks_per_node = self.cores

    def _plan_for(
        self, devices: tuple[str, ...], nodes: tuple[str, ...], policy: str | None = None, per_node: int = 0
    ) -> Launch:
        launch = super()._plan_for(devices, nodes, policy, per_node)
        # A stack's own launcher may hand on to other nodes what it is told to, and nothing else; srun hands on all.
        told = launch.mpi is not None and self.launcher_name in (*TESTBEDS, "mpirun", "mpiexec")
        more = ask.forward(self.current_environ.name, self.told_ranks) if told else []
        return replace(launch, env={**launch.env, **self.told_ranks}, options=(*launch.options, *more))

    @run_before("run")
    def write_inputs(self) -> None:
        """Write what the application reads beside the job's script."""
        if self.is_replayed:
            return
        for name, text in self.input_files().items():
            if "/" in name:
                raise ReframeError(f"{type(self).__name__}: found the input file {name!r}, expected a name without a /")
            Path(self.stagedir, name).write_text(text, encoding="ascii")

    def _with_suspects(self, found: "Assessment") -> "Assessment":
        """Return it as it is: an application tells no rail from another; the micro-benchmarks do."""
        return found


class EveryNodeCheck(ApplicationCheck):
    """A copy of the application on every node, each by itself and all at once: what a node gives without any network.

    It belongs to no fabric and runs once a stack, on the first one. The slowest node is judged, and every node far
    below the others is named: a slow node is not a slow link.
    """

    benchmark = every_node.EVERY_NODE
    within_node = True
    pair_a_rail = False
    rails = parameter([1], type=int, loggable=True)
    policy = parameter([DEFAULT], type=str, loggable=True)

    @property
    def threads_a_rank(self) -> int:
        """How many threads each copy has: one a core of the node."""
        return self.cores

    @run_after("init")
    def once(self) -> None:
        """Run on the first fabric alone."""
        self.valid_systems = [f"{term} +first" for term in self.valid_systems]

    def shape(self) -> None:
        self.ranks_per_node = 1

    def _benchmark_words(self, arguments: list[str], launch: Launch, program: str = "") -> list[str]:
        return ["sh", every_node.SCRIPT, PARTS, self._tag, *super()._benchmark_words(arguments, launch, program)]

    def before(self, program: str) -> list[str]:
        return [f"mkdir -p {PARTS}"]

    def after(self) -> list[str]:
        return [f"cat {PARTS}/*.out"]

    def input_files(self) -> Mapping[str, str]:
        return {every_node.SCRIPT: every_node.each_script()}

    def _with_suspects(self, found: "Assessment") -> "Assessment":
        """Return a miss of its reference as the nodes' own: the sentence names those that are slow, and no rail is."""
        verdict = found.verdict
        if verdict.state != "fail" or verdict.rule != 5 or verdict.fault != "fabric":
            return found
        look = "memory, clock, cooling and what else runs on the slow nodes: no network is involved"
        return replace(found, verdict=replace(verdict, fault="node", look_at=look))
