"""What the rules are given of one output, measured just now or stored: each metric with what it is held to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from railyard.base.wording import message_size
from railyard.benchmarks import metrics
from railyard.benchmarks.curve import Curve, median
from railyard.benchmarks.model import LATENCY, Benchmark, Metric
from railyard.benchmarks.table import micro
from railyard.parsers.parsed import Table
from railyard.site.references.load import Band
from railyard.verdict.rules.model import QUANTITIES, Declared, Measured, MetricInput, MostLike, Quantity
from railyard.verdict.target import Target


def curves_of(tables: Sequence[Table], key: str, node_pairs: int) -> tuple[tuple[Curve, ...], str | None]:
    """Return the median of the passes, else why there is none; of sums over several pairs of nodes one pair's share."""
    if not tables:
        return (), f"the output has no table of {key}"
    try:
        passes = [metrics.curves(table, key) for table in tables]
        made = tuple(median(same) for same in zip(*passes, strict=True))
        return tuple(metrics.of_one_pair(curve, key, node_pairs) for curve in made), None
    except ValueError as error:
        return (), str(error)


@dataclass(frozen=True, slots=True)
class Run:
    """What made an output, as far as it is known, and what it is held against.

    ``ranks_per_node`` None: not known. ``window``: messages in flight, 1 where it is not known. ``on_one_host``: its
    processes shared one host, and nothing lay between them. ``from_device``: its buffers lay in the memory of an
    accelerator. ``most``: what its processors can compute at most, for the metrics that are bounded by it.
    """

    benchmark: Benchmark
    target: Target
    ranks_per_node: int | None = None
    window: int = 1
    on_one_host: bool = False
    from_device: bool = False
    most: Mapping[str, MostLike] = field(default_factory=dict)


def metric_inputs(run: Run, curves: Sequence[Curve], problem: str | None) -> tuple[MetricInput, ...]:
    """Return each metric of the benchmark with what was read for it, and all that it is held to.

    ``problem`` is why there are no curves. A metric that a tool need not print is left out where it did not. Raises
    RailyardError where an entry of the references counts other directions than the benchmark.
    """
    found = {curve.metric: curve for curve in curves}
    return tuple(
        _metric_input(run, metric, found.get(metric.name), problem)
        for metric in run.benchmark.metrics
        if metric.name in found or not (metric.optional and found)
    )


def _metric_input(run: Run, metric: Metric, curve: Curve | None, problem: str | None) -> MetricInput:
    benchmark, target = run.benchmark, run.target
    bounded = not benchmark.within_node and metric.is_bounded(run.ranks_per_node)
    limited = metric.is_bandwidth and bounded
    limit = target.fabric.limit(target.rails, metric.directions) if limited else None
    # What must be reached is a stream's: of the ports bonded to a rail (LAG) it has one.
    due = target.fabric.limit(target.rails, metric.directions, one_stream=True) if limited else None
    if limit is not None and metric.shape == "figure":  # it has no message size at which the limit would begin
        limit = replace(limit, from_bytes=0)
    if limit is not None:  # messages of a window follow one another, so the first alone has the burst
        limit = replace(limit, burst_bytes=limit.burst_bytes // run.window)
    if target.references is not None:
        held: tuple[Band, ...] | str = target.bands(benchmark, metric, due)
    else:
        held = _in_reach(target.floors(benchmark, metric, due, run.from_device), metric, curve)
    bands = () if isinstance(held, str) else held
    # Of a system's run the first metric must be judged; of a link's output that which its class has a floor for.
    must_be = bool(target.system) and metric is benchmark.metrics[0]
    return MetricInput(
        declared=Declared(
            *(metric.name, metric.unit, _quantity(metric, benchmark)),
            limited=limited,
            between_nodes=bounded and not run.on_one_host,
            reported_only=None if bands else benchmark.reported or (None if must_be else "no reference names it"),
            coarse=metric.coarse,
            sized=metric.shape != "figure",
        ),
        measured=None if curve is None else Measured(curve.unit, curve.sizes, curve.values),
        problem=problem,
        limit=limit,
        bands=bands,
        floor_remark=held if isinstance(held, str) else None,
        most=run.most.get(metric.name),
    )


def _in_reach(floors: tuple[Band, ...] | str, metric: Metric, curve: Curve | None) -> tuple[Band, ...] | str:
    """Return the floors, or that no measured size is one at which they hold: perftest sends 64 KiB by default."""
    if isinstance(floors, str) or curve is None:
        return floors
    if any(band.bound_at(size) is not None for band in floors for size in curve.sizes):
        return floors
    where = floors[0]
    edge = f"from {message_size(where.size_from)}" if where.size_from else f"up to {message_size(where.size_to or 0)}"
    return f"not judged: no size {edge} was measured, where the link's floor holds for {metric.name}"


def _quantity(metric: Metric, benchmark: Benchmark) -> Quantity:
    # At 0 B only a benchmark between two ranks is known to send a message; a collective or a put may return at once.
    if metric.name == LATENCY:
        traffic = benchmark.traffic
        both_ways = traffic is not None and traffic.forward > 0 and traffic.backward > 0
        return "latency" if benchmark.pingpong or both_ways else "time"
    return QUANTITIES.get(metric.unit, "work")


def is_from_device(table: Table) -> bool:
    """Return whether the buffers of a run lay in the memory of an accelerator, as far as its output says."""
    return micro.tool(table.tool).from_device(table)
