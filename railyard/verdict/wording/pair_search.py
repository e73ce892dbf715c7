"""The sentences of the search over all pairs of nodes: why it measures something, and which part is slow alone.

The sentences about pairs of nodes, and about pairs of ranks within each node.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.hostlist import list_nodes
from railyard.base.wording import listing, number, percent, places

#: The most nodes that are named in one sentence.
MOST_NODES = 4
Hops = Literal["all", "same side", "across sides", "other groups"]
Sides = Literal["leaf", "group"]
Values = Sequence[tuple[str, float]]
#: A phase, and its lowest and highest mean.
Ranges = Sequence[tuple[str, tuple[float, float]]]


def pair_values(pairs: Values) -> str:
    """Return pairs, each with its value."""
    return listing([f"{pair} {number(value)}" for pair, value in pairs])


# Steps.


def every_pair() -> str:
    """Return why all pairs are measured in rounds."""
    return "every pair of nodes once"


def slow_in_rounds(pairs: int, at_once: int) -> str:
    """Return why slow pairs are measured again in thinner rounds."""
    return f"{pairs} pairs were slow in rounds, where routes collide: again with {at_once} at once"


def sides_at_once(count: int, of: Sides) -> str:
    """Return why sides of the switch, or groups of them, are measured again."""
    which = "sides" if of == "leaf" else "groups"
    return f"{count} {which}, all nodes at once, with good {which}"


def suspects_alone(count: int) -> str:
    """Return why suspects are measured alone."""
    return f"{count} suspects, alone and with good partners"


def measured_pairs() -> str:
    """Return the reason of a step that was measured before its judge asked for it."""
    return "the pairs that were measured"


def step(name: str, pairs: int, rounds: int, repeats: int) -> str:
    """Return a step in words: ``alone: 6 pairs in 6 rounds, 7 times each``."""
    each = f", {repeats} times each" if repeats > 1 else ""
    return f"{name}: {pairs} pairs in {rounds} rounds{each}"


def step_unmeasured(why: str, conclusion: str) -> str:
    """Return that a step is missing, and what follows."""
    return f"{why}: that was not measured, so {conclusion}"


# Who is slow.


def slow_node(node: str, values: Values, expected: float, unit: str, share: float) -> str:
    """Return a node that is slow alone; ``values``: with each partner."""
    given = listing([f"{number(value)} with {partner}" for partner, value in values]) or "nothing that was measured"
    return f"{node} alone gives {given}; good nodes give {number(expected)} {unit} ({percent(share)})"


def slow_pair(pair: str, value: float, expected: float, unit: str, share: float, ends: Values) -> str:
    """Return a pair that is slow alone; ``ends``: each of its nodes with good partners."""
    return (
        f"{pair} alone gives {number(value)} of {number(expected)} {unit} ({percent(share)}); each of its nodes with "
        f"good partners: {pair_values(ends) or 'not measured'}"
    )


def slow_route(
    pairs: int,
    sides: Sequence[str],
    asked: int,
    slow: Sequence[tuple[str, float]],
    expected: float,
    unit: str,
) -> str:
    """Return slow pairs of one side, or between two; ``slow``: those of the sample that are slow alone, with shares."""
    where = listing(sides) if len(sides) == 2 else f"{listing(sides)} and other sides"
    values = listing([f"{pair} {percent(share)}" for pair, share in slow])
    return (
        f"{pairs} pairs between {where} are slow each time; {len(slow)} of {asked} are also slow alone ({values} of "
        f"{number(expected)} {unit}), but their nodes are good with others: a cable or route of {listing(sides)}"
    )


@dataclass(frozen=True, slots=True)
class AllAtOnce:
    """What all nodes of a side give at once per pair with ``others``, and what good sides give one another."""

    nodes: int
    value: float
    others: Sequence[str]
    good: float
    unit: str

    @property
    def words(self) -> str:
        """``(4 nodes at once) gives 6.000 MB/s per pair with L2; good sides give 12.00 (50.0 %)``."""
        share = percent(self.value / self.good if self.good else 0.0)
        return (
            f"({self.nodes} nodes at once) gives {number(self.value)} {self.unit} per pair with "
            f"{listing(self.others)}; good sides give {number(self.good)} ({share})"
        )


def slow_side(side: str, found: AllAtOnce, inside: float, part: str) -> str:
    """Return a side whose nodes are slow at once with good sides; ``inside``: what its own pairs give of healthy.

    ``part``: what is slow, the words below.
    """
    return f"{side} {found.words}; it gives {percent(inside)} of healthy among its own nodes: {part}"


def part_of_side(of: Sides, is_beyond: bool) -> str:
    """Return the slow part of a side: what joins it to others (``is_beyond``), or itself."""
    if of == "leaf":
        return "its up-links" if is_beyond else "the switch itself"
    return "its links to other groups" if is_beyond else "the group itself"


def slow_leaf_of_rail(leaf: str, rail: str, found: AllAtOnce, good_rails: Sequence[str]) -> str:
    """Return a leaf of one rail whose nodes are slow at once, and good over other rails."""
    return (
        f"{leaf} of {rail} {found.words}; {listing(good_rails)} of the same nodes "
        f"{'are' if len(good_rails) > 1 else 'is'} good: its up-links"
    )


def slow_nodes_of_side(slow: int, nodes: int, side: str, share: float, expected: float, unit: str) -> str:
    """Return a side most of whose nodes are slow alone; ``share``: of half of them, at most."""
    return (
        f"{slow} of {nodes} nodes of {side} are slow alone (half of them at or below {percent(share)} of "
        f"{number(expected)} {unit}): {side} itself or its up-links"
    )


def no_good_sides(side: str, of: Sides) -> str:
    """Return that a side was not compared with others."""
    which = "sides" if of == "leaf" else "groups"
    return f"{side} was slow with other {which} in the rounds, and there were no two good {which} to compare it with"


def slow_part(nodes: Sequence[str], values: Values, expected: float, unit: str, share: float) -> str:
    """Return nodes that are good with one another and slow with all others."""
    more = f" and {len(nodes) - MOST_NODES} more" if len(nodes) > MOST_NODES else ""
    names = f"{', '.join(nodes[:MOST_NODES])}{more}" if more else listing(nodes)
    return (
        f"{names} are good with one another, but slow with all others: alone {pair_values(values)} of "
        f"{number(expected)} {unit} (at most {percent(share)}): what joins the two sides of the switch"
    )


def all_pairs_slow(hops: Hops, has_groups: bool, values: Values, expected: float, unit: str, share: float) -> str:
    """Return that all pairs of a class are slower than expected; ``values``: of a few good ones, alone."""
    which = {
        "all": "all pairs",
        "same side": "all pairs on one side",
        "across sides": f"all pairs across sides{' of a group' if has_groups else ''}",
        "other groups": "all pairs of two groups",
    }[hops]
    return (
        f"{which} are slow: good ones alone give {pair_values(values)}, expected {number(expected)} {unit} (at most "
        f"{percent(share)}): the switch, its set-up, or the whole network"
    )


def not_alone(name: str, share: float, expected: float, unit: str) -> str:
    """Return that a slow node or pair was not measured alone."""
    return f"{name} gave {percent(share)} of {number(expected)} {unit} in rounds, but was not measured alone"


def brief_slow(share: float) -> str:
    """Return a slow part as a headline, after its name; ``share``: of what good ones give."""
    return f"is slow: {percent(share)} of what good ones give" if share > 0 else "gives no result"


# The verdict.


def no_result(nodes: int) -> str:
    """Return that nothing was measured."""
    return f"no pair of {nodes} nodes gave a result"


def more_named(count: int) -> str:
    """Return how many more are named."""
    return f"{count} more are named"


def nobody_slow(nodes: int, levels: Sequence[tuple[float, str, int]], unit: str, lowest: str, share: float) -> str:
    """Return that nobody is slow; ``levels``: what healthy pairs give, of which class, and how many these are."""
    healthy = listing([f"{number(value)} {unit} ({hops}, {pairs} pairs)" for value, hops, pairs in levels])
    return (
        f"no node, pair or side of {nodes} nodes is named as slow: healthy is {healthy}, the lowest is {lowest} at "
        f"{percent(share)}"
    )


def good_alone(names: str) -> str:
    """Return who was slow in the rounds and good alone."""
    return f"slow in the rounds but good alone, so not named: {names}"


def say_undecided(names: str) -> str:
    """Return who may be slow."""
    return f"undecided, since no two good partners show it or too many are slow: {names}"


def side_name(side: str, first_node: str) -> str:
    """Return a side by its name, or by its first node."""
    return f"side {side or f'of {first_node}'}"


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - most
    return f"{', '.join(names[:most])} and {more} more" if more > 0 else listing(names)


_MOST_PAIRS = 4


def fastest_pair(metric: str) -> str:
    """Return the metric of the fastest pair."""
    return f"{metric} of the fastest pair"


def only_limit_counts() -> str:
    """Return why a metric has no reference."""
    return "only its limit counts"


def slow_node_of_pairs(value_mb_s: float, least_mb_s: float) -> str:
    """Return why a node is a suspect whose own ranks are slow."""
    return f"its own two ranks reach {number(value_mb_s)} MB/s, expected at least {number(least_mb_s)}"


def look_at_memory(nodes: Sequence[str]) -> str:
    """Return what to look at if ranks within nodes are slow."""
    return f"memory, clock and NUMA placement of {list_nodes(nodes)}: no network is involved"


def slow_within(nodes: Sequence[tuple[str, float]], median_mb_s: float) -> str:
    """Return which nodes are slower within than others, each with its value."""
    each = places([f"{node} {number(value)}" for node, value in nodes])
    return f"slow within the node: {each} MB/s (median {number(median_mb_s)})"


def measured_again(pairs: Sequence[tuple[str, float, float]]) -> str:
    """Return what pairs gave at first, and then alone."""
    shown = [f"{pair} {number(first)} and then {number(then)}" for pair, first, then in pairs[:_MOST_PAIRS]]
    more = f" and {len(pairs) - _MOST_PAIRS} more" if len(pairs) > _MOST_PAIRS else ""
    return f"measured again, alone: {listing(shown)} MB/s{more}"


# Switch groups.


def no_leaves(nodes: int, leaf: str) -> str:
    """Return why nothing can be measured between leaf switches; ``leaf``: the only one; empty if none is known."""
    where = f"all {nodes} nodes are at {leaf}" if leaf else f"no leaf switch of the {nodes} nodes is known"
    return f"{where}, expected nodes at two or more: state leaf_switches or topology in the system's file"


def why_switch_groups(leaves: int) -> str:
    """Return why the rounds of switch groups are measured."""
    return f"within each of {leaves} leaf switches, between two of them, all at once, and single streams"


def between_sides(sides: Sequence[str]) -> str:
    """Return two leaf switches, or groups, as one place: ``leaf1 and leaf2``."""
    return listing(list(sides))


_PHASES: Mapping[str, str] = {
    "within": "within a leaf switch",
    "one": "single streams between leaf switches",
    "between": "between two leaf switches",
    "group": "all leaf switches of a group at once",
    "between groups": "between two groups",
    "all": "all at once",
}


def _phases(found: Ranges) -> str:
    """Return phases, each with its lowest and highest mean."""
    known = dict(found)
    return listing([f"{what} {_range(*known[phase])}" for phase, what in _PHASES.items() if phase in known])


def _range(low: float, high: float) -> str:
    return number(low) if number(low) == number(high) else f"{number(low)} to {number(high)}"


def rates_of_phases(found: Ranges, unit: str) -> str:
    """Return what pairs of each phase gave, as means of leaf switches; ``found``: phase, lowest and highest mean."""
    return f"{unit} per pair, one way: {_phases(found)}"


def messages(found: Ranges, size: int) -> str:
    """Return how many messages per second pairs of each phase sent, in millions."""
    return (
        f"million messages of {size} B per second and pair: {_phases(found)}; nothing bounds them, so leaf switches "
        "are only compared with one another"
    )


def no_messages() -> str:
    """Return that messages per second were not measured."""
    return "messages per second were not measured: the second launch gave no whole table"


def few_pairs(launch: str, measured: int, planned: int) -> str:
    """Return that a launch did not measure all pairs of the plan."""
    return f"{launch}: {measured} of {planned} pairs of the plan were measured, expected all"


def pairs_without_value(launch: str, pairs: Sequence[str], measured: int) -> str:
    """Return which pairs of a launch gave nothing."""
    more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
    return (
        f"{launch}: {len(pairs)} of {measured} pairs gave nothing, expected more than 0: {', '.join(pairs[:3])}{more}"
    )


def look_at_missing() -> str:
    """Return what to look at if not all that was planned gave a value."""
    return "the output of both launches: where each ends, and what the nodes of these pairs have in common"


def slow_messages_within(leaf: str, share: float) -> str:
    """Return a leaf switch that sends few messages everywhere, also within itself."""
    return (
        f"{leaf} sends at best {percent(share)} of the messages per second that other leaf switches send one another, "
        "and no more within itself: nothing tells its nodes from what they share"
    )


def uncertain_places() -> str:
    """Return why suspects are not named if nobody knows which node is where."""
    return (
        "the system's file and the scheduler contradict each other about the leaf switches, so nothing tells which of "
        "these is at fault"
    )


def look_at_places() -> str:
    """Return what to look at if it is not certain which node is at which leaf switch."""
    return "leaf_switches of the system's file, and the scheduler's topology: correct what is wrong, and run again"


def no_phases(why: str) -> str:
    """Return why no figure of switches is there."""
    return f"what switches carry was not judged: {why}"


def by_up_links(count: int, planes: int, fewest: int, most: int, fabric: str) -> str:
    """Return how the bound of up-links is known, if their number is stated."""
    nodes = str(fewest) if fewest == most else f"{fewest} to {most}"
    of_rails = f" on each of {planes} rails" if planes > 1 else ""
    return f"{count} up-links for {nodes} nodes of a leaf switch{of_rails}, up_links of fabrics.{fabric}"


def by_blocking(factor: float, fabric: str) -> str:
    """Return how the bound of up-links is known, if only the blocking is stated."""
    return f"blocking {factor:g} of fabrics.{fabric}"


def by_reading(fewest: int, most: int) -> str:
    """Return how the bound of up-links is known, if the fabric was read."""
    count = str(most) if fewest == most else f"{fewest} to {most}"
    return f"{count} up-links of each leaf switch, as railyard fabric --keep-hops read them"


def unlike_up_link(leaf: str, link: str, gbit_s: float, usual_gbit_s: float) -> str:
    """Return an up-link with a lower rate than others."""
    return f"{leaf}: {link} has {gbit_s:g} Gbit/s, other up-links {usual_gbit_s:g} (railyard fabric --keep-hops)"


def fewer_up_links(leaf: str, count: int, most: int) -> str:
    """Return a leaf switch with fewer up-links than others."""
    return f"{leaf} has {count} up-links that are up, others {most} (railyard fabric --keep-hops)"


def no_bound(was_measured: bool) -> str:
    """Return why no bound of up-links was judged; not ``was_measured``: nothing went over them all at once."""
    if not was_measured:
        return "no bound of up-links was judged: no leaf switches met all at once"
    return (
        "no bound of up-links was judged, and leaf switches were only compared with one another: the system's file "
        "states neither up_links nor blocking, or no rate of the link is known"
    )


def side_without_bound(side: str, source: str) -> str:
    """Return that a leaf switch has no bound."""
    return f"no bound of up-links was judged: {side} is not in the system's file ({source})"


def of_bound(given: float, allowed: float, source: str) -> str:
    """Return what all at once gave of what the up-links leave each pair."""
    return (
        f"all at once gave {number(given)} MB/s per pair, {percent(given / allowed)} of the {number(allowed)} that the "
        f"up-links leave it ({source})"
    )


def below_bound(sentence: str, share: float) -> str:
    """Return that all at once gave too little."""
    return f"{sentence}, expected at least {percent(share)}: static routes of a healthy network reach that"


def above_bound(given: float, allowed: float, source: str) -> str:
    """Return that all at once gave more than the stated up-links carry, so they bound nothing."""
    return (
        f"{of_bound(given, allowed, source)}: that is impossible, so the up-links bounded nothing in this run: correct "
        "up_links or blocking in the system's file"
    )


def look_at_up_links() -> str:
    """Return what to look at if all leaf switches together are slow to one another."""
    return (
        "up-links of all leaf switches: how many are up, their rates, and routes (adaptive routing, the subnet manager)"
    )


def slow_messages(leaf: str, share: float) -> str:
    """Return a leaf switch that is slow for short messages only."""
    return (
        f"{leaf} sends at best {percent(share)} of the messages per second that other leaf switches send one another, "
        "and as many as they do within itself"
    )


def live_places(used: bool) -> str:
    """Return that the job's scheduler stated the leaf switches of its nodes; not ``used``: they agree with the file."""
    if used:
        return "leaf switches as the scheduler stated them in the job"
    return "leaf switches of the system's file, as the scheduler stated them in the job, too"


def unlike_live(contradiction: str) -> str:
    """Return how the scheduler contradicts the system's file."""
    return (
        f"leaf switches as the scheduler stated them in the job, which contradicts the system's file: {contradiction}"
    )
