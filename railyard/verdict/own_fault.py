"""What is wrong with a run's curves by themselves: which ``own_shape`` holds for its pattern, memory and link."""

from collections.abc import Sequence

from railyard.benchmarks import own_shape
from railyard.benchmarks.model import BANDWIDTH, LATENCY, Benchmark, Metric
from railyard.benchmarks.table import micro
from railyard.hardware.day_one import RDMA, RDMA_NOT_INFINIBAND, RDMA_OF_QDR, UNNAMED, class_of
from railyard.verdict.inputs import Run
from railyard.verdict.rules.model import MetricInput, points


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
        why = own_shape.fault(each, found, _shares(run, each, judged))
        if why is not None:
            return why
    return None


def _shares(run: Run, metric: Metric, judged: Sequence[MetricInput]) -> own_shape.Shares:
    """Return how far a healthy curve of this kind goes: by its pattern, the memory, and the link or its start."""
    if metric.shape == "collective":
        return own_shape.COLLECTIVE
    if run.benchmark.within_node or run.on_one_host or run.nodes == 1:
        return own_shape.WITHIN_A_NODE
    if run.facts.from_device:
        return own_shape.FROM_GPUS
    link = run.target.fabric.link
    if class_of(link, over_tcp=run.benchmark.over_tcp) in (RDMA, RDMA_NOT_INFINIBAND, RDMA_OF_QDR):
        return own_shape.OVER_RDMA
    is_one_way = metric.directions == 1 and metric.shape != "one-of-two" and run.facts.pairs == 1
    if link.family != UNNAMED:
        return own_shape.BETWEEN_HOSTS
    return own_shape.UNLIKE_TCP if is_one_way and _is_unlike_tcp(run.benchmark, judged) else own_shape.UNNAMED_LINK


def _is_unlike_tcp(benchmark: Benchmark, judged: Sequence[MetricInput]) -> bool:
    """Return whether the curves of one pair of ranks start faster than TCP can, and end above 1 Gbit/s.

    A one-sided benchmark may send many small messages as one, so there a fast start alone says nothing.
    """
    curves = [(micro.metric(benchmark.key, each.declared.name), points(each)) for each in judged]
    rates = [value if each.is_bandwidth else size / value for each, found in curves for size, value in found if value]
    starts_fast = any(own_shape.starts_as_rdma(each, 1, found) for each, found in curves)
    return starts_fast and max(rates) > own_shape.ABOVE_1_GBIT_MB_S
