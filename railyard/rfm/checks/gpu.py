"""The base classes of checks of GPUs: OSU's by its words D and H, perftest's by number, nvbandwidth's, nccl-tests'.

Each rank of the first two has the GPU that is nearest to its rail (``gpus: nearest`` of the system's file). nccl-tests
and rccl-tests run one process per GPU with fixed sizes, iterations and groups; pairs of nodes are measured in rounds of
disjoint pairs, each a step of one job.
"""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of
from railyard.benchmarks.apps import every_node
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.benchmarks.repetitions import Amounts, Work
from railyard.benchmarks.table.nccl import part_of
from railyard.benchmarks.table.nvbandwidth import EVERY_NODE
from railyard.benchmarks.table.osu import BUFFERS
from railyard.job import gpu_steps
from railyard.job.client_server import OWN_GPU, ClientAndServer, Command, OwnGpu, own_gpu_script
from railyard.job.launch import Ranks, plan_launch, runs_as_root
from railyard.parsers import gpu_pairs as parser
from railyard.rfm.checks.application import EveryNodeCheck
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.declaration import of_gpus, rail_counts, rail_policies
from railyard.rfm.checks.groups import Accepts, Layout, Outputs, Start
from railyard.rfm.checks.microbench import OsuCheck, PerftestCheck, RepeatedCheck
from railyard.rfm.versions import typed_parameter
from railyard.site import topology
from railyard.site.gpu_shape import gpus_near
from railyard.site.matrix import DEVICE_BUFFERS, GPU_PAIRS, GPUS
from railyard.site.systems.measure import sizes_within

if TYPE_CHECKING:
    from railyard.job.launch import Launch
    from railyard.parsers.output import ParsedOutput
    from railyard.rfm.checks.prober import Prober

#: OSU's word for each end's buffers. Source: README of OSU Micro-Benchmarks 5 to 7, "osu_latency -d cuda D D".
_WORDS = {"DEVICE": "D", "HOST": "H"}
_OSU_WORDS = {where: tuple(_WORDS[end] for end in ends) for ends, where in BUFFERS.items()}

# Numbers are those of nvidia-smi. By default CUDA would count the fastest first (CUDA C++ Programming Guide, CUDA
# Environment Variables).
_NUMBERS: Mapping[str, Mapping[str, str]] = {"cuda": {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, "rocm": {}}
# ROCm documentation, GPU isolation techniques.
_VISIBLE = {"cuda": "CUDA_VISIBLE_DEVICES", "rocm": "ROCR_VISIBLE_DEVICES"}


def osu_words(where: str, memory: str) -> list[str]:
    """Return OSU's options for where its buffers are: ``where`` is a value of ``BUFFERS``, ``memory`` cuda or rocm."""
    return ["-d", memory, *_OSU_WORDS[where]]


def one_gpu(memory: str, gpu: int) -> dict[str, str]:
    """Return the variables that show a process only one GPU; OSU then takes this one for every rank."""
    return {**_NUMBERS[memory], _VISIBLE[memory]: str(gpu)}


def memory_of(check: InterconnectCheck) -> str:
    """Return how the stack of a test reaches GPU memory: cuda or rocm. Raises RailyardError if its file does not say.

    Only stacks that state it have such a test. A test that was loaded anyway must not run from the host's memory.
    """
    system, stack = check.site.system, check.current_environ.name
    memory = system.stacks[stack].device_buffers
    if memory is None:
        raise RailyardError(
            f"systems/{system.system}.yaml: stacks: {stack}: found no device_buffers, expected cuda or rocm"
        )
    return memory


def gpu_of(check: InterconnectCheck) -> dict[str, int]:
    """Return the number of the GPU that is nearest to each rail of a test, by the rail's name.

    Raises RailyardError if the system's file states none.
    """
    system, test = check.site.system, check.test_id
    fabric = system.fabrics[test.fabric]
    if system.gpus is None:
        raise RailyardError(f"systems/{system.system}.yaml: found no gpus, expected those of every node")
    used = fabric.used_rails(check.rails, test.policy)
    try:
        near = gpus_near(system.gpus, fabric, used)
    except ValueError as error:
        raise RailyardError(f"systems/{system.system}.yaml: {error}") from None
    return dict(zip((rail.name for rail in used), near, strict=True))


class FromGpuMemory:
    """What checks with buffers in GPUs share: only a stack that states how it reaches them has such a test."""

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        """Return the feature of a stack that takes buffers in GPUs."""
        return DEVICE_BUFFERS

    @property
    def memory(self: Any) -> str:
        """How the stack reaches GPU memory: cuda or rocm."""
        return memory_of(self)


class DeviceOsuCheck(FromGpuMemory, OsuCheck):
    """A benchmark of OSU between two ranks, each with one GPU: the one that is nearest to its first rail."""

    @property
    def told_ranks(self) -> Mapping[str, str]:
        return one_gpu(self.memory, next(iter(gpu_of(self).values())))

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        where = str(self.benchmark).partition("/")[2]
        return [*super().arguments(sizes), *osu_words(where, self.memory)]


class EveryGpuCheck(DeviceOsuCheck):
    """A benchmark of OSU with one rank for each GPU of a node; each rank sees only its GPU."""

    extended = True
    placement = "launcher"
    #: Whether OSU is given the place of each end's buffers (D D); those of a collective are all in GPUs.
    tells_ends = variable(typ.Bool, value=True)

    def shape(self) -> None:
        gpus = self.site.system.gpus
        self.ranks_per_node = 1 if gpus is None else gpus.per_node

    @property
    def told_ranks(self) -> Mapping[str, str]:
        return _NUMBERS[self.memory]

    @property
    def command(self) -> Command:
        return OwnGpu(_VISIBLE[self.memory], self.ranks_per_node)

    def input_files(self) -> Mapping[str, str]:
        return {**super().input_files(), OWN_GPU: own_gpu_script()}

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        words = OsuCheck.arguments(self, sizes)
        return [*words, *(osu_words("device", self.memory) if self.tells_ends else ["-d", self.memory])]


class DevicePerftestCheck(FromGpuMemory, PerftestCheck):
    """A program of perftest with one pair of processes per rail, each pair's buffers in the GPU nearest to its rail."""

    @property
    def told_ranks(self) -> Mapping[str, str]:
        return _NUMBERS[self.memory]

    @property
    def command(self) -> Command:
        kind = self.site.system.fabrics[self.current_partition.name].kind
        return ClientAndServer(self.tool, kind, self.in_turn, gpu_of(self))

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return [*super().arguments(sizes), f"--use_{self.memory}={{gpu}}"]


class NvbandwidthCheck(EveryNodeCheck):
    """One test of nvbandwidth on every node, with all GPUs of the node."""

    tool = "nvbandwidth"
    benchmark = f"{next(iter(EVERY_NODE))}/every-node"
    tags = {"gpus", "nodes"}
    extended = False
    start = Start(time_limit="micro")
    parse = staticmethod(every_node.nvbandwidth_of_nodes)

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        return f"{parameters['copy']}/every-node"

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return GPUS if EVERY_NODE[parameters["copy"]] == "slot" else GPU_PAIRS

    @property
    def threads_a_rank(self) -> int:
        """One: nvbandwidth's copies are the GPUs' own work."""
        return 1

    @property
    def words(self) -> list[str]:
        return ["-t", str(self.benchmark).partition("/")[0]]

    @property
    def prober(self) -> "Prober":
        from railyard.rfm.checks.prober import NodesThemselves

        return NodesThemselves("slots, NVLinks (nvidia-smi nvlink --status) and clocks of the GPUs of the slow nodes")


#: Every power of two: nccl-tests is given a factor of 2 from the smallest size to the largest.
_SIZES = tuple(1 << n for n in range(41))
#: Collectives that print the size that was asked for, with any number of ranks. In the others each rank has a part of
#: whole 16 B.
_WHOLE = ("all_reduce", "broadcast", "sendrecv")


def _parse(text: str) -> "ParsedOutput":
    from railyard.parsers import nccl  # a listing reads no output

    return nccl.parse(text)


class NcclCheck(RepeatedCheck):
    """One collective between GPUs, with its buffers in their memory.

    Processors and memory of the host have no part in it, so nothing is placed: NCCL binds its own threads.
    """

    tool = "nccl"
    tags = {"gpu"}
    layout = Layout(gpus=True)
    start = Start(program_per_benchmark=True)
    parse: Any = staticmethod(_parse)
    placement = "launcher"
    rails = typed_parameter(of_gpus(rail_counts()), type=int, loggable=True)
    policy = typed_parameter(of_gpus(rail_policies()), type=str, loggable=True)
    fewest, own = Amounts(5, 1), Amounts(20, 5)
    #: Below, a row has too few digits to be judged.
    smallest = 64 << 10
    largest = 8 << 30
    accepts = Accepts(sizes=("smallest", "largest"))
    #: Whether the tests check what arrived (`-c 1`), which takes long on thousands of GPUs.
    check_data = variable(typ.Bool, value=True)

    @property
    def message_sizes(self) -> tuple[int, ...]:
        return sizes_within(self.smallest, self.largest, _SIZES)

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        ranks = self.num_nodes * (1 if part_of(self.key).split else self.ranks_per_node)
        is_whole = self.program.removesuffix("_perf") in _WHOLE or ranks & (ranks - 1) == 0
        return self.message_sizes if is_whole else ()  # the parser compares rows with the sizes in the output

    @property
    def programs(self) -> tuple[str, ...]:
        return (self.program, f"{self.program}_mpi")  # NAME_SUFFIX=_mpi of nccl-tests' README

    @property
    def validates(self) -> bool:
        return bool(self.check_data)

    @property
    def fixed_repetitions(self) -> Repetitions:
        return Repetitions(self.repetitions, self.warm_up)

    @property
    def told_ranks(self) -> Mapping[str, str]:
        """How the ranks are grouped, and what keeps the GPUs of a node off their own links."""
        part = part_of(self.key)
        if part.split:
            return {"NCCL_TESTS_SPLIT": f"MOD {self.ranks_per_node}"}
        return {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"} if part.over_nics else {}

    @property
    def outputs(self) -> Outputs:  # type: ignore[override]
        """What each rail gave after a run in groups."""
        is_split = part_of(self.key).split
        return Outputs(more=tuple(map(gpu_steps.output_of, range(self.ranks_per_node))) if is_split else ())

    def before(self, program: str) -> list[str]:
        return gpu_steps.begin_lines() if part_of(self.key).split else []

    def after(self) -> list[str]:
        """Return the lines that measure each rail of a run in groups if the slowest group is below a reference."""
        from railyard.verdict.node_pairs import least_bandwidth

        largest = self.message_sizes[-1]
        least = least_bandwidth(self.site, self.test_id, largest) if part_of(self.key).split else None
        if least is None:
            return []
        words = [*self.arguments((largest,)), "-a", "0"]  # the last one counts
        inside, told = self._plan.launch.inside, self._plan.launch.settings.words
        program = [*inside, self.runner.program(self.tool, self.programs), *words, *told]
        launch = str(self.job.launcher.run_command(self.job))
        limit_s, run = self._plan.scheduling.limit_s, [shlex.quote(word) for word in program]
        return gpu_steps.lines(str(self.stdout), launch, run, self.ranks_per_node, least, limit_s)

    @property
    def prober(self) -> "Prober":
        """Nobody: most rails are far from any one GPU, so a far rail alone would look slow on every node."""
        from railyard.rfm.checks.prober import Nobody

        return Nobody()

    def shape(self) -> None:
        gpus = self.site.system.gpus
        self.ranks_per_node = 1 if gpus is None or part_of(self.key).one_gpu else gpus.per_node

    def work(self) -> Work:
        # A ring carries twice the size of an all_reduce through the NICs of a node; both halves of a row are made.
        return replace(super().work(), messages=2, pairs=1, times=2, checked=False)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        told = {"-b": sizes[0], "-e": sizes[-1], "-f": 2, "-t": 1, "-g": 1, "-n": self.repetitions, "-w": self.warm_up}
        told["-c"] = int(self.check_data)
        if part_of(self.key).split:
            # The time of the slowest rank: a mean over all groups (nccl-tests' own) hides one slow rail of eight, which
            # at half its rate would cost 11 %.
            told["-a"] = 3
        return [str(word) for pair in told.items() for word in pair]


class NcclPairsCheck(NcclCheck):
    """One collective between two nodes at a time, over all GPUs of both; then each suspect alone, and its GPUs."""

    start = Start(in_steps=True)
    all_nodes = True
    num_nodes = 3
    extended = True
    parse: Any = staticmethod(parser.parse)
    smallest = 32 << 20
    largest = 1 << 30
    #: The number of rounds; each node has a partner in each. 0: all rounds, so that every pair is measured.
    shifts = variable(int, value=0)
    #: How many seconds one pair may take; after that it is ended, and has no result.
    step_s = variable(int, value=60)

    def after(self) -> list[str]:
        return []

    @property
    def validates(self) -> bool:
        """No: the job's own output shows no checks of data. What each pair checked is in its log."""
        return False

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        return ()  # the job's own output has no sizes

    @property
    def rounds(self) -> "tuple[tuple[tuple[int, int], ...], ...]":
        """The rounds of this many nodes, by their places. Raises RailyardError if they do not fit into the time."""
        from railyard.verdict.blame.search.model import rounds

        every = rounds(self.num_nodes)
        chosen = every[: int(self.shifts)] if self.shifts else every
        if self._limit_s < self.step_s:
            raise RailyardError(
                f"{type(self).__name__}: found {count_of(self._limit_s, 'second')} for pairs in the time limit, "
                f"expected at least step_s, {self.step_s}: give a longer time_limit, or -S "
                f"{type(self).__name__}.step_s="
            )
        return chosen

    @property
    def command(self) -> "Command":
        system = self.site.system
        scheduling = self._plan.scheduling
        return gpu_steps.PairSteps(
            self.program,
            self._limit_s,
            int(self.step_s),
            gpu_steps.lister(system.scheduler, scheduling.launcher, self._plan.launch.nodes),
            gpu_steps.next_command(["--switches", gpu_steps.SWITCHES] if self.places().leaf_of else []),
        )

    @property
    def _limit_s(self) -> int:
        beside = gpu_steps.PAIR_END_S + gpu_steps.BESIDE_S
        return int(self._plan.scheduling.limit_s) - beside

    def input_files(self) -> Mapping[str, str]:
        rounds = "".join(" ".join(f"{a},{b},all" for a, b in each) + "\n" for each in self.rounds)
        return {
            gpu_steps.SCRIPT: gpu_steps.script(),
            gpu_steps.ROUNDS: rounds,
            gpu_steps.SWITCHES: topology.text(self.places()),
            gpu_steps.ALL_GPUS: self._step(self._launch(self.ranks_per_node), self.ranks_per_node),
            # Every process sees all GPUs of its node, as in the other steps: so the numbers of GPUs are the same.
            gpu_steps.ONE_GPU: self._step(self._launch(1, {"NCCL_TESTS_DEVICE": gpu_steps.GPU}), 1),
        }

    def _launch(self, per_node: int, variables: Mapping[str, str] | None = None) -> "Launch":
        plan, system = self._plan, self.site.system
        ranks = Ranks(2 * per_node, per_node, policy=plan.ranks.policy, launcher=plan.scheduling.launcher,
                      variables=variables or {}, stage=self.stagedir)  # fmt: skip
        return plan_launch(
            self.site, plan.test.fabric, plan.test.stack, plan.launch.meant, gpu_steps.NODES, ranks,
            runs_as_root(system),
        )  # fmt: skip

    def _step(self, launch: "Launch", per_node: int) -> str:
        plan = self._plan
        program = self.runner.program(self.tool, self.programs)
        words = [*launch.inside, program, *self.arguments(self.message_sizes), *launch.settings.words]
        starter = self.site.system.starter(plan.test.stack)
        return gpu_steps.template(
            plan.scheduling.launcher, starter, launch, per_node, int(self.step_s), words, plan.launch.env
        )
