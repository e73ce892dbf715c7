"""Slow paths between two leaves: at which of the two the up-link is, and which one it is if routes are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from railyard.verdict.blame.screening.doubts import SampleView
from railyard.verdict.blame.screening.model import Network, Suspect
from railyard.verdict.blame.screening.promise import up_link_uses
from railyard.verdict.blame.screening.suspects import Good, Route
from railyard.verdict.blame.screening.values import Leaves
from railyard.verdict.blame.search.model import Pair, Round
from railyard.verdict.blame.search.rounds import Packing
from railyard.verdict.wording import screening as words

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


def suspects_of_leaves(network: Network, leaves: Leaves, paths: Paths, found: SampleView) -> list[Suspect]:
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
            made.append(_up_link(network, leaves, ends, routes, found))
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


def _up_link(
    network: Network, leaves: Leaves, ends: tuple[int, ...], routes: Sequence[Route], found: SampleView
) -> Suspect:
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
