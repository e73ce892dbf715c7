"""Rule 3: no value of what was measured is better than physics allows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from railyard.base.bounds import COLLECTIVE_FROM, COLLECTIVE_LEAST, IMPOSSIBLE_FACTOR, LEAST_OF_TCP
from railyard.benchmarks.moved_bytes import Crossing
from railyard.verdict.rules.model import (
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
from railyard.verdict.wording import Figure
from railyard.verdict.wording import not_judged as say_not_judged
from railyard.verdict.wording import possible as words


@dataclass(frozen=True, slots=True)
class _NoBound:
    """Why one metric could not be compared with its bound."""

    reason: str


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
        if isinstance(verdict, _NoBound):
            unknown.append(verdict.reason)
        elif verdict:
            held.append(verdict)
    if held:
        return pass_rule(3, "; ".join([*held, *map(say_not_judged, unknown)]))
    if unknown:
        return not_judged(3, "; ".join(unknown))
    return not_judged(3, words.no_limit_for([metric.declared.name for metric in inputs.metrics]))


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


def _bound_of(metric: MetricInput) -> RuleResult | _NoBound | str:
    """Return a failure, the sentence of what holds, why it could not be judged, or an empty string."""
    if metric.declared.limited:
        return _limit(metric)
    if metric.upper_limits or metric.messages is not None:
        return _rate(metric)
    return _latency(metric) if metric.most is None else _work(metric, metric.most)


def _work(metric: MetricInput, most: MostLike) -> RuleResult | _NoBound | str:
    name, unit, judged = metric.declared.name, metric.declared.unit, points(metric)
    if not judged:
        return _NoBound(words.not_read(name))
    if unit != most.unit:
        return _NoBound(words.unit_of_work(name, unit, most.unit))
    value = max(value for _, value in judged)
    share = words.share_of_most(Figure(name, value, unit), words.Most(most.value, unit, most.terms, most.source))
    if value <= most.value * IMPOSSIBLE_FACTOR.value:
        return share
    return fail_rule(3, words.say_disbelieved(share), "set-up", words.look_at_peak())


def _rate(metric: MetricInput) -> RuleResult | _NoBound | str:
    declared, share = metric.declared, 0.0
    other = next((band for band in metric.upper_limits if band.unit != declared.unit), None)
    if other is not None:
        return _NoBound(words.unit_of_upper_limit(declared.name, declared.unit, cite_band(other), other.unit))
    nearest: _NoBound | str = _NoBound(words.no_size_of_upper_limit(declared.name))
    for size, value in points(metric):
        for bound, what, look in _most_often(metric, size):
            described = words.share_of_rate(declared.figure(size, value), bound, what)
            if value > bound * IMPOSSIBLE_FACTOR.value:
                return fail_rule(3, words.say_disbelieved(described), "set-up", words.look_at_pairs(look))
            if value / bound > share:
                share, nearest = value / bound, described
    return nearest


def _most_often(metric: MetricInput, size: int) -> Iterator[tuple[float, str, str]]:
    """Yield each upper bound at a size: its value, what it is, and what else to look at."""
    for band in metric.upper_limits:
        bound = band.bound_at(size)
        if bound is not None and bound.high is not None:
            yield bound.high, words.upper_limit(bound.high, band.unit, cite_band(band)), words.of_this_card()
    if metric.messages is not None:
        most = metric.messages
        what = words.carried_messages(words.Most(most.value, metric.declared.unit, most.terms, most.source))
        yield most.value, what, words.joined_messages()


def _judged_points(limit: LimitLike | None, measured: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    start = 0 if limit is None else limit.from_bytes
    return [point for point in measured if point[0] >= start]


def _limit(metric: MetricInput) -> RuleResult | _NoBound | str:
    """Return a failure, the sentence of what holds, or why it could not be judged."""
    name, unit, limit = metric.declared.name, metric.declared.unit, metric.limit
    measured = points(metric)
    if not measured:
        return _NoBound(words.not_read(name))
    if limit is None:
        return _NoBound(words.no_limit())
    if unit != "MB/s":
        return _NoBound(words.unit_of_limit(name, unit))
    judged = _judged_points(limit, measured)
    if not judged:
        return _NoBound(words.no_size_from(name, limit.from_bytes))
    believed = IMPOSSIBLE_FACTOR.value
    size, value = max(judged, key=lambda point: point[1])
    # The bound of a long stream is the least of all.
    if value > limit.bound_at(0) * believed:
        for at_size, at_value in judged:
            if at_value > limit.bound_at(at_size) * believed:
                sentence = words.say_disbelieved(_share_of(metric, at_size, at_value, limit))
                return fail_rule(3, sentence, "set-up", words.look_at_limit())
    return _share_of(metric, size, value, limit)


def _share_of(metric: MetricInput, size: int, value: float, limit: LimitLike) -> str:
    return words.share_of_limit(metric.declared.figure(size, value), _at_size(limit, size))


def _at_size(limit: LimitLike, size: int) -> words.Limit:
    return words.Limit(limit.value_mb_s, limit.bound_at(size), limit.terms, limit.source)


def _latency(metric: MetricInput) -> RuleResult | _NoBound | str:
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
        return _faster_than_the_link(metric) or words.long_enough(figure, least)
    sentence = words.too_short_latency(figure, least, metric.least.source)
    return fail_rule(3, sentence, "set-up", words.look_at_memory(metric.least is LEAST_OF_TCP))


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
        sentence = words.too_fast(metric.declared.figure(size, value), size, _at_size(limit, size))
        return fail_rule(3, sentence, "set-up", words.look_at_times())
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
    figure = metric.declared.figure(size, value)
    sentence = words.too_fast_collective(
        figure, least_us, crossing.times, size, crossing.waiting, _at_size(limit, size)
    )
    return fail_rule(3, sentence, "set-up", words.look_at_times_of_all())
