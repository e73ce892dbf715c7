"""Rule 3: no value of what was measured is better than physics allows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railyard.base.bounds import COLLECTIVE_FROM, COLLECTIVE_LEAST, IMPOSSIBLE_FACTOR, LEAST_OF_TCP
from railyard.base.wording import IMPOSSIBLE, listing, message_size, number, percent
from railyard.benchmarks.moved_bytes import Crossing
from railyard.verdict.rules.model import (
    DeclaredMetric,
    Inputs,
    LimitLike,
    MetricInput,
    MostLike,
    RuleResult,
    cite_band,
    fail_rule,
    named_passes,
    not_judged,
    pass_rule,
    points,
)
from railyard.verdict.wording import too_short


def possible(inputs: Inputs) -> RuleResult:
    """Return rule 3: it compares bandwidths with the link's limit, latencies with the least possible one, work with the
    peak, and message rates with the card's upper limit and the packets that the link carries.

    Not judged if no metric has a limit to compare with; the reason says why.
    """
    held: list[str] = []
    unknown: list[str] = []
    for metric in inputs.metrics:
        broken = _impossible_pass(metric)
        if broken is not None:
            return broken
        verdict = _bound_of(metric)
        if isinstance(verdict, RuleResult):
            return verdict
        if verdict.startswith("?"):
            unknown.append(verdict[1:])
        elif verdict:
            held.append(verdict)
    if held:
        return pass_rule(3, "; ".join(held + [f"not judged: {reason}" for reason in unknown]))
    if unknown:
        return not_judged(3, "; ".join(unknown))
    names = listing([metric.declared.name for metric in inputs.metrics]) or "nothing"
    return not_judged(3, f"no physical limit is known for {names}")


def percent_of_limit(metric: MetricInput) -> float | None:
    """Return the largest value as per cent of the limit, over the sizes that are compared with it; None without a
    limit.
    """
    judged = _judged_points(metric.limit, points(metric))
    if metric.limit is None or not judged:
        return None
    return 100 * max(value / metric.limit.bound_at(size) for size, value in judged)


def _impossible_pass(metric: MetricInput) -> RuleResult | None:
    """Return the failure of the first impossible pass of several: the median would not show it."""
    for which, measured in named_passes(metric):
        verdict = _bound_of(replace(metric, measured=measured, passes=()))
        if isinstance(verdict, RuleResult):
            return replace(verdict, sentence=f"{which}{verdict.sentence}")
    return None


def _bound_of(metric: MetricInput) -> RuleResult | str:
    """Return a failure, the sentence of what holds, ``?`` and why it could not be judged, or an empty string."""
    if metric.declared.limited:
        return _limit(metric)
    if metric.upper_limits or metric.messages is not None:
        return _rate(metric)
    return _latency(metric) if metric.most is None else _work(metric, metric.most)


def _work(metric: MetricInput, most: MostLike) -> RuleResult | str:
    name, unit, judged = metric.declared.name, metric.declared.unit, points(metric)
    if not judged:
        return f"?{name} was not read"
    if unit != most.unit:
        return f"?{name} is in {unit}, and what the processors can do is in {most.unit}"
    value = max(value for _, value in judged)
    share, described = percent(value / most.value), f"{number(most.value)} {unit} ({most.terms}; {most.source})"
    if value <= most.value * IMPOSSIBLE_FACTOR.value:
        return f"{name} {number(value)} {unit} is {share} of the most that its processors can do, {described}"
    sentence = (
        f"{IMPOSSIBLE}{name} {number(value)} {unit} is {share} of the most that its processors can do, {described}; "
        f"at most {percent(IMPOSSIBLE_FACTOR.value)} is believed"
    )
    return fail_rule(
        3, sentence, "set-up", "cores, clock and flop per cycle in the system's file, and how many nodes ran"
    )


def _rate(metric: MetricInput) -> RuleResult | str:
    declared, share = metric.declared, 0.0
    other = next((band for band in metric.upper_limits if band.unit != declared.unit), None)
    if other is not None:
        return f"?{declared.name} is in {declared.unit} and {cite_band(other)} in {other.unit}"
    nearest = f"?the upper limit of {declared.name} holds for no size that was measured"
    for size, value in points(metric):
        for bound, what, look in _most_often(metric, size):
            shown = f"{declared.name} {number(value)} {declared.unit}{declared.size_words(size)}"
            described = f"{percent(value / bound)} of {what}"
            if value > bound * IMPOSSIBLE_FACTOR.value:
                sentence = f"{IMPOSSIBLE}{shown} is {described}; at most {percent(IMPOSSIBLE_FACTOR.value)} is believed"
                return fail_rule(3, sentence, "set-up", f"whether both ranks of a pair ran on one node, and {look}")
            if value / bound > share:
                share, nearest = value / bound, f"{shown} is {described}"
    return nearest


def _most_often(metric: MetricInput, size: int) -> Iterator[tuple[float, str, str]]:
    """Yield each upper bound at a size: its value, what it is, and what else to look at."""
    for band in metric.upper_limits:
        bound = band.bound_at(size)
        if bound is not None and bound.high is not None:
            what = f"the upper limit, {number(bound.high)} {band.unit}, of {cite_band(band)}"
            yield bound.high, what, "whether the upper limit is of this card"
    if metric.messages is not None:
        most = metric.messages.value
        terms = f"{metric.messages.terms}; {metric.messages.source}"
        what = f"what the link carries, {number(most)} {metric.declared.unit} ({terms})"
        yield most, what, "whether the library joins several messages in a packet"


def _judged_points(limit: LimitLike | None, measured: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    start = 0 if limit is None else limit.from_bytes
    return [point for point in measured if point[0] >= start]


def _limit(metric: MetricInput) -> RuleResult | str:
    """Return a failure, the sentence of what holds, or ``?`` and why it could not be judged."""
    name, unit, limit = metric.declared.name, metric.declared.unit, metric.limit
    measured = points(metric)
    if not measured:
        return f"?{name} was not read"
    if limit is None:
        return "?no limit known"
    if unit != "MB/s":
        return f"?{name} is in {unit} and the limit in MB/s"
    judged = _judged_points(limit, measured)
    if not judged:
        return f"?{name} has no size from {message_size(limit.from_bytes)}, where the limit holds"
    believed = IMPOSSIBLE_FACTOR.value
    size, value = max(judged, key=lambda point: point[1])
    # The bound of a long stream is the least of all.
    if value > limit.bound_at(0) * believed:
        for at_size, at_value in judged:
            if at_value > limit.bound_at(at_size) * believed:
                return _impossible(metric.declared, at_size, at_value, limit)
    share, at = percent(value / limit.bound_at(size)), metric.declared.size_words(size)
    return f"{name} {number(value)} {unit}{at} is {share} of the limit, {_describe(limit, size)}"


def _impossible(declared: DeclaredMetric, size: int, value: float, limit: LimitLike) -> RuleResult:
    shown = f"{declared.name} {number(value)} MB/s{declared.size_words(size)}"
    sentence = (
        f"{IMPOSSIBLE}{shown} is {percent(value / limit.bound_at(size))} of the limit, {_describe(limit, size)}; at "
        f"most {percent(IMPOSSIBLE_FACTOR.value)} is believed"
    )
    look = "whether both ranks ran on one node, the system's link, slot and rails, and the number of iterations"
    return fail_rule(3, sentence, "set-up", look)


def _describe(limit: LimitLike, size: int) -> str:
    bound = limit.bound_at(size)
    burst = (
        "" if bound == limit.value_mb_s else f" for a long stream, and {number(bound)} MB/s with the burst at its start"
    )
    return f"{number(limit.value_mb_s)} MB/s{burst} ({limit.terms}; {limit.source})"


def _latency(metric: MetricInput) -> RuleResult | str:
    declared = metric.declared
    if declared.quantity not in ("latency", "time") or declared.unit != "us" or not declared.between_nodes:
        return ""
    # A collective of 0 bytes is a call that returns at once; a ping-pong of 0 bytes does send a message, and so does a
    # time that has no size.
    sends = declared.quantity == "latency" or not declared.sized
    judged = [(size, value) for size, value in points(metric) if size > 0 or sends]
    if not judged:
        return ""
    size, value = min(judged, key=lambda point: point[1])
    figure = declared.figure(size, value)
    # In a collective with a root, many ranks wait for nothing, and the mean over ranks includes them.
    least = metric.least.value * (1.0 if metric.crossing is None else metric.crossing.waiting)
    if value >= least:
        return _faster_than_the_link(metric) or f"{figure.words} is not below {least:.2g} us"
    sentence = f"{IMPOSSIBLE}{too_short(figure, least)} ({metric.least.source})"
    other = ", or used RDMA or sockets that bypass the kernel" if metric.least is LEAST_OF_TCP else ""
    return fail_rule(3, sentence, "set-up", f"whether both ranks ran on one node (shared memory){other}")


def _faster_than_the_link(metric: MetricInput) -> RuleResult | None:
    """Return the failure if the time is too short for that many bytes to cross the link, one way."""
    limit = metric.one_way
    if limit is None:
        return None
    if metric.crossing is not None:
        found = (_faster_collective(metric, metric.crossing, limit, *point) for point in points(metric))
        return next((each for each in found if each is not None), None)
    for size, value in points(metric):
        if size < max(1, limit.from_bytes) or size / value <= limit.bound_at(size) * IMPOSSIBLE_FACTOR.value:
            continue
        sentence = (
            f"{IMPOSSIBLE}{metric.declared.name} {number(value)} us{metric.declared.size_words(size)} is "
            f"{number(size / value)} MB/s, {percent(size / value / limit.bound_at(size))} of the limit, "
            f"{_describe(limit, size)}; at most {percent(IMPOSSIBLE_FACTOR.value)} is believed"
        )
        look = "the unit of the times, whether both ranks ran on one node, and the system's link, slot and rails"
        return fail_rule(3, sentence, "set-up", look)
    return None


def _faster_collective(
    metric: MetricInput, crossing: Crossing, limit: LimitLike, size: int, value: float
) -> RuleResult | None:
    """Return the failure of a collective that ended before its bytes can have crossed a node's rails. Only for long
    messages: a library keeps a copy of a short one, and ranks enter up to a microsecond apart.
    """
    least_us = crossing.times * size / limit.bound_at(size) * crossing.waiting
    if size < max(COLLECTIVE_FROM.value, limit.from_bytes) or least_us < COLLECTIVE_LEAST.value:
        return None
    if value * IMPOSSIBLE_FACTOR.value >= least_us:
        return None
    mean = "" if crossing.waiting == 1 else f", and the mean over ranks is at least {percent(crossing.waiting)} of that"
    sentence = (
        f"{IMPOSSIBLE}{metric.declared.name} {number(value)} us{metric.declared.size_words(size)}, and it takes at "
        f"least {number(least_us)} us: a node must send or receive {number(crossing.times)} x "
        f"{message_size(size)}{mean}; the limit is {_describe(limit, size)}"
    )
    look = "whether the ranks ran on several nodes, the unit of the times, and the system's link, slot and rails"
    return fail_rule(3, sentence, "set-up", look)
