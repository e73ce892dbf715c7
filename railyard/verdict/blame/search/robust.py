"""The healthy level of values, if many may be too low and none is too high."""

import statistics
from bisect import bisect_left
from collections.abc import Sequence

from railyard.base.numbers import quantile

#: Standard deviations of a normal distribution at its 75 and 95 % quantiles.
_Z75, _Z95 = 0.6745, 1.6449
#: Makes a median absolute deviation the standard deviation of a normal distribution (1 / _Z75).
MAD_TO_SIGMA = 1.4826
#: The same for a half-normal one (1 / 0.3991).
_UPPER_MAD_TO_SIGMA = 2.506
#: Two flows that share a link get half each, three a third: values that collided are well below this share of the top.
_UNCOLLIDED = 0.8


def healthy(values: Sequence[float]) -> tuple[float, float]:
    """Return the level of the healthy among ``values`` and their relative standard deviation; (0, 0) if all are 0.

    Faults and collisions only lower a value, and may lower most of them: with random static routes only one pair in
    seven has both directions for itself in a full round. So this starts from the 95 % quantile, keeps what is within
    20 % of it, and takes the 75 % quantile of that: always some 0.7 standard deviations above the healthy median. The
    deviation only comes from the upper part. Median and MAD over all values fail if more than half are low
    (P. Rousseeuw and C. Croux, Alternatives to the median absolute deviation, JASA 88, 1993).
    """
    rising = sorted(values)
    top = quantile(rising, 0.95)
    kept = rising[bisect_left(rising, _UNCOLLIDED * top) :]
    level = quantile(kept, 0.75)
    if level <= 0:
        return 0.0, 0.0
    return level, (quantile(kept, 0.95) - level) / (_Z95 - _Z75) / level


def upper_spread(values: Sequence[float]) -> float:
    """Return the standard deviation of ``values`` by their upper half; the lower half may contain faults.

    It is the median deviation of the upper half from its own median, 0.399 standard deviations of a half-normal.
    """
    middle = statistics.median(values)
    upper = [value for value in values if value >= middle]
    centre = statistics.median(upper)
    return _UPPER_MAD_TO_SIGMA * statistics.median(abs(value - centre) for value in upper)
