"""What some rails can carry, of a run that names more: a bound of the day does not show that the others work.

A window of long messages (or flows of TCP) over N rails must show more than N - 1 of them carry. Of one message at a
time only a stack knows how many rails it uses, and no collective comes near to what its rails carry: there, one rail
alone must not carry what is shown, and a remark says how many rails could be idle.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from railyard.base.bounds import ALL_RAILS_SHARE, IMPOSSIBLE_FACTOR
from railyard.benchmarks.model import BANDWIDTH, LATENCY
from railyard.benchmarks.table import micro
from railyard.hardware.collective_times import time_of
from railyard.hardware.limits import DAY_ONE_FROM_BYTES, Limit
from railyard.verdict.day_one import ends_by_class
from railyard.verdict.inputs import Run, Target
from railyard.verdict.rules.model import MetricInput, points
from railyard.verdict.wording import weak_figures as words

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
