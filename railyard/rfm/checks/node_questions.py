"""What nodes are asked after a failure besides their rails: whether processes start there, and their addresses."""

from collections.abc import Callable
from pathlib import Path

from railyard.job.counters import node as counters
from railyard.job.launch import Launch
from railyard.rfm.checks.probe_places import Step, printed
from railyard.rfm.checks.runner import READER

#: What a process prints that shows that it started.
STARTED = "railyard-started"
#: Gives the words of a step before each process's own.
Front = Callable[[Launch], list[str]]


def starts(front: Front, launch: Launch, stage: Path) -> bool:
    """Return whether a process started on every node of a launch; its script and output stay in the stage folder."""
    step = Step(launch.env, [*front(launch), "sh", "-c", f"echo {STARTED}"])
    return printed(f"start-{'-'.join(launch.nodes)}", step, stage).split().count(STARTED) >= len(launch.nodes)


def hardware(front: Front, launch: Launch, stage: Path) -> dict[str, tuple[str, str]]:
    """Return node and device of each hardware address of a launch's nodes; nothing of a node that does not answer."""
    name = f"addresses-{'-'.join(launch.nodes)}"
    (stage / name).mkdir(exist_ok=True)
    words = ["sh", READER, name, name, "", launch.meant[0], "--", "true"]
    printed(name, Step(launch.env, [*front(launch), *words]), stage)
    texts = [file.read_text(encoding="utf-8") for file in sorted((stage / name).glob("*.counters"))]
    read = [counters.parse(text, name) for text in texts]
    return {address: (each.node, device) for each in read for address, device in each.addresses.hardware.items()}
