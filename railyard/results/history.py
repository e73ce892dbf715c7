"""Judges a series: its changes of level, how large each is, what else changed then, whether nodes were swapped.

Where a row of values changed its level: arcs of the row that stand out from the rest, judged by permutation.

Nothing is assumed about how values scatter: some network figures have single runs that are far off, and some jump
between two or three levels from run to run. The only assumption is that without a change, all orders of the runs are
equally likely. A slow drift breaks it, and is reported as one or several steps.

What histories show, as text for a terminal, as JSON values, and as drawings for a page.
"""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from railyard.base.hostlist import MOST_IN_WORDS
from railyard.base.hostlist import fold_names as ranges
from railyard.base.terminal import fold_words
from railyard.base.wording import count_of, listing, number
from railyard.benchmarks.model import Better
from railyard.results.comparison import better_of
from railyard.results.pairing import differences
from railyard.results.record.form import Record
from railyard.results.report.spread import OverTime
from railyard.results.series import Point, Series, node_words, nodes_of
from railyard.results.shift import CONFIDENCE, Shift, kind_of, shift

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


#: In per cent. Smaller changes are only counted, unless the user sets another bound.
LEAST_PERCENT = 1.0
#: This many runs on either side of a change show what surrounds it: its place may be wrong by a run or two.
_NEAR = 5
#: At most this many of the things that changed at the same time are named; those with the first of these words come
#: first.
_MOST_TOGETHER = 6
_FIRST = ("firmware", "driver", "bios", "microcode", "kernel", "lock", "spack", "mpi", "version", "linked", "setting")

Whole = Callable[[Sequence[Record]], Sequence[Record]]
Kind = Literal["better", "worse", "different"]
NodesKind = Literal["same", "swapped", "mixed", "unknown"]
State = Literal["changed", "none", "equal", "cannot-tell"]


# A change of a test over one rail belongs to that rail. Over several rails, the counters of the path proof show each
# rail's share, and the probes of a failed verdict show which rail was slow alone. Both are read from the runs just
# before and just after a change.
#: Of (node, device).
_Rail = tuple[str, str]

#: In points. A share that moved by less does not point to a rail: if one of two equal rails loses 4 %, its share moves
#: by one.
_LEAST_POINTS = 1.0


@dataclass(frozen=True, slots=True)
class NodesTold:
    """Whether the nodes changed with the figure: ``swapped`` if the new level is, or may be, that of other nodes."""

    kind: NodesKind
    sentence: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level between two consecutive runs.

    ``index`` is the first run of the new level. ``shift`` is the distance from the level before to the one after,
    ``percent`` the same in per cent of the level before (None if that is zero). ``p`` is the chance to report it
    without a change. ``rails``: over which rails, whose share moved, which were suspects. ``together``: which hosts,
    versions and settings differ between the runs just before and just after.
    """

    index: int
    before: Point
    after: Point
    shift: Shift
    percent: float | None
    kind: Kind
    p: float
    nodes: NodesTold
    rails: tuple[str, ...]
    together: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class JudgedSeries:
    """A series with its changes, the oldest first; ``smaller`` is how many were below the least percentage."""

    series: Series
    state: State
    sentence: str
    changes: tuple[Change, ...] = ()
    smaller: int = 0


def judge(series: Series, least_percent: float = LEAST_PERCENT, whole: Whole = tuple) -> JudgedSeries:
    """Return what a series shows, always with a sentence: changes, none, or why it cannot tell.

    ``whole`` returns complete records, with what each of many nodes moved, if the series' records were read without
    that.
    """
    count = len(series.points)
    low, high = min(series.values), max(series.values)
    if count == 1:
        return JudgedSeries(
            series, "cannot-tell", f"one run, {number(low)} {series.unit}: a history begins with the second"
        )
    if low == high:
        return JudgedSeries(series, "equal", f"all {count} values are {number(low)} {series.unit}: no change")
    if count < LEAST_RUNS:
        sentence = f"cannot tell: {count} runs, a change needs at least {LEAST_RUNS} ({FEWEST} of them after it)"
        return JudgedSeries(series, "cannot-tell", sentence)
    changes = _changes(series, steps(series.values), whole)
    told = tuple(change for change in changes if change.percent is None or abs(change.percent) >= least_percent)
    smaller = len(changes) - len(told)
    state: State = "changed" if told else "none"
    return JudgedSeries(series, state, _summary(series, told, smaller, least_percent), told, smaller)


def _summary(series: Series, told: Sequence[Change], smaller: int, least: float) -> str:
    count = len(series.points)
    looked_at = f"the newest {MOST_RUNS} of {count} runs" if count > MOST_RUNS else f"{count} runs"
    below = f", and {smaller} below {least:g} %" if smaller else ""
    if not told:
        range_ = f"{number(min(series.values))} to {number(max(series.values))} {series.unit}"
        return f"no change{' of that size' if smaller else ''} in {looked_at}, {range_}{below}"
    return f"{count_of(len(told), 'change')} in {looked_at}{below}"


def _changes(series: Series, found: Sequence[Step], whole: Whole) -> list[Change]:
    bounds = (0, *(step.index for step in found), len(series.points))
    levels = [series.points[first:last] for first, last in pairwise(bounds)]
    better = better_of(series.benchmark, series.figure)
    return [
        _change(step, before, after, series.unit, better, whole)
        for step, (before, after) in zip(found, pairwise(levels), strict=True)
    ]


def _change(
    step: Step, before: Sequence[Point], after: Sequence[Point], unit: str, better: Better | None, whole: Whole
) -> Change:
    of = shift([point.value for point in before], [point.value for point in after])
    kind = kind_of(of.value, better)
    nodes = nodes_told(before, after)
    together = _find_changed_properties(before[-_NEAR:], after[:_NEAR])
    percent = of.percent(of.value)
    near = ([point.record for point in before[-_NEAR:]], [point.record for point in after[:_NEAR]])
    rails = rail_words(*map(whole, near))
    words = [_describe_shift(of, unit, kind), _time_words(before[-1], after[0]), nodes.sentence, *rails]
    words.append(_together_words(together))
    sentence = "; ".join(words)
    return Change(step.index, before[-1], after[0], of, percent, kind, step.p, nodes, rails, together, sentence)


def nodes_told(before: Sequence[Point], after: Sequence[Point]) -> NodesTold:
    """Return whether a change came with other nodes.

    If some nodes differ, the runs on the nodes that both sides have decide: if they show the change too, other nodes
    are not its cause.
    """
    ours, theirs = nodes_of(before), nodes_of(after)
    if () in ours | theirs:
        return NodesTold("unknown", "the nodes of some of these runs are not recorded")
    if ours == theirs:
        return NodesTold("same", f"on the same nodes ({node_words(ours)})")
    common = ours & theirs
    if not common:
        return NodesTold(
            "swapped",
            f"with other nodes ({node_words(ours)} before, {node_words(theirs)} after): "
            "this cannot tell a change of the nodes from a change of anything else",
        )
    here = [[point.value for point in side if _nodes(point) in common] for side in (before, after)]
    of = shift(*here)
    there = f"the nodes that both sides have ({node_words(common)})"
    if not of.has_interval:
        counts = listing([str(len(side)) for side in here])
        return NodesTold("mixed", f"some nodes differ; on {there}, {counts} runs are too few to tell")
    if of.is_shown:
        return NodesTold("same", f"some nodes differ, but {there} show the change too")
    return NodesTold("swapped", f"it came with other nodes: {there} do not show it")


def _nodes(point: Point) -> tuple[str, ...]:
    return tuple(sorted(point.record.where.nodes))


def _describe_shift(of: Shift, unit: str, kind: Kind) -> str:
    """Return ``fell by 4.1 % (3.9 to 4.3 % at 95 % confidence) from 47.83 to 45.87 MB/s, worse``."""
    word = "rose" if of.value > 0 else "fell"
    levels = f"from {number(of.base)} to {number(of.base + of.value)} {unit}"
    good = "" if kind == "different" else f", {kind}"
    percent = of.percent(of.value)
    if percent is None:
        return f"{word} {levels}{good}"
    ends = sorted(abs(end) for end in (of.percent(of.low), of.percent(of.high)) if end is not None)
    sure = f" ({ends[0]:.1f} to {ends[1]:.1f} % at {100 * CONFIDENCE:g} % confidence)" if of.is_shown else ""
    return f"{word} by {abs(percent):.1f} %{sure} {levels}{good}"


def _time_words(before: Point, after: Point) -> str:
    return f"between {_minute(before)} ({before.record.made.run}) and {_minute(after)} ({after.record.made.run})"


def _minute(point: Point) -> str:
    return point.record.made.time[:16].replace("T", " ")


def _find_changed_properties(before: Sequence[Point], after: Sequence[Point]) -> tuple[str, ...]:
    """Return which recorded properties changed, firmware and drivers first; nodes are not among them."""
    found = differences([point.record for point in before], [point.record for point in after])
    named = sorted((one for one in found if one.name != "nodes"), key=lambda one: (_rank(one.name), one.name))
    words = [f"{one.name} {_values(one.a)} before, {_values(one.b)} after" for one in named]
    more = len(words) - _MOST_TOGETHER
    return (*words[:_MOST_TOGETHER], *([f"{more} more"] if more > 0 else []))


def _together_words(together: Sequence[str]) -> str:
    if not together:
        return "nothing else that is recorded changed then"
    return f"at the same time: {'; '.join(together)}"


def _rank(name: str) -> int:
    lower = name.lower()
    return next((place for place, word in enumerate(_FIRST) if word in lower), len(_FIRST))


def _values(values: Sequence[str]) -> str:
    return listing(values) if values else "not recorded"


def rail_words(before: Sequence[Record], after: Sequence[Record]) -> tuple[str, ...]:
    """Return the sentences on rails: over which the runs went, whose share moved, and which were suspects.

    A share has moved if its values before and after do not overlap and their medians are at least a point apart. Runs
    whose path is not recorded give no sentence.
    """
    ours, theirs = _shares(before), _shares(after)
    return (*_describe_rails(ours, theirs), *_changed_rails(ours, theirs), *_changed_suspects(before, after))


def _shares(records: Sequence[Record]) -> dict[_Rail, list[float]]:
    """Return the share of its node's bytes that each intended rail carried in each run, in per cent."""
    found: dict[_Rail, list[float]] = {}
    for record in records:
        for node in record.how.path_proof.each_node() if record.how.path_proof is not None else ():
            for rail in node.rails:
                if rail.meant and rail.share is not None:
                    found.setdefault((node.node, rail.device), []).append(100 * rail.share)
    return found


def _describe_rails(ours: dict[_Rail, list[float]], theirs: dict[_Rail, list[float]]) -> Iterator[str]:
    sides = [sorted({device for _, device in side}) for side in (ours, theirs)]
    if not all(sides):
        return
    before, after = map(listing, sides)
    yield f"over {before}" if before == after else f"over {before} before, {after} after"


def _changed_rails(ours: dict[_Rail, list[float]], theirs: dict[_Rail, list[float]]) -> Iterator[str]:
    for node, device in sorted(ours.keys() & theirs.keys()):
        old, new = ours[node, device], theirs[node, device]
        apart = max(old) < min(new) or max(new) < min(old)
        if apart and abs(statistics.median(new) - statistics.median(old)) >= _LEAST_POINTS:
            shares = f"{statistics.median(old):.1f} % of its bytes before, {statistics.median(new):.1f} % after"
            yield f"{device} of {node} carried {shares}"


def _changed_suspects(before: Sequence[Record], after: Sequence[Record]) -> Iterator[str]:
    ours, theirs = _suspects(before), _suspects(after)
    for (node, device), count in sorted(theirs.items()):
        if ours[node, device] < count:
            earlier = f"{ours[node, device]} of {len(before)}" if ours[node, device] else "none"
            yield f"{device} of {node} was a suspect in {count} of {len(after)} runs after, {earlier} before"


def _suspects(records: Sequence[Record]) -> Counter[_Rail]:
    """Return how many runs named each rail; each run counts at most once."""
    named = [
        {(one.node, one.rail) for one in record.found.verdict.suspects if one.node is not None and one.rail is not None}
        for record in records
    ]
    return Counter((str(node), str(rail)) for one in named for node, rail in one)


FORMAT = 1
_SGR = {"better": "32", "worse": "1;31", "different": "33"}
_STATE_WORDS: dict[State, str] = {
    "changed": "changed",
    "none": "without a change",
    "equal": "with equal values only",
    "cannot-tell": "with too few runs to tell",
}


def text(found: Sequence[JudgedSeries], *, whole: bool = False, width: int = 100, colour: bool = False) -> str:
    """Return the figures that changed, with ``whole`` all of them, and a summary. Folded to ``width``, never cut."""
    parts = ["\n".join(_lines(one, whole, width, colour)) for one in found if whole or one.state == "changed"]
    parts.append("\n".join(fold_words(line, width, "  ") for line in summary(found)))
    return "\n\n".join(parts) + "\n"


def summary(found: Sequence[JudgedSeries]) -> Iterator[str]:
    """Yield the last lines: how many figures are in each state, how many got worse, how many may be chance."""
    of = Counter(one.state for one in found)
    tests = len({(one.series.system, one.series.case) for one in found})
    told = ", ".join(f"{of[state]} {words}" for state, words in _STATE_WORDS.items() if of[state])
    yield f"{count_of(len(found), 'figure')} of {count_of(tests, 'test')}: {told}"
    worse = [change for one in found for change in one.changes if change.kind == "worse"]
    if of["changed"]:
        swapped = sum(change.nodes.kind == "swapped" for change in worse)
        with_nodes = f", {swapped} of them with other nodes" if swapped else ""
        yield f"{count_of(len(worse), 'change')} for the worse{with_nodes}"
    judged = of["changed"] + of["none"]
    if judged:
        yield (
            f"one in {1 / ALARM:,.0f} figures without a change is reported as changed: of {judged}, "
            f"about {judged * ALARM:.2g} by chance"
        )


def as_json(found: Sequence[JudgedSeries]) -> dict[str, Any]:
    """Return all histories as JSON values: ``figures`` with their values, changes, sentences and remarks."""
    return {"format": FORMAT, "alarm": ALARM, "figures": [_json(one) for one in found], "summary": [*summary(found)]}


def over_time(found: Sequence[JudgedSeries]) -> tuple[OverTime, ...]:
    """Return what a page shows of the figures that changed."""
    return tuple(
        OverTime(
            heading=f"{one.series.name}: {one.series.figure}",
            figure=one.series.figure,
            unit=one.series.unit,
            values=tuple((point.value, point.record.found.state == "fail") for point in one.series.points),
            marks=tuple(change.index for change in one.changes),
            changes=tuple((change.kind, change.sentence) for change in one.changes),
            remarks=one.series.remarks,
        )
        for one in found
        if one.state == "changed"
    )


def _lines(one: JudgedSeries, whole: bool, width: int, colour: bool) -> Iterator[str]:
    yield fold_words(f"{one.series.name}, {one.series.figure}: {one.sentence}", width, "  ")
    for change in one.changes:
        yield _colour_words(fold_words(change.sentence, width, "    ", "  "), change, colour)
    for remark in one.series.remarks if whole or one.changes else ():
        yield fold_words(remark, width, "    ", "  ")


def _colour_words(words: str, change: Change, colour: bool) -> str:
    return f"\x1b[{_SGR[change.kind]}m{words}\x1b[0m" if colour else words


def _json(one: JudgedSeries) -> dict[str, Any]:
    series = one.series
    return {
        **{"system": series.system, "case": series.case, "benchmark": series.benchmark},
        **{"figure": series.figure, "unit": series.unit, "state": one.state, "sentence": one.sentence},
        "runs": [_run_json(point) for point in series.points],
        "changes": [_change_json(change) for change in one.changes],
        "smaller": one.smaller,
        "remarks": list(series.remarks),
    }


def _run_json(point: Point) -> dict[str, Any]:
    record = point.record
    # Otherwise a year of runs over thousands of nodes has 50 MB of names.
    nodes = list(record.where.nodes) if len(record.where.nodes) <= MOST_IN_WORDS else [ranges(record.where.nodes)]
    return {"run": record.made.run, "time": record.made.time, "value": point.value, "nodes": nodes}


def _change_json(change: Change) -> dict[str, Any]:
    return {
        **{"index": change.index, "kind": change.kind, "percent": change.percent, "p": change.p},
        **{"before": change.shift.base, "shift": change.shift.value},
        **{"low": change.shift.low, "high": change.shift.high},
        "between": [change.before.record.made.run, change.after.record.made.run],
        "nodes": {"kind": change.nodes.kind, "sentence": change.nodes.sentence},
        "rails": list(change.rails),
        "together": list(change.together),
        "sentence": change.sentence,
    }
