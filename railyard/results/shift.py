"""How far apart two sets of repeats are: Hodges and Lehmann's shift with an interval, or that repeats are too few.

Nothing is assumed about how values scatter. Below ten repeats per side, the interval is exact, and holds if both sides
scatter alike. From ten per side on, it is bootstrapped, which does not need that.

What a shift means is a kind and a sentence: a difference, none at this noise, or cannot tell.

Two sets of curves differ at stretches of neighbouring sizes, which are judged by one test together. Each size alone
would be judged on a handful of repeats, and one of twenty would differ by chance. So neighbours that differ in the same
direction are summed. The sum is compared with the sums after the curves were dealt out again to the two sides at
random.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from railyard.base.wording import number
from railyard.benchmarks.model import Better

CONFIDENCE = 0.95
BOOTSTRAP_FROM = 10
_RESAMPLES = 4999
#: A repeated comparison must say the same.
_SEED = 20031
Method = Literal["exact", "bootstrap", "none"]
Kind = Literal["better", "worse", "different", "none", "cannot-tell"]
KIND_WORDS: dict[Kind, str] = {
    "better": "B is better",
    "worse": "B is worse",
    "different": "different",
    "none": "no difference",
    "cannot-tell": "cannot tell",
}
_SHARE = f"{100 * CONFIDENCE:g} %"
#: Up to this number, all ways to deal the curves out are tried (7 and 7 curves have 3,432); else this many random ones.
_MOST = 4999
_SEED_OF_SIZES = 20032


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring sizes, ``first`` to ``last`` in bytes, at which B differs from A in the same direction.

    ``percent`` is the median over those sizes of B's shift in per cent of A; ``least`` and ``most`` are the shifts
    nearest to and farthest from zero. ``sure`` is the median of the nearer ends of their intervals, without sign. ``p``
    is the chance of so large a stretch anywhere on the curve if the sides did not differ. The ends of a stretch are
    where single sizes stop standing out; the test is about the stretch, not about each size in it.
    """

    first: int
    last: int
    sizes: int
    percent: float
    least: float
    most: float
    sure: float
    p: float


@dataclass(frozen=True, slots=True)
class Shift:
    """How far side B is above side A, in the unit of the values, with its interval at CONFIDENCE.

    ``low`` and ``high`` are None if the repeats are too few for an interval. ``base`` is the median of side A.
    """

    repeats: tuple[int, int]
    base: float
    value: float
    low: float | None = None
    high: float | None = None
    method: Method = "none"

    @property
    def has_interval(self) -> bool:
        """Return whether there is an interval."""
        return self.low is not None and self.high is not None

    @property
    def is_shown(self) -> bool:
        """Return whether zero is outside the interval: the sides differ by more than their noise."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def least_distance(self) -> float:
        """Return the least distance of the sides: the interval's end nearer to zero, without sign; 0 if not seen."""
        return min(abs(self.low or 0.0), abs(self.high or 0.0)) if self.is_shown else 0.0

    @property
    def smallest(self) -> float | None:
        """Return the smallest shift that these repeats would have shown: the longer half of the interval.

        The estimate must exceed it, or else zero is in the interval. So a true difference of exactly this size is found
        in about every second comparison.
        """
        if self.low is None or self.high is None:
            return None
        return max(self.value - self.low, self.high - self.value)

    def percent(self, value: float | None) -> float | None:
        """Return an amount in per cent of side A's median; None if that is zero."""
        return None if value is None or self.base == 0 else 100 * value / abs(self.base)


def shift(a: Sequence[float], b: Sequence[float]) -> Shift:
    """Return how far ``b`` is above ``a``: the median of all differences between a value of each.

    Raises ValueError for a side without values.

    Source: J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Ann. Math. Stat. 34 (1963);
    M. Hollander and D. A. Wolfe, "Nonparametric Statistical Methods", 2nd ed. (1999), sections 4.2 (the estimate) and
    4.3 (Moses's interval).
    """
    if not a or not b:
        raise ValueError(f"found {len(a)} and {len(b)} values, expected at least one on each side")
    differences = sorted(other - one for one in a for other in b)
    value, base, repeats = statistics.median(differences), statistics.median(a), (len(a), len(b))
    rank = interval_rank(*repeats)
    if rank == 0:
        return Shift(repeats, base, value)
    if min(repeats) >= BOOTSTRAP_FROM:
        bounds = _bootstrap(a, b)
        if bounds is not None:
            return Shift(repeats, base, value, *bounds, "bootstrap")
    return Shift(repeats, base, value, differences[rank - 1], differences[-rank], "exact")


def interval_rank(first: int, second: int) -> int:
    """Return which of the sorted differences, counted from either end, bounds the interval; 0 if none can.

    It is the largest C with P(U < C) of at most half of 1 - CONFIDENCE, where U is Mann and Whitney's statistic if the
    sides do not differ. On sides of equal size, an interval needs at least four repeats on each.
    """
    allowed = (1 - CONFIDENCE) / 2 * math.comb(first + second, first)
    below, rank = 0, 0
    for count in arrangements(first, second):
        below += count
        if below > allowed:
            break
        rank += 1
    return rank


def arrangements(first: int, second: int) -> list[int]:
    """Return how many orders of the values have each U = 0 … first x second: the coefficients of Gauss's binomial.

    Source: H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically larger
    than the other", Ann. Math. Stat. 18 (1947); as a product of (1 - q^(second + i)) / (1 - q^i), i = 1 … first.
    """
    if first > second:
        return arrangements(second, first)
    top = first * second
    counts = [1] + [0] * top
    for each in range(1, first + 1):
        for at in range(top, second + each - 1, -1):
            counts[at] -= counts[at - second - each]
        for at in range(each, top + 1):
            counts[at] += counts[at - each]
    return counts


def fewest() -> int:
    """Return how many repeats per side, equal on both, an interval needs at least."""
    repeats = 1
    while interval_rank(repeats, repeats) == 0:
        repeats += 1
    return repeats


def _bootstrap(a: Sequence[float], b: Sequence[float]) -> tuple[float, float] | None:
    """Return the bias-corrected, accelerated interval of the same estimate; None if equal values leave it undefined.

    Source: B. Efron, "Better bootstrap confidence intervals", J. Am. Stat. Assoc. 82 (1987).
    """
    # Imported here: loading scipy.stats takes a second, and only a comparison needs it.
    import warnings

    import numpy
    from scipy.stats import DegenerateDataWarning, bootstrap

    def estimate(one: Any, other: Any, axis: int = -1) -> Any:
        one, other = numpy.moveaxis(one, axis, -1), numpy.moveaxis(other, axis, -1)
        differences = other[..., :, None] - one[..., None, :]
        flat = differences.reshape(*differences.shape[:-2], -1)
        return numpy.median(flat, axis=-1)

    with warnings.catch_warnings(), numpy.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)
        found = bootstrap(
            (numpy.asarray(a), numpy.asarray(b)),
            estimate,
            n_resamples=_RESAMPLES,
            batch=max(1, 2_000_000 // (len(a) * len(b))),
            vectorized=True,
            axis=-1,
            confidence_level=CONFIDENCE,
            method="BCa",
            random_state=numpy.random.default_rng(_SEED),
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


@dataclass(frozen=True, slots=True)
class Finding:
    """The kind, the whole sentence, and the change from A to B in per cent (None if A's median is zero).

    ``smallest``: the smallest change that would have been seen, in per cent; None if the repeats cannot tell.
    ``surely``: the change less its noise, in per cent without sign; 0 if none was seen.
    """

    kind: Kind
    sentence: str
    percent: float | None
    smallest: float | None = None
    surely: float = 0.0


def finding(of: Shift, unit: str, better: Better | None = None, noise: float | None = None) -> Finding:
    """Return what a shift says.

    ``better``: which direction is good, None if neither is. ``noise``: the variation from run to run as a share, if it
    is known from elsewhere. It is used if repeats are too few to show their own.
    """
    percent = of.percent(of.value)
    if of.has_interval:
        return _from_interval(of, unit, better, percent)
    if noise is not None and percent is not None:
        return _from_noise(of, better, noise, percent)
    return Finding("cannot-tell", f"cannot tell: {_too_few(of)}", percent)


def kind_of(value: float, better: Better | None) -> Literal["better", "worse", "different"]:
    """Return whether a shift is better or worse; "different" if nobody says which values are better."""
    if better is None:
        return "different"
    return "better" if (value > 0) == (better == "higher") else "worse"


def _from_interval(of: Shift, unit: str, better: Better | None, percent: float | None) -> Finding:
    if not of.is_shown:
        smallest = _amount(of, of.smallest, unit, signed=False)
        sentence = f"no difference at this noise; the smallest visible difference is {smallest}"
        return Finding("none", sentence, percent, of.percent(of.smallest))
    word = "above" if of.value > 0 else "below"
    between = f"{_amount(of, of.low, unit)} to {_amount(of, of.high, unit)}"
    sentence = f"B is {_amount(of, abs(of.value), unit, signed=False)} {word} A ({between} at {_SHARE} confidence)"
    return Finding(
        kind_of(of.value, better), sentence, percent, of.percent(of.smallest), of.percent(of.least_distance) or 0.0
    )


def _from_noise(of: Shift, better: Better | None, noise: float, percent: float) -> Finding:
    stated = f"the stated noise of {100 * noise:g} %"
    counts = " and ".join(map(str, of.repeats))
    if abs(percent) <= 100 * noise:
        sentence = (
            f"no difference at {stated}, found {percent:+.2f} % with {counts} repeats; "
            f"the smallest visible difference is {100 * noise:g} %"
        )
        return Finding("none", sentence, percent, 100 * noise)
    word = "above" if percent > 0 else "below"
    sentence = f"B is {abs(percent):.1f} % {word} A, more than {stated}, with {counts} repeats"
    return Finding(kind_of(of.value, better), sentence, percent, 100 * noise, abs(percent) - 100 * noise)


def _too_few(of: Shift) -> str:
    one, other = of.repeats
    least = fewest()
    return f"{one} and {other} repeats have no interval at {_SHARE} confidence, {least} and {least} have"


def _amount(of: Shift, value: float | None, unit: str, *, signed: bool = True) -> str:
    """Return an amount in per cent of A, with one more digit below one; in its unit if A's median is zero."""
    percent = of.percent(value)
    if percent is None:
        return f"{number(value or 0.0)} {unit}"
    digits = 1 if abs(percent) >= 1 else 2
    return f"{percent:+.{digits}f} %" if signed else f"{percent:.{digits}f} %"


def stretches(sizes: Sequence[int], a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> tuple[Stretch, ...]:
    """Return where curves ``b`` differ from curves ``a``, by size; () if nowhere, or if repeats are too few to tell.

    There is one curve per repeat, with one value per size. Raises ValueError if a curve has another number of values.

    Source: E. Maris and R. Oostenveld, "Nonparametric statistical testing of EEG- and MEG-data", J. Neurosci. Methods
    164 (2007) 177-190 (sums over neighbours by permutation); B. Phipson and G. K. Smyth, Stat. Appl. Genet. Mol. Biol.
    9 (2010), article 39 (p of a random part of all permutations); what the ends of a stretch do not mean: J.
    Sassenhagen and D. Draschkow, Psychophysiology 56 (2019) e13335.
    """
    if any(len(curve) != len(sizes) for curve in (*a, *b)):
        raise ValueError(f"found a curve without a value for each of the {len(sizes)} sizes")
    rank = interval_rank(len(a), len(b)) if a and b else 0
    if rank == 0 or not sizes:
        return ()
    # Imported here: loading scipy.stats takes a second, and only a comparison needs it.
    import numpy
    from scipy.stats import rankdata

    ranks = rankdata(numpy.asarray([*a, *b], dtype=float), axis=0)
    deals = _deals(len(a), len(b))
    middle = len(b) * (len(a) + len(b) + 1) / 2
    leaning = deals @ ranks - middle  # Mann and Whitney's U of side B less its mean: rows are deals, columns sizes
    least = len(a) * len(b) / 2 - (rank - 1)  # from this value on, a size stands out by itself
    largest = _largest_sums(leaning, least)
    found = []
    for first, last, total in _runs(leaning[0].tolist(), least):
        # the true deal is one of them, so the chance is never zero
        chance = float((largest >= total - 1e-9).mean())
        if chance <= 1 - CONFIDENCE:
            found.append(_stretch(sizes, a, b, range(first, last + 1), chance))
    return tuple(found)


def _deals(first: int, second: int) -> Any:
    """Return who is on side B: one row per deal, the true one first, and one column per curve."""
    import numpy

    both = first + second
    if math.comb(both, second) <= _MOST:
        chosen = sorted(itertools.combinations(range(both), second), reverse=True)
        deals = numpy.zeros((len(chosen), both))
        for row, members in enumerate(chosen):
            deals[row, list(members)] = 1
        return deals  # in falling order B's own curves, the last ones, come first
    random = numpy.random.default_rng(_SEED_OF_SIZES)
    true = numpy.concatenate([numpy.zeros(first), numpy.ones(second)])
    return numpy.vstack([true, random.permuted(numpy.tile(true, (_MOST, 1)), axis=1)])


def _largest_sums(leaning: Any, least: float) -> Any:
    """Return for each deal the largest sum over neighbouring sizes that stand out in the same direction."""
    import numpy

    best: Any = numpy.zeros(len(leaning))
    for sign in (1, -1):
        running: Any = numpy.zeros(len(leaning))
        for column in (sign * leaning).T:
            running = numpy.where(column >= least, running + column, 0.0)
            best = numpy.maximum(best, running)
    return best


def _runs(leaning: Sequence[float], least: float) -> list[tuple[int, int, float]]:
    """Return the first and last index and the sum of each stretch of sizes that stand out in the same direction."""
    found = []
    signs = [(value > 0) - (value < 0) if abs(value) >= least else 0 for value in leaning]
    for sign, members in itertools.groupby(range(len(signs)), key=signs.__getitem__):
        if sign:
            run = list(members)
            found.append((run[0], run[-1], sum(abs(leaning[index]) for index in run)))
    return found


def _stretch(
    sizes: Sequence[int], a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], where: range, chance: float
) -> Stretch:
    import statistics

    shares, sure = [], []
    for index in where:
        here = shift([curve[index] for curve in a], [curve[index] for curve in b])
        shares.append(here.percent(here.value) or 0.0)
        sure.append(here.percent(here.least_distance) or 0.0)
    return Stretch(
        first=sizes[where[0]],
        last=sizes[where[-1]],
        sizes=len(where),
        percent=statistics.median(shares),
        least=min(shares, key=abs),
        most=max(shares, key=abs),
        sure=statistics.median(sure),
        p=chance,
    )
