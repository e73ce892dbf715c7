"""What is wrong with a curve by itself, whatever references say: it falls, a step is too high, or one size is too slow.

How far a healthy curve goes depends on its pattern, the memory and the kind of link. All three are judged by the time
of a message, t = size / bandwidth. On a healthy link this time rises with the size: slower than the size while the
start of a message decides, and like the size once the rate does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from railyard.benchmarks.model import BANDWIDTH, LATENCY, Benchmark, Metric
from railyard.benchmarks.table import micro
from railyard.hardware.day_one import RDMA, RDMA_NOT_INFINIBAND, RDMA_OF_QDR, UNNAMED, class_of
from railyard.verdict.inputs import Run
from railyard.verdict.rule_model import MetricInput, points
from railyard.verdict.wording import own_fault as words


@dataclass(frozen=True, slots=True)
class Shares:
    """How far a healthy curve goes. It falls to ``falls_to`` of the highest value before, and a single size to
    ``dips_to`` of both neighbours. The time of the next size rises by at most ``step`` times the ratio of both sizes,
    and no message takes ``slower`` times as long as a larger one. Steps, dips and slower sizes count from
    ``from_bytes`` on.
    """

    falls_to: float
    step: float
    slower: float
    dips_to: float
    from_bytes: int = 1


#: Between hosts, if the link may be any. Healthy genuine curves fall to 45.1 % where both directions are full (Intel
#: MPI over EFA), to 52 % where a protocol changes (gets over TCP at 1 Gbit/s, 16 to 64 KiB) and to 58 % there over EFA
#: (64 to 128 KiB); a card that loses its flow control fell to 29 % (Azure, HDR). A rendezvous step took 1.94 times the
#: line (EFA, 256 to 512 KiB); a fault took 6.3 times (EDR, 128 to 256 KiB: 24 to 299 us). A healthy message took up to
#: 3.0 times as long as a larger one (puts of a few bytes over TCP); a fault made it 8.7 times (TCP in place of
#: Slingshot). One size fell to 58 % of both neighbours (EFA, 128 KiB).
BETWEEN_HOSTS = Shares(falls_to=0.45, step=2.5, slower=3.5, dips_to=0.50)
#: Over RDMA from QDR on: 45 healthy genuine curves fall to 93 % at most from 16 KiB on, and take steps of at most 1.07
#: times the line; of those with an unknown state, puts over Aries fall to 88 % and a ping-pong takes a step of 1.35. A
#: fault fell to 61 % and rose again (EDR with Intel MPI over verbs, 128 to 256 KiB, half of the link's rate).
OVER_RDMA = Shares(falls_to=0.62, step=2.0, slower=3.5, dips_to=0.70)
#: From the memory of GPUs small messages may take another way than larger ones: 11 us at 1 B and 0.5 us at 8 KiB
#: (GH200, Open MPI 5), 15.6 us at 8 KiB and 4.1 us at 32 KiB (A100). From 16 KiB on, 12 healthy curves fall to 99 %.
FROM_GPUS = Shares(falls_to=0.45, step=4.0, slower=5.0, dips_to=0.60, from_bytes=64 << 10)
#: Within a node a cache ends: all ranks of a node fell to 37 % (Uniband, 64 KiB to 4 MiB), two to 47 % (NetPIPE over
#: the loopback device). One size fell to 57.5 % of both neighbours (NetPIPE, 512 KiB).
WITHIN_A_NODE = Shares(falls_to=0.35, step=4.0, slower=4.0, dips_to=0.45)
#: If no link is named, the ranks may also share a node: what no healthy curve of either kind shows.
UNNAMED_LINK = Shares(
    falls_to=min(BETWEEN_HOSTS.falls_to, WITHIN_A_NODE.falls_to),
    step=max(BETWEEN_HOSTS.step, WITHIN_A_NODE.step),
    slower=max(BETWEEN_HOSTS.slower, WITHIN_A_NODE.slower),
    dips_to=min(BETWEEN_HOSTS.dips_to, WITHIN_A_NODE.dips_to),
)
#: The same for one pair of ranks that sends one way, and starts faster than TCP does: RDMA, EFA's windows, or the
#: memory of one node. Without all ranks of a node at once, the lowest healthy one falls to 46.9 % (NetPIPE over the
#: loopback device) and a single size to 57.5 % of both neighbours (NetPIPE within a node, 512 KiB).
UNLIKE_TCP = replace(UNNAMED_LINK, falls_to=0.45, dips_to=0.55)
#: A collective changes its algorithm with the size: to 32 % (broadcast over EFA, 64 to 512 KiB), 5.8 times slower
#: (broadcast over TCP, 2 KiB). An alltoall over DDR whose time rose 28 times from 128 to 256 B was a fault, so was an
#: allreduce that fell to 3 % (HDR in a cloud). Vectors shorter than the ranks have other algorithms.
COLLECTIVE = Shares(falls_to=0.15, step=5.0, slower=8.0, dips_to=0.15, from_bytes=64)
#: From this size on a fall counts too if the curve rises again, or rose higher later. Below, a message in a window is
#: dearer where it no longer fits into its descriptor: 64 to 128 B fell to 56 % (Uniband over HDR100).
_FALLS_FROM_BYTES = 16 << 10
#: NetPIPE measures a few bytes beside each size, where no protocol but one step can change: between hosts the lowest
#: healthy value is 99.6 % of both neighbours, and 80 % over the loopback device. Sizes within 10 % count as one, too.
_CLOSE, _CLOSE_DIPS_TO, _SAME = 1.3, 0.65, 1.1
#: A short time of one message is not judged: see below. In a window it is an average, and dips to 56 % (Uniband over
#: HDR100, 128 B).
_SHORT_DIPS_TO = 0.50
#: Below these times (us) a clock's step and one interrupt decide, not the link.
_LEAST_STEP_US = 5.0
#: Half a round trip of up to 8 B that TCP does not reach: published RDMA is at 0.6 to 7 us, TCP at 12 us and more.
NEVER_TCP_LATENCY_US = 7.0
#: The least half round trip that TCP is published with: see above.
LEAST_TCP_LATENCY_US = 12.0
#: One message of up to 8 B in a window of messages: RDMA takes 0.1 to 1.2 us, TCP 1.67 us (a cloud's card, osu_bw) and
#: more. A library that joins short messages could make TCP look faster, so 1.2 us is not enough to tell.
NEVER_TCP_MESSAGE_COST_US = 1.0
_FEW_BYTES = 8
#: No direction of 1 Gbit/s carries so much (MB/s).
ABOVE_1_GBIT_MB_S = 250.0


def fault(metric: Metric, points: Sequence[tuple[int, float]], shares: Shares = BETWEEN_HOSTS) -> str | None:
    """Return what is wrong with a curve by itself, with size and factor; None if nothing is.

    ``points``: (size in bytes, value) with rising sizes, bandwidths in MB/s or times in us, finite and above 0.
    """
    sized = [(size, value) for size, value in points if size > 0 and value > 0]
    if len(sized) < 2:
        return None
    bandwidths = sized if metric.is_bandwidth else [(size, size / value) for size, value in sized]
    return (
        _dip(metric, bandwidths, shares)
        or _dip(metric, _merge_close_sizes(bandwidths), shares)
        or (None if metric.is_bandwidth else _step(metric, bandwidths, shares))
        or _fall(metric, sized, bandwidths, shares)
        or _slower(metric, bandwidths, shares)
        or _step(metric, bandwidths, shares)
    )


def starts_as_rdma(metric: Metric, pairs: int, points: Sequence[tuple[int, float]]) -> bool:
    """Return whether messages of a few bytes are faster than TCP can be; False without such sizes.

    ``points`` as in ``fault``; a bandwidth is a sum over ``pairs`` of ranks.
    """
    small = [(size, value) for size, value in points if 0 < size <= _FEW_BYTES and value > 0]
    if metric.name == LATENCY and metric.shape == "latency":
        return any(value < NEVER_TCP_LATENCY_US for _, value in small)
    if metric.name == BANDWIDTH and metric.shape == "stream":
        at_once = metric.directions * pairs
        return any(size * at_once / value < NEVER_TCP_MESSAGE_COST_US for size, value in small)
    return False


def _dip(metric: Metric, bandwidths: Sequence[tuple[int, float]], shares: Shares) -> str | None:
    """Return the first size that is far slower than both of its neighbours."""
    in_windows = metric.shape in ("stream", "one-of-two")
    for before, (size, value), behind in zip(bandwidths, bandwidths[1:], bandwidths[2:], strict=False):
        lower, is_short = min(before[1], behind[1]), size / value < _LEAST_STEP_US
        if size < shares.from_bytes or (is_short and not in_windows):
            continue
        if value >= (_SHORT_DIPS_TO if is_short else _dips_to(before[0], behind[0], shares)) * lower:
            continue
        beside = [(near, near / rate) for near, rate in (before, behind)]
        return words.dip(metric.name, (size, size / value), lower / value, beside)
    return None


def _dips_to(size_before: int, size_behind: int, shares: Shares) -> float:
    return max(shares.dips_to, _CLOSE_DIPS_TO) if size_behind <= _CLOSE * size_before else shares.dips_to


def _merge_close_sizes(bandwidths: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return one point for sizes that are nearly the same: the fastest of them."""
    groups: list[list[tuple[int, float]]] = []
    for point in bandwidths:
        if groups and point[0] <= _SAME * groups[-1][0][0]:
            groups[-1].append(point)
        else:
            groups.append([point])
    return [max(group, key=lambda point: point[1]) for group in groups]


def _fall(
    metric: Metric,
    sized: Sequence[tuple[int, float]],
    bandwidths: Sequence[tuple[int, float]],
    shares: Shares,
) -> str | None:
    """Return the deepest fall from the highest value before it, if it is too deep: between which sizes most happens."""
    rates = [rate for _, rate in bandwidths]
    peak = max(rates)
    highest = [max(range(place + 1), key=rates.__getitem__) for place in range(len(rates))]
    counting = [
        place
        for place, (size, _) in enumerate(bandwidths)
        if rates[highest[place]] == peak or size >= max(_FALLS_FROM_BYTES, shares.from_bytes)
    ]
    low = min(counting, key=lambda place: rates[place] / rates[highest[place]])
    top = highest[low]
    if rates[low] >= shares.falls_to * rates[top]:
        return None
    before, behind = max(pairwise(bandwidths[top : low + 1]), key=lambda two: two[0][1] / two[1][1])
    whole = before == bandwidths[top] and behind == bandwidths[low]  # one step, which the sentence already has
    is_steep = not whole and before[1] > behind[1]
    again = max(range(low, len(rates)), key=rates.__getitem__)
    found = words.Fall(
        1 - rates[low] / rates[top],
        sized[top],
        sized[low],
        is_peak=rates[top] == peak,
        steepest=words.Steepest(1 - behind[1] / before[1], before[0], behind[0]) if is_steep else None,
        rises=sized[again] if rates[again] * shares.falls_to > rates[low] else None,
    )
    return words.fall(metric.name, metric.unit, metric.is_bandwidth, found)


def _times(bandwidths: Sequence[tuple[int, float]], shares: Shares) -> list[tuple[int, float]]:
    return [(size, size / bandwidth) for size, bandwidth in bandwidths if size >= shares.from_bytes]


def _slower(metric: Metric, bandwidths: Sequence[tuple[int, float]], shares: Shares) -> str | None:
    """Return the first message that takes far longer than a larger one."""
    times = _times(bandwidths, shares)
    for place, (size, time) in enumerate(times):
        faster = min(times[place + 1 :], key=lambda point: point[1], default=None)
        if faster is not None and time >= _LEAST_STEP_US and time > shares.slower * faster[1]:
            return words.slower(metric.name, (size, time), faster)
    return None


def _step(metric: Metric, bandwidths: Sequence[tuple[int, float]], shares: Shares) -> str | None:
    """Return the first step from one size to the next that is far steeper than the sizes are."""
    for (size, time), (next_size, next_time) in pairwise(_times(bandwidths, shares)):
        most = shares.step * time * next_size / size
        if next_time >= _LEAST_STEP_US and next_time > most:
            return words.step(metric.name, (size, time), (next_size, next_time), most / time)
    return None


def own_fault(run: Run, judged: Sequence[MetricInput]) -> str | None:
    """Return what is wrong with a curve by itself, with size and factor; None if nothing is.

    A shaped rail lets the first bytes of a message pass at once, so its curve may fall. References that bound every
    size decide about a fall, too: it may be what the system shows when it is healthy.
    """
    link = run.target.fabric.link
    if run.benchmark.rows != "sizes" or link.burst_bytes or link.limit_from_bytes:
        return None
    for metric in judged:
        each, found = micro.metric(run.benchmark.key, metric.declared.name), points(metric)
        bounded = run.target.references is not None and all(
            any(band.covers(size) for band in metric.bands) for size, _ in found
        )
        if each.name not in (BANDWIDTH, LATENCY) or each.shape == "figure" or bounded:
            continue
        why = fault(each, found, _shares(run, each, judged))
        if why is not None:
            return why
    return None


def _shares(run: Run, metric: Metric, judged: Sequence[MetricInput]) -> Shares:
    """Return how far a healthy curve of this kind goes: by its pattern, the memory, and the link or its start."""
    if metric.shape == "collective":
        return COLLECTIVE
    if run.benchmark.within_node or run.on_one_host or run.nodes == 1:
        return WITHIN_A_NODE
    if run.facts.from_device:
        return FROM_GPUS
    link = run.target.fabric.link
    if class_of(link, over_tcp=run.benchmark.over_tcp) in (RDMA, RDMA_NOT_INFINIBAND, RDMA_OF_QDR):
        return OVER_RDMA
    is_one_way = metric.directions == 1 and metric.shape != "one-of-two" and run.facts.pairs == 1
    if link.family != UNNAMED:
        return BETWEEN_HOSTS
    return UNLIKE_TCP if is_one_way and _is_unlike_tcp(run.benchmark, judged) else UNNAMED_LINK


def _is_unlike_tcp(benchmark: Benchmark, judged: Sequence[MetricInput]) -> bool:
    """Return whether the curves of one pair of ranks start faster than TCP can, and end above 1 Gbit/s.

    A one-sided benchmark may send many small messages as one, so there a fast start alone says nothing.
    """
    curves = [(micro.metric(benchmark.key, each.declared.name), points(each)) for each in judged]
    rates = [value if each.is_bandwidth else size / value for each, found in curves for size, value in found if value]
    starts_fast = any(starts_as_rdma(each, 1, found) for each, found in curves)
    return starts_fast and max(rates) > ABOVE_1_GBIT_MB_S
