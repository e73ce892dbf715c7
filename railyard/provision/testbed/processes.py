"""Which processes live, by pid *and* start time, and which of them belong to a testbed, from /proc.

What is known about a running testbed: state.json, written completely or not at all.
"""

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.provision.testbed.scripts import MARK, Degradation
from railyard.provision.testbed.spec import TestbedSpec, spec_from_json

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """One process, for ever: another may get its pid, but not with the same start time (ticks since boot)."""

    pid: int
    start: int

    def is_alive(self) -> bool:
        """Return whether it still runs; a zombie does not, and another process with its pid does not count."""
        state, start, _ = _stat(self.pid)
        return start == self.start and state not in ("", "Z", "X")

    def kill(self) -> None:
        """Send SIGKILL; it may have ended already."""
        if self.is_alive():
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                return


def process(pid: int) -> Process:
    """Return the process that has this pid now. Raises ProcessLookupError if there is none."""
    _, start, _ = _stat(pid)
    if not start:
        raise ProcessLookupError(pid)
    return Process(pid, start)


def child_of(parent: Process) -> Process | None:
    """Return the first child of a process, or None."""
    for pid in _pids():
        _, start, ppid = _stat(pid)
        if ppid == parent.pid and start:
            return Process(pid, start)
    return None


def outermost_processes(folder: Path) -> list[Process]:
    """Return the outermost processes of the testbed with this state folder, even if its state file is lost.

    An ordinary user gets only their own processes.
    """
    ending = f"\0{MARK}\0{folder}\0".encode()
    return [process for process in _own_processes() if _read(process.pid, "cmdline").endswith(ending)]


def find_inside(first: Process) -> dict[int, Process]:
    """Return all processes in the pid namespace of a testbed's first process, by their pid within it."""
    namespace = _namespace(first.pid)
    found = {}
    for pid in _pids():
        if namespace is not None and _namespace(pid) == namespace:
            # NSpid lists one pid per nesting level, ours first, the innermost last (proc(5)).
            for line in _read(pid, "status").decode(errors="replace").splitlines():
                if line.startswith("NSpid:"):
                    found[int(line.split()[-1])] = Process(pid, _stat(pid)[1])
    return found


def wait_until_gone(processes: list[Process], timeout_s: float) -> bool:
    """Return True as soon as none of them is alive, False if some still are after the time.

    After SIGKILL, the first process of a pid namespace ends only when all others are gone, so it is enough to wait for
    it.
    """
    deadline = time.monotonic() + timeout_s
    while any(process.is_alive() for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _own_processes() -> Iterator[Process]:
    uid = os.getuid()
    for pid in _pids():
        try:
            if uid not in (0, (_PROC / str(pid)).stat().st_uid):
                continue
        except OSError:
            continue
        yield Process(pid, _stat(pid)[1])


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir(_PROC) if name.isdigit())


def _namespace(pid: int) -> str | None:
    try:
        return os.readlink(_PROC / str(pid) / "ns/pid")
    except OSError:  # gone, or another user's
        return None


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _stat(pid: int) -> tuple[str, int, int]:
    """Return (state, start time, parent) of a pid, ("", 0, 0) if there is none. Source: proc(5), fields 3, 22, 4."""
    # The command's name in brackets may itself have blanks and brackets: read after the last one.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return (fields[0].decode(), int(fields[19]), int(fields[1])) if len(fields) > 19 else ("", 0, 0)


# Format 1: first.


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
