"""The sentences of a judgement of logs between GPUs of two nodes: which part is sick, how sure, and what to do next."""

from collections.abc import Sequence
from typing import Literal

from railyard.base.wording import count_of, listing, message_size, number

Sure = Literal["shown", "likely", "open"]
#: What each word of certainty means; printed with every verdict that names or doubts somebody.
SURE: dict[Sure, str] = {
    "shown": "all of its tests are slow or without a result, in at least two logs; a node or GPU has at least two good "
    "partners; and nothing smaller explains all of these tests",
    "likely": "the figures fit and nothing contradicts them, but all tests of a pair are from one log or were cut, or "
    "only the number of the GPU suggests that several nodes share one fault",
    "open": "something is wrong there, but these logs do not show what, so nobody is named",
}
#: How many are printed one by one; --json has all.
MOST = 20
#: Odds below this power of ten are not written out.
_LEAST_ODDS = -9.0
_MOST_NODES = 4


def meaning_of(sure: Sure) -> str:
    """Return a word of certainty with what it means."""
    return f"{sure}: {SURE[sure]}"


def gb_s(value_mb_s: float) -> str:
    """Return a value in GB/s, without the unit."""
    return f"{value_mb_s / 1000:.2f}"


def span(values_mb_s: Sequence[float]) -> str:
    """Return the range of some values, GB/s, without the unit."""
    low, high = min(values_mb_s, default=0.0), max(values_mb_s, default=0.0)
    return gb_s(low) if low == high else f"{gb_s(low)} to {gb_s(high)}"


def layer(benchmark: str, gpus: int) -> str:
    """Return a collective with the GPUs of each node."""
    return f"{benchmark} with {count_of(gpus, 'GPU')} per node"


def pair(a: str, b: str) -> str:
    """Return a pair of nodes."""
    return f"{a}-{b}"


def gpu_name(place: str, bus: str | None) -> str:
    """Return a GPU by its place in the node and its bus address, or by its address alone (None)."""
    return f"the GPU at {place}" if bus is None else f"GPU {place} ({bus})"


def gpus_by_place(places: Sequence[str]) -> str:
    """Return many GPUs by their places."""
    return f"the GPUs {', '.join(places)}"


def some(shown: Sequence[str]) -> str:
    """Return the first of many, and how many more there are."""
    return f"{', '.join(shown[:MOST])}{f' and {len(shown) - MOST} more' if len(shown) > MOST else ''}"


# The text.


def heading(tests: int, logs: int, nodes: int, nodes_have: str) -> str:
    """Return how much was judged, and what it is compared with; ``nodes_have``: the nodes in words, if given."""
    with_ = (
        f", and with what nodes of {nodes_have} can reach"
        if nodes_have
        else ", so a fault that all nodes share is not seen (with --nodes-have it may be)"
    )
    return (
        f"{count_of(tests, 'test')} of {count_of(logs, 'log')}, {count_of(nodes, 'node')}; pairs are compared with one "
        f"another{with_}"
    )


Section = Literal["contradicted", "sick", "undecided", "lower", "not-covered", "not-used"]


def section(which: Section) -> str:
    """Return the heading of a section."""
    return {
        "contradicted": "does not pass, however the pairs compare",
        "sick": "sick",
        "undecided": "undecided",
        "lower": "lower than others, but not named",
        "not-covered": "not covered",
        "not-used": "not used, so neither good nor bad",
    }[which]


def more_in_json(count: int) -> str:
    """Return how many more there are."""
    return f"and {count} more: --json has all"


def nothing_judged() -> str:
    """Return that nothing was judged."""
    return "nothing was judged"


def nobody_named(is_wrong: bool, is_good: bool) -> str:
    """Return that nobody is named; ``is_wrong``: logs themselves say something against their nodes."""
    if is_wrong:
        return "no test is slow beside the others, but this does not pass: see above what the logs themselves say"
    if not is_good:
        return "nobody is named, but this does not pass: not all was judged"
    return "nobody is named: no test is slow, and all gave a result"


def few_enough(count: int, all_: int, same_parts: bool, gpus: int, with_every_pair: int, same_pairs: bool) -> str:
    """Return how few logs would have been enough, and for what they would not."""
    said = (
        f"{count} of {all_} logs blame the same nodes and GPUs; what the logs before it showed chose each one"
        if same_parts
        else f"this method needs all {all_}: the {count} that it asks for do not blame the same nodes and GPUs"
    )
    same = "blame the same pairs too" if same_pairs else "still do not blame the same pairs"
    return (
        f"{said}; a pair that is at fault by itself shows only in its own logs, so each pair needs one: these and "
        f"every log with {count_of(gpus, 'GPU')} per node, {with_every_pair} in all, {same}"
    )


def how_few(words: str) -> str:
    """Return the words above with what they are about."""
    return f"how few logs would have been enough: {words}"


def how_sure(words: str) -> str:
    """Return how sure a suspect is, as a line."""
    return f"how sure: {words}"


def what_fits_too(words: str) -> str:
    """Return what else explains a suspect's tests, as a line."""
    return f"fits too: {words}"


def what_decides(words: str) -> str:
    """Return what would decide, as a line."""
    return f"would decide: {words}"


# The suspect.


def between_pair(a: str, b: str) -> str:
    """Return a pair as a suspect."""
    return f"the pair {a} and {b}: what is between them"


def sick_node(node: str, groups: Sequence[str], leaves: Sequence[str]) -> str:
    """Return a node as a suspect; at least one GPU of each group is at fault. ``leaves``: where it is connected."""
    which = (
        f"several of its GPUs at once ({listing(groups)})" if len(groups) > 1 else f"at least one of {listing(groups)}"
    )
    return f"{node}: {which}, or what they share{_connection(leaves)}"


def which_gpus(groups: Sequence[str], is_single: bool) -> str:
    """Return the GPUs of a suspect."""
    return listing(groups) if is_single else f"at least one of {listing(groups)}"


def sick_path(node: str, which: str, leaves: Sequence[str]) -> str:
    """Return the path of a node's GPU as a suspect (``which``: the words above)."""
    port = f"port{f' of {listing(leaves)}' if leaves else ''}"
    return f"{node}, {which}, or its path (NIC, slot, cable, {port})"


def sick_paths(which: str, nodes: Sequence[str], leaves: Sequence[str]) -> str:
    """Return the same GPU's path of several nodes as a suspect (``which``: as above)."""
    together = f"{len(nodes)} nodes together ({', '.join(nodes)})"
    return f"the path of {which} of {together}: what joins them to all other GPUs{_connection(leaves)}"


def _connection(leaves: Sequence[str]) -> str:
    return f"; connected to {listing(leaves)}" if leaves else ""


def odds(sure: Sure, chance: float) -> str:
    """Return how sure a suspect is; ``chance``: log10 of the odds that slow tests scattered by chance hit it."""
    shown = "less than 1 in 10^9" if chance < _LEAST_ODDS else f"about 1 in {number(10**-chance, 2)}"
    return f"{sure}; if slow tests were scattered by chance, all of these would hit it with odds of {shown}"


# The evidence.


def in_layer(of_layer: str, values: str, inside: str) -> str:
    """Return what a suspect's tests of one layer gave; ``inside``: its nodes with one another."""
    return f"{of_layer}: {values}{inside}"


def slow_values(values_mb_s: Sequence[float], healthy_mb_s: float, pairs: int) -> str:
    """Return what a suspect's tests gave, beside healthy ones."""
    tests = count_of(len(values_mb_s), "test")
    return f"{span(values_mb_s)} of {gb_s(healthy_mb_s)} GB/s in {tests} of {count_of(pairs, 'pair')}"


def no_result_in(tests: int, log: str, why: str) -> str:
    """Return how many tests gave no result, with the first log and why."""
    return f"no result in {count_of(tests, 'test')} ({log}: {why})"


def with_one_another(values_mb_s: Sequence[float]) -> str:
    """Return what a suspect's nodes gave with one another."""
    return f"; with one another {span(values_mb_s)} GB/s in {count_of(len(values_mb_s), 'test')}"


def say_falling(pair: str, first_mb_s: float, last_mb_s: float, benchmark: str, log: str) -> str:
    """Return that longer messages are slower."""
    return (
        f"longer messages are slower, as with lost packets: {pair} from {gb_s(first_mb_s)} to {gb_s(last_mb_s)} GB/s "
        f"({benchmark}, {log})"
    )


def slow_test(of_layer: str, value_mb_s: float, healthy_mb_s: float) -> str:
    """Return one slow test of a pair."""
    return f"{of_layer}: {gb_s(value_mb_s)} of {gb_s(healthy_mb_s)} GB/s"


def no_results(tests: int, logs: int, layers: Sequence[str]) -> str:
    """Return which tests of a pair gave no result."""
    return f"no result in {count_of(tests, 'test')} of {count_of(logs, 'log')}: {listing(layers)}"


def good_test(of_layer: str, value_mb_s: float) -> str:
    """Return one good test of a pair."""
    return f"{of_layer} {gb_s(value_mb_s)} GB/s"


def good_between(tests: Sequence[str]) -> str:
    """Return which tests between the two nodes of a pair are good."""
    return f"good between the two: {listing(tests)}" if tests else "no test between the two is good"


def good_with_others(counts: Sequence[tuple[str, int]]) -> str:
    """Return with how many other nodes each node of a pair is good."""
    head = "both are good with others" if all(count for _, count in counts) else "good with others"
    others = [f"{node} with {count_of(count, 'other node')}" for node, count in counts]
    return f"{head}: {listing(others)}"


def in_several_pairs(node: str, pairs: int, is_good_elsewhere: bool) -> str:
    """Return that a node is in several pairs that are at fault."""
    return f"{node} is in {pairs} such pairs{', and good with the other nodes' if is_good_elsewhere else ''}"


def good_without(is_one: bool, tests: Sequence[str]) -> str:
    """Return that a suspect's nodes are good without the suspected GPUs."""
    return f"good with other nodes without {'it' if is_one else 'these GPUs'}: tests {', '.join(tests)}"


# What fits too, and what would decide.

_OTHER_JOBS = "other jobs' traffic at that time, which the logs do not show"


def fits_pair_too() -> str:
    """Return what else explains a slow pair."""
    return f"a fault of either node that only shows with this partner (routing, addresses, firewall); {_OTHER_JOBS}"


def fits_part_too() -> str:
    """Return what else explains the same slow GPU of several nodes."""
    return (
        "the other nodes' end of the same links; a network that is narrower there by design; the same wrong setting or "
        f"cabling on all of these nodes; {_OTHER_JOBS}"
    )


def fits_node_too() -> str:
    """Return what else explains a slow node or GPU."""
    return f"a slow port of the leaf switch that this node is cabled to; {_OTHER_JOBS}"


def next_of_pair(a: str, b: str, other: str | None) -> str:
    """Return what would decide about a pair; ``other``: a node that both are good with."""
    return (
        f"the same test of {a} with {b}, and of each with {other or 'a good node'}, three times with NCCL_DEBUG=INFO "
        "while nothing else runs; then `ib_write_bw` between the two, NIC by NIC"
    )


def good_partner(node: str | None) -> str:
    """Return a node to test with; None: any good one."""
    return node or "a node that is good with others"


def next_of_gpus(node: str, partner: str, gpus: int) -> str:
    """Return what would decide which GPU of a node is at fault."""
    return (
        f"logs with one GPU of each node, {node} with {partner}, GPU by GPU ({gpus} logs): the slow one is at fault; "
        "if you start with half of the GPUs, you need fewer logs"
    )


def next_of_part(gpu: str, node: str, partner: str, nodes: int) -> str:
    """Return what would decide about the same GPU of several nodes."""
    return (
        f"`ib_write_bw` from the NIC of {gpu} of {node} to the same NIC of {partner}, while nothing else runs; then "
        "the up-links (number, width, speed, errors, congestion) of the leaf switch to which this NIC of the "
        f"{nodes} nodes is cabled"
    )


def next_of_gpu(gpu: str, node: str, partner: str) -> str:
    """Return what would decide about one GPU."""
    return (
        f"`ib_write_bw` from the NIC of {gpu} of {node} to {partner}, from host memory and from the GPU's: if both are "
        "slow, it is the NIC, cable or port; if only the GPU's is slow, it is its slot or PCIe switch"
    )


# Levels, and what is not covered.


def _side(across: bool | None) -> str:
    return "" if across is None else " across leaves" if across else " within a leaf"


def too_few_pairs(of_layer: str, across: bool | None, pairs: int) -> str:
    """Return that a layer has too few pairs to compare."""
    return f"{of_layer}{_side(across)}: {count_of(pairs, 'pair')} with a result, too few to compare: not judged"


def healthy_level(
    of_layer: str, across: bool | None, value_mb_s: float, most_bytes: int, bound_mb_s: float, tests: int
) -> str:
    """Return what healthy pairs of a layer give, and below what a test is slow."""
    return (
        f"{of_layer}{_side(across)}: healthy is {gb_s(value_mb_s)} GB/s at messages up to {message_size(most_bytes)}, "
        f"slow below {gb_s(bound_mb_s)} ({count_of(tests, 'test')})"
    )


def pairs_without_test(pairs: Sequence[str]) -> str:
    """Return which pairs have no test."""
    return f"{count_of(len(pairs), 'pair')} without a test: {some(pairs)}"


def nodes_without_log(nodes: Sequence[str]) -> str:
    """Return which nodes with a leaf switch have no log."""
    return f"{count_of(len(nodes), 'node')} with a leaf switch and no log: {some(nodes)}"


def ends_before(log: str, of_layer: str) -> str:
    """Return that a log lacks a test."""
    return f"{log}: it ends before {of_layer}, which most logs like it have"


def share_of_pair(pair: str, share: float) -> str:
    """Return a pair with its share of healthy."""
    return f"{pair} {100 * share:.1f} %"


def between_levels(tests: Sequence[str]) -> str:
    """Return which tests are neither good nor slow."""
    return f"{count_of(len(tests), 'test')} neither good nor slow, since healthy pairs differ by as much: {some(tests)}"


def gpus_unseen(node: str, gpus: Sequence[str], is_judged: bool) -> str:
    """Return which GPUs no good test used."""
    why = "only in slow tests, which other parts explain" if is_judged else "only in tests that are not judged"
    return f"{node}: {listing(gpus)} {why}"


def lower_node(node: str, share: float, benchmark: str, gpus: int, partners: int) -> str:
    """Return a node that is lower than others with all partners, but within the allowed range."""
    return (
        f"{node} gives at most {100 * share:.1f} % of healthy in {benchmark} with {gpus} GPUs, with each of {partners} "
        "partners: it is at another leaf switch, or its path is slower"
    )


def lower_across(value_mb_s: float, benchmark: str, gpus: int, share: float) -> str:
    """Return that all pairs across leaves are slower than those within."""
    return (
        f"all pairs across leaves: {gb_s(value_mb_s)} GB/s in {benchmark} with {gpus} GPUs, {100 * share:.1f} % of "
        "those within a leaf: the network is narrower there, pairs that ran at once share it, or it is slow for all"
    )


# Logs that are not used, and tests without a result.


def log_unused(log: str, pair: str, why: str) -> str:
    """Return a log that was not used, with its nodes if they are known."""
    return f"{log}{f' ({pair})' if pair else ''}: {why}"


def unlike_expected(found: str, expected: str) -> str:
    """Return why a log cannot be read."""
    return f"found {found}, expected {expected}"


def no_job() -> str:
    """Return that a log has no job."""
    return "it has no job of nccl-tests or rccl-tests"


def of_test(name: str | None, why: str) -> str:
    """Return why a test was not used."""
    return f"{name or 'a test that does not name itself'}: {why}"


def same_run(log: str) -> str:
    """Return that a run is in two logs."""
    return f"the same run is also in {log}, where it counts"


def two_jobs(first_line: int, second_line: int) -> str:
    """Return that two jobs wrote into one log at once."""
    return f"two jobs in one log (lines {first_line} and {second_line}), not one of two nodes"


def no_ranks() -> str:
    """Return that a log does not list its ranks."""
    return "it does not list its ranks, so its nodes are not known"


def no_pair(nodes: Sequence[str]) -> str:
    """Return that a job is not of two nodes."""
    return f"{count_of(len(nodes), 'node')} ({', '.join(nodes[:_MOST_NODES])}), expected a pair"


def unlike_counts(a: str, gpus_a: int, b: str, gpus_b: int) -> str:
    """Return that two nodes have different numbers of GPUs."""
    return f"{gpus_a} GPUs of {a} and {gpus_b} of {b}, expected the same number of both"


def no_collective() -> str:
    """Return that a log does not name its collective."""
    return "the log does not say which collective it is"


def cut_table(text: str) -> str:
    """Return that a test's table is cut; ``text``: what the log says below it, if anything."""
    return f"cut: its table is not complete{f' ({text})' if text else ''}"


def wrong_data() -> str:
    """Return that a test moved wrong data."""
    return "failed: it moved wrong data"


def no_row(text: str | None) -> str:
    """Return that a test has no row; ``text``: the error that its log says."""
    return f"failed: {text}" if text else "cut: it ends without a row and without an error"


def say_contradicted(who: str, why: str, log: str, logs: int) -> str:
    """Return what the first of some logs says against a host, a pair or all pairs."""
    return f"{who}: {why} ({log}{'' if logs == 1 else f' and {logs - 1} more'})"


def may_be_ethernet() -> str:
    """Return what to do if the nodes have only Ethernet."""
    return "if the nodes have only Ethernet, say it: --nodes-have gpus=8,nics=1,link=eth-100, with their numbers"


# The picture.


def picture_title(nodes: int, logs: int, named: int) -> str:
    """Return the title of the picture of all pairs; ``named``: nodes with a part that is named."""
    red = f"; red names: {count_of(named, 'node')} with a part that is named" if named else ""
    return f"{count_of(nodes, 'node')}, {count_of(logs, 'log')}{red}"


def panel_title(benchmark: str, gpus: int, healthy_mb_s: float) -> str:
    """Return the title of one layer's panel."""
    return f"{benchmark}, {count_of(gpus, 'GPU')} per node; 100 % is {gb_s(healthy_mb_s)} GB/s"


def lowest_pair(a: str, b: str, share: float) -> str:
    """Return the lowest pair of a panel."""
    return f"lowest: {a} and {b}, {100 * share:.0f} %"


def pairs_without_result(count: int) -> str:
    """Return how many pairs of a panel gave no result."""
    return f"{count_of(count, 'pair')} without a result"
