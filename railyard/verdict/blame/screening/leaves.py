"""Which node is at which leaf switch, as arrays: the plans and values of a sample use them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from railyard.verdict.blame.search.model import Layout, Pair, Round
from railyard.verdict.wording import screening as words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaf of each node, by number; one leaf with all nodes if none is known.

    ``layout`` is the network's, but each node without a known leaf has its own leaf; ``loose`` are these nodes.
    ``groups`` has the number of each node's group of leaves; all have one if groups are not known.
    """

    layout: Layout
    names: tuple[str, ...]
    of: Ints
    members: tuple[Ints, ...]
    known: bool
    loose: tuple[int, ...]
    groups: Ints

    def are_apart(self, a: Ints, b: Ints) -> Bools:
        """Return which of these pairs are between two groups."""
        apart: Bools = self.groups[a] != self.groups[b]
        return apart

    def are_far(self, a: Ints, b: Ints) -> Bools:
        """Return which of these pairs are between two leaves."""
        apart: Bools = self.of[a] != self.of[b]
        return apart

    def needs(self, pair: Pair) -> tuple[int, ...]:
        """Return what a pair across leaves needs for itself besides its nodes: the up-links of both leaves."""
        one, other = (int(self.of[node]) for node in pair)
        return () if one == other else (len(self.of) + one, len(self.of) + other)


def leaves_of(layout: Layout) -> Leaves:
    """Return the leaves of a layout. A node whose leaf is "" gets its own leaf; if all are "", none is known."""
    loose = tuple(node for node, side in enumerate(layout.sides) if not side)
    if len(loose) == len(layout.sides):
        bare = replace(layout, sides=(), groups=())
        every = np.arange(len(layout.nodes))
        none = np.zeros(len(every), dtype=np.int64)
        return Leaves(bare, ("",), none, (every,), False, (), none)
    if loose:
        sides = tuple(side or words.leaf_of_one(layout.nodes[node]) for node, side in enumerate(layout.sides))
        layout = replace(layout, sides=sides)
    members = layout.members()
    of = np.zeros(len(layout.nodes), dtype=np.int64)
    for number, nodes in enumerate(members.values()):
        of[list(nodes)] = number
    numbers = {group: number for number, group in enumerate(dict.fromkeys(layout.groups))}
    groups = np.array([numbers[group] for group in layout.groups] or np.zeros(len(of)), dtype=np.int64)
    return Leaves(layout, tuple(members), of, tuple(np.array(nodes) for nodes in members.values()), True, loose, groups)


def present_members(leaves: Leaves, gone: Iterable[int]) -> tuple[Ints, ...]:
    """Return the members of each leaf without the nodes that are gone."""
    there = np.ones(len(leaves.of), dtype=bool)
    there[list(gone)] = False
    return tuple(nodes[there[nodes]] for nodes in leaves.members)


def shift_partners(one: Sequence[int], other: Sequence[int], shift: int) -> Round:
    """Return a round in which each node of the smaller leaf has a partner of the other; each shift changes them."""
    few, many = sorted((one, other), key=len)
    return tuple(
        (min(node, there), max(node, there))
        for node, there in ((node, many[(at + 3 * shift) % len(many)]) for at, node in enumerate(few))
    )
