"""The smallest deficit that a run would have found, from the margin of its references and the spread of its repeats.

Source: L. A. Currie, "Limits for qualitative detection and quantitative determination", Analytical Chemistry 40 (1968)
586-593: a deficit that is detected in 95 of 100 cases is 1.645 standard deviations beyond the critical level, or
Student's t times the deviation if it is estimated from few values. Here the critical level is the reference's bound,
and the deviation is that of the median of the passes: 1.2533 s / sqrt(n) (M. G. Kendall and A. Stuart, The Advanced
Theory of Statistics 1, 1977, section 10.10).
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.benchmarks.curve import Curve
from railyard.verdict.rules.model import MetricInput, compared_points

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
    values = [curve.value_at(size) for curve in passes if size in curve.sizes]
    middle = statistics.median(values) if values else 0.0
    if len(values) < 2 or middle <= 0:
        return 0.0
    deviation = _OF_A_MEDIAN * statistics.stdev(values) / math.sqrt(len(values))
    return _STUDENT[min(len(values) - 1, len(_STUDENT)) - 1] * deviation / middle
