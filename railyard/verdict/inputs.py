"""What the rules are given for one stored output: its tables by benchmark, each metric with what it is held to."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from railyard.base.wording import message_size
from railyard.benchmarks import metrics
from railyard.benchmarks.apps import wrf_cases
from railyard.benchmarks.curve import Curve, median
from railyard.benchmarks.model import LATENCY, Benchmark, Metric
from railyard.benchmarks.table.applications import printed_key
from railyard.hardware.limits import SLOTS
from railyard.parsers.parsed import Parsed, Table, validation_of
from railyard.site.references.bands import Band
from railyard.verdict.hints.shapes import Seen
from railyard.verdict.path.proof import not_judged
from railyard.verdict.rules.metrics import points
from railyard.verdict.rules.model import QUANTITIES, Declared, Inputs, Job, Measured, MetricInput, OutputLine, Quantity
from railyard.verdict.stored.target import Target

_NODES = ("the run's nodes",)


def key_of_table(table: Table, benchmark: str | None) -> str | None:
    """Return the key of a table's benchmark; the one asked for where the table says less (nodes, and WRF's case)."""
    known = metrics.key_of(table)
    if known is not None and benchmark is not None and known == printed_key(benchmark):
        return benchmark
    if known is None and table.benchmark is None and benchmark is not None:
        return benchmark if benchmark.partition("/")[0] == table.tool else None
    return known


def groups(keyed: Sequence[tuple[str | None, Table]], passes: bool) -> list[tuple[str | None, list[Table]]]:
    """Return tables by what is judged together: each alone, or those that are alike in all but their values."""
    groups: list[tuple[str | None, list[Table]]] = []
    for key, table in keyed:
        same = (tables for other, tables in groups if passes and other == key and _alike(tables[0], table))
        found = next(same, None)
        if found is None:
            groups.append((key, [table]))
        else:
            found.append(table)
    return groups


def curves_of(tables: list[Table], benchmark: Benchmark, node_pairs: int) -> tuple[tuple[Curve, ...], str | None]:
    try:
        each = [metrics.curves(table, benchmark.key) for table in tables]
        made = tuple(median(same) for same in zip(*each, strict=True))
    except ValueError as error:
        return (), str(error)
    return tuple(metrics.of_one_pair(curve, benchmark.key, node_pairs) for curve in made), None


def inputs_of_metrics(
    table: Table, benchmark: Benchmark, curves: tuple[Curve, ...], problem: str | None, target: Target
) -> tuple[tuple[MetricInput, ...], str | None]:
    """Return the metrics with what they are held to, and the sentence why, where that is nothing at all."""
    made: list[MetricInput] = []
    remarks: list[str] = []
    for metric in benchmark.metrics:
        curve = next((curve for curve in curves if curve.metric == metric.name), None)
        if curve is None and metric.optional and curves:
            continue
        limited = metric.is_bandwidth and metric.is_bounded(None)
        limit = target.fabric.limit(target.rails, metric.directions) if limited else None
        if limit is not None and metric.shape == "figure":  # it has no message size at which the limit would begin
            limit = replace(limit, from_bytes=0)
        due = target.fabric.limit(target.rails, metric.directions, one_stream=True) if limit is not None else None
        if target.references is not None:
            found: tuple[Band, ...] | str = target.bands(benchmark.key, metric, due)
        else:
            found = _in_reach(target.floors(benchmark, metric, due, _from_device(table)), metric, curve)
        bands = () if isinstance(found, str) else found
        if isinstance(found, str):
            remarks.append(found)
        judged_first = target.references is not None and metric is benchmark.metrics[0] and benchmark.reported is None
        made.append(
            MetricInput(
                declared=Declared(
                    *(metric.name, metric.unit, _quantity(metric, benchmark)),
                    limited=limited,
                    between_nodes=metric.is_bounded(None),
                    reported_only=None if bands or judged_first else benchmark.reported or "nothing holds for it",
                    coarse=metric.coarse,
                    sized=metric.shape != "figure",
                ),
                measured=None if curve is None else Measured(curve.unit, curve.sizes, curve.values),
                problem=problem,
                limit=limit,
                bands=bands,
                floor_remark=found if isinstance(found, str) else None,
            )
        )
    held = target.references is not None or any(metric.bands for metric in made)
    return tuple(made), None if held else "; ".join(dict.fromkeys(remarks))


def inputs_of(parsed: Parsed, key: str, tables: list[Table], target: Target, judged: tuple[MetricInput, ...]) -> Inputs:
    own_check = validation_of(tables)
    other = wrf_cases.other_release(key, tables)
    job = Job(
        exit_code=0,  # not known: _rules says that it was not judged
        nodes_expected=_NODES,
        nodes_seen=_NODES,
        tables=len(tables),
        tables_expected=len(tables),
        incomplete=tuple(f"{key} (line {table.line})" for table in tables if not table.complete),
        failures=(
            *(OutputLine(failure.line, failure.text) for failure in parsed.failures),
            *(() if other is None else (OutputLine(tables[0].line, other),)),
        ),
        validates=own_check is not None,
        validation=own_check,
        computes=metrics.find(key).is_application,
    )
    return Inputs(
        system=target.system or "the link",
        fabric=target.fabric_name,
        stack=target.stack,
        rails=target.rail_names,
        nodes=_NODES,
        job=job,
        metrics=judged,
        path=not_judged("there was no live run"),
        today=date.min,
    )


def seen_in(table: Table, benchmark: Benchmark, metric: MetricInput, target: Target) -> Seen:
    fabric = target.fabric
    rail = fabric.rails[0]
    slot = rail.slot or fabric.slot
    targets = {
        size: bound.target
        for band in metric.bands
        for size, _ in points(metric)
        if (bound := band.bound_at(size)) is not None and bound.target is not None
    }
    return Seen(
        metric=metrics.metric(benchmark.key, metric.declared.name),
        points=points(metric),
        link=fabric.link,
        slot=SLOTS[slot] if slot else None,
        rails=target.rails,
        rails_per_card=rail.rails_per_card,
        mtu=fabric.mtu,
        max_payload=fabric.max_payload,
        limit_mb_s=None if metric.limit is None else metric.limit.value_mb_s,
        targets=targets,
        pairs=metrics.pairs_of(table, benchmark.key),
        from_device=_from_device(table),
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


def _alike(one: Table, other: Table) -> bool:
    return (one.columns, dict(one.context)) == (other.columns, dict(other.context))


def _quantity(metric: Metric, benchmark: Benchmark) -> Quantity:
    # At 0 B only a benchmark between two ranks is known to send a message; a collective or a put may return at once.
    if metric.name == LATENCY:
        traffic = benchmark.traffic
        both_ways = traffic is not None and traffic.forward > 0 and traffic.backward > 0
        return "latency" if benchmark.pingpong or both_ways else "time"
    return QUANTITIES.get(metric.unit, "work")


def _from_device(table: Table) -> bool:
    # of OSU alone: what perftest calls its device is the network card
    if table.tool != "osu":
        return False
    buffers = [str(table.context.get(name)) for name in ("send_buffer", "receive_buffer") if name in table.context]
    return "DEVICE" in buffers if buffers else "device" in table.context
