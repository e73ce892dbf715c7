"""The record of an assessment: how a test is stored."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from railyard.base.wording import message_size
from railyard.benchmarks.model import Curve
from railyard.benchmarks.table import micro
from railyard.results.record.form import (
    AttemptRecord,
    BandRecord,
    CurveRecord,
    DeficitRecord,
    LimitRecord,
    NodesAlike,
    NodeTraffic,
    PathProofRecord,
    Record,
    RuleRecord,
    VerdictRecord,
    with_shares,
)
from railyard.site.test_id import TestId
from railyard.verdict.assess import Assessment
from railyard.verdict.rules.model import BandLike, LimitLike, MetricInput, compared_points
from railyard.verdict.verdict import CurveVerdict, Verdict, not_tested

#: With up to this many nodes the path proof is stored node by node, with more in columns.
MOST_WHOLE = 64


def attempt_of(assessment: Assessment, elapsed_s: float, started: datetime) -> AttemptRecord:
    """Return what is kept of a measurement that is repeated."""
    judged = assessment.verdict
    starved, at = assessment.starved, f"{started:%Y-%m-%dT%H:%M:%SZ}"
    return AttemptRecord(judged.text, judged.rule, round(elapsed_s, 2), starved, at)


def record_of(
    assessment: Assessment,
    *,
    run: str,
    time: str,
    elapsed_s: float | None,
    environment: Mapping[str, object],
    command: tuple[str, ...],
    output: str | None,
) -> Record:
    """Return the record of one run, complete except for ``pairs``; values are those that were judged, not rounded.

    For a run of pairs of nodes, ``verdict.node_pairs`` makes ``pairs``. The caller that writes the record first writes
    the file of its rows, and adds ``pairs``.
    """
    judged = assessment.verdict
    return Record.of(assessment.case.test, judged.state, verdict_record(judged), run=run, time=time).with_fields(
        elapsed_s=elapsed_s,
        nodes=assessment.case.launch.nodes,
        figures=assessment.figures,
        curves=tuple(_curve(curve, assessment) for curve in assessment.curves),
        path_proof=_path(assessment),
        references=judged.references,
        environment=environment,
        command=command,
        output=output,
        replayed=assessment.inputs.replayed,
        benchmark_version=assessment.version,
        attempts=assessment.attempts,
        starved=assessment.starved,
        conditions=assessment.conditions,
    )


def untested_record(test: TestId, reason: str, *, run: str, time: str) -> Record:
    """Return the record of a test that did not run, with the reason."""
    untested = not_tested(reason)
    return Record.of(test, untested.state, verdict_record(untested), run=run, time=time)


def verdict_record(verdict: Verdict) -> VerdictRecord:
    """Return a verdict as it is stored."""
    return VerdictRecord(
        sentence=verdict.sentence,
        rule=verdict.rule,
        class_=verdict.fault,
        rules=tuple(RuleRecord(r.rule, r.name, r.state, r.sentence) for r in verdict.rules),
        suspects=verdict.suspects,
        next=verdict.look_at,
        remarks=verdict.remarks,
        headline=verdict.headline,
        measured=verdict.measured_text,
    )


def _curve(curve: Curve, assessment: Assessment) -> CurveRecord:
    metric = next(m for m in assessment.inputs.metrics if m.declared.name == curve.metric)
    judged = next(c for c in assessment.verdict.curves if c.metric == curve.metric)
    record = _curve_record(curve, metric, judged, assessment.case.benchmark)
    record = replace(record, computed=assessment.computed.get(curve.metric, ()))
    found = assessment.deficits.get(curve.metric)
    if found is None:
        return record
    return replace(record, deficit=DeficitRecord(found.share, found.size_bytes, found.repeats))


def _curve_record(curve: Curve, metric: MetricInput, judged: CurveVerdict, key: str) -> CurveRecord:
    limit = metric.limit
    return CurveRecord(
        metric=curve.metric,
        unit=curve.unit,
        sizes=curve.sizes,
        values=curve.values,
        directions=micro.metric(key, curve.metric).directions,
        limit=None if limit is None else _limit(limit),
        bands=tuple(_band(band, metric, curve.sizes) for band in metric.cited_bands),
        percent_of_reference=judged.percent_of_reference,
        percent_of_reference_size=judged.percent_of_reference_size,
        percent_of_limit=judged.percent_of_limit,
    )


def _limit(limit: LimitLike) -> LimitRecord:
    start = f", from {message_size(limit.from_bytes)}" if limit.from_bytes else ""
    return LimitRecord(limit.value_mb_s, f"{limit.terms}{start}", limit.source, limit.from_bytes)


def _band(band: BandLike, metric: MetricInput, sizes: tuple[int, ...]) -> BandRecord:
    """Return a reference with its bounds at the sizes at which the run was compared with it: the best one, or all."""
    best = {size for size, _ in compared_points(metric, band)} if band.best_of_sizes else set(sizes)
    bounds = [band.bound_at(size) if size in best else None for size in sizes]
    return BandRecord(
        id=band.entry_id,
        kind=band.kind,
        source=band.source,
        sizes=sizes,
        low=tuple(None if bound is None else bound.low for bound in bounds),
        high=tuple(None if bound is None else bound.high for bound in bounds),
    )


def _path(assessment: Assessment) -> PathProofRecord:
    path = assessment.path
    nodes = tuple(NodeTraffic(node, rails, path.clocks_khz.get(node)) for node, rails in (path.nodes or {}).items())
    if len(nodes) > MOST_WHOLE:
        return PathProofRecord(path.state, path.sentence, path.expected_bytes, alike=tuple(_group_alike(nodes)))
    nodes = tuple(replace(node, rails=with_shares(node.rails)) for node in nodes)
    return PathProofRecord(path.state, path.sentence, path.expected_bytes, nodes)


def _group_alike(nodes: Iterable[NodeTraffic]) -> Iterator[NodesAlike]:
    """Yield one group per set of nodes with the same devices, in columns: a hundredth of the size of single nodes."""
    groups: dict[tuple[tuple[str, bool], ...], list[NodeTraffic]] = {}
    for node in nodes:
        groups.setdefault(tuple((rail.device, rail.meant) for rail in node.rails), []).append(node)
    for devices, alike in groups.items():
        clocks = tuple(node.clock_khz for node in alike)
        yield NodesAlike(
            nodes=tuple(node.node for node in alike),
            devices=tuple(device for device, _ in devices),
            meant=tuple(meant for _, meant in devices),
            tx_bytes=tuple(tuple(node.rails[at].tx_bytes for node in alike) for at in range(len(devices))),
            rx_bytes=tuple(tuple(node.rails[at].rx_bytes for node in alike) for at in range(len(devices))),
            clock_khz=clocks if any(clock is not None for clock in clocks) else (),
        )
