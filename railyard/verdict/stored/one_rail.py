"""What one rail alone can carry, of a run that names several: a bound of the day does not show that the others work."""

from collections.abc import Sequence
from dataclasses import replace

from railyard.base.bounds import IMPOSSIBLE_FACTOR
from railyard.base.wording import message_size, number
from railyard.benchmarks.model import BANDWIDTH, LATENCY
from railyard.benchmarks.table import micro
from railyard.hardware.collective_times import time_of
from railyard.hardware.limits import Limit
from railyard.verdict.day_one import bounded_by_class
from railyard.verdict.inputs import Run, Target
from railyard.verdict.rules.model import MetricInput, points

_SHAPES = ("pingpong", "latency", "stream", "one-of-two", "figure", "collective")


def one_rail(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that the run is "not judged: …", since one of its rails can carry what it shows at its largest size.

    Return None if it has one rail, or if what it shows needs more. Only a stack knows from which size on it uses
    several rails, so a slower rate of short messages is no failure. A system's references ask what they ask, and only
    when it was live did the counters of its rails show which of them worked.
    """
    benchmark, target = of.benchmark, of.target
    if target.rails < 2 or of.on_one_host or benchmark.within or benchmark.loops or benchmark.rows == "pairs":
        return None
    alone = replace(target, rails=1, policy="single")
    shown = [words for metric in judged if (words := _within_one(metric, of, alone)) is not None]
    if not shown or "" in shown:
        return None
    others = "the second one works" if target.rails == 2 else "the others work"
    return (
        f"not judged: one of the {target.rails} rails can carry {shown[0]}: nothing shows that {others}; a window of "
        "messages of 1 MiB or more (osu_bw), or enough flows of TCP, needs them all"
    )


def _within_one(metric: MetricInput, of: Run, alone: Target) -> str | None:
    """Return words for the rate at a metric's largest size if one rail can carry it, "" if it cannot; None if the
    metric has no bound of the link's class, or no rate.
    """
    declared, found = micro.metric(of.benchmark.key, metric.declared.name), points(metric)
    if declared.name not in (BANDWIDTH, LATENCY) or declared.shape not in _SHAPES or not found:
        return None
    size, value = found[-1]
    if not bounded_by_class(metric.bands, size):
        return None
    where = f" at {message_size(size)}" if metric.declared.sized else ""
    if declared.shape == "collective":
        return f"its {number(value)} us{where}" if _least_us(size, of, alone) <= value else ""
    if declared.is_bandwidth:
        limit, rate, words = alone.limit(declared.directions, of=of.benchmark), value, f"its {number(value)} MB/s"
    else:
        sends = 1 if of.benchmark.turn is None else of.benchmark.turn.sends
        limit, rate, words = alone.limit(1, of=of.benchmark), sends * size / value, f"its {number(value)} us"
    return f"{words}{where}" if _carries(limit, rate) else ""


def _least_us(size_bytes: int, of: Run, alone: Target) -> float:
    """Return what the bytes of a collective take on these rails of a node at their full rate, us; 0 if that is not
    known, and for a barrier, which has none.
    """
    rail, facts, pattern = alone.rail(of.benchmark, of.facts), of.facts, of.benchmark.pattern
    if isinstance(rail, str) or pattern is None or facts.nodes is None or facts.ranks_per_node is None:
        return 0.0
    time = time_of(rail, pattern, size_bytes, facts.nodes, facts.ranks_per_node)
    return time.least_us / IMPOSSIBLE_FACTOR.value


def _carries(limit: Limit | None, rate_mb_s: float) -> bool:
    return limit is not None and rate_mb_s <= IMPOSSIBLE_FACTOR.value * limit.value_mb_s
