"""How far repeats of a curve spread at each size, and the tolerance that a healthy run exceeds once in a thousand.

A tolerance must hold for a future run, so it is a prediction interval of Student's t with the degrees of freedom of the
repeats, MOST_DEGREES at most: t(1 - a/K) s sqrt(1 + 1/n), where a is FALSE_ALARMS for the whole test and K its sizes
(Hahn and Meeker, Statistical Intervals, 1991, chapter 4; Bonferroni's inequality over the sizes). ``s`` is the standard
deviation over repeats, with the rounding of printed values. It is never less than the middle one of its regime of
sizes, since five repeats may agree by chance. And what one size of a regime did once, any of its sizes may do, so twice
the farthest repeat of the regime is allowed. If that is more than MOST_TOLERANCE, nothing is asserted. Few repeats give
wide tolerances, more repeats give narrow ones: that is the price of not failing a healthy run.
``benchmarks/capture.py`` shows the rate of false alarms.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from railyard.site.references.amount import REGIMES
from railyard.site.references.band import regime

#: Per test, all its sizes together.
FALSE_ALARMS = 0.001
#: Bandwidths have heavier tails than the normal distribution, whatever the number of repeats. With no more degrees of
#: freedom than this, the rate also holds after 10 and 20 repeats for runs whose logarithm has Student's t with 5
#: (benchmarks/capture.py --made). Without this cap the rate was 0.2 to 0.4 % there.
MOST_DEGREES = 5
#: No tolerance is smaller: a few repeats do not show how pairs, days and firmware differ.
LEAST_TOLERANCE: Mapping[str, float] = {"bandwidth": 0.02, "latency": 0.05}
OTHER_LEAST = 0.05
#: A size that needs a larger tolerance than this is not asserted: it needs more repeats, or it is unsteady. Ten runs do
#: not show everything about such a size (16 to 256 KiB on the virtual cluster: nine alike, one at a third).
MOST_TOLERANCE: Mapping[str, float] = {"bandwidth": 0.08, "latency": 0.15}
OTHER_MOST = 0.15
#: A tolerance is at least this many times the worst repeat's distance from the median: what was seen once may come
#: again.
WORST_FACTOR = 2.0
#: And at least this many times the range of the jobs' medians: two jobs show only one of the possible differences.
JOBS_FACTOR = 2.0
#: Tools round what they print to this (IMB and OSU: two decimals). Five values of 0.01 MB/s agree for that reason
#: alone.
PRINTED_STEP = 0.01
#: A repeat is named as an outlier if it is this many robust standard deviations from the median, and by more than the
#: least tolerance. Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993: 3.5 for one sample; here a curve has
#: a dozen sizes.
OUTLIER = 5.0
_MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True, slots=True)
class Outlier:
    """A repeat far from the others: its index, the size, and its distance as a share of the median."""

    repeat: int
    size: int
    share: float


@dataclass(frozen=True, slots=True)
class Spread:
    """What repeats of a curve give: a median per size, a tolerance per regime, and sizes that spread too far to assert.

    ``left`` maps such a size to the tolerance that it would need. ``outliers`` are those at asserted sizes, or all of
    them if no size is asserted.
    """

    curve: Mapping[int, float]
    tolerance: Mapping[str, float]
    left: Mapping[int, float]
    outliers: tuple[Outlier, ...]


def spread(columns: Mapping[int, Sequence[float]], jobs: Sequence[str], metric: str) -> Spread:
    """Return the spread of repeats; ``columns`` has all repeats' values by size, ``jobs`` each repeat's job.

    Sizes whose median is 0 (printed as 0.00) are left out. Raises ValueError for fewer than two repeats.
    """
    least = LEAST_TOLERANCE.get(metric, OTHER_LEAST)
    medians = {size: statistics.median(values) for size, values in columns.items()}
    shares = {size: [v / medians[size] - 1 for v in values] for size, values in columns.items() if medians[size] > 0}
    most = MOST_TOLERANCE.get(metric, OTHER_MOST)
    deviations = {size: math.hypot(statistics.stdev(shares[size]), _rounding(medians[size])) for size in shares}
    own = {
        size: max(least, _needed_tolerance(values, deviations[size], len(shares), jobs))
        for size, values in shares.items()
    }
    for size in own:
        # Few repeats may agree by chance at one size.
        alike = [other for other in shares if regime(other) == regime(size)]
        middle = statistics.median(deviations[other] for other in alike)
        farthest = max(abs(share) for other in alike for share in shares[other])
        own[size] = max(own[size], _needed_tolerance(shares[size], middle, len(shares), jobs), WORST_FACTOR * farthest)
    kept = [size for size in own if own[size] <= most]
    by_regime = {
        name: _rounded_up(max([least, *(own[size] for size in kept if regime(size) == name)])) for name in REGIMES
    }
    left = {size: own.get(size, math.inf) for size in columns if size not in kept}
    asserted = {size: shares[size] for size in kept}
    return Spread({size: medians[size] for size in kept}, by_regime, left, _outliers(asserted or shares, least))


def _needed_tolerance(shares: Sequence[float], deviation: float, sizes: int, jobs: Sequence[str]) -> float:
    """Return the tolerance that one of these sizes needs for chance, the worst repeat, and differences between jobs."""
    count = len(shares)
    chance = _students_t(1 - FALSE_ALARMS / sizes, min(count - 1, MOST_DEGREES)) * deviation * math.sqrt(1 + 1 / count)
    worst = WORST_FACTOR * max(map(abs, shares))
    return max(chance, worst, JOBS_FACTOR * _between_jobs(shares, jobs))


def _rounding(median: float) -> float:
    """Return the standard deviation that rounding to PRINTED_STEP alone gives, as a share of the median."""
    return PRINTED_STEP / median / math.sqrt(12)


def _between_jobs(shares: Sequence[float], jobs: Sequence[str]) -> float:
    """Return the range of the jobs' medians: with two jobs, nothing more is known of how jobs differ."""
    medians = [
        statistics.median(share for share, own in zip(shares, jobs, strict=True) if own == job)
        for job in dict.fromkeys(jobs)
    ]
    # A job with one repeat adds nothing to what the repeats themselves say.
    return max(medians) - min(medians) if 1 < len(medians) < len(shares) else 0.0


@lru_cache(maxsize=256)
def _students_t(probability: float, degrees: int) -> float:
    from scipy.stats import t  # here: it costs a quarter of a second, which only a capture needs

    return float(t.ppf(probability, degrees))


def _outliers(shares: Mapping[int, Sequence[float]], least: float) -> tuple[Outlier, ...]:
    """Return each repeat that is far off at some size, with the size at which it is farthest."""
    worst: dict[int, Outlier] = {}
    for size, values in shares.items():
        scale = _MAD_TO_SIGMA * statistics.median(map(abs, values))
        for place, share in enumerate(values):
            if abs(share) > max(OUTLIER * scale, least) and abs(share) > abs(
                worst[place].share if place in worst else 0
            ):
                worst[place] = Outlier(place, size, share)
    return tuple(worst[place] for place in sorted(worst))


def _rounded_up(tolerance: float) -> float:
    """Return the tolerance as a person would write it: rounded up to a thousandth."""
    return math.ceil(round(tolerance * 1000, 6)) / 1000
