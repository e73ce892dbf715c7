"""What the log of NCCL or RCCL says about the way that the bytes took, and whether that is the intended way of a run.

Two use what is read. ``log_word`` judges an output that a person gives, and compares it with nodes in words.
``why_other`` here judges a run of Railyard, and compares it with the run's settings. Both use the same facts and lines;
each makes its own verdict of them.

``SeenLog`` is the log beside the nodes that it is compared with: its NICs, its connections, and who wrote them.

A log is only the library's word: the NICs' counters decide. But only the log shows which NIC each GPU used, and why a
network was not used.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from railyard.base.wording import listing
from railyard.hardware.gpu_nodes import GpuNode, Shape
from railyard.parsers.nccl_said import Choice, Job, Link, Log, LogSentence, Nic, Rank, Speaker, Speed
from railyard.verdict.gpu.run import GpuTarget
from railyard.verdict.rule_model import LogContradiction
from railyard.verdict.wording import gpu_log as words

#: NCCL's own networks. A plugin has its own name, which depends on the release.
SOCKET, VERBS = "socket", "ib"
_NETWORK = "NET/"
#: Why NCCL did not use verbs, in its own words.
_NO_VERBS = ("No device found", "libibverbs", "No IP interface found", "NET plugin")
#: NCCL_IB_DISABLE set by environment to 1.  |  NCCL_NET set by environment to Socket
_FOR_SOCKETS = re.compile(r"(?:NCCL_IB_DISABLE set .{0,40}to [1-9]|NCCL_NET set .{0,40}to socket)\.?", re.IGNORECASE)
_PLUGINS = ("NET/OFI ", "Loaded net plugin", "Initialized NET", "Assigned NET")
_RDMA = ("infiniband", "roce", "omnipath", "slingshot", "efa")
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


class Network(NamedTuple):
    """A place where the log names a network of NCCL: ``SOCKET`` or ``VERBS``; ``link`` None: a sentence names it."""

    name: str
    line: int
    by: Speaker | None
    link: Link | None


class FarGpu(NamedTuple):
    """A GPU that uses a NIC nearest to other GPUs, although a NIC nearest to it was available (``near``)."""

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


def log_reason(log: Log) -> str:
    """Return the log's own reason for not using InfiniBand or RoCE, as the end of a sentence; empty for none."""
    found = next((said for said in log.fallbacks if any(word in said.text for word in _NO_VERBS)), None)
    return "" if found is None else words.say_since(found.text, found.line)


def is_for_sockets(said: LogSentence) -> bool:
    """Return whether a setting leaves NCCL only its sockets, unless a plugin brings another network."""
    return _FOR_SOCKETS.fullmatch(said.text) is not None


def rates(log: Log) -> dict[str, dict[str, Speed]]:
    """Return host -> device -> the highest rate that the log has of it; devices are mlx5_0:1, or without a port."""
    found: dict[str, dict[str, Speed]] = {}
    with_port = {(said.by.host, said.name) for said in log.speeds if said.port is not None}
    for said in log.speeds:
        if said.port is None and (said.by.host, said.name) in with_port:
            continue
        device = said.name if said.port is None else f"{said.name}:{said.port}"
        own = found.setdefault(said.by.host, {})
        if device not in own or own[device].mbit_s < said.mbit_s:
            own[device] = said
    return found


def over_nics(log: Log) -> tuple[Link, ...]:
    """Return the connections that name a NIC."""
    return tuple(link for link in log.links if link.nic is not None)


def is_over_network(link: Link) -> bool:
    """Return whether a connection uses a network, NCCL's own or a plugin's."""
    return link.transport.startswith(_NETWORK)


def through_memory(log: Log) -> tuple[Link, ...]:
    """Return the connections within a node that go through the host's memory instead of the GPUs' own links."""
    return tuple(link for link in log.links if link.transport.startswith("SHM"))


def without_gpu_direct(log: Log) -> str | None:
    """Return a sentence if connections over NICs (not sockets) go through the hosts' memory; None if none does."""
    over = [link for link in over_nics(log) if link.transport.removeprefix(_NETWORK).lower() != SOCKET]
    slow = [link for link in over if not link.gdr]
    if not slow:
        return None
    return words.without_gpu_direct(len(slow), len(over), slow[0].line)


def hosts_with_network(log: Log) -> frozenset[str]:
    """Return the hosts that name a network or its plugin, list a NIC that is not for sockets, or connect over one."""
    by = [said.by for said in log.networks]
    by += [said.by for said in log.facts if said.text.startswith(_PLUGINS)]
    by += [link.by for link in log.links if is_over_network(link)]
    by += [nic.by for nic in log.nics if nic.kind != "Socket"]
    return frozenset(speaker.host for speaker in by if speaker is not None)


def all_connect(log: Log, host: str, gpus: int) -> bool:
    """Return whether the log has a connection of each of the GPUs of a host that take part."""
    return len({(link.by.pid, link.by.gpu) for link in log.links if link.by.host == host}) >= gpus


def nic_of(link: Link, log: Log) -> Nic | None:
    """Return the NIC of a connection as the process that wrote it lists it; None if the log does not list it.

    Each process numbers the NICs that it may use. Another process of the same host may have other NICs.
    """
    own = [nic for nic in log.nics if nic.by.host == link.by.host and nic.number == link.nic]
    return next((nic for nic in own if nic.by.pid == link.by.pid), next(iter(own), None))


def name(nic: Nic) -> str:
    """Return the name of a NIC as launches use it: ``mlx5_0:1``."""
    return nic.name if nic.port is None else f"{nic.name}:{nic.port}"


def devices(nic: Nic) -> tuple[str, ...]:
    """Return the devices of a NIC: NCCL writes joined ports as ``mlx5_0+mlx5_1``."""
    return tuple(nic.name.split("+"))


def far_nics(log: Log, nearest: Mapping[str, Sequence[int]], used: Sequence[str] = ()) -> Iterator[FarGpu]:
    """Yield where a GPU uses a NIC that is nearest to other GPUs, by ``nearest`` (device to GPUs).

    ``used``: the rails of the run, if only these count. The numbers of GPUs are CUDA's: a process that sees only one
    GPU calls it 0. So hosts for which this is possible are left out.
    """
    among = {rail.partition(":")[0] for rail in used} or set(nearest)
    near: dict[int, list[str]] = {}
    for device, gpus in nearest.items():
        for gpu in gpus if device in among else ():
            near.setdefault(gpu, []).append(device)
    numbered = _renumbered_hosts(log)
    for link in over_nics(log):
        nic, gpu = nic_of(link, log), link.by.gpu
        known = nic is not None and link.by.host in numbered and gpu in near
        if known and nic is not None and set(devices(nic)).isdisjoint(near[gpu]):
            yield FarGpu(link, gpu, nic, tuple(near[gpu]))


def _renumbered_hosts(log: Log) -> frozenset[str]:
    """Return the hosts whose processes call their GPUs by different numbers."""
    gpus: dict[str, set[int]] = {}
    processes: dict[str, set[int]] = {}
    for link in log.links:
        gpus.setdefault(link.by.host, set()).add(link.by.gpu)
        processes.setdefault(link.by.host, set()).add(link.by.pid)
    return frozenset(host for host, own in gpus.items() if len(processes[host]) <= len(own) and max(own) > 0)


def find_sentence(said: Sequence[LogSentence], *parts: str) -> LogSentence | None:
    """Return the first sentence that has all of these words."""
    return next((each for each in said if all(part in each.text for part in parts)), None)


def without_nvls(log: Log | None, shape: Shape) -> tuple[Shape, str]:
    """Return the shape as the log has it, and the end of a sentence: without NVLink SHARP if the log says it is off."""
    link = shape.node.gpu_link
    if log is None or link is None or not link.multicasts:
        return shape, ""
    off = find_sentence(log.settings, "NCCL_NVLS_ENABLE", "to 0") or find_sentence(
        log.fallbacks, "NVLS multicast support is not"
    )
    if off is None:
        return shape, ""
    node = replace(shape.node, gpu_link=replace(link, multicasts=False))
    return replace(shape, node=node), words.multicast_off(off.line, off.text)


def without_reduction(log: Log | None, shape: Shape) -> tuple[Shape, str]:
    """Return the shape as the log has it, and the end of a sentence: the switches do not reduce without a plugin."""
    if log is None or not shape.node.reduces:
        return shape, ""
    off = find_sentence(log.settings, "NCCL_NET_PLUGIN", "to none") or find_sentence(
        log.settings, "COLLNET_ENABLE", "to 0"
    )
    if off is None:
        return shape, ""
    return replace(shape, node=replace(shape.node, reduces=False)), words.reduction_off(off.line, off.text)


def bytes_of_call(choice: Choice, collective: str, size_bytes: int, shape: Shape) -> int:
    """Return what a TUNING line prints for this size: since NCCL 2.24 one rank's share, as the caller counts."""
    is_share = choice.channels is not None and collective in ("all_gather", "reduce_scatter")
    return size_bytes // shape.ranks if is_share else size_bytes


@dataclass(frozen=True, slots=True)
class SeenLog:
    """The log and what it is compared with; ``shape`` None: the number of nodes is not known.

    ``net_links``: the connections over a NIC. ``nics``: host -> its NICs, each once, at the line that first lists it.
    ``used``: host -> the numbers of the NICs that its connections name. ``heard``: host -> who lists NICs there.
    ``listed``: host -> the processes that the output lists.
    """

    log: Log
    target: GpuTarget
    shape: Shape | None
    net_links: tuple[Link, ...]
    nics: Mapping[str, tuple[Nic, ...]]
    used: Mapping[str, Set[int]]
    heard: Mapping[str, Set[Speaker]]
    listed: Mapping[str, Set[int | None]]
    collective: str = ""

    @property
    def over_network(self) -> bool:
        """Whether a NIC has to carry anything."""
        return self.shape is None or self.shape.domains > 1

    @property
    def is_rdma(self) -> bool:
        """Whether NCCL reaches the nodes' NICs without sockets."""
        return uses_rdma(self.target.node)

    def hears_all(self, host: str) -> bool:
        """Return whether each process of a host lists its NICs: a process may get fewer than the node has."""
        heard, listed = self.heard[host], self.listed.get(host)
        return listed <= {each.pid for each in heard} if listed else len(heard) >= self.target.node.gpus

    @property
    def hosts(self) -> list[str]:
        """The hosts that list NICs."""
        return sorted(self.nics)


def seen_log(log: Log, target: GpuTarget, shape: Shape | None, ranks: Sequence[Rank], collective: str) -> SeenLog:
    """Return a log beside the nodes; ``ranks``: those that the output lists, with their processes."""
    nics: dict[str, dict[tuple[str, int | None], Nic]] = {}
    heard: dict[str, set[Speaker]] = {}
    for nic in log.nics:
        if nic.kind != "Socket":
            nics.setdefault(nic.by.host, {}).setdefault((nic.name, nic.port), nic)
            heard.setdefault(nic.by.host, set()).add(nic.by)
    used: dict[str, set[int]] = {}
    for link in over_nics(log):
        used.setdefault(link.by.host, set()).add(link.nic or 0)
    listed: dict[str, set[int | None]] = {}
    for rank in ranks:
        listed.setdefault(rank.host, set()).add(rank.pid)
    each = {host: tuple(found.values()) for host, found in nics.items()}
    return SeenLog(log, target, shape, over_nics(log), each, used, heard, listed, collective)


def idle(seen: SeenLog) -> Iterator[tuple[str, str]]:
    """Yield each host that lists NICs which no connection of the log uses, and these NICs in words."""
    for host in seen.hosts:
        used = seen.used.get(host, frozenset())
        unused = [name(nic) for nic in seen.nics[host] if nic.number not in used]
        if used and unused and len(used) < seen.target.node.nics:
            yield host, listing(unused)


def few_nics(seen: SeenLog) -> tuple[str, int, int] | None:
    """Return the first host that lists fewer NICs than the nodes have, how many, and the line; None if none does."""
    if not (seen.over_network and seen.is_rdma):
        return None
    for host in seen.hosts:
        count = sum(1 + nic.name.count("+") for nic in seen.nics[host])  # NCCL joins ports: mlx5_0+mlx5_1
        if 0 < count < seen.target.node.nics:
            return host, count, seen.nics[host][0].line
    return None


def uses_rdma(node: GpuNode) -> bool:
    """Return whether NCCL reaches the NICs of such nodes without sockets."""
    return node.link is not None and node.link.family in _RDMA


def why_other(log: Log, meant: MeantWay) -> LogContradiction | None:
    """Return the first sentence of the log that contradicts the intended way; None if none does."""
    far = _check_far(log, meant) if meant.own_nics else ()
    is_own = meant.network.lower() in (SOCKET, VERBS)
    asked = (
        (_network(log, meant), words.look_at_network() if is_own else words.look_at_plugin()),
        (_check_within(log, meant), words.look_at_links()),
        (far, words.look_at_nic()),
    )
    return next((LogContradiction(why, look) for whys, look in asked for why in whys), None)


def why_other_groups(jobs: Sequence[Job]) -> LogContradiction | None:
    """Return why a run's groups do not each have one GPU of each node; None if they do, or if it is not known."""
    why = _other_groups(jobs)
    return None if why is None else LogContradiction(why, words.look_at_groups())


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
    return tuple(said for said in (without_gpu_direct(log), far) if said is not None)


def _network(log: Log, meant: MeantWay) -> Iterator[str]:
    """Yield where another network than the intended one was used, with the reason that the log gives."""
    if not meant.network:
        return
    because = log_reason(log)
    for seen in networks(log):
        if seen.name == meant.network.lower():
            continue
        if seen.link is not None:
            yield words.went_over(_connection(seen.link), seen.link.transport, meant.network, because)
        else:
            named: Literal["Socket", "IB"] = "Socket" if seen.name == SOCKET else "IB"
            yield words.used_network(_who(seen.by), named, seen.line, meant.network, because)


def _check_within(log: Log, meant: MeantWay) -> Iterator[str]:
    """Yield where GPUs of a node reached each other in another way than intended."""
    for link in log.links:
        if meant.within and is_over_network(link):
            yield words.left_node(_connection(link), link.transport)
        if meant.within and meant.has_links and link.transport.startswith(_SHARED_MEMORY):
            yield words.through_memory(_connection(link), link.transport)
        if meant.over_nics and link.transport.startswith((_PEER, _SHARED_MEMORY)):
            yield words.used_no_nic(_connection(link), link.transport)


def _check_far(log: Log, meant: MeantWay) -> Iterator[str]:
    """Yield where a GPU sent over a NIC that is not nearest to it, although one of the run's rails is."""
    for far in far_nics(log, meant.nearest or {}, meant.rails):
        yield words.far_nic_of_run(far.gpu, far.link.by.host, far.nic.name, far.link.line, far.near)


def _connection(link: Link) -> str:
    return words.connection(link.source, link.target, link.line)


def _who(by: Speaker | None) -> str:
    return words.the_library() if by is None else words.gpu_of(by.gpu, by.host)
