"""The collectives of nccl-tests and rccl-tests: what their size, algbw and busbw mean.

The printed size S is what a rank has before or after, whichever is larger: all of an all_gather's result, or all that a
rank of an alltoall sends. algbw is S/t, and busbw is algbw times a factor: the rate of a flat network on which a ring
would take the same time. It is not what a NIC carries: for that see ``railyard.benchmarks.gpu.collectives``.

Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md for the factors of all_reduce, reduce_scatter, all_gather, broadcast,
reduce and alltoall, and the functions GetBw of src/*.cu (commit a0b82b22) for all others. Hypercube prints an
algbw that already includes the factor (n-1)/n, and an equal busbw.

What the NICs of a domain and the links of a GPU must carry in one collective, by algorithm, in units of its size S.

In a domain GPUs reach each other without a NIC. Usually it is a node (``railyard.hardware.gpu_nodes.Shape``). There are
m domains with g GPUs each, n = m g in all. Each formula counts what no schedule of that algorithm can avoid:

ring: n hops in a circle, each carries a S, with a = 2 (n-1)/n for an all_reduce and (n-1)/n for a reduce_scatter or an
  all_gather. Rings of several channels leave a node over different NICs, but each leaves it once and enters it once:
  the NICs of a node carry a S each way, the busbw. The other g-1 hops of a node are on the GPUs' links,
  a (g-1)/g S each on average; with one node all g hops are. A broadcast is a chain with S over each hop.
tree: within a node a chain (g-1 hops, S up and S down, so on average 2 (g-1)/g S per GPU), between nodes the two trees
  of ``double_tree`` with half of S on each edge each way. On two nodes each sends and receives S, about half of what a
  ring carries: so a busbw above the NICs' rate is genuine there. From four nodes on, an inner node carries 2 S.
nvls: the NVLink switch adds up. Each GPU asks the switch for the sum of a g-th of S. For the others' parts the switch
  takes (g-1)/g S from each GPU, and each GPU sends its own g-th to all: (g-1)/g + 1/g = 1, so S each way, nearly half
  of a ring's.
nvls-tree: nvls in the node, the two trees between nodes.
collnet-direct, collnet-chain, nvls-collnet: switches of the network add up, so each node sends S and receives S, with
  any number of nodes (SHARP). In an all_gather a node sends its own S/m once, and the switch multicasts it. Within the
  node: 2 (g-1)/g S by direct exchange or along a chain, S by nvls.
hierarchical: any other exact algorithm that sends messages from GPU to GPU. Each node first reduces its own GPUs. Then
  the least between m nodes is what a ring of one GPU each carries: 2 (m-1)/m S, or (m-1)/m S for a reduce_scatter or an
  all_gather. NCCL's pat is such an algorithm.
p2p: nccl-tests itself builds the collective from messages. alltoall: each GPU sends S/n to each other one, so
  g (m-1)/m S leave a node and (g-1)/n S stay on a GPU's links: a share of (g-1)/(n-1) of its traffic stays in the node.
  sendrecv: each rank sends S to the next. With ranks placed node after node, one GPU's S leaves each node. gather and
  scatter: S/n between the root and each GPU. hypercube: in step i a GPU exchanges 2^i blocks of S/n with its partner.

Sources: NVIDIA/nccl, src/graph/tuning.cc, trees.cc and src/device/*.h (commit 5067397c); NVIDIA/nccl-tests, src/*.cu;
for nvls: B. Klenk et al., "An In-Network Architecture for Accelerating Shared-Memory Multiprocessor Collectives", ISCA
2020; for the least of an all_reduce: R. Rabenseifner, ICCS 2004; statements of NCCL's authors in NVIDIA/nccl issues
209, 812 and 946 (tree on two nodes), NVIDIA/nccl-tests issues 130 and 267 (alltoall) and 212 (nvls).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from railyard.base.errors import RailyardError, did_you_mean

if TYPE_CHECKING:
    from railyard.hardware.gpu_nodes import Shape


@dataclass(frozen=True, slots=True)
class Share:
    """What one domain carries, in units of S: all its NICs together, and a GPU's links (mean over its GPUs).

    ``of_one_gpu``: what goes to and from other domains for the GPU with the most of it, if each message belongs to two
    GPUs; 0 if the library is free to choose the NICs. ``to_one_gpu``: whether all that a GPU sends within its domain
    goes to one other GPU.
    """

    sent: float
    received: float
    gpu_sent: float
    gpu_received: float
    of_one_gpu: float = 0.0
    to_one_gpu: bool = False


#: The share of each domain, in the order of ranks. The root of a rooted collective is in the first.
Shares = tuple[Share, ...]
_Of = Callable[[int, int], Shares]


def shares_of(collective: str, algorithm: str, shape: Shape) -> Shares | None:
    """Return what each domain carries; None if the algorithm does not do this collective."""
    made = FORMULAE.get((collective, algorithm))
    return None if made is None else made(shape.domains, shape.gpus_a_domain)


def least_carried(collective: str, shape: Shape) -> Shares:
    """Return what each domain carries at least, with any algorithm. Its NICs' counters must show that much.

    If switches reduce and multicast, nothing crosses a border twice, so it is what these carry. With sends and receives
    there is no choice. Raises IndexError for an unknown collective.
    """
    known = [FORMULAE[key] for name in ("p2p", "nvls-collnet", "ring") if (key := (collective, name)) in FORMULAE]
    return known[0](shape.domains, shape.gpus_a_domain)


def _equal_shares(domains: int, net: float, gpu: float) -> Shares:
    return (Share(net if domains > 1 else 0.0, net if domains > 1 else 0.0, gpu, gpu),) * domains


def _ring(factor: float) -> _Of:
    def shares(domains: int, gpus: int) -> Shares:
        ranks = domains * gpus
        hop = factor * (ranks - 1) / ranks
        return _equal_shares(domains, hop, hop if domains == 1 else hop * (gpus - 1) / gpus)

    return shares


def _chain(to_root: bool) -> _Of:
    """A chain from or to the first domain. Its far end is unknown, so no other domain is sure to pass it on."""

    def shares(domains: int, gpus: int) -> Shares:
        local = 1.0 if domains == 1 else (gpus - 1) / gpus
        root = Share(0.0, 1.0, local, local) if to_root else Share(1.0, 0.0, local, local)
        other = Share(1.0, 0.0, local, local) if to_root else Share(0.0, 1.0, local, local)
        if domains == 1:
            return (Share(0.0, 0.0, local, local),)
        return (root, *((other,) * (domains - 1)))

    return shares


def _trees(gpu: Callable[[int], float]) -> _Of:
    def shares(domains: int, gpus: int) -> Shares:
        halves = (sum(each) / 2 for each in neighbours(domains))
        return tuple(Share(net, net, gpu(gpus), gpu(gpus)) for net in halves)

    return shares


def _reduce_cost(net: Callable[[int], float], gpu: Callable[[int], float]) -> _Of:
    return lambda domains, gpus: _equal_shares(domains, net(domains), gpu(gpus))


def _one_way(sent: Callable[[int], float], received: Callable[[int], float], nvls: bool) -> _Of:
    """An all_gather, by what a domain sends and receives. With nvls a GPU sends its part once, for all."""

    def shares(domains: int, gpus: int) -> Shares:
        local = (gpus - 1) / gpus
        once = min(1 / gpus, local) if nvls else local
        return (Share(sent(domains), received(domains), once, local),) * domains

    return shares


def _reverse(of: _Of) -> _Of:
    """The same messages in the opposite direction: a reduce_scatter is an all_gather with sent and received swapped."""

    def shares(domains: int, gpus: int) -> Shares:
        return tuple(
            Share(s.received, s.sent, s.gpu_received, s.gpu_sent, s.of_one_gpu, s.to_one_gpu) for s in of(domains, gpus)
        )

    return shares


def _others(parts: int) -> float:
    return (parts - 1) / parts


def _own(parts: int) -> float:
    return 1 / parts if parts > 1 else 0.0


def _double_sum(parts: int) -> float:
    return 2 * _others(parts)


def _single_sum(parts: int) -> float:
    return 1.0


def _all_but_alone(gpus: int) -> float:
    return 1.0 if gpus > 1 else 0.0


def _alltoall(domains: int, gpus: int) -> Shares:
    net, local = gpus * _others(domains), (gpus - 1) / (domains * gpus)
    return (Share(net, net, local, local, _others(domains)),) * domains


def _sendrecv(domains: int, gpus: int) -> Shares:
    net = 1.0 if domains > 1 else 0.0
    local = _all_but_alone(gpus)
    return (Share(net, net, local, local, net, to_one_gpu=True),) * domains


def _gather(domains: int, gpus: int) -> Shares:
    """The root receives a block from each GPU. Within the root's domain, each neighbour sends one."""
    ranks = domains * gpus
    root = Share(0.0, _others(domains), _own(ranks) if gpus > 1 else 0.0, (gpus - 1) / ranks, _others(domains))
    return (root, *((Share(_own(domains), 0.0, 0.0, 0.0, 1 / ranks),) * (domains - 1)))


_GATHERS: Mapping[str, _Of] = {
    "ring": _ring(1),
    "pat": _one_way(_others, _others, nvls=False),
    "hierarchical": _one_way(_others, _others, nvls=False),
    "nvls": _one_way(lambda domains: 0.0, lambda domains: 0.0, nvls=True),
    "nvls-collnet": _one_way(_own, _others, nvls=True),
    "collnet-direct": _one_way(_own, _others, nvls=False),
}
FORMULAE: Mapping[tuple[str, str], _Of] = MappingProxyType(
    {
        ("all_reduce", "ring"): _ring(2),
        ("all_reduce", "tree"): _trees(_double_sum),
        ("all_reduce", "hierarchical"): _reduce_cost(_double_sum, _double_sum),
        ("all_reduce", "nvls"): _reduce_cost(_single_sum, _all_but_alone),
        ("all_reduce", "nvls-tree"): _trees(_all_but_alone),
        ("all_reduce", "nvls-collnet"): _reduce_cost(_single_sum, _all_but_alone),
        ("all_reduce", "collnet-direct"): _reduce_cost(_single_sum, _double_sum),
        ("all_reduce", "collnet-chain"): _reduce_cost(_single_sum, _double_sum),
        **{("all_gather", name): of for name, of in _GATHERS.items()},
        **{("reduce_scatter", name): _reverse(of) for name, of in _GATHERS.items()},
        ("broadcast", "ring"): _chain(to_root=False),
        ("reduce", "ring"): _chain(to_root=True),
        ("alltoall", "p2p"): _alltoall,
        ("sendrecv", "p2p"): _sendrecv,
        ("gather", "p2p"): _gather,
        ("scatter", "p2p"): _reverse(_gather),
        ("hypercube", "p2p"): _alltoall,
    }
)
"""What is known about each collective and algorithm. NCCL has no other pairs (tuning.cc), and its broadcast and reduce
are rings. Hypercube moves the same over each border as alltoall: 2^i blocks in step i, g + 2 g + … = (m-1) g in all."""


# Two trees: in one the even nodes are inner nodes, in the other the odd ones, so no node has to send twice as much as
# another.
# Source: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
# Parallel Computing 35 (2009), pages 581-594; NCCL builds the same trees (src/graph/trees.cc). With an odd number of
# nodes the second tree is the first one with each node moved by one; with an even number it is its mirror image.
def _parent(node: int, nodes: int) -> int | None:
    """Return the parent in the first tree; None for its root, node 0, which has one child.

    A node's height is the number of zeros at the end of its binary number. Its parent is the nearest number with the
    next height; of the two on both sides, the one that exists: 5 and 7 are below 6; 6 and 2 are below 4.
    """
    if node == 0:
        return None
    own = node & -node  # the lowest bit that is set
    wide = (node - own) | (own << 1)
    return wide if wide < nodes else node - own


@cache
def neighbours(nodes: int) -> tuple[tuple[int, int], ...]:
    """Return how many neighbours each node has in the first tree and in the second; (0, 0) for one node.

    A message of S bytes is reduced up and broadcast down: S/2 goes over each edge in each direction. So a node sends
    and receives S/2 per neighbour.
    """
    first = [0] * nodes
    for node in range(nodes):
        parent = _parent(node, nodes)
        if parent is not None:
            first[node] += 1
            first[parent] += 1
    second = [first[(node - 1) % nodes] if nodes % 2 else first[nodes - 1 - node] for node in range(nodes)]
    return tuple(zip(first, second, strict=True))


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


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective: ``factor`` is busbw / (S/t) for n ranks. ``rooted``: one rank (0) sends or receives for all.

    ``point_to_point``: nccl-tests builds it from sends and receives, so the library does not choose an algorithm.
    """

    name: str
    factor: Callable[[int], float]
    rooted: bool = False
    point_to_point: bool = False


def _double_factor(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _all_but_own(ranks: int) -> float:
    return (ranks - 1) / ranks


def _one(ranks: int) -> float:
    return 1.0


COLLECTIVES: Mapping[str, Collective] = MappingProxyType(
    {
        each.name: each
        for each in (
            Collective("all_reduce", _double_factor),
            Collective("reduce_scatter", _all_but_own),
            Collective("all_gather", _all_but_own),
            Collective("broadcast", _one, rooted=True),
            Collective("reduce", _one, rooted=True),
            Collective("alltoall", _all_but_own, point_to_point=True),
            Collective("gather", _all_but_own, rooted=True, point_to_point=True),
            Collective("scatter", _all_but_own, rooted=True, point_to_point=True),
            Collective("sendrecv", _one, point_to_point=True),
            Collective("hypercube", _all_but_own, point_to_point=True),
        )
    }
)


def collective(name: str) -> Collective:
    """Return a collective by its name or its program's (``all_reduce_perf``). Raises RailyardError for other names."""
    found = COLLECTIVES.get(name.removesuffix("_perf"))
    if found is None:
        raise RailyardError(f'unknown collective "{name}": {did_you_mean(name.removesuffix("_perf"), COLLECTIVES)}')
    return found


def busbw(name: str, size_bytes: int, time_us: float, ranks: int) -> float:
    """Return the bus bandwidth of a row, MB/s (10^6 B/s), as nccl-tests defines it. Raises ValueError below 2 ranks."""
    if ranks < 2:
        raise ValueError(f"{ranks} ranks: a collective of one rank moves nothing")
    return collective(name).factor(ranks) * size_bytes / time_us


def ranks_of(name: str, algbw_gb_s: float, busbw_gb_s: float, rounded_by: float = 0.005) -> tuple[float, float] | None:
    """Return the least and the most ranks that fit a row's two printed bandwidths; None if these do not tell.

    Two jobs of one node each show 8 ranks although 16 were intended: the ratio is 1.75, not 1.875. ``rounded_by``: how
    much printing rounds at most, in GB/s (two decimals). The upper end is infinite if n and n + 1 print the same.
    """
    of = collective(name)
    if of.factor(2) == of.factor(3) or of.name == "hypercube" or algbw_gb_s <= rounded_by:
        return None
    most_by = 2.0 if of.factor is _double_factor else 1.0
    low = (busbw_gb_s - rounded_by) / (algbw_gb_s + rounded_by)
    high = (busbw_gb_s + rounded_by) / (algbw_gb_s - rounded_by)
    # factor = most (n - 1) / n, so n = most / (most - factor)
    first, last = (most_by / (most_by - each) if each < most_by else math.inf for each in (low, high))
    return first, last


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
