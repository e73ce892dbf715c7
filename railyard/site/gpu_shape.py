"""The shape of a system with GPUs, as the physics of collectives needs it: from its file, for one of its fabrics."""

from dataclasses import replace

from railyard.base.errors import RailyardError
from railyard.benchmarks.table.nccl import Part
from railyard.hardware.gpu_nodes import GpuNode, Shape, may_reduce
from railyard.hardware.links import SLOTS
from railyard.site.systems.model import System


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
