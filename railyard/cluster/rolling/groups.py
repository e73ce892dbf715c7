"""Which nodes are tested together: every node in one group, several leaf switches in each, free nodes first. Pure.

A group is a job that waits until all of its nodes are free. So nodes that are free now are in groups of their own.
Busy nodes are grouped with others whose jobs end at about the same time. A group has several nodes of each of several
leaf switches: it then has pairs within a leaf and pairs across leaves, which cross up-links.
"""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from railyard.base.errors import SetupError
from railyard.verdict.blame.search.model import Round
from railyard.verdict.blame.search.rounds import rounds

#: Busy nodes are dealt into so many groups at a time, in the order in which they become free. With more, a group may
#: wait for a node that becomes free much later than its others; with fewer, a group has few leaves.
GROUPS_DEALT_TOGETHER = 4
#: Two leaf switches, and how often pairs of nodes between them were measured recently.
Used = Mapping[frozenset[str], int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that can be tested; ``leaf`` is its leaf switch, empty if it is not known.

    ``free_in_s`` is how long its job may still run, in seconds; 0 if the node is free, None if that is not known.
    """

    name: str
    leaf: str = ""
    free_in_s: float | None = 0.0


def groups(
    candidates: Sequence[Candidate], size: int, seed: int = 0, used: Used | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return the nodes of each group. The group that can begin first comes first; nodes keep the given order.

    A group has at most ``size`` nodes, or one more if a node would otherwise be alone. ``seed`` decides which nodes of
    a leaf meet which leaves. Leaves that met least often (``used``) meet first. Raises SetupError for groups of fewer
    than two nodes.
    """
    if size < 2:
        raise SetupError(f"pairs --group: found {size}, expected 2 nodes or more, since a pair needs two")
    if len(candidates) < 2:
        found = ", ".join(one.name for one in candidates) or "no node"
        raise SetupError(f"pairs: found {found} that can be tested, expected two nodes or more, since a pair needs two")
    place = {one.name: number for number, one in enumerate(candidates)}
    free_in = {one.name: math.inf if one.free_in_s is None else one.free_in_s for one in candidates}
    made: list[tuple[str, ...]] = []
    deal = _Deal(random.Random(seed), Counter(used or {}))
    for wave in _waves(candidates, size):
        made += [tuple(sorted(group, key=place.__getitem__)) for group in deal.groups(wave, size)]
    # A single free node waits with busy ones, so its wave has groups of both kinds.
    return tuple(sorted(made, key=lambda group: max(free_in[name] for name in group)))


def group_rounds(nodes: int, at_most: int | None = None) -> tuple[Round, ...]:
    """Return the rounds of a group of so many nodes: all its pairs, or so many of the rounds, evenly spread."""
    every = rounds(nodes)
    if at_most is None or at_most >= len(every):
        return every
    return tuple(every[number * len(every) // at_most] for number in range(at_most))


def groups_of_step(rounds: Sequence[Round], size: int) -> tuple[tuple[tuple[int, ...], tuple[Round, ...]], ...]:
    """Return the groups in which these rounds can be measured, each with its nodes and its own part of the rounds.

    Nodes that meet, directly or through others, are in one group, however many they are. Small groups are joined, up
    to ``size`` nodes.
    """
    leader: dict[int, int] = {}

    def of(node: int) -> int:
        while leader.setdefault(node, node) != node:
            leader[node] = node = leader[leader[node]]
        return node

    for pair in (pair for each in rounds for pair in each):
        leader[of(pair[0])] = of(pair[1])
    parts: dict[int, list[int]] = {}
    for node in sorted(leader):
        parts.setdefault(of(node), []).append(node)
    bins: list[list[int]] = []
    for nodes in sorted(parts.values(), key=len, reverse=True):
        room = next((one for one in bins if len(one) + len(nodes) <= size), None)
        if room is None:
            bins.append(list(nodes))
        else:
            room += nodes
    found = []
    for nodes in bins:
        there = set(nodes)
        own = [tuple(pair for pair in each if pair[0] in there) for each in rounds]
        found.append((tuple(sorted(nodes)), tuple(each for each in own if each)))
    return tuple(found)


def _waves(candidates: Sequence[Candidate], size: int) -> list[list[Candidate]]:
    """Return the candidates that are dealt into groups together; each wave has at least two."""
    free = [one for one in candidates if one.free_in_s == 0]
    busy = sorted((one for one in candidates if one.free_in_s), key=lambda one: one.free_in_s or 0.0)
    busy += [one for one in candidates if one.free_in_s is None]
    step = GROUPS_DEALT_TOGETHER * size
    waves = [free, *(busy[start : start + step] for start in range(0, len(busy), step))]
    found: list[list[Candidate]] = []
    carried: list[Candidate] = []
    for wave in waves:
        carried += wave
        if len(carried) > 1:
            found.append(carried)
            carried = []
    if carried:
        found[-1] += carried
    return found


@dataclass(slots=True)
class _Deal:
    """Deals nodes into groups; ``met`` counts the pairs of leaves that have met."""

    order: random.Random
    met: Counter[frozenset[str]] = field(default_factory=Counter)

    def groups(self, wave: Sequence[Candidate], size: int) -> list[list[str]]:
        """Return the groups of one wave; their sizes differ by at most one node."""
        count = max(1, min(math.ceil(len(wave) / size), len(wave) // 2))
        left: dict[str, list[str]] = {}
        for one in wave:
            left.setdefault(one.leaf, []).append(one.name)
        for names in left.values():
            self.order.shuffle(names)
        rank = list(left)
        self.order.shuffle(rank)
        return [self._group(left, rank, (len(wave) + number) // count) for number in range(count)]

    def _group(self, left: dict[str, list[str]], rank: Sequence[str], size: int) -> list[str]:
        # As many nodes of a leaf as there are leaves: a group of 16 has four of each of four.
        block = max(2, round(math.sqrt(size)))
        group: list[str] = []
        leaves: list[str] = []
        while len(group) < size:
            leaf = min(
                (leaf for leaf in rank if left[leaf]),
                key=lambda leaf: (
                    leaf in leaves,
                    -math.ceil(len(left[leaf]) / block),
                    sum(self.met[frozenset((leaf, other))] for other in leaves),
                ),
            )
            some = min(block, size - len(group))
            group += left[leaf][:some]
            del left[leaf][:some]
            leaves.append(leaf)
        self.met.update(frozenset(pair) for pair in combinations(dict.fromkeys(leaves), 2))
        return group
