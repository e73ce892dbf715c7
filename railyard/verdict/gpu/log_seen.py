"""NCCL's own log beside the nodes that it is compared with: its NICs, its connections, and who wrote them."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from railyard.base.wording import listing
from railyard.hardware.gpu_nodes import GpuNode, Shape
from railyard.parsers.nccl_said import Link, Log, Nic, Rank, Speaker
from railyard.verdict.gpu import log_reading
from railyard.verdict.gpu.target import GpuTarget

_RDMA = ("infiniband", "roce", "omnipath", "slingshot", "efa")


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


def seen_of(log: Log, target: GpuTarget, shape: Shape | None, ranks: Sequence[Rank], collective: str) -> SeenLog:
    """Return a log beside the nodes; ``ranks``: those that the output lists, with their processes."""
    nics: dict[str, dict[tuple[str, int | None], Nic]] = {}
    heard: dict[str, set[Speaker]] = {}
    for nic in log.nics:
        if nic.kind != "Socket":
            nics.setdefault(nic.by.host, {}).setdefault((nic.name, nic.port), nic)
            heard.setdefault(nic.by.host, set()).add(nic.by)
    used: dict[str, set[int]] = {}
    for link in log_reading.over_nics(log):
        used.setdefault(link.by.host, set()).add(link.nic or 0)
    listed: dict[str, set[int | None]] = {}
    for rank in ranks:
        listed.setdefault(rank.host, set()).add(rank.pid)
    each = {host: tuple(found.values()) for host, found in nics.items()}
    return SeenLog(log, target, shape, log_reading.over_nics(log), each, used, heard, listed, collective)


def idle(seen: SeenLog) -> Iterator[tuple[str, str]]:
    """Yield each host that lists NICs which no connection of the log uses, and these NICs in words."""
    for host in seen.hosts:
        used = seen.used.get(host, frozenset())
        unused = [log_reading.name(nic) for nic in seen.nics[host] if nic.number not in used]
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
