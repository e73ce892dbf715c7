"""The algorithms for a collective between GPUs, and which of them a shape of system can use."""

from collections.abc import Mapping
from types import MappingProxyType

from railyard.base.errors import RailyardError, did_you_mean
from railyard.benchmarks.gpu.domain_shares import FORMULAE
from railyard.hardware.gpu_nodes import Shape

#: The words for each algorithm, in the order in which sentences name them.
ALGORITHMS: Mapping[str, str] = MappingProxyType(
    {
        "ring": "ring",
        "tree": "double binary tree",
        "nvls": "NVLink SHARP (NVLS)",
        "nvls-tree": "NVLink SHARP and a tree between nodes (NVLSTree)",
        "collnet-direct": "in-network reduction (CollNet, direct)",
        "collnet-chain": "in-network reduction (CollNet, chain)",
        "nvls-collnet": "NVLink SHARP and in-network reduction (NVLS over several nodes)",
        "pat": "parallel aggregated trees (PAT)",
        "hierarchical": "any other exact algorithm with messages between GPUs, each node's own GPUs first",
        "p2p": "sends and receives by nccl-tests itself",
    }
)
_NVLS = ("nvls", "nvls-tree", "nvls-collnet")
_REDUCED = ("nvls-collnet", "collnet-direct", "collnet-chain")
#: NCCL's names (NCCL_ALGO, and its TUNING lines). NVLS has two entries here, since its name does not tell the network.
_NCCL_WORDS: Mapping[str, str] = {
    "ring": "ring",
    "tree": "tree",
    "collnetdirect": "collnet-direct",
    "collnetchain": "collnet-chain",
    "nvlstree": "nvls-tree",
    "pat": "pat",
}


def algorithm_of_nccl(word: str, shape: Shape) -> str:
    """Return the algorithm with this name in NCCL (``NVLS``, ``CollNetDirect``). Raises RailyardError for others."""
    low = word.lower().replace("_", "")  # NVLSTree in NCCL_ALGO, NVLS_TREE in the TUNING lines
    if low == "nvls":
        return "nvls" if shape.domains == 1 else "nvls-collnet"
    if low not in _NCCL_WORDS:
        raise RailyardError(f'unknown algorithm "{word}" of NCCL: {did_you_mean(low, [*_NCCL_WORDS, "nvls"])}')
    return _NCCL_WORDS[low]


def set_algorithm(value: str, collective: str) -> str | None:
    """Return the one name that a value of NCCL_ALGO leaves for a collective; None if it leaves several or all.

    ``Ring`` is for all functions. ``ring,tree;allreduce:nvls`` has another list for one of them (since 2.24). ``^tree``
    forbids. Source: ``parseList`` in NCCL's src/graph/tuning.cc.
    """
    names = ""
    for entry in value.strip("\"'. ").split(";"):
        function, colon, listed = entry.rpartition(":")
        if not colon or function.strip().lower() == collective.replace("_", ""):
            names = listed.strip()
    return names if names and "," not in names and not names.startswith("^") else None


def why_not(algorithm: str, collective: str, shape: Shape) -> str | None:
    """Return None if a run of this shape can have used the algorithm, else the reason.

    A reason follows from the shape alone. If a switch can reduce, that does not mean that the library let it.
    """
    if (collective, algorithm) not in FORMULAE:
        return f"{ALGORITHMS[algorithm]} does not do {collective}"
    link, one = shape.node.gpu_link, shape.domains == 1
    if algorithm in _NVLS and link is not None and not link.multicasts:
        return f"{link.generation} has no switch that reduces: NVLS needs NVLink 4 or later"
    if algorithm in _NVLS and shape.gpus_a_domain == 1:
        return "one GPU has no other to reach over NVLink"
    if algorithm == "nvls" and not one:
        return "NVLS by itself cannot leave an NVLink domain"
    if algorithm in (*_REDUCED, "nvls-tree", "pat") and one:
        return "it needs several nodes, and here all GPUs reach each other without a NIC"
    if algorithm in _REDUCED and not shape.node.reduces:
        return "the switches of this network do not reduce (SHARP needs InfiniBand HDR or later)"
    if algorithm == "pat" and shape.gpus_a_domain > 1:
        return "NCCL uses PAT only with one GPU per node"
    if collective == "hypercube" and shape.ranks & (shape.ranks - 1):
        return f"a hypercube needs a power of two as number of ranks, and there are {shape.ranks}"
    return None


def possible_algorithms(collective: str, shape: Shape) -> tuple[str, ...]:
    """Return the algorithms that a run of this shape can have used, in the order of ``ALGORITHMS``."""
    return tuple(name for name in ALGORITHMS if why_not(name, collective, shape) is None)
