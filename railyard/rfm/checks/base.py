"""The ReFrame base class of every check: selects its cells and launches; a check says only what is measured."""

import shlex
import time
from collections.abc import Mapping
from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, parameter, run_after, variable
from reframe.core.exceptions import ReframeError

from railyard.job import client_server
from railyard.job.launch import TESTBEDS, Launch, device_name, exported, plan_launch
from railyard.provision.installed import installed
from railyard.provision.replay.form import REPLAYED
from railyard.rfm.checks.judge import LINKED
from railyard.rfm.checks.place import COUNTERS
from railyard.rfm.checks.probe import READER
from railyard.rfm.checks.start import Starting
from railyard.rfm.current import partition_features, partitions
from railyard.rfm.guards import CarriedInit, as_reframe_error
from railyard.rfm.launchers import namespace_words, running_as_root
from railyard.rfm.run.options import EXTENDED
from railyard.site.matrix import RAIL_COUNTS, disabled_reason
from railyard.site.policies import DEFAULT, environment_terms, is_extended, named_policies, policy_of
from railyard.site.systems.jobs import is_slurm
from railyard.stacks.policy import NIC_PER_RANK
from railyard.stacks.programs import own_feature, pair_feature

#: Message sizes in steps of 4, and of 2 with `-S full=1`; in bytes.
QUICK_SIZES = tuple(4**n for n in range(12))
FULL_SIZES = tuple(2**n for n in range(23))


def sizes_within(smallest: int, largest: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes from smallest to largest, in bytes, of ascending ones from 1.

    Where a system allows none that a check asks for, such as its one size of 4 MiB, it is the largest allowed.
    """
    allowed = [size for size in sizes if size <= largest]
    return tuple(size for size in allowed if size >= smallest) or (allowed[-1],)


def rail_counts() -> tuple[int, ...]:
    """Return the rail counts that tests are made for: those that ReFrame's current system has, else all.

    A count that no partition has would never be selected, and making each such variant costs ReFrame 2 ms.
    """
    features = partition_features()
    if features is None:
        return RAIL_COUNTS
    return tuple(count for count in RAIL_COUNTS if f"rails{count}" in features) or RAIL_COUNTS


def rail_policies(pair_a_rail: bool = False) -> tuple[str, ...]:
    """Return the rail policies that tests are made for: each stack's own, and those that some stack has besides.

    Those are of ReFrame's current system, as ``rail_counts`` are. A NIC per rank only where there is a pair a rail.
    """
    named = named_policies(environ.features for each in partitions() or () for environ in each.environs)
    return (DEFAULT, *(policy for policy in named if pair_a_rail or policy != NIC_PER_RANK))


def builds_with_spack() -> bool:
    """Return whether ReFrame's current system has stacks whose benchmarks Spack builds."""
    return any(each.extras.get("railyard_spack") for each in partitions() or ())


class InterconnectCheck(CarriedInit, Starting, rfm.RunOnlyRegressionTest):
    """One benchmark over one fabric, stack and number of rails.

    A check names ``tool`` (what a stack must have), ``benchmark``, ``parse`` and ``arguments``; all else is here.
    """

    if builds_with_spack():
        from railyard.rfm.spack_build import SpackEnvironment

        spack_environment = fixture(SpackEnvironment, scope="environment")

    tags: Any
    postrun_cmds: Any
    rails = parameter(rail_counts(), type=int, loggable=True)
    #: How messages are spread over the rails; ``default`` is the stack's own way, and stands in no name.
    policy = parameter(rail_policies(), type=str, loggable=True)
    full = variable(typ.Bool, value=False, loggable=True)
    tool = variable(str)
    benchmark = variable(str)
    num_nodes = variable(int, value=2)
    #: Whether it spans all nodes of the system, of which there must be ``num_nodes``.
    all_nodes = variable(typ.Bool, value=False)
    ranks_per_node = variable(int, value=1)
    #: Whether each rank's partner is on its own node, so that no rail is meant to carry anything.
    within_node = variable(typ.Bool, value=False)
    #: Whether several ranks of a node each have a partner of their own: such a check shows a NIC per rank too, with a
    #: rank a rail, and has ``policy = parameter(rail_policies(pair_a_rail=True), type=str, loggable=True)``.
    pair_a_rail = variable(typ.Bool, value=False)
    #: Whether the benchmark is a client and a server, no MPI program: a pair of processes a rail
    #: (`client_server_words`).
    pair = variable(typ.Bool, value=False)
    #: Whether it is an application that starts its own processes on a stack without MPI, as the first node's process.
    starts_itself = variable(typ.Bool, value=False)
    #: Whether such pairs run one rail after the other, and the worst rail is judged; else all at once, and summed.
    in_turn = variable(typ.Bool, value=False)
    #: Whether the tool has a program a benchmark; else it is one program.
    program_a_benchmark = variable(typ.Bool, value=False)
    #: Messages in flight of a windowed test; 1 for all others.
    window = variable(int, value=1)
    #: How often one job measures everything; the median at each size is judged.
    passes = variable(int, value=1)
    #: The smallest and largest message that make sense for this benchmark, in bytes.
    smallest = variable(int, value=1)
    largest = variable(int, value=4 << 20)

    #: The file that the benchmark appends its output to, where it prints none.
    output_file = variable(str, value="")
    #: Variables that must not reach the benchmark from whoever starts the run.
    cleared: tuple[str, ...] = ()

    def before(self, program: str) -> list[str]:
        """Return lines of the job before the benchmark's launch, for what it needs there; ``program`` is its path."""
        return []

    def after(self) -> list[str]:
        """Return lines of the job behind the benchmark's launch."""
        return []

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        """Return the benchmark's own words for these message sizes in bytes."""
        raise ReframeError(
            f"{type(self).__name__}: found no arguments(), expected the benchmark's words for some sizes"
        )

    def probe_arguments(self, size: int) -> list[str]:
        """Return the words of a short two-rank ping-pong at one size, which measures a rail alone."""
        raise ReframeError(
            f"{type(self).__name__}: found no probe_arguments(), expected the words of a short ping-pong"
        )

    @property
    def display_name(self) -> str:
        """The test's name with its parameters; a policy that it leaves to the stack is none of them."""
        return str(super().display_name).replace(f" %policy={DEFAULT}", "")

    @property
    def pairs(self) -> int:
        """How many pairs of ranks, or of a client and a server, two nodes have between them."""
        return int(self.rails if self.pair else self.ranks_per_node)

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        """Return the benchmark of a variant with these values of the check's own parameters, which may choose it."""
        return str(cls.benchmark)

    @classmethod
    def tool_of(cls, parameters: Mapping[str, str]) -> str:
        """Return the tool that a stack must have for such a variant."""
        return str(cls.tool)

    @classmethod
    def nodes_of(cls, parameters: Mapping[str, str]) -> int:
        """Return the nodes of a variant with these values of the check's own parameters, which may choose them."""
        return int(cls.num_nodes)

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        """Return the feature by which a system asks for the problem of such a variant (``npb-W``); empty for none."""
        return ""

    def fit_ranks(self) -> None:
        """Choose nodes and ranks a node once it is known how many nodes there are; most checks have fixed numbers."""

    @property
    def program(self) -> str:
        """The executable of a tool that has one a benchmark, of its name; empty for a tool that is one executable."""
        return str(self.benchmark).partition("/")[0] if self.program_a_benchmark else ""

    @property
    def programs(self) -> tuple[str, ...]:
        """The names that its executable may have, of which the first that is installed runs."""
        return (self.program,)

    @property
    def key(self) -> str:
        """The benchmark's name in references and records: ``imb/Uniband``."""
        return f"{self.tool}/{self.benchmark}"

    @property
    def message_sizes(self) -> tuple[int, ...]:
        """The message sizes of this run, in bytes."""
        return sizes_within(self.smallest, self.largest, FULL_SIZES if self.full else QUICK_SIZES)

    @run_after("init")
    def select_cells(self) -> None:
        """Load only where the system's own file gives enough rails and nodes, and a stack that can drive them."""
        self.valid_systems = [f"+rails{self.rails} +nodes{self.num_nodes}"]
        if is_extended(self.policy):
            self.tags = {*self.tags, EXTENDED}
        # With `-P policy=…` the class has the asked values alone: then the stacks count that do it anyhow.
        made = DEFAULT in type(self).raw_params["policy"].values
        self.valid_prog_environs = environment_terms(
            pair_feature(self.tool) if self.pair else self.tool,
            *(self.rails, self.policy, max(self.pairs, self.rails) if self.pair_a_rail else self.pairs),
            beside_default=made,
        )
        if self.starts_itself and self.rails == 1:
            own = own_feature(self.tool)
            self.valid_prog_environs += environment_terms(own, 1, self.policy, self.pairs, beside_default=made)

    @run_after("setup")
    def plan(self) -> None:
        """Work out devices, variables and launcher words; skip what the site switched off, with its reason."""
        fabric, stack = self.current_partition.name, self.current_environ.name
        reason = disabled_reason(
            self.site.system, fabric, stack, self.rails, self.key, self.site.references.has_number, self.policy
        )
        if reason is not None:
            self.skip_untested(reason, f"disabled by the site: {reason}")
        self._keep_to_system()
        least = self.num_nodes
        if self.all_nodes:
            self.num_nodes = max(least, self.site.system.nodes.number)
        self.keep_to_fit_nodes(least)
        self.fit_ranks()
        if self.pair_a_rail and self._policy(fabric, stack) == NIC_PER_RANK:
            self.ranks_per_node = max(self.ranks_per_node, self.rails)
        self.num_tasks = self.num_nodes * self.ranks_per_node
        alone = self.site.system.provider == "host"
        self.num_tasks_per_node = self.num_tasks if alone else self.ranks_per_node
        if self.threads_a_rank > 1:
            # Without a hint Slurm counts both threads of a core as processors, and gives half of the cores.
            self.num_cpus_per_task, self.use_multithreading = self.threads_a_rank, False
        with as_reframe_error():
            asked = None if self.policy == DEFAULT else self.policy
            self._launch = self._plan_for(self._devices(), self._node_names(), asked)
        self._install_launch(self._launch)

    def _keep_to_system(self) -> None:
        """Measure no larger messages and no more passes than the system's file allows.

        Collectives cut what they are given into a piece a node. Of pieces smaller than that a stack may give all to one
        of several rails, so over several rails a collective's messages are as many times as large.
        """
        measure = self.site.system.measure
        if measure.largest is not None:
            pieces = self.num_nodes if self.num_nodes > 2 and self.rails > 1 else 1
            self.largest = min(self.largest, pieces * measure.largest)
        if measure.passes is not None:
            self.passes = min(self.passes, measure.passes)

    def skip_untested(self, reason: str, said: str) -> None:
        """Store that this case was not tested, with the reason, and end it there as ReFrame's own skip."""
        from railyard.verdict.recording import untested_record

        replayed = REPLAYED if self.is_replayed else None
        policy = self._policy(self.current_partition.name, self.current_environ.name)
        names = {**self._names(), **self._stamp(None)}
        self._write(untested_record(reason, **names, replayed=replayed, policy=policy))
        self.skip(said)

    def _policy(self, fabric: str, stack: str) -> str:
        return policy_of(self.site.system, fabric, stack, self.rails, self.policy)

    def _devices(self) -> tuple[str, ...]:
        rails = self.site.system.fabrics[self.current_partition.name].rails
        return tuple(device_name(rail) for rail in rails[: self.rails])

    def _node_names(self) -> tuple[str, ...]:
        nodes = self.site.system.nodes
        if self.is_replayed or is_slurm(self.site.system.scheduler):  # which nodes it was given, the job will say
            return ()
        return nodes.names if self.site.system.provider == "host" else nodes.names[: self.num_nodes]

    def _plan_for(
        self, devices: tuple[str, ...], nodes: tuple[str, ...], policy: str | None = None, per_node: int = 0
    ) -> Launch:
        """Return how a run over these devices is launched, with so many ranks a node; 0: as many as the test has."""
        per_node = per_node or self.num_tasks_per_node
        return plan_launch(
            self.site,
            self.current_partition.name,
            self.current_environ.name,
            devices,
            nodes,
            ranks=len(nodes) * per_node,
            ranks_per_node=per_node,
            # In our own testbeds everybody is root, by the user namespace if not by right.
            as_root=running_as_root() or self.site.system.provider in ("testbed", "guests"),
            policy=policy,
            within_node=self.within_node,
            launcher=self.launcher_name,
            threads=self.threads_a_rank,
        )

    def _install_launch(self, launch: Launch) -> None:
        """Give ReFrame the job: the counter reader and the benchmark, in one launch."""
        self.env_vars = exported({**launch.env, **self.place_variables()})
        self._tag = f"{self.hashcode}-{time.time_ns():x}"
        if self.is_replayed:
            self._install_recording()
            return
        self.use_asked_launcher()
        self.job.launcher.options = [shlex.quote(word) for word in launch.options]
        limit = self.limit_s
        bed = TESTBEDS.get(self.site.system.launcher)
        if bed is not None:
            self.job.launcher.railyard = namespace_words(self.site.home, launch.nodes[0], limit, launch.program, bed)
            # The job may wait for another measurement; `timeout` inside it bounds the run itself.
            self.time_limit = None
        elif not self.bound_step(limit):
            self.time_limit = f"{limit}s"
            self.ask_scheduler()
        benchmark = self._benchmark_words(self.arguments(self.message_sizes), launch)
        words = [READER, COUNTERS, self._tag, ",".join(launch.meant), ",".join(launch.watched), "--", *benchmark]
        self.executable = "sh"
        self.executable_opts = [shlex.quote(word) for word in (*self.place_words(launch), *words)]
        program, output = self._program(), [shlex.quote(name) for name in (self.output_file,) if name]
        # What the system's file says itself stays.
        unset = [f"unset {name}" for name in self.cleared if name not in launch.env]
        begins = [*self.before(program), *(f"rm -f {name}" for name in output), *unset]
        self.prerun_cmds = [*begins, f"mkdir -p {COUNTERS}", *self._checks_before_the_run(program)]
        self.postrun_cmds = [*self.after(), *(f"cat {name}" for name in output), *self.postrun_cmds]

    def _install_recording(self) -> None:
        """Give ReFrame the job of a replay: the recording is printed, and the benchmark's words stand behind it."""
        self.job.launcher.recording = self.recordings / self.cell.file
        self.time_limit = f"{self.limit_s}s"
        self.executable = self.program or self.tool
        self.executable_opts = [shlex.quote(word) for word in self.arguments(self.message_sizes)]

    def _checks_before_the_run(self, executable: str) -> list[str]:
        """Return lines of the job that say what the benchmark is linked to here, and whether this node can run it."""
        from railyard.provision.spack import target

        # Of a script it exits 1, which would end the job; what it said is judged afterwards.
        lines = [f"LC_ALL=C ldd {shlex.quote(executable)} > {LINKED} 2>&1 || :"]
        built = installed(self.site, self.current_environ.name).built
        return lines if built is None else [*target.job_checks(built, executable), *lines]

    def _benchmark_words(self, arguments: list[str], launch: Launch, program: str = "") -> list[str]:
        """Return the words of the benchmark's own command: of an MPI program, or of both ends of a pair a rail."""
        executable = self._program(program)
        if not self.pair:
            return [executable, *arguments]
        kind = self.site.system.fabrics[self.current_partition.name].kind
        return client_server.run_words(
            self.tool, kind, launch.meant, executable, tuple(arguments),
            tag=f"{self.hashcode}-{time.time_ns():x}", in_turn=self.in_turn,
        )  # fmt: skip

    def _program(self, program: str = "") -> str:
        names = (program,) if program else self.programs
        return installed(self.site, self.current_environ.name).executable(self.tool, *names)
