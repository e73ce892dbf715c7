"""The values of all pairs as a matrix, their healthy level, and the parts of a network that good values hold together.

The values of all pairs as a matrix, each as a share of what healthy pairs of its class of hops give.

The healthy level of values, if many may be too low and none is too high.

Parts of a network that good measurements hold together. The members are nodes, or GPUs of nodes.
"""

import math
import statistics
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from railyard.base.numbers import quantile
from railyard.verdict.blame.search.model import Layout, Level, Pair, PairsError, Step, Value

#: Standard deviations of a normal distribution at its 75 and 95 % quantiles.
_Z75, _Z95 = 0.6745, 1.6449
#: Makes a median absolute deviation the standard deviation of a normal distribution (1 / _Z75).
MAD_TO_SIGMA = 1.4826
#: The same for a half-normal one (1 / 0.3991).
_UPPER_MAD_TO_SIGMA = 2.506
#: Two flows that share a link get half each, three a third: values that collided are well below this share of the top.
_UNCOLLIDED = 0.8


def healthy(values: Sequence[float]) -> tuple[float, float]:
    """Return the level of the healthy among ``values`` and their relative standard deviation; (0, 0) if all are 0.

    Faults and collisions only lower a value, and may lower most of them: with random static routes only one pair in
    seven has both directions for itself in a full round. So this starts from the 95 % quantile, keeps what is within
    20 % of it, and takes the 75 % quantile of that: always some 0.7 standard deviations above the healthy median. The
    deviation only comes from the upper part. Median and MAD over all values fail if more than half are low
    (P. Rousseeuw and C. Croux, Alternatives to the median absolute deviation, JASA 88, 1993).
    """
    rising = sorted(values)
    top = quantile(rising, 0.95)
    kept = rising[bisect_left(rising, _UNCOLLIDED * top) :]
    level = quantile(kept, 0.75)
    if level <= 0:
        return 0.0, 0.0
    return level, (quantile(kept, 0.95) - level) / (_Z95 - _Z75) / level


def upper_spread(values: Sequence[float]) -> float:
    """Return the standard deviation of ``values`` by their upper half; the lower half may contain faults.

    It is the median deviation of the upper half from its own median, 0.399 standard deviations of a half-normal.
    """
    middle = statistics.median(values)
    upper = [value for value in values if value >= middle]
    centre = statistics.median(upper)
    return _UPPER_MAD_TO_SIGMA * statistics.median(abs(value - centre) for value in upper)


class HealthyLevels(Protocol):
    """What healthy pairs give: the level of each class of hops; one level if sides are not known."""

    @property
    def near(self) -> Level: ...

    @property
    def far(self) -> Level: ...

    @property
    def levels(self) -> tuple[Level, ...]: ...

    def level(self, layout: Layout, a: int, b: int) -> Level:
        """Return the level that the pair is compared with."""
        ...


@dataclass(frozen=True, slots=True)
class Shares:
    """Each pair's value as a share of the healthy level of its class; symmetric, the diagonal is -1.

    ``levels`` has one level per class; ``near`` and ``far`` are those of pairs on one side and across sides, the same
    one if sides are not known, and ``apart`` that of pairs of two groups, if groups are known. A share may be raised
    (``better``): the best of several measurements counts, since a disturbance only lowers a value. ``slow_groups`` have
    been named already, each with the share that its nodes give with other groups: that is what their pairs are
    compared with.
    """

    rows: tuple[list[float], ...]
    levels: tuple[Level, ...]
    near: Level
    far: Level
    apart: Level | None = None
    slow_groups: Mapping[str, float] = field(default_factory=dict)

    def level(self, layout: Layout, a: int, b: int) -> Level:
        """Return the level that the pair is compared with."""
        if not layout.is_far(a, b):
            return self.near
        if self.apart is None or not layout.groups or layout.groups[a] == layout.groups[b]:
            return self.far
        left = min(self.slow_groups.get(layout.groups[node], 1.0) for node in (a, b))
        return self.apart if left == 1 else replace(self.apart, value=self.apart.value * left)

    def better(self, layout: Layout, a: int, b: int, value: float) -> None:
        """Raise the pair's share to that of ``value``, if that is higher."""
        share = value / self.level(layout, a, b).value
        if share > self.rows[a][b]:
            self.rows[a][b] = self.rows[b][a] = share

    def with_slow_groups(self, layout: Layout, named: Mapping[str, float]) -> "Shares":
        """Return the shares if these groups give others only so much: what is then slow has another cause."""
        found = replace(self, rows=tuple(list(row) for row in self.rows), slow_groups=named)
        for a, row in enumerate(found.rows):
            for b in range(len(row)):
                if a != b and layout.groups[a] != layout.groups[b]:
                    row[b] /= min(named.get(layout.groups[node], 1.0) for node in (a, b))
        return found


def shares(layout: Layout, step: Step, values: Iterable[Value]) -> Shares | None:
    """Return the shares of a step of all pairs; None if no pair gave a result.

    Raises PairsError for a value that is not a bandwidth, a pair that was not asked for, or one without a value.
    """
    rows = _table(layout, values)
    missing = next(((a, b) for a, b in step.pairs() if rows[a][b] != rows[a][b]), None)
    if missing is not None:
        raise PairsError(f"step {step.name}: no value of {layout.pair(*missing)}, which was asked for")
    levels = _levels(layout, rows)
    best = max(levels, key=lambda level: level.value)
    if best.value == 0:
        return None
    # if no pair of a class gave a result, the class has no level of its own
    by_hops = {level.hops: level if level.value > 0 else best for level in levels}
    near = by_hops.get("same side", by_hops.get("all", best))
    apart = by_hops.get("other groups")
    far = by_hops.get("across sides", by_hops.get("all", apart or best))
    scaled: list[list[float]] = [[]] * len(rows)
    for members in layout.members().values() or (range(len(rows)),):
        own = set(members)
        beyond = _in_other_groups(layout, members[0])
        factors = [
            1 / (near if other in own else apart if apart is not None and beyond[other] else far).value
            for other in range(len(rows))
        ]
        for node in members:
            scaled[node] = [value * factor for value, factor in zip(rows[node], factors, strict=True)]
            scaled[node][node] = -1.0
    return Shares(tuple(scaled), levels, near, far, apart)


def gather_repeats(layout: Layout, step: Step, values: Iterable[Value]) -> Mapping[Pair, Sequence[float]]:
    """Return the repeats of each pair of a step, 0.0 for no result.

    Raises PairsError for a value that is not a bandwidth, a pair that was not asked for, or one without a value.
    """
    found: dict[Pair, list[float]] = {pair: [] for pair in step.pairs()}
    for a, b, value in values:
        repeats = found.get((a, b))
        if repeats is None:
            raise PairsError(f"step {step.name}: a value of {pair_names(layout, a, b)}, which was not asked for")
        repeats.append(bandwidth(layout, a, b, value))
    missing = next((pair for pair, repeats in found.items() if not repeats), None)
    if missing is not None:
        raise PairsError(f"step {step.name}: no value of {layout.pair(*missing)}, which was asked for")
    return found


def _table(layout: Layout, values: Iterable[Value]) -> list[list[float]]:
    count = len(layout.nodes)
    rows = [[math.nan] * count for _ in range(count)]
    for a, b, value in values:
        if not 0 <= a < b < count:
            raise PairsError(f"step rounds: a value of {pair_names(layout, a, b)}, which was not asked for")
        rows[a][b] = rows[b][a] = bandwidth(layout, a, b, value)
    return rows


def bandwidth(layout: Layout, a: int, b: int, value: float | None) -> float:
    """Return a value, 0.0 for no result. Raises PairsError for a value that is not a bandwidth."""
    if value is None:
        return 0.0
    if not 0 <= value < math.inf:
        raise PairsError(f"{layout.pair(a, b)} gave {value} {layout.unit}: expected a finite number, not negative")
    return value


def pair_names(layout: Layout, a: int, b: int) -> str:
    """Return both nodes' names, or their numbers if one is not the number of a node."""
    known = range(len(layout.nodes))
    return layout.pair(a, b) if a in known and b in known else f"nodes {a} and {b} of {len(layout.nodes)}"


def _levels(layout: Layout, rows: Sequence[Sequence[float]]) -> tuple[Level, ...]:
    count = len(rows)
    if not layout.sides:
        every = [value for node, row in enumerate(rows) for value in row[node + 1 :]]
        return (Level("all", *healthy(every), len(every)),)
    near: list[float] = []
    far: list[float] = []
    apart: list[float] = []
    for members in layout.members().values():
        own = set(members)
        beyond = _in_other_groups(layout, members[0])
        others = [other for other in range(count) if other not in own and not beyond[other]]
        distant = [other for other in range(count) if beyond[other]]
        for node in members:
            row = rows[node]
            near += [row[other] for other in members if other > node]
            far += [row[other] for other in others if other > node]
            apart += [row[other] for other in distant if other > node]
    levels = []
    if near:
        levels.append(Level("same side", *healthy(near), len(near)))
    if far:
        levels.append(Level("across sides", *healthy(far), len(far)))
    if apart:
        levels.append(Level("other groups", *healthy(apart), len(apart)))
    return tuple(levels)


def _in_other_groups(layout: Layout, node: int) -> list[bool]:
    """Return of each node whether it is in another group than this one; none is if groups are not known."""
    groups = layout.groups
    return [group != groups[node] for group in groups] if groups else [False] * len(layout.nodes)


Member = TypeVar("Member", int, tuple[str, str])


def connected_parts(
    members: Set[Member], reached: Callable[[Member, Set[Member]], Iterable[Member]]
) -> list[set[Member]]:
    """Return the parts, each with its members: all that are ``reached`` from a member are in its part.

    ``reached`` gets a member and those that are not in a part yet, and returns which of them the member is good with.
    """
    left = set(members)
    parts = []
    while left:
        front = [left.pop()]
        part = set(front)
        while front:
            found = set(reached(front.pop(), left))
            left -= found
            part |= found
            front += found
        parts.append(part)
    return parts
