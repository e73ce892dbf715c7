"""When the rails of a testbed's nodes carried what: their counters, read again and again while a run measures.

All nodes share one host, so their counters are read from outside, in /proc/PID/net/dev of each node's first process
(proc_pid_net(5)), and no process of the run is disturbed. A reading of four nodes takes about 0.2 ms.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PERIOD_S = 0.05
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
            if self._ended.wait(_PERIOD_S):
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
