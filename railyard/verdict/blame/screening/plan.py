"""The rounds of a sample: nodes with neighbours, whole leaves with whole leaves, single nodes of all leaves.

If a part is measured each night, it also says which partners each node has tonight: the least recently used first.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from railyard.verdict.blame.screening.model import Network
from railyard.verdict.blame.screening.values import Ints, Leaves, leaves_of, present_members
from railyard.verdict.blame.search.model import Pair, Round, Step, count, matching
from railyard.verdict.blame.search.model import count as rounds_of
from railyard.verdict.wording import screening as words

#: If leaves are not known, a thin round has a 16th of the pairs of a full one.
THINNER = 16
#: If leaves are not known, each round is the best of this many candidates.
_CHOICE = 8


class _UsedLinks:
    """What earlier nights used, by the number of the last night, from 1 on; 0: never. Tonight's rounds count too."""

    def __init__(self, network: Network, leaves: Leaves, used: Sequence[Iterable[Pair]]) -> None:
        self.leaves = leaves
        self.tonight = len(used) + 1
        number = len(leaves.names)
        self.leaf_pairs = np.zeros((number, number), dtype=np.int64)
        self.pairs: set[int] = set()
        self.table: Ints | None = np.array(network.routes) if network.routes else None
        self.up_links = np.zeros((number, 1 if self.table is None else int(self.table.max()) + 1), dtype=np.int64)
        for night, pairs in enumerate(used, start=1):
            ends = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
            self.add(ends[:, 0], ends[:, 1], night)

    def add(self, a: Ints, b: Ints, night: int) -> None:
        """Note pairs of a night."""
        one, other = self.leaves.of[a], self.leaves.of[b]
        self.leaf_pairs[one, other] = night
        self.leaf_pairs[other, one] = night
        self.pairs |= set((np.minimum(a, b) * len(self.leaves.of) + np.maximum(a, b)).tolist())
        far = one != other
        if self.table is not None:
            for leaf, up in self._links_of(a[far], b[far]):
                self.up_links[leaf, up] = night

    def count_met(self, a: Ints, b: Ints) -> int:
        """Return how many of these pairs met before."""
        keys = np.minimum(a, b) * len(self.leaves.of) + np.maximum(a, b)
        return sum(key in self.pairs for key in keys.tolist())

    def count_unused(self, a: Ints, b: Ints) -> tuple[int, int]:
        """Return how many up-links of these pairs across leaves no night used, and the sum of nights since each was.

        Both are 0 if routes are not known.
        """
        if self.table is None:
            return 0, 0
        over = {pair for leaf, up in self._links_of(a, b) for pair in zip(leaf.tolist(), up.tolist(), strict=True)}
        last = [int(self.up_links[leaf, up]) for leaf, up in over]
        return last.count(0), sum(self.tonight - night for night in last)

    def _links_of(self, a: Ints, b: Ints) -> Iterable[tuple[Ints, Ints]]:
        """Give the up-links, by leaf and number, that pairs of two leaves use in both directions."""
        assert self.table is not None
        for source, target in ((a, b), (b, a)):
            up = self.table[self.leaves.of[source], target]
            yield self.leaves.of[source], up
            yield self.leaves.of[target], up


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


def partners(
    network: Network,
    count: int,
    used: Sequence[Iterable[Pair]] = (),
    seed: int = 0,
    absent: Iterable[int] = (),
) -> Step:
    """Return rounds in which each node meets ``count`` partners of other leaves, and one of its own leaf.

    Whole leaves meet whole leaves, so that all of a leaf's up-links carry something at once. If routes are known, the
    leaves are chosen that use the most up-links which no night used; then those that met least recently; then by
    chance. Of their nodes, those meet that did not meet before. ``used`` has the pairs of earlier nights, the oldest
    first, by the indices of ``network``'s nodes. Raises ValueError for a ``count`` below 1, or if fewer than two nodes
    are there.
    """
    if count < 1:
        raise ValueError(f"{count} partners: at least 1")
    leaves = leaves_of(network.layout)
    members = [nodes for nodes in present_members(leaves, absent) if len(nodes)]
    if sum(map(len, members)) < 2:
        raise ValueError(f"{sum(map(len, members))} of {len(leaves.of)} nodes are there, but a pair needs two")
    chosen = _UsedLinks(network, leaves, used)
    draw = random.Random(seed)
    home = list(Planner(leaves, members, seed).home(1)) if leaves.known else []
    if len(members) > 1:
        away = [_draw_away_round(chosen, members, draw) for _ in range(count)]
    else:
        away = _any(chosen, members[0], count, draw)
    why = words.why_nightly(count, len(used))
    return Step("nightly", (*home, *away), 1, why)


def _draw_away_round(used: _UsedLinks, members: Sequence[Ints], draw: random.Random) -> Round:
    """Return whole leaves that meet: what uses most up-links that no night used, then what met least recently.

    A leaf that meets another one reaches all of its nodes, so that which nodes meet does not change the up-links.
    """
    own = np.array([used.leaves.of[nodes[0]] for nodes in members])
    numbers = list(range(rounds_of(len(members))))
    draw.shuffle(numbers)

    def rank(number: int) -> tuple[int, int, int]:
        pairs = np.array(matching(len(members), number))
        never = nights = 0
        if used.table is not None:
            ends = np.array(whole_leaves(members, pairs.tolist(), lambda few, many: 0))
            far = used.leaves.are_far(ends[:, 0], ends[:, 1])
            never, nights = used.count_unused(ends[far, 0], ends[far, 1])
        return -never, int(used.leaf_pairs[own[pairs[:, 0]], own[pairs[:, 1]]].sum()), -nights

    def shift(few: Ints, many: Ints) -> int:
        shifts = list(range(len(many)))
        draw.shuffle(shifts)
        return min(shifts, key=lambda each: used.count_met(few, np.roll(many, each)[: len(few)]))

    made = whole_leaves(members, matching(len(members), min(numbers, key=rank)), shift)
    ends = np.array(made)
    used.add(ends[:, 0], ends[:, 1], used.tonight)
    return made


def _any(used: _UsedLinks, nodes: Ints, count: int, draw: random.Random) -> list[Round]:
    """Return rounds of all nodes where leaves are not known: those with the fewest pairs that met before."""
    every = rounds_of(len(nodes))
    numbers = draw.sample(range(every), min(every, _CHOICE * count))
    made = {number: np.array(matching(len(nodes), number)) for number in numbers}
    rising = sorted(numbers, key=lambda number: used.count_met(nodes[made[number][:, 0]], nodes[made[number][:, 1]]))
    return [
        tuple(zip(*(nodes[column].tolist() for column in made[number].T), strict=True)) for number in rising[:count]
    ]
