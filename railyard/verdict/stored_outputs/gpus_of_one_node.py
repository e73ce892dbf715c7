"""What a stored output between GPUs of one node shows of what connects them: slots of PCIe, or a faster link."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from railyard.benchmarks.model import BANDWIDTH, LATENCY
from railyard.benchmarks.table import micro
from railyard.hardware.day_one import HALF_ROUND_TRIP, NODE_OF_GPUS
from railyard.hardware.limits import DAY_ONE_FROM_BYTES
from railyard.verdict.inputs import Run
from railyard.verdict.rules.model import MetricInput, points
from railyard.verdict.wording import weak_figures as words

#: What GPUs of one node exchange at least in slots of PCIe Gen3 x16 (15.75 GB/s before headers), and what no slot of
#: today carries (Gen5 x16: 63 GB/s).
_GPU_SLOT_MB_S, _MOST_OF_SLOTS_MB_S = 10_000.0, 63_000.0
#: Where what connects them is named, they reach this share of it besides the start of each message of 4 MiB: windows
#: reached 87 % of four NVLinks of A100, and 77 % of six of GH200, which is 8 us for each message; 10 GB/s are 63 % of a
#: slot of Gen3 x16. A link of MI300X carries some 48 of its 64 GB/s, 75 % (AMD, Understanding RCCL Bandwidth and xGMI
#: Performance on MI300X, rocm.blogs.amd.com).
_GPU_LINK_SHARE, _GPU_MESSAGE_US = 0.6, 10.0
_GPU_MESSAGE_BYTES = 4 << 20
#: So many GPUs on a board have switches, from NVLink 3 on.
_GPUS_BEHIND_SWITCHES = 8


def below_gpu_slots(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that GPUs of one node are not judged, since they exchange less than their slots carry; or None."""
    top = _top_of_gpus(judged, of)
    asked_mb_s, over = _asked_of_gpus(of)
    if of.target.gpus_alone and not of.facts.from_device:
        return words.buffers_in_host(over)
    if top is not None and top < asked_mb_s:
        less = words.slow_rate_of_gpus(top)
    elif (late := _late_between_gpus(judged, of, asked_mb_s)) is not None:
        less = words.late_between_gpus(*late)
    else:
        return None
    is_xgmi = of.target.gpus is not None and of.target.gpus.xgmi is not None
    return words.below_gpu_slots(less, over, asked_mb_s, is_xgmi)


def _asked_of_gpus(of: Run) -> tuple[float, str]:
    """Return what is asked of two GPUs of one node, MB/s one way, and the words for what connects them."""
    known = of.target.between_gpus()
    if known is None:
        return _GPU_SLOT_MB_S, "PCIe Gen3 x16"
    time_us = _GPU_MESSAGE_US + _GPU_MESSAGE_BYTES / (_GPU_LINK_SHARE * known.value_mb_s)
    return _GPU_MESSAGE_BYTES / time_us, known.terms


def _late_between_gpus(judged: Sequence[MetricInput], of: Run, asked_mb_s: float) -> tuple[float, int] | None:
    """Return half a round trip, us, of a long message, B, between GPUs of one node that takes longer than a start and
    the rate that is asked; None for any other.
    """
    if not _is_between_gpus(of) or of.benchmark.one_turn != HALF_ROUND_TRIP:
        return None
    for metric in judged:
        rates = points(metric)
        if metric.declared.name != LATENCY or not rates or rates[-1][0] < DAY_ONE_FROM_BYTES:
            continue
        size, us = rates[-1]
        if us > NODE_OF_GPUS.start_us + size / asked_mb_s:
            return us, size
    return None


class _FewGpus(NamedTuple):
    """A copy between two of up to four GPUs, MB/s: its rate, that of the links which a board of four has between two,
    and the least of all links, behind a switch. ``said``: both in words.
    """

    rate: float
    of_four: float
    least_of_all: float
    said: str


def _few_gpus(judged: Sequence[MetricInput], of: Run) -> _FewGpus | None:
    """Return the slowest copy between GPUs if only their link is named, and so few were seen; else None."""
    gpus, link = of.target.gpus, None if of.target.gpus is None else of.target.gpus.link
    if of.benchmark.within != "gpu-link" or not of.target.gpus_alone or gpus is None or link is None:
        return None
    from railyard.site.gpu_shape import floor_within, least_between_gpus  # pydantic takes 0.2 s

    of_four, switched = least_between_gpus(gpus), gpus.model_copy(update={"per_node": _GPUS_BEHIND_SWITCHES})
    floor = floor_within(switched, "gpu-link")
    values = [value for metric in judged if metric.declared.name == BANDWIDTH for _, value in points(metric)]
    if of_four is None or isinstance(floor, str) or not values or of_four.value_mb_s >= link.pair_rate_mb_s():
        return None
    few = round(of_four.value_mb_s / link.link_mb_s)
    said = words.board_or_switch(few, link.links, of_four.value_mb_s, floor.value_mb_s)
    return _FewGpus(min(values), of_four.value_mb_s, floor.value_mb_s, said)


def between_few_gpus(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that a copy between GPUs is not judged: more than a board of four carries, and less than a healthy switch
    does; None for any other.
    """
    found = _few_gpus(judged, of)
    if found is None or not found.of_four < found.rate < found.least_of_all:
        return None
    return words.between_few_gpus(found.rate, found.said)


def as_board_of_four(judged: Sequence[MetricInput], of: Run) -> Iterable[str]:
    """Yield that a copy between GPUs holds only as one on a board of four."""
    found = _few_gpus(judged, of)
    if found is not None and found.rate <= found.of_four:
        yield words.as_board_of_four(found.said)


def without_nvlink(judged: Sequence[MetricInput], of: Run) -> Iterable[str]:
    """Yield that a bandwidth between GPUs of one node does not show NVLink, since slots of PCIe carry it too."""
    top = _top_of_gpus(judged, of)
    if of.target.gpus is None and top is not None and _GPU_SLOT_MB_S <= top <= _MOST_OF_SLOTS_MB_S:
        yield words.nvlink_unseen(top, _MOST_OF_SLOTS_MB_S)


def _top_of_gpus(judged: Sequence[MetricInput], of: Run) -> float | None:
    """Return the highest bandwidth one way, MB/s, of windows of long messages between GPUs of one node, or None."""
    if not _is_between_gpus(of):
        return None
    for metric in judged:
        declared = micro.metric(of.benchmark.key, metric.declared.name)
        long = [value for size, value in points(metric) if size >= DAY_ONE_FROM_BYTES]
        if declared.name == BANDWIDTH and declared.shape == "stream" and long:
            return max(long) / declared.directions
    return None


def _is_between_gpus(of: Run) -> bool:
    return of.facts.nodes == 1 and of.facts.from_device and not of.benchmark.within
