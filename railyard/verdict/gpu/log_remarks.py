"""What a reader should know of NCCL's own log, and what decides nothing: slower ways, idle NICs, crossed rails."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from railyard.base.wording import count_of, listing
from railyard.parsers.nccl_said import Link
from railyard.verdict.gpu import log_reading
from railyard.verdict.gpu.log_seen import SeenLog, idle


def remarks(seen: SeenLog) -> tuple[str, ...]:
    """Return the remarks, each as the end of a sentence: "GPUDirect RDMA is off (line 7 …)"."""
    return tuple(said for tell in _REMARKS for said in tell(seen))


def _not_heard(seen: SeenLog) -> Iterator[str]:
    """Yield that a host lists fewer NICs than expected, if not all of its processes are in the log."""
    for host in seen.hosts if seen.over_network and seen.is_rdma else ():
        found = seen.nics[host]
        if len(found) < seen.target.node.nics and not seen.hears_all(host):
            yield (
                f"{host} lists {count_of(len(found), 'NIC')} (line {found[0].line}), expected {seen.target.node.nics}; "
                "but not all of its processes are in the log"
            )
            return


def _unlike_lists(seen: SeenLog) -> Iterator[str]:
    """Yield that processes of one host list different NICs: the launcher may give each its own, or some lack one."""
    for host in seen.hosts:
        each: dict[int, dict[str, int]] = {}
        for nic in seen.log.nics:
            if nic.by.host == host and nic.kind != "Socket":
                each.setdefault(nic.by.pid, {})[log_reading.name(nic)] = nic.line
        lists = sorted(each.values(), key=len)
        if lists and len(lists[0]) < len(lists[-1]):
            shown = [f"{count_of(len(own), 'NIC')} (line {min(own.values())})" for own in (lists[0], lists[-1])]
            yield f"processes of {host} list different NICs: {listing(shown)}"
            return


def _no_gpu_direct(seen: SeenLog) -> Iterator[str]:
    if not (seen.over_network and seen.is_rdma):
        return
    off = log_reading.said_with(seen.log.fallbacks, "GPU Direct RDMA Disabled")
    without = log_reading.without_gpu_direct(seen.log)
    if off is not None:
        yield f'GPUDirect RDMA is off (line {off.line}: "{off.text}"): the bytes go through the hosts\' memory'
    elif without is not None:
        yield without


def _not_over_links(seen: SeenLog) -> Iterator[str]:
    link = seen.target.node.gpu_link
    if link is None or link.is_slot or seen.target.node.within_over_nics:
        return
    off = log_reading.said_with(seen.log.settings, "NCCL_P2P_DISABLE", "to 1")
    if off is not None:
        yield f'the GPUs of a node do not use {link.word} (line {off.line}: "{off.text}")'
    shared = log_reading.through_memory(seen.log)
    if shared:
        first = shared[0]
        yield (
            f"shared memory carries {count_of(len(shared), 'connection')} within a node, instead of {link.word} (line "
            f"{first.line}: rank {first.source} to {first.target})"
        )


def _crossed_rails(seen: SeenLog) -> Iterator[str]:
    """Yield a connection that leaves by one NIC and arrives at another: a longer way if rails are separate."""
    sent = {(each.channel, each.source, each.target): each for each in seen.net_links if each.direction == "send"}
    crossed = [
        (sent[key], each)
        for each in seen.net_links
        if each.direction == "receive"
        and (key := (each.channel, each.source, each.target)) in sent
        and sent[key].nic != each.nic
    ]
    if crossed:
        one, other = crossed[0]
        yield (
            f"rails are crossed in {len(crossed)} of {count_of(len(sent), 'connection')}: channel {one.channel} from "
            f"rank {one.source} to {one.target} leaves by NIC {_nic(seen, one)} (line {one.line}) and arrives at NIC "
            f"{_nic(seen, other)} (line {other.line}); if each rail has its own switches, such bytes take a "
            "longer way (NCCL_CROSS_NIC=0)"
        )


def _nic(seen: SeenLog, link: Link) -> str:
    nic = log_reading.nic_of(link, seen.log)
    return f"{link.nic}" if nic is None else f"{link.nic} ({log_reading.name(nic)})"


def _idle_nics(seen: SeenLog) -> Iterator[str]:
    """Yield that a node has NICs which no connection names: a sendrecv does not need them, a ring over all does."""
    for host, names in list(idle(seen))[:1]:
        yield f"no connection of {host} uses {names}"


def _far_nics(seen: SeenLog) -> Iterator[str]:
    """Yield that a GPU sends over a NIC that is nearest to other GPUs, by the system's file."""
    far = next(log_reading.far_nics(seen.log, seen.target.nearest or {}), None)
    if far is not None:
        yield (
            f"GPU {far.gpu} of {far.link.by.host} uses {far.nic.name} (line {far.link.line}), but in "
            f"systems/{seen.target.system}.yaml {listing(far.near)} is nearest to it"
        )


_REMARKS: Sequence[Callable[[SeenLog], Iterable[str]]] = (
    _not_heard,
    _unlike_lists,
    _no_gpu_direct,
    _not_over_links,
    _crossed_rails,
    _idle_nics,
    _far_nics,
)
