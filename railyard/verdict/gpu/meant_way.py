"""What the log of NCCL or RCCL says about the way that the bytes took, compared with the intended way of a run.

A log is only the library's word: the NICs' counters decide. But only the log shows which NIC each GPU used, and why a
network was not used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.parsers.nccl_said import Job, Link, Log, Rank, Speaker
from railyard.verdict.gpu import log_reading
from railyard.verdict.rules.model import OtherWay
from railyard.verdict.wording import gpu_log as words

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


def why_other(log: Log, meant: MeantWay) -> OtherWay | None:
    """Return the first sentence of the log that contradicts the intended way; None if none does."""
    far = _check_far(log, meant) if meant.own_nics else ()
    is_own = meant.network.lower() in (log_reading.SOCKET, log_reading.VERBS)
    asked = (
        (_network(log, meant), words.look_at_network() if is_own else words.look_at_plugin()),
        (_check_within(log, meant), words.look_at_links()),
        (far, words.look_at_nic()),
    )
    return next((OtherWay(why, look) for whys, look in asked for why in whys), None)


def why_other_groups(jobs: Sequence[Job]) -> OtherWay | None:
    """Return why a run's groups do not each have one GPU of each node; None if they do, or if it is not known."""
    why = _other_groups(jobs)
    return None if why is None else OtherWay(why, words.look_at_groups())


def _other_groups(jobs: Sequence[Job]) -> str | None:
    """Return which group of a run has two GPUs of one node, although each should have one of each; None if none."""
    for job in jobs:
        if len(job.ranks) > 1 and not any(rank.group for rank in job.ranks):
            return words.one_group(len(job.ranks), job.ranks[0].line)
        seen: dict[tuple[int, str], Rank] = {}
        for rank in job.ranks:
            first = seen.setdefault((rank.group, rank.host), rank)
            if first is not rank:
                return words.two_of_one_node(rank.group, first.rank, rank.rank, rank.host, rank.line)
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
            yield words.went_over(_connection(seen.link), seen.link.transport, meant.network, because)
        else:
            named: Literal["Socket", "IB"] = "Socket" if seen.name == log_reading.SOCKET else "IB"
            yield words.used_network(_who(seen.by), named, seen.line, meant.network, because)


def _check_within(log: Log, meant: MeantWay) -> Iterator[str]:
    """Yield where GPUs of a node reached each other in another way than intended."""
    for link in log.links:
        if meant.within and log_reading.is_over_network(link):
            yield words.left_node(_connection(link), link.transport)
        if meant.within and meant.has_links and link.transport.startswith(_SHARED_MEMORY):
            yield words.through_memory(_connection(link), link.transport)
        if meant.over_nics and link.transport.startswith((_PEER, _SHARED_MEMORY)):
            yield words.used_no_nic(_connection(link), link.transport)


def _check_far(log: Log, meant: MeantWay) -> Iterator[str]:
    """Yield where a GPU sent over a NIC that is not nearest to it, although one of the run's rails is."""
    for far in log_reading.far_nics(log, meant.nearest or {}, meant.rails):
        yield words.far_nic_of_run(far.gpu, far.link.by.host, far.nic.name, far.link.line, far.near)


def _connection(link: Link) -> str:
    return words.connection(link.source, link.target, link.line)


def _who(by: Speaker | None) -> str:
    return words.the_library() if by is None else words.gpu_of(by.gpu, by.host)
