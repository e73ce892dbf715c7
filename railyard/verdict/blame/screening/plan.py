"""The rounds of a sample: nodes with neighbours, whole leaves with whole leaves, single nodes of all leaves."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from railyard.verdict.blame.screening.leaves import Ints, Leaves
from railyard.verdict.blame.search.model import Round
from railyard.verdict.blame.search.rounds import count, matching

#: Where leaves are not known a thin round has this part of the pairs of a full one.
THINNER = 16


@dataclass(frozen=True, slots=True)
class Shares:
    """How many rounds of a budget each kind of step may have; ``repeats`` is of a suspect, ``neighbours`` of a route.

    ``home`` and ``full`` and ``thin`` are the first sample, ``more`` what follows when it is known how much collides.
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


#: Fewer rounds hold no sample, or no suspect that is measured three times against two partners.
LEAST = 24


def shares(rounds: int, most_repeats: int, parts: int) -> Shares:
    """Return how a budget of ``LEAST`` rounds or more is spent: half of it is the sample, the rest is for suspects.

    A third is the sample where ``parts`` of a node, rails and GPUs, are each measured alone once the node is named.
    """
    sample = rounds // (2 if parts < 2 else 3)
    home = min(6, max(3, rounds // 16))
    full = min(8, max(3, rounds // 24))
    thin = min(4, max(1, rounds // 40))
    repeats = tuple(number for number in (most_repeats, 5, 3) if number <= most_repeats)
    if rounds < 150:
        repeats = repeats[-1:]
    return Shares(
        home,
        full,
        thin,
        max(0, sample - home - full - thin),
        max(2, rounds // 8),
        8 if rounds >= 100 else 4,
        3 if rounds >= 250 else 1,
        repeats,
        3 if rounds >= 200 else 2,
    )


class Planner:
    """Makes rounds of the nodes that are there; what it drew is not drawn again, so that partners differ.

    Pairs of leaves are rounds of the circle method over the leaves, in an order that the seed decides.
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
        """Give rounds in which nodes meet others of their leaf, each time other ones as long as there are such."""
        for _ in range(number):
            pairs: list[tuple[int, int]] = []
            for place, nodes in enumerate(self._members):
                if len(nodes) < 2:
                    continue
                own = matching(len(nodes), self._home[place] % _moduli(len(nodes)))
                self._home[place] += 1
                pairs += [_rising(int(nodes[i]), int(nodes[j])) for i, j in own]
            if pairs:
                yield tuple(pairs)

    def full(self, number: int) -> Iterator[Round]:
        """Give rounds in which whole leaves meet whole leaves: the nodes of each shifted by a number of its own."""
        for leaf_pairs in self._leaf_pairs(number):
            pairs = []
            rest = set(range(len(self._members)))
            left: list[int] = []
            for one, other in leaf_pairs:
                rest -= {one, other}
                a, b = self._members[one], self._members[other]
                if len(a) > len(b):
                    a, b = b, a
                b = np.roll(b, self._draw.randrange(len(b)))
                pairs += [_rising(i, j) for i, j in zip(a.tolist(), b[: len(a)].tolist(), strict=True)]
                left += b[len(a) :].tolist()
            for leaf in sorted(rest):
                left += self._members[leaf].tolist()
            yield (*pairs, *_halves(left))

    def thin(self, number: int) -> Iterator[Round]:
        """Give rounds in which one node of each leaf meets one of another: no two flows share an up-link.

        Where leaves are not known: rounds of few pairs.
        """
        if not self._leaves.known:
            yield from self._few(number)
            return
        for leaf_pairs in self._leaf_pairs(number):
            pairs = []
            for one, other in leaf_pairs:
                pairs.append(_rising(*(self._next(leaf) for leaf in (one, other))))
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
                    yield tuple(_rising(int(nodes[i]), int(nodes[j])) for i, j in own[start::parts])
                made += 1

    def _leaf_pairs(self, number: int) -> Iterator[Round]:
        for _ in range(number if self._order else 0):
            yield matching(len(self._members), self._order[self._used % len(self._order)])
            self._used += 1


def _moduli(nodes: int) -> int:
    return count(nodes) if nodes > 1 else 1


def _rising(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def _halves(nodes: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Return the nodes that are left over in pairs, of two leaves where that can be: the first with the middle one."""
    half = len(nodes) // 2
    return [_rising(nodes[place], nodes[place + half]) for place in range(half)]
