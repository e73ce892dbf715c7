"""Suspects measured with good partners, many at the same time: what to ask, how it is packed, what the answers say.

Who is in doubt after a sample: nodes, leaves, and pairs that neither explains. Nobody is named here.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from railyard.verdict.blame.screening.model import Kind, Settings, Suspect
from railyard.verdict.blame.screening.values import Bools, Floats, Ints, Leaves, Levels, Rows, relative
from railyard.verdict.blame.search import single_pairs
from railyard.verdict.blame.search.doubts import (
    NEIGHBOURS,
    SIDE_SLOWER,
    SIDE_WIDEST,
    SLOWER_THAN_ITS_SIDE,
    edge,
    pair_bound,
)
from railyard.verdict.blame.search.matrix import upper_spread
from railyard.verdict.blame.search.model import Packing, Pair, Round
from railyard.verdict.blame.search.model import Suspect as Found
from railyard.verdict.blame.search.single_pairs import Question, SinglePairs, State
from railyard.verdict.wording import screening as words


@dataclass(frozen=True, slots=True)
class FarPair:
    """A slow pair across leaves, and good neighbours of both its nodes: an up-link makes these slow too.

    ``question`` compares the pair with one neighbour of each node; ``near_first`` are more neighbours of the first node
    (each is measured with the second node), ``near_second`` those of the second.
    """

    question: Question
    near_first: tuple[int, ...]
    near_second: tuple[int, ...]

    @property
    def members(self) -> tuple[int, ...]:
        """Return the nodes of the pair."""
        return self.question.members

    def pairs(self) -> tuple[Pair, ...]:
        """Return what is to be measured."""
        a, b = self.question.members
        more = [(node, b) for node in self.near_first] + [(a, node) for node in self.near_second]
        return (*self.question.pairs(), *(_order_pair(*pair) for pair in more))


@dataclass(frozen=True, slots=True)
class Route:
    """A path that is slow for all neighbours: from the leaf ``start`` to the node ``to`` on the leaf ``end``."""

    pair: Pair
    start: int
    end: int
    to: int
    share: float
    expected: float
    values: int
    words: str


AnyQuestion = Question | FarPair
#: Multiples of it are spread evenly over a circle, however many there are.
_GOLDEN = (5**0.5 - 1) / 2
_One = TypeVar("_One", bound=AnyQuestion)
#: With at most this many repeats the best one counts: among thousands of pairs, two of three are disturbed too often.
FEW_REPEATS = 4


def upper_of(repeats: int) -> float:
    """Return the quantile that counts for this many repeats."""
    return single_pairs.UPPER if repeats > FEW_REPEATS else 1.0


class Good:
    """The nodes that may be partners: those that are not in doubt, the least used ones of each leaf first.

    Nodes of the leaves ``at_home`` are only partners within their leaf: its connection to other leaves is in doubt. The
    ``last`` are only used if no others are left.
    """

    def __init__(
        self, leaves: Leaves, nodes: Iterable[int], at_home: Iterable[int] = (), last: Iterable[int] = ()
    ) -> None:
        self._last = set(last)
        self._leaves = leaves
        self._of: dict[int, list[int]] = {}
        for node in nodes:
            self._of.setdefault(int(leaves.of[node]), []).append(node)
        self._beyond = [leaf for leaf in self._of if leaf not in set(at_home)]
        self._used: dict[int, int] = {}

    def nodes_at(self, leaf: int, count: int, without: Set[int] = frozenset()) -> tuple[int, ...]:
        """Return so many good nodes of a leaf, or as many as there are."""
        own = [node for node in self._of.get(leaf, ()) if node not in without]
        return self._take(sorted(own, key=self._order)[:count])

    def nodes_elsewhere(self, leaf: int, count: int, without: Set[int] = frozenset()) -> tuple[int, ...]:
        """Return so many good nodes of other leaves, each of another one, as far as there are."""
        first: list[int] = []
        for other in self._beyond:
            own = [node for node in self._of[other] if node not in without]
            if other != leaf and own:
                first.append(min(own, key=self._order))
        return self._take(sorted(first, key=self._order)[:count])

    def leaves(self) -> tuple[int, ...]:
        """Return the leaves that have good nodes for other leaves."""
        return tuple(self._beyond)

    def in_order(self) -> tuple[int, ...]:
        """Return all good nodes for any leaf: each leaf's first node before any leaf's second."""
        placed = [(place, node) for leaf in self._beyond for place, node in enumerate(self._of[leaf])]
        return tuple(node for _, node in sorted(placed))

    def _order(self, node: int) -> tuple[bool, int, int]:
        """Return the order in which nodes are taken: where leaves are not known, those after one another far apart."""
        place = node if self._leaves.known else round(node * _GOLDEN * len(self._leaves.of)) % len(self._leaves.of)
        return node in self._last, self._used.get(node, 0), place

    def _take(self, nodes: Sequence[int]) -> tuple[int, ...]:
        for node in nodes:
            self._used[node] = self._used.get(node, 0) + 1
        return tuple(nodes)


def of_node(leaves: Leaves, node: int, good: Good, used: Set[int] = frozenset()) -> Question:
    """Return the question about a node: two good partners of its own leaf, else of other leaves."""
    leaf = int(leaves.of[node])
    without = used | {node}
    partners = good.nodes_at(leaf, 2, without)
    if len(partners) < 2:
        partners = good.nodes_elsewhere(leaf, 2, without)
    return Question((node,), partners)


def of_pair(leaves: Leaves, pair: Pair, good: Good, neighbours: int) -> AnyQuestion:
    """Return the question about a pair: across leaves with neighbours of both nodes, else with two good partners."""
    a, b = pair
    start, end = int(leaves.of[a]), int(leaves.of[b])
    if start == end:
        return Question(pair, good.nodes_at(start, 2, {a, b}))
    first, second = good.nodes_at(start, neighbours, {a}), good.nodes_at(end, neighbours, {b})
    if not first or not second:
        return Question(pair, good.nodes_elsewhere(start, 2, {a, b}))
    return FarPair(Question(pair, (first[0], second[0])), first[1:], second[1:])


def questions_of(asked: Iterable[AnyQuestion]) -> tuple[Question, ...]:
    """Return the questions with two partners each that ``alone.measure_alone`` knows."""
    return tuple(one.question if isinstance(one, FarPair) else one for one in asked)


def fit_rounds(
    leaves: Leaves, asked: Sequence[_One], repeats: Sequence[int], rounds: int
) -> tuple[tuple[Round, ...], int, tuple[_One, ...], tuple[_One, ...]]:
    """Return rounds, repeats, and the questions that fit and that do not, in at most ``rounds`` rounds.

    The repeats are the largest number with which all questions fit, else the last one. Pairs across leaves share no
    leaf.
    """
    made: tuple[tuple[Round, ...], int, tuple[_One, ...], tuple[_One, ...]] = ((), repeats[-1], (), tuple(asked))
    for number_ in repeats:
        # if leaves are not known, nobody knows what shares an up-link: one pair at a time
        packing = Packing(None if leaves.known else 1, rounds // number_, leaves.needs)
        placed: set[Pair] = set()
        fit, left = [], []
        for one in asked:
            pairs = [pair for pair in dict.fromkeys(one.pairs()) if pair not in placed]
            if packing.place(pairs):
                placed |= set(pairs)
                fit.append(one)
            else:
                left.append(one)
        made = (packing.rounds(), number_, tuple(fit), tuple(left))
        if not left:
            break
    return made


def answer(
    leaves: Leaves, one: AnyQuestion, found: SinglePairs, values: Mapping[Pair, Sequence[float]], sound: Set[int]
) -> tuple[State, tuple[Suspect, ...], tuple[Route, ...]]:
    """Return what became of a question: who is named, cleared or unclear, or the routes that are slow."""
    if isinstance(one, Question):
        if any(pair not in values for pair in one.pairs()):
            return (
                "unclear",
                (_unmeasured_suspect(leaves, one.members),),
                (),
            )
        # sound nodes are good with neighbours: the slow part is beyond their leaf
        reached = single_pairs.answer(one, found, sound if _crosses_leaves(leaves, one.members) else frozenset())
        blamed = tuple(_suspect(leaves, each, one, values) for each in _without_sum(reached.suspects, found.bound))
        if reached.state == "named" and _crosses_leaves(leaves, one.members):
            # without neighbours, a slow pair and a slow up-link look the same
            pairs = tuple(each for each in blamed if each.kind == "pair")
            return ("unclear", pairs, ()) if pairs else ("named", blamed, ())
        return reached.state, blamed, ()
    return _of_far_pair(leaves, one, found, values)


def _without_sum(suspects: Sequence[Found], bound: float) -> tuple[Found, ...]:
    """Return suspects without the pair of two slow nodes that is no slower than both of them together can be."""
    nodes = [one for one in suspects if one.kind == "node"]
    if len(nodes) < 2:
        return tuple(suspects)
    able = sum(one.share for one in nodes) - 1
    return tuple(one for one in suspects if one.kind != "pair" or one.share < bound * able)


def _of_far_pair(
    leaves: Leaves, one: FarPair, found: SinglePairs, values: Mapping[Pair, Sequence[float]]
) -> tuple[State, tuple[Suspect, ...], tuple[Route, ...]]:
    a, b = one.question.members
    first, second = one.question.partners
    into = [node for node in (first, *one.near_first) if _order_pair(node, b) in values]
    out = [node for node in (second, *one.near_second) if _order_pair(a, node) in values]
    needed = [_order_pair(a, b), _order_pair(first, second), _order_pair(a, first), _order_pair(b, second)]
    if any(pair not in values for pair in needed) or not into or not out:
        return "unclear", (_unmeasured_suspect(leaves, (a, b)),), ()
    measured = _pair_words(leaves, one, found, into, out)
    suspect = Suspect(
        "pair", (a, b), found.share(a, b), found.expected_mb_s(a, b), measured, values=len(values[_order_pair(a, b)])
    )
    if not found.slow(a, b):
        return "cleared", (suspect,), ()
    if found.slow(a, first) or found.slow(b, second):
        return "unclear", (suspect,), ()
    slow_into, slow_out = sum(found.slow(node, b) for node in into), sum(found.slow(a, node) for node in out)
    if not slow_into and not slow_out:
        sure = len(into) > 1 and len(out) > 1 and not found.slow(first, second)
        return ("named" if sure else "unclear"), (suspect,), ()
    routes = []
    for node, other, slow, count in ((a, b, slow_into, len(into)), (b, a, slow_out, len(out))):
        if slow == count > 1:
            start, end = int(leaves.of[node]), int(leaves.of[other])
            values_ = suspect.values * (1 + count)
            routes.append(Route((a, b), start, end, other, suspect.share, suspect.expected, values_, measured))
    if len(routes) == 2 and found.slow(first, second):
        routes = []  # everything measured between the two leaves is slow: that is not a single path
    return "unclear", (suspect,), tuple(routes)


def _pair_words(leaves: Leaves, one: FarPair, found: SinglePairs, into: Sequence[int], out: Sequence[int]) -> str:
    layout = leaves.layout
    a, b = one.question.members
    near = [
        (layout.pair(*pair), found.value(*pair)) for pair in [(node, b) for node in into] + [(a, node) for node in out]
    ]
    return words.slow_pair(
        layout.pair(a, b), found.value(a, b), found.expected_mb_s(a, b), layout.unit, found.share(a, b), near
    )


def _suspect(leaves: Leaves, one: Found, asked: Question, values: Mapping[Pair, Sequence[float]]) -> Suspect:
    kind: Kind = "node" if one.kind == "node" else "pair"
    count = sum(len(values.get(pair, ())) for pair in asked.pairs() if set(one.members) & set(pair))
    reason = one.reason
    if not leaves.known:
        reason = words.unknown_leaves(reason)
    if kind == "node" and len(leaves.members[int(leaves.of[one.members[0]])]) == 1 and leaves.known:
        reason = words.only_node(reason, leaves.names[int(leaves.of[one.members[0]])])
    return Suspect(kind, one.members, one.share, one.expected, reason, values=count)


def _unmeasured_suspect(leaves: Leaves, members: tuple[int, ...]) -> Suspect:
    names = "-".join(leaves.layout.nodes[node] for node in members)
    return Suspect("node" if len(members) == 1 else "pair", members, 0.0, 0.0, words.no_value(names))


def _crosses_leaves(leaves: Leaves, members: Sequence[int]) -> bool:
    return len(members) == 2 and leaves.of[members[0]] != leaves.of[members[1]]


def _order_pair(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


#: Below this share of what its nodes can give, a value has collided: two flows on a link leave each other half of it.
COLLIDED = 0.85
#: If more than this share of values in equally crowded rounds has collided, such rounds show nothing about a pair.
MOST_COLLIDED = 0.25
#: With at least this many values, a share shows how many collide.
_ENOUGH = 100
#: A node is slow with all others if it is slow with this many leaves.
_BEYOND = 5
#: How many leaves show how much leaves differ, and how many standard deviations below others a slow leaf is.
_LEAVES, _LEAF_SIGMAS = 6, 5.0
#: If routes collide anyway, an unlucky leaf may be this much slower (once in some thousand healthy leaves 14 %).
_COLLIDED_LEAF = 0.25
#: A leaf meets others as a whole if this share of its nodes sends at once.
WHOLE_LEAF = 0.5


@dataclass(frozen=True, slots=True)
class Bounds:
    """Below which share of healthy something is in doubt; 0 if that cannot be decided."""

    home: float
    away: float
    leaf: float
    near: float
    far: float


@dataclass(frozen=True, slots=True)
class SampleView:
    """What a sample's values say about each node, leaf and pair.

    ``clean`` are the rows of rounds in which hardly any pair collides. ``home`` and ``away`` are each node's best share
    of healthy at its own leaf and, in clean rows, beyond it, NaN without a value. ``speed`` is the most that a node's
    pairs can give, 1 if it is not in doubt. ``beyond`` are nodes that are good at home and slow with all others.
    ``bouts`` has the mean of each leaf (column) in each round in which it met another as a whole, NaN in other rounds;
    ``usual`` is the leaf's median of these. ``bounds`` has the shares below which each of these is in doubt.
    """

    rows: Rows
    levels: Levels
    share: Floats
    clean: Bools
    home: Floats
    away: Floats
    speed: Floats
    nodes: tuple[int, ...]
    beyond: tuple[int, ...]
    leaves: tuple[int, ...]
    bouts: Floats
    usual: Floats
    inside: Floats
    bounds: Bounds


def read_sample(leaves: Leaves, levels: Levels, rows: Rows, settings: Settings) -> SampleView:
    """Return what the rows say."""
    share = relative(leaves, levels, rows)
    far = leaves.are_far(rows.a, rows.b)
    count = len(leaves.of)
    home = _best(count, rows, share, ~far)
    usual_home, home_bound = _healthy_bound(home, settings.look_again)
    slow_home = home < home_bound
    speed = np.where(slow_home, np.minimum(1.0, home / usual_home), 1.0)
    clean = _clean(leaves, rows, share, speed)
    away = _best(count, rows, share, far & clean)
    usual_away, away_bound = _healthy_bound(away, settings.look_again)
    without_home = np.isnan(home) & (away < away_bound)
    speed = np.where(without_home, np.minimum(1.0, away / usual_away), speed)
    doubted = slow_home | without_home
    bouts = _bouts(leaves, rows, share, speed, far)
    usual = _usual(bouts)
    inside = np.array([_median(home[nodes]) for nodes in leaves.members])
    quiet, leaf_bound = _quiet(usual)
    switches = _switches(leaves, doubted, speed)
    slow_leaves = tuple(sorted(quiet | switches))
    explained = _find_explained(leaves, switches, speed)
    nodes = [int(node) for node in np.flatnonzero(doubted) if node not in explained]
    nodes.sort(key=lambda node: (speed[node], node))
    beyond = _slow_beyond_leaf(
        leaves, rows.of(far & clean), (home >= home_bound) & (away < away_bound), speed, slow_leaves
    )
    near_bound, far_bound = (pair_bound(level.scatter, settings.look_again) for level in (levels.near, levels.far))
    bounds = Bounds(home_bound, away_bound, leaf_bound, near_bound, far_bound)
    return SampleView(
        rows, levels, share, clean, home, away, speed, tuple(nodes), beyond, slow_leaves, bouts, usual, inside, bounds
    )


def able_of(speed: Floats, rows: Rows) -> Floats:
    """Return what each pair can give by its nodes: if both are slow, both losses add up, as for different rails."""
    able: Floats = np.maximum(0.0, speed[rows.a] + speed[rows.b] - 1)
    return able


def slow_pairs(leaves: Leaves, found: SampleView, speed: Floats) -> list[tuple[float, Pair]]:
    """Return the pairs that are slower than their nodes explain, by their best value, the slowest first.

    Each has its share of what its nodes can give. If a leaf is in doubt, its pairs across leaves belong to it.
    """
    rows = found.rows
    kept = found.clean.copy()
    far = leaves.are_far(rows.a, rows.b)
    if found.leaves:
        doubted = np.zeros(len(leaves.names), dtype=bool)
        doubted[list(found.leaves)] = True
        of_leaf = doubted[leaves.of[rows.a]] | doubted[leaves.of[rows.b]]
        kept &= ~(of_leaf & (far & (rows.crowd > 1)))
        switch = found.inside < found.bounds.near
        kept &= ~((doubted & switch)[leaves.of[rows.a]] | (doubted & switch)[leaves.of[rows.b]])
    if found.beyond:
        # one pair of each such node is asked about, and represents the others
        kept &= ~(far & (np.isin(rows.a, found.beyond) | np.isin(rows.b, found.beyond)))
    able = able_of(speed, rows)
    bound = np.where(far, found.bounds.far, found.bounds.near)
    kept &= able > 0  # a node that gives nothing explains all of its pairs
    able = np.where(able > 0, able, np.inf)
    kept &= found.share / able < bound
    share = (found.share / able)[kept]
    keys = (rows.a * len(leaves.of) + rows.b)[kept]
    names, place = np.unique(keys, return_inverse=True)
    best: Floats = np.zeros(len(names))
    np.maximum.at(best, place, share)
    good = _best_of_others(leaves, found, able, names)
    best = np.maximum(best, good)
    least = np.where(
        leaves.of[names // len(leaves.of)] == leaves.of[names % len(leaves.of)], found.bounds.near, found.bounds.far
    )
    slow = np.flatnonzero(best < least)
    order = slow[np.argsort(best[slow], kind="stable")]
    return [(float(best[at]), divmod(int(names[at]), len(leaves.of))) for at in order]


def pairs_beyond(leaves: Leaves, found: SampleView) -> list[tuple[float, Pair]]:
    """Return, for each node that is slow with all others, two pairs with nodes that are not, at different leaves."""
    rows = found.rows
    kept = leaves.are_far(rows.a, rows.b) & found.clean
    chosen = []
    for node in found.beyond:
        taken: dict[int, tuple[float, Pair]] = {}
        for place in np.flatnonzero(kept & ((rows.a == node) | (rows.b == node))).tolist():
            pair = (int(rows.a[place]), int(rows.b[place]))
            other = pair[0] if pair[1] == node else pair[1]
            if other not in found.beyond and found.speed[other] == 1:
                taken.setdefault(int(leaves.of[other]), (float(found.share[place]), pair))
        chosen += list(taken.values())[:2]
    return sorted(chosen)


def _best_of_others(leaves: Leaves, found: SampleView, able: Floats, names: Ints) -> Floats:
    """Return the best share of each of these pairs over all its rows, even crowded ones: collisions only lower it."""
    keys = found.rows.a * len(leaves.of) + found.rows.b
    place = np.searchsorted(names, keys)
    place = np.minimum(place, max(0, len(names) - 1))
    best = np.zeros(len(names))
    if len(names):
        same = names[place] == keys
        np.maximum.at(best, place[same], (found.share / able)[same])
    return best


def _best(count: int, rows: Rows, share: Floats, kept: Bools) -> Floats:
    best = np.full(count, -np.inf)
    for node in (rows.a, rows.b):
        np.maximum.at(best, node[kept], share[kept])
    return np.where(np.isfinite(best), best, np.nan)


def _slow_beyond_leaf(
    leaves: Leaves, rows: Rows, slow: Bools, speed: Floats, slow_leaves: Sequence[int]
) -> tuple[int, ...]:
    """Return the nodes that are slow with good nodes of enough other leaves to decide, except at slow leaves."""
    found = []
    good = speed[rows.a] + speed[rows.b] == 2
    a, b = rows.a[good], rows.b[good]
    for node in np.flatnonzero(slow & (speed == 1) & ~np.isin(leaves.of, slow_leaves)).tolist():
        met = np.concatenate([leaves.of[b[a == node]], leaves.of[a[b == node]]])
        if len(np.unique(met)) >= _BEYOND:
            found.append(node)
    return tuple(found)


def _healthy_bound(best: Floats, least: float) -> tuple[float, float]:
    """Return the healthy level of nodes by their best values, and the bound below it."""
    values = best[~np.isnan(best)]
    return edge(values.tolist(), least) if len(values) else (1.0, 0.0)


def _clean(leaves: Leaves, rows: Rows, share: Floats, speed: Floats) -> Bools:
    """Return the rows of rounds that are not more crowded than those in which few values collide."""
    able = able_of(speed, rows)
    collided = share < COLLIDED * able
    # rounds are equally crowded within a power of two: 16 to 31 flows, 32 to 63
    size = np.frexp(rows.crowd.astype(np.float64))[1]
    enough = min(_ENOUGH, int((rows.crowd > 1).sum()) // 4)
    most = 1
    for each in np.unique(size[rows.crowd > 1]):
        alike = size == each
        if alike.sum() < enough:
            continue
        # a leaf at fault has slow values at any time: the median leaf counts
        if _usual_share(leaves, rows.of(alike), collided[alike]) > MOST_COLLIDED:
            break
        most = int(rows.crowd[alike].max())
    return rows.crowd <= most


def _usual_share(leaves: Leaves, rows: Rows, collided: Bools) -> float:
    """Return the share of rows that collided at the median leaf."""
    number = len(leaves.names)
    ends = np.concatenate([leaves.of[rows.a], leaves.of[rows.b]])
    rows_of = np.bincount(ends, minlength=number)
    slow = np.bincount(ends, weights=np.concatenate([collided, collided]), minlength=number)
    return float(np.median(slow[rows_of > 0] / rows_of[rows_of > 0]))


def _bouts(leaves: Leaves, rows: Rows, share: Floats, speed: Floats, far: Bools) -> Floats:
    """Return each leaf's mean in each round in which it met another one as a whole, without the nodes in doubt."""
    if not len(rows.a) or not leaves.known:
        return np.zeros((0, len(leaves.names)))
    size = np.array([len(nodes) for nodes in leaves.members])
    whole = far & (speed[rows.a] == 1) & (speed[rows.b] == 1)
    rounds = int(rows.round.max()) + 1
    total, values = (np.zeros(rounds * len(size)) for _ in range(2))
    for node in (rows.a, rows.b):
        kept = whole & (rows.crowd > 1) & (rows.crowd >= WHOLE_LEAF * size[leaves.of[node]])
        place = rows.round[kept] * len(size) + leaves.of[node[kept]]
        total += np.bincount(place, weights=share[kept], minlength=len(total))
        values += np.bincount(place, minlength=len(values))
    few = values <= np.maximum(NEIGHBOURS, WHOLE_LEAF / 2 * np.tile(size, rounds))
    means: Floats = np.where(few, np.nan, total / np.maximum(values, 1)).reshape(rounds, len(size))
    return means[~np.isnan(means).all(axis=1)]


def _usual(bouts: Floats) -> Floats:
    """Return each leaf's median over its bouts, or the best of one or two: the leaf that it met may have been slow."""
    met = (~np.isnan(bouts)).sum(axis=0) if len(bouts) else np.zeros(bouts.shape[1], dtype=int)
    found = np.full(bouts.shape[1], np.nan)
    for leaf in np.flatnonzero(met):
        own = bouts[:, leaf][~np.isnan(bouts[:, leaf])]
        found[leaf] = np.median(own) if met[leaf] > 2 else own.max()
    return found


def leaf_bound(found: SampleView) -> float:
    """Return the share of a control below which a leaf as a whole is slow, by how much leaves that are fine differ.

    With static routes a leaf may be unlucky each time, so its mean over several others does not even out. A few leaves
    do not show how much leaves differ: then the widest bound applies.
    """
    good = [leaf for leaf in np.flatnonzero(~np.isnan(found.usual)).tolist() if leaf not in found.leaves]
    values = found.usual[good].tolist()
    if len(values) < _LEAVES:
        return 1 - SIDE_WIDEST
    spread = upper_spread(values) / float(np.median(values))
    least = 0.0 if keeps_apart(found) else _COLLIDED_LEAF
    return 1 - min(SIDE_WIDEST, max(least, _LEAF_SIGMAS * spread))


def keeps_apart(found: SampleView) -> bool:
    """Return whether most pairs of whole leaves that meet have their up-links for themselves."""
    full = found.rows.crowd > 1
    return not full.any() or bool(found.clean[full].mean() > 0.5)


def _quiet(usual: Floats) -> tuple[set[int], float]:
    """Return the leaves that are slower than others on average, and the bound."""
    known = np.flatnonzero(~np.isnan(usual))
    if len(known) < 3:
        return set(), 0.0
    _, bound = edge(usual[known].tolist(), SIDE_SLOWER, SIDE_WIDEST)
    return {int(leaf) for leaf in known[usual[known] < bound]}, bound


def _switches(leaves: Leaves, doubted: Bools, speed: Floats) -> set[int]:
    """Return the leaves most of whose nodes are slow with one another, and alike: the switch itself."""
    if not leaves.known or len(leaves.names) < 3:
        return set()
    found = set()
    for leaf, nodes in enumerate(leaves.members):
        slow = speed[nodes[doubted[nodes]]]
        if len(nodes) > NEIGHBOURS and 2 * len(slow) > len(nodes):
            alike = np.abs(slow - np.median(slow)) <= (1 - SLOWER_THAN_ITS_SIDE) * np.median(slow)
            if 2 * int(alike.sum()) > len(nodes):
                found.add(leaf)
    return found


def _find_explained(leaves: Leaves, switches: set[int], speed: Floats) -> set[int]:
    """Return the slow nodes of a slow switch, except those that are slower than the others there."""
    found: set[int] = set()
    for leaf in switches:
        nodes = leaves.members[leaf]
        slow = nodes[speed[nodes] < 1]
        usual = np.median(speed[slow])
        found |= {int(node) for node in slow if speed[node] >= SLOWER_THAN_ITS_SIDE * usual}
    return found


def _median(values: Floats) -> float:
    kept = values[~np.isnan(values)]
    return float(np.median(kept)) if len(kept) else 1.0
