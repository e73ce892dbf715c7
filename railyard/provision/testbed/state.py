"""What is known about a running testbed: state.json, written completely or not at all."""

# Format 1: first.

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.provision.testbed.faults import Degradation
from railyard.provision.testbed.processes import Process
from railyard.provision.testbed.spec import TestbedSpec, spec_from_json

_FORMAT = 1
STATE_FILE = "state.json"


@dataclass(frozen=True, slots=True)
class Node:
    """The process that holds a node's namespaces, and its pid within the testbed."""

    name: str
    holder: Process
    inside: int


@dataclass(frozen=True, slots=True)
class State:
    """One running testbed; it ends with ``keeper``, its outermost process, or ``first``, process 1 of its pid
    namespace.
    """

    spec: TestbedSpec
    user_namespace: bool
    keeper: Process
    first: Process
    nodes: tuple[Node, ...]
    degradations: tuple[Degradation, ...] = field(default=())

    def is_alive(self) -> bool:
        """Return whether the testbed runs: its first process and every node's holder."""
        return self.first.is_alive() and all(node.holder.is_alive() for node in self.nodes)

    def node(self, name: str) -> Node:
        """Return a node. Raises SetupError, with the nearest name, if there is none."""
        return self.nodes[self.spec.nodes.index(self.spec.node(name))]

    def with_degradations(self, degradations: tuple[Degradation, ...]) -> "State":
        """Return the same state with these degradations."""
        return replace(self, degradations=degradations)


def save(folder: Path, state: State) -> None:
    """Write the state file of a folder by renaming, so a reader never sees half of it."""
    data = {"format": _FORMAT, **asdict(state), "spec": state.spec.to_json()}
    write_whole(folder / STATE_FILE, json.dumps(data, indent=1) + "\n")


def load(folder: Path) -> State | None:
    """Return the stored state, or None if there is none or it is useless (cut, or of another format).

    A state that cannot be read is not a reason to fail: processes that still run are found by their mark.
    """
    try:
        data = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        return _state(data) if data["format"] == _FORMAT else None
    except (OSError, ValueError, KeyError, TypeError, SetupError):
        return None


def _state(data: dict[str, Any]) -> State:
    return State(
        spec=spec_from_json(data["spec"]),
        user_namespace=bool(data["user_namespace"]),
        keeper=Process(**data["keeper"]),
        first=Process(**data["first"]),
        nodes=tuple(Node(n["name"], Process(**n["holder"]), int(n["inside"])) for n in data["nodes"]),
        degradations=tuple(Degradation(**fault) for fault in data["degradations"]),
    )
