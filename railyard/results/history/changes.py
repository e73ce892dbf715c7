"""Judges a series: its changes of level, how large each is, what else changed then, whether nodes were swapped."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from railyard.base.wording import count_of, listing, number
from railyard.benchmarks.model import Better
from railyard.results.compare.comparison import better_of
from railyard.results.compare.pairing import differences
from railyard.results.compare.shift import CONFIDENCE, Shift, kind_of, shift
from railyard.results.history.detect import FEWEST, LEAST_RUNS, MOST_RUNS, Step, steps
from railyard.results.history.series import Point, Series, node_words, nodes_of
from railyard.results.record.form import Record

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
