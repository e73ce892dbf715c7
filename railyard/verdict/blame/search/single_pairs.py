"""Suspects are measured again, one pair at a time, with two good partners: what to measure, and what follows."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from railyard.base.numbers import quantile
from railyard.verdict.blame.search.matrix import MAD_TO_SIGMA, HealthyLevels, Shares
from railyard.verdict.blame.search.model import Layout, Pair, Settings, Step, Suspect
from railyard.verdict.wording import pair_search as words

#: The quantile of a pair's repeats that counts; and its standard error as a multiple of a mean's, for normal noise.
UPPER, _UPPER_ERROR = 0.75, 1.3626
#: A pair below this share in the rounds does not show that one of its nodes is good.
_GOOD_IN_ROUNDS = 0.9
#: A bound is at least this many standard errors below the control, but never lower than the widest one.
_ERRORS, _WIDEST = 4.0, 0.2

State = Literal["named", "cleared", "unclear"]


@dataclass(frozen=True, slots=True)
class Question:
    """A suspected node or pair (one or two members) and the partners to measure it with: two good ones, or fewer.

    Without members it is only a control: the partners with one another.
    """

    members: tuple[int, ...]
    partners: tuple[int, ...]

    def pairs(self) -> tuple[Pair, ...]:
        """Return what is to be measured: the pair itself, each member with each partner, the partners together."""
        own = [self.members] if len(self.members) == 2 else []
        held = [(member, partner) for member in self.members for partner in self.partners]
        return tuple((min(pair), max(pair)) for pair in (*own, *held, *self.control()))

    def control(self) -> tuple[Pair, ...]:
        """Return the pair of the partners, if there are two."""
        return ((min(self.partners), max(self.partners)),) if len(self.partners) == 2 else ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a question, and who it is about: the suspect itself, or the nodes of a pair that were slow."""

    state: State
    suspects: tuple[Suspect, ...]


@dataclass(frozen=True, slots=True)
class SinglePairs:
    """Pairs measured alone as shares of the rounds' levels, and what good pairs of each class give alone.

    A pair is slow below ``bound`` of that.
    """

    layout: Layout
    seen: HealthyLevels
    shares: Mapping[Pair, float]
    controls: Mapping[str, float]
    bound: float

    def share(self, a: int, b: int) -> float:
        """Return a pair's share of what good pairs of its class give alone."""
        return self.value(a, b) / self.expected_mb_s(a, b)

    def slow(self, a: int, b: int) -> bool:
        """True if a pair alone is below the bound."""
        return self.share(a, b) < self.bound

    def value(self, a: int, b: int) -> float:
        """Return what a pair gave in the layout's unit."""
        return self.shares[min(a, b), max(a, b)] * self.seen.level(self.layout, a, b).value

    def expected_mb_s(self, a: int, b: int) -> float:
        """Return what good pairs of that class give alone, in the layout's unit; in rounds, if none was alone."""
        level = self.seen.level(self.layout, a, b)
        return self.controls.get(level.hops, 1.0) * level.value


def partners(
    layout: Layout, seen: Shares, members: Sequence[int], good: Iterable[int], used: Iterable[int] = ()
) -> tuple[int, ...]:
    """Return two good nodes to measure ``members`` with, in the order of ``good``; fewer if there are no more.

    For a pair, nodes come first with which both its nodes were good in the rounds. For a pair on one side they are on
    that side. Else they are on other sides than the members and than each other, as far as possible. ``used`` ones
    come last.
    """
    spent = set(used)
    within = len(members) == 2 and bool(layout.sides) and not layout.is_far(*members)
    # A node has its whole rate with nodes of its group: links between groups may be slower than it.
    wanted = seen.level(layout, *members).hops if len(members) == 2 else "across sides"

    def rank(node: int) -> tuple[bool, bool, bool]:
        slow = len(members) == 2 and min(seen.rows[member][node] for member in members) < _GOOD_IN_ROUNDS
        unlike = bool(layout.sides) and any(seen.level(layout, each, node).hops != wanted for each in members)
        return node in spent, slow, unlike

    ordered = sorted((node for node in good if node not in members), key=rank)
    if not ordered:
        return ()
    first, rest = ordered[0], ordered[1:]
    apart = [node for node in rest if rank(node) == rank(first) and layout.is_far(first, node)]
    return (first, *(apart if apart and not within else rest)[:1])


def plan(questions: Sequence[Question], settings: Settings, why: str) -> Step:
    """Return the step that measures all that the questions need, each pair once and alone."""
    pairs = dict.fromkeys(pair for question in questions for pair in question.pairs())
    return Step("alone", tuple((pair,) for pair in pairs), settings.repeats, why)


def measure_alone(
    layout: Layout,
    seen: HealthyLevels,
    questions: Sequence[Question],
    values: Mapping[Pair, Sequence[float]],
    slow: float,
    upper: float = UPPER,
) -> SinglePairs:
    """Return what pairs give alone, and the bound: ``slow`` below good pairs, or four standard errors.

    The upper quartile of a pair's repeats counts, or the given quantile, since a disturbance only lowers a value. The
    good value is the median of the pairs of partners, for each class of hops; a pair of partners that is slow itself
    (compared with the best of its class) does not count.
    """
    shares = {
        (a, b): quantile(sorted(repeats), upper) / seen.level(layout, a, b).value for (a, b), repeats in values.items()
    }
    bound = bound_of(values.values(), slow)
    control_pairs = {pair for question in questions for pair in question.control()}
    suspected = {question.members for question in questions} - control_pairs
    controls: dict[str, float] = {}
    for hops in {seen.level(layout, *pair).hops for pair in shares}:
        of_class = {
            pair: share
            for pair, share in shares.items()
            if pair not in suspected and seen.level(layout, *pair).hops == hops
        }
        least = bound * max(of_class.values(), default=0.0)
        good = {pair: share for pair, share in of_class.items() if share >= least > 0}
        chosen = [share for pair, share in good.items() if pair in control_pairs]
        if good:
            controls[hops] = statistics.median(chosen or good.values())
    return SinglePairs(layout, seen, shares, controls, bound)


def bound_of(values: Iterable[Sequence[float]], slow: float) -> float:
    """Return the share of the control below which a pair is slow: ``slow`` or four standard errors of a pair lower."""
    errors = []
    for repeats in values:
        upper = quantile(sorted(repeats), UPPER)
        if upper > 0:
            middle = statistics.median(repeats)
            spread = statistics.median(abs(value - middle) for value in repeats) / upper
            errors.append(MAD_TO_SIGMA * _UPPER_ERROR * spread / math.sqrt(len(repeats)))
    error = statistics.median(errors) if errors else 0.0
    return 1 - max(slow, min(_WIDEST, _ERRORS * error))


def answer(question: Question, found: SinglePairs, sound: Set[int]) -> Answer:
    """Return who is named: a node slow with two partners that are good together, a slow pair whose nodes are not slow.

    If a node of a suspected pair is slow with both partners, it is named instead of the pair, unless it is ``sound``:
    good with its neighbours, so the slow part is beyond its leaf.
    """
    members, with_whom = question.members, question.partners
    if len(members) == 2 and not found.slow(*members):
        return Answer("cleared", (_pair(question, found),))
    if len(with_whom) < 2 or found.slow(*with_whom):
        return Answer("unclear", (_suspect(question, found),))
    slow = {node: sum(found.slow(node, partner) for partner in with_whom) for node in members}
    if any(0 < count < len(with_whom) for count in slow.values()):
        return Answer("unclear", (_suspect(question, found),))
    nodes = tuple(
        _node(node, with_whom, found) for node in members if slow[node] and not _is_excused(question, node, sound)
    )
    if len(members) == 1:
        return Answer("named", nodes) if nodes else Answer("cleared", (_suspect(question, found),))
    # a pair that is slower than its slow node is slow itself
    reach = min((node.share for node in nodes), default=1.0)
    own = (_pair(question, found),) if found.share(*members) < found.bound * reach else ()
    return Answer("named", (*nodes, *own))


def _is_excused(question: Question, node: int, sound: Set[int]) -> bool:
    return len(question.members) == 2 and node in sound


def _suspect(question: Question, found: SinglePairs) -> Suspect:
    if len(question.members) == 2:
        return _pair(question, found)
    return _node(question.members[0], question.partners, found)


def _node(node: int, with_whom: Sequence[int], found: SinglePairs) -> Suspect:
    layout = found.layout
    share = max((found.share(node, partner) for partner in with_whom), default=0.0)
    values = [(layout.nodes[partner], found.value(node, partner)) for partner in with_whom]
    expected = found.expected_mb_s(node, with_whom[0]) if with_whom else found.seen.far.value
    reason = words.slow_node(layout.nodes[node], values, expected, layout.unit, share)
    return Suspect("node", (node,), share, expected, reason)


def _pair(question: Question, found: SinglePairs) -> Suspect:
    layout, (a, b) = found.layout, question.members
    share, expected = found.share(a, b), found.expected_mb_s(a, b)
    ends = [
        (layout.pair(node, partner), found.value(node, partner)) for node in (a, b) for partner in question.partners
    ]
    reason = words.slow_pair(layout.pair(a, b), found.value(a, b), expected, layout.unit, share, ends)
    return Suspect("pair", (a, b), share, expected, reason)
