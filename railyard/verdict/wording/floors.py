"""The sentences about floors: why nothing bounds a metric on its first day, and what a bound is a share of."""

from collections.abc import Sequence
from typing import Literal

from railyard.base.wording import count_of, listing, message_size, number, percent
from railyard.hardware.day_one import NoClass
from railyard.hardware.gpu_nodes import Unsaid
from railyard.verdict.wording import Figure, in_doubt

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


def unsaid(what: Unsaid) -> str:
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


def within_node(benchmark: str) -> str:
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
