"""What the log of NCCL or RCCL tells of the way that bytes took, read once for all who judge by it.

Two judges ask it: ``log_word`` of an output that somebody brings, against nodes in words, and ``meant_way`` of a run of
ours, compared with the run's settings. Each draws its own conclusion from a fact; the fact and its line are the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from railyard.base.wording import counted
from railyard.parsers.nccl_said import Link, Log, Nic, Said, Speaker

#: NCCL's own networks. A plugin has a name of its own, which differs by release.
SOCKET, VERBS = "socket", "ib"
_NETWORK = "NET/"
#: Why NCCL did not take verbs, in its own words.
_NO_VERBS = ("No device found", "libibverbs", "No IP interface found", "NET plugin")


class Network(NamedTuple):
    """One of NCCL's own networks where the log names it: ``SOCKET`` or ``VERBS``; ``link`` None in a sentence."""

    name: str
    line: int
    by: Speaker | None
    link: Link | None


class Far(NamedTuple):
    """A GPU that uses a NIC which is nearest to others, though one that is nearest to it was there: ``near``."""

    link: Link
    gpu: int
    nic: Nic
    near: tuple[str, ...]


def networks(log: Log) -> Iterator[Network]:
    """Yield each of NCCL's own networks that the log names: first in sentences ("Using network IB"), then by link."""
    for said in log.networks:
        if said.text.lower() in (SOCKET, VERBS):
            yield Network(said.text.lower(), said.line, said.by, None)
    for link in log.links:
        name = link.transport.removeprefix(_NETWORK).lower()
        if link.transport.startswith(_NETWORK) and name in (SOCKET, VERBS):
            yield Network(name, link.line, link.by, link)


def because(log: Log) -> str:
    """Return the log's own reason for not using InfiniBand or RoCE, as the end of a sentence; empty for none."""
    found = next((said for said in log.fallbacks if any(word in said.text for word in _NO_VERBS)), None)
    return "" if found is None else f', since "{found.text}" (line {found.line})'


def over_nics(log: Log) -> tuple[Link, ...]:
    """Return the connections that name a NIC."""
    return tuple(link for link in log.links if link.nic is not None)


def is_over_network(link: Link) -> bool:
    """Return whether a connection leaves by a network, NCCL's own or a plugin's."""
    return link.transport.startswith(_NETWORK)


def through_memory(log: Log) -> tuple[Link, ...]:
    """Return the connections within a node that go through the host's memory, in place of the GPUs' own links."""
    return tuple(link for link in log.links if link.transport.startswith("SHM"))


def without_gpu_direct(log: Log) -> str | None:
    """Return that connections over NICs, other than sockets, go through the hosts' memory; None where none does."""
    over = [link for link in over_nics(log) if link.transport.removeprefix(_NETWORK).lower() != SOCKET]
    slow = [link for link in over if not link.gdr]
    if not slow:
        return None
    return (
        f"{len(slow)} of {counted(len(over), 'connection')} over NICs are without GPUDirect RDMA (line "
        f"{slow[0].line}): their bytes go through the hosts' memory"
    )


def nic_of(link: Link, log: Log) -> Nic | None:
    """Return the NIC of a connection as the process that wrote it lists it; None where the log does not list it.

    Each process numbers the NICs that it may use: those of another process of its host may be others.
    """
    own = [nic for nic in log.nics if nic.by.host == link.by.host and nic.number == link.nic]
    return next((nic for nic in own if nic.by.pid == link.by.pid), next(iter(own), None))


def name(nic: Nic) -> str:
    """Return a NIC as launches name it: ``mlx5_0:1``."""
    return nic.name if nic.port is None else f"{nic.name}:{nic.port}"


def devices(nic: Nic) -> tuple[str, ...]:
    """Return the devices of a NIC: ports that NCCL has joined are written ``mlx5_0+mlx5_1``."""
    return tuple(nic.name.split("+"))


def far_nics(log: Log, nearest: Mapping[str, Sequence[int]], used: Sequence[str] = ()) -> Iterator[Far]:
    """Yield where a GPU uses a NIC that is nearest to others, by ``nearest`` (device to GPUs).

    ``used``: the rails of the run, where those alone count. Numbers of GPUs are CUDA's: a process that sees one GPU
    alone calls it 0, so nothing is said of a host where that may be so.
    """
    among = {rail.partition(":")[0] for rail in used} or set(nearest)
    near: dict[int, list[str]] = {}
    for device, gpus in nearest.items():
        for gpu in gpus if device in among else ():
            near.setdefault(gpu, []).append(device)
    numbered = _numbered(log)
    for link in over_nics(log):
        nic, gpu = nic_of(link, log), link.by.gpu
        known = nic is not None and link.by.host in numbered and gpu in near
        if known and nic is not None and set(devices(nic)).isdisjoint(near[gpu]):
            yield Far(link, gpu, nic, tuple(near[gpu]))


def _numbered(log: Log) -> frozenset[str]:
    """Return the hosts whose processes call their GPUs by different numbers."""
    gpus: dict[str, set[int]] = {}
    processes: dict[str, set[int]] = {}
    for link in log.links:
        gpus.setdefault(link.by.host, set()).add(link.by.gpu)
        processes.setdefault(link.by.host, set()).add(link.by.pid)
    return frozenset(host for host, own in gpus.items() if len(processes[host]) <= len(own) and max(own) > 0)


def said_with(said: Sequence[Said], *words: str) -> Said | None:
    """Return the first sentence that has all of these words."""
    return next((each for each in said if all(word in each.text for word in words)), None)
