"""The sentences about who is to blame: rails, nodes and pairs that were measured alone, and what they share."""

from collections.abc import Sequence

from railyard.base.bounds import PROBE_SLOW_SHARE, RESENT_SHARE, STARVED_SHARE
from railyard.base.wording import count_of, listing, message_size, number, percent
from railyard.verdict.wording import NOBODY_BLAMED, NOT_PROVEN, WITH_EVERY


def not_measured() -> str:
    """Return that nobody is blamed, because nothing was measured."""
    return f"no rail was measured alone, so {NOBODY_BLAMED}"


def none_of(probes: int) -> str:
    """Return that no probe gave a result."""
    return f"none of {count_of(probes, 'probe')}"


def no_result_at_all(probes: int, said: str | None) -> str:
    """Return that no probe of any rail gave a result; ``said``: what the first one printed."""
    first = f', the first printed "{said}"' if said else ""
    return f"{none_of(probes)} of single rails gave a result{first}: {NOBODY_BLAMED}"


def none_slow(probes: int, size_bytes: int | None) -> str:
    """Return that each rail is good alone."""
    size = f" of {message_size(size_bytes)}" if size_bytes else ""
    return f"no rail was slow alone in {probes} probes{size}: {NOBODY_BLAMED}"


def rate(value_mb_s: float) -> str:
    """Return a rate in MB/s (10^6 B/s) in words; 0 stands for a probe without a result."""
    return f"{number(value_mb_s)} MB/s" if value_mb_s else "no result"


def delay(value_us: float, size_bytes: int) -> str:
    """Return the time of a small message."""
    return f"{number(value_us)} us for {message_size(size_bytes)}"


def is_slow(is_small: bool) -> str:
    """Return what a bad rail is: slow, or delayed if its messages are small."""
    return "has a delay" if is_small else "is slow"


def no_result() -> str:
    """Return what a rail does over which nothing arrives."""
    return "gives no result"


def say_between(nodes: Sequence[str]) -> str:
    """Return between which nodes."""
    return f"between {listing(nodes)}"


def say_reached(is_small: bool, value: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return what all good pairs reached, and which pairs these are."""
    did = "took at most" if is_small else "carried at least"
    return f"{did} {value} between {', '.join(' and '.join(pair) for pair in pairs)}"


def say_elsewhere(is_small: bool, value: str) -> str:
    """Return what the good pairs reached, without their names."""
    return f"elsewhere at {'most' if is_small else 'least'} {value}"


def control(is_several: bool, reached: str) -> str:
    """Return what the same rail, or the same rails, gave with others."""
    return f"the same {'rails' if is_several else 'rail'} {reached} in the same seconds"


def margin(share: float, bound: str) -> str:
    """Return by which margin a rail is slow."""
    return f"margin {percent(share)}, {bound}"


def with_partner(value: str, partner: str) -> str:
    """Return what a rail gave with a partner."""
    return f"{value} with {partner}"


def nothing_with_any(rail: str, node: str, probes: int, partners: Sequence[str], control: str) -> str:
    """Return that a rail of a node gives no result with any partner."""
    return f"{rail} of {node} gives no result with any partner: {none_of(probes)} with {listing(partners)}; {control}"


def brief_nothing_with_any(partners: int, elsewhere: str) -> str:
    """Return the same as a headline."""
    return f"gives no result with any of {count_of(partners, 'partner')}; {elsewhere}"


def slow_with_every(rail: str, node: str, is_slow: str, values: Sequence[str], control: str, margin: str) -> str:
    """Return that a rail of a node is slow with every partner: its values with each, and those of its controls."""
    return f"{rail} of {node} {is_slow} {WITH_EVERY}: at best {listing(values)}; {control} ({margin})"


def brief_slow_with_every(is_slow: str, best: str, partners: int, elsewhere: str) -> str:
    """Return the same as a headline."""
    return f"{is_slow}: at best {best} with {count_of(partners, 'partner')}; {elsewhere}"


def slow_pair(is_slow: str, between: str, best: str) -> str:
    """Return what a rail is between only two nodes."""
    return f"{is_slow} only {between}: at best {best}"


def silent_pair(between: str, probes: int) -> str:
    """Return that a rail gives no result between only two nodes."""
    return f"gives no result only {between}: {none_of(probes)}"


def path_between(rail: str, does: str, reached: str, margin: str) -> str:
    """Return that the path between two nodes is slow; ``margin`` is empty if it gives no result."""
    return f"{rail} {does}, and {reached} in the same seconds{f' ({margin})' if margin else ''}: the path between them"


def brief_pair(does: str, elsewhere: str) -> str:
    """Return the same as a headline."""
    return f"{does}; {elsewhere}"


def unused_pair(reason: str) -> str:
    """Return that nobody is blamed for a path that a run did not use."""
    return f"{reason}, which this run did not use: {NOBODY_BLAMED} for that"


def below_expected(best_mb_s: float, expected_mb_s: float) -> str:
    """Return what a rail gave whose pairs are all alike."""
    return f"at best {rate(best_mb_s)}, expected {number(expected_mb_s)} MB/s"


def bound_of_slow() -> str:
    """Return the bound below which such a rail is slow."""
    return f" (bound {percent(PROBE_SLOW_SHARE.value)}, {PROBE_SLOW_SHARE.name})"


def too_few_partners(rail: str, does: str, between: str, best: str) -> str:
    """Return that too few pairs of a slow rail were measured."""
    return f"{rail} {does} {between}: {best}, but too few partners were measured to blame anybody"


def slow_everywhere(rail: str, does: str, pairs: int, best: str, sound: Sequence[str]) -> str:
    """Return that a rail is slow between all pairs; ``sound``: what each other rail reached."""
    others = f"; {listing(sound)} in the same seconds" if sound else ""
    return f"{rail} {does} between all {pairs} pairs measured: {best}{others}: its switch or its whole network"


def brief_slow_everywhere(does: str, pairs: int, best: str) -> str:
    """Return the same as a headline."""
    return f"{does} between all {pairs} pairs measured: {best}"


def say_undecided(
    rail: str, probes: int, rounds: int, values: Sequence[str], others: str | None, starved: float | None
) -> str:
    """Return that pairs of a rail are shown neither to be good nor to be slow; ``others``: what good pairs reached."""
    better = f", others {others}" if others is not None else ""
    waited = ""
    if starved is not None:
        waited = f"; the probes' processes waited for a processor {100 * starved:.0f} % of the time"
    return (
        f"{rail} is undecided after {probes} probes in {count_of(rounds, 'round')}: at best {listing(values)}{better}; "
        f"{NOBODY_BLAMED} for that{waited}"
    )


def none_lost(probes: int) -> str:
    """Return that no rail lost packets alone."""
    return f"none of {count_of(probes, 'probe')} of single rails lost packets: {NOBODY_BLAMED}"


def say_resent(pair: str, share: float) -> str:
    """Return which share of its segments a pair sent again."""
    return f"{pair} {percent(share)} of segments sent again"


def brief_loss(most: str) -> str:
    """Return as a headline that a rail loses packets with every partner; ``most``: the largest share."""
    return f"loses packets {WITH_EVERY}: up to {most} of segments sent again"


def lossy_rail(rail: str, node: str, values: Sequence[str]) -> str:
    """Return that a rail of a node loses packets: the share with each partner."""
    bound = f"bound {percent(RESENT_SHARE.value)} ({RESENT_SHARE.name})"
    return f"{rail} of {node} alone loses packets {WITH_EVERY}: {listing(values)} of segments sent again, {bound}"


def lossy_network(rail: str, measured: Sequence[str]) -> str:
    """Return that a rail loses packets everywhere: the words of each pair."""
    return f"{rail} loses packets between all pairs measured ({listing(measured)}): its switch or its whole network"


def lossy_pair(rail: str, measured: Sequence[str]) -> str:
    """Return that a rail loses packets between only two nodes."""
    return f"{rail} loses packets only between one pair ({listing(measured)}): the path between them"


def too_few_good(rail: str, measured: Sequence[str]) -> str:
    """Return that a rail loses packets, and nobody can say whose."""
    return f"{rail} loses packets ({listing(measured)}), but too few good partners were measured to blame a node"


def dead_node(node: str, rails: Sequence[str]) -> str:
    """Return that no process starts on a node, and it answers over no rail."""
    return (
        f"{node} does not answer: no process starts on it, and no partner gets a result from it over {listing(rails)}; "
        f"its rails are not judged"
    )


def silent_node(node: str, rails: Sequence[str], starts: bool) -> str:
    """Return that a node answers over no rail; ``starts``: although processes start on it."""
    does = ", although processes start on it" if starts else ""
    return f"{node} gives no partner a result over any of its rails ({listing(rails)}){does}: the node"


def none_slow_together(rails: Sequence[str]) -> str:
    """Return that no node is slow with all rails at once."""
    return f"; {listing(rails)} at once were also measured, and no node was slow with them"


def shared_part(rails: Sequence[str], reason: str, node: str) -> str:
    """Return that what the rails of a node share is slow, though each is good alone."""
    once = "both at once" if len(rails) == 2 else "all at once"
    good = f"each of {listing(rails)} is good alone, but {once} are not"
    return f"{good}: {reason}; what they share on {node} is at fault"


def both_ways(node: str, partner: str, to_mb_s: float, from_mb_s: float, slow_below: float) -> str:
    """Return in which direction a rail is slow: what a node sends to a partner, or what it receives."""
    figures = f"{rate(to_mb_s)} to {partner}, {rate(from_mb_s)} from {partner}"
    low, high = sorted((to_mb_s, from_mb_s))
    if low / high >= slow_below:
        return f"both directions alike: {figures}"
    way = "sends" if to_mb_s < from_mb_s else "receives"
    if not low:
        return f"only what {node} {way} gives no result: {figures}"
    return f"only what {node} {way} is slow: {figures} ({percent(low / high)}; bound {percent(slow_below)})"


def say_starved(share: float) -> str:
    """Return that a run was disturbed, since its processes waited for a processor."""
    bound = f"bound {100 * STARVED_SHARE.value:.0f} %, {STARVED_SHARE.name}"
    return f"disturbed: its processes waited for a processor {100 * share:.0f} % of the time ({bound})"


def measured_again(earlier: str) -> str:
    """Return that a test was measured again; ``earlier``: the words for what was before."""
    return f"measured again: {earlier}"


def path_not_proven(why: str, sentence: str) -> str:
    """Return that a path is not proven after all, and why."""
    return f"{NOT_PROVEN}{why}; {sentence}"


def look_at_node(node: str) -> str:
    """Return what to look at if a node answers over no rail."""
    return f"whether {node} is up and answers over every network (ping, ssh, its console and log)"


def look_at_switches(names: Sequence[str], groups: Sequence[str]) -> str:
    """Return what to look at if leaf switches (``names``) or groups of them (``group g2``) are slow to others."""
    parts = [f"up-links of {listing(names)}"] if names else []
    parts += [f"links from {listing(groups)} to other groups"] if groups else []
    return f"{listing(parts)}: how many are up, their width, speed and congestion, and error counters of both ends"


def look_at_shared(rails: Sequence[str], nodes: Sequence[str]) -> str:
    """Return what to look at if what rails share is slow."""
    both = listing(rails)
    return f"what {both} share on {listing(nodes)}: the slot, the card, and the switch port or up-link behind both"


def look_at_host() -> str:
    """Return what to look at if processes waited for a processor."""
    return "what else runs on this host (top, steal time of the hypervisor); run the test again when that has ended"


def look_at_clock() -> str:
    """Return what to look at if figures and counters say different times."""
    return "what printed these figures and with which clock: a wrapper, a file of an earlier run, the benchmark"


def look_at_one_way() -> str:
    """Return what to look at if a rail carries too little the other way."""
    return "rate, cable and error counters of that rail, and what may limit only its sending or receiving side"
