"""Messages that came late or not at all, behind a figure that looks good: a typical latency, a mean of the others."""

import re
from collections.abc import Iterator, Sequence

from railyard.base.bounds import LATE_MEAN, RESENT_SHARE
from railyard.benchmarks.model import LATENCY, Benchmark
from railyard.benchmarks.table import micro
from railyard.parsers.output import Table
from railyard.verdict.rules.model import MetricInput, points
from railyard.verdict.wording import weak_figures as words

#: perftest's "99% percentile", OSU's "P99 Tail Lat(us)", sockperf's "percentile 99.000".
_PERCENTILE = re.compile(r"(?:time_p|latency_|p)(?P<rank>99(?:\.?9)?)(?:_tail_lat)?")
#: The columns of IMB and of OSU (``-f``) for the mean of the ranks' times and for the longest.
_MEAN_AND_MOST = (("time_avg", "time_max"), ("avg", "max"))
#: The longest time of a rank is at most 2.0 times the mean in the 848 rows of genuine outputs that have both.
_LATE_RANK = 3.0
#: What a segment of TCP carries at an MTU of 1500: with longer ones there are fewer, and the share is larger.
_SEGMENT = 1448  # bytes
#: Of what qperf's client sent, over UDP, UC or UD. Genuine outputs over InfiniBand, which drops nothing on its way,
#: have up to 4 %, and over UDP 13 %: the server's receive buffers were full.
_LOST_MOST = 0.15


def late_or_lost(judged: Sequence[MetricInput], table: Table) -> str | None:
    """Return that a figure which holds is not judged, since many of its messages were late or lost; or None."""
    return describe_loss(table) or next((why for metric in judged if (why := _late_mean(metric, table))), None)


def late_remarks(judged: Sequence[MetricInput], table: Table, benchmark: Benchmark) -> Iterator[str]:
    """Yield what a figure that holds does not show: a late hundredth of its messages, segments that were sent again."""
    yield from _sent_again(table)
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


def _sent_again(table: Table) -> Iterator[str]:
    """Yield that iperf3's sender sent many segments again; those that it needed follow from its rate and time."""
    seconds = table.context.get("interval")
    if not {"bandwidth", "retransmits"} <= set(table.columns) or not isinstance(seconds, int | float):
        return
    again = sum(int(each or 0) for each in table.column("retransmits"))
    rate = max((float(each) for each in table.column("bandwidth") if each is not None), default=0.0)
    segments = rate * 1e6 * seconds / _SEGMENT
    if segments and again > RESENT_SHARE.value * segments:
        yield words.sent_again(again, again / segments, _SEGMENT)
