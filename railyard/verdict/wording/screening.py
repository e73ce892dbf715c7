"""The sentences of a screening: why it measures what, who is slow, what it covered, and what it would have found."""

from collections.abc import Sequence
from typing import Literal

from railyard.base.wording import count_of, listing, number, percent
from railyard.verdict.wording import NOBODY_BLAMED

#: How many are in a sentence; all are in the verdict.
MOST_TOLD = 6


def too_short_budget(
    seconds: float, rounds: int, round_s: float, steps: int, with_starts: bool, least: int, least_s: float
) -> str:
    """Return that a budget is too small; ``with_starts``: the steps need time to start."""
    starts = f" besides the start of {steps} steps" if with_starts else ""
    return (
        f"a budget of {seconds:g} s is {rounds} rounds of {round_s:g} s{starts}, expected at least {least} "
        f"({least_s:g} s): half of them for a sample in which each node meets neighbours and other leaves, the rest to "
        "measure a suspect three times with two good partners; give it more time"
    )


def not_measured(why: str, is_named: bool) -> str:
    """Return that a step is missing; ``is_named``: the steps before it name somebody all the same."""
    return f"{why}: that was not measured{'' if is_named else f', so {NOBODY_BLAMED}'}"


def lost_step(step: str) -> str:
    """Return that the launch of a later step failed."""
    return (
        f"{step}.out has no whole table: the launch that had to confirm or clear suspects failed, so nobody is cleared"
    )


def look_at_lost_step(step: str) -> str:
    """Return what to look at if the launch of a later step failed."""
    return f"{step}.out in the test's stage folder: what the launch printed; then run it again"


def sample_not_judged(error: str) -> str:
    """Return why a sample was not judged."""
    return f"the sample was not judged: {error}"


def by_references_alone(sentence: str) -> str:
    """Return what the references say of a run whose screening names somebody."""
    return f"judged by its references alone: {sentence}"


def too_few_nodes(there: int, nodes: int) -> str:
    """Return that fewer than two nodes are there."""
    return f"{there} of {nodes} nodes are there, but a pair needs two"


def no_result(nodes: int) -> str:
    """Return that no pair gave a result."""
    return f"no pair of {nodes} nodes gave a result"


def went_away(reason: str) -> str:
    """Return why a node was suspected that is no longer there."""
    return f"{reason}; it went away later"


def no_expected_level() -> str:
    """Return that faults of all nodes are not seen."""
    return "faults that all nodes share: no reference says what is expected"


def leaves_not_seen() -> str:
    """Return that leaves are not seen."""
    return "leaves and up-links: it is not known which node is at which leaf switch"


def avoided_up_links() -> str:
    """Return that a leaf without a few of its up-links is not seen."""
    return (
        "a leaf that lost a few of its up-links and whose routes avoid them: each pair alone is good, and all together "
        "are less than 15 % slower"
    )


def loose_nodes(nodes: Sequence[str]) -> str:
    """Return of which nodes the leaf is not known."""
    which = f"the leaf of {count_of(len(nodes), 'node')} ({first_of(nodes)})"
    return f"{which}: it is not known, so each was judged as a leaf of its own"


def single_nodes(leaves: Sequence[str]) -> str:
    """Return of which leaves only one node is there."""
    return f"whether {first_of(leaves)} or its only node is slow: only neighbours show which of the two it is"


def rails_not_seen(known: bool) -> str:
    """Return that single rails are not seen; ``known``: a node's rail is known."""
    return "single rails: a value is from all rails of a node at once" if known else "rails"


def gpu_paths_not_seen() -> str:
    """Return that GPU paths are not seen."""
    return "GPU paths: all streams were from host memory"


def pairs_left(pairs: int, low: float, high: float) -> str:
    """Return how many pairs were slow once and not measured again."""
    which = f"{count_of(pairs, 'pair')} that gave {percent(low)} to {percent(high)} of healthy once"
    return f"{which}: the budget had no room to measure them again"


def more_named(count: int) -> str:
    """Return how many more are named."""
    return f"{count} more are named"


def nobody_named(levels: Sequence[tuple[float, str]], unit: str) -> str:
    """Return that nobody is slow; ``levels``: what healthy pairs give, each with which pairs."""
    healthy = listing([f"{number(value)} {unit} ({hops})" for value, hops in levels])
    return f"nobody that was measured is named as slow: healthy is {healthy}"


def say_cleared(names: Sequence[str]) -> str:
    """Return who was slow in the sample and good afterwards."""
    return f"slow in the sample but good with good partners, so not named: {first_of(names)}"


def say_undecided(names: Sequence[str], why: str) -> str:
    """Return who may be slow, and why the first of them is neither named nor cleared."""
    return f"undecided: {first_of(names)} ({why})"


def shared_links(suspects: int) -> str:
    """Return that the leaf switches may not be those of the network: so many suspects were good alone."""
    was = (
        "was slow only while others sent, so it shares links"
        if suspects == 1
        else ("were slow only while others sent, so they share links")
    )
    return (
        f"{count_of(suspects, 'suspect')} {was} with nodes of other leaf switches: leaf_switches of the system's file "
        "may not be those of the network"
    )


def first_of(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - MOST_TOLD
    return f"{', '.join(names[:MOST_TOLD])} and {more} more" if more > 0 else listing(names)


def say_covered(rounds: int, pairs: float | None, leaf_pairs: float | None, up_links: float | None) -> str:
    """Return which share of everything was measured; None: it is not known how many there are."""
    shares = (("pairs", pairs), ("pairs of leaves", leaf_pairs), ("up-links", up_links))
    said = [f"{covered_share(share)} of the {what}" for what, share in shares if share is not None]
    return f"measured in {rounds} rounds: {listing(said)}"


def listed_leaves(leaves: Sequence[str]) -> str:
    """Return the leaves of a suspect."""
    return listing(leaves)


def covered_share(share: float) -> str:
    """Return a share with the digits that a small one needs."""
    return percent(share) if share >= 0.001 or not share else f"{100 * share:.2g} %"


def not_judged(missing: int, nodes: int, reasons: Sequence[tuple[int, str]], more: bool) -> str:
    """Return how many nodes have no value, with the most frequent reasons; ``more``: there are others."""
    told = "; ".join(f"{count} {reason}" for count, reason in reasons)
    return f"not judged: {missing:,} of {nodes:,} nodes ({told}{'; …' if more else ''})"


def promised_fault(
    kind: Literal["node", "rail", "gpu path", "pair", "leaf", "up-link"], share: float, probability: float
) -> str:
    """Return how probable it is that a fault would have been named; ``share``: what it leaves of healthy."""
    what = f"{'an' if kind == 'up-link' else 'a'} {'GPU path' if kind == 'gpu path' else kind}"
    at = " that is dead" if share == 0 else f" at {100 * share:.0f} %"
    at = " with half its up-links" if kind == "leaf" else at
    return f"{what}{at} {percent(probability)}"


def say_promised(faults: Sequence[str]) -> str:
    """Return which faults would have been named, with which probability."""
    return f"if there had been one, it would have named: {', '.join(faults)}"


def no_room_for_partners(names: str) -> str:
    """Return that a suspect was not measured with good partners."""
    return f"{names} was slow in the sample, but the budget had no room to measure it with good partners"


def why_traced(paths: int) -> str:
    """Return why streams from two leaves are measured."""
    return f"which of two leaves has the slow up-link: streams from each to others, for {paths} paths"


def why_streams_again(streams: int) -> str:
    """Return why slow streams are measured again."""
    return f"{streams} slow streams again"


def why_suspects(suspects: int) -> str:
    """Return why suspects are measured."""
    return f"{suspects} suspects, each with good partners"


def rails_or_paths(of_gpus: bool) -> str:
    """Return the parts of a node that are measured alone."""
    return "GPU paths" if of_gpus else "rails"


def rail_or_path(of_gpus: bool) -> str:
    """Return one of the parts of a node."""
    return "GPU path" if of_gpus else "rail"


def no_room_for_parts(reason: str, parts: str) -> str:
    """Return that a slow node's parts were not measured alone."""
    return f"{reason}; the budget had no room to measure its {parts} alone"


def why_parts(parts: str, nodes: int) -> str:
    """Return why the parts of nodes are measured."""
    return f"{parts} of {nodes} nodes"


def undecided_part(reason: str, part: str) -> str:
    """Return that it is not known which part of a slow node is slow."""
    return f"{reason}; it is undecided which {part} it is"


def no_slow_part(reason: str, part: str, all_good: bool) -> str:
    """Return that no part of a slow node is slow alone; ``all_good``: each of them was good."""
    return f"{reason}; {f'each {part} alone is good' if all_good else f'no {part} alone is slow'}"


def slow_from_host(reason: str, rail: str) -> str:
    """Return that the only rail is slow from host memory, too."""
    return f"{reason}; {rail} from host memory is also slow"


def slow_parts(reason: str, slow: int, parts: int, part: str) -> str:
    """Return how many of a slow node's parts are slow alone."""
    return f"{reason}; {'each' if slow == parts else f'{slow} of {parts}'} {part} alone is slow"


def slow_part(
    part: str, node: str, values: Sequence[tuple[float, str]], expected: float, unit: str, share: float, of_gpus: bool
) -> str:
    """Return a slow part of a node, with its value with each partner."""
    given = [f"{number(value)} with {partner}" for value, partner in values]
    memory = ", from the GPU's memory; each rail alone from host memory is good" if of_gpus else ""
    return (
        f"{part} of {node} alone gives {listing(given)}; good nodes give {number(expected)} {unit} ({percent(share)})"
        f"{memory}"
    )


def no_value(names: str) -> str:
    """Return that a question about a suspect has no answer."""
    return f"{names}: a part of what was asked for gave no value"


def slow_pair(
    pair: str, value: float, expected: float, unit: str, share: float, neighbours: Sequence[tuple[str, float]]
) -> str:
    """Return a slow pair, with the values of its neighbours."""
    near = [f"{name} {number(each)}" for name, each in neighbours]
    return (
        f"{pair} gives {number(value)} of {number(expected)} {unit} ({percent(share)}), and their neighbours "
        f"{listing(near)}"
    )


def unknown_leaves(reason: str) -> str:
    """Return a suspect's reason if leaves are not known."""
    return f"{reason}; leaves are not known, so it may be an up-link that leads there"


def only_node(reason: str, leaf: str) -> str:
    """Return a suspect's reason if it is the only node of its leaf."""
    return f"{reason}; it is the only node of {leaf}, so it may be that leaf"


def slow_up_link(
    pair: str,
    paths: Sequence[str],
    share: float,
    expected: tuple[float, str],
    others: Sequence[str],
    leaves: Sequence[str],
    part: str | None,
) -> str:
    """Return a slow up-link of a leaf, or of one of two; ``pair``: the words of its slowest pair.

    ``expected``: with its unit. ``others``: leaves to which paths are slow, too. ``part``: its number, None if nobody
    knows it.
    """
    where = f"an up-link of {leaves[0]} or of {leaves[1]}" if len(leaves) > 1 else f"an up-link of {listing(leaves)}"
    what = "" if part is None else f" (number {part})"
    more = f"; so are paths to {listing(others)}" if others else ""
    value, unit = expected
    return (
        f"{pair}: everything from {listing(paths)} is slow, down to {percent(share)} of {number(value)} {unit}, but "
        f"the nodes are good with others{more}: {where}{what}"
    )


def path_between(leaf: str, node: str) -> str:
    """Return a path from a leaf to a node."""
    return f"{leaf} to {node}"


def no_good_leaves(leaf: str) -> str:
    """Return that a leaf was not compared with others."""
    return f"{leaf} was slow with other leaves in the sample, but there were no good leaves to compare it with"


def why_leaves(leaves: int) -> str:
    """Return why whole leaves are measured."""
    return f"{leaves} leaves in doubt, all nodes at once, with good leaves"


def why_groups(leaves: int) -> str:
    """Return why leaves are measured within their groups."""
    return f"{leaves} slow leaves, all nodes at once, with the other leaves of their groups"


def slow_group(group: str, leaves: int, value: float, expected: float, unit: str, share: float, within: float) -> str:
    """Return a group that is slow with others: what each of its leaves gives them per pair, and within the group."""
    return (
        f"group {group} gives {number(value)} {unit} per pair with other groups; good leaves give {number(expected)} "
        f"({percent(share)}); within the group each of its {leaves} leaves gives at least {percent(within)} of what "
        "leaves of good groups give there: its links to other groups"
    )


def good_within_group(reason: str, within: float) -> str:
    """Return the reason of a slow leaf that is good with the other leaves of its group."""
    return f"{reason}; with the other leaves of its group it gives {percent(within)}: its links to other groups"


def slow_path(groups: tuple[str, str], share: float, values: int) -> str:
    """Return two groups that are slow only with each other; ``share``: of what others give one another."""
    return (
        f"groups {listing(groups)} give each other {percent(share)} of what other groups do ({values} values: alone, "
        f"and while all others met), and each is good with all others: what is between these two"
    )


def why_again(pairs: int, again: int, at_once: int) -> str:
    """Return why pairs are measured again."""
    return f"{pairs} pairs were slow once: {again} again, {at_once} of a leaf at once"


def why_one_by_one(suspects: int) -> str:
    """Return why suspects are measured again, each alone."""
    return f"{suspects} suspects one by one: nodes may be at other leaf switches than stated, and share links"


def uncertain_leaf(reason: str) -> str:
    """Return why a leaf is not named where suspects share links with nodes of other leaf switches."""
    return f"{reason}; but the leaf switches may not be those of the network"


def not_alone(reason: str, was_measured: bool) -> str:
    """Return why a suspect is not named that may only have shared links with nodes of other leaf switches."""
    if was_measured:
        return f"{reason}; while all others rested it was good, so it shares links with nodes of other leaf switches"
    return f"{reason}; the budget has no room to measure it while all others rest, and other suspects were good then"


def not_one_by_one(reason: str, was_measured: bool) -> str:
    """Return why a slow pair between groups is not named."""
    if was_measured:
        return f"{reason}; while all others rested it was good, so other pairs share its links: nothing tells which"
    return f"{reason}; the budget has no room to measure it while all others rest, and others may share its links"


def like_good_leaves(reason: str, lowest: float) -> str:
    """Return why a leaf is not named: two good leaves give each other only this share of the usual (``lowest``)."""
    return f"{reason}; two good leaves give each other as little ({percent(lowest)}), so it may be routes that collide"


def only_between_groups(reason: str) -> str:
    """Return why a leaf that is slow with other groups is not named where routes collide."""
    return f"{reason}; whole leaves share links between groups here, so nothing tells this leaf from unlucky routes"


def slow_between_groups(reason: str) -> str:
    """Return why no up-link is named for a slow path between two groups."""
    return f"{reason}; its leaves are of two groups, so nothing tells up-links from links between groups"


def why_sample(leaves_known: bool) -> str:
    """Return what the first sample has."""
    if leaves_known:
        return "each node with its neighbours, whole leaves with whole leaves, and single nodes of all leaves"
    return "each node with others, since leaves are not known"


def why_more(apart: bool) -> str:
    """Return what follows the first sample; ``apart``: the routes of whole leaves hardly collide."""
    if apart:
        return "whole leaves again: their routes hardly collide"
    return "single nodes of all leaves: the routes of whole leaves collide"


def why_nightly(partners: int, nights: int) -> str:
    """Return what a nightly sample has."""
    return f"{partners} partners per node, first what was used least recently in {nights} earlier nights"


def over_part(step: str, part: str) -> str:
    """Return a step that measured one part of each node."""
    return f"{step}, over {part} alone"


def went_silent(round_number: int) -> str:
    """Return that a node gave no result any more."""
    return f"gave no result after round {round_number}"


def silent() -> str:
    """Return that a node never gave a result, nor did too many others."""
    return "gave no result, like too many others"


def no_value_back() -> str:
    """Return why a node has no value if nobody says it."""
    return "no value of it came back"


def nodes_with_result() -> str:
    """Return how the share of nodes is known."""
    return "nodes with a result"


def pairs_with_result() -> str:
    """Return how the share of pairs is known."""
    return "pairs with a result"


def leaf_pairs_with_result() -> str:
    """Return how the share of pairs of leaves is known."""
    return "pairs of leaves with a result between them"


def all_rails_at_once() -> str:
    """Return how the share of rails is known."""
    return "each value is over all rails at once; counters prove what each carried"


def rails_unknown() -> str:
    """Return that the share of rails is not known."""
    return "it is not known how many rails a node has"


def leaves_unknown() -> str:
    """Return that leaves are not known."""
    return "it is not known which node is at which leaf switch"


def one_leaf() -> str:
    """Return that there is no way between leaves."""
    return "all nodes are at one leaf"


def by_routes() -> str:
    """Return that routes are known."""
    return "by the site's routes"


def by_random_routes() -> str:
    """Return what is assumed of routes that are not known."""
    return "if routes are static and spread at random"


def expected_up_links(each: int | None) -> str:
    """Return how the share of up-links is known; ``each``: how many a leaf has, None if not known."""
    over = f"{each} up-links per leaf" if each else "as many up-links as a leaf has nodes (their number is not known)"
    return f"expected, {by_random_routes()} over {over}"


def basis_of_node(values: int, share: float, repeats: int, room: float) -> str:
    """Return what the probability of a slow node depends on."""
    return (
        f"each node's best of {values} values (median) set to {100 * share:.0f} %, then {repeats} measurements with "
        f"each of two good partners{capacity(room)}"
    )


def parts_unknown(parts: str) -> str:
    """Return that nothing is promised of a node's parts."""
    return f"it is not known which {parts} a node has"


def basis_of_parts(share: float, count: int, parts: str, room: float) -> str:
    """Return what the probability of a slow part depends on."""
    return (
        f"a node at {100 * share:.1f} % over all {count} {parts}, the least that one of them can cause, then each alone"
        f"{capacity(room)}"
    )


def basis_of_pair(measured: int, pairs: int, repeats: int, neighbours: int, room: float) -> str:
    """Return what the probability of a slow pair depends on."""
    return (
        f"{measured:,} of {pairs:,} pairs were measured where hardly any pair collides; a slow one would have been "
        f"measured {repeats} times, with {neighbours} neighbours of each node{capacity(room)}"
    )


def few_leaves() -> str:
    """Return that nothing is promised of leaves."""
    return "fewer than three leaves of more than three nodes met others as a whole"


def basis_of_leaf(bouts: int, share: float, rounds: int, room: float) -> str:
    """Return what the probability of a slow leaf depends on."""
    return (
        f"each leaf met another as a whole {bouts} times (median), its mean set to {100 * share:.0f} %, then {rounds} "
        f"times with good leaves{capacity(room)}"
    )


def basis_of_up_link(share: float, by: str, neighbours: int, room: float) -> str:
    """Return what the probability of a slow up-link depends on; ``share``: of those that carried a value alone."""
    return (
        f"{100 * share:.1f} % of the up-links alone carried a value that would have been slow, {by}; then {neighbours} "
        f"neighbours to the same node{capacity(room)}"
    )


def capacity(share: float) -> str:
    """Return for which share of suspects the budget had room, as the end of a sentence; empty for all of them."""
    if share >= 1:
        return ""
    return "; the budget had no room for it" if share <= 0 else f"; the budget had room for {100 * share:.0f} % of them"


def leaf_of_one(node: str) -> str:
    """Return the leaf of a node whose leaf is not known."""
    return f"no known leaf ({node})"
