"""What no node and no pair explains: parts of the network slow to one another, and all pairs below what is expected."""

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.verdict.blame.search.matrix import HealthyLevels
from railyard.verdict.blame.search.model import Layout, Level, Pair, Suspect
from railyard.verdict.blame.search.single_pairs import Question, SinglePairs
from railyard.verdict.wording import pair_search as words

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


def below_expected(layout: Layout, found: SinglePairs, check: Check, slow: float) -> Suspect | None:
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
