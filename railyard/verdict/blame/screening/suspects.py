"""Suspects measured with good partners, many at the same time: what to ask, how it is packed, what the answers say."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

from railyard.verdict.blame.screening.model import Kind, Suspect
from railyard.verdict.blame.screening.values import Leaves
from railyard.verdict.blame.search import single_pairs
from railyard.verdict.blame.search.model import Pair, Round
from railyard.verdict.blame.search.model import Suspect as Found
from railyard.verdict.blame.search.rounds import Packing
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


Asked = Question | FarPair
#: Multiples of it are spread evenly over a circle, however many there are.
_GOLDEN = (5**0.5 - 1) / 2
_One = TypeVar("_One", bound=Asked)
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


def of_pair(leaves: Leaves, pair: Pair, good: Good, neighbours: int) -> Asked:
    """Return the question about a pair: across leaves with neighbours of both nodes, else with two good partners."""
    a, b = pair
    start, end = int(leaves.of[a]), int(leaves.of[b])
    if start == end:
        return Question(pair, good.nodes_at(start, 2, {a, b}))
    first, second = good.nodes_at(start, neighbours, {a}), good.nodes_at(end, neighbours, {b})
    if not first or not second:
        return Question(pair, good.nodes_elsewhere(start, 2, {a, b}))
    return FarPair(Question(pair, (first[0], second[0])), first[1:], second[1:])


def questions_of(asked: Iterable[Asked]) -> tuple[Question, ...]:
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
    leaves: Leaves, one: Asked, found: SinglePairs, values: Mapping[Pair, Sequence[float]], sound: Set[int]
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
