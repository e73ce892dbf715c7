"""The values of a sample as arrays: what was measured, how crowded it was, and what healthy pairs give.

Also which node is at which leaf switch, as arrays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from railyard.verdict.blame.search.matrix import bandwidth, healthy, pair_names
from railyard.verdict.blame.search.model import Hops, Layout, Level, Pair, PairsError, Round, Step, Value
from railyard.verdict.wording import screening as words

#: A class of hops has its own level if it has at least this many values.
_ENOUGH = 8
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

    def are_between_groups(self, members: Sequence[int]) -> bool:
        """Return whether these nodes are of several groups."""
        return len({int(self.groups[node]) for node in members}) > 1

    def needs(self, pair: Pair) -> tuple[int, ...]:
        """Return what a pair across leaves needs for itself besides its nodes: the up-links of both leaves.

        A pair between two groups needs the links of both groups, too: two pairs of four leaves may share such a link. A
        node without a known leaf may be at any leaf, so a pair with it needs the up-links of all.
        """
        one, other = (int(self.of[node]) for node in pair)
        if one == other:
            return ()
        first, count = len(self.of), len(self.names)
        every = range(count) if not set(pair).isdisjoint(self.loose) else ()
        apart = [count + int(self.groups[node]) for node in pair] if self.are_between_groups(pair) else ()
        return tuple(first + need for need in (one, other, *apart, *every))


@dataclass(frozen=True, slots=True)
class Rows:
    """Values in the order of their rounds: both nodes, the value (0.0: no result), the round, and how crowded it was.

    ``crowd`` is the number of flows that the busier of the two leaves sent at once across leaves, 0 for a pair at one
    leaf; where leaves are not known, the pairs of the round.
    """

    a: Ints
    b: Ints
    value: Floats
    round: Ints
    crowd: Ints

    def of(self, kept: Bools) -> "Rows":
        """Return some of the rows."""
        return Rows(self.a[kept], self.b[kept], self.value[kept], self.round[kept], self.crowd[kept])


@dataclass(frozen=True, slots=True)
class Levels:
    """What healthy pairs give: at one leaf and across leaves; the same level if leaves are not known.

    ``apart`` is the level of pairs of two groups of leaves; None if groups are not known.
    """

    near: Level
    far: Level
    levels: tuple[Level, ...]
    apart: Level | None = None

    def level(self, layout: Layout, a: int, b: int) -> Level:
        """Return the level that the pair is compared with."""
        if self.apart is not None and layout.groups and layout.groups[a] != layout.groups[b]:
            return self.apart
        return self.far if layout.is_far(a, b) else self.near


def rows_of(leaves: Leaves, step: Step, values: Iterable[Value], gone: Iterable[int], before: int = 0) -> Rows:
    """Return a step's values without those of nodes that are gone; rounds are numbered from ``before`` on.

    Raises PairsError for a value that is not a bandwidth, or a pair that was not asked for.
    """
    count = len(leaves.of)
    lengths = [len(each) for each in step.rounds]
    asked = np.array([pair for each in step.rounds for pair in each], dtype=np.int64).reshape(-1, 2)
    number = np.repeat(np.arange(len(lengths)), lengths)
    keys = asked[:, 0] * count + asked[:, 1]
    order = np.argsort(keys, kind="stable")
    given = list(values)
    a, b, value = _columns(leaves.layout, given)
    inside = (a >= 0) & (a < count) & (b >= 0) & (b < count)
    given_keys = np.where(inside, a * count + b, -1)
    found, known = _places(keys, order, given_keys)
    if not known.all():
        one, other = (int(column[np.flatnonzero(~known)[0]]) for column in (a, b))
        raise PairsError(
            f"step {step.name}: a value of {pair_names(leaves.layout, one, other)}, which was not asked for"
        )
    crowd = _crowd(leaves, asked[:, 0], asked[:, 1], number)
    rows = Rows(a, b, value, number[found] + before, crowd[found])
    away = np.zeros(count, dtype=bool)
    away[list(gone)] = True
    rows = rows.of(~(away[a] | away[b]))
    in_order = np.argsort(rows.round, kind="stable")
    return Rows(*(getattr(rows, name)[in_order] for name in ("a", "b", "value", "round", "crowd")))


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several steps, one after another."""
    return Rows(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("a", "b", "value", "round", "crowd"))
    )


def levels_of(leaves: Leaves, rows: Rows) -> Levels | None:
    """Return the level of each class of hops; None if no pair gave a result.

    Across leaves it comes from the least crowded values: hardly any of these share an up-link.
    """
    if not (rows.value > 0).any():
        return None
    if not leaves.known:
        level = Level("all", *_healthy(rows.value), len(rows.value))
        return Levels(level, level, (level,))
    across = leaves.are_far(rows.a, rows.b)
    apart = leaves.are_apart(rows.a, rows.b)
    made = []
    classes: tuple[tuple[Hops, Bools], ...] = (
        ("same side", ~across), ("across sides", across & ~apart), ("other groups", apart),
    )  # fmt: skip
    for hops, own in classes:
        alone = own & (rows.crowd == 1)
        chosen = alone if alone.sum() >= _ENOUGH and (rows.value[alone] > 0).any() else own
        if own.any():
            made.append(Level(hops, *_healthy(rows.value[own if hops == "same side" else chosen]), int(own.sum())))
    best = max(made, key=lambda level: level.value)
    by_hops = {level.hops: level if level.value > 0 else best for level in made}
    beyond = by_hops.get("other groups")
    return Levels(by_hops.get("same side", best), by_hops.get("across sides", beyond or best), tuple(made), beyond)


def relative(leaves: Leaves, levels: Levels, rows: Rows) -> Floats:
    """Return each value as a share of the level of its class."""
    level = np.where(leaves.are_far(rows.a, rows.b), levels.far.value, levels.near.value)
    if levels.apart is not None:
        level = np.where(leaves.are_apart(rows.a, rows.b), levels.apart.value, level)
    shares: Floats = rows.value / level
    return shares


def _places(keys: Ints, order: Ints, given: Ints) -> tuple[Ints, Bools]:
    """Return for each key that is given the place where it was asked for, and whether it was.

    If a pair was asked for several times, its values are taken in their order; if there are more values than that, they
    start again at the first place.
    """
    if not len(keys):
        return np.zeros(len(given), dtype=np.int64), np.zeros(len(given), dtype=bool)
    rising = keys[order]
    first, after = np.searchsorted(rising, given, "left"), np.searchsorted(rising, given, "right")
    by_key = np.argsort(given, kind="stable")
    sorted_keys = given[by_key]
    rank = np.zeros(len(given), dtype=np.int64)
    rank[by_key] = np.arange(len(given)) - np.searchsorted(sorted_keys, sorted_keys, "left")
    times = after - first
    place = np.minimum(first + rank % np.maximum(times, 1), len(keys) - 1)
    return order[place], times > 0


def _columns(layout: Layout, given: Sequence[Value]) -> tuple[Ints, Ints, Floats]:
    if not given:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0)
    a, b, values = zip(*given, strict=True)
    value = np.array(values, dtype=np.float64)
    wrong = np.flatnonzero(~((value >= 0) & (value < np.inf)))
    for place in wrong.tolist():
        value[place] = bandwidth(layout, int(a[place]), int(b[place]), values[place])
    return np.array(a, dtype=np.int64), np.array(b, dtype=np.int64), value


def _crowd(leaves: Leaves, a: Ints, b: Ints, number: Ints) -> Ints:
    if not len(a):
        return np.zeros(0, dtype=np.int64)
    if not leaves.known:
        size: Ints = np.bincount(number)[number]
        return size
    far = leaves.are_far(a, b)
    counts = np.zeros((int(number[-1]) + 1) * len(leaves.names), dtype=np.int64)
    ends = [number * len(leaves.names) + leaves.of[node] for node in (a, b)]
    for end in ends:
        counts += np.bincount(end[far], minlength=len(counts))
    return np.where(far, np.maximum(counts[ends[0]], counts[ends[1]]), 0)


def _healthy(values: Floats) -> tuple[float, float]:
    return healthy(np.sort(values).tolist())


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
