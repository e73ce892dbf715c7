"""The collectives of nccl-tests and rccl-tests: what size, algbw and busbw mean, and the highest possible busbw.

The printed size S is what a rank has before or after, whichever is larger: all of an all_gather's result, or all that a
rank of an alltoall sends. algbw is S/t, and busbw is algbw times a factor: the rate of a flat network on which a ring
would take the same time. It is not what a NIC carries: for that see below.

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

The highest possible bus bandwidth of a collective between GPUs, by algorithm, and what sets that bound.

For each part (the NICs of a domain, the links of a GPU, its slot), a collective of S bytes takes at least (what the
part carries) / (the part's rate). Its busbw is factor S / t, so at most factor x rate / (share of S) for each of them.
Rates are data rates minus the headers of each packet (``railyard.hardware.limits``): a healthy run stays below.

The printed time is a mean over ranks (nccl-tests, ``-a 1``), over all iterations in a row. If every rank needs what
crossed the network, none is done before. In other collectives some ranks run ahead: the root of a broadcast by what
fits in the buffers between it and the last rank, ranks within a node of a sendrecv by two iterations. So a short
broadcast can show more than its network moves (NVIDIA/nccl-tests issue 82); ``judge`` leaves room for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from railyard.base.bounds import IMPOSSIBLE_FACTOR
from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks import wording

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


def find_collective(name: str) -> Collective:
    """Return a collective by its name or its program's (``all_reduce_perf``). Raises RailyardError for other names."""
    found = COLLECTIVES.get(name.removesuffix("_perf"))
    if found is None:
        raise RailyardError(f'unknown collective "{name}": {did_you_mean(name.removesuffix("_perf"), COLLECTIVES)}')
    return found


def busbw(name: str, size_bytes: int, time_us: float, ranks: int) -> float:
    """Return the bus bandwidth of a row, MB/s (10^6 B/s), as nccl-tests defines it. Raises ValueError below 2 ranks."""
    if ranks < 2:
        raise ValueError(f"{ranks} ranks: a collective of one rank moves nothing")
    return find_collective(name).factor(ranks) * size_bytes / time_us


def ranks_of(name: str, algbw_gb_s: float, busbw_gb_s: float, rounded_by: float = 0.005) -> tuple[float, float] | None:
    """Return the least and the most ranks that fit a row's two printed bandwidths; None if these do not tell.

    Two jobs of one node each show 8 ranks although 16 were intended: the ratio is 1.75, not 1.875. ``rounded_by``: how
    much printing rounds at most, in GB/s (two decimals). The upper end is infinite if n and n + 1 print the same.
    """
    of = find_collective(name)
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


#: How much the buffers of a connection hold at most: 64 channels of 4 MiB (MAXCHANNELS, NCCL_BUFFSIZE of NVIDIA/nccl).
_HELD_BYTES = 64 * (4 << 20)
#: How many iterations ranks that share the NICs of a node may be ahead of the slowest one.
_EARLY = {"alltoall": 1, "hypercube": 1, "sendrecv": 2}


@dataclass(frozen=True, slots=True)
class BusbwBound:
    """The most that one algorithm can show: ``busbw_mb_s``, MB/s (10^6 B/s), infinite if nothing known bounds it.

    ``limited_by``: NIC, slot (of a NIC), GPU slot, or the word for the GPUs' link (NVLink, xGMI, PCIe); empty if
    nothing limits it. ``terms`` is the sum in words. A value below it does not mean that hardware can reach it.
    """

    algorithm: str
    busbw_mb_s: float
    limited_by: str
    terms: str
    source: str

    def is_broken_by(self, busbw_mb_s: float, ahead: float = 1.0) -> bool:
        """Return whether no run can have shown this value, with the margin for all impossible values.

        ``ahead``: how many times more the mean over ranks may show, since some ranks run ahead of others.
        """
        return busbw_mb_s > self.busbw_mb_s * IMPOSSIBLE_FACTOR.value * ahead

    @property
    def text(self) -> str:
        """The bound as sentences write it: ``ring (at most 397.5 GB/s, set by NIC)``."""
        return wording.upper_bound(self.algorithm, self.busbw_mb_s, self.limited_by)


def busbw_bound(collective: str, algorithm: str, shape: Shape) -> BusbwBound:
    """Return the bound of one algorithm. ``algorithms.why_not`` says which ones a shape can use.

    Raises RailyardError if the collective or the algorithm is unknown, if they do not fit, or below 2 ranks.
    """
    of = find_collective(collective)
    shares = shares_of(of.name, algorithm, shape)
    if shares is None:
        raise RailyardError(f"{ALGORITHMS.get(algorithm, algorithm)} does not do {of.name}")
    if shape.ranks < 2:
        raise RailyardError("found one rank, expected at least 2: a collective of one moves nothing")
    factor = of.factor(shape.ranks)
    each = [
        (factor * rate / share, limited_by, wording.carries(what, share, of.name), source)
        for what, limited_by, rate, share, source in _parts(shares, shape)
        if share > 0
    ]
    if not each:
        return BusbwBound(algorithm, math.inf, "", wording.nothing_known(), "")
    value, limited_by, what, source = min(each, key=lambda part: part[0])
    return BusbwBound(algorithm, value, limited_by, wording.busbw_of(what, factor, value), source)


def busbw_bounds(collective: str, shape: Shape) -> tuple[BusbwBound, ...]:
    """Return the bound of each algorithm that the shape can use, lowest first."""
    name = find_collective(collective).name
    made = [busbw_bound(name, algorithm, shape) for algorithm in possible_algorithms(name, shape)]
    return tuple(sorted(made, key=lambda each: each.busbw_mb_s))


@dataclass(frozen=True, slots=True)
class MostBusbw:
    """What a run of one shape can show at most with any algorithm, as a limit over message sizes (rule 3).

    ``value_mb_s`` is for a long run, in MB/s (10^6 B/s); ``iterations``: how often each size was run.
    """

    collective: Collective
    shape: Shape
    iterations: int
    value_mb_s: float
    terms: str
    source: str
    from_bytes: int = 0

    def bound_at(self, size_bytes: int) -> float:
        """Return the bound at one size: higher if some ranks may run ahead of others, infinite if all may."""
        return self.value_mb_s * _lead_factor(self.collective, self.shape, JudgedRow(0.0, size_bytes, self.iterations))


def most_possible(collective: str, shape: Shape, iterations: int) -> MostBusbw | None:
    """Return the highest bound of all algorithms that the shape can use; None if one of them has no known bound.

    Raises RailyardError for an unknown collective, and below 2 ranks.
    """
    of, known = find_collective(collective), busbw_bounds(collective, shape)
    if not known or math.isinf(known[-1].busbw_mb_s):
        return None
    highest = known[-1]
    terms = wording.on_nodes(ALGORITHMS[highest.algorithm], _place_words(shape), highest.terms)
    return MostBusbw(of, shape, iterations, highest.busbw_mb_s, terms, highest.source)


#: How the sentence of each state begins.
_BEGINS = {"possible": "", "impossible": IMPOSSIBLE, "not-judged": "not judged: "}


@dataclass(frozen=True, slots=True)
class PossibleResult:
    """Whether a bus bandwidth is possible, and with which algorithms; ``reason``: the value and its bound in words."""

    state: Literal["possible", "impossible", "not-judged"]
    reason: str
    with_: tuple[BusbwBound, ...] = ()
    without: tuple[BusbwBound, ...] = ()

    @property
    def sentence(self) -> str:
        """The state with its reason."""
        return f"{_BEGINS[self.state]}{self.reason}"


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A printed row: busbw in MB/s, size in bytes (None: unknown), and how often it was run (``iters``)."""

    busbw_mb_s: float
    size_bytes: int | None = None
    iterations: int = 20


def judge_possible(collective: str, shape: Shape, row: JudgedRow, algorithm: str | None = None) -> PossibleResult:
    """Return whether a run of this shape can have printed a row. ``algorithm`` None: it is unknown.

    A value is impossible only if it is impossible with every algorithm that the shape can use. If it needs a certain
    algorithm, it is possible, and the sentence names those that it rules out. It is not judged if several nodes have
    NICs of unknown rate: a bound from their GPUs alone is far above what a network carries. Nor is it if messages would
    have to use more NICs than those nearest to their GPUs: that is possible, but NCCL does not do it.
    """
    of = find_collective(collective)
    known = busbw_bounds(of.name, shape) if algorithm is None else (busbw_bound(of.name, algorithm, shape),)
    shown = wording.PrintedRate(row.busbw_mb_s, of.name, _place_words(shape))
    if not known:
        return PossibleResult("not-judged", wording.no_algorithm(shown))
    ahead = _lead_factor(of, shape, row)
    without = tuple(each for each in known if each.is_broken_by(row.busbw_mb_s, ahead))
    with_ = tuple(each for each in known if each not in without)
    most = known[-1]
    if most.is_broken_by(row.busbw_mb_s):
        which = "" if algorithm is None else ALGORITHMS[algorithm]
        excess = wording.Excess(row.busbw_mb_s / most.busbw_mb_s, which, most.terms, most.source)
        if not with_:
            return PossibleResult("impossible", wording.say_impossible(shown, excess, ahead), with_, without)
        return PossibleResult("not-judged", wording.may_be_ahead(shown, excess), known)
    finite = [each for each in with_ if math.isfinite(each.busbw_mb_s)]
    if not finite:
        return PossibleResult("not-judged", wording.is_unbounded(shown, with_[0].terms), with_, without)
    least = finite[0]
    if shape.domains > 1 and shape.network_mb_s is None:
        return PossibleResult("not-judged", wording.unknown_nics(shown, least.text), with_, without)
    if without:
        sentence = wording.needs(shown, [each.text for each in with_], [each.text for each in without])
        return PossibleResult("possible", sentence, with_, without)
    share = row.busbw_mb_s / least.busbw_mb_s
    sentence = wording.share_of_bound(shown, share, algorithm is None, least.text, least.terms)
    own = own_nics(of.name, shape)
    if own is not None and own.is_broken_by(row.busbw_mb_s, ahead):
        why = wording.beyond_near_nics(shown, row.busbw_mb_s / own.busbw_mb_s, own.terms)
        return PossibleResult("not-judged", why, with_)
    if own is not None and own.busbw_mb_s < least.busbw_mb_s:
        sentence = wording.within_near_nics(sentence, row.busbw_mb_s / own.busbw_mb_s, own.terms)
    return PossibleResult("possible", sentence, with_, without)


def _lead_factor(of: Collective, shape: Shape, row: JudgedRow) -> float:
    """Return how many times too much the mean over ranks may show, since some do not have to wait for the network.

    In a chain of n ranks each is ahead of the next by what is in the buffers between them, on average (n-1)/2 buffers.
    In a gather or a scatter each rank has only the root's buffer, and moves an n-th.
    """
    if of.rooted:
        if row.size_bytes is None:
            return math.inf
        moved = row.size_bytes * row.iterations / (shape.ranks if of.point_to_point else 1)
        held = _HELD_BYTES * (1 if of.point_to_point else (shape.ranks - 1) / 2)
        return moved / (moved - held) if moved > held else math.inf
    early = _EARLY.get(of.name, 0) if shape.domains > 1 and shape.gpus_a_domain > 1 else 0
    return row.iterations / (row.iterations - early) if row.iterations > early else float(shape.gpus_a_domain)


def _parts(shares: Sequence[Share], shape: Shape) -> Iterator[tuple[str, str, float, float, str]]:
    """Yield each part that carries something: in words, its name, its rate in MB/s, the largest share of S, the source.

    Sending and receiving each have the full rate, so the larger of the two counts.
    """
    node, gpus = shape.node, shape.gpus_a_domain
    net = max(max(share.sent, share.received) for share in shares)
    local = max(max(share.gpu_sent, share.gpu_received) for share in shares)
    if shape.network_mb_s is not None and node.network is not None:
        limited_by = "slot" if node.behind_slot else "NIC"
        what = wording.at_rate(_nics(shape), shape.network_mb_s)
        yield what, limited_by, shape.network_mb_s, net, node.network.source
    link = node.gpu_link
    if link is not None and gpus > 1:
        one = all(share.to_one_gpu for share in shares)
        rate = link.pair_rate_mb_s() if one else link.rate_mb_s(gpus)
        # The traffic of a GPU's NICs passes its slot. If slots connect the GPUs, it is the same slot.
        both = local + (net / gpus if link.is_slot else 0.0)
        yield wording.at_rate(wording.links_of_gpu(link.word), rate), link.word, rate, both, link.source
    if node.gpu_slot_mb_s is not None and node.gpu_slot is not None and (link is None or not link.is_slot or gpus == 1):
        yield (
            wording.slots_of_gpus(node.gpu_slot_mb_s),
            "GPU slot",
            node.gpu_slot_mb_s,
            net / gpus,
            node.gpu_slot.source,
        )


def own_nics(collective: str, shape: Shape) -> BusbwBound | None:
    """Return what is possible if each message uses only the NICs nearest to its GPU; None if there are no messages.

    NCCL does this, but it is not a law of physics: a library may spread a message over all NICs of a node (``bound``).
    """
    of = find_collective(collective)
    shares, rate = shares_of(of.name, "p2p", shape), shape.network_mb_s
    if shares is None or rate is None or shape.node.network is None or shape.domains == 1:
        return None
    nics = min(shape.node.nics_of_gpu, shape.node.nics)
    one = shape.node.network.value_mb_s / shape.node.nics * nics
    share = max(each.of_one_gpu for each in shares)
    factor = of.factor(shape.ranks)
    value = min(factor * one / share, busbw_bound(of.name, "p2p", shape).busbw_mb_s)
    carried = wording.carries(wording.at_rate(wording.near_nics(nics), one), share, of.name)
    return BusbwBound("p2p", value, "NIC", wording.carried_at(carried, value), shape.node.network.source)


def _nics(shape: Shape) -> str:
    if shape.node.within_over_nics:
        return wording.nics_of_gpu()
    return wording.all_nics(round(shape.nics_a_domain), shape.gpus_a_domain == shape.gpus)


def _place_words(shape: Shape) -> str:
    return wording.nodes(shape.nodes, shape.gpus)
