"""What a launch starts as each of its processes: the benchmark itself, or a script that becomes one end of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from railyard.base.paths import packaged_text
from railyard.benchmarks.apps import every_node
from railyard.job import client_server

OWN_GPU = "own_gpu.sh"


class Command(Protocol):
    """How the processes of a launch are told what to run."""

    def words(self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str) -> list[str]:
        """Return each process's words; ``tag`` is of this run alone. Raises RailyardError where it cannot be told."""


class Program:
    """An MPI program: each process is a rank of it."""

    def words(self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str) -> list[str]:
        return [executable, *arguments]


@dataclass(frozen=True, slots=True)
class ClientAndServer:
    """A client and a server of a tool, a pair of them a rail: all at once, or one rail after the other (``in_turn``).

    ``kind`` is the fabric's; ``gpu_of`` has the number of the GPU that each device has its buffers in, none where those
    lie in the host's memory.
    """

    tool: str
    kind: str
    in_turn: bool = False
    gpu_of: Mapping[str, int] = field(default_factory=dict)

    def words(self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str) -> list[str]:
        told = {device: self.gpu_of[device] for device in devices} if self.gpu_of else devices
        return client_server.run_words(
            self.tool, self.kind, told, executable, tuple(arguments), tag=tag, in_turn=self.in_turn
        )


@dataclass(frozen=True, slots=True)
class FirstProcess:
    """An application that starts its own processes, as the first of one process a node; ``agent`` starts the others."""

    nodes: int
    agent: str

    def words(self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str) -> list[str]:
        return client_server.first_words(self.nodes, devices, self.agent, executable, tuple(arguments), tag=tag)


@dataclass(frozen=True, slots=True)
class OwnGpu:
    """An MPI program each rank of which sees one GPU alone, of its own number on its node; a node has ``gpus``.

    ``variable`` is what hides the others from it.
    """

    variable: str
    gpus: int

    def words(self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str) -> list[str]:
        return ["sh", OWN_GPU, self.variable, str(self.gpus), "--", executable, *arguments]


def own_gpu_script() -> str:
    """Return the text of the script that shows a rank its GPU, to be written beside a job's script."""
    return packaged_text(f"job/scripts/{OWN_GPU}")


class CopyANode:
    """A copy of the program on each node by itself, which prints to a file of its own in ``every_node.PARTS``."""

    def words(self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str) -> list[str]:
        return ["sh", every_node.SCRIPT, every_node.PARTS, tag, executable, *arguments]
