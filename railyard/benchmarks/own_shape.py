"""What is wrong with a curve by itself, whatever the link: it falls, a step is too high, or one size is far too slow.

All three are judged by the time of a message, t = size / bandwidth. On a healthy link this time rises with the size:
slower than the size while the start of a message decides, and like the size once the rate does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from railyard.base.wording import message_size, number, percent


@dataclass(frozen=True, slots=True)
class Shares:
    """How far a healthy curve goes: it falls to ``falls_to`` of its peak, the time of the next size rises by at most
    ``step`` times the ratio of both sizes, and no message takes ``slower`` times as long as a larger one. Steps and
    slower sizes count from ``from_bytes`` on.
    """

    falls_to: float
    step: float
    slower: float
    from_bytes: int = 1


#: Between hosts. Healthy genuine curves fall to 61 % at most where the protocol changes (Intel MPI over EDR, 128 to
#: 256 KiB), and to 45.1 % where both directions are full (Intel MPI over EFA); a card that loses its flow control fell
#: to 29 % (Azure, HDR). A rendezvous step took 1.72 times the line (EFA, 64 to 128 KiB: 26.8 to 92 us); a fault took
#: 6.3 times (EDR, 128 to 256 KiB: 24 to 299 us). A healthy message took up to 2.8 times as long as a larger one (puts
#: of a few bytes over TCP); a fault made it 8.7 times (TCP in place of Slingshot).
BETWEEN_HOSTS = Shares(falls_to=0.45, step=2.5, slower=3.5)
#: From the memory of GPUs small messages may take another way than larger ones: 11 us at 1 B and 0.5 us at 8 KiB
#: (GH200, Open MPI 5), 15.6 us at 8 KiB and 4.1 us at 32 KiB (A100).
FROM_GPUS = Shares(falls_to=0.45, step=4.0, slower=5.0, from_bytes=64 << 10)
#: Within a node a cache ends: 16.8 GB/s fell to 12.2 GB/s (a virtual machine of a cloud).
WITHIN_A_NODE = Shares(falls_to=0.35, step=4.0, slower=4.0)
#: A collective changes its algorithm with the size: to 32 % (broadcast over EFA, 64 to 512 KiB), 5.8 times slower
#: (broadcast over TCP, 2 KiB). An alltoall over DDR whose time rose 28 times from 128 to 256 B was a fault, so was an
#: allreduce that fell to 3 % (HDR in a cloud). Vectors shorter than the ranks have other algorithms.
COLLECTIVE = Shares(falls_to=0.15, step=5.0, slower=8.0, from_bytes=64)

#: Below these times (us) a clock's step and one interrupt decide, not the link.
_LEAST_STEP_US = 5.0


def fault(
    metric: str, is_bandwidth: bool, unit: str, points: Sequence[tuple[int, float]], shares: Shares = BETWEEN_HOSTS
) -> str | None:
    """Return what is wrong with a curve by itself, with size and factor; None if nothing is.

    ``points``: (size in bytes, value) with rising sizes, bandwidths in MB/s or times in us, finite and above 0.
    """
    sized = [(size, value) for size, value in points if size > 0 and value > 0]
    if len(sized) < 2:
        return None
    bandwidths = sized if is_bandwidth else [(size, size / value) for size, value in sized]
    fall = _fall(metric, is_bandwidth, unit, sized, bandwidths, shares)
    return fall or _step_or_outlier(metric, bandwidths, shares)


def _fall(
    metric: str,
    is_bandwidth: bool,
    unit: str,
    sized: Sequence[tuple[int, float]],
    bandwidths: Sequence[tuple[int, float]],
    shares: Shares,
) -> str | None:
    """Return the fall to the lowest value after the peak, if it is too deep: between which sizes most of it happens."""
    peak_place = max(range(len(bandwidths)), key=lambda place: bandwidths[place][1])
    after = range(peak_place, len(bandwidths))
    lowest = min(after, key=lambda place: bandwidths[place][1])
    (peak_size, peak), (low_size, low) = bandwidths[peak_place], bandwidths[lowest]
    if low >= shares.falls_to * peak:
        return None
    drops = pairwise(bandwidths[peak_place : lowest + 1])
    before, behind = max(drops, key=lambda two: two[0][1] / two[1][1])
    shown = dict(sized)
    edges = f"{message_size(before[0])} and {message_size(behind[0])}"
    steepest = f", by {percent(1 - behind[1] / before[1])} between {edges}" if before[1] > behind[1] else ""
    what = f"{metric} falls" if is_bandwidth else f"the bandwidth of {metric} falls"
    return (
        f"{what} by {percent(1 - low / peak)}: from {number(shown[peak_size])} {unit} at {message_size(peak_size)}, "
        f"its peak, to {number(shown[low_size])} {unit} at {message_size(low_size)}{steepest}"
    )


def _step_or_outlier(metric: str, bandwidths: Sequence[tuple[int, float]], shares: Shares) -> str | None:
    times = [(size, size / bandwidth) for size, bandwidth in bandwidths if size >= shares.from_bytes]
    for place, (size, time) in enumerate(times):
        faster = min(times[place + 1 :], key=lambda point: point[1], default=None)
        if faster is not None and time >= _LEAST_STEP_US and time > shares.slower * faster[1]:
            return (
                f"an outlier: a message of {message_size(size)} takes {number(time)} us ({metric}), and one of "
                f"{message_size(faster[0])} only {number(faster[1])} us: {number(time / faster[1], 3)} times less"
            )
    for (size, time), (next_size, next_time) in pairwise(times):
        most = shares.step * time * next_size / size
        if next_time >= _LEAST_STEP_US and next_time > most:
            return (
                f"a step that is too high ({metric}): a message of {message_size(size)} takes {number(time)} us, and "
                f"one of {message_size(next_size)} {number(next_time)} us, {number(next_time / time, 3)} times as "
                f"long; at most {number(most / time, 3)} times are usual where an eager protocol ends"
            )
    return None
