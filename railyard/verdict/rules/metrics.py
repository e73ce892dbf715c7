"""Rule 2: every declared metric was read, is finite, and has the unit that it was declared with."""

import math

from railyard.base.bounds import PRINTED_ZERO_BELOW
from railyard.base.wording import listing
from railyard.verdict.rules.model import Inputs, MetricInput, RuleResult, failed, passed

_LOOK_AT = "the benchmark's output against what the check's parser expects"


def judge(inputs: Inputs) -> RuleResult:
    """Return rule 2: all metrics that are wrong are named in one sentence; a check that declares none fails."""
    if not inputs.metrics:
        return failed(2, "the check declares no metric, so nothing was measured", "set-up", "the check's metrics")
    wrong = [sentence for sentence in map(why_unusable, inputs.metrics) if sentence is not None]
    if wrong:
        return failed(2, "; ".join(wrong), "set-up", _LOOK_AT)
    read = [f"{_label(metric)} at {_sizes(metric)}" for metric in inputs.metrics]
    return passed(2, f"read {listing(read)}")


def why_unusable(metric: MetricInput) -> str | None:
    """Return None where the metric can be judged, else the sentence that says why not."""
    declared, measured = metric.declared, metric.measured
    if measured is None or not measured.sizes:
        because = f": {metric.problem}" if metric.problem else ""
        return f"{declared.name} (declared in {declared.unit}) was not read{because}"
    if len(measured.sizes) != len(measured.values):
        return f"{declared.name} has {len(measured.sizes)} sizes but {len(measured.values)} values"
    if measured.unit != declared.unit:
        return f"{declared.name} was read in {measured.unit or 'no unit'}, declared in {declared.unit}"
    if any(right <= left for left, right in zip(measured.sizes, measured.sizes[1:], strict=False)):
        return f"{declared.name} has sizes that do not rise"
    for size, value in zip(measured.sizes, measured.values, strict=True):
        if value is None or isinstance(value, bool) or not math.isfinite(value):
            return f"{declared.name}{declared.at(size)} is {_shown(value)}, expected a finite number"
        if value < 0 or (value == 0 and not _rounds_to_zero(metric, size)):
            return f"{declared.name}{declared.at(size)} is {value:g} {declared.unit}, expected more than 0"
    return None


def _rounds_to_zero(metric: MetricInput, size: int) -> bool:
    # IMB prints a rate as a whole number: 0 where a message takes over 2 s. Only where nothing is asserted of it.
    if metric.declared.quantity == "rate" and metric.declared.reported_only is not None:
        return True
    # NPB prints seconds with two decimals, and its smallest problem may take less than half of one.
    if metric.declared.coarse and metric.declared.reported_only is not None:
        return True
    return metric.declared.quantity == "bandwidth" and size < PRINTED_ZERO_BELOW.value


def points(metric: MetricInput) -> tuple[tuple[int, float], ...]:
    """Return (size in bytes, value) of a metric that ``why_unusable`` finds nothing wrong with; empty otherwise."""
    if metric.measured is None or why_unusable(metric) is not None:
        return ()
    pairs = zip(metric.measured.sizes, metric.measured.values, strict=True)
    return tuple((size, float(value)) for size, value in pairs if value is not None)


def _shown(value: float | None) -> str:
    return "missing" if value is None else str(value)


def _label(metric: MetricInput) -> str:
    return f"{metric.declared.name} in {metric.declared.unit}"


def _sizes(metric: MetricInput) -> str:
    count = len(points(metric))
    return "1 size" if count == 1 else f"{count} sizes"
