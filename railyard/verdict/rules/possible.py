"""Rule 3: no value is better than physics allows."""

from railyard.base.bounds import IMPOSSIBLE_FACTOR, LEAST_LATENCY
from railyard.base.wording import listing, message_size, number, percent
from railyard.verdict.rules.model import (
    Declared,
    Inputs,
    LimitLike,
    MetricInput,
    MostLike,
    RuleResult,
    failed,
    not_judged,
    passed,
    points,
)


def judge(inputs: Inputs) -> RuleResult:
    """Return rule 3: bandwidths against the link's limit, latencies against the least one, work against the peak.

    Not judged where no metric has anything to be held against, with the reason.
    """
    held: list[str] = []
    unknown: list[str] = []
    for metric in inputs.metrics:
        verdict = _bound_of(metric)
        if isinstance(verdict, RuleResult):
            return verdict
        if verdict.startswith("?"):
            unknown.append(verdict[1:])
        elif verdict:
            held.append(verdict)
    if held:
        return passed(3, "; ".join(held + [f"not judged: {reason}" for reason in unknown]))
    if unknown:
        return not_judged(3, "; ".join(unknown))
    names = listing([metric.declared.name for metric in inputs.metrics]) or "nothing"
    return not_judged(3, f"no physical limit is known for {names}")


def _bound_of(metric: MetricInput) -> RuleResult | str:
    """Return a failure, the sentence of what holds, ``?`` and why it could not be judged, or nothing."""
    if metric.declared.limited:
        return _limit(metric)
    return _latency(metric) if metric.most is None else _work(metric, metric.most)


def _work(metric: MetricInput, most: MostLike) -> RuleResult | str:
    name, unit, judged = metric.declared.name, metric.declared.unit, points(metric)
    if not judged:
        return f"?{name} was not read"
    if unit != most.unit:
        return f"?{name} is in {unit} and what the processors can do in {most.unit}"
    value = max(value for _, value in judged)
    share, described = percent(value / most.value), f"{number(most.value)} {unit} ({most.terms}; {most.source})"
    if value <= most.value * IMPOSSIBLE_FACTOR.value:
        return f"{name} {number(value)} {unit} is {share} of the most that its processors can do, {described}"
    sentence = (
        f"impossible: {name} {number(value)} {unit} is {share} of the most that its processors can do, {described}; "
        f"at most {percent(IMPOSSIBLE_FACTOR.value)} is believed"
    )
    return failed(3, sentence, "set-up", "cores, clock and flop per cycle in the system's file, and how many nodes ran")


def percent_of_limit(metric: MetricInput) -> float | None:
    """Return the largest value as per cent of the limit, over the sizes that are held against it; None without one."""
    judged = _judged(metric)
    if metric.limit is None or not judged:
        return None
    return 100 * max(value / metric.limit.at(size) for size, value in judged)


def _judged(metric: MetricInput) -> list[tuple[int, float]]:
    start = 0 if metric.limit is None else metric.limit.from_bytes
    return [(size, value) for size, value in points(metric) if size >= start]


def _limit(metric: MetricInput) -> RuleResult | str:
    """Return a failure, the sentence of what holds, or ``?`` and why it could not be judged."""
    name, unit, limit = metric.declared.name, metric.declared.unit, metric.limit
    if not points(metric):
        return f"?{name} was not read"
    if limit is None:
        return "?no limit known"
    if unit != "MB/s":
        return f"?{name} is in {unit} and the limit in MB/s"
    judged = _judged(metric)
    if not judged:
        return f"?{name} has no size from {message_size(limit.from_bytes)}, where the limit holds"
    for size, value in judged:
        if value > limit.at(size) * IMPOSSIBLE_FACTOR.value:
            return _impossible(metric.declared, size, value, limit)
    size, value = max(judged, key=lambda point: point[1])
    share, at = percent(value / limit.at(size)), metric.declared.at(size)
    return f"{name} {number(value)} {unit}{at} is {share} of the limit, {_described(limit, size)}"


def _impossible(declared: Declared, size: int, value: float, limit: LimitLike) -> RuleResult:
    shown = f"{declared.name} {number(value)} MB/s{declared.at(size)}"
    sentence = (
        f"impossible: {shown} is {percent(value / limit.at(size))} of the limit, {_described(limit, size)}; at most "
        f"{percent(IMPOSSIBLE_FACTOR.value)} is believed"
    )
    look = "whether both ranks ran on one node, the system's link, slot and rails, and the number of iterations"
    return failed(3, sentence, "set-up", look)


def _described(limit: LimitLike, size: int) -> str:
    bound = limit.at(size)
    burst = (
        "" if bound == limit.value_mb_s else f" for a long stream, and {number(bound)} MB/s with the burst at its start"
    )
    return f"{number(limit.value_mb_s)} MB/s{burst} ({limit.terms}; {limit.source})"


def _latency(metric: MetricInput) -> RuleResult | str:
    declared = metric.declared
    if declared.quantity not in ("latency", "time") or declared.unit != "us" or not declared.between_nodes:
        return ""
    # A collective of no bytes is a call that returns at once; a ping-pong of no bytes does send a message.
    judged = [(size, value) for size, value in points(metric) if size > 0 or declared.quantity == "latency"]
    if not judged:
        return ""
    size, value = min(judged, key=lambda point: point[1])
    shown = f"{declared.name} {number(value)} us{declared.at(size)}"
    if value >= LEAST_LATENCY.value:
        return f"{shown} is not below {LEAST_LATENCY.value:g} us"
    sentence = f"impossible: {shown} between nodes is below {LEAST_LATENCY.value:g} us ({LEAST_LATENCY.source})"
    return failed(3, sentence, "set-up", "whether both ranks ran on one node (shared memory)")
