"""The sentences about figures of a stored output that hold and show little: why not judged, and what to know besides.

What a lesser part can carry too proves nothing: another network, fewer rails, a slot, shared memory, late messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.wording import count_of, either, listing, message_size, number, percent
from railyard.hardware.collective_times import Part

OwnTcp = Literal["infiniband", "omnipath", "slingshot"]
#: Networks that are bought for RDMA, and what TCP over them is. RoCE is Ethernet: its TCP is judged as such.
_OWN_TCP: dict[OwnTcp, str] = {"infiniband": "TCP (IPoIB)", "omnipath": "TCP (IPoIB)", "slingshot": "TCP"}


def at_size(size_bytes: int) -> str:
    """Return a message size as the end of a clause; empty for none."""
    return f" at {message_size(size_bytes)}" if size_bytes else ""


# The end of a curve.


def own_rate(rate_mb_s: float) -> str:
    """Return the only rate of an output."""
    return f"its {number(rate_mb_s)} MB/s"


def rate_at(rate_mb_s: float, size_bytes: int) -> str:
    """Return the rate of a message size."""
    return f"its {number(rate_mb_s)} MB/s at {message_size(size_bytes)}"


def flat_top(rate_mb_s: float, from_bytes: int, is_one_size: bool, each_way: bool) -> str:
    """Return the rate that a curve ends with."""
    where = f"at {message_size(from_bytes)}" if is_one_size else f"from {message_size(from_bytes)} on"
    return f"its flat top of {number(rate_mb_s)} MB/s {where}{' each way' if each_way else ''}"


def like_rates(top: str, links: Sequence[str]) -> str:
    """Return which links and slots have the rate that a curve ends with (``top``: one of the three above)."""
    return f"{top} is a rate of {either(links)}: if its network should be faster, it did not use it"


def tcp_over_rdma(benchmark: str, family: OwnTcp, fabric: str) -> str:
    """Return that a run over TCP shows little of a network that is bought for RDMA."""
    return (
        f"{benchmark} measures {_OWN_TCP[family]}, whose rate and latency a processor sets: a fault of {fabric} may "
        "not show; measure with RDMA (ib_write_bw, ib_send_lat, osu_bw), or judge by a reference"
    )


def slower_ethernet(top: str, link: str, share: float, most_mb_s: float, flows: int) -> str:
    """Return that a curve over TCP ends with what a slower Ethernet carries."""
    more = "eight flows" if flows == 1 else "more flows"
    return (
        f"{top} is a rate of {link} ({percent(share)} of {most_mb_s:.0f} MB/s): a port at that rate, another network, "
        f"or a limit of {count_of(flows, 'flow')}; measure with RDMA or {more}, or name the link that it used"
    )


def slower_port(top: str, link: str, share: float, most_mb_s: float, slot: str) -> str:
    """Return that an earlier generation of a link carries as much as a run behind a slot shows."""
    return (
        f"{top} is a rate of {link} too ({percent(share)} of {most_mb_s:.0f} MB/s), and {slot} lets a healthy link "
        "have little more: see the port's rate and lanes (ibstat), or judge by a reference of your system"
    )


def slot_bounds(slot: str, behind_mb_s: float, whole_mb_s: float) -> str:
    """Return that the slot bounds a run, and not the link."""
    return f"the slot {slot} bounds it: it carries {behind_mb_s:.0f} MB/s of the link's {whole_mb_s:.0f} MB/s"


def flow_of_cloud(rate_mb_s: float) -> str:
    """Return that a flow of TCP ends with what a cloud leaves to it."""
    return (
        f"its {number(rate_mb_s)} MB/s is what a cloud leaves to one flow of TCP (5 Gbit/s between machines of AWS "
        "outside a cluster placement group), or what a port at that rate carries; measure with eight flows (iperf3 -P "
        "8)"
    )


# Bounds that ask little.


def short_end(share: float, size_bytes: int) -> str:
    """Return that the largest size of a bandwidth asks too little of the link; ``share``: of its limit."""
    return (
        f"a run at {percent(share)} of the limit would still pass at {message_size(size_bytes)}, its largest size; "
        "measure up to 1 MiB or more to see the link's rate"
    )


def shared_rail(share: float, size_bytes: int, ranks: int) -> str:
    """Return that ranks of a node may share its rail, so that little is asked of it."""
    return (
        f"a run at {percent(share)} of the limit would still pass at {message_size(size_bytes)}, its largest size, "
        f"since the {ranks} ranks of a node may all cross its rail at once, or only one; run it with one rank on each "
        "node"
    )


def tcp_over_efa(latency_us: float, size_bytes: int) -> str:
    """Return that a latency over EFA may be of TCP over its card."""
    return (
        f"its {number(latency_us)} us at {message_size(size_bytes)} may be TCP over the same card, which takes 25 us "
        "and more; posted runs over EFA take 23.1 us at most; run it with FI_PROVIDER=efa"
    )


def short_latency(latency_us: float, size_bytes: int, end_bytes: int) -> str:
    """Return that a latency may be of TCP, and that its sizes end below those that show a link's rate."""
    return (
        f"its {number(latency_us)} us at {message_size(size_bytes)} may be TCP, too, and its sizes end at "
        f"{message_size(end_bytes)}; measure up to 1 MiB or more to see the link's rate"
    )


def low_bound(name: str, size_bytes: int, share: float) -> str:
    """Return the bound of a metric's largest size as a share of the limit."""
    return f"{name} at {message_size(size_bytes)}, its largest size, has a bound of {percent(share)} of the limit"


def weak_end(low: str) -> str:
    """Return that the largest size asks little (``low``: the words above)."""
    return f"{low}: measure up to 1 MiB or more to see the link's rate"


def weak_alone(low: str, rails: int) -> str:
    """Return that one message at a time asks little (``low``: as above) of one rail or of several."""
    of_rails = f" of {rails} rails" if rails > 1 else ""
    why = "may leave rails idle" if rails > 1 else "need not reach the link's rate"
    return f"{low}{of_rails}: one message at a time {why}; a window of messages (osu_bw) asks for more"


def weak_flow(share: float, flows: int) -> str:
    """Return that over TCP little of the link's rate is asked."""
    which = "which one flow reaches" if flows == 1 else f"for {flows} flows"
    return (
        f"bandwidth over TCP has a bound of {percent(share)} of the limit, {which}: a port at a lower rate may pass; "
        "only a reference of your system asks for more"
    )


def one_way_or_both(name: str, rate_mb_s: float, share: float) -> str:
    """Return that a rate may be of one way or of both; ``share``: of the limit of both."""
    return (
        f"{name} {number(rate_mb_s)} MB/s is judged as a rate of one way, since no report says which it was: if both "
        f"ways were added (the default, without --unidirectional), it is only {percent(share)} of the limit, as of a "
        "port at half of its rate"
    )


def old_card(device: str, link: str) -> str:
    """Return that a device's name is of a card that ends below the link's rate."""
    return (
        f"the output names the device {device}, and cards of that name (ConnectX-3 and older) end at FDR and 40 Gbit/s "
        f"Ethernet, below {link}: is it the right link?"
    )


def without_reference(name: str, sizes: Sequence[int], has_limit: bool) -> str:
    """Return at which sizes no reference bounds a metric."""
    ends = f"{message_size(sizes[0])} to {message_size(sizes[-1])}" if sizes[1:] else ""
    where = f"{len(sizes)} sizes from {ends}" if ends else " ".join(map(message_size, sizes))
    against = "compared with the limit only" if has_limit else "shown, not judged"
    return f"{name} at {where} is in no reference: {against}"


def no_floor_of(name: str, why: str) -> str:
    """Return why nothing bounds one metric of several."""
    return f"{name} not judged: {why}"


def sum_of_nodes(pairs: int) -> str:
    """Return that sums are divided by pairs of nodes."""
    return f"its sums are divided by {pairs} pairs of nodes"


def sum_of_ranks(pairs: int) -> str:
    """Return that sums are over pairs of ranks."""
    return f"its sums are over {pairs} pairs of ranks, assumed on one pair of nodes (if not, set --node-pairs)"


# Rails that may be idle.


def some_rails(count: int, rails: int) -> str:
    """Return some of a run's rails."""
    return f"{'one' if count == 1 else count} of the {rails} rails"


def rails_may_be_idle(needed: int, rails: int) -> str:
    """Return how many rails could be idle in a run that passes."""
    return (
        f"{some_rails(needed, rails)} can carry it: a run with {some_rails(rails - needed, rails)} idle would still "
        "pass; a window of long messages one way, over all of them (osu_mbw_mr), shows the most"
    )


def fewer_rails(needed: int, rails: int, value: float, unit: str, size_bytes: int | None, is_stream: bool) -> str:
    """Return that fewer rails can carry what a run shows; ``is_stream``: a window of long messages, one way."""
    where = "" if size_bytes is None else f" at {message_size(size_bytes)}"
    others = "the last one works" if needed == rails - 1 else "the others work"
    others = "the second one works" if rails == 2 else others
    more = "a window of messages of 1 MiB or more (osu_bw), or enough flows of TCP, needs them all"
    if is_stream:
        more = "one way, with enough pairs of ranks (osu_mbw_mr), healthy rails carry more"
    carried = f"its {number(value)} {unit}{where}"
    return f"{some_rails(needed, rails)} can carry {carried}: nothing shows that {others}; {more}"


# Collectives.

#: What takes longest if it is not what crosses the rails at their rate.
_LONGEST: dict[Part, str] = {
    "starts": "the starts of its messages take longest",
    "rails": "little of its rails is asked of such a collective",
    "memory": "what its ranks pass on within a node takes longest",
    "adding up": "adding up its vectors takes longest",
}
#: How to see more of the rails.
_SHOWS_MORE: dict[Part, str] = {
    "starts": "measure larger sizes",
    "rails": "only a reference of your system asks for more",
    "memory": "run it with one rank on each node",
    "adding up": "an alltoall or osu_bw, with one rank on each node, asks for more",
}


def passing_share(name: str, size_bytes: int, share: float, longest: Part, shows_more: Part) -> str:
    """Return which share of its rails' rate a collective may have and still pass, what takes longest, and what would
    show more.
    """
    return (
        f"{name} at {message_size(size_bytes)}, its largest size, has a bound of {percent(share)} of what the rails "
        f"carry, so a run at that rate would still pass: {_LONGEST[longest]}; {_SHOWS_MORE[shows_more]}"
    )


def weak_collective(size_bytes: int, share: float, longest: Part, shows_more: Part) -> str:
    """Return that the bound of a collective asks too little of its rails."""
    return (
        f"a run at {percent(share)} of what the rails carry would still pass at {message_size(size_bytes)}, its "
        f"largest size, since {_LONGEST[longest]}; {_SHOWS_MORE[shows_more]}"
    )


def barrier_as_tcp(nodes: int, took_us: float, rounds: int, round_us: float) -> str:
    """Return that a barrier takes as long as one over TCP may."""
    return (
        f"a barrier of {nodes} nodes over TCP may take {number(took_us)} us too ({count_of(rounds, 'round')} of "
        f"{round_us:g} us or more), so nothing shows that RDMA was used; run it with one rank on each node, or "
        "osu_latency"
    )


# Messages that were late or lost.


def late_part(share: str, value_us: float, size_bytes: int, bound_us: float) -> str:
    """Return that a hundredth or a thousandth of the messages was late; ``share``: of those that were not."""
    return (
        f"{share} % of the messages took up to {number(value_us)} us{at_size(size_bytes)}: the bound of "
        f"{number(bound_us)} us holds for the judged figure alone. What delays the others (packets sent again, pauses, "
        "other work on the nodes) is not judged"
    )


def late_rank(times: float, size_bytes: int) -> str:
    """Return that one rank of a collective took far longer than the others."""
    return (
        f"the slowest rank took {times:.1f} times the mean of all{at_size(size_bytes)}: the bound is of the mean. Look "
        "for a slow node or rail (`railyard pairs`), or measure pairs of nodes"
    )


def lost_datagrams(lost: int, sent: int) -> str:
    """Return that datagrams were lost."""
    return (
        f"{percent(lost / sent)} of the datagrams were lost ({lost} of {sent}); look at errors and drops of both "
        "interfaces (ethtool -S) and at the receiver's buffer (-w), and send less (-b)"
    )


def lost_messages(lost: int, all_: int) -> str:
    """Return that messages were dropped, and that the latency is of the others."""
    return (
        f"{lost} of {all_} messages were dropped, and the latency is that of the others; look at errors and drops of "
        "both interfaces (ethtool -S), and at the receive buffer of the server"
    )


def not_received(sent_mb_s: float, received_mb_s: float) -> str:
    """Return that much of what was sent did not arrive."""
    return (
        f"{percent(1 - received_mb_s / sent_mb_s)} of what was sent did not arrive (send_bw {number(sent_mb_s)} MB/s, "
        f"recv_bw {number(received_mb_s)} MB/s, which counts); look at errors and drops of both interfaces (ethtool "
        "-S, or perfquery over InfiniBand), and at the server's receive buffers"
    )


def late_mean(bound_us: float, size_bytes: int, mean_us: float) -> str:
    """Return that a typical latency holds its bound, and the mean of all messages does not."""
    return (
        f"the typical latency holds its bound of {number(bound_us)} us{at_size(size_bytes)}, but the mean of all "
        f"messages (t_avg) is {number(mean_us)} us: some were very late; look at packets sent again, pauses and other "
        "work on the nodes"
    )


def sent_again(segments: int, share: float, bytes_each: int) -> str:
    """Return that a sender sent many segments again."""
    return (
        f"{segments} segments were sent again, {percent(share)} of all at {bytes_each} bytes each: packets were lost; "
        "look at drops and errors of the ports on the way (ethtool -S, the switch)"
    )


# GPUs of one node.

_SAY_GPUS = "Say how many GPUs the node has in a system's file (gpus: per_node), and judge with --system"


def buffers_in_host(over: str) -> str:
    """Return that the buffers of a run between GPUs are not in their memory."""
    return f"its buffers are not in the memory of GPUs, so nothing crossed {over} between them"


def slow_rate_of_gpus(rate_mb_s: float) -> str:
    """Return a rate that is less than GPUs exchange, as the begin of a sentence."""
    return f"its {number(rate_mb_s)} MB/s one way is less than"


def late_between_gpus(took_us: float, size_bytes: int) -> str:
    """Return a time that is longer than GPUs take, as the begin of a sentence."""
    return f"its {number(took_us)} us at {message_size(size_bytes)} is longer than"


def below_gpu_slots(less: str, over: str, asked_mb_s: float, is_xgmi: bool) -> str:
    """Return that GPUs of one node exchange less than what connects them carries (``less``: one of the two above)."""
    topology = "rocm-smi --showtopo" if is_xgmi else "nvidia-smi topo -m"
    return (
        f"{less} GPUs of one node exchange over {over} ({number(asked_mb_s)} MB/s): look at {topology}, at the slots' "
        "width, and at ACS"
    )


def board_or_switch(few: int, links: int, of_four_mb_s: float, least_mb_s: float) -> str:
    """Return what two GPUs exchange on a board of four, and behind a switch."""
    return (
        f"a board of four GPUs has {few} of {links} links between two ({number(of_four_mb_s)} MB/s), and behind a "
        f"switch a healthy copy has all of them (at least {number(least_mb_s)} MB/s)"
    )


def between_few_gpus(rate_mb_s: float, board: str) -> str:
    """Return that a copy is too fast for a board of four and too slow for a switch (``board``: the words above)."""
    return f"{number(rate_mb_s)} MB/s is too little or too much: {board}. {_SAY_GPUS}; look at nvidia-smi nvlink -s too"


def as_board_of_four(board: str) -> str:
    """Return that a copy is judged as one on a board of four (``board``: as above)."""
    return f"it is judged as a board of four: {board}. If the node has a switch, links are missing. {_SAY_GPUS}"


def nvlink_unseen(rate_mb_s: float, slots_mb_s: float) -> str:
    """Return that slots carry what GPUs exchange, too."""
    return (
        f"NVLink was not seen: PCIe carries {number(rate_mb_s)} MB/s too; only above {number(slots_mb_s)} MB/s (PCIe "
        "Gen5 x16) one way the GPUs surely used a faster link"
    )


# What vendors and clouds demand of one NIC.

Memory = Literal["device", "host"]


def no_demand(of_class: str, benchmark: str) -> str:
    """Return that nobody's demand of a NIC is known."""
    return f"nobody's demand of one NIC of {of_class} with {benchmark or 'this benchmark'} is stored here"


@dataclass(frozen=True, slots=True)
class NicDemand:
    """What somebody demands of one NIC: Gbit/s by message size in bytes, under which conditions, and the source."""

    whose: str
    number_id: str
    gbit_s: Mapping[int, float]
    conditions: Mapping[str, str]
    source: str


def say_demanded_of_nic(demand: NicDemand, of_class: str, reached: str, most_gbit_s: float | None) -> str:
    """Return who demands what of one NIC, whether it is reached (the words below), and where it is written.

    ``most_gbit_s``: the most that is possible, if less is.
    """
    wanted = listing([f"{number(value)} Gbit/s at {message_size(size)}" for size, value in demand.gbit_s.items()])
    how = "".join(f"; {key}: {value}" for key, value in demand.conditions.items())
    beyond = (
        ""
        if most_gbit_s is None
        else f"; no NIC of this link can reach it, since at most {number(most_gbit_s)} Gbit/s are possible"
    )
    return (
        f"{demand.whose} demands {wanted} of one NIC of {of_class} ({demand.number_id}; a threshold, not physics{how})"
        f": {reached}{beyond}; source {demand.source}"
    )


def demand_of_memory(memory: Memory) -> str:
    """Return that a demand is for buffers in other memory."""
    where = "the memory of GPUs" if memory == "device" else "the host's memory"
    return f"not compared, since it is for buffers in {where}"


def demand_of_other_sizes() -> str:
    """Return that an output has none of the sizes of a demand."""
    return "not compared, since yours has none of its sizes"


def demand_reached(missed: Mapping[int, float]) -> str:
    """Return whether a demand is reached; ``missed``: Gbit/s of the sizes that do not reach it."""
    values = [f"{number(value)} Gbit/s at {message_size(size)}" for size, value in missed.items()]
    return f"not reached, yours has {listing(values)}" if values else "reached"
