"""What a stored output shows of its rails: how much a bound asks of them, one rail of several, GPUs of one node.

How much of its rails' rate the day-one bound of a collective asks at its largest size, and what would ask more.

What some rails can carry, of a run that names more: a bound of the day does not show that the others work.

A window of long messages (or flows of TCP) over N rails must show more than N - 1 of them carry. Of one message at a
time only a stack knows how many rails it uses, and no collective comes near to what its rails carry: there, one rail
alone must not carry what is shown, and a remark says how many rails could be idle.

What a stored output between GPUs of one node shows of what connects them: slots of PCIe, or a faster link.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from railyard.base.bounds import ALL_RAILS_SHARE, IMPOSSIBLE_FACTOR, LEAST_OF_RDMA, RAILS_SHARE
from railyard.benchmarks.model import BANDWIDTH, LATENCY
from railyard.benchmarks.table import micro
from railyard.hardware.collective_times import CollectiveTime, Part, time_of
from railyard.hardware.day_one import HALF_ROUND_TRIP, NODE_OF_GPUS
from railyard.hardware.limits import DAY_ONE_FROM_BYTES, Limit
from railyard.verdict.day_one import bounded_by_class, ends_by_class
from railyard.verdict.inputs import Run, Target
from railyard.verdict.rule_model import MetricInput, points
from railyard.verdict.wording import weak_figures as words

#: The least half round trip of posted runs of MPI through the kernel, us (``LEAST_OF_TCP`` of ``base.bounds``).
_TCP_ROUND_US = 12.7


def rails_remark(metric: MetricInput, of: Run) -> str | None:
    """Return what share of its rails' rate a collective may have and still pass.

    Return None if no such bound decides, or if it asks so little that the collective is not judged, also because one of
    several rails carries that much (``one_rail``).
    """
    found = _at_largest(metric, of)
    if found is None or found[1].rails_share < RAILS_SHARE.value:
        return None
    if of.target.rails > 1 and not of.target.system and of.target.rails * found[1].rails_share <= 1:
        return None
    size, time = found
    return words.passing_share(metric.declared.name, size, time.rails_share, *_longest_parts(time, size, of))


def weak_collective(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that a collective is not judged, since its bound asks too little of its rails; None if it is."""
    for metric in judged:
        if (as_tcp := _barrier_as_tcp(metric, of)) is not None:
            return as_tcp
        found = _at_largest(metric, of)
        if found is not None and found[1].rails_share < RAILS_SHARE.value:
            size, time = found
            return words.weak_collective(size, time.rails_share, *_longest_parts(time, size, of))
    return None


def _longest_parts(time: CollectiveTime, size: int, of: Run) -> tuple[Part, Part]:
    """Return which part of a collective takes longest, and by which one more would be asked of the rails.

    A reduction with one rank on each node asks too little of fast rails as well: there its sums take longest.
    """
    longest = time.slowest_part
    rail, pattern, nodes = of.target.rail(of.benchmark, of.facts), of.benchmark.pattern, of.facts.nodes
    if longest != "memory" or isinstance(rail, str) or pattern is None or nodes is None:
        return longest, longest
    alone = time_of(rail, pattern, size, nodes, 1)
    return longest, longest if alone.rails_share >= RAILS_SHARE.value else "adding up"


def _barrier_as_tcp(metric: MetricInput, of: Run) -> str | None:
    """Return that a barrier over RDMA is not judged, since it takes as long as one over TCP may; None for others.

    With several ranks on each node, its bound leaves room for their rounds, and so for TCP between the nodes.
    """
    nodes, rail, found = of.facts.nodes, of.target.rail(of.benchmark, of.facts), points(metric)
    if of.benchmark.pattern != "barrier" or not ends_by_class(metric):
        return None
    if nodes is None or nodes < 2 or isinstance(rail, str) or rail.of.least is not LEAST_OF_RDMA:
        return None
    took_us, rounds = found[-1][1], math.ceil(math.log2(nodes))
    if took_us < rounds * _TCP_ROUND_US:
        return None
    return words.barrier_as_tcp(nodes, took_us, rounds, _TCP_ROUND_US)


def _at_largest(metric: MetricInput, of: Run) -> tuple[int, CollectiveTime] | None:
    """Return the largest size, B, with what a collective takes there at most.

    Return None if it has no bytes, or if not only the link's class bounds that size.
    """
    facts, pattern, found = of.facts, of.benchmark.pattern, points(metric)
    if pattern is None or pattern == "barrier" or not metric.declared.of_all or not found:
        return None
    size = found[-1][0]
    rail = of.target.rail(of.benchmark, facts)
    if size == 0 or not bounded_by_class(metric.bands, size) or isinstance(rail, str):
        return None
    if facts.nodes is None or facts.ranks_per_node is None:
        return None
    return size, time_of(rail, pattern, size, facts.nodes, facts.ranks_per_node)


_SHAPES = ("pingpong", "latency", "stream", "one-of-two", "figure", "collective")
#: What uses all rails at once from 1 MiB on, however a stack divides a message.
_ALL_AT_ONCE = ("stream", "one-of-two", "figure")


def one_rail(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that the run is not judged, since fewer of its rails can carry what it shows at its largest size.

    Return None if it has one rail, or if what it shows needs more. Only a stack knows from which size on it uses
    several rails, so a slower rate of short messages is no failure. A system's references ask what they ask, and only
    when it was live did the counters of its rails show which of them worked.
    """
    if not _has_unseen_rails(of):
        return None
    needed = [(metric, _needed_rails(metric, of)) for metric in judged if _is_rate(metric, of)]
    if not needed or any(count > _excluded_rails(metric, of) for metric, count in needed):
        return None
    metric, count = needed[0]
    declared, (size, value) = micro.metric(of.benchmark.key, metric.declared.name), points(metric)[-1]
    unit, shown_size = "MB/s" if declared.is_bandwidth else "us", size if metric.declared.sized else None
    is_stream = declared.shape == "stream" and size >= DAY_ONE_FROM_BYTES
    return words.fewer_rails(count, of.target.rails, value, unit, shown_size, is_stream)


def idle_rails(judged: Sequence[MetricInput], of: Run) -> Iterator[str]:
    """Yield how many of several rails could be idle in a run that passes."""
    rails = of.target.rails
    if not _has_unseen_rails(of) or one_rail(judged, of) is not None:
        return
    needed = max((_needed_rails(metric, of) for metric in judged if _is_rate(metric, of)), default=rails)
    if needed < rails:
        yield words.rails_may_be_idle(needed, rails)


def _has_unseen_rails(of: Run) -> bool:
    """Return whether a run had several rails between nodes, and only its figures can show that each of them worked."""
    benchmark, target = of.benchmark, of.target
    if of.on_one_host or benchmark.within or benchmark.loops or benchmark.rows == "pairs":
        return False
    return target.rails > 1 and not target.rails_are_proven


def _is_rate(metric: MetricInput, of: Run) -> bool:
    declared = micro.metric(of.benchmark.key, metric.declared.name)
    named = declared.name in (BANDWIDTH, LATENCY) and declared.shape in _SHAPES
    return named and ends_by_class(metric)


def _excluded_rails(metric: MetricInput, of: Run) -> int:
    """Return how many rails must not be able to carry what a metric shows."""
    rails = of.target.rails
    if micro.metric(of.benchmark.key, metric.declared.name).shape not in _ALL_AT_ONCE:
        return 1
    return max(1, min(rails - 1, math.floor(rails * ALL_RAILS_SHARE.value / IMPOSSIBLE_FACTOR.value)))


def _needed_rails(metric: MetricInput, of: Run) -> int:
    """Return the least number of rails that can carry what a metric shows at its largest size, at most all of them."""
    target = of.target
    for count in range(1, target.rails):
        fewer = replace(target, rails=count, policy="single" if count == 1 else target.policy)
        if _carry(fewer, metric, of):
            return count
    return target.rails


def _carry(fewer: Target, metric: MetricInput, of: Run) -> bool:
    """Return whether fewer rails can carry what a metric shows at its largest size."""
    declared = micro.metric(of.benchmark.key, metric.declared.name)
    size, value = points(metric)[-1]
    if declared.shape == "collective":
        return _least_us(size, of, fewer) <= value
    if declared.is_bandwidth:
        return _carries(fewer.limit(declared.directions, of=of.benchmark), value)
    sends = 1 if of.benchmark.turn is None else of.benchmark.turn.sends
    return _carries(fewer.limit(1, of=of.benchmark), sends * size / value)


def _least_us(size_bytes: int, of: Run, fewer: Target) -> float:
    """Return what the bytes of a collective take on these rails of a node at their full rate, us; 0 if that is not
    known, and for a barrier, which has none.
    """
    rail, facts, pattern = fewer.rail(of.benchmark, of.facts), of.facts, of.benchmark.pattern
    if isinstance(rail, str) or pattern is None or facts.nodes is None or facts.ranks_per_node is None:
        return 0.0
    time = time_of(rail, pattern, size_bytes, facts.nodes, facts.ranks_per_node)
    return time.least_us / IMPOSSIBLE_FACTOR.value


def _carries(limit: Limit | None, rate_mb_s: float) -> bool:
    return limit is not None and rate_mb_s <= IMPOSSIBLE_FACTOR.value * limit.value_mb_s


#: What GPUs of one node exchange at least in slots of PCIe Gen3 x16 (15.75 GB/s before headers), and what no slot of
#: today carries (Gen5 x16: 63 GB/s).
_GPU_SLOT_MB_S, _MOST_OF_SLOTS_MB_S = 10_000.0, 63_000.0
#: Where what connects them is named, they reach this share of it besides the start of each message of 4 MiB: windows
#: reached 87 % of four NVLinks of A100, and 77 % of six of GH200, which is 8 us for each message; 10 GB/s are 63 % of a
#: slot of Gen3 x16. A link of MI300X carries some 48 of its 64 GB/s, 75 % (AMD, Understanding RCCL Bandwidth and xGMI
#: Performance on MI300X, rocm.blogs.amd.com).
_GPU_LINK_SHARE, _GPU_MESSAGE_US = 0.6, 10.0
_GPU_MESSAGE_BYTES = 4 << 20
#: So many GPUs on a board have switches, from NVLink 3 on.
_GPUS_BEHIND_SWITCHES = 8


def below_gpu_slots(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that GPUs of one node are not judged, since they exchange less than their slots carry; or None."""
    top = _top_of_gpus(judged, of)
    asked_mb_s, over = _asked_of_gpus(of)
    if of.target.gpus_alone and not of.facts.from_device:
        return words.buffers_in_host(over)
    if top is not None and top < asked_mb_s:
        less = words.slow_rate_of_gpus(top)
    elif (late := _late_between_gpus(judged, of, asked_mb_s)) is not None:
        less = words.late_between_gpus(*late)
    else:
        return None
    is_xgmi = of.target.gpus is not None and of.target.gpus.xgmi is not None
    return words.below_gpu_slots(less, over, asked_mb_s, is_xgmi)


def _asked_of_gpus(of: Run) -> tuple[float, str]:
    """Return what is asked of two GPUs of one node, MB/s one way, and the words for what connects them."""
    known = of.target.between_gpus()
    if known is None:
        return _GPU_SLOT_MB_S, "PCIe Gen3 x16"
    time_us = _GPU_MESSAGE_US + _GPU_MESSAGE_BYTES / (_GPU_LINK_SHARE * known.value_mb_s)
    return _GPU_MESSAGE_BYTES / time_us, known.terms


def _late_between_gpus(judged: Sequence[MetricInput], of: Run, asked_mb_s: float) -> tuple[float, int] | None:
    """Return half a round trip, us, of a long message, B, between GPUs of one node that takes longer than a start and
    the rate that is asked; None for any other.
    """
    if not _is_between_gpus(of) or of.benchmark.one_turn != HALF_ROUND_TRIP:
        return None
    for metric in judged:
        rates = points(metric)
        if metric.declared.name != LATENCY or not rates or rates[-1][0] < DAY_ONE_FROM_BYTES:
            continue
        size, us = rates[-1]
        if us > NODE_OF_GPUS.start_us + size / asked_mb_s:
            return us, size
    return None


class _FewGpus(NamedTuple):
    """A copy between two of up to four GPUs, MB/s: its rate, that of the links which a board of four has between two,
    and the least of all links, behind a switch. ``said``: both in words.
    """

    rate: float
    of_four: float
    least_of_all: float
    said: str


def _few_gpus(judged: Sequence[MetricInput], of: Run) -> _FewGpus | None:
    """Return the slowest copy between GPUs if only their link is named, and so few were seen; else None."""
    gpus, link = of.target.gpus, None if of.target.gpus is None else of.target.gpus.link
    if of.benchmark.within != "gpu-link" or not of.target.gpus_alone or gpus is None or link is None:
        return None
    from railyard.site.gpu_shape import floor_within, least_between_gpus  # pydantic takes 0.2 s

    of_four, switched = least_between_gpus(gpus), gpus.model_copy(update={"per_node": _GPUS_BEHIND_SWITCHES})
    floor = floor_within(switched, "gpu-link")
    values = [value for metric in judged if metric.declared.name == BANDWIDTH for _, value in points(metric)]
    if of_four is None or isinstance(floor, str) or not values or of_four.value_mb_s >= link.pair_rate_mb_s():
        return None
    few = round(of_four.value_mb_s / link.link_mb_s)
    said = words.board_or_switch(few, link.links, of_four.value_mb_s, floor.value_mb_s)
    return _FewGpus(min(values), of_four.value_mb_s, floor.value_mb_s, said)


def between_few_gpus(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that a copy between GPUs is not judged: more than a board of four carries, and less than a healthy switch
    does; None for any other.
    """
    found = _few_gpus(judged, of)
    if found is None or not found.of_four < found.rate < found.least_of_all:
        return None
    return words.between_few_gpus(found.rate, found.said)


def as_board_of_four(judged: Sequence[MetricInput], of: Run) -> Iterable[str]:
    """Yield that a copy between GPUs holds only as one on a board of four."""
    found = _few_gpus(judged, of)
    if found is not None and found.rate <= found.of_four:
        yield words.as_board_of_four(found.said)


def without_nvlink(judged: Sequence[MetricInput], of: Run) -> Iterable[str]:
    """Yield that a bandwidth between GPUs of one node does not show NVLink, since slots of PCIe carry it too."""
    top = _top_of_gpus(judged, of)
    if of.target.gpus is None and top is not None and _GPU_SLOT_MB_S <= top <= _MOST_OF_SLOTS_MB_S:
        yield words.nvlink_unseen(top, _MOST_OF_SLOTS_MB_S)


def _top_of_gpus(judged: Sequence[MetricInput], of: Run) -> float | None:
    """Return the highest bandwidth one way, MB/s, of windows of long messages between GPUs of one node, or None."""
    if not _is_between_gpus(of):
        return None
    for metric in judged:
        declared = micro.metric(of.benchmark.key, metric.declared.name)
        long = [value for size, value in points(metric) if size >= DAY_ONE_FROM_BYTES]
        if declared.name == BANDWIDTH and declared.shape == "stream" and long:
            return max(long) / declared.directions
    return None


def _is_between_gpus(of: Run) -> bool:
    return of.facts.nodes == 1 and of.facts.from_device and not of.benchmark.within
