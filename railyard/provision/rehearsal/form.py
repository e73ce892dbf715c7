"""What is rehearsed: which nodes of which system stand, what was planted on them, and what was left out."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from railyard.base.errors import SetupError

#: Names the folder of the rehearsal that a process belongs to: `railyard rehearse` sets it for ReFrame and its jobs.
VARIABLE = "RAILYARD_REHEARSAL"
#: In that folder: the rehearsal, as JSON.
FILE = "rehearsal.json"

#: slow: a rail gives ``share`` of its rate; idle: the library leaves it out; fallback: the library takes TCP over the
#: management network, and says nothing; dies: the node goes down in a run; lanes: a cable runs at ``lanes`` of four;
#: leaf: a leaf switch gives ``share`` to what crosses it; unreadable: its counters cannot be read; far: the card sits
#: at the other socket.
FaultKind = Literal["slow", "idle", "fallback", "dies", "lanes", "leaf", "unreadable", "far"]
#: In place of a node's name: every node.
EVERY_NODE = "*"


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault. ``text`` is what was typed; ``device`` is a rail as launches name it (``mlx5_1:1``)."""

    kind: FaultKind
    text: str
    node: str = EVERY_NODE
    device: str = ""
    leaf: str = ""
    share: float = 1.0
    lanes: int = 4

    def hits(self, node: str, device: str) -> bool:
        """Return whether it is planted on this rail of this node."""
        return self.node in (EVERY_NODE, node) and self.device == device


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One rehearsal: a system's file of a site, the nodes that stand, and the folder where all of it lies.

    ``left_out`` has a sentence for each thing that the file asks for and this machine cannot stand in for.
    """

    system: str
    home: str
    folder: str
    nodes: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """The sentence that every record and page of it has."""
        planted = ", ".join(fault.text for fault in self.faults) or "nothing"
        return f"a rehearsal with stand-ins in place of benchmarks, no measurement; planted: {planted}"

    def write(self) -> None:
        """Keep it in its folder, for the processes of its nodes and of ReFrame."""
        Path(self.folder, FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read(folder: Path) -> Rehearsal:
    """Return the rehearsal that was written to a folder. Raises SetupError where there is none."""
    try:
        stored = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(
            f"{folder / FILE}: found no rehearsal ({error}); type: railyard rehearse --system NAME"
        ) from None
    faults = tuple(Fault(**fault) for fault in stored.pop("faults"))
    nodes, left_out = tuple(stored.pop("nodes")), tuple(stored.pop("left_out"))
    return Rehearsal(**stored, nodes=nodes, faults=faults, left_out=left_out)
