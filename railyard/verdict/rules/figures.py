"""The rules of what was measured: no value is better than physics allows (3), and the references hold (5).

The references hold over the whole curve, and there is a reference.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from railyard.base.bounds import COLLECTIVE_FROM, COLLECTIVE_LEAST, IMPOSSIBLE_FACTOR, LEAST_LATENCY
from railyard.base.wording import listing, message_size, number, percent, size_ranges
from railyard.benchmarks.least_time import Crossing
from railyard.verdict.rules.model import (
    RULE_NAMES,
    BandLike,
    Declared,
    Inputs,
    LimitLike,
    MetricInput,
    MostLike,
    RuleResult,
    each_pass,
    failed,
    not_judged,
    passed,
    points,
)


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a metric does not hold its references; ``unjudged``: since one of them could not be held against it.

    ``better``: the value is better than the reference allows.
    """

    sentence: str
    unjudged: bool = False
    better: bool = False


@dataclass(frozen=True, slots=True)
class WorstRatio:
    """Where a curve is nearest to failing: 1 is at the reference, less is worse, whichever way is better."""

    ratio: float
    size_bytes: int
    entry_id: str


def possible(inputs: Inputs) -> RuleResult:
    """Return rule 3: bandwidths against the link's limit, latencies against the least one, work against the peak,
    message rates against the card's upper limit and the packets that the link carries.

    Not judged where no metric has anything to be held against, with the reason.
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
        return passed(3, "; ".join(held + [f"not judged: {reason}" for reason in unknown]))
    if unknown:
        return not_judged(3, "; ".join(unknown))
    names = listing([metric.declared.name for metric in inputs.metrics]) or "nothing"
    return not_judged(3, f"no physical limit is known for {names}")


def reference(inputs: Inputs) -> RuleResult:
    """Return rule 5: every band of every asserted metric.

    Without any it fails, unless the system says that it is report-only: then its bands are the floors of the link's
    class, and a fabric whose link has no known limit fails still.
    """
    asserted = [metric for metric in inputs.metrics if metric.declared.reported_only is None]
    unread = [metric.declared.name for metric in inputs.metrics if not points(metric)]
    if unread:
        return not_judged(5, f"{listing(unread)} could not be read")
    for metric in asserted:
        violation = _first_violation(metric)
        if violation is not None:
            return _violated(inputs, violation)
    if inputs.report_only is not None:
        return _report_only(inputs, asserted)
    if inputs.metrics and not asserted:
        why: dict[str | None, list[str]] = {}
        for metric in inputs.metrics:
            why.setdefault(metric.declared.reported_only, []).append(metric.declared.name)
        reasons = [f"{listing(names)}: {reason}" for reason, names in why.items()]
        return not_judged(5, f"reported and never asserted ({'; '.join(reasons)})")
    missing = [metric.declared.name for metric in asserted if not metric.bands]
    if not asserted or missing:
        return _no_reference(inputs, missing)
    return passed(5, "; ".join(_held(metric) for metric in asserted))


def percent_of_limit(metric: MetricInput) -> float | None:
    """Return the largest value as per cent of the limit, over the sizes that are held against it; None without one."""
    judged = _judged(metric)
    if metric.limit is None or not judged:
        return None
    return 100 * max(value / metric.limit.at(size) for size, value in judged)


def worst_ratio(metric: MetricInput) -> WorstRatio | None:
    """Return the curve's worst ratio to its references (target, else the bound that it must keep); None without one."""
    worst: WorstRatio | None = None
    for band in metric.bands:
        for size, value in points(metric):
            ratio = _ratio(band, size, value, metric.declared.higher_is_better)
            if ratio is not None and (worst is None or ratio < worst.ratio):
                worst = WorstRatio(ratio, size, band.entry_id)
    return worst


def unbounded_sizes(metric: MetricInput) -> str:
    """Return the measured sizes at which no band demands anything, in words; empty where each has a bound."""
    if not metric.declared.sized:
        return ""
    measured = [size for size, _ in points(metric)]
    return size_ranges([size for size in measured if not any(band.bounds(size) for band in metric.bands)], measured)


def _impossible_pass(metric: MetricInput) -> RuleResult | None:
    """Return the failure of the first of several passes that is impossible: the median would not show it."""
    for which, one in each_pass(metric) if metric.passes else ():
        verdict = _bound_of(one)
        if isinstance(verdict, RuleResult):
            return replace(verdict, sentence=f"{which}{verdict.sentence}")
    return None


def _bound_of(metric: MetricInput) -> RuleResult | str:
    """Return a failure, the sentence of what holds, ``?`` and why it could not be judged, or nothing."""
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


def _rate(metric: MetricInput) -> RuleResult | str:
    declared, share = metric.declared, 0.0
    other = next((band for band in metric.upper_limits if band.unit != declared.unit), None)
    if other is not None:
        return f"?{declared.name} is in {declared.unit} and {_cited(other)} in {other.unit}"
    nearest = f"?no size of {declared.name} is one that its upper limit holds for"
    for size, value in points(metric):
        for bound, what, look in _most_often(metric, size):
            shown = f"{declared.name} {number(value)} {declared.unit}{declared.at(size)}"
            described = f"{percent(value / bound)} of {what}"
            if value > bound * IMPOSSIBLE_FACTOR.value:
                sentence = f"impossible: {shown} is {described}; at most {percent(IMPOSSIBLE_FACTOR.value)} is believed"
                return failed(3, sentence, "set-up", f"whether both ranks of a pair ran on one node, and {look}")
            if value / bound > share:
                share, nearest = value / bound, f"{shown} is {described}"
    return nearest


def _most_often(metric: MetricInput, size: int) -> Iterator[tuple[float, str, str]]:
    """Yield each bound from above at a size: its value, what it is, and what else to look at."""
    for band in metric.upper_limits:
        bound = band.bound_at(size)
        if bound is not None and bound.high is not None:
            what = f"the upper limit, {number(bound.high)} {band.unit}, of {_cited(band)}"
            yield bound.high, what, "whether the upper limit is of this card"
    if metric.messages is not None:
        most = metric.messages.value
        terms = f"{metric.messages.terms}; {metric.messages.source}"
        what = f"what the link carries, {number(most)} {metric.declared.unit} ({terms})"
        yield most, what, "whether the library joins several messages in a packet"


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
    # Of a collective with a root the mean over ranks is of many that need not wait for anything.
    least = LEAST_LATENCY.value * (1.0 if metric.crossing is None else metric.crossing.waiting)
    if value >= least:
        return _faster_than_the_link(metric) or f"{shown} is not below {least:.2g} us"
    sentence = f"impossible: {shown} between nodes is below {least:.2g} us ({LEAST_LATENCY.source})"
    return failed(3, sentence, "set-up", "whether both ranks ran on one node (shared memory)")


def _faster_than_the_link(metric: MetricInput) -> RuleResult | None:
    """Return the failure of a time in which so many bytes cannot have crossed the link, one way."""
    limit = metric.one_way
    if limit is None:
        return None
    if metric.crossing is not None:
        found = (_faster_collective(metric, metric.crossing, limit, *point) for point in points(metric))
        return next((each for each in found if each is not None), None)
    for size, value in points(metric):
        if size < max(1, limit.from_bytes) or size / value <= limit.at(size) * IMPOSSIBLE_FACTOR.value:
            continue
        sentence = (
            f"impossible: {metric.declared.name} {number(value)} us{metric.declared.at(size)} is "
            f"{number(size / value)} MB/s, {percent(size / value / limit.at(size))} of the limit, "
            f"{_described(limit, size)}; at most {percent(IMPOSSIBLE_FACTOR.value)} is believed"
        )
        look = "the unit of the times, whether both ranks ran on one node, and the system's link, slot and rails"
        return failed(3, sentence, "set-up", look)
    return None


def _faster_collective(
    metric: MetricInput, crossing: Crossing, limit: LimitLike, size: int, value: float
) -> RuleResult | None:
    """Return the failure of a collective that ended before what must cross a node's rails can have.

    Of long messages alone: of a short one a library keeps a copy, and ranks enter up to a microsecond apart.
    """
    least_us = crossing.times * size / limit.at(size) * crossing.waiting
    if size < max(COLLECTIVE_FROM.value, limit.from_bytes) or least_us < COLLECTIVE_LEAST.value:
        return None
    if value * IMPOSSIBLE_FACTOR.value >= least_us:
        return None
    mean = "" if crossing.waiting == 1 else f", and the mean over ranks is at least {percent(crossing.waiting)} of that"
    sentence = (
        f"impossible: {metric.declared.name} {number(value)} us{metric.declared.at(size)}, and it takes at least "
        f"{number(least_us)} us: a node must send or receive {number(crossing.times)} x {message_size(size)}{mean}; "
        f"the limit is {_described(limit, size)}"
    )
    look = "whether the ranks ran on several nodes, the unit of the times, and the system's link, slot and rails"
    return failed(3, sentence, "set-up", look)


def _ratio(band: BandLike, size: int, value: float, higher_is_better: bool) -> float | None:
    bound = band.bound_at(size)
    if bound is None:
        return None
    if bound.ends is not None:  # all that a source's range holds is as good as the source
        low, high = bound.ends
        nearest = min(max(value, low), high)
        return value / nearest if higher_is_better else nearest / value
    kept = bound.low if higher_is_better else bound.high
    wanted = bound.target if bound.target is not None else kept
    if wanted is None or wanted <= 0:
        return None
    return value / wanted if higher_is_better else wanted / value


def _first_violation(metric: MetricInput) -> Violation | None:
    for band in metric.bands:
        violation = _against_band(metric, band)
        if violation is not None:
            return violation
    return None


def _against_band(metric: MetricInput, band: BandLike) -> Violation | None:
    """Return why the curve breaks this band at its worst size, or why the band cannot be judged, or None."""
    declared, pairs = metric.declared, points(metric)
    if band.unit != declared.unit:
        return Violation(f"{declared.name} is in {declared.unit} but {_cited(band)} is in {band.unit}", unjudged=True)
    measured = {size for size, _ in pairs}
    lacking = [size for size in sorted(band.required_sizes) if size not in measured]
    if lacking:
        where = f" at {listing([message_size(size) for size in lacking])}" if declared.sized else ""
        return Violation(f"{declared.name} was not measured{where}, which {_cited(band)} requires", unjudged=True)
    judged = False
    worst: tuple[float, str, bool] | None = None
    for size, value in pairs:
        bound = band.bound_at(size)
        if bound is None or (bound.low is None and bound.high is None):
            continue
        judged = True
        for side, edge, broken in _broken_edges(bound.low, bound.high, value):
            shown = f"{declared.name} {number(value)} {declared.unit}{declared.at(size)} is {side} "
            of = "bound" if bound.ends is None else _range_words(bound.ends, edge, declared.unit)
            sentence = f"{shown}{number(edge)} {declared.unit} ({percent(value / edge)}), the {of} of {_cited(band)}"
            if worst is None or broken > worst[0]:
                worst = (broken, sentence, (side == "above") == declared.higher_is_better)
    if not judged:
        why = f"{declared.name} has no size at which {_cited(band)} holds, so that reference was not judged"
        return Violation(why, unjudged=True)
    return None if worst is None else Violation(worst[1], better=worst[2])


def _range_words(ends: tuple[float, float], edge: float, unit: str) -> str:
    """Return a range with its margin at an edge: ``range of 6 to 7 us, less 10 %,``."""
    near, sign = (ends[0], "less") if edge <= ends[0] else (ends[1], "plus")
    margin = "" if edge == near else f", {sign} {percent(abs(edge / near - 1))},"
    return f"range of {ends[0]:.10g} to {ends[1]:.10g} {unit}{margin}"


def _broken_edges(low: float | None, high: float | None, value: float) -> list[tuple[str, float, float]]:
    """Return (side, bound, by which share it is broken) for the sides that the value breaks."""
    edges: list[tuple[str, float, float]] = []
    if low is not None and value < low:
        edges.append(("below", low, (low - value) / low))
    if high is not None and value > high:
        edges.append(("above", high, (value - high) / value))
    return edges


def _violated(inputs: Inputs, violation: Violation) -> RuleResult:
    rails, nodes = listing(inputs.rails), listing(inputs.nodes)
    # A recording names no nodes.
    of_nodes, between = (f" of {nodes}", f" between {nodes} and good partners") if nodes else ("", "")
    where = f"{violation.sentence}, over {rails}{of_nodes}"
    if violation.unjudged:  # nothing was low: no rail, and no busy host, is why
        look = "unit and sizes of that reference, and the sizes that the check measures"
        return failed(5, where, "reference", look)
    if inputs.path.disturbance is not None:
        look = "who else used the rails during the run; run it again on exclusive nodes"
        return failed(5, f"{where}; disturbed: {inputs.path.disturbance}", "disturbed", look)
    if violation.better:
        look = (
            "the unit, and whether nodes, card and benchmark are those of the reference; if the system did get better, "
            "write its new numbers"
        )
        return failed(5, where, "reference", look)
    look = f"each rail alone ({rails}){between}, then link state and error counters"
    return failed(5, where, "fabric", look)


def _report_only(inputs: Inputs, asserted: list[MetricInput]) -> RuleResult:
    if not inputs.link_limit_known:
        sentence = (
            f"{inputs.system} is report-only ({inputs.report_only}) and no limit is known for the link of "
            f"{inputs.fabric}: there is nothing to judge it against"
        )
        look = f"the link in systems/{inputs.system}.yaml: it should declare its data rate and source"
        return failed(5, sentence, "reference", look)
    held = [_held(metric) for metric in asserted if metric.bands]
    remarks = [metric.floor_remark for metric in asserted if not metric.bands and metric.floor_remark]
    said = [*held, *dict.fromkeys(remarks)] or ["not judged: these metrics have no floor"]
    sentence = f"report-only ({inputs.report_only}): {'; '.join(said)}"
    return RuleResult(5, RULE_NAMES[5], "pass" if held else "not-judged", sentence)


def _no_reference(inputs: Inputs, missing: list[str]) -> RuleResult:
    what = listing(missing) if missing else "any metric"
    sentence = (
        f"no reference for {what} with {inputs.stack} over {listing(inputs.rails)} on fabric {inputs.fabric} of "
        f"{inputs.system}, and the system is not report-only"
    )
    files = f"references/{inputs.system}.yaml (add an entry) or systems/{inputs.system}.yaml (report_only and a reason)"
    return failed(5, sentence, "reference", files)


def _held(metric: MetricInput) -> str:
    name = metric.declared.name
    worst = worst_ratio(metric)
    entries = listing([band.entry_id for band in metric.bands])
    left = unbounded_sizes(metric)
    unjudged = f" (no reference bounds {left})" if left else ""
    if worst is None:
        return f"{name} holds {entries}{unjudged}"
    at_worst = f"{percent(worst.ratio)} of {worst.entry_id}{metric.declared.at(worst.size_bytes)}"
    return f"{name} holds {entries}, at worst {at_worst}{unjudged}"


def _cited(band: BandLike) -> str:
    return f"{band.entry_id} ({band.kind}: {band.source})"
