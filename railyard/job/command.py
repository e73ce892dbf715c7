"""What a launch starts as each of its processes: the benchmark itself, or a script that becomes one end of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from railyard.base.paths import packaged_text
from railyard.benchmarks.apps import every_node
from railyard.job import client_server

OWN_GPU = "own_gpu.sh"


class Command(Protocol):
    """What the processes of a launch are to run."""

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        """Return each process's words; ``tag`` belongs to this run alone, ``inside`` starts the program in an image.

        Raises RailyardError if there are none.
        """


class Program:
    """An MPI program: each process is a rank of it."""

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        return [*inside, executable, *arguments]


@dataclass(frozen=True, slots=True)
class ClientAndServer:
    """A client and a server of a tool for each rail: all at once, or one rail after the other (``in_turn``).

    ``kind`` is the fabric's. ``gpu_of`` has for each device the number of the GPU that holds its buffers; it is empty
    if they are in the host's memory.
    """

    tool: str
    kind: str
    in_turn: bool = False
    gpu_of: Mapping[str, int] = field(default_factory=dict)

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        told = {device: self.gpu_of[device] for device in devices} if self.gpu_of else devices
        words = client_server.run_words(
            self.tool, self.kind, told, executable, tuple(arguments), tag=tag, in_turn=self.in_turn
        )
        # Each end follows a "--": each of them starts in the image, and the script that starts it outside.
        return [each for word in words for each in ((word, *inside) if word == "--" else (word,))]


@dataclass(frozen=True, slots=True)
class FirstProcess:
    """An application that starts its own processes with ``agent``: it is the first node's process of one per node."""

    nodes: int
    agent: str

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        return client_server.first_words(self.nodes, devices, self.agent, executable, tuple(arguments), tag=tag)


@dataclass(frozen=True, slots=True)
class OwnGpu:
    """An MPI program whose ranks each see only the GPU with the rank's number on its node; a node has ``gpus``.

    ``variable`` is the variable that hides the other GPUs.
    """

    variable: str
    gpus: int

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        return ["sh", OWN_GPU, self.variable, str(self.gpus), "--", *inside, executable, *arguments]


def own_gpu_script() -> str:
    """Return the text of the script that shows a rank its GPU; it is written beside a job's script."""
    return packaged_text(f"job/scripts/{OWN_GPU}")


class CopyANode:
    """A separate copy of the program on each node, which prints to its own file in ``every_node.PARTS``."""

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        return ["sh", every_node.SCRIPT, every_node.PARTS, tag, *inside, executable, *arguments]
