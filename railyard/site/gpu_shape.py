"""A system's GPUs for one fabric, as the limits need them: their shape, and how fast messages in their memory move."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from railyard.base.errors import RailyardError
from railyard.base.wording import listing
from railyard.benchmarks.model import Within
from railyard.benchmarks.table.nccl import Part
from railyard.hardware import limits
from railyard.hardware.gpu_nodes import GPU_MAX_PAYLOAD, GpuNode, Shape, Unsaid, may_reduce
from railyard.hardware.links import SLOTS
from railyard.site.systems.model import Fabric, Rail, System
from railyard.site.systems.parts import Gpus
from railyard.stacks.model import NIC_PER_RANK


def gpu_node(system: System, fabric: str, rails: int | None = None) -> GpuNode | None:
    """Return what each node has for a collective over so many rails of a fabric (None: all of them).

    None if the system states no GPUs. Raises KeyError for an unknown fabric, ValueError for rails that it lacks.
    """
    gpus, of = system.gpus, system.fabrics[fabric]
    if gpus is None:
        return None
    used = of.used_rails(len(of.rails) if rails is None else rails)
    network = of.limit(len(used), 1)
    bare = of.model_copy(update={"slot": None, "rails": tuple(r.model_copy(update={"slot": None}) for r in of.rails)})
    of_links = bare.limit(len(used), 1)
    behind_slot = (
        network is not None and of_links is not None and network.value_mb_s < of_links.value_mb_s * (1 - 1e-12)
    )
    return GpuNode(
        gpus.per_node,
        gpu_link=gpus.link,
        nics=len(used),
        network=network,
        behind_slot=behind_slot,
        nics_of_gpu=gpus.nics_of_gpu(tuple(rail.device for rail in used)),
        gpu_slot=None if gpus.slot is None else SLOTS[gpus.slot],
        domain=gpus.domain,
        reduces=may_reduce(of.link),
        link=of.link,
    )


def shape_of_part(system: System, fabric: str, rails: int, part: Part, nodes: int, used: int) -> Shape | None:
    """Return which GPUs of which nodes take part in one collective of a run over a part of a system.

    ``used``: GPUs per node. For a run in groups it is the shape of one group, with its share of the NICs. None if the
    system states no GPUs, or fewer, or if its NVLink domains are not full.
    """
    node = gpu_node(system, fabric, rails)
    if node is None or nodes < 1 or not 1 <= used <= node.gpus:
        return None
    if part.split:
        node, used = _of_a_group(node, used), 1
    try:
        return Shape(replace(node, within_over_nics=part.over_nics), nodes, used)
    except RailyardError:
        return None


def _of_a_group(node: GpuNode, groups: int) -> GpuNode:
    """Return what a group with one GPU of each node has, if so many groups share the NICs of a node evenly."""
    bound = node.network
    if bound is not None and groups > 1:
        terms = f"{bound.terms}, shared by {groups} groups"
        bound = replace(bound, value_mb_s=bound.value_mb_s / groups, terms=terms)
    own = max(1, node.nics // groups)
    joined = node.domain is not None and node.domain > node.gpus
    return replace(
        node,
        gpus=1,
        gpu_link=node.gpu_link if joined else None,
        domain=node.domain // groups if joined and node.domain is not None else None,
        nics=own if node.nics else 0,
        nics_of_gpu=own,
        network=bound,
    )


def gpus_near(gpus: Gpus, fabric: Fabric, rails: Sequence[Rail]) -> tuple[int, ...]:
    """Return the number of the GPU nearest to each of these rails. Raises ValueError if a rail has none.

    A process uses the GPU that is nearest to the first of its rails.
    """
    devices = [rail.device for rail in fabric.rails]
    found = [(rail.name, gpus.nearest_gpu(rail.device, devices)) for rail in rails]
    lacking = [name for name, gpu in found if gpu is None]
    if lacking:
        raise ValueError(f"gpus: nearest names no GPU of {listing(lacking)}")
    return tuple(gpu for _, gpu in found if gpu is not None)


def limit_from_gpus(
    gpus: Gpus,
    fabric: Fabric,
    rails: int,
    directions: int,
    one_stream: bool = False,
    policy: str = "",
    every_gpu: bool = False,
) -> limits.Limit | None:
    """Return the bound of messages from the memory of GPUs, MB/s: the rails' own, and that of each used GPU's slot.

    Several rails of one process share the slot of one GPU. If each process has a rail, it uses the nearest GPU, and
    rails with the same GPU share its slot. ``every_gpu``: all GPUs of a node send, and the library chooses which of
    them uses which rail. None if the link's rate is unknown. Raises ValueError like ``gpus_near`` and ``Fabric.used``.
    """
    used = fabric.used_rails(rails, policy)
    if gpus.slot is None:
        return fabric.limit(rails, directions, one_stream, policy)
    if every_gpu:
        budget, terms = limits.slot_budget(SLOTS[gpus.slot], GPU_MAX_PAYLOAD, directions)
        all_ = f"{terms}, of {gpus.per_node} GPUs"
        return _bound_of_slot(fabric.limit(rails, directions, one_stream, policy), budget * gpus.per_node, all_)
    near = gpus_near(gpus, fabric, used)
    of_gpu: dict[int, list[Rail]] = {}
    for rail, gpu in zip(used, near, strict=True):
        of_gpu.setdefault(gpu if policy == NIC_PER_RANK else near[0], []).append(rail)
    budget, terms = limits.slot_budget(SLOTS[gpus.slot], GPU_MAX_PAYLOAD, directions)
    return limits.combine(
        _bound_of_slot(
            fabric.model_copy(update={"rails": tuple(own)}).limit(len(own), directions, one_stream), budget, terms
        )
        for own in of_gpu.values()
    )


def _bound_of_slot(bound: limits.Limit | None, budget: float, terms: str) -> limits.Limit | None:
    """Return the smaller bound: that of some rails, or that of the slot of their GPU."""
    if bound is None or bound.value_mb_s <= budget:
        return bound
    said = f"slot of the GPU {terms} = {budget:.1f} MB/s, below the rails' {bound.value_mb_s:.1f} MB/s"
    return replace(bound, value_mb_s=budget, terms=said)


#: The least that nvbandwidth reaches on healthy GPUs, as a share of the slot's payload and of the NVLinks' rate.
#: Published: slots 82 % (12.36 GB/s of PCIe 3, nvbandwidth's README) to 92 % (H100, 55.3 of 60.2); NVLink 88 % (A100,
#: 264 of 300 in that README; H100, 395 of 450; GB200, 798 of 900 in NVIDIA's DRA driver's documentation).
_WITHIN_FLOORS: Mapping[Within, float] = {"slot": 0.75, "gpu-link": 0.80}
_WITHIN_SOURCE = "day-one floor within a node: nvbandwidth's README has 82 % of a slot and 88 % of NVLink"


def limit_within(gpus: Gpus | None, within: Within) -> limits.Limit | None:
    """Return the most that one copy within a node moves, one way, MB/s; None if it is unknown what carries it.

    The file does not rule out that two GPUs have all their links to each other, through a switch.
    """
    if gpus is None or (gpus.slot if within == "slot" else gpus.link) is None:
        return None
    link = gpus.link
    if within == "gpu-link" and link is not None and not link.is_slot:
        value = link.pair_rate_mb_s()
        return limits.Limit(value, f"{link.generation} = {value:.1f} MB/s between two GPUs", link.source)
    slot = SLOTS[gpus.slot or ""]
    value, terms = limits.slot_budget(slot, GPU_MAX_PAYLOAD, 1)
    return limits.Limit(value, f"slot of the GPU {terms} = {value:.1f} MB/s", slot.source)


def least_between_gpus(gpus: Gpus) -> limits.Limit | None:
    """Return what two GPUs of a node can exchange at least, one way, MB/s: over the links that any two have, else over
    their slots. None if it is unknown.
    """
    bound, link = limit_within(gpus, "gpu-link"), gpus.link
    if bound is None or link is None:
        return None
    if link.is_slot:
        return replace(bound, terms=link.generation)
    pair = _pair_rate_mb_s(gpus)
    return None if pair is None else replace(bound, value_mb_s=pair, terms=link.generation)


def lanes_seen(gpus: Gpus, value_mb_s: float) -> str:
    """Return the fewer lanes of a GPU's slot that a copy of this rate, MB/s, looks like; empty if none fits.

    A rate fits so many lanes if it is between what healthy copies reach of them and their limit.
    """
    bound = limit_within(gpus, "slot")
    if bound is None or gpus.slot is None:
        return ""
    lanes = SLOTS[gpus.slot].lanes
    for part in (2, 4, 8, 16):
        if lanes % part == 0 and _WITHIN_FLOORS["slot"] <= value_mb_s * part / bound.value_mb_s <= 1:
            return f"{lanes // part} of the {lanes} lanes of its slot"
    return ""


def floor_within(gpus: Gpus | None, within: Within) -> limits.LinkFloor | Unsaid:
    """Return the least that one copy within a node reaches, one way, or what nobody says that it depends on."""
    bound = limit_within(gpus, within)
    if gpus is None or bound is None:
        return within or "slot"
    rate = bound.value_mb_s
    if within == "gpu-link":
        pair = _pair_rate_mb_s(gpus)
        if pair is None:
            return "links-between-two"
        rate = min(rate, pair)
    share = _WITHIN_FLOORS[within]
    return limits.LinkFloor(share * rate, 0, f"{_WITHIN_SOURCE}; {share:.0%} of {rate:.1f} MB/s")


def _pair_rate_mb_s(gpus: Gpus) -> float | None:
    """Return the least rate between two GPUs, MB/s; None if that is unknown.

    From NVLink 3 on, boards of 8 GPUs and domains of several nodes have switches, so all links lead to any GPU. Boards
    of up to 4 have the same number of links between any two. Older boards of 8 (DGX-1) have pairs without any link.
    """
    link = gpus.link
    if link is None or link.is_slot:
        return None
    if link.pair_links is not None or gpus.per_node == 1:
        return link.pair_rate_mb_s()
    if gpus.per_node <= 4 and gpus.domain is None:
        return link.links // (gpus.per_node - 1) * link.link_mb_s
    return link.pair_rate_mb_s() if (gpus.nvlink or 0) >= 3 else None
