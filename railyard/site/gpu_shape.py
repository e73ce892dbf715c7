"""A system's GPUs as physics needs them, from its file, for one fabric: their shape, and what buffers in them move."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from railyard.base.errors import RailyardError
from railyard.base.wording import listing
from railyard.benchmarks.model import Within
from railyard.benchmarks.table.nccl import Part
from railyard.hardware import limits
from railyard.hardware.gpu_links import GPU_MAX_PAYLOAD
from railyard.hardware.gpu_nodes import GpuNode, Shape, may_reduce
from railyard.hardware.links import SLOTS
from railyard.site.systems.gpus import Gpus
from railyard.site.systems.model import Fabric, Rail, System
from railyard.stacks.model import NIC_PER_RANK


def gpu_node(system: System, fabric: str, rails: int | None = None) -> GpuNode | None:
    """Return what each node has that a collective over so many rails of a fabric uses (None: all of them).

    None where the system states no GPUs. Raises KeyError for an unknown fabric, ValueError for rails that it lacks.
    """
    gpus, of = system.gpus, system.fabrics[fabric]
    if gpus is None:
        return None
    used = of.used(len(of.rails) if rails is None else rails)
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

    ``used``: GPUs of a node. Of a run in groups it is one group, with its share of the NICs. None where the system
    states no GPUs, or fewer, and where its NVLink domains are not full.
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
    """Return what a group with one GPU of each node has, where as many groups share the NICs of a node evenly."""
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


def shape_of(system: System, fabric: str, nodes: int, gpus: int | None = None) -> Shape | None:
    """Return the shape of a run on so many nodes with so many GPUs of each (None: all), over all rails of a fabric.

    None where the system states no GPUs, fewer nodes or fewer GPUs than asked for.
    """
    node = gpu_node(system, fabric)
    if node is None or nodes > system.nodes.number or (gpus or 1) > node.gpus:
        return None
    return Shape(node, nodes, gpus)


def gpus_near(gpus: Gpus, fabric: Fabric, rails: Sequence[Rail]) -> tuple[int, ...]:
    """Return the number of the GPU nearest to each of these rails. Raises ValueError where a rail has none.

    A process has the GPU that is nearest to the first of its rails.
    """
    devices = [rail.device for rail in fabric.rails]
    found = [(rail.name, gpus.near(rail.device, devices)) for rail in rails]
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
    """Return the bound of messages from the memory of GPUs, MB/s: the rails', and of each GPU used its slot's.

    Several rails of one process pass the slot of one GPU; with a rail for each process each has the nearest GPU, and
    rails with the same one share its slot. ``every_gpu``: all GPUs of a node send, and which of them sends by which
    rail is the library's choice. None where the link's rate is not known. Raises ValueError as ``gpus_near`` and
    ``Fabric.used`` do.
    """
    used = fabric.used(rails, policy)
    if gpus.slot is None:
        return fabric.limit(rails, directions, one_stream, policy)
    if every_gpu:
        budget, terms = limits.slot_budget(SLOTS[gpus.slot], GPU_MAX_PAYLOAD, directions)
        all_ = f"{terms}, of {gpus.per_node} GPUs"
        return _behind(fabric.limit(rails, directions, one_stream, policy), budget * gpus.per_node, all_)
    near = gpus_near(gpus, fabric, used)
    of_gpu: dict[int, list[Rail]] = {}
    for rail, gpu in zip(used, near, strict=True):
        of_gpu.setdefault(gpu if policy == NIC_PER_RANK else near[0], []).append(rail)
    budget, terms = limits.slot_budget(SLOTS[gpus.slot], GPU_MAX_PAYLOAD, directions)
    return limits.combine(
        _behind(fabric.model_copy(update={"rails": tuple(own)}).limit(len(own), directions, one_stream), budget, terms)
        for own in of_gpu.values()
    )


def _behind(bound: limits.Limit | None, budget: float, terms: str) -> limits.Limit | None:
    """Return the smaller one of what some rails and the slot of their GPU carry."""
    if bound is None or bound.value_mb_s <= budget:
        return bound
    said = f"slot of the GPU {terms} = {budget:.1f} MB/s, below the rails' {bound.value_mb_s:.1f} MB/s"
    return replace(bound, value_mb_s=budget, terms=said)


#: What nvbandwidth reaches at least on healthy GPUs, of the slot's payload and of the NVLinks' rate. Published: slots
#: 82 % (12.36 GB/s of PCIe 3, nvbandwidth's README) to 92 % (H100, 55.3 of 60.2); NVLink 88 % (A100, 264 of 300 in that
#: README; H100, 395 of 450; GB200, 798 of 900 in NVIDIA's DRA driver's documentation).
_WITHIN_FLOORS: Mapping[Within, float] = {"slot": 0.75, "gpu-link": 0.80}
_WITHIN_SOURCE = "day-one floor within a node: nvbandwidth's README has 82 % of a slot and 88 % of NVLink"


def limit_within(gpus: Gpus | None, within: Within) -> limits.Limit | None:
    """Return what one copy moves at most within a node, one way, MB/s; None where it is not known what carries it.

    Two GPUs may have all their links to one another, through a switch, as far as the file says.
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


def floor_within(gpus: Gpus | None, within: Within) -> limits.LinkFloor | str:
    """Return what one copy reaches at least within a node, one way, or the sentence "not judged: …"."""
    bound = limit_within(gpus, within)
    if gpus is None or bound is None:
        return f"not judged: the file does not say {'the slot of a GPU' if within == 'slot' else 'what connects GPUs'}"
    rate = bound.value_mb_s
    if within == "gpu-link":
        pair = _pair_rate_mb_s(gpus)
        if pair is None:
            return "not judged: the file does not say how many links two GPUs have to one another"
        rate = min(rate, pair)
    share = _WITHIN_FLOORS[within]
    return limits.LinkFloor(share * rate, 0, f"{_WITHIN_SOURCE}; {share:.0%} of {rate:.1f} MB/s")


def _pair_rate_mb_s(gpus: Gpus) -> float | None:
    """Return what two GPUs have between them at least, MB/s; None where that is not known.

    From NVLink 3 on, boards of 8 GPUs and domains of several nodes have switches, so that all links lead to any GPU;
    boards of up to 4 have as many links between any two. Older boards of 8 (DGX-1) have pairs without any.
    """
    link = gpus.link
    if link is None or link.is_slot:
        return None
    if link.pair_links is not None or gpus.per_node == 1:
        return link.pair_rate_mb_s()
    if gpus.per_node <= 4 and gpus.domain is None:
        return link.links // (gpus.per_node - 1) * link.link_mb_s
    return link.pair_rate_mb_s() if (gpus.nvlink or 0) >= 3 else None
