"""The search for slow nodes, pairs and sides: what to measure next, by what was measured so far."""

import random
from collections.abc import Generator, Iterable, Sequence

from railyard.verdict.blame.search import sides
from railyard.verdict.blame.search.doubts import doubts, slow_pairs, still_slow
from railyard.verdict.blame.search.matrix import gather_repeats, shares
from railyard.verdict.blame.search.model import Layout, Pair, Settings, Step, Value, Verdict
from railyard.verdict.blame.search.questions import Search, ask, describe_step, measure, open_routes, open_slow
from railyard.verdict.blame.search.replay import replay_steps
from railyard.verdict.blame.search.rounds import pack_rounds, rounds
from railyard.verdict.blame.search.summing import verdict

#: The first sift measures nodes/16 pairs at once, each one after it half as many.
FIRST_SIFT = 16
#: A sift ends if it has at most this many pairs at once and clears less than this share of its pairs.
FEW_AT_ONCE, LEAST_CLEARED = 8, 0.1
#: Steps of pairs alone: the first; one for unclear answers and for pairs that a cleared node or route no longer
#: explains; and one for what was unclear in that step.
ALONE_STEPS = 3
_USUAL = Settings()

_Steps = Generator[Step, Iterable[Value], tuple[Pair, ...]]


def advance(layout: Layout, results: Sequence[Iterable[Value]], settings: Settings = _USUAL) -> Step | Verdict:
    """Return the next step to measure, or the verdict, from the values of all steps so far, in their order.

    The first step is all pairs in rounds. Nothing is kept between calls, so the same call judges a stored run. Raises
    PairsError for values that do not belong to the step asked for, ValueError for more results than steps.
    """
    return replay_steps(search(layout, settings), results, "search")


def search(layout: Layout, settings: Settings = _USUAL) -> Generator[Step, Iterable[Value], Verdict]:
    """Give the steps one after another, take each one's values (``send``), and return the verdict."""
    first = Step("rounds", rounds(len(layout.nodes), settings.at_once), 1, "every pair of nodes once")
    seen = shares(layout, first, (yield first))
    if seen is None:
        return Verdict((), (), (), (), (describe_step(first),), f"no pair of {len(layout.nodes)} nodes gave a result")
    doubted = doubts(layout, seen, settings)
    known = Search(layout, settings, seen, doubted, doubted.speed, [describe_step(first)])
    low = yield from _sift(known, doubted.pairs)
    nodes = yield from _sides(known)
    ask(known, nodes, low)
    for turn in range(ALONE_STEPS):
        if not known.open:
            break
        yield from measure(known)
        if turn + 1 < ALONE_STEPS:
            open_routes(known)
            yield from _of_cleared(known)
    return verdict(known)


def _sift(known: Search, low: tuple[Pair, ...]) -> _Steps:
    """Measure slow pairs again, in ever thinner rounds until few are left, and return those that stay slow."""
    layout, settings = known.layout, known.settings
    at_once = max(1, len(layout.nodes) // FIRST_SIFT)
    while len(low) > settings.alone_at_most:
        why = f"{len(low)} pairs were slow in rounds, where routes collide: again with {at_once} at once"
        step = Step("sift", pack_rounds(_shuffle(low, len(known.steps)), at_once), 1, why)
        values = gather_repeats(layout, step, (yield step))
        known.steps.append(describe_step(step))
        for (a, b), repeats in values.items():
            known.seen.better(layout, a, b, max(repeats))
        before = len(low)
        low = still_slow(layout, known.seen, settings, low, known.speed)
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
    step = sides.plan(made, f"{len(enough)} sides, all nodes at once, with good sides")
    values = gather_repeats(layout, step, (yield step))
    known.steps.append(describe_step(step))
    left = list(doubted.nodes)
    inside = {side: sides.inside_of(layout, known.seen, side) for side in enough}
    answers = sides.judge(layout, known.seen, made, values, inside, known.settings.side_slow)
    for side, (state, suspect) in zip(enough, answers, strict=True):
        known.sides.append((state, suspect))
        if state != "named":
            left += [node for node in members[side] if node in slow and node not in left]
    return tuple(left)


def _of_cleared(known: Search) -> _Steps:
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
