"""Slow leaves of a group, measured with the other leaves of their group: if these are good, it is not the leaf.

A dragonfly joins leaf switches to groups, and groups to one another. If the links of a group to other groups are slow,
each of its leaves is slow with most of its partners. What tells the two apart is how a leaf does within its group.
"""

import statistics
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

from railyard.verdict.blame.screening.knowledge import Given, Knowledge
from railyard.verdict.blame.screening.leaves import shift_partners
from railyard.verdict.blame.screening.model import Suspect
from railyard.verdict.blame.search.model import Pair, Step
from railyard.verdict.blame.search.sides import INSIDE_GOOD
from railyard.verdict.wording import screening as words

#: Rounds in which each leaf meets another leaf of its group: with more of them, collisions of routes average out.
_ROUNDS = 4


def measure_within_groups(known: Knowledge) -> Generator[Step, Given, Mapping[int, float]]:
    """Measure the named leaves with leaves of their own groups; return for each what it gives there, as a share.

    Leaves of groups without a named leaf do the same at the same time, and their median is 1.0. A leaf without a value
    or without such a control is left out.
    """
    slow = {leaf for leaf, name in enumerate(known.leaves.names) if name in _named_leaves(known)}
    groups = _leaves_by_group(known)
    count = min(_ROUNDS, known.rest)
    if not slow or len(groups) < 2 or not count:
        return {}
    rounds = tuple(
        tuple(
            pair for leaves in groups for one, other in _meetings(leaves, number) for pair in _bout(known, one, other)
        )
        for number in range(count)
    )
    values = known.lists((yield from known.ask(Step("groups", rounds, 1, words.why_groups(len(slow))))))
    shares: dict[int, list[float]] = {}
    for (a, b), found in values.items():
        level = known.levels.level(known.leaves.layout, a, b).value
        for leaf in {int(known.leaves.of[a]), int(known.leaves.of[b])}:
            shares.setdefault(leaf, []).append(statistics.fmean(found) / level)
    means = {leaf: statistics.fmean(own) for leaf, own in shares.items()}
    control = [means[leaf] for leaves in groups if not slow & set(leaves) for leaf in leaves if leaf in means]
    usual = statistics.median(control) if control else 0.0
    return {leaf: means[leaf] / usual for leaf in slow if leaf in means} if usual else {}


def in_place_of_leaves(known: Knowledge, within: Mapping[int, float]) -> list[Suspect]:
    """Return the named suspects, with a group in the place of its leaves where all are named and good within it.

    A leaf that is good within its group while others of the group are good everywhere stays named, with that reason.
    """
    by_name = _named_leaves(known)
    good = {leaf: share for leaf, share in within.items() if share >= INSIDE_GOOD}
    replaced: dict[str, Suspect] = {}
    for leaves in _leaves_by_group(known):
        slow = [leaf for leaf in leaves if leaf in good]
        suspects = [by_name[known.leaves.names[leaf]] for leaf in slow]
        if len(slow) == len(leaves):
            group = _of_group(known, leaves, suspects, min(good[leaf] for leaf in slow))
            replaced |= {one.leaves[0]: group for one in suspects}
        else:
            for leaf, one in zip(slow, suspects, strict=True):
                replaced[one.leaves[0]] = replace(one, reason=words.good_within_group(one.reason, good[leaf]))
    return [replaced.get(one.leaves[0], one) if one.kind == "leaf" else one for one in known.answered.named]


def _named_leaves(known: Knowledge) -> dict[str, Suspect]:
    return {one.leaves[0]: one for one in known.answered.named if one.kind == "leaf"}


def _leaves_by_group(known: Knowledge) -> list[list[int]]:
    """Return the leaves of each group that has several: those of which two nodes are there."""
    leaves = known.leaves
    if not leaves.layout.groups:
        return []
    found: dict[int, list[int]] = {}
    for leaf in range(len(leaves.names)):
        there = _nodes(known, leaf)
        if len(there) > 1:
            found.setdefault(int(leaves.groups[there[0]]), []).append(leaf)
    return [own for own in found.values() if len(own) > 1]


def _nodes(known: Knowledge, leaf: int) -> list[int]:
    return [int(node) for node in known.leaves.members[leaf] if int(node) not in known.gone]


def _meetings(leaves: Sequence[int], number: int) -> list[Pair]:
    """Return which leaves of a group meet in a round: in a few rounds each meets several others."""
    # One stays, the others move on by a place each round: the schedule of a round-robin tournament.
    turn = number % (len(leaves) - 1)
    order = [leaves[0], *leaves[1 + turn :], *leaves[1 : 1 + turn]]
    half = len(order) // 2
    return list(zip(order[:half], reversed(order[len(order) - half :]), strict=True))


def _bout(known: Knowledge, one: int, other: int) -> tuple[Pair, ...]:
    return shift_partners(_nodes(known, one), _nodes(known, other), 0)


def _of_group(known: Knowledge, leaves: Sequence[int], suspects: Sequence[Suspect], within: float) -> Suspect:
    layout = known.leaves.layout
    members = tuple(node for one in suspects for node in one.members)
    share = statistics.fmean(one.share for one in suspects)
    expected = statistics.fmean(one.expected for one in suspects)
    name = layout.groups[members[0]]
    reason = words.slow_group(name, len(leaves), share * expected, expected, layout.unit, share, within)
    return Suspect("group", members, share, expected, reason, None, (name,), sum(one.values for one in suspects))
