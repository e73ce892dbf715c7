"""Which rail's leaf switch makes a side slow: all nodes of the side at once, over each rail alone.

If each rail has leaf switches of its own (a rail-optimized network, or separate planes), a side of the switch is one
leaf switch per rail, and one of them may have lost up-links. Over all rails together only the side shows.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.benchmarks.node_pairs import Pair, pairs_of
from railyard.parsers.output import Table
from railyard.results.record.form import Suspect
from railyard.site.topology import Places
from railyard.verdict.blame.search import sides
from railyard.verdict.blame.search.model import Layout, Round, Verdict, name_of_side
from railyard.verdict.blame.search.model import Suspect as Side
from railyard.verdict.wording import pair_search as words

#: A side is measured with so many good sides; these with one another are the control.
_GOOD_SIDES = 2
#: A rail is slow at a side if it gives this much less than the control: routes collide in healthy networks, too.
_SLOW = 0.10


@dataclass(frozen=True, slots=True)
class _SlowSide:
    """A named side, and the good ones that it is measured with."""

    found: Side
    name: str
    good: tuple[str, ...]


def rounds_of_sides(verdict: Verdict, layout: Layout) -> tuple[Round, ...]:
    """Return rounds in which all nodes of each named leaf switch send at once; () if there is nothing to compare."""
    made = [
        bout
        for side in _slow_sides(verdict, layout)
        for bout in sides.bouts(layout, (side.name,), side.good, frozenset())
    ]
    return tuple(each for bout in made for each in bout.rounds)


def single_pairs(table: Table) -> list[Pair]:
    """Return the pairs of a table that were measured one at a time."""
    return [pair for pair in pairs_of(table) if len(_of_rounds(table)[pair.round]) == 1]


def leaves_at_fault(
    tables: Mapping[str, Table], verdict: Verdict, layout: Layout, places: Places
) -> dict[tuple[int, ...], tuple[Suspect, ...]]:
    """Return the leaf switches of single rails that are slow, by the nodes of the side whose place they take.

    A side keeps its own name if all its rails are slow alike, if none is, or if it was not measured over each rail.
    """
    found: dict[tuple[int, ...], tuple[Suspect, ...]] = {}
    for side in _slow_sides(verdict, layout):
        shares = {rail: _share(table, side, layout) for rail, table in tables.items()}
        known = {rail: share for rail, share in shares.items() if share is not None}
        slow = {rail: share for rail, share in known.items() if share[0] < (1 - _SLOW) * share[1]}
        if len(known) == len(tables) and 0 < len(slow) < len(known):
            found[side.found.members] = tuple(
                _suspect(side, layout, places, rail, share, [other for other in known if other not in slow])
                for rail, share in slow.items()
            )
    return found


def _slow_sides(verdict: Verdict, layout: Layout) -> list[_SlowSide]:
    members = layout.members()
    slow = {one.members: name_of_side(layout, one) for one in verdict.named if one.kind == "side"}
    blamed = {member for one in verdict.named for member in one.members}
    good = tuple(side for side, nodes in members.items() if len(nodes) > 1 and blamed.isdisjoint(nodes))[:_GOOD_SIDES]
    return [
        _SlowSide(one, name, good)
        for one in verdict.named
        if (name := slow.get(one.members)) is not None and members.get(name) == one.members and len(good) > 1
    ]


def _of_rounds(table: Table) -> dict[int, list[Pair]]:
    found: dict[int, list[Pair]] = {}
    for pair in pairs_of(table):
        found.setdefault(pair.round, []).append(pair)
    return found


def _share(table: Table, side: _SlowSide, layout: Layout) -> tuple[float, float] | None:
    """Return what a pair of the side gives on average, and a pair of two good sides, MB/s; None if not measured."""
    sides_of = dict(zip(layout.nodes, layout.sides, strict=True))
    at_once = [pair for pairs in _of_rounds(table).values() if len(pairs) > 1 for pair in pairs]
    own, control = [], []
    for pair in at_once:
        both = {sides_of.get(pair.first), sides_of.get(pair.second)}
        if both == set(side.good):
            control.append(pair.slower_mb_s)
        elif side.name in both and both & set(side.good):
            own.append(pair.slower_mb_s)
    return (statistics.fmean(own), statistics.fmean(control)) if own and control else None


def _suspect(
    side: _SlowSide, layout: Layout, places: Places, rail: str, share: tuple[float, float], others: Sequence[str]
) -> Suspect:
    nodes = tuple(layout.nodes[member] for member in side.found.members)
    own, control = share
    leaf = places.leaf_on(rail, nodes[0]) or side.name
    reason = words.slow_leaf_of_rail(
        leaf, rail, words.AllAtOnce(len(nodes), own, side.good, control, layout.unit), others
    )
    return Suspect("leaf", reason, None, rail, leaf, nodes, "shown")
