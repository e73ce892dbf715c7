"""The sentences of rule 5: what references demand, what holds them, and what nothing bounds.

The sentences about floors: why nothing bounds a metric on its first day, and what a bound is a share of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from railyard.base.hostlist import list_nodes
from railyard.base.wording import count_of, listing, message_size, number, percent
from railyard.benchmarks.model import Figure
from railyard.hardware.day_one import NoClass
from railyard.verdict.wording import Miss, in_doubt

if TYPE_CHECKING:
    from railyard.hardware.gpu_nodes import Unsaid

#: From here on, people say a ratio as a number of times, and not in per cent.
_SHOWN_AS_TIMES = 2.0


def say_missed(miss: Miss, of: str, entry: str, own: str) -> str:
    """Return that a value misses its bound, ``of`` a reference; ``own``: by how much a condition of ours is missed."""
    return f"{f'{own}: ' if own else ''}{miss.words}, the {of} of {entry}"


def bound() -> str:
    """Return what a reference has that is one value."""
    return "bound"


def range_of(ends: tuple[float, float], edge: float, unit: str) -> str:
    """Return a range with its margin at an edge: ``range of 6 to 7 us, less 10 %,``."""
    near, sign = (ends[0], "less") if edge <= ends[0] else (ends[1], "plus")
    margin = "" if edge == near else f", {sign} {percent(abs(edge / near - 1))},"
    return f"range of {ends[0]:.10g} to {ends[1]:.10g} {unit}{margin}"


def own_condition(by: float, unit: str, share: float) -> str:
    """Return that only the project's own condition for a class of links is missed, and by how much."""
    return f"Railyard's own condition is missed by {number(by, 3)} {unit} ({percent(share)})"


def say_measured(miss: Miss, kind: str, source: str) -> str:
    """Return a missed bound without the name of its reference."""
    return f"{miss.words}, its bound ({kind}): {source}"


def brief_share(miss: Miss) -> str:
    """Return a missed bound without values: ``bandwidth is 44.5 % of its bound at 1 MiB``."""
    figure, ratio = miss.figure, miss.figure.value / miss.bound
    share = f"{ratio:.1f} times" if ratio >= _SHOWN_AS_TIMES else f"{percent(ratio)} of"
    name = figure.name.replace("_", " ")
    return f"{name} is {share} its bound{figure.size_words}"


def brief(miss: Miss) -> str:
    """Return a missed bound as a headline: ``bandwidth is 44.5 % of its bound at 1 MiB: 9.93 MB/s, bound 22.3``."""
    digits = 3 if number(miss.figure.value, 3) != number(miss.bound, 3) else 4
    values = (number(each, digits) for each in (miss.figure.value, miss.bound))
    return f"{brief_share(miss)}: {f' {miss.figure.unit}, bound '.join(values)}"


def other_unit(name: str, unit: str, entry: str, other: str) -> str:
    """Return that a reference is in another unit."""
    return f"{name} is in {unit} but {entry} is in {other}"


def say_lacking(name: str, sizes: Sequence[int], entry: str) -> str:
    """Return that sizes were not measured which a reference requires; no size: the metric has none."""
    where = f" at {listing([message_size(size) for size in sizes])}" if sizes else ""
    return f"{name} was not measured{where}, which {entry} requires"


def no_size_for(name: str, entry: str) -> str:
    """Return that a reference holds at none of the measured sizes."""
    return f"{name} has no size at which {entry} holds, so that reference was not judged"


def say_unread(names: Sequence[str]) -> str:
    """Return which metrics have no values."""
    return f"{listing(names)} could not be read"


def only_reported(reasons: Sequence[str]) -> str:
    """Return why no metric is compared with a reference."""
    return f"only reported, never compared with a reference ({'; '.join(reasons)})"


def say_because(names: Sequence[str], reason: str) -> str:
    """Return why these metrics are only reported."""
    return f"{listing(names)}: {reason}"


def bounds_only(entry: str, name: str, where: str) -> str:
    """Return at which sizes alone a reference holds."""
    return f"{entry} bounds {name} only {where}"


def none_of_these(bounds: Sequence[str]) -> str:
    """Return that an output has none of the sizes of its references; ``bounds``: the words of each one."""
    return f"{'; '.join(bounds)}, and the output has none of these sizes: measure them, or judge by --link"


def in_range(first: int | None, last: int | None) -> str:
    """Return where a reference holds: ``from 1 MiB on``; neither end: everywhere, which needs no words."""
    starts = "" if first is None else f"from {message_size(first)} {'to' if last else 'on'}"
    ends = "" if last is None else message_size(last)
    return f"{starts or 'up to'} {ends}".strip()


def open_end(name: str, size_bytes: int, is_largest: bool) -> str:
    """Return that nothing bounds the size that decides."""
    which = "largest" if is_largest else "smallest"
    return f"nothing bounds {name} at {message_size(size_bytes)}, its {which} size"


def open_rates(name: str, sizes: str) -> str:
    """Return that nothing bounds sizes at which a link shows its rate."""
    return f"nothing bounds {name} at {sizes}, where a link shows its rate"


def bounded_figure(is_bounded: bool) -> str:
    """Return whether a single figure is bounded."""
    return f"bounded: {int(is_bounded)} of 1 figure"


def bounded_sizes(bounded: Sequence[int], measured: int, left: str, reason: str | None) -> str:
    """Return which sizes are bounded, which are ``left``, and the system's own reason for that."""
    counts = f"bounded: {len(bounded)} of {count_of(measured, 'size')}"
    last = f" to {message_size(bounded[-1])}" if bounded[1:] else ""
    ends = f", {message_size(bounded[0])}{last}" if bounded else ""
    why = f": {reason}" if reason is not None else ""
    return f"{counts}{ends}{f'; no reference bounds {left}{why}' if left else ''}"


def say_held(name: str, entries: Sequence[str], covered: str) -> str:
    """Return that references hold which demand nothing that has a ratio; ``covered``: which sizes are bounded."""
    return f"{name} holds {listing(entries)}{_in_brackets(covered)}"


def held_at_worst(name: str, entries: Sequence[str], at: str, ratio: float, worst: str, covered: str) -> str:
    """Return how near to failing a value is, ``at`` its worst size, and the reference ``worst`` that it is nearest."""
    if ratio >= _SHOWN_AS_TIMES:
        better = f"{ratio:.1f} times better than the bound of {worst}"
        return f"{name} holds {listing(entries)}: its worst value{at} is {better}{_in_brackets(covered)}"
    return f"{name} holds {listing(entries)}, at worst {percent(ratio)} of {worst}{at}{_in_brackets(covered)}"


def _in_brackets(covered: str) -> str:
    return f" ({covered})" if covered else ""


def say_disturbed(by: str) -> str:
    """Return that somebody else used the rails of a run."""
    return f"disturbed: {by}"


def brief_disturbed(miss: Miss | None) -> str:
    """Return that somebody else used the rails of a run, as a headline, with what was low."""
    low = " during the run" if miss is None else f", {brief_share(miss)}"
    return f"disturbed: others used the rails{low}"


def within_node() -> str:
    """Return the end of a sentence about ranks that share a node."""
    return ", within one node"


def say_crossed(rails: Sequence[str], nodes: Sequence[str]) -> str:
    """Return the end of a sentence: which rails of which nodes a value crossed; nothing if no rail is known."""
    of_nodes = f" of {list_nodes(nodes)}" if nodes else ""
    return f", over {listing(rails)}{of_nodes}" if rails else ""


def rails_of(count: int, link: str) -> str:
    """Return the rails of an output that does not name them."""
    return f"{count} rails of {link}"


def nothing_to_compare(system: str, reason: str, fabric: str) -> str:
    """Return that a system has neither references nor a known limit for a link."""
    return (
        f"{system} is report-only ({reason}) and no limit is known for the link of {fabric}: there is nothing to "
        f"compare it with"
    )


def report_only(reason: str, said: Sequence[str]) -> str:
    """Return what holds on a system without references."""
    return f"report-only ({reason}): {'; '.join(said)}"


def no_floor() -> str:
    """Return that no floor holds for any metric."""
    return "not judged: these metrics have no floor"


def too_short(why: str, entries: Sequence[str]) -> str:
    """Return that a run took too short a time for the references that name it."""
    return f"not judged by {listing(entries)}: {why}"


def brief_open_end(end: str) -> str:
    """Return that nothing bounds the size that decides (``end``), as a headline."""
    return f"{end}: a reference is missing"


def nothing_decides(ends: Sequence[str]) -> str:
    """Return that nothing bounds the sizes that decide: the words of each, then what holds."""
    return f"not judged: {'; '.join(ends)}"


def no_reference(names: Sequence[str], stack: str, rails: Sequence[str], fabric: str, system: str) -> str:
    """Return that a system's references have no entry for these metrics."""
    return (
        f"no reference for {listing(names) or 'any metric'} with {stack} over {listing(rails)} on fabric {fabric} of "
        f"{system}, and the system is not report-only"
    )


def look_at_reference() -> str:
    """Return what to look at if a reference cannot be compared."""
    return "unit and sizes of that reference, and the sizes that the check measures"


def look_at_others() -> str:
    """Return what to look at if a run was disturbed."""
    return "who else used the rails during the run; run it again on exclusive nodes"


def look_at_better() -> str:
    """Return what to look at if a value is better than its reference allows."""
    return (
        "the unit, and whether nodes, card and benchmark are those of the reference; if the system did improve, write "
        "its new numbers"
    )


def look_at_cores() -> str:
    """Return what to look at if a value within a node is too low."""
    return "which cores (and GPUs) the ranks were bound to, and what else the node did during the run"


def look_at_rails(rails: Sequence[str], nodes: Sequence[str], is_barrier: bool, is_own: bool) -> str:
    """Return what to look at if a value is too low; ``is_own``: it may be that only our condition is too high."""
    first = (
        "whether your system should give as much: a class entry in the references of your system (--system) sets "
        "another bound; if it should, "
    )
    noise = "how the ranks are bound and what else ran on their cores, then "
    these, between = f" ({listing(rails)})" if rails else "", ""
    if nodes:
        between = f" between {list_nodes(nodes)} and good partners"
    begins = f"{first if is_own else ''}{noise if is_barrier else ''}"
    return f"{begins}each rail alone{these}{between}, then link state and error counters"


def look_at_link(system: str) -> str:
    """Return where a link is declared that has no known limit."""
    return f"the link in systems/{system}.yaml: it should declare its data rate and source"


def look_at_entry(system: str) -> str:
    """Return where an entry is missing for the sizes that decide."""
    return f"references/{system}.yaml (an entry for these sizes)"


def look_at_length(system: str) -> str:
    """Return where the size of a problem is that runs too short a time."""
    return f"npb_classes of systems/{system}.yaml, and the nodes of the run"


def look_at_both_files(system: str) -> str:
    """Return where a reference is missing."""
    return f"references/{system}.yaml (add an entry) or systems/{system}.yaml (report_only and a reason)"


_UNSAID: dict[Unsaid, str] = {
    "slot": "the slot of a GPU: say --link pcie5-x16, or name it in the system's file (gpus: slot)",
    "gpu-link": "what connects two GPUs: say --link nvlink-4, or name it in the system's file (gpus: nvlink or xgmi)",
    "links-between-two": "how many links two GPUs have to each other",
}


def no_class(why: NoClass, generation: str, name: str) -> str:
    """Return why no class bounds a run over a link, by its generation and its name."""
    unknown = f"there is no source for a day-one band of {generation}"
    said: dict[NoClass, str] = {
        "unnamed": "nothing says what it ran on; name its link (--link ib-edr) or its system (--system)",
        "no-source": unknown,
        "no-source-from-gpus": f"{unknown} from the memory of GPUs",
        "no-limit": f"no limit is known for {name}",
    }
    return said[why]


def unknown_of_gpus(what: Unsaid) -> str:
    """Return what nobody says of the GPUs of a node."""
    return f"nobody says {_UNSAID[what]}"


def all_gpus_at_once() -> str:
    """Return that nothing bounds all GPUs of a node at once."""
    return "no source gives a floor for all GPUs of a node that send at once"


def unknown_slot() -> str:
    """Return that a system's file does not give the slot of a GPU."""
    return "the file does not give a GPU's slot (gpus: slot), which may be slower than the link"


def no_source(within_node: bool) -> str:
    """Return that no source gives a floor for copies within a node, or for a run whose ranks share the links."""
    of = "copies through a node's memory" if within_node else "a run whose ranks share the links"
    return f"no source gives a floor for {of}, so only a reference says whether it is fast enough"


def no_link_limit() -> str:
    """Return that a link has no known limit."""
    return "no limit known for the link"


def within_node_floor(benchmark: str) -> str:
    """Return that a benchmark does not use the network."""
    return f"{benchmark} does not leave its node"


def no_link_bounds(name: str, benchmark: str) -> str:
    """Return that no link bounds a figure."""
    return f"no link bounds {name} of {benchmark}: only a system's references judge it (--system)"


def rate_was_set(tool: str, is_sender: bool) -> str:
    """Return that a figure over UDP says nothing about the link: the sender's own rate, or what a socket took."""
    does = (
        "sends at the rate that it is given (-b), whatever the link"
        if is_sender
        else "counts what its own socket took, not what arrived"
    )
    return f"over UDP {tool} {does}"


def only_bandwidth(benchmark: str, name: str) -> str:
    """Return that only the bandwidth of a benchmark is bounded."""
    return f"the day-one band of {benchmark} bounds its bandwidth, not {name}"


def no_band(name: str, benchmark: str) -> str:
    """Return that no band is known."""
    return f"no day-one band is known for {name} of {benchmark}"


def ranks_unplaced(ranks: int | None) -> str:
    """Return that nobody says how many ranks share a node."""
    return f"{ranks} ranks took part, and it is not known how many share a node: say it with --ranks-per-node"


def ranks_may_be_neighbours(ranks: int | None, all_: int) -> str:
    """Return that some ranks took part and others waited, so that these may share a node."""
    return (
        f"{ranks} of {all_} ranks took part, and they may share a node; if each rank had a node of its own, say "
        "--ranks-per-node 1"
    )


def nodes_unknown(options: Sequence[Literal["--nodes", "--ranks-per-node"]]) -> str:
    """Return that nobody says on how many nodes a collective ran; ``options``: those that say it."""
    return f"on how many nodes, with how many ranks on each? Say it with {listing(options)}"


def several_ranks_over_efa() -> str:
    """Return that nothing bounds a collective over EFA with several ranks on each node."""
    return (
        "no source bounds a collective over EFA with several ranks on each node: an allreduce of 4 B took 1.8 ms on "
        "128 nodes with 96 ranks each; run it with one rank on each node"
    )


def not_in_references(has_upper_limit: bool) -> str:
    """Return why a metric is only reported."""
    return "only an upper limit names it" if has_upper_limit else "no reference names it"


def no_table_of(benchmark: str) -> str:
    """Return that an output lacks a benchmark's table."""
    return f"the output has no table of {benchmark}"


def in_table(why: str, line: int) -> str:
    """Return what is wrong with a table, with the line of its heading."""
    return f"{why} (table of line {line})"


def doubt_of_flow(figure: Figure, bound: float, tool: str) -> str:
    """Return that a rate may be all that one flow of TCP shows."""
    return (
        f"{in_doubt(figure, 'below', bound)}: {tool} uses RDMA where it can, and over TCP one flow may be all that it "
        "shows; name the link of its RDMA (such as roce-100), or judge by a reference"
    )


def doubt_of_pair(figure: Figure, bound: float) -> str:
    """Return that a rate may be of a slow pair."""
    return (
        f"{in_doubt(figure, 'below', bound)}: a slow pair, or a network with few uplinks; only a reference says which"
    )


def doubt_of_latency(figure: Figure, bound: float) -> str:
    """Return that a latency may be of a slow pair."""
    return (
        f"{in_doubt(figure, 'above', bound)}: a slow pair, more switches, or other work on its nodes; only a reference "
        "says which"
    )


# What a bound is a share of.


def half_round_trips(times: float, start_us: float, of_class: str) -> str:
    """Return a bound that is several times half a round trip."""
    return f"{times:g} times {number(start_us)} us, half a round trip of {of_class}"


def healthy_stream(share: float, stream_mb_s: float) -> str:
    """Return a bound that is a share of a healthy stream."""
    return f"{percent(share)} of {number(stream_mb_s)} MB/s, a healthy stream over one rail, one way"


def floor_of(benchmark: str, what: str) -> str:
    """Return the source of a floor of a benchmark (``what``: one of the two above)."""
    return f"day-one floor of {benchmark}: {what}"


def static_routes(share: float, limit_mb_s: float, blocking: float) -> str:
    """Return the source of a floor between two halves of a network."""
    blocked = f"; blocking {blocking:g}" if blocking > 1 else ""
    return f"{share:.0%} of {limit_mb_s:.1f} MB/s, what static routes leave for random halves{blocked}"


def share_of_rate(share: float, limit_mb_s: float, flow_mb_s: float | None) -> str:
    """Return the rate that is asked: a share of the limit, or that of a flow if it is less."""
    if flow_mb_s is not None and flow_mb_s < share * limit_mb_s:
        return f"a flow of {number(flow_mb_s)} MB/s"
    return f"{100 * share:.0f} % of {number(limit_mb_s)} MB/s"


def single_messages(starts: int, start_us: float, rate: str) -> str:
    """Return the terms of a band for one message at a time (``rate``: the words above)."""
    what = "one message at a time" if starts == 1 else f"{starts} starts in the printed time"
    return f"{what}, start {number(start_us)} us, {rate}"


def collective(nodes: int, ranks_per_node: int, start_us: float, rate_mb_s: float) -> str:
    """Return the terms of a band for a collective."""
    ranks = f"{count_of(nodes, 'node')} with {count_of(ranks_per_node, 'rank')} each"
    return f"{ranks}, start {number(start_us)} us, {number(rate_mb_s)} MB/s on each node"


def window(short_us: float, long_us: float, long_from_bytes: int, rate: str) -> str:
    """Return the terms of a band for a window of messages, by the cost of each."""
    later = "" if long_us == short_us else f" ({number(long_us)} us from {message_size(long_from_bytes)} on)"
    return f"a window of messages, {number(short_us)} us{later} for each below 1 MiB, {rate}"


def starts(count: int, start_us: float) -> str:
    """Return the terms of the bound of one message's time."""
    return f"{count} starts of {number(start_us)} us"


def window_of(share: float, size_bytes: int) -> str:
    """Return the terms of the bound of one figure for messages of an unknown size."""
    return f"{100 * share:.0f} % of a window of messages of {message_size(size_bytes)}"


def band_of(of_class: str, terms: str) -> str:
    """Return the source of a band of a class of links (``terms``: one of those above)."""
    return f"day-one band of {of_class}: {terms}"
