"""How far repeats of a curve spread at each size, and the tolerance that a healthy run leaves once in a thousand.

A tolerance must hold for a run that is yet to come, so it is a prediction interval of Student's t with the degrees of
freedom of the repeats, MOST_DEGREES at most: t(1 - a/K) s sqrt(1 + 1/n), where a is FALSE_ALARMS for the whole test and
K its sizes (Hahn and Meeker, Statistical Intervals, 1991, chapter 4; Bonferroni's inequality over the sizes). ``s`` is
the standard deviation over repeats with the rounding of what is printed, never less than the middle one of its regime
of sizes, since five repeats may agree by chance; and any size of a regime may do what one of them did once, so that
twice the farthest repeat of the regime is allowed. Where that is more than MOST_TOLERANCE nothing is asserted. Few
repeats give wide tolerances, and more repeats narrow ones: that is the price of not failing a healthy run.
``benchmarks/capture.py`` shows the rate of false alarms.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from railyard.site.references.amount import REGIMES
from railyard.site.references.load import regime

#: Of a test, all its sizes together.
FALSE_ALARMS = 0.001
#: Bandwidths have heavier tails than the normal distribution, whatever the number of repeats. With no more degrees of
#: freedom than this, the rate holds after 10 and 20 repeats too for runs whose logarithm has Student's t with 5
#: (benchmarks/capture.py --made); without this cap 0.2 to 0.4 % were seen there.
MOST_DEGREES = 5
#: No tolerance is smaller: what differs between pairs, days and firmware is not in any few repeats.
LEAST_TOLERANCE: Mapping[str, float] = {"bandwidth": 0.02, "latency": 0.05}
OTHER_LEAST = 0.05
#: A size at which more than this would have to be allowed is not asserted: it needs more repeats, or is unsteady, and
#: what ten runs show of such a size is not all (16 to 256 KiB on the virtual cluster: nine alike, one at a third).
MOST_TOLERANCE: Mapping[str, float] = {"bandwidth": 0.08, "latency": 0.15}
OTHER_MOST = 0.15
#: A tolerance is at least so many times the worst repeat's distance from the median, so that what was seen once holds.
WORST_FACTOR = 2.0
#: And so many times the range of the medians of jobs: two jobs show one difference of all that there may be.
JOBS_FACTOR = 2.0
#: What tools print is rounded to this (IMB and OSU: two decimals): five times 0.01 MB/s agree by that alone.
PRINTED_STEP = 0.01
#: A repeat is named as an outlier where it lies so many robust standard deviations from the median, and by more than
#: the least tolerance. Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993: 3.5 for one sample; here there
#: are a dozen sizes a curve.
OUTLIER = 5.0
_MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True, slots=True)
class Outlier:
    """A repeat far from the others: its place among them, the size, and how far as a share of the median."""

    repeat: int
    size: int
    share: float


@dataclass(frozen=True, slots=True)
class Spread:
    """What repeats of a curve give: the median a size, the tolerance a regime, and sizes that spread too far to assert.

    ``left`` maps such a size to the tolerance that it would take. ``outliers`` are those at sizes that are asserted;
    where none is, all of them.
    """

    curve: Mapping[int, float]
    tolerance: Mapping[str, float]
    left: Mapping[int, float]
    outliers: tuple[Outlier, ...]


def spread(columns: Mapping[int, Sequence[float]], jobs: Sequence[str], metric: str) -> Spread:
    """Return the spread of repeats; ``columns`` has the values of all repeats a size, ``jobs`` the job of each repeat.

    Sizes whose median is 0 (printed as 0.00) are left out. Raises ValueError for fewer than two repeats.
    """
    least = LEAST_TOLERANCE.get(metric, OTHER_LEAST)
    medians = {size: statistics.median(values) for size, values in columns.items()}
    shares = {size: [v / medians[size] - 1 for v in values] for size, values in columns.items() if medians[size] > 0}
    most = MOST_TOLERANCE.get(metric, OTHER_MOST)
    deviations = {size: math.hypot(statistics.stdev(shares[size]), _rounding(medians[size])) for size in shares}
    own = {size: max(least, _needed(values, deviations[size], len(shares), jobs)) for size, values in shares.items()}
    for size in own:
        # Few repeats may agree by chance at one size.
        alike = [other for other in shares if regime(other) == regime(size)]
        middle = statistics.median(deviations[other] for other in alike)
        farthest = max(abs(share) for other in alike for share in shares[other])
        own[size] = max(own[size], _needed(shares[size], middle, len(shares), jobs), WORST_FACTOR * farthest)
    kept = [size for size in own if own[size] <= most]
    by_regime = {
        name: _rounded_up(max([least, *(own[size] for size in kept if regime(size) == name)])) for name in REGIMES
    }
    left = {size: own.get(size, math.inf) for size in columns if size not in kept}
    asserted = {size: shares[size] for size in kept}
    return Spread({size: medians[size] for size in kept}, by_regime, left, _outliers(asserted or shares, least))


def _needed(shares: Sequence[float], deviation: float, sizes: int, jobs: Sequence[str]) -> float:
    """Return what one of so many sizes needs: for chance, for the worst repeat seen, for what differed between jobs."""
    count = len(shares)
    chance = _students_t(1 - FALSE_ALARMS / sizes, min(count - 1, MOST_DEGREES)) * deviation * math.sqrt(1 + 1 / count)
    worst = WORST_FACTOR * max(map(abs, shares))
    return max(chance, worst, JOBS_FACTOR * _between_jobs(shares, jobs))


def _rounding(median: float) -> float:
    """Return the standard deviation that rounding to PRINTED_STEP alone gives, as a share of the median."""
    return PRINTED_STEP / median / math.sqrt(12)


def _between_jobs(shares: Sequence[float], jobs: Sequence[str]) -> float:
    """Return the range of the jobs' medians: with two jobs it is all that is known of how jobs differ."""
    medians = [
        statistics.median(share for share, own in zip(shares, jobs, strict=True) if own == job)
        for job in dict.fromkeys(jobs)
    ]
    # A job of one repeat adds nothing to what the repeats themselves say.
    return max(medians) - min(medians) if 1 < len(medians) < len(shares) else 0.0


@lru_cache(maxsize=256)
def _students_t(probability: float, degrees: int) -> float:
    from scipy.stats import t  # here: a quarter of a second that only a capture pays

    return float(t.ppf(probability, degrees))


def _outliers(shares: Mapping[int, Sequence[float]], least: float) -> tuple[Outlier, ...]:
    """Return each repeat that is far off somewhere, with the size at which it is farthest."""
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
    """Return the tolerance as a person would write it: to a thousandth, upwards."""
    return math.ceil(round(tolerance * 1000, 6)) / 1000
