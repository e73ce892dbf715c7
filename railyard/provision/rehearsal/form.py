"""What is rehearsed: which nodes of which system stand, what was planted on them, and what was left out."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from railyard.base.errors import SetupError
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.site.systems.rehearsed import FILE

#: slow: a rail gives ``share`` of its rate; idle: the library leaves it out; fallback: the library takes TCP over the
#: management network, and says nothing; dies: the node goes down in a run; lanes: a cable runs at ``lanes`` of four;
#: leaf: a leaf switch gives ``share`` to what crosses it; unreadable: its counters cannot be read; far: the card sits
#: at the other socket. Of a GPU: narrow: its slot runs at ``lanes``; missing: its node does not have it any more;
#: dead: nothing comes through from it to another node.
FaultKind = Literal[
    "slow", "idle", "fallback", "dies", "lanes", "leaf", "unreadable", "far", "narrow", "missing", "dead"
]
#: What every verdict of a rehearsal says, as replays say theirs.
REHEARSED = "rehearsed: a stand-in printed this output, nothing was measured"
#: In place of a node's name: every node.
EVERY_NODE = "*"


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault. ``text`` is what was typed; ``device`` is a rail as launches name it (``mlx5_1:1``).

    ``gpu`` is the number of a GPU of the node; None of any other fault.
    """

    kind: FaultKind
    text: str
    node: str = EVERY_NODE
    device: str = ""
    leaf: str = ""
    share: float = 1.0
    lanes: int = 4
    gpu: int | None = None

    def hits(self, node: str, device: str) -> bool:
        """Return whether it is planted on this rail of this node; another transport leaves out every rail."""
        return self.kind == "fallback" or (self.node in (EVERY_NODE, node) and self.device == device)

    def is_of_gpu(self, node: str, gpu: int) -> bool:
        """Return whether it is planted on this GPU of this node."""
        return self.gpu == gpu and self.node in (EVERY_NODE, node)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One rehearsal: a system's file of a site, the nodes that stand, and the folder where all of it lies.

    ``left_out`` has a sentence for each thing that the file asks for and this machine cannot stand in for.
    ``programs`` has the path of each stack's tools, the stand-ins (stack: tool: path), ``launchers`` the folder of each
    stack's mpirun, and ``wrf_cases`` the folder of each case's inputs. ``recording`` is the folder of recordings that
    are played where they fit, empty for none.
    """

    system: str
    home: str
    folder: str
    nodes: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    left_out: tuple[str, ...] = ()
    programs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    wrf_cases: Mapping[str, str] = field(default_factory=dict)
    launchers: Mapping[str, str] = field(default_factory=dict)
    recording: str = ""

    @property
    def planted(self) -> str:
        """The faults as they were typed, or ``nothing``."""
        return ", ".join(fault.text for fault in self.faults) or "nothing"

    @property
    def remark(self) -> str:
        """The sentence that every record and page of it has; it names the one proof that stand-ins are exempt from."""
        return (
            f"a rehearsal with stand-ins in place of benchmarks, no measurement; planted: {self.planted}; "
            f"linkage: a stand-in's, not judged"
        )

    def write(self) -> None:
        """Keep it in its folder, for the processes of its nodes and of ReFrame."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
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


def current() -> Rehearsal | None:
    """Return the rehearsal that this process belongs to, None outside of one. Raises SetupError as ``read`` does."""
    folder = os.environ.get(REHEARSAL_VARIABLE)
    return read(Path(folder)) if folder else None
