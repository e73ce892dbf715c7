"""What the log of NCCL or RCCL says about the way that the bytes took, compared with the intended way of a run.

A log is only the library's word: the NICs' counters decide. But only the log shows which NIC each GPU used, and why a
network was not used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.base.wording import listing
from railyard.parsers.nccl_said import Job, Link, Log, Rank, Speaker
from railyard.verdict.gpu import log_reading
from railyard.verdict.rules.model import OtherWay

_SHARED_MEMORY, _PEER = "SHM", "P2P"


@dataclass(frozen=True, slots=True)
class MeantWay:
    """The intended way of a run.

    ``network`` is the library's own name for it (IB, Socket), empty if none was set. ``within``: one node, over its own
    links; ``over_nics``: one node, only over its NICs. ``own_nics``: each GPU sends over the NICs nearest to it.
    ``has_links``: NVLink or xGMI connects the GPUs of a node. ``nearest``: device to GPUs, from the system's file.
    ``rails``: those of the run, such as ``mlx5_0:1``.
    """

    network: str
    within: bool = False
    over_nics: bool = False
    own_nics: bool = False
    has_links: bool = False
    nearest: Mapping[str, Sequence[int]] | None = None
    rails: Sequence[str] = ()


_LOOK_AT_NETWORK = (
    "the cards and their drivers (ibv_devinfo), /dev/infiniband in a container, and what else sets NCCL_NET, "
    "NCCL_IB_HCA or NCCL_SOCKET_IFNAME"
)
_LOOK_AT_LINKS = (
    "nvidia-smi topo -m, and what else sets NCCL_P2P_DISABLE or NCCL_SHM_DISABLE (NCCL's log has ENV lines)"
)
_LOOK_AT_NIC = (
    "why NCCL left that rail out: its port (ibstat), its driver, GPUDirect RDMA, NCCL_IB_HCA; and nvidia-smi topo -m: "
    "gpus: nearest in the system's file must agree with it"
)
_LOOK_AT_GROUPS = (
    "how the launcher places the ranks (node after node), and whether NCCL_TESTS_SPLIT reaches them: nccl-tests has "
    "it since January 2025"
)


def why_other(log: Log, meant: MeantWay) -> OtherWay | None:
    """Return the first sentence of the log that contradicts the intended way; None if none does."""
    far = _check_far(log, meant) if meant.own_nics else ()
    asked = ((_network(log, meant), _LOOK_AT_NETWORK), (_check_within(log, meant), _LOOK_AT_LINKS), (far, _LOOK_AT_NIC))
    return next((OtherWay(why, look) for whys, look in asked for why in whys), None)


def why_other_groups(jobs: Sequence[Job]) -> OtherWay | None:
    """Return why a run's groups do not each have one GPU of each node; None if they do, or if it is not known."""
    why = _other_groups(jobs)
    return None if why is None else OtherWay(why, _LOOK_AT_GROUPS)


def _other_groups(jobs: Sequence[Job]) -> str | None:
    """Return which group of a run has two GPUs of one node, although each should have one of each; None if none."""
    for job in jobs:
        if len(job.ranks) > 1 and not any(rank.group for rank in job.ranks):
            return (
                f"all {len(job.ranks)} ranks are one group (line {job.ranks[0].line} of the output): NCCL_TESTS_SPLIT "
                "did not reach the tests, or their release does not have it"
            )
        seen: dict[tuple[int, str], Rank] = {}
        for rank in job.ranks:
            first = seen.setdefault((rank.group, rank.host), rank)
            if first is not rank:
                return (
                    f"group {rank.group} has ranks {first.rank} and {rank.rank} on {rank.host} (line {rank.line} of "
                    "the output), expected one rank of each node in each group: the launcher does not fill one node "
                    "after another"
                )
    return None


def remarks(log: Log, meant: MeantWay) -> tuple[str, ...]:
    """Return remarks, which do not decide anything: copies through the host's memory, GPUs that use a farther NIC."""
    far = None if meant.own_nics else next(_check_far(log, meant), None)
    return tuple(said for said in (log_reading.without_gpu_direct(log), far) if said is not None)


def _network(log: Log, meant: MeantWay) -> Iterator[str]:
    """Yield where another network than the intended one was used, with the reason that the log gives."""
    if not meant.network:
        return
    because = log_reading.log_reason(log)
    for seen in log_reading.networks(log):
        if seen.name == meant.network.lower():
            continue
        if seen.link is not None:
            yield f"{_connection(seen.link)} went over {seen.link.transport}, expected NET/{meant.network}{because}"
        else:
            named = "Socket" if seen.name == log_reading.SOCKET else "IB"
            yield (
                f"{_who(seen.by)} used the network {named} (line {seen.line} of the output), expected "
                f"{meant.network}{because}"
            )


def _check_within(log: Log, meant: MeantWay) -> Iterator[str]:
    """Yield where GPUs of a node reached each other in another way than intended."""
    for link in log.links:
        if meant.within and log_reading.is_over_network(link):
            yield f"{_connection(link)} went over {link.transport}, expected the links within the node"
        if meant.within and meant.has_links and link.transport.startswith(_SHARED_MEMORY):
            yield f"{_connection(link)} went through the host's memory ({link.transport}), expected the GPUs' own links"
        if meant.over_nics and link.transport.startswith((_PEER, _SHARED_MEMORY)):
            yield f"{_connection(link)} went by {link.transport}, expected a NIC (NCCL_P2P_DISABLE, NCCL_SHM_DISABLE)"


def _check_far(log: Log, meant: MeantWay) -> Iterator[str]:
    """Yield where a GPU sent over a NIC that is not nearest to it, although one of the run's rails is."""
    for far in log_reading.far_nics(log, meant.nearest or {}, meant.rails):
        yield (
            f"GPU {far.gpu} of {far.link.by.host} sends over {far.nic.name} (line {far.link.line} of the output), but "
            f"in the system's file it is nearest to {listing(far.near)}"
        )


def _connection(link: Link) -> str:
    target = "another" if link.target is None else f"rank {link.target}"
    return f"the connection from rank {link.source} to {target} (line {link.line} of the output)"


def _who(by: Speaker | None) -> str:
    return "the library" if by is None else f"GPU {by.gpu} of {by.host}"
