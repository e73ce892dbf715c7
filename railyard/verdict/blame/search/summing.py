"""The verdict of a search: who is named, cleared, or unclear, and the sentence that sums up."""

import statistics
from collections.abc import Iterable, Sequence

from railyard.base.wording import listing, number, percent
from railyard.verdict.blame.search.model import Suspect, Verdict
from railyard.verdict.blame.search.questions import Search, named_route

#: How many are in the sentence; all are in the verdict.
_TOLD = 6


def verdict(known: Search) -> Verdict:
    """Return the verdict of a search that has nothing open."""
    routes, explained = _routes(known)
    found = {
        state: [
            one
            for answer in known.answers.values()
            if answer.state == state
            for one in answer.suspects
            if one.members not in explained
        ]
        for state in ("named", "cleared", "unclear")
    }
    of_sides = {state: [one for each, one in known.sides if each == state] for state in found}
    nodes = _as_sides(known, found["named"])
    named = _without_duplicates((*of_sides["named"], *routes, *known.named, *nodes))
    names = {one.members for one in named}
    cleared = _without_duplicates(one for one in (*of_sides["cleared"], *found["cleared"]) if one.members not in names)
    left_out = [_left_out(known, members) for members in known.left_out]
    unclear = _without_duplicates(
        one
        for one in (*of_sides["unclear"], *_find_unsettled(known, named), *found["unclear"], *left_out)
        if one.members not in names
    )
    sentence = _sentence(known, named, cleared, unclear)
    return Verdict(named, cleared, unclear, known.seen.levels, tuple(known.steps), sentence)


def _routes(known: Search) -> tuple[list[Suspect], set[tuple[int, ...]]]:
    """Return the routes that are named, and the pairs that they explain."""
    named: list[Suspect] = []
    explained: set[tuple[int, ...]] = set()
    for each in known.routes:
        suspect = named_route(known, each)
        if suspect is not None:
            named.append(suspect)
            explained |= set(each.pairs)
    return named, explained


def _as_sides(known: Search, named: Sequence[Suspect]) -> list[Suspect]:
    """Return the named, with nodes of one side joined if there are no two good sides to compare that side with."""
    left = list(named)
    members = known.layout.members()
    for side in known.unsettled:
        own = [one for one in left if one.kind == "node" and one.members[0] in members[side]]
        if 2 * len(own) > len(members[side]):
            share = statistics.median(one.share for one in own)
            reason = (
                f"{len(own)} of {len(members[side])} nodes of {side} are slow alone (half of them at or below "
                f"{percent(share)} of {number(own[0].expected)} {known.layout.unit}): {side} itself or its up-links"
            )
            left = [one for one in left if one not in own]
            left.append(Suspect("side", members[side], share, own[0].expected, reason))
    return left


def _find_unsettled(known: Search, named: Sequence[Suspect]) -> list[Suspect]:
    """Return the doubted sides that could not be compared with two good ones, and are not named by their nodes."""
    members, level = known.layout.members(), known.seen.far
    done = {one.members for one in named if one.kind == "side"}
    reason = "was slow with other sides in the rounds, and there were no two good sides to compare it with"
    return [
        Suspect("side", members[side], 0.0, level.value, f"{side} {reason}")
        for side in known.unsettled
        if members[side] not in done
    ]


def _without_duplicates(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """Return suspects without duplicates, keeping the first: several questions may have found the same node."""
    found: dict[tuple[str, tuple[int, ...]], Suspect] = {}
    for one in suspects:
        found.setdefault((one.kind, one.members), one)
    return tuple(found.values())


def _left_out(known: Search, members: tuple[int, ...]) -> Suspect:
    layout = known.layout
    if len(members) == 1:
        share, level = known.speed[members[0]], known.seen.far
        name = layout.nodes[members[0]]
    else:
        a, b = members
        share, level = known.seen.rows[a][b], known.seen.level(layout, a, b)
        name = layout.pair(a, b)
    gave = f"{percent(share)} of {number(level.value)} {layout.unit}"
    reason = f"{name} gave {gave} in rounds, but was not measured alone"
    return Suspect("node" if len(members) == 1 else "pair", members, share, level.value, reason)


def _sentence(known: Search, named: Sequence[Suspect], cleared: Sequence[Suspect], unclear: Sequence[Suspect]) -> str:
    parts = [one.reason for one in named[:_TOLD]]
    if len(named) > _TOLD:
        parts.append(f"{len(named) - _TOLD} more are named")
    if not named:
        parts.append(_healthy(known))
    if cleared:
        parts.append(f"slow in the rounds but good alone, so not named: {_names(known, cleared)}")
    if unclear:
        parts.append(f"undecided, since no two good partners show it or too many are slow: {_names(known, unclear)}")
    return "; ".join(parts)


def _healthy(known: Search) -> str:
    layout, seen = known.layout, known.seen
    levels = listing(
        [f"{number(level.value)} {layout.unit} ({level.hops}, {level.pairs} pairs)" for level in seen.levels]
    )
    share, a, b = min((min(row[:node]), node, row.index(min(row[:node]))) for node, row in enumerate(seen.rows) if node)
    return (
        f"no node, pair or side of {len(layout.nodes)} nodes is named as slow: healthy is {levels}, the lowest is "
        f"{layout.pair(min(a, b), max(a, b))} at {percent(share)}"
    )


def _names(known: Search, suspects: Sequence[Suspect]) -> str:
    layout = known.layout
    names = []
    for one in suspects[:_TOLD]:
        if one.kind == "side":
            names.append(
                f"side {layout.sides[one.members[0]]}" if layout.sides else f"side of {layout.nodes[one.members[0]]}"
            )
        else:
            names.append("-".join(layout.nodes[node] for node in one.members))
    more = len(suspects) - _TOLD
    return f"{', '.join(names)} and {more} more" if more > 0 else listing(names)
