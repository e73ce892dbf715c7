"""What ReFrame is given to compare: the bounds that hold for a figure at its own size alone."""

from collections.abc import Callable
from dataclasses import replace

from railyard.rfm.checks.base import asserted_bounds
from railyard.site.references.band import Bound, scalar_band
from railyard.verdict.assess import Assessment


def test_a_floor_that_another_size_may_hold_is_not_asserted_of_the_peak(assess_cell: Callable[..., Assessment]) -> None:
    found = assess_cell()
    (metric, *others) = found.inputs.metrics
    each = scalar_band("each", "class", "bandwidth", "MB/s", "recorded", Bound(9.0, None, None))
    best = replace(
        scalar_band("best", "class", "bandwidth", "MB/s", "recorded", Bound(17.0, None, None)), best_of_sizes=True
    )
    inputs = replace(found.inputs, metrics=(replace(metric, bands=(each, best)), *others))
    assert asserted_bounds(replace(found, inputs=inputs)) == {"peak": (9.0, 0, None, "MB/s")}
