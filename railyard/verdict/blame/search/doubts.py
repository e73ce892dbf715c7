"""Who is in doubt after the rounds: nodes, sides of the switch, and pairs that neither explains. Nobody is named.

The questions of a search: who is measured alone, with which partners, and what the answers leave open.
"""

import math
import statistics
from collections.abc import Generator, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from railyard.base.numbers import quantile
from railyard.verdict.blame.search import sides, single_pairs
from railyard.verdict.blame.search import sides as network_faults
from railyard.verdict.blame.search.matrix import Shares, connected_parts, gather_repeats, upper_spread
from railyard.verdict.blame.search.model import Layout, Level, Pair, Settings, Step, Suspect, Value
from railyard.verdict.blame.search.sides import Check, Crossing, Route
from railyard.verdict.blame.search.single_pairs import Answer, Question, State
from railyard.verdict.wording import pair_search as words

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


def remaining_slow_pairs(
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
    found = connected_parts(nodes, lambda node, left: [other for other in left if seen.rows[node][other] >= bound])
    parts = [tuple(sorted(part)) for part in found]
    large = sorted((part for part in parts if len(part) > 1), key=lambda part: (-len(part), part))
    return tuple(large) if len(large) > 1 else ()


def _crosses_sides(parts: tuple[tuple[int, ...], ...], a: int, b: int) -> bool:
    return any((a in part) != (b in part) for part in parts)


#: At most this many suspected nodes are measured alone, the slowest first: more are not faults of single nodes.
NODES_AT_MOST = 64


@dataclass(slots=True)
class Search:
    """What a search knows at some point: what was seen, what is open, and what was answered."""

    layout: Layout
    settings: Settings
    seen: Shares
    doubts: Doubts
    speed: tuple[float, ...]
    steps: list[str]
    good: tuple[int, ...] = ()
    open: tuple[Question, ...] = ()
    routes: tuple[Route, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    checks: tuple[Check, ...] = ()
    answers: dict[tuple[int, ...], Answer] = field(default_factory=dict)
    sides: list[tuple[State, Suspect]] = field(default_factory=list)
    unsettled: tuple[str, ...] = ()
    named: list[Suspect] = field(default_factory=list)
    left_out: list[tuple[int, ...]] = field(default_factory=list)
    examined: set[Pair] = field(default_factory=set)


def ask(search: Search, nodes: Sequence[int], low: Sequence[Pair]) -> None:
    """Open a question for each suspected node and pair, and for a sample of each route, part and level."""
    layout = search.layout
    search.good = _good(layout, search.doubts, low)
    search.crossings = network_faults.crossings(search.doubts.parts)
    search.checks = network_faults.checks(layout, search.seen, search.good, search.settings.slow)
    slowest = sorted(nodes, key=lambda node: search.speed[node])
    search.left_out += [(node,) for node in slowest[NODES_AT_MOST:]]
    for node in slowest[:NODES_AT_MOST]:
        _open(search, (node,))
    open_slow(search, low)
    for crossing in search.crossings:
        search.open += crossing.questions()
    for check in search.checks:
        search.open += check.questions()


def open_slow(search: Search, low: Iterable[Pair]) -> None:
    """Open questions for slow pairs: a sample of those that share a side, and each of the others.

    Pairs of a route that is already named belong to it.
    """
    left = list(low)
    for at, each in enumerate(search.routes):
        own = [pair for pair in left if sides.on_route(search.layout, each, pair)]
        search.routes = (*search.routes[:at], replace(each, pairs=each.pairs + tuple(own)), *search.routes[at + 1 :])
        search.examined |= set(own)
        left = [pair for pair in left if pair not in search.examined]
    found = sides.routes(search.layout, left)
    search.routes += found
    for each in found:
        search.examined |= set(each.pairs)
        for pair in each.sample:
            _open(search, pair)
    on_routes = {pair for each in found for pair in each.pairs}
    open_pairs(search, [pair for pair in left if pair not in on_routes])


def open_pairs(search: Search, pairs: Iterable[Pair]) -> None:
    """Open a question for each of these slow pairs, the slowest first, up to the number that may be measured alone."""
    slowest = sorted(pairs, key=lambda pair: search.seen.rows[pair[0]][pair[1]])
    search.examined |= set(slowest)
    most = search.settings.alone_at_most
    search.left_out += slowest[most:]
    for pair in slowest[:most]:
        _open(search, pair)


def measure(search: Search) -> Generator[Step, Iterable[Value], None]:
    """Measure alone what is open, and answer it; what is unclear for the first time is opened again."""
    asked = search.open
    suspects = [question for question in asked if question.members]
    step = single_pairs.plan(asked, search.settings, words.suspects_alone(len(suspects)))
    values = gather_repeats(search.layout, step, (yield step))
    search.steps.append(describe_step(step))
    found = single_pairs.measure_alone(search.layout, search.seen, asked, values, search.settings.slow)
    crossing = {pair for each in search.crossings for pair in each.pairs}
    search.open = ()
    for question in suspects:
        if question.members in crossing:
            continue
        answer = single_pairs.answer(question, found, search.doubts.sound)
        if answer.state == "unclear" and question.members not in search.answers and question.partners:
            _open(search, question.members, question.partners)
        search.answers[question.members] = answer
    settled = [
        *(network_faults.part(search.layout, found, each) for each in search.crossings),
        *(network_faults.whole_class_below(search.layout, found, each, search.settings.slow) for each in search.checks),
    ]
    search.named += [suspect for suspect in settled if suspect is not None]
    search.crossings, search.checks = (), ()


def open_routes(search: Search) -> None:
    """Open the other pairs of a route that its sample does not confirm: one of them may be slow by itself."""
    kept = []
    unclear = {question.members for question in search.open}
    for each in search.routes:
        if unclear.isdisjoint(each.sample) and named_route(search, each) is None:
            open_pairs(search, [pair for pair in each.pairs if pair not in each.sample])
        else:
            kept.append(each)
    search.routes = tuple(kept)


def named_route(search: Search, each: Route) -> Suspect | None:
    """Return a route as named if the answers to its sample confirm it."""
    answers = [search.answers[pair] for pair in each.sample]
    slow = [one for answer in answers if answer.state == "named" for one in answer.suspects if one.kind == "pair"]
    return sides.route(search.layout, each, slow)


def describe_step(step: Step) -> str:
    """Return a step in words: ``alone: 6 pairs in 6 rounds, 7 times each``."""
    count = sum(len(each) for each in step.rounds)
    return words.step(step.name, count, len(step.rounds), step.repeats)


def _open(search: Search, members: tuple[int, ...], used: Iterable[int] = ()) -> None:
    search.open += (Question(members, single_pairs.partners(search.layout, search.seen, members, search.good, used)),)


def _good(layout: Layout, found: Doubts, low: Iterable[Pair]) -> tuple[int, ...]:
    """Return the nodes that are not in doubt: those without a slow pair first, each side's first before any second."""
    busy = {node for pair in low for node in pair}
    place: dict[str, int] = {}
    order = []
    for node in range(len(layout.nodes)):
        side = layout.sides[node] if layout.sides else ""
        place[side] = place.get(side, -1) + 1
        if found.speed[node] == 1 and side not in found.sides:
            order.append((node in busy, place[side], node))
    return tuple(node for _, _, node in sorted(order))
