"""How long the processes of a testbed waited for a processor while they measured, and how much the hypervisor took.

All nodes of a testbed share one host. How long a process waited for a processor is the second number of
/proc/PID/task/TID/schedstat, in ns (Linux, Documentation/scheduler/sched-stats.rst). What the hypervisor gave to other
guests is ``steal`` in /proc/stat (proc(5)): one line for all processors and one for each. If the hypervisor takes the
processor from a process, the process still counts as running and shows no wait, so the two add up. A kernel without
numbers for tasks may say how long any task waited (``some`` of /proc/pressure/cpu, Documentation/accounting/psi.rst).

Values are read five times a second, since the numbers of a process vanish when it ends: its last fifth of a second is
unknown.

When the rails of a testbed's nodes carried what: their counters, read again and again while a run measures.

All nodes share one host, so their counters are read from outside, in /proc/PID/net/dev of each node's first process
(proc_pid_net(5)), and no process of the run is disturbed. A reading of four nodes takes about 0.2 ms.
"""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PERIOD_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")
_STEAL = 7
_QUIET_S = 0.1
#: A processor that paused for longer is not quiet: at 100 Mbit/s the bucket of a rail bridges 5 ms (64 KiB).
_STILL_S = 0.005
_PROC = Path("/proc")


@dataclass(slots=True)
class _TaskWait:
    """A task's wait in ns, when it was first and last seen."""

    first_ns: int
    last_ns: int = 0


@dataclass(slots=True)
class Watch:
    """Watches all processes in the network namespaces of a testbed's nodes until it is stopped.

    ``namespaces`` are the texts of their links (``net:[4026532201]``).
    """

    namespaces: frozenset[str]
    proc: Path = _PROC
    _tasks: dict[str, _TaskWait] = field(default_factory=dict)
    _ours: dict[str, bool] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _began_s: float = 0.0
    _stolen_s: float | None = None
    _pressed_s: float | None = None
    _thread: threading.Thread | None = None

    def start(self) -> "Watch":
        """Begin to read, in its own thread."""
        self._began_s, self._stolen_s, self._pressed_s = time.monotonic(), stolen_s(self.proc), pressed_s(self.proc)
        self.read()  # running processes have waited before
        self._thread = threading.Thread(target=self._read_on, name="starvation", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> float | None:
        """Return the longest wait of one task plus the time stolen from all processors, as a share of the time.

        None if the kernel says neither. It may be above 1: time can be stolen from two processors at once.
        """
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self.read()
        elapsed_s = time.monotonic() - self._began_s
        waited_s = _wait_since(self._pressed_s, pressed_s(self.proc))
        if self._tasks:
            waited_s = max(seen.last_ns - seen.first_ns for seen in self._tasks.values()) / 1e9
        known = [part for part in (waited_s, _wait_since(self._stolen_s, stolen_s(self.proc))) if part is not None]
        return sum(known) / elapsed_s if known and elapsed_s > 0 else None

    def read(self) -> None:
        """Read the present waits of all tasks."""
        for pid in (name for name in os.listdir(self.proc) if name.isdigit()):
            if pid not in self._ours:
                self._ours[pid] = self._is_ours(pid)
            if self._ours[pid]:
                self._read_tasks(pid)

    def _read_on(self) -> None:
        while not self._ended.wait(_PERIOD_S):
            self.read()

    def _is_ours(self, pid: str) -> bool:
        try:
            return os.readlink(self.proc / pid / "ns/net") in self.namespaces
        except OSError:  # gone, or another user's
            return False

    def _read_tasks(self, pid: str) -> None:
        try:
            for task in os.listdir(self.proc / pid / "task"):
                text = (self.proc / pid / "task" / task / "schedstat").read_text(encoding="ascii")
                waited_ns = int(text.split()[1])
                seen = self._tasks.setdefault(f"{pid}/{task}", _TaskWait(waited_ns if self._thread is None else 0))
                seen.last_ns = waited_ns
        except (OSError, ValueError, IndexError):  # it ended meanwhile
            return


def stolen_s(proc: Path = _PROC) -> float | None:
    """Return the seconds that the hypervisor took from all processors since the start; None if unknown."""
    try:
        return int((proc / "stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1 + _STEAL]) / _TICKS
    except (OSError, ValueError, IndexError):
        return None


def pressed_s(proc: Path = _PROC) -> float | None:
    """Return the seconds in which any task of this host waited for a processor; None if unknown."""
    try:
        some = (proc / "pressure/cpu").read_text(encoding="ascii").split("\n", 1)[0]
        return int(some.rpartition("total=")[2]) / 1e6
    except (OSError, ValueError):
        return None


def _wait_since(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else now - before


def wait_for_quiet(at_most_s: float) -> bool:
    """Wait until every processor of this host runs for a moment without a pause; return whether this came in time."""
    end = time.monotonic() + at_most_s
    own = os.sched_getaffinity(0)
    try:
        while not all(_is_quiet(processor) for processor in own):
            if time.monotonic() > end:
                return False
            time.sleep(_QUIET_S)
    finally:
        os.sched_setaffinity(0, own)
    return True


def _is_quiet(processor: int) -> bool:
    os.sched_setaffinity(0, {processor})
    begun = last = time.monotonic()
    while last - begun < _QUIET_S:
        now = time.monotonic()
        if now - last > _STILL_S:
            return False
        last = now
    return True


_READ_PERIOD_S = 0.05
#: In a line of /proc/net/dev: the bytes received, and those sent.
_RECEIVED, _SENT = 0, 8


@dataclass(frozen=True, slots=True)
class Reading:
    """What the devices of a node had sent and received together, in bytes since they began, at a time in seconds."""

    at_s: float
    moved: Mapping[str, int]


@dataclass(slots=True)
class TrafficWatch:
    """Reads the counters of nodes until it is stopped; ``files`` has each node's net/dev."""

    files: Mapping[str, Path]
    _readings: dict[str, list[Reading]] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> "TrafficWatch":
        """Begin to read, in its own thread."""
        self._thread = threading.Thread(target=self._read_on, name="traffic", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> Mapping[str, tuple[Reading, ...]]:
        """Return the readings of each node, in the order of time."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        return {node: tuple(readings) for node, readings in self._readings.items()}

    def _read_on(self) -> None:
        while True:
            for node, file in self.files.items():
                try:
                    moved = bytes_of(file.read_text(encoding="ascii"))
                except OSError:  # the node has ended
                    continue
                self._readings.setdefault(node, []).append(Reading(time.monotonic(), moved))
            if self._ended.wait(_READ_PERIOD_S):
                return


def bytes_of(text: str) -> dict[str, int]:
    """Return the bytes that each device of a /proc/net/dev has sent and received so far, together."""
    found = {}
    for line in text.splitlines():
        device, colon, counters = line.partition(":")
        counts = counters.split()
        if colon and len(counts) > _SENT:
            found[device.strip()] = int(counts[_RECEIVED]) + int(counts[_SENT])
    return found
