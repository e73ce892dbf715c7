"""What the rules get from one output, just measured or stored: each metric with what it is compared with. That is the
target: a fabric of a system with its references, or only a link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railyard.base.bounds import LEAST_LATENCY, LEAST_OF_MPI, LEAST_OF_RDMA, JudgingBound
from railyard.base.wording import count_of
from railyard.benchmarks import metrics
from railyard.benchmarks.metrics import contradiction
from railyard.benchmarks.model import (
    BANDWIDTH,
    LATENCY,
    MESSAGE_RATE,
    Benchmark,
    Curve,
    Figure,
    Metric,
    Within,
    deciding_sizes,
    median,
)
from railyard.benchmarks.moved_bytes import crossing
from railyard.benchmarks.table import micro
from railyard.hardware import limits
from railyard.hardware.day_one import (
    HALF_ROUND_TRIP,
    LOOP_SHARE,
    NODE,
    NODE_MB_S,
    NODE_OF_GPUS,
    UNNAMED,
    Rail,
    Where,
    class_of,
    rail_of,
)
from railyard.hardware.limits import LinkAlone
from railyard.parsers.output import Table
from railyard.site.references.band import Band, Bound, floor_band, scalar_band
from railyard.site.test_id import TestId
from railyard.verdict import day_one
from railyard.verdict.day_one import ENTRY, Facts
from railyard.verdict.rule_model import (
    QUANTITIES,
    DeclaredMetric,
    LimitLike,
    MeasuredMetric,
    MetricInput,
    Quantity,
)
from railyard.verdict.wording import reference
from railyard.verdict.wording.reference import rails_of
from railyard.verdict.wording.run_rules import Ceiling

if TYPE_CHECKING:
    from railyard.job.case import Case
    from railyard.site.references.load import References
    from railyard.site.systems.model import Fabric
    from railyard.site.systems.parts import Gpus

#: Full-bisection networks with static routes give 55 to 60 % of what the cables could carry, over random halves.
#: Source: T. Hoefler, T. Schneider, A. Lumsdaine, Multistage switches are not crossbars, IEEE Cluster 2008, abstract.
STATIC_SHARE = 0.55


@dataclass(frozen=True, slots=True)
class Target:
    """The hardware and references of one judgement.

    ``references`` None: no system is named, or it is report-only (``report_only`` says why); then only the limit and
    the floors of the link's class decide. ``fallback``: what the output says about RDMA that was left, if nobody named
    the link; else empty. ``contradiction``: why figures that hold are not judged, since a setting in the output speaks
    against them; else empty. ``has_longer_run``: another run of the same output has longer messages.
    ``rails_are_proven``: the output repeats a run whose counters or whose source show which rails worked.
    """

    system: str
    fabric_name: str
    fabric: Fabric | LinkAlone
    stack: str
    rails: int
    policy: str
    references: References | None
    report_only: str | None = None
    hops: int | None = None
    gpus: Gpus | None = None
    fallback: str = ""
    contradiction: str = ""
    has_longer_run: bool = False
    rails_are_proven: bool = False

    @property
    def rail_names(self) -> tuple[str, ...]:
        """The rails as a sentence names them; none if nobody named the link."""
        if self.fabric.link.family == UNNAMED:
            return ()
        if self.system:
            return tuple(rail.name for rail in self.fabric.used_rails(self.rails, self.policy))
        return (self.fabric_name if self.rails == 1 else rails_of(self.rails, self.fabric_name),)

    @property
    def description(self) -> str:
        """The target in a few words."""
        rails = count_of(self.rails, "rail")
        if not self.system:
            slot = f" in {self.fabric.slot}" if self.fabric.slot else ""
            return f"{self.fabric_name}{slot}, {rails}"
        hops = "" if self.hops is None else f", hops {self.hops}"
        return f"{self.system}, fabric {self.fabric_name}, {self.stack}, {rails}, {self.policy}{hops}"

    def limit(self, directions: int, one_stream: bool = False, of: Benchmark | None = None) -> limits.Limit | None:
        """Return the physical bound of its rails in MB/s; None if the link's rate is not known.

        Messages of the benchmark ``of`` may be in the memory of GPUs, so that they cross the GPUs' slots too. Or
        nothing of it leaves a node.
        """
        if of is not None and of.within:
            from railyard.site.gpu_shape import limit_within

            return limit_within(self._carriers(of.within), of.within)
        if of is not None and of.in_gpu and self.gpus is not None and not isinstance(self.fabric, LinkAlone):
            from railyard.site.gpu_shape import limit_from_gpus

            own = (self.rails, directions, one_stream, self.policy, of.every_gpu)
            return limit_from_gpus(self.gpus, self.fabric, *own)
        return self.fabric.limit(self.rails, directions, one_stream, self.policy)

    @property
    def gpus_alone(self) -> bool:
        """Whether only what connects the GPUs of one node is named, and no network."""
        return self.gpus is not None and not self.system

    def _carriers(self, within: Within) -> Gpus | None:
        """Return the GPUs as far as it is known what carries a copy within their node.

        Who names a slot alone (--link pcie5-x16) does not say that two GPUs have nothing faster between them.
        """
        is_slot = self.gpus is not None and self.gpus.link is not None and self.gpus.link.is_slot
        return None if within == "gpu-link" and self.gpus_alone and is_slot else self.gpus

    def between_gpus(self) -> limits.Limit | None:
        """Return what two GPUs of one node can exchange at least, MB/s; None if it is not known."""
        if self.gpus is None:
            return None
        from railyard.site.gpu_shape import least_between_gpus

        return least_between_gpus(self.gpus)

    def blocking_factor(self, benchmark: Benchmark) -> float:
        """Return the blocking factor between two halves of the network: the fabric's figure for it, else 1."""
        return self.fabric.blocking if benchmark.of_halves else 1.0

    def test_id(self, benchmark: Benchmark) -> TestId:
        """Return the test that a run of this benchmark is."""
        return TestId(self.fabric_name, self.stack, self.rails, benchmark.key, policy=self.policy)

    def bands(self, benchmark: Benchmark, metric: Metric, limit: limits.Limit | None) -> tuple[Band, ...]:
        """Return what the references demand of a metric. Raises RailyardError if an entry counts other directions."""
        assert self.references is not None
        return self.references.bands(
            self.test_id(benchmark),
            metric,
            limit.value_mb_s if limit else None,
            blocking=self.blocking_factor(benchmark),
            hops=self.hops,
        )

    def floors(
        self, benchmark: Benchmark, metric: Metric, limit: limits.Limit | None, facts: Facts, sizes: Sequence[int]
    ) -> tuple[Band, ...] | str:
        """Return what the link's class demands at the measured sizes (bytes), or why it demands nothing.

        ``limit``: the link's for this metric, in MB/s; None if no link bounds it.
        """
        if (why := facts.why_unplaced) is not None or (why := day_one.why_not(benchmark)) is not None:
            return why
        if benchmark.within:
            from railyard.site.gpu_shape import floor_within

            within = floor_within(self._carriers(benchmark.within), benchmark.within)
            return reference.unknown_of_gpus(within) if isinstance(within, str) else (floor_band(ENTRY, within),)
        if not benchmark.of_link:
            if (metric.least_share is None and not metric.most_starts) or facts.from_device:
                return self._floor_of_halves(benchmark, limit)
            rail = self.rail(benchmark, Facts())
            return rail if isinstance(rail, str) else (_floor_of_figure(benchmark, metric, rail),)
        why = None if facts.nodes == 1 else self._why_no_floor_of_gpus(benchmark, facts.from_device)
        if why is not None:
            return why
        found = day_one.bands(benchmark, metric, self.rail(benchmark, facts), facts, sizes)
        # A class's own floor is for sends and writes between buffers in the hosts' memory: reads give a little less.
        if (
            facts.from_device
            or facts.nodes == 1
            or metric.name != BANDWIDTH
            or (benchmark.traffic is not None and benchmark.traffic.reads)
            or max(sizes, default=0) < limits.DAY_ONE_FROM_BYTES
        ):
            return found
        streaming = micro.fills_link(benchmark, metric)
        of_class = limits.class_floors(self.fabric.link, metric.directions, streaming, self.fabric.mtu)
        own = tuple(floor_band(f"class:{self.fabric.link.name}", floor) for floor in of_class)
        return (own or found) if isinstance(found, str) else (*own, *found)

    def rail(self, benchmark: Benchmark, facts: Facts) -> Rail | str:
        """Return the class of the fabric's link with what its rails carry, or why it has none."""
        if facts.nodes == 1 and not benchmark.loops:
            node = NODE_OF_GPUS if facts.from_device else NODE
            return Rail(node, NODE_MB_S, NODE_MB_S, 2 * NODE_MB_S)
        where: Where = "device" if facts.from_device else "host"
        found = class_of(self.fabric.link, where, benchmark.over_tcp, benchmark.flows)
        link = self.fabric.link
        if isinstance(found, str):
            return reference.no_class(found, link.generation, link.name)
        alone = self if self.rails == 1 else replace(self, rails=1, policy="single")
        ways = ((alone, 1), (self, 1), (self, 2))
        rail = rail_of(found, *(target.limit(each, one_stream=True, of=benchmark) for target, each in ways))
        if rail is None:
            return reference.no_class("no-limit", link.generation, link.name)
        return rail.times(LOOP_SHARE) if benchmark.loops else rail

    def _why_no_floor_of_gpus(self, benchmark: Benchmark, from_device: bool) -> str | None:
        """Return why no floor holds for messages from the memory of GPUs; None for one, and for other messages."""
        if benchmark.every_gpu:
            return reference.all_gpus_at_once()
        if from_device and self.gpus is not None and self.gpus.slot is None:
            return reference.unknown_slot()
        return None

    def _floor_of_halves(self, benchmark: Benchmark, limit: limits.Limit | None) -> tuple[Band, ...] | str:
        """Return the floor between two halves of a network, or why a link alone does not set it.

        A healthy network with static routes reaches no more over random halves (Hoefler et al. 2008).
        """
        if not benchmark.of_halves:
            return reference.no_source(benchmark.within_node)
        if limit is None:
            return reference.no_link_limit()
        blocked = self.blocking_factor(benchmark)
        floor = limits.LinkFloor(
            STATIC_SHARE * limit.value_mb_s / blocked,
            limits.DAY_ONE_FROM_BYTES,
            reference.static_routes(STATIC_SHARE, limit.value_mb_s, blocked),
        )
        return (floor_band(ENTRY, floor),)


def _floor_of_figure(benchmark: Benchmark, metric: Metric, rail: Rail) -> Band:
    """Return the bound of a figure without a message size: a share of a healthy stream over one rail, or a latency."""
    if metric.most_starts:
        what = reference.half_round_trips(metric.most_starts, rail.of.start_us, rail.of.name)
        bound = Bound(None, metric.most_starts * rail.of.start_us, None)
    else:
        share, stream = metric.least_share or 0.0, rail.of.within_flow(_stream_mb_s(rail))
        what = reference.healthy_stream(share, stream)
        bound = Bound(share * stream, None, None)
    return scalar_band(ENTRY, "class", metric.name, metric.unit, reference.floor_of(benchmark.key, what), bound)


def _stream_mb_s(rail: Rail) -> float:
    """Return what healthy windows of long messages reach over one rail, one way, MB/s, however many flows it takes."""
    return rail.of.stream_shares[1] * rail.one_mb_s


def of_case(case: Case) -> Target:
    """Return what a run is compared with: its system's references, or the link's class if it is report-only."""
    system = case.site.system
    return Target(
        system.system,
        case.fabric,
        system.fabrics[case.fabric],
        case.stack,
        case.rails,
        case.test.policy,
        case.site.references if system.report_only is None else None,
        report_only=system.report_only,
        hops=case.hops,
        gpus=system.gpus,
    )


@dataclass(frozen=True, slots=True)
class Read:
    """The curves of an output: the median of its passes, and each pass; ``problem`` is why there are none."""

    curves: tuple[Curve, ...] = ()
    passes: tuple[tuple[Curve, ...], ...] = ()
    problem: str | None = None

    def curves_of(self, metric: str) -> tuple[Curve, ...]:
        """Return a metric's curve in each pass."""
        return tuple(curve for one in self.passes for curve in one if curve.metric == metric)

    def each(self, metric: str) -> tuple[MeasuredMetric, ...]:
        """Return what each of several passes gave for a metric."""
        found = self.curves_of(metric)
        return tuple(MeasuredMetric(curve.unit, curve.sizes, curve.values) for curve in found) if len(found) > 1 else ()


def read_of(tables: Sequence[Table], key: str, node_pairs: int) -> Read:
    """Return the curves of the passes and their median; of sums over several pairs of nodes, one pair's share."""
    if not tables:
        return Read(problem=reference.no_table_of(key))
    try:
        made = [metrics.curves(table, key) for table in tables]
        passes = [tuple(metrics.of_one_pair(curve, key, node_pairs) for curve in one) for one in made]
        return Read(tuple(median(same) for same in zip(*passes, strict=True)), tuple(passes))
    except ValueError as error:
        return Read(problem=str(error))


def contradictions(tables: Sequence[Table], key: str) -> tuple[str, ...]:
    """Return a sentence for each table with a row that contradicts itself."""
    found = ((table, contradiction(table, key)) for table in tables)
    return tuple(reference.in_table(why, table.line) for table, why in found if why is not None)


@dataclass(frozen=True, slots=True)
class Run:
    """What made an output, as far as it is known, and what it is compared with.

    ``nodes`` and ``ranks_per_node`` None: not known. ``window``: messages in flight, 1 if it is not known.
    ``on_one_host``: its processes shared one host, with no network between them. ``facts``: what its output says
    besides. ``most``: the most that its processors can compute, for the metrics that this bounds. ``limit``: the limit
    of its bandwidth, if a link alone does not set it.
    """

    benchmark: Benchmark
    target: Target
    nodes: int | None = None
    ranks_per_node: int | None = None
    window: int = 1
    on_one_host: bool = False
    facts: Facts = field(default_factory=Facts)
    most: Mapping[str, Ceiling] = field(default_factory=dict)
    limit: LimitLike | None = None


def metric_inputs(run: Run, read: Read) -> tuple[MetricInput, ...]:
    """Return each metric of the benchmark with what was read for it, and all that it must keep.

    An optional metric is left out if the tool did not print it. Raises RailyardError if an entry of the references
    counts other directions than the benchmark.
    """
    found = {curve.metric: curve for curve in read.curves}
    return tuple(
        replace(_metric_input(run, metric, found.get(metric.name), read.problem), passes=read.each(metric.name))
        for metric in run.benchmark.metrics
        if metric.name in found or not (metric.optional and found)
    )


def _metric_input(run: Run, metric: Metric, curve: Curve | None, problem: str | None) -> MetricInput:
    benchmark, target, quantity = run.benchmark, run.target, _quantity(metric, run.benchmark)
    off_the_link = run.facts.why_unplaced is not None or run.nodes == 1
    bounded = not benchmark.within_node and metric.is_bounded(run.ranks_per_node) and not off_the_link
    limited = metric.is_bandwidth and (bounded or bool(benchmark.within))
    of_time = metric.shape == "collective" and benchmark.least is not None
    crosses = crossing(benchmark.least, run.nodes, run.ranks_per_node) if of_time and benchmark.least else None
    limit = target.limit(metric.directions, of=benchmark) if limited else None
    # What must be reached is the bandwidth of one stream, which uses one of the ports bonded to a rail (LAG).
    due = target.limit(metric.directions, one_stream=True, of=benchmark) if limited else None
    if limit is not None and metric.shape == "figure":  # it has no message size from which the limit could apply
        limit = replace(limit, from_bytes=0)
    if limit is not None:  # messages of a window follow one another, so only the first has the burst
        limit = replace(limit, burst_bytes=limit.burst_bytes // run.window)
    sizes = () if curve is None else curve.sizes
    floors = target.floors(benchmark, metric, due, run.facts, sizes)
    # A system's references are between its nodes, or of benchmarks that are meant to stay within one.
    between = benchmark.within_node or benchmark.loops or run.nodes != 1
    referenced = target.references is not None and between
    held = _of_references(run, metric, due, floors, sizes) if referenced else floors
    of_references = () if isinstance(held, str) else held
    bands = tuple(band for band in of_references if not band.is_upper_limit)
    upper_limits = tuple(band for band in of_references if band.is_upper_limit)
    unnamed = reference.not_in_references(bool(upper_limits))
    # In a run of a system the first metric must be judged; in an output over a link, the one for which its class has a
    # floor.
    must_be = bool(target.system) and between and metric is benchmark.metrics[0]
    own = run.limit if metric.is_bandwidth else None
    return MetricInput(
        declared=DeclaredMetric(
            *(metric.name, metric.unit, quantity),
            limited=limited or own is not None,
            between_nodes=bounded and not run.on_one_host,
            reported_only=None if bands else benchmark.reported or (None if must_be else unnamed),
            coarse=metric.coarse,
            sized=metric.shape != "figure" and (benchmark.payload or benchmark.pattern is None),  # a barrier has none
            of_all=metric.shape == "collective",
        ),
        measured=None if curve is None else MeasuredMetric(curve.unit, curve.sizes, curve.values),
        problem=problem,
        limit=limit or own,
        bands=bands,
        upper_limits=upper_limits,
        floor_remark=held if isinstance(held, str) else None,
        most=run.most.get(metric.name),
        messages=_messages(run, metric) if bounded else None,
        one_way=target.limit(1, of=benchmark) if bounded and (quantity == "latency" or crosses is not None) else None,
        crossing=crosses,
        open_because=_open_because(run, metric, bands, sizes),
        doubt=_doubt(run, metric, curve),
        least=_least_latency(run, metric, bands),
    )


def _doubt(run: Run, metric: Metric, curve: Curve | None) -> str | None:
    """Return why a figure over a link is no pass although it is above its floor; None if nothing is in doubt."""
    if curve is None or not (metric.sure_share or metric.most_starts) or run.target.references is not None:
        return None
    rail = run.target.rail(run.benchmark, Facts())
    if isinstance(rail, str) or run.facts.from_device:
        return None
    if metric.most_starts:
        return _doubt_of_latency(metric, curve, rail)
    stream = _stream_mb_s(rail)
    if min(curve.values) >= metric.sure_share * stream:
        return None
    figure = Figure(metric.name, min(curve.values), metric.unit)
    if rail.of.within_flow(stream) < stream:
        return reference.doubt_of_flow(figure, metric.sure_share * stream, run.benchmark.tool)
    return reference.doubt_of_pair(figure, metric.sure_share * stream)


def _doubt_of_latency(metric: Metric, curve: Curve, rail: Rail) -> str | None:
    """Return that a latency over all pairs is longer than half a round trip of the link's class; None if it is not."""
    longest = max(curve.values)
    if longest <= rail.of.start_us:
        return None
    return reference.doubt_of_latency(Figure(metric.name, longest, "us"), rail.of.start_us)


_SHORT = 1  # byte: a size that each reference of small messages holds for


def _least_latency(run: Run, metric: Metric, bands: Sequence[Band]) -> JudgingBound:
    """Return the least latency that is believed: half a round trip through a library has the least of the link's class.

    Without a library, cards alone take less, and sockets may bypass the kernel (VMA, Onload): any network's least. MPI
    takes longer than the layers below it (UCX, libfabric). A system whose own reference is shorter than its class's
    least has a network that is none of that class (usNIC, which bypasses the kernel over Ethernet).
    """
    benchmark = run.benchmark
    through_library = not micro.tool(benchmark.tool).between_nics and not benchmark.over_tcp
    if metric.name != LATENCY or benchmark.one_turn != HALF_ROUND_TRIP or not through_library:
        return LEAST_LATENCY
    found = class_of(run.target.fabric.link, "device" if run.facts.from_device else "host")
    least = LEAST_LATENCY if isinstance(found, str) else found.least
    own = [bound.target for band in bands if (bound := band.bound_at(_SHORT)) is not None and bound.target]
    if any(target < least.value for target in own):
        return LEAST_LATENCY
    tool = micro.tool(benchmark.tool)
    is_always_mpi = tool.of_mpi and not tool.client  # NetPIPE has modules without it
    return LEAST_OF_MPI if least is LEAST_OF_RDMA and is_always_mpi else least


def _open_because(run: Run, metric: Metric, bands: tuple[Band, ...], sizes: Sequence[int]) -> str | None:
    """Return the reason of the system's file why nothing bounds the sizes that decide a time; None if it has none.

    It counts only if other sizes are bounded: then the run is judged, though not by these.
    """
    references, benchmark = run.target.references, run.benchmark
    if references is None or metric.better == "higher" or not sizes:
        return None
    deciding = deciding_sizes(sizes, metric.shape == "collective")
    if not bands or any(band.covers(size) for band in bands for size in deciding):
        return None
    test = run.target.test_id(benchmark)
    said = (one for one in references.unbounded if one.covers(test) and one.sizes.covers(deciding[0]))
    return next((one.reason for one in said), None)


def _messages(run: Run, metric: Metric) -> limits.MessageLimit | None:
    """Return the most messages per second that the link carries; None for any other metric."""
    if metric.name != MESSAGE_RATE:
        return None
    directions = max(each.directions for each in run.benchmark.metrics)
    return run.target.fabric.message_limit(run.target.rails, directions, run.target.policy)


def _of_references(
    run: Run, metric: Metric, due: limits.Limit | None, floors: tuple[Band, ...] | str, sizes: Sequence[int]
) -> tuple[Band, ...]:
    """Return what the references demand, and at sizes that no reference bounds, what the link's class demands.

    If a reference demands less of a bandwidth than the class does at its size, the class demands as much less at the
    other sizes: the system's own figure says that its runs reach no more.
    """
    held = run.target.bands(run.benchmark, metric, due)
    if isinstance(floors, str):
        return held
    if run.benchmark.within and not held:  # physics of one node: its own system does not have to have measured it
        return floors
    demanding = [band for band in held if not band.is_upper_limit]
    if not demanding or metric.shape == "figure":
        return held
    free = [size for size in sizes if not any(band.covers(size) for band in demanding)]
    if not free:
        return held
    of_class = [band for band in floors if band.entry_id == ENTRY]
    share = min(_share_asked(run, each, sizes) for each in run.benchmark.metrics)
    rest = (day_one.at_sizes(band, free, share) for band in of_class)
    return (*held, *(band for band in rest if band is not None))


def _share_asked(run: Run, metric: Metric, sizes: Sequence[int]) -> float:
    """Return the share of what the link's class demands of a bandwidth that the references demand, 1 at most."""
    if not metric.is_bandwidth or metric.shape == "figure":
        return 1.0
    due = run.target.limit(metric.directions, one_stream=True, of=run.benchmark)
    floors = run.target.floors(run.benchmark, metric, due, run.facts, sizes)
    held = [band for band in run.target.bands(run.benchmark, metric, due) if not band.is_upper_limit]
    return 1.0 if isinstance(floors, str) else day_one.share_asked(held, floors, sizes)


def _quantity(metric: Metric, benchmark: Benchmark) -> Quantity:
    # At 0 B only a benchmark between two ranks surely sends a message; a collective or a put may return at once.
    if metric.name == LATENCY:
        traffic = benchmark.traffic
        both_ways = traffic is not None and traffic.forward > 0 and traffic.backward > 0
        return "latency" if benchmark.pingpong or both_ways else "time"
    return QUANTITIES.get(metric.unit, "work")
