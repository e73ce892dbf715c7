"""What a node computes with: its cores, their threads, its sockets and its memory, as the kernel counts them."""

import re
from dataclasses import dataclass

from railyard.base.wording import count_of
from railyard.cluster.detect.source import Source

_CPUS = "/sys/devices/system/cpu"
_FIRST = f"{_CPUS}/cpu0/topology"
_RANGE = re.compile(r"(?P<first>[0-9]{1,6})(?:-(?P<last>[0-9]{1,6}))?")
_MEMORY = re.compile(r"^MemTotal:\s+(?P<kib>[0-9]{1,15}) kB$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Processors:
    """Cores of the whole node, threads of each core, sockets (None if unknown), memory in KiB."""

    cores: int
    threads_a_core: int
    sockets: int | None
    memory_kib: int

    @property
    def memory(self) -> str:
        """The memory in the form of a system's file, rounded down: ``503G`` (GiB), or ``3922M`` for a small machine."""
        gib = self.memory_kib >> 20
        return f"{gib}G" if gib >= 8 else f"{self.memory_kib >> 10}M"

    @property
    def words(self) -> str:
        """How the cores are arranged: ``2 sockets of 56 cores, 2 threads a core``."""
        threads = f"{count_of(self.threads_a_core, 'thread')} a core"
        if self.sockets is None:
            return threads
        return f"{count_of(self.sockets, 'socket')} of {count_of(self.cores // self.sockets, 'core')}, {threads}"


def processors_of(source: Source) -> Processors | None:
    """Return what the node computes with; None if the kernel does not say all of it.

    The first processor stands for the others, since all cores of a cluster's nodes are alike. Source: proc(5), and
    Linux, admin-guide/cputopology.rst (``thread_siblings_list``: of the same core, ``core_siblings_list``: of the
    socket).
    """
    online = _count(source.read(f"{_CPUS}/online"))
    threads = _count(source.read(f"{_FIRST}/thread_siblings_list"))
    socket = _count(source.read(f"{_FIRST}/core_siblings_list"))
    memory = _MEMORY.search(source.read("/proc/meminfo") or "")
    if not online or not threads or online % threads or memory is None or int(memory["kib"]) < 1024:
        return None
    whole = socket and socket % threads == 0 and online % socket == 0
    return Processors(online // threads, threads, online // socket if whole else None, int(memory["kib"]))


def _count(text: str | None) -> int:
    """Return how many processors a list of the kernel has (``0-55,112-167``); 0 if the text is not such a list."""
    ranges = [_RANGE.fullmatch(part) for part in (text or "").split(",")]
    counts = [int(one["last"] or one["first"]) - int(one["first"]) + 1 for one in ranges if one]
    return sum(counts) if len(counts) == len(ranges) and min(counts) > 0 else 0
