"""Where a row of values changed its level: arcs of the row that stand out from the rest, judged by permutation.

Nothing is assumed about how values scatter: some network figures have single runs that are far off, and some jump
between two or three levels from run to run. The only assumption is that without a change, all orders of the runs are
equally likely. A slow drift breaks it, and is reported as one or several steps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

#: The chance to report a change in a row that has none, all places of the row together.
ALARM = 0.001
#: The fewest runs that make a level. (Four far-off runs at the end of a history are reported with one from before.)
FEWEST = 5
#: The fewest runs in which a step of FEWEST can be found at a quarter of ALARM: with 18 runs, one order of 8,568 has as
#: clear an end; with 15 runs, two of 3,003 have, since ten at the end leave five at the beginning.
LEAST_RUNS = 18
#: Only this many runs, the newest, are looked at: the cost of a look grows with their square.
MOST_RUNS = 250

_PERMUTATIONS = 19_999
#: The row is permuted in blocks, the first of them small: a row without a change is done after a few.
_BLOCKS = (99, 900, *(1_000,) * 19)
#: A value counts as at most this many standard deviations from its row's median: a single run must not make a level.
_FARTHEST = 3.0
#: If a row has several levels, nine of ten pairs of its values are no farther apart than the levels.
_APART = 0.9
#: A step stays only if the levels on both sides would differ as much by chance less often than this.
_STAYS = 0.02  # with five values on each side, 2 of 252 orders are the clearest possible: 0.008
_STAY_PERMUTATIONS = 1_999
#: A history that is judged again must say the same.
_SEED = 20041


@dataclass(frozen=True, slots=True)
class Step:
    """A change of level: ``index`` is its first value; ``p`` is the chance to report it without a change."""

    index: int
    p: float


def steps(values: Sequence[float], alarm: float = ALARM, fewest: int = FEWEST) -> tuple[Step, ...]:
    """Return where a row of values, the oldest first, changed its level; () if nowhere, or if too few can tell.

    Positive values are compared by their ratios (as logarithms), others by their differences. Only the newest MOST_RUNS
    are looked at; indices count in the whole row. Raises ValueError for a value that is not finite.

    () does not prove that there is no change: with fewer than ``fewest`` runs after it, a change is hardly ever found.

    Source: A. B. Olshen, E. S. Venkatraman, R. Lucito and M. Wigler, "Circular binary segmentation for the analysis of
    array-based DNA copy number data", Biostatistics 5 (2004) 557-572 (arcs against the rest, by permutation, and again
    within the parts; the separate look at arcs at the end is our own); P. J. Huber, "Robust estimation of a location
    parameter", Ann. Math. Stat. 35 (1964) 73-101 (values that count only up to a bound).
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("a value that is not finite")
    if len(values) < LEAST_RUNS:
        return ()
    start = max(0, len(values) - MOST_RUNS)
    row = _comparable(values[start:])
    chances: dict[int, float] = {}
    parts = [(0, len(row))]
    while parts:
        first, last = parts.pop()
        cuts, chance = _arc(row[first:last], alarm, fewest, last == len(row))
        found = [first + cut for cut in cuts]
        chances |= dict.fromkeys(found, chance)
        if found:
            parts += pairwise((first, *found, last))
    return tuple(Step(start + index, chances[index]) for index in _lasting_cuts(row, sorted(chances)))


def _comparable(values: Sequence[float]) -> list[float]:
    if min(values) > 0:
        return [math.log(value) for value in values]
    return list(values)


def _arc(row: Sequence[float], alarm: float, fewest: int, newest: bool) -> tuple[tuple[int, ...], float]:
    """Return where the clearest arc begins and ends within the row, and its chance; () if no arc stands out.

    Half of the alarms are spent on all arcs. The other half is spent on arcs at the end of the row, if it ends with the
    ``newest`` run: these are few, so five runs of a new level are found even if some runs before were as far off. If
    there are two scores, each has half of that.
    """
    both = _scores(row)
    if len(row) < 2 * fewest:
        return (), 1.0
    looks = 2 * len(both)
    for scores in reversed(both):  # this one finds at once what is far off all levels
        best, arc = _scan(scores[None, :], fewest, False)
        tries = [(False, best, arc)]
        if newest:
            best, at_end = _scan(scores[None, :], fewest, True)
            # few arcs cost little: they come first if the clearest arc of all is one of them
            tries.insert(0 if at_end == arc else 1, (True, best, at_end))
        for few, best, (first, last) in tries:
            chance = _chance(scores, float(best[0]), alarm / looks, fewest, few)
            if chance <= alarm / looks:
                return tuple(cut for cut in (first, last) if cut), looks * chance
    return (), 1.0


def _scores(row: Sequence[float]) -> list[Any]:
    """Return how far each value is from the row's median, bounded, less the mean; nothing for a row of equal values.

    The first score is in units of the row's own spread. If this bounds anything, there is a second one, in units of the
    distance between levels that the row may have had all along. By the first score alone, a fall by 40 % is as far off
    as the lower of two such levels, both at the bound; the second score separates them.

    Source: P. J. Rousseeuw and C. Croux, "Alternatives to the median absolute deviation", J. Am. Stat. Assoc. 88 (1993)
    1273-1283: the spread is the lower quartile of the distances of all pairs, so two levels in one row are not taken
    for noise; the factor 2.2219 gives the standard deviation of normal noise.
    """
    # Imported here: loading numpy takes 0.1 s, and only a history needs it.
    import numpy

    values = numpy.asarray(row, dtype=float)
    if len(values) < 2 or values.min() == values.max():
        return []
    one, other = numpy.triu_indices(len(values), 1)
    apart = numpy.abs(values[one] - values[other])
    # the quartile is 0 if most values are equal because they are rounded
    own = 2.2219 * float(numpy.quantile(apart, 0.25)) or float(apart.mean())
    off = values - numpy.median(values)
    spreads = [own]
    if numpy.abs(off).max() > _FARTHEST * own:
        spreads.append(max(own, float(numpy.quantile(apart, _APART))))
    bounded = [numpy.clip(off / spread, -_FARTHEST, _FARTHEST) for spread in spreads]
    return [each - each.mean() for each in bounded]


def _scan(rows: Any, fewest: int, at_end: bool) -> tuple[Any, tuple[int, int]]:
    """Return how far the clearest arc of each row stands out, and where that of the first row begins and ends.

    An arc, the rest of the row, and the parts before and after an arc have at least ``fewest`` values. An arc that
    reaches the end is the rest of an arc that begins with the row. Rows have the mean zero. ``at_end``: only arcs at
    the end of the row, with at most twice ``fewest`` values.
    """
    import numpy

    count = rows.shape[1]
    sums = numpy.concatenate([numpy.zeros((len(rows), 1)), rows.cumsum(axis=1)], axis=1)
    best: Any = numpy.zeros(len(rows))
    arc = (0, 0)
    shortest = max(fewest, count - 2 * fewest) if at_end else fewest
    for first in (0,) if at_end else (0, *range(fewest, count - 2 * fewest + 1)):
        ends = numpy.arange(first + shortest, count - fewest + 1)
        widths = ends - first
        inside = sums[:, ends] - sums[:, [first]]
        apart = inside**2 * (count / (widths * (count - widths)))
        clearest = apart.max(axis=1)
        if clearest[0] > best[0]:
            arc = (first, int(ends[apart[0].argmax()]))
        best = numpy.maximum(best, clearest)
    return best, arc


def _chance(scores: Any, observed: float, alarm: float, fewest: int, at_end: bool) -> float:
    """Return how often a random order of these values has an arc as clear; above ``alarm`` only roughly.

    Source: B. Phipson and G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010), article 39 (the true order is one of
    them); J. Besag and P. Clifford, Biometrika 78 (1991) 301-304 (stop once enough orders are as clear).
    """
    import numpy

    enough = round(alarm * (_PERMUTATIONS + 1))
    random = numpy.random.default_rng(_SEED)
    as_clear = dealt = 0
    for block in _BLOCKS:
        rows = random.permuted(numpy.tile(scores, (block, 1)), axis=1)
        best, _ = _scan(rows, fewest, at_end)
        as_clear += int((best >= observed * (1 - 1e-9)).sum())
        dealt += block
        if as_clear >= enough:
            break
    return (1 + as_clear) / (1 + dealt)


def _lasting_cuts(row: Sequence[float], cuts: list[int]) -> list[int]:
    """Return the cuts whose neighbouring levels differ: an arc has two ends, and one may not be a step."""
    while cuts:
        bounds = (0, *cuts, len(row))
        chances = [
            _chance_of_order(row[a:b], row[b:c]) for a, b, c in zip(bounds, bounds[1:], bounds[2:], strict=False)
        ]
        worst = max(range(len(cuts)), key=chances.__getitem__)
        if chances[worst] <= _STAYS:
            break
        cuts = [*cuts[:worst], *cuts[worst + 1 :]]
    return cuts


def _chance_of_order(before: Sequence[float], after: Sequence[float]) -> float:
    """Return how often two levels of these values in random order are as far apart, by the better score.

    This only removes false ends of arcs, so taking the better of two scores costs no alarm.
    """
    import numpy

    chances = [1.0]
    for scores in _scores([*before, *after]):
        random = numpy.random.default_rng(_SEED)
        rows = random.permuted(numpy.tile(scores, (_STAY_PERMUTATIONS, 1)), axis=1)
        observed = abs(float(scores[: len(before)].sum()))
        as_far = int((numpy.abs(rows[:, : len(before)].sum(axis=1)) >= observed * (1 - 1e-9)).sum())
        chances.append((1 + as_far) / (1 + _STAY_PERMUTATIONS))
    return min(chances)
