"""What is measured after all pairs, and who is slow by all of it: outputs of railyard-pairs for ``blame.search``.

The first output is from all rounds, each later one from the step that ``next_step`` asked for. Nodes are identified by
their host names, because a later launch may place other ranks on them.

If a side is slow, all its nodes are measured at once over each rail alone: which rail's leaf switch is it? If each rail
has leaf switches of its own (a rail-optimized network, or separate planes), a side of the switch is one leaf switch per
rail, and one of them may have lost up-links. Over all rails together only the side shows.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railyard.benchmarks.node_pairs import Pair, hosts_of, is_of_all, pairs_of
from railyard.parsers.output import Table
from railyard.results.record.form import Suspect
from railyard.site.topology import Places, sides
from railyard.verdict.blame import slow_rails
from railyard.verdict.blame.search.model import Layout, PairsError, Round, Settings, Step, Value, Verdict, name_of_side
from railyard.verdict.blame.search.model import Suspect as Side
from railyard.verdict.blame.search.search import advance
from railyard.verdict.blame.search.sides import bouts
from railyard.verdict.blame.suspects import Findings, RailProbe, plan_probes
from railyard.verdict.wording import NOBODY_BLAMED
from railyard.verdict.wording import pair_search as search_words

#: The rails of at most this many named suspects are measured alone: a switch that is down would name all nodes.
MOST_NAMED = 4
#: How often each rail is measured alone: fewer values do not distinguish two slow nodes from one good pair.
RAIL_REPEATS = 4
_UNKNOWN = Places()
_NO_SIDES: Mapping[tuple[int, ...], Sequence[Suspect]] = {}
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


def layout_of(table: Table, expected_mb_s: float | None, places: Places = _UNKNOWN) -> Layout:
    """Return the nodes of all rounds in the order of their ranks, and the leaf switch and the group of each.

    ``expected_mb_s`` is the least that a pair should give; None if not given. Raises ValueError for a single node, a
    node twice, or a node that is not at any of the known leaf switches.
    """
    hosts = hosts_of(table)
    groups = sides(places.group_of, hosts)
    # The nodes of a run may all be in one group, or each leaf switch may be the only one of its group.
    is_level = 1 < len(set(groups)) < len(set(sides(places.leaf_of, hosts)))
    return Layout(hosts, sides(places.leaf_of, hosts), expected=expected_mb_s, groups=groups if is_level else ())


def next_step(
    tables: Sequence[Table], settings: Settings, expected_mb_s: float | None, places: Places = _UNKNOWN
) -> Step | Verdict:
    """Return what to measure next, or the verdict, from the tables of all rounds and of each step made so far.

    ``places`` has each node's leaf switch and group, if they are known. Raises ValueError if the table of all rounds is
    missing or has no numbers, PairsError if a table is not from its step.
    """
    if not tables or not is_of_all(tables[0]):
        raise ValueError("found no table of all pairs, expected it first")
    layout = layout_of(tables[0], expected_mb_s, places)
    return advance(layout, [values_of(table, layout) for table in tables], settings)


def values_of(table: Table, layout: Layout) -> list[Value]:
    """Return a value per row: the slower of both directions, MB/s. Raises ValueError for a host outside the layout."""
    places = {host: index for index, host in enumerate(layout.nodes)}
    found: list[Value] = []
    for pair in pairs_of(table):
        unknown = next((host for host in (pair.first, pair.second) if host not in places), None)
        if unknown is not None:
            raise ValueError(f"{unknown} is in pairs/{table.benchmark} and not among all pairs")
        first, second = sorted((places[pair.first], places[pair.second]))
        found.append((first, second, pair.slower_mb_s))
    return found


def rounds_text(rounds: Iterable[Round], repeats: int = 1) -> str:
    """Return rounds as railyard-pairs reads them, one line per round; the whole list is repeated.

    Repeating each line would be wrong: a disturbance of some seconds would hit all repeats of one pair.
    """
    return repeats * "".join(" ".join(f"{first}-{second}" for first, second in each) + "\n" for each in rounds)


def rail_rounds(verdict: Verdict, layout: Layout) -> tuple[Round, ...]:
    """Return rounds that show which rail of a named node, pair or leaf switch is slow; () if none is named.

    They measure each rail alone. Of a node or a pair: the suspect with good partners, and the partners with one
    another, each pair in its own round. Of a leaf switch: all its nodes at once, since each rail may have its own.
    """
    blamed = {member for one in verdict.named if one.kind in ("node", "pair") for member in one.members}
    good = [index for index in range(len(layout.nodes)) if index not in blamed]
    found: dict[tuple[int, int], None] = {}
    for one in [each for each in verdict.named if each.kind in ("node", "pair")][:MOST_NAMED]:
        pair = (*one.members, *good)[:2]
        if len(pair) < 2:
            continue
        names = (layout.nodes[pair[0]], layout.nodes[pair[1]])
        others = [layout.nodes[index] for index in good if index not in pair]
        for probe in plan_probes(names, others, ("",)):
            first, second = sorted((layout.nodes.index(probe.node_a), layout.nodes.index(probe.node_b)))
            found[first, second] = None
    return (*((pair,) for pair in slow_rails.alternate_pairs(found)), *rounds_of_sides(verdict, layout))


def findings(
    tables: Sequence[Table],
    settings: Settings,
    least_mb_s: float | None,
    rails: Mapping[str, Table],
    meant: Sequence[str],
    alone_mb_s: float,
    places: Places = _UNKNOWN,
) -> Findings:
    """Return who is slow by all steps, and by each rail alone; nobody if steps are missing, and then why.

    ``least_mb_s`` is the least that a pair may give over all rails; ``rails`` has the table of each rail of ``meant``
    that was measured alone; ``alone_mb_s`` is what one rail gives, one way.
    """
    try:
        reached = next_step(tables, settings, least_mb_s, places)
        if isinstance(reached, Step):
            return Findings((), search_words.step_unmeasured(reached.why, NOBODY_BLAMED))
        layout = layout_of(tables[0], least_mb_s, places)
        alone = {rail: single_pairs(table) for rail, table in rails.items()}
        by_rail = rails_at_fault(alone, alone_mb_s) if any(alone.values()) else None
        of_sides = leaves_at_fault(rails, reached, layout, places)
    except (ValueError, PairsError) as error:
        return Findings((), f"{NOBODY_BLAMED}: {error}")
    suspects = blamed_suspects(reached, layout, meant[0] if len(meant) == 1 else None, of_sides)
    sentence = "; ".join((reached.sentence, *(one.reason for each in of_sides.values() for one in each)))
    if by_rail is None or not by_rail.suspects:
        said = f"; {by_rail.sentence}" if by_rail is not None else ""
        return Findings(suspects, f"{sentence}{said}")
    # A rail of a node says more than the node. Suspects that no rail explains stay.
    explained = {one.node for one in by_rail.suspects}
    rest = tuple(one for one in suspects if one.kind not in ("node", "rail") or one.node not in explained)
    kept = () if any(one.kind in ("pair", "switch") for one in by_rail.suspects) else rest
    return Findings((*by_rail.suspects, *kept), f"{sentence}; {by_rail.sentence}")


def blamed_suspects(
    verdict: Verdict,
    layout: Layout,
    rail: str | None,
    of_sides: Mapping[tuple[int, ...], Sequence[Suspect]] = _NO_SIDES,
) -> tuple[Suspect, ...]:
    """Return the named as suspects of a record; in a run over one rail, a node's fault is that rail's fault.

    ``of_sides`` has the leaf switches of single rails that take the place of a side, by its nodes.
    """
    found: list[Suspect] = []
    members = layout.members()
    for one in verdict.named:
        name = name_of_side(layout, one)
        nodes, brief = tuple(layout.nodes[member] for member in one.members), search_words.brief_slow(one.share)
        if one.kind == "node":
            found.append(
                Suspect("node" if rail is None else "rail", one.reason, layout.nodes[one.members[0]], rail, brief=brief)
            )
        elif one.kind == "pair":
            found.append(Suspect("pair", one.reason, layout.pair(*one.members[:2]), rail, brief=brief))
        elif one.kind == "side" and one.members in of_sides:
            found += of_sides[one.members]
        elif name is not None and members.get(name) == one.members:
            found.append(Suspect("leaf", one.reason, None, rail, name, nodes, "shown", brief))
        elif name is not None and name in layout.groups:
            found.append(Suspect("switch", one.reason, None, rail, f"group {name}", nodes, "shown", brief))
        else:
            found.append(Suspect("switch", one.reason, None, rail))
    return tuple(found)


def rails_at_fault(each: Mapping[str, Sequence[Pair]], expected_mb_s: float) -> Findings:
    """Return who is to blame by the pairs of each rail, measured alone; ``expected_mb_s`` is one way."""
    probes = [
        RailProbe(pair.first, pair.second, rail, pair.slower_mb_s, expected_mb_s)
        for rail, pairs in each.items()
        for pair in pairs
    ]
    nodes = dict.fromkeys(name for probe in probes for name in (probe.node_a, probe.node_b))
    return slow_rails.findings(probes, tuple(nodes))


def rounds_of_sides(verdict: Verdict, layout: Layout) -> tuple[Round, ...]:
    """Return rounds in which all nodes of each named leaf switch send at once; () if there is nothing to compare."""
    made = [
        bout for side in _slow_sides(verdict, layout) for bout in bouts(layout, (side.name,), side.good, frozenset())
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
    reason = search_words.slow_leaf_of_rail(
        leaf, rail, search_words.AllAtOnce(len(nodes), own, side.good, control, layout.unit), others
    )
    return Suspect("leaf", reason, None, rail, leaf, nodes, "shown")
