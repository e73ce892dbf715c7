"""Leaves in doubt are measured as a whole, all their nodes at once, with good leaves; others are the control."""

from collections.abc import Generator, Sequence

import numpy as np

from railyard.verdict.blame.screening.doubts import leaf_bound
from railyard.verdict.blame.screening.knowledge import Given, Knowledge
from railyard.verdict.blame.screening.leaves import shift_partners
from railyard.verdict.blame.screening.model import Suspect
from railyard.verdict.blame.screening.values import Rows
from railyard.verdict.blame.search import sides
from railyard.verdict.blame.search.model import Pair, Round, Step
from railyard.verdict.blame.search.sides import Bout
from railyard.verdict.wording import screening as words

#: At most this many pairs of good leaves measure with one another as a control.
CONTROLS = 40


def confirm(known: Knowledge) -> Generator[Step, Given, None]:
    """Measure leaves in doubt as a whole, each with good leaves, and good leaves with one another as a control."""
    doubted = known.sample_view.leaves
    if not doubted:
        return
    there = {leaf: [int(node) for node in nodes if node not in known.gone] for leaf, nodes in _members(known).items()}
    slow = {int(node) for node in np.flatnonzero(known.speed < 1)}
    fit = {leaf: [node for node in nodes if node not in slow] or nodes for leaf, nodes in there.items()}
    good = [leaf for leaf, nodes in fit.items() if leaf not in doubted and len(nodes) > 1 and not slow & set(nodes)]
    good = good or [leaf for leaf, nodes in fit.items() if leaf not in doubted and len(nodes) > 1]
    count = min(known.plan.leaf_rounds, known.rest)
    bouts: dict[tuple[str, str], list[Round]] = {}
    made: list[Round] = []
    for number in range(count if len(good) > 1 else 0):
        pairs: list[Pair] = []
        for one, other in _match_leaves(doubted, good, number):
            own = shift_partners(fit[one], fit[other], number)
            bouts.setdefault((known.leaves.names[one], known.leaves.names[other]), []).append(own)
            pairs += own
        made.append(tuple(pairs))
    known.count("leaf", [(float(known.sample_view.usual[leaf]), bool(made)) for leaf in doubted])
    if not made:
        _untold_leaves(known, doubted)
        return
    repeats = max(1, min(known.plan.leaf_repeats, known.rest // len(made)))
    why = words.why_leaves(len(doubted))
    rows = yield from known.ask(Step("leaves", tuple(made), repeats, why))
    _judged_leaves(known, bouts, rows)


def _members(known: Knowledge) -> dict[int, Sequence[int]]:
    return {leaf: nodes.tolist() for leaf, nodes in enumerate(known.leaves.members)}


def _match_leaves(doubted: Sequence[int], good: Sequence[int], number: int) -> list[tuple[int, int]]:
    """Return which leaves meet in a round: each doubted leaf meets a different good one, the rest one another."""
    if len(good) < len(doubted) + 2:
        # too few good leaves for all at once: those in doubt in one round, the control in the next
        number, control = divmod(number, 2)
        if control:
            return [(good[number % len(good)], good[(number + 1) % len(good)])]
        first = number % len(doubted)
        doubted = [*doubted[first:], *doubted[:first]]
        return list(zip(doubted, _rotate(good, number), strict=False))
    turned = _rotate(good, number)
    rest = turned[len(doubted) :]
    half = len(rest) // 2
    controls = [(rest[place], rest[place + half]) for place in range(min(half, CONTROLS))]
    return [*zip(doubted, turned, strict=False), *controls]


def _rotate(good: Sequence[int], number: int) -> list[int]:
    return [*good[number % len(good) :], *good[: number % len(good)]]


def _judged_leaves(known: Knowledge, bouts: dict[tuple[str, str], list[Round]], rows: Rows) -> None:
    values = known.lists(rows)
    made = []
    for (one, other), own in bouts.items():
        kept = tuple(tuple(pair for pair in each if pair in values) for each in own)
        if any(kept):
            made.append(Bout(one, other, kept))
    inside = {
        known.leaves.names[leaf]: float(known.sample_view.inside[leaf])
        for leaf in known.sample_view.leaves
        if any(bout.one == known.leaves.names[leaf] for bout in made)
    }
    doubted = set(inside)
    if not any(bout.one not in doubted for bout in made):
        _untold_leaves(known, known.sample_view.leaves)
        return
    apart, slow_from = 1 - leaf_bound(known.sample_view), known.settings.leaf_slow
    judged = sides.judge(known.leaves.layout, known.levels, made, values, inside, slow_from, apart)
    for name, (state, found) in zip(inside, judged, strict=True):
        count = sum(len(bout.rounds) for bout in made if bout.one == name)
        known.answered.add(
            state, [Suspect("leaf", found.members, found.share, found.expected, found.reason, None, (name,), count)]
        )
    _untold_leaves(known, [leaf for leaf in known.sample_view.leaves if known.leaves.names[leaf] not in doubted])


def _untold_leaves(known: Knowledge, doubted: Sequence[int]) -> None:
    for leaf in doubted:
        name = known.leaves.names[leaf]
        reason = words.no_good_leaves(name)
        members = tuple(known.leaves.members[leaf].tolist())
        known.answered.add("unclear", [Suspect("leaf", members, 0.0, known.levels.far.value, reason, None, (name,))])
