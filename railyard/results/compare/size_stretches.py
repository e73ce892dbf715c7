"""At which message sizes two sets of curves differ: stretches of neighbouring sizes, judged by one test together.

Each size alone would be judged on a handful of repeats, and one of twenty would differ by chance. So neighbours that
differ in the same direction are summed. The sum is compared with the sums after the curves were dealt out again to the
two sides at random.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from railyard.results.compare.shift import CONFIDENCE, interval_rank, shift

#: Up to this number, all ways to deal the curves out are tried (7 and 7 curves have 3,432); else this many random ones.
_MOST = 4999
_SEED = 20032


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
    random = numpy.random.default_rng(_SEED)
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
