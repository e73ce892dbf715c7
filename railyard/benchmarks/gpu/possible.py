"""The highest possible bus bandwidth of a collective between GPUs, by algorithm, and what sets that bound.

For each part (the NICs of a domain, the links of a GPU, its slot), a collective of S bytes takes at least (what the
part carries) / (the part's rate). Its busbw is factor S / t, so at most factor x rate / (share of S) for each of them.
Rates are data rates minus the headers of each packet (``railyard.hardware.limits``): a healthy run stays below.

The printed time is a mean over ranks (nccl-tests, ``-a 1``), over all iterations in a row. If every rank needs what
crossed the network, none is done before. In other collectives some ranks run ahead: the root of a broadcast by what
fits in the buffers between it and the last rank, ranks within a node of a sendrecv by two iterations. So a short
broadcast can show more than its network moves (NVIDIA/nccl-tests issue 82); ``judge`` leaves room for it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.bounds import IMPOSSIBLE_FACTOR
from railyard.base.errors import RailyardError
from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.gpu import wording as words
from railyard.benchmarks.gpu.collectives import ALGORITHMS, Collective, Share, possible_algorithms, shares_of
from railyard.benchmarks.gpu.collectives import collective as found_collective
from railyard.hardware.gpu_nodes import Shape

#: How much the buffers of a connection hold at most: 64 channels of 4 MiB (MAXCHANNELS, NCCL_BUFFSIZE of NVIDIA/nccl).
_HELD_BYTES = 64 * (4 << 20)
#: How many iterations ranks that share the NICs of a node may be ahead of the slowest one.
_EARLY = {"alltoall": 1, "hypercube": 1, "sendrecv": 2}


@dataclass(frozen=True, slots=True)
class Bound:
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
        return words.upper_bound(self.algorithm, self.busbw_mb_s, self.limited_by)


def bound(collective: str, algorithm: str, shape: Shape) -> Bound:
    """Return the bound of one algorithm. ``algorithms.why_not`` says which ones a shape can use.

    Raises RailyardError if the collective or the algorithm is unknown, if they do not fit, or below 2 ranks.
    """
    of = found_collective(collective)
    shares = shares_of(of.name, algorithm, shape)
    if shares is None:
        raise RailyardError(f"{ALGORITHMS.get(algorithm, algorithm)} does not do {of.name}")
    if shape.ranks < 2:
        raise RailyardError("found one rank, expected at least 2: a collective of one moves nothing")
    factor = of.factor(shape.ranks)
    each = [
        (factor * rate / share, limited_by, words.carries(what, share, of.name), source)
        for what, limited_by, rate, share, source in _parts(shares, shape)
        if share > 0
    ]
    if not each:
        return Bound(algorithm, math.inf, "", words.nothing_known(), "")
    value, limited_by, what, source = min(each, key=lambda part: part[0])
    return Bound(algorithm, value, limited_by, words.busbw_of(what, factor, value), source)


def bounds(collective: str, shape: Shape) -> tuple[Bound, ...]:
    """Return the bound of each algorithm that the shape can use, lowest first."""
    name = found_collective(collective).name
    made = [bound(name, algorithm, shape) for algorithm in possible_algorithms(name, shape)]
    return tuple(sorted(made, key=lambda each: each.busbw_mb_s))


@dataclass(frozen=True, slots=True)
class Most:
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
        return self.value_mb_s * _lead_factor(self.collective, self.shape, Row(0.0, size_bytes, self.iterations))


def most(collective: str, shape: Shape, iterations: int) -> Most | None:
    """Return the highest bound of all algorithms that the shape can use; None if one of them has no known bound.

    Raises RailyardError for an unknown collective, and below 2 ranks.
    """
    of, known = found_collective(collective), bounds(collective, shape)
    if not known or math.isinf(known[-1].busbw_mb_s):
        return None
    highest = known[-1]
    terms = words.on_nodes(ALGORITHMS[highest.algorithm], _place_words(shape), highest.terms)
    return Most(of, shape, iterations, highest.busbw_mb_s, terms, highest.source)


#: How the sentence of each state begins.
_BEGINS = {"possible": "", "impossible": IMPOSSIBLE, "not-judged": "not judged: "}


@dataclass(frozen=True, slots=True)
class PossibleResult:
    """Whether a bus bandwidth is possible, and with which algorithms; ``reason``: the value and its bound in words."""

    state: Literal["possible", "impossible", "not-judged"]
    reason: str
    with_: tuple[Bound, ...] = ()
    without: tuple[Bound, ...] = ()

    @property
    def sentence(self) -> str:
        """The state with its reason."""
        return f"{_BEGINS[self.state]}{self.reason}"


@dataclass(frozen=True, slots=True)
class Row:
    """A printed row: busbw in MB/s, size in bytes (None: unknown), and how often it was run (``iters``)."""

    busbw_mb_s: float
    size_bytes: int | None = None
    iterations: int = 20


def judge(collective: str, shape: Shape, row: Row, algorithm: str | None = None) -> PossibleResult:
    """Return whether a run of this shape can have printed a row. ``algorithm`` None: it is unknown.

    A value is impossible only if it is impossible with every algorithm that the shape can use. If it needs a certain
    algorithm, it is possible, and the sentence names those that it rules out. It is not judged if several nodes have
    NICs of unknown rate: a bound from their GPUs alone is far above what a network carries. Nor is it if messages would
    have to use more NICs than those nearest to their GPUs: that is possible, but NCCL does not do it.
    """
    of = found_collective(collective)
    known = bounds(of.name, shape) if algorithm is None else (bound(of.name, algorithm, shape),)
    shown = words.PrintedRate(row.busbw_mb_s, of.name, _place_words(shape))
    if not known:
        return PossibleResult("not-judged", words.no_algorithm(shown))
    ahead = _lead_factor(of, shape, row)
    without = tuple(each for each in known if each.is_broken_by(row.busbw_mb_s, ahead))
    with_ = tuple(each for each in known if each not in without)
    most = known[-1]
    if most.is_broken_by(row.busbw_mb_s):
        which = "" if algorithm is None else ALGORITHMS[algorithm]
        excess = words.Excess(row.busbw_mb_s / most.busbw_mb_s, which, most.terms, most.source)
        if not with_:
            return PossibleResult("impossible", words.say_impossible(shown, excess, ahead), with_, without)
        return PossibleResult("not-judged", words.may_be_ahead(shown, excess), known)
    finite = [each for each in with_ if math.isfinite(each.busbw_mb_s)]
    if not finite:
        return PossibleResult("not-judged", words.is_unbounded(shown, with_[0].terms), with_, without)
    least = finite[0]
    if shape.domains > 1 and shape.network_mb_s is None:
        return PossibleResult("not-judged", words.unknown_nics(shown, least.text), with_, without)
    if without:
        sentence = words.needs(shown, [each.text for each in with_], [each.text for each in without])
        return PossibleResult("possible", sentence, with_, without)
    share = row.busbw_mb_s / least.busbw_mb_s
    sentence = words.share_of_bound(shown, share, algorithm is None, least.text, least.terms)
    own = own_nics(of.name, shape)
    if own is not None and own.is_broken_by(row.busbw_mb_s, ahead):
        why = words.beyond_near_nics(shown, row.busbw_mb_s / own.busbw_mb_s, own.terms)
        return PossibleResult("not-judged", why, with_)
    if own is not None and own.busbw_mb_s < least.busbw_mb_s:
        sentence = words.within_near_nics(sentence, row.busbw_mb_s / own.busbw_mb_s, own.terms)
    return PossibleResult("possible", sentence, with_, without)


def _lead_factor(of: Collective, shape: Shape, row: Row) -> float:
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
        what = words.at_rate(_nics(shape), shape.network_mb_s)
        yield what, limited_by, shape.network_mb_s, net, node.network.source
    link = node.gpu_link
    if link is not None and gpus > 1:
        one = all(share.to_one_gpu for share in shares)
        rate = link.pair_rate_mb_s() if one else link.rate_mb_s(gpus)
        # The traffic of a GPU's NICs passes its slot. If slots connect the GPUs, it is the same slot.
        both = local + (net / gpus if link.is_slot else 0.0)
        yield words.at_rate(words.links_of_gpu(link.word), rate), link.word, rate, both, link.source
    if node.gpu_slot_mb_s is not None and node.gpu_slot is not None and (link is None or not link.is_slot or gpus == 1):
        yield words.slots_of_gpus(node.gpu_slot_mb_s), "GPU slot", node.gpu_slot_mb_s, net / gpus, node.gpu_slot.source


def own_nics(collective: str, shape: Shape) -> Bound | None:
    """Return what is possible if each message uses only the NICs nearest to its GPU; None if there are no messages.

    NCCL does this, but it is not a law of physics: a library may spread a message over all NICs of a node (``bound``).
    """
    of = found_collective(collective)
    shares, rate = shares_of(of.name, "p2p", shape), shape.network_mb_s
    if shares is None or rate is None or shape.node.network is None or shape.domains == 1:
        return None
    nics = min(shape.node.nics_of_gpu, shape.node.nics)
    one = shape.node.network.value_mb_s / shape.node.nics * nics
    share = max(each.of_one_gpu for each in shares)
    factor = of.factor(shape.ranks)
    value = min(factor * one / share, bound(of.name, "p2p", shape).busbw_mb_s)
    carried = words.carries(words.at_rate(words.near_nics(nics), one), share, of.name)
    return Bound("p2p", value, "NIC", words.carried_at(carried, value), shape.node.network.source)


def _nics(shape: Shape) -> str:
    if shape.node.within_over_nics:
        return words.nics_of_gpu()
    return words.all_nics(round(shape.nics_a_domain), shape.gpus_a_domain == shape.gpus)


def _place_words(shape: Shape) -> str:
    return words.nodes(shape.nodes, shape.gpus)
