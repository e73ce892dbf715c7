"""Rule 5: the references hold over the whole curve, there is a reference, and the sizes that decide are bounded.

The largest sizes decide about a bandwidth, the smallest about a latency. The times of a collective are decided at the
largest, where its bytes cross the network. A run whose deciding sizes nothing bounds does not pass, however good its
other sizes are.

It also says the smallest deficit that a run would have found, from the margin of its references and the spread of its
repeats. Source: L. A. Currie, "Limits for qualitative detection and quantitative determination", Analytical Chemistry
40 (1968) 586-593: a deficit that is detected in 95 of 100 cases is 1.645 standard deviations beyond the critical level,
or Student's t times the deviation if it is estimated from few values. Here the critical level is the reference's bound,
and the deviation is that of the median of the passes: 1.2533 s / sqrt(n) (M. G. Kendall and A. Stuart, The Advanced
Theory of Statistics 1, 1977, section 10.10).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from railyard.base.wording import size_ranges
from railyard.benchmarks.model import BANDWIDTH, LATENCY, Curve, deciding_sizes, rate_sizes
from railyard.site.references.band import Band
from railyard.verdict.rule_model import (
    RULE_NAMES,
    BandLike,
    Inputs,
    MetricInput,
    RuleResult,
    cite_band,
    compared_points,
    fail_rule,
    not_judged,
    pass_rule,
    points,
)
from railyard.verdict.wording import Miss, Side
from railyard.verdict.wording import not_judged as say_not_judged
from railyard.verdict.wording import reference as words

#: Below it, the time of a message is mostly its start: libraries copy shorter ones (``hardware.day_one``).
_RATE_DECIDES_FROM_BYTES = 16 << 10
#: A run that misses the project's own condition for EDR or FDR (``limits.class_floors``) by no more still holds what
#: any healthy link must: 85 % of its limit (``hardware.day_one``), which is 88 and 96 % of the condition.
_OWN_ALONE = 0.04
#: Student's t at 95 %, one side, by degrees of freedom; the last one is for all higher ones. Source: NIST/SEMATECH
#: e-Handbook of Statistical Methods, 1.3.6.7.2.
_STUDENT = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833)
_OF_A_MEDIAN = 1.2533


@dataclass(frozen=True, slots=True)
class Deficit:
    """``share`` of what was measured, 0 to 1, at ``size_bytes``; with one pass (``repeats`` 1) the spread is not known.

    If less than that is missing, the run may pass.
    """

    share: float
    size_bytes: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a metric does not hold its references; ``unjudged``: because one of them could not be compared with it.

    ``better``: the value is better than the reference allows. ``own_alone``: only the project's own condition for a
    class of links is missed, by little. ``metric`` and ``size_bytes``: where it is worst.
    ``brief``, ``measured`` and ``miss``: as in ``RuleResult``.
    """

    sentence: str
    unjudged: bool = False
    better: bool = False
    own_alone: bool = False
    metric: str = ""
    size_bytes: int = 0
    brief: str = ""
    measured: str = ""
    miss: Miss | None = None

    @property
    def is_of_start(self) -> bool:
        """Whether a bandwidth is too low at a size whose time is the start of a message: its latency is the cause."""
        return self.metric == BANDWIDTH and not self.unjudged and self.size_bytes < _RATE_DECIDES_FROM_BYTES


@dataclass(frozen=True, slots=True)
class WorstRatio:
    """Where a curve is nearest to failing: 1 is at the reference, less is worse, whichever way is better."""

    ratio: float
    size_bytes: int
    entry_id: str


def reference(inputs: Inputs) -> RuleResult:
    """Return rule 5: every band of every asserted metric.

    Without any band it fails, unless the system says that it is report-only: then its bands are the floors of the
    link's class. A fabric whose link has no known limit still fails.
    """
    asserted = _asserted_metrics(inputs)
    unread = [metric.declared.name for metric in inputs.metrics if not points(metric)]
    if unread:
        return not_judged(5, words.say_unread(unread))
    if (settled := _early_result(inputs)) is not None:
        return settled
    if inputs.report_only is not None:
        return _report_only(inputs, asserted)
    bounded = [metric for metric in asserted if metric.bands]
    open_ends = [why for metric in bounded if (why := open_end(metric)) is not None]
    if not open_ends and inputs.path.state != "not-judged":  # of a stored table, a reference may know only the peak
        open_ends = [why for metric in bounded if (why := _open_rates(metric)) is not None]
    if open_ends:
        return _nothing_decides(inputs, open_ends)
    if inputs.metrics and not asserted:
        reasons_of: dict[str | None, list[str]] = {}
        for metric in inputs.metrics:
            reasons_of.setdefault(metric.declared.reported_only, []).append(metric.declared.name)
        reasons = [words.say_because(names, str(reason)) for reason, names in reasons_of.items()]
        return not_judged(5, words.only_reported(reasons))
    missing = [metric.declared.name for metric in asserted if not metric.bands]
    if not asserted or missing:
        return _no_reference(inputs, missing)
    return pass_rule(5, "; ".join(_describe_held(metric) for metric in asserted))


def _early_result(inputs: Inputs) -> RuleResult | None:
    """Return rule 5 if a run is too short, broke a band, or contradicts itself: no other reference matters then."""
    if inputs.too_short is not None:
        return _too_short(inputs, inputs.too_short)
    violation = _main_violation(inputs)
    if violation is not None:
        return _violation_result(inputs, violation)
    return None if inputs.own_fault is None else _violation_result(inputs, Violation(inputs.own_fault))


def reference_where_measured(inputs: Inputs) -> RuleResult:
    """Return rule 5 of a stored output: references that hold only at sizes that it lacks judge nothing, so it passes by
    none.

    Where other bounds hold its sizes, a value below them fails all the same.
    """
    kept, unmeasured = _with_measured_bands(inputs)
    if not unmeasured:
        return reference(inputs)
    last = reference(kept) if kept.metrics or kept.own_fault is not None else None
    if last is not None and last.state == "fail":
        return last
    return not_judged(5, words.none_of_these(unmeasured))


def _with_measured_bands(inputs: Inputs) -> tuple[Inputs, list[str]]:
    """Return what is judged without references that hold at none of the output's sizes, and words for each of these.

    A curve names its sizes, so an output that lacks one may be cut: that fails.
    """
    left: list[str] = []
    metrics: list[MetricInput] = []
    for metric in inputs.metrics:
        sizes = [size for size, _ in points(metric)]
        is_judged = metric.declared.reported_only is None
        held = [(band, _unmeasured_range(band, sizes) if is_judged else "") for band in metric.bands]
        bands = tuple(band for band, where in held if not where)
        if bands or not held:
            metrics.append(replace(metric, bands=bands))
        left += [words.bounds_only(band.entry_id, metric.declared.name, where) for band, where in held if where]
    return replace(inputs, metrics=tuple(metrics)), left


def _unmeasured_range(band: BandLike, sizes: Sequence[int]) -> str:
    """Return in words where a reference holds, "from 1 MiB on", if it bounds none of ``sizes``; else ""."""
    if not sizes or not isinstance(band, Band) or any(band.bound_at(size) is not None for size in sizes):
        return ""
    return "" if band.points is not None else words.in_range(band.size_from, band.size_to)


def _asserted_metrics(inputs: Inputs) -> list[MetricInput]:
    return [metric for metric in inputs.metrics if metric.declared.reported_only is None]


def _main_violation(inputs: Inputs) -> Violation | None:
    """Return the violation to name, one of a reference that could be compared before others; None without any."""
    found = [broken for metric in _asserted_metrics(inputs) if (broken := _first_violation(metric)) is not None]
    return _cause(sorted(found, key=lambda broken: broken.unjudged))


def worst_ratio(metric: MetricInput) -> WorstRatio | None:
    """Return the curve's worst ratio to its references (target, else the bound that it must keep); None without any."""
    worst: WorstRatio | None = None
    for band in metric.bands:
        for size, value in compared_points(metric, band):
            ratio = _ratio(band, size, value, metric.declared.higher_is_better)
            if ratio is not None and (worst is None or ratio < worst.ratio):
                worst = WorstRatio(ratio, size, band.entry_id)
    return worst


def open_end(metric: MetricInput) -> str | None:
    """Return in words which size decides and has no bound; None if it has one, or if the metric has no sizes.

    The smallest size decides about a message rate: at large ones it is the bandwidth, which has its own bounds. The
    system's file may say why nothing bounds a size (``unbounded``): then the sentence of the pass repeats that reason.
    A value may also be in doubt, though nothing says that it is too low.
    """
    if metric.doubt is not None:
        return metric.doubt
    higher = metric.declared.higher_is_better
    at_largest = metric.declared.of_all or (higher and metric.declared.quantity != "rate")
    measured = [size for size, _ in points(metric)]
    deciding = deciding_sizes(measured, at_largest)
    if not metric.declared.sized or not deciding or metric.open_because is not None:
        return None
    if any(_is_bounded(band, size, higher) for band in metric.bands for size in deciding):
        return None
    return words.open_end(metric.declared.name, deciding[-1], deciding == measured[-1:])


def _open_rates(metric: MetricInput) -> str | None:
    """Return in words at which sizes near the largest a bandwidth has no bound; None if each has one."""
    measured = [size for size, _ in points(metric)]
    if metric.declared.unit != "MB/s" or not metric.declared.sized or not measured:
        return None
    left = [size for size in rate_sizes(measured) if not any(_is_bounded(band, size, True) for band in metric.bands)]
    return words.open_rates(metric.declared.name, size_ranges(left, measured)) if left else None


def _is_bounded(band: BandLike, size: int, higher_is_better: bool) -> bool:
    """Return whether a band bounds the bad side at a size: a bandwidth from below, a latency from above."""
    bound = band.bound_at(size)
    return bound is not None and band.covers(size) and (bound.low if higher_is_better else bound.high) is not None


def coverage(metric: MetricInput) -> str:
    """Return how many of the measured sizes are bounded, and which are not, in words; empty if nothing was measured."""
    measured = [size for size, _ in points(metric)]
    if not measured:
        return ""
    if not metric.declared.sized:
        return words.bounded_figure(any(band.bounds(0) for band in metric.bands))
    held = [size for size in measured if any(band.covers(size) for band in metric.bands)]
    return words.bounded_sizes(held, len(measured), unbounded_sizes(metric), metric.open_because)


def unbounded_sizes(metric: MetricInput) -> str:
    """Return the measured sizes at which no band demands anything, in words; empty if each has a bound."""
    if not metric.declared.sized:
        return ""
    measured = [size for size, _ in points(metric)]
    return size_ranges([size for size in measured if not any(band.covers(size) for band in metric.bands)], measured)


def _ratio(band: BandLike, size: int, value: float, higher_is_better: bool) -> float | None:
    bound = band.bound_at(size)
    if bound is None:
        return None
    if bound.ends is not None:  # any value within a source's range is as good as the source
        low, high = bound.ends
        nearest = min(max(value, low), high)
        return value / nearest if higher_is_better else nearest / value
    kept = bound.low if higher_is_better else bound.high
    wanted = bound.target if bound.target is not None else kept
    if wanted is None or wanted <= 0:
        return None
    return value / wanted if higher_is_better else wanted / value


def _cause(violations: Sequence[Violation]) -> Violation | None:
    """Return the violation to name: the first, but a latency before the bandwidth that it makes low; None without any.

    A ping-pong prints both of one time, and the bandwidth first.
    """
    if not violations or not violations[0].is_of_start:
        return next(iter(violations), None)
    return next((each for each in violations if each.metric == LATENCY and not each.unjudged), violations[0])


def _first_violation(metric: MetricInput) -> Violation | None:
    found = [broken for band in metric.bands if (broken := _against_band(metric, band)) is not None]
    return min(found, key=lambda broken: broken.unjudged, default=None)


def _against_band(metric: MetricInput, band: BandLike) -> Violation | None:
    """Return why the curve breaks this band at its worst size, or why the band cannot be judged, or None."""
    declared, pairs = metric.declared, points(metric)
    if band.unit != declared.unit:
        return Violation(words.other_unit(declared.name, declared.unit, cite_band(band), band.unit), unjudged=True)
    measured = {size for size, _ in pairs}
    lacking = [size for size in sorted(band.required_sizes) if size not in measured]
    if lacking:
        sizes = lacking if declared.sized else []
        return Violation(words.say_lacking(declared.name, sizes, cite_band(band)), unjudged=True)
    judged = False
    worst: tuple[float, Violation] | None = None
    for size, value in compared_points(metric, band):
        bound = band.bound_at(size)
        assert bound is not None
        judged = True
        for side, edge, broken in _broken_edges(bound.low, bound.high, value):
            miss = Miss(declared.figure(size, value), side, edge, _best_of(metric, band))
            of = words.bound() if bound.ends is None else words.range_of(bound.ends, edge, declared.unit)
            own = band.entry_id.startswith("class:") and broken <= _OWN_ALONE
            first = words.own_condition(abs(edge - value), declared.unit, broken) if own else ""
            if worst is None or broken > worst[0]:
                found = Violation(
                    words.say_missed(miss, of, cite_band(band), first),
                    better=(side == "above") == declared.higher_is_better,
                    own_alone=own,
                    metric=declared.name,
                    size_bytes=size,
                    brief=words.brief(miss),
                    measured=words.say_measured(miss, band.kind, band.source),
                    miss=miss,
                )
                worst = (broken, found)
    if not judged:
        return Violation(words.no_size_for(declared.name, cite_band(band)), unjudged=True)
    return None if worst is None else worst[1]


def _best_of(metric: MetricInput, band: BandLike) -> str:
    """Return of which sizes a value is the best: ``1 B to 64 B``; empty if each size is compared."""
    if not band.best_of_sizes:
        return ""
    measured = [size for size, _ in points(metric)]
    return size_ranges([size for size in measured if band.bounds(size)], measured)


def _broken_edges(low: float | None, high: float | None, value: float) -> list[tuple[Side, float, float]]:
    """Return (side, bound, by which share it is broken) for the sides that the value breaks."""
    edges: list[tuple[Side, float, float]] = []
    if low is not None and value < low:
        edges.append(("below", low, (low - value) / low))
    if high is not None and value > high:
        edges.append(("above", high, (value - high) / value))
    return edges


def _violation_result(inputs: Inputs, violation: Violation) -> RuleResult:
    own = inputs.own_fault
    beside = f"; {own}" if own is not None and own != violation.sentence else ""
    measured = f"{violation.measured}{beside}" if violation.measured else ""
    fails = partial(fail_rule, 5, brief=violation.brief, measured=measured, miss=violation.miss)
    where = f"{violation.sentence}{_crossed_words(inputs)}{beside}"
    if violation.unjudged:  # nothing was low, so neither a rail nor a busy host is the cause
        return fails(where, "reference", words.look_at_reference())
    if inputs.path.disturbance is not None:
        disturbed = f"{where}; {words.say_disturbed(inputs.path.disturbance)}"
        return fails(disturbed, "disturbed", words.look_at_others(), brief=words.brief_disturbed(violation.miss))
    if violation.better:
        return fails(where, "reference", words.look_at_better())
    if inputs.within_node:
        return fails(where, "fabric", words.look_at_cores())
    barrier = any(metric.declared.of_all and not metric.declared.sized for metric in inputs.metrics)
    return fails(where, "fabric", words.look_at_rails(inputs.rails, inputs.nodes, barrier, violation.own_alone))


def _crossed_words(inputs: Inputs) -> str:
    """Return what a value crossed, as its sentence ends: rails of nodes, a node's memory, or nothing if unknown.

    A recording does not name nodes, and an output alone no rails.
    """
    if inputs.within_node:
        return words.within_node()
    return words.say_crossed(inputs.rails, inputs.nodes)


def _report_only(inputs: Inputs, asserted: list[MetricInput]) -> RuleResult:
    if not inputs.link_limit_known:
        sentence = words.nothing_to_compare(inputs.system, str(inputs.report_only), inputs.fabric)
        return fail_rule(5, sentence, "reference", words.look_at_link(inputs.system))
    held = [_describe_held(metric) for metric in asserted if metric.bands]
    ends = [why for metric in asserted if metric.bands and (why := open_end(metric)) is not None]
    if ends:
        return not_judged(5, words.report_only(str(inputs.report_only), [*ends, *held]))
    remarks = [say_not_judged(metric.floor_remark) for metric in asserted if not metric.bands and metric.floor_remark]
    said = [*held, *dict.fromkeys(remarks)] or [words.no_floor()]
    sentence = words.report_only(str(inputs.report_only), said)
    return RuleResult(5, RULE_NAMES[5], "pass" if held else "not-judged", sentence)


def _too_short(inputs: Inputs, why: str) -> RuleResult:
    """Return why a run is too short to be judged: a failure if a reference should have judged it, whatever it gave."""
    named = list(dict.fromkeys(band.entry_id for metric in inputs.metrics for band in metric.bands))
    if not named:
        return not_judged(5, why)
    return fail_rule(5, words.too_short(why, named), "reference", words.look_at_length(inputs.system))


def _nothing_decides(inputs: Inputs, open_ends: list[str]) -> RuleResult:
    """Return the failure of a run whose deciding sizes nothing bounds; a link alone has no file that could say more."""
    held = [_describe_held(metric) for metric in inputs.metrics if metric.bands]
    if not inputs.has_references:
        return not_judged(5, "; ".join([*open_ends, *held]))
    sentence = words.nothing_decides([*open_ends, *held])
    brief = words.brief_open_end(open_ends[0])
    return fail_rule(5, sentence, "reference", words.look_at_entry(inputs.system), brief=brief)


def _no_reference(inputs: Inputs, missing: list[str]) -> RuleResult:
    sentence = words.no_reference(missing, inputs.stack, inputs.rails, inputs.fabric, inputs.system)
    return fail_rule(5, sentence, "reference", words.look_at_both_files(inputs.system))


def _describe_held(metric: MetricInput) -> str:
    name = metric.declared.name
    worst = worst_ratio(metric)
    entries, covered = [band.entry_id for band in metric.bands], coverage(metric)
    if worst is None:
        return words.say_held(name, entries, covered)
    at = metric.declared.size_words(worst.size_bytes)
    return words.held_at_worst(name, entries, at, worst.ratio, worst.entry_id, covered)


def smallest_deficit(metric: MetricInput, passes: Sequence[Curve]) -> Deficit | None:
    """Return the smallest deficit, the same at all sizes, that would have failed such a run in 95 of 100 cases.

    ``passes`` are the metric's curves, one per pass. None if no reference bounds it, or if it fails already.
    """
    higher = metric.declared.higher_is_better
    found: list[Deficit] = []
    compared = [
        (band.bound_at(size), size, value) for band in metric.bands for size, value in compared_points(metric, band)
    ]
    for bound, size, value in compared:
        edge = None if bound is None else bound.low if higher else bound.high
        if edge is None:
            continue
        if value < edge if higher else value > edge:
            return None
        if not value:  # nothing is less than no time
            continue
        left = abs(1 - edge / value)
        found.append(Deficit(left + _uncertainty(size, passes), size, len(passes)))
    return min(found, key=lambda each: each.share, default=None)


def _uncertainty(size: int, passes: Sequence[Curve]) -> float:
    """Return t times the standard deviation of the median at a size, as a share of it; 0 for one pass."""
    import statistics  # 0.01 s to import, and a stored output needs none

    values = [curve.value_at(size) for curve in passes if size in curve.sizes]
    middle = statistics.median(values) if values else 0.0
    if len(values) < 2 or middle <= 0:
        return 0.0
    deviation = _OF_A_MEDIAN * statistics.stdev(values) / math.sqrt(len(values))
    return _STUDENT[min(len(values) - 1, len(_STUDENT)) - 1] * deviation / middle
