"""Where a row of values changed its level: arcs of the row that stand out from the rest, judged by permutation.

Nothing is assumed of how values scatter: figures of a network have single runs that are far off, and some have two or
three levels between which they jump from run to run. What is assumed is that without a change any order of the runs
would be as likely as any other. A slow drift breaks that, and is told as one or several steps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

#: The chance to tell a change in a row that has none, all places of the row together.
ALARM = 0.001
#: The fewest runs that make a level. (Four that are far off at the end of a history are told with one from before.)
FEWEST = 5
#: The fewest runs in which a step of FEWEST can be told at a quarter of ALARM: with 18, one order of 8,568 looks as
#: clear at its end; with 15, two of 3,003 do, since ten at the end are five at the beginning.
LEAST_RUNS = 18
#: No more runs than this are looked at, the newest: each look costs their square.
MOST_RUNS = 250

_PERMUTATIONS = 19_999
#: The row is dealt out anew in blocks, the first of them small: a row without a change is done after few.
_BLOCKS = (99, 900, *(1_000,) * 19)
#: A value this many standard deviations off its row's median counts as no farther: one run is not to be a level.
_FARTHEST = 3.0
#: Nine of ten pairs of a row's values lie no farther apart than its levels do, if it has several.
_APART = 0.9
#: A step stays only where the levels beside it would differ so by chance less often than this.
_STAYS = 0.02  # of five values beside five 2 orders of 252 are as clear as can be, 0.008
_STAY_PERMUTATIONS = 1_999
#: A history that is looked at again must say the same.
_SEED = 20041


@dataclass(frozen=True, slots=True)
class Step:
    """A change of level: ``index`` is the first value of the new one; ``p`` the chance to be told it without one."""

    index: int
    p: float


def steps(values: Sequence[float], alarm: float = ALARM, fewest: int = FEWEST) -> tuple[Step, ...]:
    """Return where a row of values, the oldest first, changed its level; () where nowhere, or too few could tell.

    Positive values are compared by their ratios (as logarithms), others by their differences. Only the newest MOST_RUNS
    are looked at; indices are those of the whole row. Raises ValueError for a value that is not finite.

    What () does not mean: that there is no change. With fewer than ``fewest`` runs after it hardly any is told.

    Source: A. B. Olshen, E. S. Venkatraman, R. Lucito and M. Wigler, "Circular binary segmentation for the analysis of
    array-based DNA copy number data", Biostatistics 5 (2004) 557-572 (arcs against the rest, by permutation, and again
    within the parts; that those at the end are looked at by themselves is ours); P. J. Huber, "Robust estimation of a
    location parameter", Ann. Math. Stat. 35 (1964) 73-101 (values that count only up to a bound).
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
    return tuple(Step(start + index, chances[index]) for index in _staying(row, sorted(chances)))


def _comparable(values: Sequence[float]) -> list[float]:
    if min(values) > 0:
        return [math.log(value) for value in values]
    return list(values)


def _arc(row: Sequence[float], alarm: float, fewest: int, newest: bool) -> tuple[tuple[int, ...], float]:
    """Return where the arc that stands out most begins and ends within the row, and its chance; () where none does.

    Half of the alarms are spent on all arcs, half on those that end the row where it ends with the ``newest`` run: they
    are few, so that five runs of a new level are told although some before them were as far off. Where there are two
    scores each has half of that.
    """
    both = _scores(row)
    if len(row) < 2 * fewest:
        return (), 1.0
    looks = 2 * len(both)
    for scores in reversed(both):  # what is far off all levels has its place there at once
        best, arc = _scan(scores[None, :], fewest, False)
        tries = [(False, best, arc)]
        if newest:
            best, at_end = _scan(scores[None, :], fewest, True)
            # few arcs cost little: they come first where the clearest of all is one of them
            tries.insert(0 if at_end == arc else 1, (True, best, at_end))
        for few, best, (first, last) in tries:
            chance = _chance(scores, float(best[0]), alarm / looks, fewest, few)
            if chance <= alarm / looks:
                return tuple(cut for cut in (first, last) if cut), looks * chance
    return (), 1.0


def _scores(row: Sequence[float]) -> list[Any]:
    """Return how far each value is off the row's median, bounded, less the mean; nothing for a row of equal values.

    That is once in the row's own spread, and where this bounds anything once more in the distance of levels that the
    row may have had all along. By the first alone a fall by 40 % is as far off as the lower of two such levels, both at
    the bound; the second tells it from them.

    Source: P. J. Rousseeuw and C. Croux, "Alternatives to the median absolute deviation", J. Am. Stat. Assoc. 88 (1993)
    1273-1283: the spread is the quarter of the distances of all pairs, so that two levels in one row are not taken for
    noise, and 2.2219 makes it that of normal noise.
    """
    # Imported here: numpy costs 0.1 s, which only a history need pay.
    import numpy

    values = numpy.asarray(row, dtype=float)
    if len(values) < 2 or values.min() == values.max():
        return []
    one, other = numpy.triu_indices(len(values), 1)
    apart = numpy.abs(values[one] - values[other])
    # the quarter is 0 where most values are equal, being rounded
    own = 2.2219 * float(numpy.quantile(apart, 0.25)) or float(apart.mean())
    off = values - numpy.median(values)
    spreads = [own]
    if numpy.abs(off).max() > _FARTHEST * own:
        spreads.append(max(own, float(numpy.quantile(apart, _APART))))
    bounded = [numpy.clip(off / spread, -_FARTHEST, _FARTHEST) for spread in spreads]
    return [each - each.mean() for each in bounded]


def _scan(rows: Any, fewest: int, at_end: bool) -> tuple[Any, tuple[int, int]]:
    """Return for each row how far its clearest arc stands out, and where the first row's one begins and ends.

    Arcs, the rest of the row, and the parts of it before and after an arc have ``fewest`` values or more; one that
    reaches the end is the rest of one that begins with the row. Rows have the mean zero. ``at_end``: only arcs that end
    the row, of at most twice ``fewest`` values.
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
    """Return how often an order of these values by chance has an arc as clear; above ``alarm`` only roughly.

    Source: B. Phipson and G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010), article 39 (the true order is one of
    them); J. Besag and P. Clifford, Biometrika 78 (1991) 301-304 (no need to go on once enough are as clear).
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


def _staying(row: Sequence[float], cuts: list[int]) -> list[int]:
    """Return the cuts whose neighbouring levels differ: an arc has two ends, of which one may be no step."""
    while cuts:
        bounds = (0, *cuts, len(row))
        chances = [_beside(row[a:b], row[b:c]) for a, b, c in zip(bounds, bounds[1:], bounds[2:], strict=False)]
        worst = max(range(len(cuts)), key=chances.__getitem__)
        if chances[worst] <= _STAYS:
            break
        cuts = [*cuts[:worst], *cuts[worst + 1 :]]
    return cuts


def _beside(before: Sequence[float], after: Sequence[float]) -> float:
    """Return how often two levels of these values, dealt out anew, lie as far apart, by the score that tells them best.

    It only takes steps away that an arc had beside it, so that the better of two costs no alarm.
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
