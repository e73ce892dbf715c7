"""Sides of the switch: measured again, all nodes at once, with good sides; and slow pairs that share one side.

A side that lost half its up-links still gives each pair alone its full rate: only all of its nodes at once show it.
Sides are leaf switches, or groups of them: a layout by groups has these as its sides.

What no node and no pair explains: parts of the network slow to one another, and all pairs below what is expected.
"""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from railyard.verdict.blame.search.matrix import HealthyLevels, Shares
from railyard.verdict.blame.search.model import Layout, Level, Pair, Round, Step, Suspect
from railyard.verdict.blame.search.single_pairs import Question, SinglePairs, State
from railyard.verdict.wording import pair_search as words

#: Shifts of one side against the other: so many that collisions of routes average out.
SHIFTS = 8
#: A side is compared with at most this many good sides.
GOOD_SIDES = 10
#: Measurements of each pair, of which the median counts.
REPEATS = 3
#: A route is in doubt from this many slow pairs on, to this many nodes of other sides: fewer are named as pairs.
ROUTE_PAIRS, ROUTE_NODES = 8, 3
#: Pairs of a doubtful route that are measured alone, and the share of them that must be slow: some are unclear, because
#: the same cable leads to one of their partners.
ROUTE_SAMPLE, ROUTE_SLOW = 6, 0.65
#: A side whose own pairs give this share of healthy is good inside: its up-links are slow, not the switch.
INSIDE_GOOD = 0.9
_ERRORS, _WIDEST = 4.0, 0.4


@dataclass(frozen=True, slots=True)
class Bout:
    """One side against another: rounds in which all nodes of the smaller side send at once, and what the sides are."""

    one: str
    other: str
    rounds: tuple[Round, ...]
    of: words.Sides = "leaf"


@dataclass(frozen=True, slots=True)
class Route:
    """Slow pairs that share one side or both sides, and the sample of these pairs that is measured alone."""

    sides: tuple[str, ...]
    pairs: tuple[Pair, ...]
    sample: tuple[Pair, ...]


def bouts(
    layout: Layout, doubted: Sequence[str], good: Sequence[str], without: Set[int], of: words.Sides = "leaf"
) -> tuple[Bout, ...]:
    """Return each doubted side against good ones, and the good ones among themselves; () without two good ones.

    Good sides are taken in their order, but first those that are large enough for the largest doubted side. Nodes that
    are in doubt by themselves are left out (``without``).
    """
    members = {side: [node for node in nodes if node not in without] for side, nodes in layout.members().items()}
    if not doubted or len(good) < 2:
        return ()
    largest = max(len(members[side]) for side in doubted)
    chosen = sorted(good, key=lambda side: -min(largest, len(members[side])))[:GOOD_SIDES]
    held = [(side, other) for side in doubted for other in chosen]
    held += [(one, other) for at, one in enumerate(chosen) for other in chosen[at + 1 :]]
    return tuple(Bout(one, other, _shifts(members[one], members[other]), of) for one, other in held)


def plan(made: Sequence[Bout], why: str, name: Literal["sides", "groups"] = "sides") -> Step:
    """Return the step that measures these bouts, one after another."""
    return Step(name, tuple(each for bout in made for each in bout.rounds), REPEATS, why)


def judge(
    layout: Layout,
    seen: HealthyLevels,
    made: Sequence[Bout],
    values: Mapping[Pair, Sequence[float]],
    inside: Mapping[str, float],
    slow_from: float,
    apart: float = 0.0,
) -> tuple[tuple[State, Suspect], ...]:
    """Return each doubted side as named (slow on average and with at least two sides), cleared, or unclear.

    ``inside`` has the doubted sides, each with its own pairs' share of healthy. The control is what good sides give
    one another, including collisions of routes. With static routes these differ between pairs of sides, so the bound is
    four standard errors of such means below the control, or lower: at least ``slow_from``, and by as much as sides
    differ anyway (``apart``).
    """
    means = {bout: _mean(layout, seen, bout, values) for bout in made}
    controls = [means[bout] for bout in made if bout.one not in inside]
    control = statistics.median(controls) or 1.0
    spread = statistics.stdev(controls) / control if len(controls) > 1 else 0.0
    answers = []
    for side, own in inside.items():
        held = [bout for bout in made if bout.one == side]
        against = {bout.other: means[bout] / control for bout in held}
        error = spread * math.sqrt(1 / len(against) + 1 / len(controls))
        mean = statistics.fmean(against.values())
        slow = sum(share < 1 - slow_from for share in against.values())
        bound = 1 - max(slow_from, apart, min(_WIDEST, _ERRORS * error))
        state: State = "named" if mean < bound and slow >= 2 else "cleared"
        if state == "cleared" and mean < 1 - slow_from:
            state = "unclear"
        answers.append((state, _side(layout, seen, held, mean, control, own)))
    return tuple(answers)


def routes(layout: Layout, slow: Sequence[Pair]) -> tuple[Route, ...]:
    """Return the sides that many slow pairs have in common, each with its pairs: one of its cables is the likely cause.

    Two sides are one route if all slow pairs are between them. The side with the most slow pairs is taken first, with
    all of them, before the search for the next. () if sides are not known.
    """
    left = [pair for pair in slow if layout.is_far(*pair)]
    found: list[Route] = []
    while True:
        counts = Counter(layout.sides[node] for pair in left for node in pair)
        side = next((name for name, _ in counts.most_common() if _is_route(layout, left, name)), None)
        if side is None:
            return tuple(found)
        own = [pair for pair in left if side in (layout.sides[pair[0]], layout.sides[pair[1]])]
        others = {layout.sides[node] for pair in own for node in pair} - {side}
        found.append(Route((side, *others) if len(others) == 1 else (side,), tuple(own), _sample(own)))
        taken = set(own)
        left = [pair for pair in left if pair not in taken]


def on_route(layout: Layout, doubted: Route, pair: Pair) -> bool:
    """True if a pair is from the route's side, or between both of its sides."""
    names = set(_both(layout, pair))
    return len(names) == 2 and names >= set(doubted.sides)


def route(layout: Layout, doubted: Route, slow_alone: Sequence[Suspect]) -> Suspect | None:
    """Return a route's sides as named if nearly all pairs of its sample are also slow alone, as pairs."""
    asked, sides = len(doubted.sample), list(doubted.sides)
    if len(slow_alone) < ROUTE_SLOW * asked:
        return None
    share = statistics.median(one.share for one in slow_alone)
    expected = slow_alone[0].expected
    slow = [(layout.pair(*one.members), one.share) for one in slow_alone]
    reason = words.slow_route(len(doubted.pairs), sides, asked, slow, expected, layout.unit)
    members = layout.members()
    return Suspect("side", tuple(node for side in sides for node in members[side]), share, expected, reason)


def _sample(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return a few of the pairs, with as many different nodes as possible."""
    chosen: list[Pair] = []
    busy: set[int] = set()
    for a, b in pairs:
        if len(chosen) < ROUTE_SAMPLE and a not in busy and b not in busy:
            chosen.append((a, b))
            busy |= {a, b}
    return tuple(dict.fromkeys((*chosen, *pairs)))[:ROUTE_SAMPLE]


def _shifts(one: Sequence[int], other: Sequence[int]) -> tuple[Round, ...]:
    few, many = sorted((one, other), key=len)
    step = max(1, len(many) // SHIFTS)
    made = []
    for shift in range(0, len(many), step):
        pairs = [(node, many[(at + shift) % len(many)]) for at, node in enumerate(few)]
        made.append(tuple((min(pair), max(pair)) for pair in pairs))
    return tuple(made)


def side_share(layout: Layout, seen: Shares, side: str) -> float:
    """Return the share of healthy that the pairs on one side give: the median."""
    members = layout.members()[side]
    return statistics.median(seen.rows[a][b] for a in members for b in members if a < b)


def _mean(layout: Layout, seen: HealthyLevels, bout: Bout, values: Mapping[Pair, Sequence[float]]) -> float:
    return statistics.fmean(
        statistics.median(values[a, b]) / seen.level(layout, a, b).value for each in bout.rounds for a, b in each
    )


def _side(
    layout: Layout,
    seen: HealthyLevels,
    held: Sequence[Bout],
    share: float,
    control: float,
    own: float,
) -> Suspect:
    members, side, others = layout.members(), held[0].one, [bout.other for bout in held]
    level = seen.level(layout, members[side][0], members[others[0]][0]).value
    part = words.part_of_side(held[0].of, is_beyond=own >= INSIDE_GOOD)
    good, nodes = control * level, len(members[side])
    found = words.AllAtOnce(nodes, share * good, others, good, layout.unit)
    reason = words.slow_side(side, found, own, part)
    return Suspect("side", members[side], share, control * level, reason)


def _is_route(layout: Layout, pairs: Sequence[Pair], side: str) -> bool:
    beyond = [node for pair in pairs for node in pair if layout.sides[node] != side and side in _both(layout, pair)]
    return len(beyond) >= ROUTE_PAIRS and len(set(beyond)) >= ROUTE_NODES


def _both(layout: Layout, pair: Pair) -> tuple[str, str]:
    return layout.sides[pair[0]], layout.sides[pair[1]]


#: Pairs of good nodes that represent their level, and pairs between two parts that are measured alone.
_CHECKS, _CROSSING = 3, 4
#: The share of the pairs between two parts that must be slow alone.
_PART_SLOW = 0.75


@dataclass(frozen=True, slots=True)
class Crossing:
    """A part whose nodes are good with one another, the pairs that cross to the largest part, and good pairs."""

    part: tuple[int, ...]
    pairs: tuple[Pair, ...]
    inside: tuple[Pair, ...]

    def questions(self) -> tuple[Question, ...]:
        """Return what is to be measured alone."""
        return (*(Question(pair, ()) for pair in self.pairs), *(Question((), pair) for pair in self.inside))


@dataclass(frozen=True, slots=True)
class Check:
    """A level below what is expected, and pairs of good nodes of its class."""

    level: Level
    pairs: tuple[Pair, ...]

    def questions(self) -> tuple[Question, ...]:
        """Return what is to be measured alone."""
        return tuple(Question((), pair) for pair in self.pairs)


def crossings(parts: Sequence[tuple[int, ...]]) -> tuple[Crossing, ...]:
    """Return each part except the largest (the first one), with a few pairs between it and the largest."""
    made = []
    for part in parts[1:]:
        pairs = [(min(a, b), max(a, b)) for a, b in zip(part, parts[0], strict=False)]
        pairs += [(min(a, b), max(a, b)) for a, b in zip(part, parts[0][1:], strict=False)]
        inside = tuple((each[0], each[1]) for each in (part, parts[0]))
        made.append(Crossing(part, tuple(pairs[:_CROSSING]), inside))
    return tuple(made)


def checks(layout: Layout, seen: HealthyLevels, good: Sequence[int], slow: float) -> tuple[Check, ...]:
    """Return a few pairs of good nodes for each class of hops whose level is below what is expected."""
    expected = layout.expected
    if expected is None:
        return ()
    made = []
    for level in seen.levels:
        if level.value < (1 - slow) * expected:
            of_class = ((min(a, b), max(a, b)) for at, a in enumerate(good) for b in good[at + 1 :])
            pairs = (pair for pair in of_class if seen.level(layout, *pair).hops == level.hops)
            made.append(Check(level, tuple(pair for _, pair in zip(range(_CHECKS), pairs, strict=False))))
    return tuple(check for check in made if check.pairs)


def part(layout: Layout, found: SinglePairs, crossing: Crossing) -> Suspect | None:
    """Return a part as named if nearly all of its crossing pairs are also slow alone."""
    slow = [pair for pair in crossing.pairs if found.slow(*pair)]
    if len(slow) < _PART_SLOW * len(crossing.pairs):
        return None
    names = [layout.nodes[node] for node in crossing.part]
    share = max(found.share(*pair) for pair in slow)
    expected = found.expected_mb_s(*crossing.pairs[0])
    values = _values(layout, found, crossing.pairs)
    reason = words.slow_part(names, values, expected, layout.unit, share)
    return Suspect("side", crossing.part, share, expected, reason)


def whole_class_below(layout: Layout, found: SinglePairs, check: Check, slow: float) -> Suspect | None:
    """Return all pairs of a class as named if the best of a few good ones alone is below the expected value."""
    assert layout.expected is not None
    best = max(found.value(*pair) for pair in check.pairs)
    if best >= (1 - slow) * layout.expected:
        return None
    values, share = _values(layout, found, check.pairs), best / layout.expected
    reason = words.all_pairs_slow(check.level.hops, bool(layout.groups), values, layout.expected, layout.unit, share)
    return Suspect("all", tuple(range(len(layout.nodes))), share, layout.expected, reason)


def _values(layout: Layout, found: SinglePairs, pairs: Sequence[Pair]) -> list[tuple[str, float]]:
    return [(layout.pair(*pair), found.value(*pair)) for pair in pairs]
