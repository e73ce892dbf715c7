"""What a reader of a stored output's judgement should know besides: bounds that ask little, sizes without any, sums.

Messages that came late or not at all, behind a figure that looks good: a typical latency, a mean of the others.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from railyard.base.bounds import LATE_MEAN, RESENT_SHARE, SHORT_END_SHARE, WEAK_END_SHARE
from railyard.base.patterns import late_regex
from railyard.benchmarks import moved_bytes
from railyard.benchmarks.model import BANDWIDTH, LATENCY, MESSAGE_RATE, Benchmark
from railyard.benchmarks.table import micro
from railyard.hardware.day_one import UNNAMED, class_of
from railyard.hardware.limits import DAY_ONE_FROM_BYTES, LinkAlone, limit
from railyard.hardware.links import LINKS, SLOTS, Link
from railyard.parsers.output import Table
from railyard.verdict.day_one import ENTRY, bounded_by_class, ends_by_class
from railyard.verdict.hints.causes import RDMA_FAMILIES
from railyard.verdict.hints.shapes import FITS_UP_TO, FLAT, rates_like
from railyard.verdict.inputs import Run, Target
from railyard.verdict.own_fault import LEAST_TCP_LATENCY_US
from railyard.verdict.rule_model import MetricInput, points
from railyard.verdict.sizes import describe_skipped
from railyard.verdict.stored_outputs.rail_bounds import as_board_of_four, idle_rails, rails_remark, without_nvlink
from railyard.verdict.wording import weak_figures as words

#: perftest's "99% percentile", OSU's "P99 Tail Lat(us)", sockperf's "percentile 99.000".
_PERCENTILE = late_regex(r"(?:time_p|latency_|p)(?P<rank>99(?:\.?9)?)(?:_tail_lat)?")
#: The columns of IMB and of OSU (``-f``) for the mean of the ranks' times and for the longest.
_MEAN_AND_MOST = (("time_avg", "time_max"), ("avg", "max"))
#: The longest time of a rank is at most 2.0 times the mean in the 848 rows of genuine outputs that have both.
_LATE_RANK = 3.0
#: What a segment of TCP carries at an MTU of 1500: with longer ones there are fewer, and the share is larger.
_SEGMENT = 1448  # bytes
#: Of what qperf's client sent, over UDP, UC or UD. Genuine outputs over InfiniBand, which drops nothing on its way,
#: have up to 4 %, and over UDP 13 %: the server's receive buffers were full.
_LOST_MOST = 0.15


def say_late_or_lost(judged: Sequence[MetricInput], table: Table) -> str | None:
    """Return that a figure which holds is not judged, since many of its messages were late or lost; or None."""
    return describe_loss(table) or next((why for metric in judged if (why := _late_mean(metric, table))), None)


def late_remarks(judged: Sequence[MetricInput], table: Table, benchmark: Benchmark) -> Iterator[str]:
    """Yield what a figure that holds does not show: a late hundredth of its messages, segments that were sent again."""
    yield from _resent_segments(table)
    for metric in judged:
        yield from _late_hundredth(metric, table)
        if micro.metric(benchmark.key, metric.declared.name).shape == "collective":
            yield from _late_rank(table)


def _late_hundredth(metric: MetricInput, table: Table) -> Iterator[str]:
    if metric.declared.name != LATENCY:
        return
    for column in filter(_PERCENTILE.fullmatch, table.columns):
        late = tuple(_find_late(metric, table, column))
        if late:
            size, value, bound = max(late, key=lambda each: each[1] / each[2])
            share = "99.9" if "999" in column or "99.9" in column else "99"
            yield words.late_part(share, value, size, bound)
            return


def _late_rank(table: Table) -> Iterator[str]:
    """Yield that one rank of a collective took far longer than the others: the mean of the ranks is what is judged."""
    for mean, most in _MEAN_AND_MOST:
        if {mean, most} <= set(table.columns):
            rows = zip(_sizes(table), table.column(mean), table.column(most), strict=True)
            late = [(size, float(b) / float(a)) for size, a, b in rows if a and b and b > _LATE_RANK * a]
            if late:
                size, times = max(late, key=lambda each: each[1])
                yield words.late_rank(times, size)
            return


def describe_loss(table: Table) -> str | None:
    """Return that datagrams of iperf or qperf, or messages of sockperf, were lost, so that its figure is not judged;
    or None. Sockperf's latency is that of the messages that came back.

    A receiver that takes datagrams too slowly loses them, too, so no link is blamed.

    Source: Mellanox/sockperf, src/client.cpp, client_statistics ("# dropped messages").
    """
    lost, sent = table.context.get("lost"), table.context.get("datagrams")
    if isinstance(lost, int) and isinstance(sent, int) and lost > RESENT_SHARE.value * sent:
        return words.lost_datagrams(lost, sent)
    if {"send_bw", "recv_bw"} <= set(table.columns):
        return _not_received(table)
    if "dropped" not in table.columns or "observations" not in table.columns:
        return None
    for dropped, seen in zip(table.column("dropped"), table.column("observations"), strict=True):
        lost, came = int(dropped or 0), int(seen or 0)
        if lost > RESENT_SHARE.value * (lost + came):
            return words.lost_messages(lost, lost + came)
    return None


def _not_received(table: Table) -> str | None:
    for sent, came in zip(table.column("send_bw"), table.column("recv_bw"), strict=True):
        rate, received = float(sent or 0), float(came or 0)
        if received < (1 - _LOST_MOST) * rate:
            return words.not_received(rate, received)
    return None


def _late_mean(metric: MetricInput, table: Table) -> str | None:
    """Return that perftest's typical latency holds its bound, and the mean of all messages is far above it."""
    if metric.declared.name != LATENCY or not {"time_typical", "time_avg"} <= set(table.columns):
        return None
    typical = dict(zip(_sizes(table), table.column("time_typical"), strict=True))
    late = [
        (size, mean, bound)
        for size, mean, bound in _find_late(metric, table, "time_avg")
        if mean > LATE_MEAN.value * float(typical[size] or 0)
    ]
    if not late:
        return None
    size, mean, bound = max(late, key=lambda each: each[1] / each[2])
    return words.late_mean(bound, size, mean)


def _find_late(metric: MetricInput, table: Table, column: str) -> Iterator[tuple[int, float, float]]:
    """Yield (size in bytes, value in us, bound in us) where a column is above the upper bound of a latency."""
    judged = dict(points(metric))
    for size, value in zip(_sizes(table), table.column(column), strict=True):
        bounds = [bound.high for band in metric.bands if (bound := band.bound_at(size)) is not None and bound.high]
        if size in judged and bounds and value is not None and float(value) > min(bounds):
            yield size, float(value), min(bounds)


def _sizes(table: Table) -> list[int]:
    return [int(each or 0) for each in table.column("size")] if "size" in table.columns else [0] * len(table.rows)


def _resent_segments(table: Table) -> Iterator[str]:
    """Yield that iperf3's sender sent many segments again; those that it needed follow from its rate and time."""
    seconds = table.context.get("interval")
    if not {"bandwidth", "retransmits"} <= set(table.columns) or not isinstance(seconds, int | float):
        return
    again = sum(int(each or 0) for each in table.column("retransmits"))
    rate = max((float(each) for each in table.column("bandwidth") if each is not None), default=0.0)
    segments = rate * 1e6 * seconds / _SEGMENT
    if segments and again > RESENT_SHARE.value * segments:
        yield words.sent_again(again, again / segments, _SEGMENT)


#: If no size is longer: perftest's default (64 KiB) is level already.
_LEVEL_FROM_BYTES = 64 << 10
#: Half a round trip of a short message that TCP over EFA's own card (ENA) has, too, but no posted run over EFA: these
#: take 22.3 us at most up to 128 B and 23.1 us at 1 KiB (c5n, Intel MPI), TCP 25 us and more (50 to 60 us both ways).
#: Source: aws/aws-parallelcluster, test_osu/osu_benchmarks/results/alinux2/c5n.18xlarge/intelmpi/osu_latency;
#: amzn/amzn-drivers, issue 301.
_LEAST_ENA_LATENCY_US, _SHORT_OF_EFA_BYTES = 24.0, 1 << 10
#: The management network of most nodes with a faster one. A slower one does not reach what is asked of a flow.
_USUAL_FALLBACK = "eth-10"
#: One flow of TCP between virtual machines of a cloud, MB/s: 5 Gbit/s outside a cluster placement group, 10 Gbit/s in
#: one. Source: Amazon EC2 User Guide, "Amazon EC2 instance network bandwidth" (single-flow traffic).
_FLOW_LIMIT_MB_S = 625.0
_ETHERNET = {name: link for name, link in LINKS.items() if link.family == "ethernet"}
_OF_CLOUDS = ("ethernet", "efa")
#: Networks that are bought for RDMA, so that their own TCP shows little. RoCE is Ethernet: its TCP is judged as such.
_WITHOUT_OWN_TCP: tuple[words.OwnTcp, ...] = ("infiniband", "omnipath", "slingshot")
#: A port that is full carries this share of its limit: with frames of 1500 B it is 95 % of what jumbo frames reach.
_NEARLY_ALL = 0.92
_MOST_OF_MLX4_GBIT_S = 56.0


def remarks_on(judged: Sequence[MetricInput], table: Table, of: Run, node_pairs: int) -> Iterable[str]:
    """Yield what a reader should know besides: sizes without a reference, and sums over pairs."""
    benchmark, target = of.benchmark, of.target
    held = any(metric.bands for metric in judged)
    yield from _old_card(table, target)
    yield from _slot_bounds(of)
    yield from without_nvlink(judged, of)
    yield from as_board_of_four(judged, of)
    yield from late_remarks(judged, table, benchmark)
    yield from idle_rails(judged, of)
    if benchmark.rows == "sizes" and (skipped := describe_skipped(table, benchmark.key)) is not None:
        yield skipped
    for metric in judged:
        yield from _one_way_or_both(metric, benchmark)
        yield from _weak_end(metric, of)
        flow = tuple(_weak_flow(metric, benchmark, target))
        yield from flow or _weak_alone(metric, benchmark, target)
        of_rails = rails_remark(metric, of)
        if of_rails is not None:
            yield of_rails
        if held and metric.floor_remark and not _follows_bandwidth(metric, judged):
            yield words.no_floor_of(metric.declared.name, metric.floor_remark)
        sizes = [size for size, _ in points(metric) if all(band.bound_at(size) is None for band in metric.bands)]
        if not metric.bands or not sizes or benchmark.rows != "sizes":
            continue
        yield words.without_reference(metric.declared.name, sizes, metric.limit is not None)
    pairs = moved_bytes.pairs_of(table, benchmark.key)
    if node_pairs > 1 and benchmark.sums_pairs:
        yield words.sum_of_nodes(node_pairs)
    elif pairs > 1:
        yield words.sum_of_ranks(pairs)


def _one_way_or_both(metric: MetricInput, benchmark: Benchmark) -> Iterable[str]:
    """Yield that the best pair of a run that may have sent one way or both has no more than one way carries."""
    known, whole = micro.metric(benchmark.key, metric.declared.name), metric.limit
    if whole is None or known.directions < 2 or not known.sure_share or known.least_share != known.sure_share:
        return
    for _, value in points(metric):
        if value <= whole.value_mb_s / 2:
            yield words.one_way_or_both(known.name, value, value / whole.value_mb_s)


def _old_card(table: Table, target: Target) -> Iterable[str]:
    """Yield that the device's name is of a card that ends below the link's rate.

    Source: torvalds/linux, drivers/infiniband/hw/mlx4: ConnectX-3 and older, up to FDR and 40 Gbit/s Ethernet.
    """
    device, rate = str(table.context.get("device")), target.fabric.link.data_rate_gbit_s or 0.0
    if device.startswith("mlx4_") and rate > _MOST_OF_MLX4_GBIT_S:
        yield words.old_card(device, target.fabric.link.name)


def _follows_bandwidth(metric: MetricInput, judged: Sequence[MetricInput]) -> bool:
    """Return whether a message rate needs no word: its rows' bandwidth is bounded, and rule 2 compares the two."""
    if metric.declared.name != MESSAGE_RATE or metric.measured is None:
        return False
    rows = metric.measured.sizes
    bandwidths = (one for one in judged if one.declared.name == BANDWIDTH and one.bands and one.measured is not None)
    return any(one.measured.sizes == rows for one in bandwidths if one.measured is not None)


def plateau(judged: Sequence[MetricInput], benchmark: Benchmark, target: Target) -> str | None:
    """Return which networks and slots the top of a curve equals, if nobody named the link; None if it equals none.

    Such a top is the trace of a fallback, of one rail of two, or of a narrow slot. Only who knows the network can tell,
    so it decides nothing.
    """
    if target.fabric.link.family != UNNAMED or benchmark.within or benchmark.rows == "pairs":
        return None
    for metric in judged:
        top = _top(benchmark, metric)
        directions = micro.metric(benchmark.key, metric.declared.name).directions
        fits = rates_like(top[0], directions) if top is not None else ()
        if top is not None and fits:
            return words.like_rates(top[1], fits)
    return None


def tcp_over_rdma(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that a run over TCP or UDP is not judged by a link of RDMA, of whose rate a processor's flows show
    little; None for others, and for a fabric that its system's file itself calls TCP.

    Over InfiniBand SDR the link's own rate bounds a flow.
    """
    fabric, whole = of.target.fabric, of.target.limit(1)
    family = next((each for each in _WITHOUT_OWN_TCP if each == fabric.link.family), None)
    if not of.benchmark.over_tcp or family is None or of.on_one_host or whole is None:
        return None
    if not (isinstance(fabric, LinkAlone) or fabric.kind != "tcp") or not any(map(ends_by_class, judged)):
        return None
    found = class_of(fabric.link, over_tcp=True, flows=of.benchmark.flows)
    if isinstance(found, str) or found.flow_mb_s is None:
        return None
    if found.flow_mb_s >= found.stream_shares[1] * whole.value_mb_s:
        return None
    return words.tcp_over_rdma(of.benchmark.key, family, of.target.fabric_name)


def slower_network(judged: Sequence[MetricInput], benchmark: Benchmark, target: Target) -> str | None:
    """Return that a curve over TCP ends with what a slower Ethernet carries, on a link of more than twice its rate;
    None if it does not.

    Flows of TCP over a fast port may have that rate by themselves, since a processor moves them, or a cloud limits
    them. So a port at the lower rate cannot be told from a healthy one: neither pass nor failure. A system's references
    ask what they ask.
    """
    flow_mb_s, whole = _flow_mb_s(benchmark, target), target.limit(1)
    if flow_mb_s is None or whole is None:
        return None
    for metric in judged:
        top = _top(benchmark, metric) if ends_by_class(metric) else None
        slower = None if top is None or top[0] < flow_mb_s else _slower(top[0], _ETHERNET, whole.value_mb_s / 2)
        if top is not None and slower is not None:
            name, most_mb_s = slower
            return words.slower_ethernet(top[1], name, top[0] / most_mb_s, most_mb_s, benchmark.flows)
    return None


def slower_port(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that a run over one rail of RDMA is not judged, since an earlier generation, or half of its lanes,
    carry as much; None if they do not.

    Only behind a slot that carries little more does such a rate hold the bound: HDR in PCIe Gen3 x16 has a limit of
    14.4 GB/s, and EDR one of 12.4 GB/s. Of that slot 70 % are asked of one message at a time, which is 81 % of EDR.
    """
    target, (behind, whole) = of.target, _behind_slot(of)
    if target.rails > 1 or behind >= whole or target.fabric.link.family not in RDMA_FAMILIES:
        return None
    # From the memory of older GPUs a healthy rate is low, so that a port at a lower rate explains less.
    least = _NEARLY_ALL if of.facts.from_device else 0.0
    for metric in judged:
        top = _top(of.benchmark, metric) if ends_by_class(metric) else None
        for name, most in _slower_ports(target.fabric.link, behind) if top is not None else ():
            if top is not None and least <= top[0] / most <= FITS_UP_TO:
                return words.slower_port(top[1], name, top[0] / most, most, target.fabric.slot or "")
    return None


def _behind_slot(of: Run) -> tuple[float, float]:
    """Return what the slot lets the link of one rail carry, and what the link carries by itself, MB/s.

    Both are equal if nothing crosses the slot, or if it is not known.
    """
    fabric, link = of.target.fabric, of.target.fabric.link
    whole = limit(link, mtu=fabric.mtu)
    crosses = fabric.slot and of.target.rail_names and not of.on_one_host and not of.benchmark.within
    slot = SLOTS[fabric.slot] if fabric.slot and crosses else None
    behind = limit(link, slot, mtu=fabric.mtu, max_payload=fabric.max_payload)
    return (0.0, 0.0) if whole is None or behind is None else (behind.value_mb_s, whole.value_mb_s)


def _slower_ports(link: Link, below_mb_s: float) -> Iterable[tuple[str, float]]:
    """Yield the earlier generations of a link that carry less than a rate, with their limits, MB/s, slowest first."""
    alike = ((name, each) for name, each in LINKS.items() if (each.family, each.lanes) == (link.family, link.lanes))
    known = ((name, limit(each)) for name, each in alike)
    limits = [(name, most.value_mb_s) for name, most in known if most is not None and most.value_mb_s < below_mb_s]
    yield from sorted(limits, key=lambda each: each[1])


def _slot_bounds(of: Run) -> Iterable[str]:
    """Yield that the slot bounds the run, and not the link."""
    behind, whole = _behind_slot(of)
    if behind < whole:
        yield words.slot_bounds(of.target.fabric.slot or "", behind, whole)


def flow_limit(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that one flow of TCP is not judged, since it misses its bounds only where it ends with what a cloud
    leaves to a flow; None for others, and on a link of up to twice that rate.
    """
    benchmark, target, whole = of.benchmark, of.target, of.target.limit(1)
    if _flow_mb_s(benchmark, target) is None or target.fabric.link.family not in _OF_CLOUDS:
        return None
    if not all(ends_by_class(metric) for metric in judged if metric.bands):
        return None
    if benchmark.flows > 1 or of.facts.pairs > 1 or whole is None or whole.value_mb_s <= 2 * _FLOW_LIMIT_MB_S:
        return None
    missed = [rate for metric in judged for rate in _missed_mb_s(metric, benchmark)]
    if not missed or min(missed) < _NEARLY_ALL * _FLOW_LIMIT_MB_S or max(missed) > FITS_UP_TO * _FLOW_LIMIT_MB_S:
        return None
    return words.flow_of_cloud(max(missed))


def _missed_mb_s(metric: MetricInput, benchmark: Benchmark) -> Iterable[float]:
    """Yield the rate one way, MB/s, of each value that misses a bound of its metric."""
    declared = micro.metric(benchmark.key, metric.declared.name)
    sends = 1 if benchmark.turn is None else benchmark.turn.sends
    for size, value in points(metric):
        bounds = [bound for band in metric.bands if (bound := band.bound_at(size)) is not None]
        if value <= 0 or all((each.low or 0.0) <= value <= (each.high or math.inf) for each in bounds):
            continue
        yield value / declared.directions if declared.is_bandwidth else sends * size / value


def _slower(rate_mb_s: float, links: Mapping[str, Link], below_mb_s: float) -> tuple[str, float] | None:
    """Return which of some links carries little more than a rate, and its limit in MB/s, which is less than
    ``below_mb_s``; None if there is none.

    What is asked of a flow is close to the rate of the usual fallback, so any rate up to its limit counts as its own.
    """
    for name, link in links.items():
        most = limit(link)
        if most is None or most.value_mb_s >= below_mb_s or rate_mb_s > FITS_UP_TO * most.value_mb_s:
            continue
        if name == _USUAL_FALLBACK or rate_mb_s >= _NEARLY_ALL * most.value_mb_s:
            return name, most.value_mb_s
    return None


def _flow_mb_s(benchmark: Benchmark, target: Target) -> float | None:
    """Return what is asked of its flows of TCP, since a processor moves their bytes; None if it does not use TCP."""
    of = class_of(target.fabric.link, over_tcp=benchmark.over_tcp, flows=benchmark.flows)
    return None if isinstance(of, str) else of.flow_mb_s


def _top(benchmark: Benchmark, metric: MetricInput) -> tuple[float, str] | None:
    """Return the rate, MB/s, that a curve ends with, and words for it; None if it has no such end.

    A window must stay level; one message at a time still rises, so there the largest size counts. In a printed time of
    an exchange several messages may cross a rail one way.
    """
    declared = micro.metric(benchmark.key, metric.declared.name)
    sends = 1 if benchmark.turn is None else benchmark.turn.sends
    rates = [
        (size, value if declared.is_bandwidth else sends * size / value) for size, value in points(metric) if value > 0
    ]
    if declared.shape == "figure" and declared.name == BANDWIDTH and rates:
        return rates[0][1], words.own_rate(rates[0][1])
    large = [(size, rate) for size, rate in rates if size >= DAY_ONE_FROM_BYTES]
    if declared.shape in ("pingpong", "latency") and large and declared.directions == 1:
        size, rate = large[-1]
        return rate, words.rate_at(rate, size)
    level = large or [(size, rate) for size, rate in rates if size >= _LEVEL_FROM_BYTES]
    top = max((rate for _, rate in level), default=0.0)
    if declared.name != BANDWIDTH or declared.shape != "stream" or not level or level[-1][1] < FLAT * top:
        return None
    if min(rate for _, rate in level) < FLAT * top:
        return None
    top /= declared.directions
    return top, words.flat_top(top, level[0][0], is_one_size=not level[1:], each_way=declared.directions == 2)


def short_end(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that a bandwidth is not judged, since its largest size asks too little of the link; None if it is."""
    if _is_of_latency(judged):
        return None
    for metric in judged:
        end = size, share = _end(metric)
        if _ends_short(metric, end) and _could_ask_more(metric, end, of):
            return words.short_end(share, size)
    return None


def _is_of_latency(judged: Sequence[MetricInput]) -> bool:
    """Return whether the figures are of one short message, whose latency is bounded: ucx_perftest's tag_lat says its
    rate too.
    """
    return any(metric.declared.name == LATENCY and metric.bands and len(points(metric)) == 1 for metric in judged)


def shared_rail(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that ranks in a chain are not judged, since those of a node may share its rail; None for others.

    The bound must hold if all of them cross the rail at once. A launcher mostly fills a node first: then one rank sends
    out of it, and a slow rail keeps the bound. So it is in IMB's Sendrecv and Exchange.
    """
    facts, turn, each = of.facts, of.benchmark.one_turn, of.facts.ranks_per_node or 1
    if each < 2 or (facts.ranks or 0) <= 2 or of.on_one_host or turn is None or not turn.both_ways:
        return None
    for metric in judged:
        size, share = _end(metric)
        if not 0 < share < WEAK_END_SHARE.value or not bounded_by_class(metric.bands, size):
            continue
        return words.shared_rail(share, size, each)
    return None


def short_latency(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that a half round trip is not judged, since TCP has such times, too, and long messages are missing.

    From the memory of GPUs and over EFA the bound of short messages is so wide that TCP over the same or a slower
    network keeps it. Return None if a time is faster, if a size is long, or if the network is meant to carry TCP.
    """
    target = of.target
    carries_tcp = of.benchmark.over_tcp or target.fabric.link.family not in (*RDMA_FAMILIES, "efa")
    if carries_tcp or target.has_longer_run or of.on_one_host or of.benchmark.within:
        return None
    for metric in judged:
        declared, found = micro.metric(of.benchmark.key, metric.declared.name), points(metric)
        if declared.name != LATENCY or declared.shape != "latency" or not metric.declared.sized:
            continue
        if not found or not bounded_by_class(metric.bands, found[0][0]):
            continue
        size, value = found[0]
        end = found[-1][0]
        is_half_round_trip = of.benchmark.pingpong and not micro.tool(of.benchmark.tool).between_nics
        over_efa = target.fabric.link.family == "efa" and is_half_round_trip
        if over_efa and _is_slow_for_efa(found):
            return words.tcp_over_efa(value, size)
        if LEAST_TCP_LATENCY_US <= min(value for _, value in found) and end < _LEVEL_FROM_BYTES:
            return words.short_latency(value, size, end)
    return None


def _is_slow_for_efa(found: Sequence[tuple[int, float]]) -> bool:
    """Return whether short messages take as long as over TCP, and longer than over EFA in posted runs."""
    short = [value for size, value in found if size <= _SHORT_OF_EFA_BYTES]
    return bool(short) and min(short) >= _LEAST_ENA_LATENCY_US


def _could_ask_more(metric: MetricInput, end: tuple[int, float], of: Run) -> bool:
    """Return whether longer messages would ask more of the link than the largest size of this bandwidth does.

    Atomics have 8 B. A processor bounds a flow of TCP at any size. A system's references ask what they ask. Two rails
    must show more than one of them carries anyway (``one_rail``), so half of their limit. Of a loop over sizes, the run
    with the longest messages is asked.
    """
    benchmark, target, (size, share) = of.benchmark, of.target, end
    if not bounded_by_class(metric.bands, size) or "atomic" in benchmark.key:
        return False
    if target.has_longer_run or target.rails == 2:
        return False
    flow_mb_s, most = _flow_mb_s(benchmark, target), metric.limit
    return flow_mb_s is None or most is None or share * most.bound_at(size) < WEAK_END_SHARE.value * flow_mb_s


def _ends_short(metric: MetricInput, end: tuple[int, float], below: float = WEAK_END_SHARE.value) -> bool:
    """Return whether the largest size of a bandwidth is short, so that less than this share of the limit is asked."""
    size, share = end
    is_bandwidth = metric.declared.quantity == "bandwidth"
    return is_bandwidth and 0 < share < below and size < DAY_ONE_FROM_BYTES


def _weak_end(metric: MetricInput, of: Run) -> Iterable[str]:
    """Yield that the largest size of a bandwidth asks little of the link's rate, where it is judged nevertheless."""
    end = _end(metric)
    if _ends_short(metric, end, SHORT_END_SHARE.value) and not (
        _ends_short(metric, end) and _could_ask_more(metric, end, of)
    ):
        yield words.weak_end(words.low_bound(metric.declared.name, *end))


def _weak_alone(metric: MetricInput, benchmark: Benchmark, target: Target) -> Iterable[str]:
    """Yield that little of the rate is asked of long messages, one at a time: on several rails, and on EFA."""
    size, share = _end(metric)
    if not 0 < share < WEAK_END_SHARE.value or size < DAY_ONE_FROM_BYTES:
        return
    printed_twice = metric.declared.quantity == "latency" and any(each.is_bandwidth for each in benchmark.metrics)
    if micro.metric(benchmark.key, metric.declared.name).shape not in ("pingpong", "latency") or printed_twice:
        return
    yield words.weak_alone(words.low_bound(metric.declared.name, size, share), target.rails)


def _end(metric: MetricInput) -> tuple[int, float]:
    """Return the largest size, B, and its bound as a share of the limit; a share of 0 without any."""
    most, found = metric.limit or metric.one_way, points(metric)
    if most is None or not metric.declared.sized or not found or not metric.bands:
        return 0, 0.0
    size = found[-1][0]
    bounds = [bound for band in metric.bands if (bound := band.bound_at(size)) is not None]
    if metric.declared.higher_is_better:
        asked = max((bound.low or 0.0 for bound in bounds), default=0.0)
    else:
        asked = max((size / bound.high for bound in bounds if bound.high), default=0.0)
    return size, asked / most.bound_at(size)


def _weak_flow(metric: MetricInput, benchmark: Benchmark, target: Target) -> Iterable[str]:
    """Yield that over TCP little of the link's rate is asked, since a processor moves the bytes of a flow."""
    flow_mb_s, most = _flow_mb_s(benchmark, target), metric.limit
    lone = metric.bands and all(band.entry_id == ENTRY for band in metric.bands)
    if flow_mb_s is None or most is None or not lone or metric.declared.name != BANDWIDTH:
        return
    share = flow_mb_s / most.value_mb_s
    if share < WEAK_END_SHARE.value:
        yield words.weak_flow(share, benchmark.flows)
