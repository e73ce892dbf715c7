"""Who is in doubt after the rounds: nodes, sides of the switch, and pairs that neither explains. Nobody is named."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from railyard.base.numbers import quantile
from railyard.verdict.blame.search.matrix import Shares
from railyard.verdict.blame.search.model import Layout, Level, Pair, Settings
from railyard.verdict.blame.search.parts import held_together
from railyard.verdict.blame.search.robust import upper_spread

#: A node is as fast as the best twentieth of its pairs (if there are few, its best pair): a node that is fast with
#: somebody is not slow itself, however many of its pairs collided.
BEST = 0.95
#: The best quarter of the nodes is healthy: three in four may be slow.
HEALTHY_NODES = 0.75
#: If the noise is wide, a bound is this many standard deviations lower, but never lower than the widest one.
NODE_SIGMAS, PAIR_SIGMAS, WIDEST = 5.0, 3.0, 0.2
#: At least this many neighbours on its side show whether a node is good there; with fewer, all its pairs count.
NEIGHBOURS = 3
#: A node of a slow side is in doubt itself if it is below this share of its neighbours.
SLOWER_THAN_ITS_SIDE = 0.9
#: A side is in doubt if its mean with other sides is this much below theirs, or more if sides differ.
SIDE_SLOWER, SIDE_WIDEST = 0.15, 0.4


@dataclass(frozen=True, slots=True)
class Doubts:
    """What to look at again: nodes, sides by name, parts that are good inside and slow to one another, and pairs.

    ``speed`` is each node's own share of healthy, which limits what its pairs can give; 1 if it is not in doubt.
    ``sound`` nodes are good with their neighbours on their side, even if they are slow with others.
    """

    nodes: tuple[int, ...]
    sides: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]
    pairs: tuple[Pair, ...]
    speed: tuple[float, ...]
    sound: frozenset[int]


def doubts(layout: Layout, seen: Shares, settings: Settings) -> Doubts:
    """Return the nodes that are slow with everybody, sides most of whose nodes are slow with others, and slow pairs.

    A node that is good with its neighbours and slow with all others has a good card and a good cable. The slow part is
    beyond its leaf, so its pairs are in doubt and not the node. If sides are not known, this cannot be decided.
    """
    best, usual = _shares_away(layout, seen)
    away = lower(best, settings.look_again)
    home = _slow_at_home(layout, seen, settings)
    sides = _sides(layout, away.keys(), away.keys() if home is None else away.keys() & home, usual)
    members = layout.members()
    explained = {node for side in sides for node in _find_explained(members[side], away, home)}
    nodes = tuple(node for node in away if (home is None or node in home) and node not in explained)
    doubted = explained.union(nodes)
    speed = tuple(min(1.0, away[node]) if node in doubted else 1.0 for node in range(len(layout.nodes)))
    parts = () if layout.sides else _parts(layout, seen, settings, nodes)
    pairs = tuple(pair for pair in slow_pairs(layout, seen, settings, speed) if not _crosses_sides(parts, *pair))
    return Doubts(nodes, sides, parts, pairs, speed, _sound(layout, home))


def slow_pairs(layout: Layout, seen: Shares, settings: Settings, speed: Sequence[float]) -> tuple[Pair, ...]:
    """Return the pairs below what the slower of their nodes can give."""
    bounds, reach = _bounds(seen, settings), _Reach(layout, seen, speed)
    found = []
    for a, row in enumerate(seen.rows):
        own = speed[a]
        highest = max(bounds.values()) * own  # most pairs are above that: nothing else has to be checked
        candidates = [(b, share) for b, share in enumerate(row[a + 1 :], a + 1) if share < highest]
        for b, share in candidates:
            level = seen.level(layout, a, b)
            if share < bounds[level.hops] * min(reach.of(a, level), reach.of(b, level)):
                found.append((a, b))
    return tuple(found)


def still_slow(
    layout: Layout, seen: Shares, settings: Settings, pairs: Iterable[Pair], speed: Sequence[float]
) -> tuple[Pair, ...]:
    """Return those of the pairs whose best value is below what the slower of their nodes can give."""
    bounds, reach = _bounds(seen, settings), _Reach(layout, seen, speed)
    found = []
    for a, b in pairs:
        level = seen.level(layout, a, b)
        if seen.rows[a][b] < bounds[level.hops] * min(reach.of(a, level), reach.of(b, level)):
            found.append((a, b))
    return tuple(found)


class _Reach:
    """What a node can give at most, as a share of healthy: 1, or less if it is in doubt.

    If groups are known, by the level that its pairs are compared with: a card at half of its rate is as fast as a link
    between groups that has half of the rate of one within.
    """

    def __init__(self, layout: Layout, seen: Shares, speed: Sequence[float]) -> None:
        self._layout, self._seen, self._speed = layout, seen, speed
        self._by_level: dict[int, Mapping[Level, float]] = {}

    def of(self, node: int, level: Level) -> float:
        """Return the share of a level that a node can give."""
        speed = self._speed[node]
        if speed == 1 or not self._layout.groups:
            return speed
        if node not in self._by_level:
            self._by_level[node] = _best_by_level(self._layout, self._seen, node)
        return min(1.0, self._by_level[node].get(level, speed))


def _best_by_level(layout: Layout, seen: Shares, node: int) -> dict[Level, float]:
    """Return the best twentieth of a node's shares of each level that its pairs are compared with."""
    found: dict[Level, list[float]] = {}
    for other, share in enumerate(seen.rows[node]):
        if other != node:
            found.setdefault(seen.level(layout, node, other), []).append(share)
    return {level: _best(sorted(shares)) for level, shares in found.items()}


def _bounds(seen: Shares, settings: Settings) -> dict[str, float]:
    """Return the bound of each class of hops."""
    levels = [seen.near, seen.far, *([] if seen.apart is None else [seen.apart])]
    return {level.hops: pair_bound(level.scatter, settings.look_again) for level in levels}


def doubted_sides(layout: Layout, seen: Shares, settings: Settings) -> tuple[str, ...]:
    """Return the sides that are in doubt by their pairs with other sides; of a layout by groups, these groups."""
    best, usual = _shares_away(layout, seen)
    away = lower(best, settings.look_again)
    home = _slow_at_home(layout, seen, settings)
    return _sides(layout, away.keys(), away.keys() if home is None else away.keys() & home, usual)


def pair_bound(scatter: float, look_again: float) -> float:
    """Return the share of healthy below which a pair is in doubt, by the scatter of its class."""
    return 1 - max(look_again, min(WIDEST, PAIR_SIGMAS * scatter))


def _shares_away(layout: Layout, seen: Shares) -> tuple[list[float], list[float]]:
    """Return each node's best share and its mean with nodes of other sides.

    If it has too few neighbours, or no others, all nodes count.
    """
    count = len(layout.nodes)
    best, usual = [0.0] * count, [0.0] * count
    for members in layout.members().values() or (range(count),):
        own = set(members)
        others = [other for other in range(count) if other not in own]
        for node in members:
            row = seen.rows[node]
            apart = len(members) > NEIGHBOURS and others
            rising = sorted([row[other] for other in others] if apart else [*row[:node], *row[node + 1 :]])
            best[node], usual[node] = _best(rising), statistics.fmean(rising)
            if layout.groups and apart:
                # Links between groups may be slower than a slow card, so each class of hops has to be good.
                by_level = _best_by_level(layout, seen, node)
                best[node] = min(best for level, best in by_level.items() if level != seen.near)
    return best, usual


def _best(rising: Sequence[float]) -> float:
    return rising[math.ceil((len(rising) - 1) * BEST)]


def lower(values: Sequence[float], least: float, most: float = WIDEST) -> dict[int, float]:
    """Return the places of values ``least`` below healthy, or more if they scatter, each with its share of it."""
    centre, bound = edge(values, least, most)
    return {place: share / centre for place, share in enumerate(values) if share < bound}


def edge(values: Sequence[float], least: float, most: float = WIDEST) -> tuple[float, float]:
    """Return the healthy level of values, and the bound that is ``least`` below it, or more if they scatter."""
    centre = quantile(sorted(values), HEALTHY_NODES) or 1.0  # 0 if hardly any pair gave a result
    wide = min(most, NODE_SIGMAS * upper_spread(values) / centre)
    return centre, centre * (1 - max(least, wide))


def _slow_at_home(layout: Layout, seen: Shares, settings: Settings) -> set[int] | None:
    """Return the nodes that are slow with their neighbours, or have too few neighbours to decide; None: no sides."""
    members = layout.members()
    known = [node for nodes in members.values() if len(nodes) > NEIGHBOURS for node in nodes]
    if not known:
        return None
    by_side = {side: nodes for side, nodes in members.items() if len(nodes) > NEIGHBOURS}
    best = [_best(sorted(seen.rows[node][o] for o in by_side[layout.sides[node]] if o != node)) for node in known]
    slow = {known[place] for place in lower(best, settings.look_again)}
    return slow.union(node for side, nodes in members.items() if side not in by_side for node in nodes)


def _sound(layout: Layout, home: set[int] | None) -> frozenset[int]:
    return frozenset() if home is None else frozenset(range(len(layout.nodes))) - home


def _sides(layout: Layout, away: Set[int], alone: Set[int], usual: Sequence[float]) -> tuple[str, ...]:
    """Return the sides most of whose nodes are slow with others, or that are slower than other sides on average.

    The second finds missing up-links: with these, a node's best pairs stay good, from rounds in which few of its
    neighbours send. Nodes that are in doubt by themselves (``alone``) do not count there.
    """
    members = layout.members()
    rest = {side: [usual[node] for node in nodes if node not in alone] for side, nodes in members.items()}
    means = {side: statistics.fmean(values) for side, values in rest.items() if len(values) > NEIGHBOURS}
    apart = lower(list(means.values()), SIDE_SLOWER, SIDE_WIDEST) if len(means) > 2 else {}
    quiet = {side for place, side in enumerate(means) if place in apart}
    found = []
    for side, nodes in members.items():
        slow = sum(node in away for node in nodes)
        if side in quiet or (slow >= 2 and 2 * slow > len(nodes)):
            found.append(side)
    return tuple(found)


def _find_explained(members: Sequence[int], away: Mapping[int, float], home: Set[int] | None) -> set[int]:
    """Return the slow nodes of a slow side, except those that are slower than it and also slow with their neighbours.

    If few of its nodes are slow, they do not point to the side: only those good with their neighbours are explained.
    """
    slow = [node for node in members if node in away]
    sound = {node for node in slow if home is not None and node not in home}
    if 2 * len(slow) <= len(members):
        return sound
    usual = statistics.median(away[node] for node in slow)
    return sound.union(node for node in slow if away[node] >= SLOWER_THAN_ITS_SIDE * usual)


def _parts(layout: Layout, seen: Shares, settings: Settings, slow: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the parts of two or more nodes that good pairs hold together, largest first; () if there is only one."""
    bound = pair_bound(seen.near.scatter, settings.look_again)
    nodes = set(range(len(layout.nodes))) - set(slow)
    found = held_together(nodes, lambda node, left: [other for other in left if seen.rows[node][other] >= bound])
    parts = [tuple(sorted(part)) for part in found]
    large = sorted((part for part in parts if len(part) > 1), key=lambda part: (-len(part), part))
    return tuple(large) if len(large) > 1 else ()


def _crosses_sides(parts: tuple[tuple[int, ...], ...], a: int, b: int) -> bool:
    return any((a in part) != (b in part) for part in parts)
