"""The shape of a system with GPUs, as the physics of collectives needs it: from its file, for one of its fabrics."""

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


def shape_of(system: System, fabric: str, nodes: int, gpus: int | None = None) -> Shape | None:
    """Return the shape of a run on so many nodes with so many GPUs of each (None: all), over all rails of a fabric.

    None where the system states no GPUs, fewer nodes or fewer GPUs than asked for.
    """
    node = gpu_node(system, fabric)
    if node is None or nodes > system.nodes.number or (gpus or 1) > node.gpus:
        return None
    return Shape(node, nodes, gpus)
