"""The intervals of a run of iperf3 or iperf 2 (``-i``): seconds in which (almost) nothing moved, and sums that
contradict it.

Both print the same: for each stream, and for their sum, a line a second. The first interval has the start of the
connections, and the last one may be the few milliseconds until the end is noticed, so neither alone counts as still.

Source: iperf_print_intermediate and print_interval_results in src/iperf_api.c of esnet/iperf; a server's last interval
is as short as the time until its client's end arrives.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.wording import number
from railyard.parsers.output import Remark

#: An interval shorter than this share of the longest is a rest at a run's end.
_WHOLE = 0.5
#: An interval below this share of the median moved nothing for nine tenths of its length.
_STILL = 0.10
#: After a lost window a healthy link goes on when the least time-out is over (200 ms, TCP_RTO_MIN of Linux). Twice that
#: and more is a stall: intervals of 0.1 s (``-i 0.1``) show the time-outs themselves, s.
_STALL_S = 0.5
#: How far the mean of all intervals may be from the closing line: both have three digits, and the two ends count at
#: slightly different times, which is most of a short run.
_AGREES = 0.10
#: Between the end of one interval and the begin of the next, and at a run's end, s.
_GAP_S = 0.3


@dataclass(frozen=True, slots=True)
class Interval:
    """What moved from ``start`` to ``end``, s; ``line`` is its place in the output."""

    line: int
    start: float
    end: float
    bandwidth_mb_s: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.start


def wrong_intervals(intervals: Sequence[Interval], closing_mb_s: Sequence[float], seconds: float) -> Remark | None:
    """Return that a run moved almost nothing for a while, or that its intervals contradict its closing lines, or None.

    ``closing_mb_s``: what the ends counted over the whole run of ``seconds``. Without all its intervals only those that
    are there are looked at.
    """
    return _contradiction(intervals, closing_mb_s, seconds) or _find_silence(intervals, seconds)


def _find_silence(intervals: Sequence[Interval], seconds: float) -> Remark | None:
    longest = max((each.seconds for each in intervals), default=0.0)
    whole = [each for each in intervals if each.seconds >= _WHOLE * longest]
    usual = statistics.median(each.bandwidth_mb_s for each in whole) if whole else 0.0
    still = [each for each in whole if each.bandwidth_mb_s == 0 or each.bandwidth_mb_s < _STILL * usual]
    if not still or still == [intervals[0]]:
        return None
    spans: list[list[float]] = []
    for each in still:
        if spans and abs(each.start - spans[-1][1]) < _GAP_S * longest:
            spans[-1][1] = each.end
        else:
            spans.append([each.start, each.end])
    if all(end - start < _STALL_S for start, end in spans):
        return None
    where = ", ".join(f"{start:.1f} to {end:.1f} s" for start, end in spans[:5]) + (", …" if spans[5:] else "")
    lost = sum(each.seconds for each in still)
    most = max(each.bandwidth_mb_s for each in still)
    rate = "0 bits/s" if most == 0 else f"{number(most)} MB/s or less, the median is {number(usual)}"
    return Remark(still[0].line, f"{round(lost, 1):g} of {round(seconds, 1):g} seconds at {rate}: {where}")


def _contradiction(intervals: Sequence[Interval], closing_mb_s: Sequence[float], seconds: float) -> Remark | None:
    if not intervals or not closing_mb_s or not _cover(intervals, seconds):
        return None
    total = sum(each.seconds for each in intervals)
    mean = sum(each.seconds * each.bandwidth_mb_s for each in intervals) / total
    if any(math.isclose(mean, closing, rel_tol=_AGREES) for closing in closing_mb_s):
        return None
    said = " and ".join(number(each) for each in closing_mb_s)
    return Remark(
        intervals[0].line,
        f"figures that contradict each other: the mean of the intervals is {number(mean)} MB/s, the closing lines say "
        f"{said} MB/s",
    )


def _cover(intervals: Sequence[Interval], seconds: float) -> bool:
    """Return whether the intervals are all of a run, without a gap."""
    at = 0.0
    for each in intervals:
        if each.seconds <= 0 or abs(each.start - at) > _GAP_S:
            return False
        at = each.end
    return abs(at - seconds) <= max(_GAP_S, 0.05 * seconds)
