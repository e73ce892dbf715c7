"""Which partners each node has tonight, by leaf: first those that were used least recently."""

import random
from collections.abc import Iterable, Sequence

import numpy as np

from railyard.verdict.blame.screening.leaves import Ints, Leaves, leaves_of, present_members
from railyard.verdict.blame.screening.model import Network
from railyard.verdict.blame.screening.plan import Planner, whole_leaves
from railyard.verdict.blame.search.model import Pair, Round, Step
from railyard.verdict.blame.search.rounds import count as rounds_of
from railyard.verdict.blame.search.rounds import matching
from railyard.verdict.wording import screening as words

#: If leaves are not known, each round is the best of this many candidates.
_CHOICE = 8


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
