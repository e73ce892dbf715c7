"""The rounds of a sample: nodes with neighbours, whole leaves with whole leaves, single nodes of all leaves."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from railyard.verdict.blame.screening.leaves import Ints, Leaves
from railyard.verdict.blame.search.model import Round
from railyard.verdict.blame.search.rounds import count, matching

#: If leaves are not known, a thin round has a 16th of the pairs of a full one.
THINNER = 16


@dataclass(frozen=True, slots=True)
class Shares:
    """How many rounds of a budget each kind of step may have; ``repeats`` is for a suspect, ``neighbours`` for a route.

    ``home``, ``full`` and ``thin`` are the first sample; ``more`` follows when it is known how much collides.
    """

    home: int
    full: int
    thin: int
    more: int
    again: int
    leaf_rounds: int
    leaf_repeats: int
    repeats: tuple[int, ...]
    neighbours: int

    @property
    def first(self) -> int:
        """Return the rounds of the first sample."""
        return self.home + self.full + self.thin


#: Fewer rounds are too few for a sample and for one suspect that is measured three times with two partners.
LEAST = 40
#: Smaller budgets have fewer rounds of whole leaves; and smaller ones still the fewest repeats of a suspect alone.
_SMALL, _FEW = 100, 150


def shares(rounds: int, most_repeats: int, parts: int) -> Shares:
    """Return how a budget of at least ``LEAST`` rounds is spent: half of it is the sample, the rest is for suspects.

    The sample is a third if the ``parts`` of a named node, rails and GPUs, are each measured alone, and if the budget
    is so small that the confirmation of one pair takes the rest.
    """
    sample = rounds // (2 if parts < 2 and rounds >= _SMALL else 3)
    home = min(6, max(3, rounds // 16))
    full = min(8, max(3, rounds // 24))
    thin = min(4, max(1, rounds // 40))
    repeats = tuple(dict.fromkeys(number for number in (most_repeats, 5, 3) if number <= most_repeats))
    if rounds < _FEW:
        repeats = repeats[-1:]
    return Shares(
        home,
        full,
        thin,
        max(0, sample - home - full - thin),
        max(3, rounds // 8),
        8 if rounds >= _SMALL else 4,
        3 if rounds >= 250 else 1,
        repeats,
        3 if rounds >= 200 else 2,
    )


class Planner:
    """Makes rounds of the nodes that are there; nothing is drawn twice, so that partners differ.

    Pairs of leaves are rounds of the circle method over the leaves; the seed decides their order.
    """

    def __init__(self, leaves: Leaves, members: Sequence[Ints], seed: int) -> None:
        self._draw = random.Random(seed)
        self._leaves = leaves
        self._members = [nodes for nodes in members if len(nodes)]
        self._home = [self._draw.randrange(max(1, _moduli(len(nodes)))) for nodes in self._members]
        every = count(len(self._members)) if len(self._members) > 1 else 0
        self._order = self._draw.sample(range(every), every)
        self._used = 0
        self._thin = [self._draw.randrange(len(nodes)) for nodes in self._members]

    def home(self, number: int) -> Iterator[Round]:
        """Give rounds in which nodes meet others of their leaf, different ones each time as long as possible."""
        for _ in range(number):
            pairs: list[tuple[int, int]] = []
            for place, nodes in enumerate(self._members):
                if len(nodes) < 2:
                    continue
                own = matching(len(nodes), self._home[place] % _moduli(len(nodes)))
                self._home[place] += 1
                pairs += [_order_pair(int(nodes[i]), int(nodes[j])) for i, j in own]
            if pairs:
                yield tuple(pairs)

    def full(self, number: int) -> Iterator[Round]:
        """Give rounds in which whole leaves meet whole leaves: the nodes of each shifted by a number of its own."""
        for leaf_pairs in self._leaf_pairs(number):
            yield whole_leaves(self._members, leaf_pairs, lambda a, b: self._draw.randrange(max(len(a), len(b))))

    def thin(self, number: int) -> Iterator[Round]:
        """Give rounds in which one node of each leaf meets one of another: no two flows share an up-link.

        If leaves are not known, these are rounds of few pairs.
        """
        if not self._leaves.known:
            yield from self._few(number)
            return
        for leaf_pairs in self._leaf_pairs(number):
            pairs = []
            for one, other in leaf_pairs:
                pairs.append(_order_pair(*(self._next(leaf) for leaf in (one, other))))
            yield tuple(pairs)

    def _next(self, leaf: int) -> int:
        nodes = self._members[leaf]
        self._thin[leaf] += 1
        return int(nodes[self._thin[leaf] % len(nodes)])

    def _few(self, number: int) -> Iterator[Round]:
        """Give parts of rounds of all nodes: each round's pairs as far apart as they come."""
        made = 0
        while made < number:
            nodes = self._members[0]
            own = matching(len(nodes), self._draw.randrange(_moduli(len(nodes))))
            parts = max(1, min(THINNER, len(own)))
            for start in range(parts):
                if made < number:
                    yield tuple(_order_pair(int(nodes[i]), int(nodes[j])) for i, j in own[start::parts])
                made += 1

    def _leaf_pairs(self, number: int) -> Iterator[Round]:
        for _ in range(number if self._order else 0):
            yield matching(len(self._members), self._order[self._used % len(self._order)])
            self._used += 1


def whole_leaves(
    members: Sequence[Ints], leaf_pairs: Iterable[tuple[int, int]], shift: Callable[[Ints, Ints], int]
) -> Round:
    """Return the round in which whole leaves meet; ``shift`` says by how many places the larger one is turned.

    Nodes that are left over, of larger leaves and of one that meets nobody, meet one another.
    """
    pairs = []
    rest = set(range(len(members)))
    left: list[int] = []
    for one, other in leaf_pairs:
        rest -= {one, other}
        few, many = sorted((members[one], members[other]), key=len)
        many = np.roll(many, shift(few, many))
        pairs += [_order_pair(i, j) for i, j in zip(few.tolist(), many[: len(few)].tolist(), strict=True)]
        left += many[len(few) :].tolist()
    for leaf in sorted(rest):
        left += members[leaf].tolist()
    return (*pairs, *_halves(left))


def _moduli(nodes: int) -> int:
    return count(nodes) if nodes > 1 else 1


def _order_pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def _halves(nodes: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Return the nodes that are left over in pairs, of two leaves if possible: the first with the middle one."""
    half = len(nodes) // 2
    return [_order_pair(nodes[place], nodes[place + half]) for place in range(half)]
