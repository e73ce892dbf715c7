"""What the curves of an output look like: the causes that ``causes`` knows, for a table on real hardware."""

from collections.abc import Sequence

from railyard.benchmarks import moved_bytes
from railyard.benchmarks.model import Benchmark
from railyard.benchmarks.table import micro
from railyard.hardware.links import SLOTS
from railyard.parsers.output import Table
from railyard.verdict.hints.causes import Likeness, likely_causes
from railyard.verdict.hints.shapes import SeenCurve
from railyard.verdict.inputs import Target
from railyard.verdict.rules.model import MetricInput, points


def likenesses(
    table: Table, benchmark: Benchmark, judged: Sequence[MetricInput], target: Target
) -> tuple[Likeness, ...]:
    """Return each cause that a metric of this table looks like, each once; () if nothing matches.

    Traffic of GPUs within a node never looks like a cause of a link.
    """
    if benchmark.within:
        return ()
    seen = [_observe(table, benchmark, metric, target) for metric in judged if metric.measured is not None]
    return tuple(dict.fromkeys(cause for one in seen for cause in likely_causes(one)))


def _observe(table: Table, benchmark: Benchmark, metric: MetricInput, target: Target) -> SeenCurve:
    fabric = target.fabric
    rail = fabric.used_rails(target.rails, target.policy)[0]
    slot = rail.slot or fabric.slot
    targets = {
        size: bound.target
        for band in metric.bands
        for size, _ in points(metric)
        if (bound := band.bound_at(size)) is not None and bound.target is not None
    }
    return SeenCurve(
        metric=micro.metric(benchmark.key, metric.declared.name),
        points=points(metric),
        link=fabric.link,
        slot=SLOTS[slot] if slot else None,
        rails=target.rails,
        rails_per_card=rail.rails_per_card,
        mtu=fabric.mtu,
        max_payload=fabric.max_payload,
        limit_mb_s=None if metric.limit is None else metric.limit.value_mb_s,
        targets=targets,
        pairs=moved_bytes.pairs_of(table, benchmark.key),
        from_device=micro.tool(table.tool).from_device(table),
        least_us=metric.least.value,
        through_library=not micro.tool(table.tool).between_nics and not benchmark.over_tcp,
    )
