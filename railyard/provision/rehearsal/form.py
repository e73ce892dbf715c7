"""What is rehearsed: which nodes of which system, what was planted on them, and what was left out."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from railyard.base.errors import SetupError
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.site.systems.rehearsed_system import FILE

#: Of a rail: slow: it gives ``share`` of its rate; idle: the library leaves it out; lanes: its cable runs at ``lanes``
#: of four; unreadable: its counters cannot be read; far: its card is at the other socket. fallback: the library
#: silently takes TCP over the management network. dies: the node goes down during a run. leaf: a leaf switch gives
#: ``share`` of the rate to what crosses it. Of a GPU: narrow: its slot runs at ``lanes``; missing: its node does not
#: see it any more; dead: nothing gets from it to another node.
FaultKind = Literal[
    "slow", "idle", "fallback", "dies", "lanes", "leaf", "unreadable", "far", "narrow", "missing", "dead"
]
#: What every verdict of a rehearsal says; replays have a sentence of their own.
REHEARSED = "rehearsed: a stand-in printed this output, nothing was measured"
#: In place of a node's name it means every node.
EVERY_NODE = "*"


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault. ``text`` is what was typed; ``device`` is a rail as launches name it (``mlx5_1:1``).

    ``gpu`` is the number of a GPU of the node; None for any other fault.
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
        """Return whether it is planted on this rail of this node. The fallback leaves out every rail."""
        return self.kind == "fallback" or (self.node in (EVERY_NODE, node) and self.device == device)

    def is_of_gpu(self, node: str, gpu: int) -> bool:
        """Return whether it is planted on this GPU of this node."""
        return self.gpu == gpu and self.node in (EVERY_NODE, node)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One rehearsal: a system's file of a site, the rehearsed nodes, and the folder that has all of it.

    ``left_out`` has a sentence for each thing in the file that this machine cannot rehearse. ``programs`` has the path
    of each stack's tools, the stand-ins (stack: tool: path), ``launchers`` the folder of each stack's mpirun, and
    ``wrf_cases`` the folder of each case's inputs. ``recording`` is the folder of recordings that are played if they
    fit, empty for none.
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
    def planted_words(self) -> str:
        """The faults as they were typed, or ``nothing``."""
        return ", ".join(fault.text for fault in self.faults) or "nothing"

    @property
    def remark(self) -> str:
        """The sentence in every record and page of it. It names the one proof that stand-ins are exempt from."""
        return (
            f"a rehearsal with stand-ins in place of benchmarks, not a measurement; planted: {self.planted_words}; "
            f"linkage: not judged, since the programs are stand-ins"
        )

    def write(self) -> None:
        """Write it to its folder, for the processes of its nodes and of ReFrame."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        Path(self.folder, FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read(folder: Path) -> Rehearsal:
    """Return the rehearsal that was written to a folder. Raises SetupError if there is none."""
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
