"""The base classes of checks from GPU memory: OSU's by its words D and H, perftest's by number, and nvbandwidth's.

Each rank of the first two has the GPU that is nearest to its rail (``gpus: nearest`` of the system's file).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import every_node
from railyard.benchmarks.table.nvbandwidth import EVERY_NODE
from railyard.benchmarks.table.osu import BUFFERS
from railyard.job.client_server import OWN_GPU, ClientAndServer, Command, OwnGpu, own_gpu_script
from railyard.rfm.checks.application import EveryNodeCheck
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.groups import Start
from railyard.rfm.checks.microbench import OsuCheck, PerftestCheck
from railyard.site.gpu_shape import gpus_near
from railyard.site.matrix import DEVICE_BUFFERS, GPU_PAIRS, GPUS

if TYPE_CHECKING:
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


class DeviceOsuCheck(OsuCheck):
    """A benchmark of OSU between two ranks, each with one GPU: the one that is nearest to its first rail."""

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return DEVICE_BUFFERS

    @property
    def memory(self) -> str:
        return memory_of(self)

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


class DevicePerftestCheck(PerftestCheck):
    """A program of perftest with one pair of processes per rail, each pair's buffers in the GPU nearest to its rail."""

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return DEVICE_BUFFERS

    @property
    def memory(self) -> str:
        return memory_of(self)

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
