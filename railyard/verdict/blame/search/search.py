"""The search for slow nodes, pairs and sides: what to measure next, by what was measured so far.

A search or a screening from stored values: the step that comes next, or the verdict.

Groups of leaf switches, the second level: of a dragonfly, or pods of a fat tree. A slow group is named first.

A group whose links to others are slow makes every pair of two groups slow that has one node in it, and no leaf switch
more than another. So groups are compared before leaf switches, in the same way: all nodes of one at once, with good
groups. What a named group gives others is then what its pairs with them are compared with.
"""

import random
import statistics
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from railyard.verdict.blame.search import sides
from railyard.verdict.blame.search.doubts import (
    Search,
    ask,
    describe_step,
    doubted_sides,
    doubts,
    measure,
    named_route,
    open_routes,
    open_slow,
    remaining_slow_pairs,
    slow_pairs,
)
from railyard.verdict.blame.search.matrix import Shares, gather_repeats, shares
from railyard.verdict.blame.search.model import (
    Layout,
    Level,
    Pair,
    Settings,
    Step,
    Suspect,
    Value,
    Verdict,
    name_of_side,
    pack_rounds,
    rounds,
)
from railyard.verdict.blame.search.single_pairs import State
from railyard.verdict.wording import pair_search as words


@dataclass(frozen=True, slots=True)
class Groups:
    """What was found of the groups in doubt; ``slow`` has the named ones, each with its share of a good group's."""

    answers: tuple[tuple[State, Suspect], ...] = ()
    slow: Mapping[str, float] = field(default_factory=dict)


def settle_groups(
    layout: Layout, seen: Shares, settings: Settings, steps: list[str]
) -> Generator[Step, Iterable[Value], Groups]:
    """Measure the groups in doubt again, and return what is found; ``steps`` gets the step in words."""
    by_groups = layout.by_groups()
    members = by_groups.members()
    doubted = doubted_sides(by_groups, seen, settings)
    good = [group for group, nodes in members.items() if group not in doubted and len(nodes) > 1]
    made = sides.bouts(by_groups, doubted, good, frozenset(), "group")
    if not made:
        return Groups(tuple(("unclear", _open_group(members[group], group, seen)) for group in doubted))
    step = sides.plan(made, words.sides_at_once(len(doubted), "group"), "groups")
    values = gather_repeats(layout, step, (yield step))
    steps.append(describe_step(step))
    inside = {group: sides.side_share(by_groups, seen, group) for group in doubted}
    # By the layout of all levels, since only that knows the class of hops of two groups.
    across = _AcrossGroups(layout, seen, seen.near, seen.apart or seen.far, seen.levels)
    answers = sides.judge(by_groups, across, made, values, inside, settings.side_slow)
    slow = {group: suspect.share for group, (state, suspect) in zip(doubted, answers, strict=True) if state == "named"}
    return Groups(answers, slow)


@dataclass(frozen=True, slots=True)
class _AcrossGroups:
    """The levels of healthy pairs, for a layout that has only groups."""

    layout: Layout
    seen: Shares
    near: Level
    far: Level
    levels: tuple[Level, ...]

    def level(self, layout: Layout, a: int, b: int) -> Level:
        return self.seen.level(self.layout, a, b)


def _open_group(members: tuple[int, ...], group: str, seen: Shares) -> Suspect:
    level = seen.apart or seen.far
    return Suspect("side", members, 0.0, level.value, words.no_good_sides(group, "group"))


_Given = TypeVar("_Given")
_Verdict = TypeVar("_Verdict")


def replay_steps(asking: Generator[Step, _Given, _Verdict], results: Sequence[_Given], what: str) -> Step | _Verdict:
    """Return what ``asking`` wants next after these results, in the order of its steps, or its verdict.

    Raises ValueError for more results than steps; ``what`` names what had ended: ``search``.
    """
    count = 0
    try:
        step = next(asking)
        for values in results:
            count += 1
            step = asking.send(values)
    except StopIteration as end:
        if count < len(results):
            raise ValueError(f"{len(results)} results, but the {what} ended with result {count}") from None
        found: _Verdict = end.value
        return found
    return step


#: The first sift measures nodes/16 pairs at once, each one after it half as many.
FIRST_SIFT = 16
#: A sift ends if it has at most this many pairs at once and clears less than this share of its pairs.
FEW_AT_ONCE, LEAST_CLEARED = 8, 0.1
#: Steps of pairs alone: the first; one for unclear answers and for pairs that a cleared node or route no longer
#: explains; and one for what was unclear in that step.
ALONE_STEPS = 3
_USUAL = Settings()

_Steps = Generator[Step, Iterable[Value], tuple[Pair, ...]]


#: How many are in the sentence; all are in the verdict.
_TOLD = 6


def advance(layout: Layout, results: Sequence[Iterable[Value]], settings: Settings = _USUAL) -> Step | Verdict:
    """Return the next step to measure, or the verdict, from the values of all steps so far, in their order.

    The first step is all pairs in rounds. Nothing is kept between calls, so the same call judges a stored run. Raises
    PairsError for values that do not belong to the step asked for, ValueError for more results than steps.
    """
    return replay_steps(search(layout, settings), results, "search")


def search(layout: Layout, settings: Settings = _USUAL) -> Generator[Step, Iterable[Value], Verdict]:
    """Give the steps one after another, take each one's values (``send``), and return the verdict."""
    first = Step("rounds", rounds(len(layout.nodes), settings.at_once), 1, words.every_pair())
    seen = shares(layout, first, (yield first))
    if seen is None:
        return Verdict((), (), (), (), (describe_step(first),), words.no_result(len(layout.nodes)))
    steps, groups = [describe_step(first)], Groups()
    if layout.groups:
        groups = yield from settle_groups(layout, seen, settings, steps)
        seen = seen.with_slow_groups(layout, groups.slow)
    doubted = doubts(layout, seen, settings)
    known = Search(layout, settings, seen, doubted, doubted.speed, steps)
    known.sides += groups.answers
    low = yield from _sift(known, doubted.pairs)
    nodes = yield from _sides(known)
    ask(known, nodes, low)
    for turn in range(ALONE_STEPS):
        if not known.open:
            break
        yield from measure(known)
        if turn + 1 < ALONE_STEPS:
            open_routes(known)
            yield from _question_cleared(known)
    return verdict(known)


def _sift(known: Search, low: tuple[Pair, ...]) -> _Steps:
    """Measure slow pairs again, in ever thinner rounds until few are left, and return those that stay slow."""
    layout, settings = known.layout, known.settings
    at_once = max(1, len(layout.nodes) // FIRST_SIFT)
    while len(low) > settings.alone_at_most:
        why = words.slow_in_rounds(len(low), at_once)
        step = Step("sift", pack_rounds(_shuffle(low, len(known.steps)), at_once), 1, why)
        values = gather_repeats(layout, step, (yield step))
        known.steps.append(describe_step(step))
        for (a, b), repeats in values.items():
            known.seen.better(layout, a, b, max(repeats))
        before = len(low)
        low = remaining_slow_pairs(layout, known.seen, settings, low, known.speed)
        few_cleared = before - len(low) < LEAST_CLEARED * before
        if few_cleared and at_once <= FEW_AT_ONCE:
            break
        at_once = max(1, at_once // (FEW_AT_ONCE if few_cleared else 2))
    return low


def _shuffle(pairs: tuple[Pair, ...], seed: int) -> list[Pair]:
    """Return pairs in a different order for each sift, so that pairs that collided do not meet again."""
    order = list(pairs)
    random.Random(seed).shuffle(order)
    return order


def _sides(known: Search) -> Generator[Step, Iterable[Value], tuple[int, ...]]:
    """Settle the doubted sides, and return the nodes that still have to be measured one by one."""
    layout, doubted = known.layout, known.doubts
    slow = {node for node, speed in enumerate(known.speed) if speed < 1}
    members = layout.members()
    good = [
        side
        for side, nodes in members.items()
        if side not in doubted.sides and len(nodes) > 1 and not slow.intersection(nodes)
    ]
    apart = frozenset(doubted.nodes)
    enough = tuple(side for side in doubted.sides if len(apart.intersection(members[side])) < len(members[side]) - 1)
    made = sides.bouts(layout, enough, good, apart)
    if not made:
        known.unsettled = doubted.sides
        return (*doubted.nodes, *(node for side in doubted.sides for node in members[side] if node in slow - apart))
    known.unsettled = tuple(side for side in doubted.sides if side not in enough)
    step = sides.plan(made, words.sides_at_once(len(enough), "leaf"))
    values = gather_repeats(layout, step, (yield step))
    known.steps.append(describe_step(step))
    left = list(doubted.nodes)
    inside = {side: sides.side_share(layout, known.seen, side) for side in enough}
    answers = sides.judge(layout, known.seen, made, values, inside, known.settings.side_slow)
    for side, (state, suspect) in zip(enough, answers, strict=True):
        known.sides.append((state, suspect))
        if state != "named":
            left += [node for node in members[side] if node in slow and node not in left]
    return tuple(left)


def _question_cleared(known: Search) -> _Steps:
    """Open questions for the slow pairs of nodes that were cleared: their node no longer explains them."""
    cleared = {
        members[0] for members, answer in known.answers.items() if len(members) == 1 and answer.state == "cleared"
    }
    cleared = {node for node in cleared if known.speed[node] < 1}
    if not cleared:
        return ()
    known.speed = tuple(1.0 if node in cleared else speed for node, speed in enumerate(known.speed))
    low = tuple(
        pair
        for pair in slow_pairs(known.layout, known.seen, known.settings, known.speed)
        if cleared.intersection(pair) and pair not in known.examined
    )
    low = yield from _sift(known, low)
    open_slow(known, low)
    return low


def verdict(known: Search) -> Verdict:
    """Return the verdict of a search that has nothing open."""
    routes, explained = _routes(known)
    found = {
        state: [
            one
            for answer in known.answers.values()
            if answer.state == state
            for one in answer.suspects
            if one.members not in explained
        ]
        for state in ("named", "cleared", "unclear")
    }
    of_sides = {state: [one for each, one in known.sides if each == state] for state in found}
    nodes = _as_sides(known, found["named"])
    named = _without_duplicates((*of_sides["named"], *routes, *known.named, *nodes))
    names = {one.members for one in named}
    cleared = _without_duplicates(one for one in (*of_sides["cleared"], *found["cleared"]) if one.members not in names)
    left_out = [_excluded_suspect(known, members) for members in known.left_out]
    unclear = _without_duplicates(
        one
        for one in (*of_sides["unclear"], *_find_unsettled(known, named), *found["unclear"], *left_out)
        if one.members not in names
    )
    sentence = _sentence(known, named, cleared, unclear)
    return Verdict(named, cleared, unclear, known.seen.levels, tuple(known.steps), sentence)


def _routes(known: Search) -> tuple[list[Suspect], set[tuple[int, ...]]]:
    """Return the routes that are named, and the pairs that they explain."""
    named: list[Suspect] = []
    explained: set[tuple[int, ...]] = set()
    for each in known.routes:
        suspect = named_route(known, each)
        if suspect is not None:
            named.append(suspect)
            explained |= set(each.pairs)
    return named, explained


def _as_sides(known: Search, named: Sequence[Suspect]) -> list[Suspect]:
    """Return the named, with nodes of one side joined if there are no two good sides to compare that side with."""
    left = list(named)
    members = known.layout.members()
    for side in known.unsettled:
        own = [one for one in left if one.kind == "node" and one.members[0] in members[side]]
        if 2 * len(own) > len(members[side]):
            share = statistics.median(one.share for one in own)
            counts = (len(own), len(members[side]))
            reason = words.slow_nodes_of_side(*counts, side, share, own[0].expected, known.layout.unit)
            left = [one for one in left if one not in own]
            left.append(Suspect("side", members[side], share, own[0].expected, reason))
    return left


def _find_unsettled(known: Search, named: Sequence[Suspect]) -> list[Suspect]:
    """Return the doubted sides that could not be compared with two good ones, and are not named by their nodes."""
    members, level = known.layout.members(), known.seen.far
    done = {one.members for one in named if one.kind == "side"}
    return [
        Suspect("side", members[side], 0.0, level.value, words.no_good_sides(side, "leaf"))
        for side in known.unsettled
        if members[side] not in done
    ]


def _without_duplicates(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """Return suspects without duplicates, keeping the first: several questions may have found the same node."""
    found: dict[tuple[str, tuple[int, ...]], Suspect] = {}
    for one in suspects:
        found.setdefault((one.kind, one.members), one)
    return tuple(found.values())


def _excluded_suspect(known: Search, members: tuple[int, ...]) -> Suspect:
    layout = known.layout
    if len(members) == 1:
        share, level = known.speed[members[0]], known.seen.far
        name = layout.nodes[members[0]]
    else:
        a, b = members
        share, level = known.seen.rows[a][b], known.seen.level(layout, a, b)
        name = layout.pair(a, b)
    reason = words.not_alone(name, share, level.value, layout.unit)
    return Suspect("node" if len(members) == 1 else "pair", members, share, level.value, reason)


def _sentence(known: Search, named: Sequence[Suspect], cleared: Sequence[Suspect], unclear: Sequence[Suspect]) -> str:
    parts = [one.reason for one in named[:_TOLD]]
    if len(named) > _TOLD:
        parts.append(words.more_named(len(named) - _TOLD))
    if not named:
        parts.append(_healthy(known))
    if cleared:
        parts.append(words.good_alone(_names(known, cleared)))
    if unclear:
        parts.append(words.say_undecided(_names(known, unclear)))
    return "; ".join(parts)


def _healthy(known: Search) -> str:
    layout, seen = known.layout, known.seen
    levels = [(level.value, level.hops, level.pairs) for level in seen.levels]
    share, a, b = min((min(row[:node]), node, row.index(min(row[:node]))) for node, row in enumerate(seen.rows) if node)
    return words.nobody_slow(len(layout.nodes), levels, layout.unit, layout.pair(min(a, b), max(a, b)), share)


def _names(known: Search, suspects: Sequence[Suspect]) -> str:
    layout = known.layout
    names = []
    for one in suspects:
        if one.kind == "side":
            names.append(words.side_name(name_of_side(layout, one) or "", layout.nodes[one.members[0]]))
        else:
            names.append("-".join(layout.nodes[node] for node in one.members))
    return words.first_of(names, _TOLD)
