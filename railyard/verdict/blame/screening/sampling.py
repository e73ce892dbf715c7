"""The sample, and what is measured again: all nodes at once, then slow pairs in ever thinner rounds."""

from collections.abc import Callable, Generator, Iterable, Sequence

import numpy as np

from railyard.verdict.blame.screening.doubts import able_of, keeps_apart, read_sample
from railyard.verdict.blame.screening.knowledge import Given, Knowledge
from railyard.verdict.blame.screening.plan import Planner
from railyard.verdict.blame.screening.values import Rows, join_rows, levels_of, present_members, relative
from railyard.verdict.blame.search.doubts import SLOWER_THAN_ITS_SIDE
from railyard.verdict.blame.search.model import Pair, Round, Step
from railyard.verdict.blame.search.rounds import Packing
from railyard.verdict.wording import screening as words

#: How many nodes of a leaf send at once when slow pairs are measured again, each time fewer.
AT_ONCE = (4, 1, 1)
#: At most this many pairs are not sifted again: they are measured alone.
FEW = 12

Steps = Generator[Step, Given, None]


def sample(known: Knowledge, first: Step | None) -> Steps:
    """Measure the first sample, and what follows it: whole leaves again, or single nodes where whole leaves collide."""
    there = len(known.gone)
    planner = Planner(known.leaves, present_members(known.leaves, known.gone), known.settings.seed)
    yield from _take_step(known, first or _first(known, planner))
    if first is None and known.seen is not None:
        if len(known.gone) > there:
            planner = Planner(known.leaves, present_members(known.leaves, known.gone), known.settings.seed + 1)
        step = _more(known, planner)
        if step.rounds:
            yield from _take_step(known, step)


def measure_slow_again(
    known: Knowledge, low: Sequence[tuple[float, Pair]], turns: Sequence[int] = AT_ONCE
) -> Generator[Step, Given, list[tuple[float, Pair]]]:
    """Measure slow pairs again, the slowest first and in thinner rounds each time, and return those that stay slow.

    The best value of a pair counts. Pairs for which there is no room are left out, and noted.
    """
    low = [one for one in low if not _of_named_leaf(known, *one)]
    room = min(known.plan.again, known.rest - known.reserve)
    for turn, at_once in enumerate(turns):
        if not low or room < 1 or (turn and len(low) <= FEW):
            break
        last = turn + 1 == len(turns)
        packing = Packing(most=room if last else max(1, room // 2), needs=_needs(known, at_once))
        placed = [one for one in low if packing.place((one[1],))]
        again_ = set(placed)
        known.left += [one for one in low if one not in again_]
        if not turn:
            known.sifted += [(*one, one in again_) for one in low]
        why = words.why_again(len(low), len(placed), at_once)
        step = Step("again", packing.rounds(), 1, why)
        room -= len(step.rounds)
        low = _still_slow(known, placed, (yield from known.ask(step)))
    return low


def _of_named_leaf(known: Knowledge, share: float, pair: Pair) -> bool:
    """Return whether a pair across leaves is not slower than a named leaf at one of its ends."""
    one, other = (known.leaves.names[int(known.leaves.of[node])] for node in pair)
    named = [each.share for each in known.answered.named if each.kind == "leaf" and {one, other} & set(each.leaves)]
    return one != other and bool(named) and share >= SLOWER_THAN_ITS_SIDE * min(named)


def _first(known: Knowledge, planner: Planner) -> Step:
    plan = known.plan
    if known.leaves.known:
        made = [*planner.home(plan.home - 1), *planner.full(plan.full), *planner.thin(plan.thin), *planner.home(1)]
    else:
        made = [*planner.home(plan.home + plan.full), *planner.thin(plan.thin)]
    return Step("sample", tuple(made), 1, words.why_sample(known.leaves.known))


def _more(known: Knowledge, planner: Planner) -> Step:
    """Return what follows the first sample: rounds as full as the first ones, if these hardly collided."""
    found, plan = known.sample_view, known.plan
    values = len(known.leaves.of) // 2
    count = min(plan.more, max(0, (known.settings.pairs_at_most - len(found.rows.a)) // max(1, values)))
    if keeps_apart(found):
        many = planner.full if known.leaves.known else planner.home
    else:
        many, count = planner.thin, plan.more
    made: list[Round] = list(many(count))
    if made and known.leaves.known:
        made = [*made[:-1], *planner.home(1)] or made
    return Step("sample", tuple(made), 1, words.why_more(keeps_apart(found)))


def _take_step(known: Knowledge, step: Step) -> Steps:
    """Measure a step of the sample, and look at the whole sample again."""
    known.rows.append((yield from known.ask(step)))
    known.drop(known.silent())
    rows = join_rows(known.rows)
    levels = levels_of(known.leaves, rows)
    if levels is None:
        known.seen = None
        return
    known.seen = read_sample(known.leaves, levels, rows, known.settings)
    known.speed = known.sample_view.speed


def _needs(known: Knowledge, at_once: int) -> Callable[[Pair], tuple[int, ...]]:
    """Return what a pair needs besides its nodes: one of so many places of each leaf, or of all where none is known."""
    if not known.leaves.known:
        places = max(1, len(known.leaves.of) // 32) * at_once
        return lambda pair: (len(known.leaves.of) + sum(pair) % places,)
    count = len(known.leaves.of)

    def needs(pair: Pair) -> tuple[int, ...]:
        # the other node decides the place, so that pairs that met are unlikely to meet again
        own = known.leaves.needs(pair)
        places = (pair[1] % at_once, pair[0] % at_once)
        return tuple(count + (need - count) * at_once + place for need, place in zip(own, places, strict=False))

    return needs


def _still_slow(known: Knowledge, pairs: Iterable[tuple[float, Pair]], rows: Rows) -> list[tuple[float, Pair]]:
    """Return the pairs whose best value is slow still, the slowest first; those without a new value stay."""
    able = able_of(known.speed, rows)
    share = relative(known.leaves, known.levels, rows) / np.where(able > 0, able, np.inf)
    new: dict[Pair, float] = {}
    for a, b, one in zip(rows.a.tolist(), rows.b.tolist(), share.tolist(), strict=True):
        new[a, b] = max(one, new.get((a, b), 0.0))
    kept = []
    for old, pair in pairs:
        best = max(old, new.get(pair, 0.0))
        far = known.leaves.of[pair[0]] != known.leaves.of[pair[1]]
        if best < (known.sample_view.bounds.far if far else known.sample_view.bounds.near):
            kept.append((best, pair))
    return sorted(kept)
