"""The processors and memory domains of a rehearsed node: its part of /sys/devices/system. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # mpirun's stand-in, which starts with every launch, does not need the model
    from railyard.site.systems.model import System

# What a node has if its file says nothing: enough for every micro-benchmark, and two sockets, as most nodes have.
_CORES, _MEMORY = 32, 64 << 30
# A node with fewer cores is assumed to have one socket.
_CORES_OF_TWO_SOCKETS = 8


@dataclass(frozen=True, slots=True)
class Machine:
    """The processors and memory of every node.

    ``memory`` is in bytes, ``ghz`` is the clock that its processors show, if any.
    """

    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory: int
    ghz: float | None = None
    turbo_ghz: float | None = None

    @property
    def cores(self) -> int:
        """How many cores a node has."""
        return self.sockets * self.cores_per_socket

    @property
    def processors(self) -> int:
        """How many processors the kernel counts: the threads of all cores."""
        return self.cores * self.threads_per_core

    def processors_near(self, socket: int) -> str:
        """Return the processors of a socket as the kernel lists them: ``0-55,112-167``.

        The first threads of all cores come first, socket by socket, then their second threads.
        """
        first = socket * self.cores_per_socket
        return ",".join(
            as_range(thread * self.cores + first, self.cores_per_socket) for thread in range(self.threads_per_core)
        )

    def files(self) -> dict[str, str]:
        """Return the text of each file by its path below ``/sys/devices/system``.

        Source: Linux, admin-guide/cputopology.rst and ABI/stable/sysfs-devices-node.
        """
        found = {f"cpu/{name}": text for name, text in self._processors().items()}
        for number in range(self.processors):
            found |= {f"cpu/cpu{number}/{name}": text for name, text in self._processor(number).items()}
        domains = as_range(0, self.sockets)
        found |= {f"node/{name}": domains for name in ("online", "possible", "has_cpu", "has_memory")}
        for socket in range(self.sockets):
            found |= {f"node/node{socket}/{name}": text for name, text in self._domain(socket).items()}
        return found

    def _processors(self) -> Mapping[str, str]:
        everyone = as_range(0, self.processors)
        has_threads = self.threads_per_core > 1
        return {
            **dict.fromkeys(("online", "possible", "present"), everyone),
            "offline": "",
            "isolated": "",
            "kernel_max": str(max(self.processors, 8192) - 1),
            "smt/control": "on" if has_threads else "off",
            "smt/active": "1" if has_threads else "0",
        }

    def _processor(self, number: int) -> Mapping[str, str]:
        core = number % self.cores
        socket = core // self.cores_per_socket
        siblings = [thread * self.cores + core for thread in range(self.threads_per_core)]
        found = {
            "topology/physical_package_id": str(socket),
            "topology/core_id": str(core % self.cores_per_socket),
            "topology/thread_siblings_list": ",".join(map(str, siblings)),
            "topology/thread_siblings": self._mask(siblings),
            "topology/core_siblings_list": self.processors_near(socket),
            "topology/core_siblings": self._mask(self._of(socket)),
            "cpufreq/scaling_governor": "performance",
        }
        if self.ghz is not None:
            found["cpufreq/scaling_cur_freq"] = _khz(self.ghz)
            found["cpufreq/scaling_max_freq"] = _khz(self.turbo_ghz or self.ghz)
        return found

    def _domain(self, socket: int) -> Mapping[str, str]:
        kib = self.memory // self.sockets >> 10
        return {
            "cpulist": self.processors_near(socket),
            "cpumap": self._mask(self._of(socket)),
            # A local access costs 10 by definition (ACPI, SLIT); two-socket servers give 21 for the other socket.
            "distance": " ".join("10" if other == socket else "21" for other in range(self.sockets)),
            "meminfo": f"Node {socket} MemTotal:       {kib} kB\nNode {socket} MemFree:        {kib} kB",
        }

    def _of(self, socket: int) -> list[int]:
        return [each for each in range(self.processors) if each % self.cores // self.cores_per_socket == socket]

    def _mask(self, processors: Iterable[int]) -> str:
        """Return processors as the kernel's mask: groups of 32, the highest first, ``00ffffff,ffffffff``."""
        bits = sum(1 << each for each in processors)
        groups = -(-self.processors // 32)
        return ",".join(f"{bits >> 32 * group & 0xFFFFFFFF:08x}" for group in reversed(range(groups)))


def machine_of(system: "System") -> Machine:
    """Return the processors and memory of a system's nodes, by its file; the rest is assumed (``assumptions``)."""
    hardware = system.nodes.hardware
    cores = hardware.cores if hardware else _CORES
    assumed_sockets = 2 if cores % 2 == 0 and cores >= _CORES_OF_TWO_SOCKETS else 1
    sockets = (hardware.sockets if hardware else None) or assumed_sockets
    return Machine(
        sockets=sockets,
        cores_per_socket=cores // sockets,
        threads_per_core=_threads(system) or 1,
        memory=hardware.memory if hardware else _MEMORY,
        ghz=hardware.base_ghz if hardware else None,
        turbo_ghz=hardware.turbo_ghz if hardware else None,
    )


def assumptions(system: "System") -> Iterator[str]:
    """Yield a sentence for each thing that the file does not say about its nodes, with what is assumed instead."""
    machine = machine_of(system)
    sockets = f"{machine.sockets} socket{'s' if machine.sockets > 1 else ''} of {machine.cores_per_socket} cores"
    if system.nodes.hardware is None:
        yield f"the file has no nodes.hardware: each node has {sockets}, one thread per core, and {_MEMORY >> 30} GiB"
        return
    if system.nodes.hardware.sockets is None:
        threads = "" if _threads(system) else ", one thread per core"
        yield f"the file does not say how a node's cores are spread over sockets: each node has {sockets}{threads}"
    elif _threads(system) is None:
        yield "the file does not say how many threads a core has: each core has one"


def _threads(system: "System") -> int | None:
    """Return the threads of a core by the file, None if it does not say."""
    found: int | None = getattr(system.nodes.hardware, "threads_per_core", None)
    return found


def as_range(first: int, count: int) -> str:
    """Return this many processors from the first one on, as the kernel lists them: ``4-7``, ``4``."""
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _khz(ghz: float) -> str:
    return str(round(ghz * 1e6))
