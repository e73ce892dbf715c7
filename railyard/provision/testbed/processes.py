"""Which processes live, by pid *and* start time, and which of them belong to a testbed, from /proc."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from railyard.provision.testbed.scripts import MARK

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
