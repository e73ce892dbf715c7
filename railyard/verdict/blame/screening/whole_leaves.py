"""Leaves in doubt are measured as a whole, all their nodes at once, with good leaves; others are the control.

A dragonfly joins leaf switches to groups, and groups to one another. If the links of a group to other groups are slow,
each of its leaves is slow with most of its partners. What tells the two apart is how a leaf does within its group. So
slow leaves are measured with the other leaves of their group, too: if these are good, it is not the leaf.

Slow paths between two leaves: at which of the two the up-link is, and which one it is if routes are known.

A sample that has rounds of two groups alone (``switch_groups.plan``) also shows two that are slow with each other and
good with all others: what is between them is slow, such as the link between two groups of a dragonfly.
"""

import math
import statistics
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from railyard.verdict.blame.screening.knowledge import Given, Knowledge
from railyard.verdict.blame.screening.model import Network, Suspect
from railyard.verdict.blame.screening.promise import up_link_uses
from railyard.verdict.blame.screening.suspects import COLLIDED, Good, Route, SampleView, leaf_bound
from railyard.verdict.blame.screening.values import Leaves, Rows, join_rows, shift_partners
from railyard.verdict.blame.search import sides
from railyard.verdict.blame.search.model import Layout, Packing, Pair, Round, Step
from railyard.verdict.blame.search.sides import INSIDE_GOOD, Bout
from railyard.verdict.wording import screening as words

#: At most this many pairs of good leaves measure with one another as a control.
CONTROLS = 40
#: Where groups are known, a leaf is named if it gives less than this share of what the worst two good leaves give.
_BELOW_ALL = 0.9
#: Rounds in which each leaf meets another leaf of its group: with more of them, collisions of routes average out.
_ROUNDS = 4


def confirm(known: Knowledge) -> Generator[Step, Given, None]:
    """Measure leaves in doubt as a whole, each with good leaves, and good leaves with one another as a control."""
    doubted = known.sample_view.leaves
    if not doubted:
        return
    there = {leaf: [int(node) for node in nodes if node not in known.gone] for leaf, nodes in _members(known).items()}
    slow = {int(node) for node in np.flatnonzero(known.speed < 1)}
    fit = {leaf: [node for node in nodes if node not in slow] or nodes for leaf, nodes in there.items()}
    good = [leaf for leaf, nodes in fit.items() if leaf not in doubted and len(nodes) > 1 and not slow & set(nodes)]
    good = good or [leaf for leaf, nodes in fit.items() if leaf not in doubted and len(nodes) > 1]
    count = min(known.plan.leaf_rounds, known.rest)
    bouts: dict[tuple[str, str], list[Round]] = {}
    made: list[Round] = []
    for number in range(count if len(good) > 1 else 0):
        pairs: list[Pair] = []
        for one, other in _match_leaves(doubted, good, number):
            own = shift_partners(fit[one], fit[other], number)
            bouts.setdefault((known.leaves.names[one], known.leaves.names[other]), []).append(own)
            pairs += own
        made.append(tuple(pairs))
    known.count("leaf", [(float(known.sample_view.usual[leaf]), bool(made)) for leaf in doubted])
    if not made:
        _untold_leaves(known, doubted)
        return
    repeats = max(1, min(known.plan.leaf_repeats, known.rest // len(made)))
    why = words.why_leaves(len(doubted))
    rows = yield from known.ask(Step("leaves", tuple(made), repeats, why))
    _judged_leaves(known, bouts, rows)


def _members(known: Knowledge) -> dict[int, Sequence[int]]:
    return {leaf: nodes.tolist() for leaf, nodes in enumerate(known.leaves.members)}


def _match_leaves(doubted: Sequence[int], good: Sequence[int], number: int) -> list[tuple[int, int]]:
    """Return which leaves meet in a round: each doubted leaf meets a different good one, the rest one another."""
    if len(good) < len(doubted) + 2:
        # too few good leaves for all at once: those in doubt in one round, the control in the next
        number, control = divmod(number, 2)
        if control:
            return [(good[number % len(good)], good[(number + 1) % len(good)])]
        first = number % len(doubted)
        doubted = [*doubted[first:], *doubted[:first]]
        return list(zip(doubted, _rotate(good, number), strict=False))
    turned = _rotate(good, number)
    rest = turned[len(doubted) :]
    half = len(rest) // 2
    controls = [(rest[place], rest[place + half]) for place in range(min(half, CONTROLS))]
    return [*zip(doubted, turned, strict=False), *controls]


def _rotate(good: Sequence[int], number: int) -> list[int]:
    return [*good[number % len(good) :], *good[: number % len(good)]]


def _judged_leaves(known: Knowledge, bouts: dict[tuple[str, str], list[Round]], rows: Rows) -> None:
    values = _as_controls(known, known.lists(rows), bouts)
    made = []
    for (one, other), own in bouts.items():
        kept = tuple(tuple(pair for pair in each if pair in values) for each in own)
        if any(kept):
            made.append(Bout(one, other, kept))
    inside = {
        known.leaves.names[leaf]: float(known.sample_view.inside[leaf])
        for leaf in known.sample_view.leaves
        if any(bout.one == known.leaves.names[leaf] for bout in made)
    }
    doubted = set(inside)
    if not any(bout.one not in doubted for bout in made):
        _untold_leaves(known, known.sample_view.leaves)
        return
    apart, slow_from = 1 - leaf_bound(known.sample_view), known.settings.leaf_slow
    judged = sides.judge(known.leaves.layout, known.levels, made, values, inside, slow_from, apart)
    lowest = _lowest_control(known, [bout for bout in made if bout.one not in doubted], values)
    for name, (state, found) in zip(inside, judged, strict=True):
        count = sum(len(bout.rounds) for bout in made if bout.one == name)
        if state == "named" and found.share >= _BELOW_ALL * lowest:
            state, found = "unclear", replace(found, reason=words.like_good_leaves(found.reason, lowest))
        known.answered.add(
            state, [Suspect("leaf", found.members, found.share, found.expected, found.reason, None, (name,), count)]
        )
    _untold_leaves(known, [leaf for leaf in known.sample_view.leaves if known.leaves.names[leaf] not in doubted])


def _lowest_control(known: Knowledge, made: Sequence[Bout], values: Mapping[Pair, Sequence[float]]) -> float:
    """Return what the worst two good leaves give each other as a share of their median, infinite without groups.

    Static routes between groups may lead all nodes of two leaves over one link of several.
    """
    if known.levels.apart is None:
        return math.inf
    layout = known.leaves.layout
    means = [
        statistics.fmean(
            statistics.median(values[pair]) / known.levels.level(layout, *pair).value
            for each in bout.rounds
            for pair in each
        )
        for bout in made
    ]
    usual = statistics.median(means)
    return min(means) / usual if usual else 0.0


def _as_controls(
    known: Knowledge, values: Mapping[Pair, Sequence[float]], bouts: Mapping[tuple[str, str], Sequence[Round]]
) -> Mapping[Pair, Sequence[float]]:
    """Return the values of pairs between groups as if these gave the share of their level that pairs of a group give.

    Many nodes share the links between two groups, so a leaf that meets more leaves of other groups gives less. By good
    leaves (the controls) it is known how much less. Without such a control, values between groups are left out.
    """
    if known.levels.apart is None:
        return values
    doubted, leaves = {known.leaves.names[leaf] for leaf in known.sample_view.leaves}, known.leaves
    shares: dict[bool, list[float]] = {False: [], True: []}
    for (one, _), rounds in bouts.items():
        for a, b in {pair for each in rounds for pair in each if one not in doubted and pair in values}:
            level = known.levels.level(leaves.layout, a, b).value
            shares[leaves.are_between_groups((a, b))].append(statistics.fmean(values[a, b]) / level)
    usual = {apart: statistics.median(own) if own else 0.0 for apart, own in shares.items()}
    if not usual[True]:
        return {pair: own for pair, own in values.items() if not leaves.are_between_groups(pair)}
    factor = (usual[False] or 1.0) / usual[True]
    if not usual[False]:
        # No control within a group: a leaf is then compared by its pairs between groups alone.
        values = {pair: own for pair, own in values.items() if leaves.are_between_groups(pair)}
    return {
        pair: [factor * value for value in own] if leaves.are_between_groups(pair) else own
        for pair, own in values.items()
    }


def _untold_leaves(known: Knowledge, doubted: Sequence[int]) -> None:
    for leaf in doubted:
        name = known.leaves.names[leaf]
        reason = words.no_good_leaves(name)
        members = tuple(known.leaves.members[leaf].tolist())
        known.answered.add("unclear", [Suspect("leaf", members, 0.0, known.levels.far.value, reason, None, (name,))])


def measure_within_groups(known: Knowledge) -> Generator[Step, Given, Mapping[int, float]]:
    """Measure the named leaves with leaves of their own groups; return for each what it gives there, as a share.

    Leaves of groups without a named leaf do the same at the same time, and their median is 1.0. A leaf without a value
    or without such a control is left out.
    """
    slow = {leaf for leaf, name in enumerate(known.leaves.names) if name in _named_leaves(known)}
    groups = _leaves_by_group(known)
    count = min(_ROUNDS, known.rest)
    if not slow or len(groups) < 2 or not count:
        return {}
    rounds = tuple(
        tuple(
            pair for leaves in groups for one, other in _meetings(leaves, number) for pair in _bout(known, one, other)
        )
        for number in range(count)
    )
    values = known.lists((yield from known.ask(Step("groups", rounds, 1, words.why_groups(len(slow))))))
    shares: dict[int, list[float]] = {}
    for (a, b), found in values.items():
        level = known.levels.level(known.leaves.layout, a, b).value
        for leaf in {int(known.leaves.of[a]), int(known.leaves.of[b])}:
            shares.setdefault(leaf, []).append(statistics.fmean(found) / level)
    means = {leaf: statistics.fmean(own) for leaf, own in shares.items()}
    control = [means[leaf] for leaves in groups if not slow & set(leaves) for leaf in leaves if leaf in means]
    usual = statistics.median(control) if control else 0.0
    return {leaf: means[leaf] / usual for leaf in slow if leaf in means} if usual else {}


def in_place_of_leaves(known: Knowledge, within: Mapping[int, float]) -> list[Suspect]:
    """Return the named suspects, with a group in the place of its leaves where all are named and good within it.

    A leaf that is good within its group while others of the group are good everywhere stays named, with that reason.
    But where pairs of whole leaves share links between groups, a leaf may be unlucky: then only what is slow within its
    group, too, shows a leaf. Others are undecided.
    """
    by_name = _named_leaves(known)
    good = {leaf: share for leaf, share in within.items() if share >= INSIDE_GOOD}
    replaced: dict[str, Suspect] = {}
    for leaves in _leaves_by_group(known):
        slow = [leaf for leaf in leaves if leaf in good]
        suspects = [by_name[known.leaves.names[leaf]] for leaf in slow]
        if len(slow) == len(leaves):
            group = _of_group(known, leaves, suspects, min(good[leaf] for leaf in slow))
            replaced |= {one.leaves[0]: group for one in suspects}
        else:
            for leaf, one in zip(slow, suspects, strict=True):
                replaced[one.leaves[0]] = replace(one, reason=words.good_within_group(one.reason, good[leaf]))
    named = [replaced.get(one.leaves[0], one) if one.kind == "leaf" else one for one in known.answered.named]
    if not _share_links_between_groups(known):
        return named
    # With no good leaf in its group, a leaf was only measured with others that are in doubt.
    partners = {leaf for own in _leaves_by_group(known) if not set(own) <= within.keys() for leaf in own}
    slow_within = {known.leaves.names[leaf] for leaf in partners & within.keys() if within[leaf] < INSIDE_GOOD}
    open_ = [one for one in named if one.kind == "leaf" and one.leaves[0] not in slow_within]
    known.answered.unclear += [replace(one, reason=words.only_between_groups(one.reason)) for one in open_]
    return [one for one in named if one not in open_]


def _share_links_between_groups(known: Knowledge) -> bool:
    """Return whether most pairs of whole leaves of two groups give less than a pair alone."""
    found = known.sample_view
    crowded = known.leaves.are_apart(found.rows.a, found.rows.b) & (found.rows.crowd > 1)
    return bool(crowded.any() and np.median(found.share[crowded]) < COLLIDED)


def _named_leaves(known: Knowledge) -> dict[str, Suspect]:
    return {one.leaves[0]: one for one in known.answered.named if one.kind == "leaf"}


def _leaves_by_group(known: Knowledge) -> list[list[int]]:
    """Return the leaves of each group that has several: those of which two nodes are there."""
    leaves = known.leaves
    if not leaves.layout.groups:
        return []
    found: dict[int, list[int]] = {}
    for leaf in range(len(leaves.names)):
        there = _nodes(known, leaf)
        if len(there) > 1:
            found.setdefault(int(leaves.groups[there[0]]), []).append(leaf)
    return [own for own in found.values() if len(own) > 1]


def _nodes(known: Knowledge, leaf: int) -> list[int]:
    return [int(node) for node in known.leaves.members[leaf] if int(node) not in known.gone]


def _meetings(leaves: Sequence[int], number: int) -> list[Pair]:
    """Return which leaves of a group meet in a round: in a few rounds each meets several others."""
    # One stays, the others move on by a place each round: the schedule of a round-robin tournament.
    turn = number % (len(leaves) - 1)
    order = [leaves[0], *leaves[1 + turn :], *leaves[1 : 1 + turn]]
    half = len(order) // 2
    return list(zip(order[:half], reversed(order[len(order) - half :]), strict=True))


def _bout(known: Knowledge, one: int, other: int) -> tuple[Pair, ...]:
    return shift_partners(_nodes(known, one), _nodes(known, other), 0)


def _of_group(known: Knowledge, leaves: Sequence[int], suspects: Sequence[Suspect], within: float) -> Suspect:
    layout = known.leaves.layout
    members = tuple(node for one in suspects for node in one.members)
    share = statistics.fmean(one.share for one in suspects)
    expected = statistics.fmean(one.expected for one in suspects)
    name = layout.groups[members[0]]
    reason = words.slow_group(name, len(leaves), share * expected, expected, layout.unit, share, within)
    return Suspect("group", members, share, expected, reason, None, (name,), sum(one.values for one in suspects))


#: Streams from one node to other leaves for each up-link that the leaf has: of so many, six are over a given up-link
#: (each goes out by one and comes back by one), so that fewer than two are with a probability of 2 %.
_STREAMS = 3
#: A leaf is at fault if it has at least two slow streams, and at least this many times as many as the other leaf.
_HITS, _CLEAR = 2, 3
#: A leaf is at fault if it has slow pairs with this many leaves, which are not faster than the path by these bounds.
_COMPANY, _ABOUT, _ABOVE = 3, 1.1, 0.02


@dataclass(frozen=True, slots=True)
class Trace:
    """Streams from one node of each of two leaves to nodes of other leaves: one leaf's streams show the up-link."""

    leaves: tuple[int, int]
    streams: tuple[tuple[Pair, ...], tuple[Pair, ...]]


@dataclass(slots=True)
class Paths:
    """Slow paths by their two leaves, and what is known of the end that is at fault."""

    routes: dict[tuple[int, int], list[Route]] = field(default_factory=dict)
    at: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, routes: Sequence[Route]) -> None:
        """Add slow paths."""
        for each in routes:
            key = (min(each.start, each.end), max(each.start, each.end))
            self.routes.setdefault(key, []).append(each)

    def by_nodes(self, beyond: Sequence[int]) -> None:
        """Settle those that end at a node which is slow with all other leaves: only one up-link leads to it."""
        for key, routes in self.routes.items():
            ends = {each.end for each in routes if each.to in beyond}
            if len(ends) == 1:
                self.at[key] = ends.pop()

    def by_company(self, leaves: Leaves, slow: Sequence[tuple[float, Pair]]) -> None:
        """Settle those where one leaf has slow pairs with many others: at least three, three times the other leaf's.

        Pairs count if they are about as slow as the path. Other leaves may have their own faults, so a few slow pairs
        show nothing.
        """
        for key, routes in self.routes.items():
            if key in self.at:
                continue
            most = _ABOUT * max(each.share for each in routes) + _ABOVE
            others: dict[int, set[int]] = {leaf: set() for leaf in key}
            for share, pair in slow:
                ends = [int(leaves.of[node]) for node in pair]
                for leaf, other in (ends, ends[::-1]):
                    if leaf in others and other not in key and share <= most:
                        others[leaf].add(other)
            counts = sorted((len(others[leaf]), leaf) for leaf in key)
            if counts[1][0] >= _COMPANY and counts[1][0] >= _CLEAR * counts[0][0]:
                self.at[key] = counts[1][1]

    def by_routes(self, network: Network, leaves: Leaves, found: SampleView) -> None:
        """If routes are known, settle those where the up-link of one end carried something good."""
        if not network.routes:
            return
        good = up_link_uses(network, leaves, found.rows.of(found.share >= found.bounds.far)) > 0
        for key, routes in self.routes.items():
            suspected = [
                leaf for leaf in key if any(not good[leaf, network.routes[each.start][each.to]] for each in routes)
            ]
            if len(suspected) == 1:
                self.at[key] = suspected[0]

    def open(self) -> list[tuple[int, int]]:
        """Return the two leaves of each path that is not settled."""
        return [key for key in self.routes if key not in self.at]


def traces(
    leaves: Leaves,
    open_: Sequence[tuple[int, int]],
    good: Good,
    without: Sequence[int],
    up_links: int | None,
    rounds: int,
) -> tuple[tuple[Trace, ...], tuple[Round, ...]]:
    """Return the streams that show which of two leaves is at fault, for as many pairs of leaves as fit, in rounds."""
    doubted = {*without, *(leaf for key in open_ for leaf in key)}
    targets = [leaf for leaf in good.leaves() if leaf not in doubted]
    packing = Packing(most=rounds, needs=leaves.needs)
    made = []
    for place, key in enumerate(open_):
        streams = []
        for side, leaf in enumerate(key):
            wanted = _STREAMS * (up_links or len(leaves.members[leaf]))
            streams.append(_streams(good, leaf, targets, wanted, 7 * place + 3 * side))
        if all(streams) and packing.place(tuple(dict.fromkeys((*streams[0], *streams[1])))):
            made.append(Trace(key, (streams[0], streams[1])))
    return tuple(made), packing.rounds()


def settle(paths: Paths, made: Sequence[Trace], slow: Mapping[Pair, bool]) -> None:
    """Settle paths by the slow streams of each of their leaves: at least two, and three times the other leaf's."""
    for each in made:
        hits = (
            sum(slow.get(pair, False) for pair in each.streams[0]),
            sum(slow.get(pair, False) for pair in each.streams[1]),
        )
        most = max(hits)
        if most >= _HITS and most >= _CLEAR * min(hits):
            paths.at[each.leaves] = each.leaves[hits.index(most)]


def suspects_of_leaves(network: Network, leaves: Leaves, paths: Paths) -> list[Suspect]:
    """Return a suspect for each leaf that has a slow up-link, and one for each two leaves that are undecided."""
    by_leaf: dict[tuple[int, ...], list[Route]] = {}
    for key, routes in paths.routes.items():
        ends: tuple[int, ...] = (paths.at[key],) if key in paths.at else key
        by_leaf.setdefault(ends, []).extend(routes)
    certain = {leaf for ends in by_leaf if len(ends) == 1 for leaf in ends}
    made = []
    for ends, routes in by_leaf.items():
        if len(ends) == 2 and certain.intersection(ends):
            leaf = next(leaf for leaf in ends if leaf in certain)
            by_leaf[leaf,].extend(routes)
    for ends, routes in by_leaf.items():
        if len(ends) == 1 or not certain.intersection(ends):
            made.append(_up_link(network, leaves, ends, routes))
    return made


def of_leaf(leaves: Leaves, suspects: Sequence[Suspect], pair: Pair) -> bool:
    """Return whether a pair across leaves has an end at a suspect's leaf: its up-link explains the pair."""
    ends = {leaves.names[int(leaves.of[node])] for node in pair}
    return len(ends) == 2 and any(set(one.leaves) & ends for one in suspects)


def _streams(good: Good, leaf: int, targets: Sequence[int], wanted: int, start: int) -> tuple[Pair, ...]:
    own = good.nodes_at(leaf, 4)
    if not own or not targets:
        return ()
    found: dict[Pair, None] = {}
    for place in range(wanted):
        one = own[place % len(own)]
        other = good.nodes_at(targets[(start + place) % len(targets)], 1)
        found[min(one, other[0]), max(one, other[0])] = None
    return tuple(found)


def _up_link(network: Network, leaves: Leaves, ends: tuple[int, ...], routes: Sequence[Route]) -> Suspect:
    names = [leaves.names[leaf] for leaf in ends]
    slowest = min(routes, key=lambda each: each.share)
    part = None
    if network.routes and len(ends) == 1:
        numbers = {network.routes[each.start][each.to] for each in routes}
        part = ", ".join(map(str, sorted(numbers)))
    others = sorted({leaves.names[leaf] for each in routes for leaf in (each.start, each.end)} - set(names))
    paths = [words.path_between(leaves.names[each.start], leaves.layout.nodes[each.to]) for each in routes[:3]]
    expected, more = (slowest.expected, leaves.layout.unit), others[:3] if len(others) > 1 else []
    paths = list(dict.fromkeys(paths))
    reason = words.slow_up_link(slowest.words, paths, slowest.share, expected, more, names, part)
    members = tuple(int(node) for leaf in ends for node in leaves.members[leaf])
    values = sum(each.values for each in routes)
    return Suspect("up-link", members, slowest.share, slowest.expected, reason, part, tuple(names), values)


#: Two groups are named if they are this much slower with each other than others are, in both kinds of rounds, and by as
#: many standard errors. Each must be good with two others at least, and slow with one in three at most.
_PATH_SLOW, _PATH_ERRORS, _OTHERS = 0.15, 4.0, 2


@dataclass(slots=True)
class _Meetings:
    """What two groups gave each other when their nodes met, as shares of the usual: alone, and while all others met."""

    alone: list[float] = field(default_factory=list)
    at_once: list[float] = field(default_factory=list)


def name_paths(known: Knowledge) -> None:
    """Name two groups that are slow with each other and good with all others, in place of what else that shows.

    Between two leaves there is nothing but up-links of one of them, which slow streams show. Values with a named node
    do not count. A leaf or group that stays named explains what its group gives, so nothing else is named there.
    """
    if not known.leaves.layout.groups:
        return
    layout = known.leaves.layout.by_groups()
    if len(layout.members()) < _OTHERS + 2:
        return
    met = _sides_met(known, layout)
    slow = [pair for pair, each in met.items() if _is_slow(each, met)]
    counts = Counter(side for pair in slow for side in pair)
    most = max(1, (len(layout.members()) - 1) // 3)
    for pair in [pair for pair in slow if max(counts[side] for side in pair) <= most]:
        each = met[pair]
        share = statistics.fmean((*each.alone, *each.at_once))
        members = tuple(node for side in pair for node in layout.members()[side])
        reason = words.slow_path(pair, share, len(each.alone) + len(each.at_once))
        level = (known.levels.apart or known.levels.far).value
        path = Suspect("path", members, share, level, reason, None, pair, len(each.alone) + len(each.at_once))
        answered = known.answered
        named = [one for one in answered.named if not _is_of_path(known, layout, one, pair)]
        if any(one.kind not in _OF_A_NODE and set(one.members) & set(members) for one in named):
            continue
        answered.named = [*named, path]
        answered.unclear = [one for one in answered.unclear if not _is_of_path(known, layout, one, pair)]


def _sides_met(known: Knowledge, layout: Layout) -> dict[tuple[str, str], _Meetings]:
    """Return what each two groups gave each other in rounds where all their nodes met, by the usual of such rounds."""
    rows, sick = join_rows(known.rows), {one.members[0] for one in known.answered.named if one.kind in _OF_A_NODE}
    found: dict[tuple[str, str], _Meetings] = {}
    by_round: dict[int, list[tuple[tuple[str, str], float]]] = {}
    for a, b, value, number in zip(
        rows.a.tolist(), rows.b.tolist(), rows.value.tolist(), rows.round.tolist(), strict=True
    ):
        pair = (layout.sides[a], layout.sides[b])
        if pair[0] != pair[1]:
            ordered = (min(pair), max(pair))
            by_round.setdefault(number, []).append((ordered, 0.0 if {a, b} & sick else value))
    sizes = {side: len(nodes) for side, nodes in layout.members().items()}
    for rounds in by_round.values():
        counts = Counter(pair for pair, _ in rounds)
        for pair, value in rounds:
            # A few streams do not show that a link of several cables has lost some.
            if value and counts[pair] > 1 and 2 * counts[pair] > min(sizes[side] for side in pair):
                each = found.setdefault(pair, _Meetings())
                (each.alone if len(counts) == 1 else each.at_once).append(value)
    for name in ("alone", "at_once"):
        means = [statistics.fmean(getattr(each, name)) for each in found.values() if getattr(each, name)]
        usual = statistics.median(means) if means else 1.0
        for each in found.values():
            setattr(each, name, [value / usual for value in getattr(each, name)])
    return found


_OF_A_NODE = ("node", "rail", "gpu path")


def _is_slow(each: _Meetings, met: Mapping[tuple[str, str], _Meetings]) -> bool:
    """Return whether two groups are slow with each other in both kinds of rounds, by more than chance.

    Where the routes of some groups collide, all values of these two groups are low. So what counts is how much the
    means of other groups differ, and not only their values.
    """
    for name in ("alone", "at_once"):
        values = getattr(each, name)
        others = [getattr(other, name) for other in met.values() if other is not each and getattr(other, name)]
        if len(values) < 2 or len(others) < 2:
            return False
        error = statistics.stdev(value for own in others for value in own) / math.sqrt(len(values))
        spread = statistics.stdev(statistics.fmean(own) for own in others)
        if statistics.fmean(values) > 1 - max(_PATH_SLOW, _PATH_ERRORS * error, _PATH_ERRORS * spread):
            return False
    return True


def _is_of_path(known: Knowledge, layout: Layout, one: Suspect, path: tuple[str, str]) -> bool:
    """Return whether a slow path explains a suspect: all that is slow of it is between these two groups."""
    sides = {layout.sides[node] for node in one.members}
    if one.kind in _OF_A_NODE or not sides <= set(path):
        return False
    if one.kind == "pair":
        return len(sides) == 2
    rows = join_rows(known.rows)
    shares: list[float] = []
    for a, b, value in zip(rows.a.tolist(), rows.b.tolist(), rows.value.tolist(), strict=True):
        ends = {layout.sides[a], layout.sides[b]}
        if {a, b} & set(one.members) and len(ends) == 2 and ends != set(path):
            shares.append(value)
    usual = [value for a, b, value in zip(rows.a.tolist(), rows.b.tolist(), rows.value.tolist(), strict=True)
             if layout.sides[a] != layout.sides[b] and {layout.sides[a], layout.sides[b]} != set(path)]  # fmt: skip
    return bool(shares) and statistics.fmean(shares) >= (1 - _PATH_SLOW) * statistics.fmean(usual)
