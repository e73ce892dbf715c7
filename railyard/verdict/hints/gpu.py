"""Likely causes of a failed busbw between GPUs: one table; each entry has what is looked for, and its source.

A cause is offered as "looks like" and never decides. To add one, add an entry to ``CAUSES`` and a function that returns
its sentence or None. If NCCL's log itself names a slower path, that is shown before these (``verdict.gpu.log_word``).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from railyard.base.bounds import IMPOSSIBLE_FACTOR
from railyard.benchmarks.gpu_collectives import COLLECTIVES, BusbwBound, busbw_bounds, own_nics
from railyard.hardware.gpu_nodes import GpuNode, Shape, network_of, over_slot
from railyard.hardware.links import LINKS, SLOTS
from railyard.parsers.nccl_words import GB
from railyard.verdict.hints.causes import Likeness
from railyard.verdict.wording.causes import (
    Looks,
    across_sockets,
    fewer_nics,
    more_nics,
    narrow_slots,
    one_domain,
    over_pcie,
    over_sockets,
    reachable_share,
    through_hosts,
)

#: Share of what fewer or slower parts can reach: healthy runs reach 79 % or more of it (``bounds.GPU_FLOOR_SHARE``).
_LIKE = (0.79, IMPOSSIBLE_FACTOR.value)
_RDMA = ("infiniband", "roce", "omnipath", "slingshot", "efa")


@dataclass(frozen=True, slots=True)
class GpuSeen:
    """What the causes look at: a collective's largest busbw (GB/s) with long messages, and its nodes and GPUs."""

    collective: str
    shape: Shape
    peak_gb_s: float

    @property
    def node(self) -> GpuNode:
        """What each node has."""
        return self.shape.node

    def of(self, node: GpuNode, nodes: int | None = None) -> BusbwBound:
        """Return the lowest bound on other nodes, or on another number of them."""
        shape = Shape(node, self.shape.nodes if nodes is None else nodes, min(self.shape.gpus, node.gpus))
        return own_nics(self.collective, shape) or busbw_bounds(self.collective, shape)[0]

    def fits(self, bound: BusbwBound) -> bool:
        """Return whether the peak is what nodes with this bound reach."""
        low, high = _LIKE
        return low <= self.share(bound) <= high

    def share(self, bound: BusbwBound) -> float:
        """Return the peak as a share of a bound."""
        return self.peak_gb_s * GB / bound.busbw_mb_s

    @property
    def is_low(self) -> bool:
        """Whether it is below what healthy nodes reach."""
        return self.share(self.of(self.node)) < _LIKE[0]

    @property
    def is_impossible(self) -> bool:
        """Whether no algorithm can reach it."""
        return all(each.is_broken_by(self.peak_gb_s * GB) for each in busbw_bounds(self.collective, self.shape))

    @property
    def set_by_nics(self) -> bool:
        """Whether NICs or their slots set the lowest bound."""
        return self.of(self.node).limited_by in ("NIC", "slot")

    def compare_peak(self, bound: BusbwBound) -> str:
        """Return the peak compared with a bound, in words."""
        return reachable_share(self.peak_gb_s, self.share(bound), bound.busbw_mb_s / GB)


@dataclass(frozen=True, slots=True)
class GpuCause:
    """One cause: its name, what is looked for (in words), the source of that, and the function that looks."""

    name: str
    looked_for: str
    source: str
    match: Callable[[GpuSeen], Looks | None]


def likely_causes(seen: GpuSeen) -> tuple[Likeness, ...]:
    """Return the causes that a busbw looks like, in the table's order; () if nothing matches."""
    if seen.collective not in COLLECTIVES or seen.shape.ranks < 2:
        return ()
    found = ((cause.name, cause.match(seen)) for cause in CAUSES)
    return tuple(Likeness(name, said) for name, said in found if said is not None)


def document() -> str:
    """Return the table as Markdown, one row per cause."""
    rows = ["| looks like | looked for | source |", "| --- | --- | --- |"]
    rows += [f"| `{cause.name}` | {cause.looked_for} | {cause.source} |" for cause in CAUSES]
    return "\n".join(rows) + "\n"


def _one_domain(seen: GpuSeen) -> Looks | None:
    """Return that all GPUs reach each other over NVLink: several nodes in one domain."""
    if not seen.is_impossible or seen.shape.domains == 1 or seen.node.gpu_link is None:
        return None
    if seen.node.gpu_link.word != "NVLink":
        return None
    whole = replace(seen.node, domain=seen.shape.ranks, within_over_nics=False)
    inside = busbw_bounds(seen.collective, Shape(whole, seen.shape.nodes, seen.shape.used))
    if all(each.is_broken_by(seen.peak_gb_s * GB) for each in inside):
        return None
    return one_domain(seen.compare_peak(inside[0]))


def _more_nics(seen: GpuSeen) -> Looks | None:
    if not seen.is_impossible or not seen.set_by_nics:
        return None
    for times in (2, 4):
        shape = replace(seen.shape, node=_with_nics(seen.node, seen.node.nics * times))
        allowed = [each for each in busbw_bounds(seen.collective, shape) if not each.is_broken_by(seen.peak_gb_s * GB)]
        if allowed:
            return more_nics(times, seen.compare_peak(allowed[0]))
    return None


def _fewer_nics(seen: GpuSeen) -> Looks | None:
    if not (seen.is_low and seen.set_by_nics) or seen.node.nics < 2 or own_nics(seen.collective, seen.shape):
        return None
    for nics in range(seen.node.nics // 2, 0, -1):
        if seen.node.nics % nics:
            continue
        bound = seen.of(_with_nics(seen.node, nics))
        if seen.fits(bound):
            return fewer_nics(nics, seen.node.nics, seen.compare_peak(bound))
    return None


def _across_sockets(seen: GpuSeen) -> Looks | None:
    if not (seen.is_low and seen.set_by_nics):
        return None
    half = 0.5 * seen.of(seen.node).busbw_mb_s
    share = seen.peak_gb_s * GB / half
    if not _LIKE[0] <= share <= _LIKE[1]:
        return None
    return across_sockets(seen.peak_gb_s, share / 2)


def _narrow_slot(seen: GpuSeen) -> Looks | None:
    link = seen.node.link
    if not (seen.is_low and seen.set_by_nics) or link is None:
        return None
    for slot in _NARROW:
        network, behind = network_of(link, SLOTS[slot], seen.node.nics)
        if not behind or network is None:
            continue
        bound = seen.of(replace(seen.node, network=network, behind_slot=True))
        if seen.fits(bound):
            return narrow_slots(slot, seen.compare_peak(bound))
    return None


_NARROW = tuple(
    name for name in ("pcie4-x16", "pcie5-x8", "pcie3-x16", "pcie4-x8", "pcie3-x8", "pcie4-x4") if name in SLOTS
)


def _sockets(seen: GpuSeen) -> Looks | None:
    link = seen.node.link
    if not (seen.is_low and seen.set_by_nics) or link is None or link.family not in _RDMA:
        return None
    for name in ("eth-100", "eth-50", "eth-40", "eth-25", "eth-10", "eth-1"):
        if name not in LINKS:
            continue
        network, _ = network_of(LINKS[name], None, 1)
        bound = seen.of(replace(seen.node, nics=1, network=network, link=LINKS[name], reduces=False))
        share = seen.share(bound)
        if 0.5 <= share <= IMPOSSIBLE_FACTOR.value:
            return over_sockets(name, link.name, seen.compare_peak(bound))
    return None


def _over_pcie(seen: GpuSeen) -> Looks | None:
    link = seen.node.gpu_link
    if not seen.is_low or link is None or link.is_slot or seen.of(seen.node).limited_by != link.word:
        return None
    for name in ("pcie6-x16", "pcie5-x16", "pcie4-x16", "pcie3-x16"):
        if name not in SLOTS or (seen.node.gpu_slot is not None and name > seen.node.gpu_slot.name):
            continue
        bound = seen.of(replace(seen.node, gpu_link=over_slot(SLOTS[name]), domain=None))
        share = seen.share(bound)
        if 0.4 <= share <= IMPOSSIBLE_FACTOR.value:
            return over_pcie(link.word, name, seen.compare_peak(bound))
    return None


def _through_hosts(seen: GpuSeen) -> Looks | None:
    link = seen.node.link
    if not (seen.is_low and seen.set_by_nics) or link is None or link.family not in _RDMA:
        return None
    share = seen.share(seen.of(seen.node))
    if not 0.1 <= share <= 0.6:
        return None
    return through_hosts(share)


def _with_nics(node: GpuNode, nics: int) -> GpuNode:
    if node.network is None or not node.nics:
        return node
    network = replace(node.network, value_mb_s=node.network.value_mb_s * nics / node.nics)
    return replace(node, nics=nics, network=network)


CAUSES: tuple[GpuCause, ...] = (
    GpuCause(
        "one-domain",
        "a busbw that no NIC can carry, but NVLink over all GPUs can",
        "NVIDIA, cluster-readiness-engine: 837.76 GB/s where four NICs carry 200 (references/classes, gb200-4xroce400)",
        _one_domain,
    ),
    GpuCause("more-nics", "an impossible busbw that twice or four times the NICs' rate allows", "computed", _more_nics),
    GpuCause(
        "fewer-nics",
        "a peak of 79 to 102 % of what half of the NICs, a quarter … or one can reach",
        "computed (railyard.benchmarks.gpu_collectives)",
        _fewer_nics,
    ),
    GpuCause(
        "across-sockets",
        "a peak of 79 to 102 % of half of the NICs' bound",
        "linux-rdma/perftest, issue 241: half of the speed across sockets",
        _across_sockets,
    ),
    GpuCause(
        "narrow-slot",
        "a peak of 79 to 102 % of what the NICs can reach behind a slot of half the width or an older generation",
        "computed (railyard.hardware.limits)",
        _narrow_slot,
    ),
    GpuCause(
        "sockets",
        "a peak of 50 to 102 % of what one interface of 1 to 100 Gbit/s Ethernet carries",
        "NVIDIA/nccl, issues 352 and 1837: sockets in place of InfiniBand",
        _sockets,
    ),
    GpuCause(
        "over-pcie",
        "NVLink or xGMI sets the bound, and the peak is 40 to 102 % of what PCIe can reach",
        "computed; NVIDIA/nccl-tests, issue 250: without NVLink, NCCL uses PCIe or shared memory",
        _over_pcie,
    ),
    GpuCause(
        "no-gpu-direct",
        "a peak of 10 to 60 % of the NICs' bound",
        "NVIDIA/nccl, issues 465, 489, 700 (ACS: 40 %), 949 (ACS: 54 %) and 1412 (34 %); nccl-tests, issue 152 (30 %)",
        _through_hosts,
    ),
)
