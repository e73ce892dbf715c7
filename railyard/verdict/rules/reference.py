"""Rule 5: the references hold over the whole curve, there is a reference, and the sizes that decide are bounded.

The largest sizes decide about a bandwidth, the smallest about a latency. The times of a collective are decided at the
largest, where its bytes cross the network. A run whose deciding sizes nothing bounds does not pass, however good its
other sizes are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from railyard.base.hostlist import list_nodes
from railyard.base.wording import count_of, listing, message_size, number, percent, size_ranges
from railyard.benchmarks.model import BANDWIDTH, LATENCY, deciding_sizes, rate_sizes
from railyard.site.references.band import Band
from railyard.verdict.rules.model import (
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

#: Below it, the time of a message is mostly its start: libraries copy shorter ones (``hardware.day_one``).
_RATE_DECIDES_FROM_BYTES = 16 << 10
#: From here on, people say a ratio as a number of times, and not in per cent.
_SHOWN_AS_TIMES = 2.0

#: A run that misses the project's own condition for EDR or FDR (``limits.class_floors``) by no more still holds what
#: any healthy link must: 85 % of its limit (``hardware.day_one``), which is 88 and 96 % of the condition.
_OWN_ALONE = 0.04
_ASK_FIRST = (
    "whether your system should give as much: a class entry in the references of your system (--system) sets another "
    "bound; if it should, "
)


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
        return not_judged(5, f"{listing(unread)} could not be read")
    violation = _first_of_all(inputs)
    if violation is not None:
        return _violation_result(inputs, violation)
    if inputs.own_fault is not None:
        return _violation_result(inputs, Violation(inputs.own_fault))
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
        reasons = [f"{listing(names)}: {reason}" for reason, names in reasons_of.items()]
        return not_judged(5, f"only reported, never compared with a reference ({'; '.join(reasons)})")
    missing = [metric.declared.name for metric in asserted if not metric.bands]
    if not asserted or missing:
        return _no_reference(inputs, missing)
    return pass_rule(5, "; ".join(_describe_held(metric) for metric in asserted))


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
    why = f"{'; '.join(unmeasured)}, and the output has none of these sizes: measure them, or judge by --link"
    return not_judged(5, why)


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
        left += [f"{band.entry_id} bounds {metric.declared.name} only {where}" for band, where in held if where]
    return replace(inputs, metrics=tuple(metrics)), left


def _unmeasured_range(band: BandLike, sizes: Sequence[int]) -> str:
    """Return in words where a reference holds, "from 1 MiB on", if it bounds none of ``sizes``; else ""."""
    if not sizes or not isinstance(band, Band) or any(band.bound_at(size) is not None for size in sizes):
        return ""
    starts = "" if band.size_from is None else f"from {message_size(band.size_from)} {'to' if band.size_to else 'on'}"
    ends = "" if band.size_to is None else message_size(band.size_to)
    return "" if band.points is not None else f"{starts or 'up to'} {ends}".strip()


def _asserted_metrics(inputs: Inputs) -> list[MetricInput]:
    return [metric for metric in inputs.metrics if metric.declared.reported_only is None]


def _first_of_all(inputs: Inputs) -> Violation | None:
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
    which = "largest" if deciding == measured[-1:] else "smallest"
    return f"nothing bounds {metric.declared.name} at {message_size(deciding[-1])}, its {which} size"


def _open_rates(metric: MetricInput) -> str | None:
    """Return in words at which sizes near the largest a bandwidth has no bound; None if each has one."""
    measured = [size for size, _ in points(metric)]
    if metric.declared.unit != "MB/s" or not metric.declared.sized or not measured:
        return None
    left = [size for size in rate_sizes(measured) if not any(_is_bounded(band, size, True) for band in metric.bands)]
    where = size_ranges(left, measured)
    return f"nothing bounds {metric.declared.name} at {where}, where a link shows its rate" if left else None


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
        return f"bounded: {int(any(band.bounds(0) for band in metric.bands))} of 1 figure"
    held = [size for size in measured if any(band.covers(size) for band in metric.bands)]
    counts = f"bounded: {len(held)} of {count_of(len(measured), 'size')}"
    ends = "" if not held else f", {message_size(held[0])}" + (f" to {message_size(held[-1])}" if held[1:] else "")
    left = unbounded_sizes(metric)
    because = f": {metric.open_because}" if metric.open_because is not None else ""
    return counts + ends + (f"; no reference bounds {left}{because}" if left else "")


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
        return Violation(
            f"{declared.name} is in {declared.unit} but {cite_band(band)} is in {band.unit}", unjudged=True
        )
    measured = {size for size, _ in pairs}
    lacking = [size for size in sorted(band.required_sizes) if size not in measured]
    if lacking:
        where = f" at {listing([message_size(size) for size in lacking])}" if declared.sized else ""
        return Violation(f"{declared.name} was not measured{where}, which {cite_band(band)} requires", unjudged=True)
    judged = False
    worst: tuple[float, Violation] | None = None
    for size, value in compared_points(metric, band):
        bound = band.bound_at(size)
        assert bound is not None
        judged = True
        for side, edge, broken in _broken_edges(bound.low, bound.high, value):
            miss = Miss(declared.figure(size, value), side, edge, _best_of(metric, band))
            of = "bound" if bound.ends is None else _range_words(bound.ends, edge, declared.unit)
            own = band.entry_id.startswith("class:") and broken <= _OWN_ALONE
            by = f"{number(abs(edge - value), 3)} {declared.unit} ({percent(broken)})"
            first = f"Railyard's own condition is missed by {by}" if own else ""
            begins = f"{first}: " if own else ""
            sentence = f"{begins}{miss.words}, the {of} of {cite_band(band)}"
            if worst is None or broken > worst[0]:
                found = Violation(
                    sentence,
                    better=(side == "above") == declared.higher_is_better,
                    own_alone=own,
                    metric=declared.name,
                    size_bytes=size,
                    brief=first or _brief(metric, size, value, edge),
                    measured=f"{miss.words}, its bound ({band.kind}): {band.source}",
                    miss=miss,
                )
                worst = (broken, found)
    if not judged:
        why = f"{declared.name} has no size at which {cite_band(band)} holds, so that reference was not judged"
        return Violation(why, unjudged=True)
    return None if worst is None else worst[1]


def _brief(metric: MetricInput, size: int, value: float, edge: float) -> str:
    """Return a broken bound as a headline: ``Bandwidth is 44.5 % of its bound at 1 MiB: 9.93 MB/s, bound 22.3``."""
    declared, ratio = metric.declared, value / edge
    share = f"{ratio:.1f} times" if ratio >= _SHOWN_AS_TIMES else f"{percent(ratio)} of"
    values = f"{number(value, 3)} {declared.unit}, bound {number(edge, 3)}"
    return f"{declared.name} is {share} its bound{declared.size_words(size)}: {values}"


def _best_of(metric: MetricInput, band: BandLike) -> str:
    """Return of which sizes a value is the best: ``1 B to 64 B``; empty if each size is compared."""
    if not band.best_of_sizes:
        return ""
    measured = [size for size, _ in points(metric)]
    return size_ranges([size for size in measured if band.bounds(size)], measured)


def _range_words(ends: tuple[float, float], edge: float, unit: str) -> str:
    """Return a range with its margin at an edge: ``range of 6 to 7 us, less 10 %,``."""
    near, sign = (ends[0], "less") if edge <= ends[0] else (ends[1], "plus")
    margin = "" if edge == near else f", {sign} {percent(abs(edge / near - 1))},"
    return f"range of {ends[0]:.10g} to {ends[1]:.10g} {unit}{margin}"


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
        look = "unit and sizes of that reference, and the sizes that the check measures"
        return fails(where, "reference", look)
    if inputs.path.disturbance is not None:
        look = "who else used the rails during the run; run it again on exclusive nodes"
        brief = f"disturbed: {inputs.path.disturbance}"
        return fails(f"{where}; {brief}", "disturbed", look, brief=brief)
    if violation.better:
        look = (
            "the unit, and whether nodes, card and benchmark are those of the reference; if the system did improve, "
            "write its new numbers"
        )
        return fails(where, "reference", look)
    if inputs.within_node:
        look = "which cores (and GPUs) the ranks were bound to, and what else the node did during the run"
        return fails(where, "fabric", look)
    rails, nodes = listing(inputs.rails), list_nodes(inputs.nodes)
    these, between = f" ({rails})" if rails else "", f" between {nodes} and good partners" if nodes else ""
    barrier = any(metric.declared.of_all and not metric.declared.sized for metric in inputs.metrics)
    noise = "how the ranks are bound and what else ran on their cores, then " if barrier else ""
    first = _ASK_FIRST if violation.own_alone else ""
    look = f"{first}{noise}each rail alone{these}{between}, then link state and error counters"
    return fails(where, "fabric", look)


def _crossed_words(inputs: Inputs) -> str:
    """Return what a value crossed, as its sentence ends: rails of nodes, a node's memory, or nothing if unknown.

    A recording does not name nodes, and an output alone no rails.
    """
    if inputs.within_node:
        return ", within one node"
    of_nodes = f" of {list_nodes(inputs.nodes)}" if inputs.nodes else ""
    return f", over {listing(inputs.rails)}{of_nodes}" if inputs.rails else ""


def _report_only(inputs: Inputs, asserted: list[MetricInput]) -> RuleResult:
    if not inputs.link_limit_known:
        sentence = (
            f"{inputs.system} is report-only ({inputs.report_only}) and no limit is known for the link of "
            f"{inputs.fabric}: there is nothing to compare it with"
        )
        look = f"the link in systems/{inputs.system}.yaml: it should declare its data rate and source"
        return fail_rule(5, sentence, "reference", look)
    held = [_describe_held(metric) for metric in asserted if metric.bands]
    ends = [why for metric in asserted if metric.bands and (why := open_end(metric)) is not None]
    if ends:
        return not_judged(5, f"report-only ({inputs.report_only}): {'; '.join([*ends, *held])}")
    remarks = [metric.floor_remark for metric in asserted if not metric.bands and metric.floor_remark]
    said = [*held, *dict.fromkeys(remarks)] or ["not judged: these metrics have no floor"]
    sentence = f"report-only ({inputs.report_only}): {'; '.join(said)}"
    return RuleResult(5, RULE_NAMES[5], "pass" if held else "not-judged", sentence)


def _nothing_decides(inputs: Inputs, open_ends: list[str]) -> RuleResult:
    """Return the failure of a run whose deciding sizes nothing bounds; a link alone has no file that could say more."""
    held = [_describe_held(metric) for metric in inputs.metrics if metric.bands]
    if not inputs.has_references:
        return not_judged(5, "; ".join([*open_ends, *held]))
    file = f"references/{inputs.system}.yaml (an entry for these sizes)"
    return fail_rule(5, f"not judged: {'; '.join([*open_ends, *held])}", "reference", file)


def _no_reference(inputs: Inputs, missing: list[str]) -> RuleResult:
    what = listing(missing) if missing else "any metric"
    sentence = (
        f"no reference for {what} with {inputs.stack} over {listing(inputs.rails)} on fabric {inputs.fabric} of "
        f"{inputs.system}, and the system is not report-only"
    )
    files = f"references/{inputs.system}.yaml (add an entry) or systems/{inputs.system}.yaml (report_only and a reason)"
    return fail_rule(5, sentence, "reference", files)


def _describe_held(metric: MetricInput) -> str:
    name = metric.declared.name
    worst = worst_ratio(metric)
    entries = listing([band.entry_id for band in metric.bands])
    covered = coverage(metric)
    unjudged = f" ({covered})" if covered else ""
    if worst is None:
        return f"{name} holds {entries}{unjudged}"
    at = metric.declared.size_words(worst.size_bytes)
    if worst.ratio >= _SHOWN_AS_TIMES:
        better = f"{worst.ratio:.1f} times better than the bound of {worst.entry_id}"
        return f"{name} holds {entries}: its worst value{at} is {better}{unjudged}"
    return f"{name} holds {entries}, at worst {percent(worst.ratio)} of {worst.entry_id}{at}{unjudged}"
