"""What a pass says: the smallest deficit that the run would have found, from its references and repeats."""

import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest

from railyard.benchmarks.model import Curve
from railyard.results.record.form import CurveRecord, DeficitRecord
from railyard.results.store.query import detail_lines
from railyard.site.references.band import Bound, scalar_band
from railyard.verdict.assess import Assessment, record_of
from railyard.verdict.reference_rule import Deficit, smallest_deficit
from railyard.verdict.rule_model import DeclaredMetric, MeasuredMetric, MetricInput

M = 1 << 20


def metric(value: float, low: float | None, high: float | None = None) -> MetricInput:
    """Return a bandwidth of 100 MB/s (or a latency if it has a ceiling) at 1 MiB that is bounded from there on."""
    name, unit = ("bandwidth", "MB/s") if high is None else ("latency", "us")
    band = scalar_band("one", "contract", name, unit, "a source", Bound(low, high, None), (M, None))
    return MetricInput(
        DeclaredMetric(name, unit, "bandwidth" if high is None else "latency"),
        MeasuredMetric(unit, (1, M), (5.0, value)),
        bands=(band,),
    )  # fmt: skip


def passes(*values: float) -> tuple[Curve, ...]:
    return tuple(Curve("bandwidth", "MB/s", (1, M), (5.0, value)) for value in values)


def round_share(found: Deficit | None) -> Deficit | None:
    return None if found is None else replace(found, share=round(found.share, 9))


def test_one_pass_leaves_what_its_bound_leaves() -> None:
    assert round_share(smallest_deficit(metric(100, 90), passes(100))) == Deficit(0.1, M, 1)
    assert round_share(smallest_deficit(metric(10, None, 12), passes(10))) == Deficit(0.2, M, 1)


def test_a_value_of_nothing_is_no_division_by_it() -> None:
    assert smallest_deficit(metric(0, 90), passes(0)) is None
    assert smallest_deficit(metric(0, 0), passes(0)) is None
    assert smallest_deficit(metric(0, None, 12), passes(0)) is None


@pytest.mark.parametrize(("values", "student"), [((99, 100, 101), 2.920), ((98, 99, 100, 101, 102), 2.132)])
def test_the_spread_of_the_passes_is_added(values: tuple[float, ...], student: float) -> None:
    of_median = 1.2533 * statistics.stdev(values) / len(values) ** 0.5
    found = smallest_deficit(metric(100, 97), passes(*values))
    assert round_share(found) == Deficit(round(0.03 + student * of_median / 100, 9), M, len(values))


def test_a_deficit_that_large_does_fail_the_reference() -> None:
    """3 % below five steady repeats passes a bound of 5 %, and is less than the run says that it would have found."""
    found = smallest_deficit(metric(100, 95), passes(*[100.0] * 5))
    assert found is not None
    assert 100 * (1 - 0.03) > 95
    assert found.share > 0.03
    assert 100 * (1 - found.share) <= 95


def test_what_is_not_bounded_or_is_at_fault_has_none() -> None:
    assert smallest_deficit(metric(100, 101), passes(100)) is None
    assert smallest_deficit(MetricInput(metric(1, 1).declared, metric(1, 1).measured), passes(100)) is None


@pytest.mark.fault("rail", "a rail at 99 %, less than the run could see", "would not have been found")
def test_the_record_and_the_terminal_say_it(assess_cell: Callable[..., Assessment], promise: str) -> None:
    found = record_of(assess_cell(rates={M: 47.8 * 0.99, 4 * M: 47.8 * 0.99}), run="r", time="t", elapsed_s=None,
                   environment={}, command=(), output=None)  # fmt: skip
    assert found.found.state == "pass"
    deficit = found.found.curves[0].deficit
    assert deficit is not None
    assert (deficit.size, deficit.repeats) == (M, 1)
    assert any(promise in line and line.startswith("  bandwidth") for line in detail_lines(found.to_json()))


def test_a_record_of_before_has_none() -> None:
    old = CurveRecord.__dataclass_fields__["deficit"].default
    assert old is None
    assert DeficitRecord(0.084, M, 3).words == (
        "a deficit below 8.4 % would not have been found (3 passes; the tightest bound at 1 MiB)"
    )
