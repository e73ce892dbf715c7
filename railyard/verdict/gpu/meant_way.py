"""What the log of NCCL or RCCL says of the way that the bytes took, against the way that a run was meant to have.

A log is what the library says, and the NICs' counters decide. But it alone knows by which NIC each GPU sent, and why a
network was not used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.base.wording import counted, listing
from railyard.parsers.nccl_said import Job, Link, Log, Nic, Rank, Speaker

_NETWORK, _SHARED_MEMORY, _PEER = "NET/", "SHM", "P2P"


@dataclass(frozen=True, slots=True)
class MeantWay:
    """The way that a run was meant to have.

    ``network`` is the library's own name of it (IB, Socket), empty where none was told. ``within``: one node, by its
    own links; ``over_nics``: one node, over its NICs alone. ``own_nics``: each GPU sends by the NICs nearest to it.
    ``has_links``: NVLink or xGMI connects the GPUs of a node. ``nearest``: device to GPUs, of the system's file.
    ``rails``: those of the run, such as ``mlx5_0:1``.
    """

    network: str
    within: bool = False
    over_nics: bool = False
    own_nics: bool = False
    has_links: bool = False
    nearest: Mapping[str, Sequence[int]] | None = None
    rails: Sequence[str] = ()


def why_other(log: Log, meant: MeantWay) -> str | None:
    """Return the first sentence of the log that contradicts the meant way; None where none does."""
    return next((why for why in (*_network(log, meant), *_within(log, meant)) if why is not None), None) or (
        next(_far(log, meant), None) if meant.own_nics else None
    )


def why_other_groups(jobs: Sequence[Job]) -> str | None:
    """Return which group of a run has two GPUs of one node, where each was to have one of every node; None if none."""
    for job in jobs:
        if len(job.ranks) > 1 and not any(rank.group for rank in job.ranks):
            return (
                f"all {len(job.ranks)} ranks are one group (line {job.ranks[0].line} of the output): NCCL_TESTS_SPLIT "
                "did not reach the tests, or their release has none"
            )
        seen: dict[tuple[int, str], Rank] = {}
        for rank in job.ranks:
            first = seen.setdefault((rank.group, rank.host), rank)
            if first is not rank:
                return (
                    f"group {rank.group} has ranks {first.rank} and {rank.rank} on {rank.host} (line {rank.line} of "
                    "the output), expected one rank of each node in each group: the launcher does not fill node after "
                    "node"
                )
    return None


def remarks(log: Log, meant: MeantWay) -> tuple[str, ...]:
    """Return what the log says that decides nothing: copies through the host's memory, GPUs with a farther NIC."""
    found = []
    over = [link for link in log.links if link.transport.lower() == f"{_NETWORK}{meant.network}".lower()]
    slow = [link for link in over if not link.gdr]
    if slow and meant.network.lower() != "socket":
        found.append(
            f"{len(slow)} of {counted(len(over), 'connection')} over NICs are without GPUDirect RDMA (line "
            f"{slow[0].line}): their bytes go through the host's memory"
        )
    far = None if meant.own_nics else next(_far(log, meant), None)
    return (*found, *([far] if far is not None else []))


def _network(log: Log, meant: MeantWay) -> Iterator[str | None]:
    """Yield where another network than the meant one was used, with the reason that the log gives."""
    if not meant.network:
        return
    why = next((said for said in log.fallbacks if "No device found" in said.text or "libibverbs" in said.text), None)
    because = f', since "{why.text}" (line {why.line})' if why is not None else ""
    for said in log.networks:
        # A plugin has a name of its own, which differs by release: it is none of NCCL's own networks.
        if said.text.lower() in ("socket", "ib") and said.text.lower() != meant.network.lower():
            yield (
                f"{_who(said.by)} used the network {said.text} (line {said.line} of the output), expected "
                f"{meant.network}{because}"
            )
    for link in log.links:
        name = link.transport.removeprefix(_NETWORK)
        if link.transport.startswith(_NETWORK) and name.lower() in ("socket", "ib"):
            if name.lower() != meant.network.lower():
                yield f"{_connection(link)} went over {link.transport}, expected {_NETWORK}{meant.network}{because}"


def _within(log: Log, meant: MeantWay) -> Iterator[str | None]:
    """Yield where GPUs of a node reached each other in another way than they were meant to."""
    for link in log.links:
        if meant.within and link.transport.startswith(_NETWORK):
            yield f"{_connection(link)} went over {link.transport}, expected the links within the node"
        if meant.within and meant.has_links and link.transport.startswith(_SHARED_MEMORY):
            yield f"{_connection(link)} went through the host's memory ({link.transport}), expected the GPUs' own links"
        if meant.over_nics and link.transport.startswith((_PEER, _SHARED_MEMORY)):
            yield f"{_connection(link)} went by {link.transport}, expected a NIC (NCCL_P2P_DISABLE, NCCL_SHM_DISABLE)"


def _far(log: Log, meant: MeantWay) -> Iterator[str]:
    """Yield where a GPU sent by a NIC that is not nearest to it, though one that is was among the run's rails.

    By the numbers of GPUs that the log has, which are CUDA's: a process that sees one GPU alone calls it 0.
    """
    nearest = meant.nearest or {}
    used = {name.partition(":")[0] for name in meant.rails}
    own: dict[int, list[str]] = {}
    for device, gpus in nearest.items():
        for gpu in gpus:
            if device in used:
                own.setdefault(gpu, []).append(device)
    nics = {(nic.by.host, nic.by.pid, nic.number): nic for nic in log.nics}
    for link in log.links:
        nic = None if link.nic is None else nics.get((link.by.host, link.by.pid, link.nic))
        sender = _gpu_of(link, log)
        if nic is None or sender is None or sender not in own or _is_one_of(nic, own[sender]):
            continue
        yield (
            f"GPU {sender} of {link.by.host} sends by {nic.name} (line {link.line} of the output), and the system's "
            f"file has it nearest to {listing(own[sender])}"
        )


def _gpu_of(link: Link, log: Log) -> int | None:
    """Return the number of the GPU whose process wrote a line; None where its processes see one GPU each, as 0."""
    seen = {other.by.gpu for other in log.links if other.by.host == link.by.host}
    processes = {other.by.pid for other in log.links if other.by.host == link.by.host}
    return None if len(processes) > len(seen) or link.by.gpu < 0 else link.by.gpu


def _is_one_of(nic: Nic, devices: Sequence[str]) -> bool:
    """Return whether a NIC is one of these; ports that NCCL has joined are written ``mlx5_0+mlx5_1``."""
    return not set(nic.name.split("+")).isdisjoint(devices)


def _connection(link: Link) -> str:
    target = "another" if link.target is None else f"rank {link.target}"
    return f"the connection from rank {link.source} to {target} (line {link.line} of the output)"


def _who(by: Speaker | None) -> str:
    return "the library" if by is None else f"GPU {by.gpu} of {by.host}"
