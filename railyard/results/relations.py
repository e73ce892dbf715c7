"""Whether the relations of a system hold between the curves that a run stored: pass, fail or not judged, and why.

Only measured values count: nothing is interpolated. A test that was disturbed, or failed before its reference
(incomplete, impossible, or over another path), gives no curve to compare, and neither does a rehearsal.

What each fabric of a system gives for its price, in MB/s and us, from a run's records or from the references.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from railyard.base.wording import listing
from railyard.benchmarks.model import BANDWIDTH, LATENCY, Curve, median
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.record.form import Record
from railyard.results.run_folder import CostRecord, RelationRecord
from railyard.site.references.band import RelationState
from railyard.site.references.checks import metric_of, sides
from railyard.site.references.load import References
from railyard.site.references.model import BAD_CASE, Relation, Side
from railyard.site.references.relation_forms import MeasuredSide, compare
from railyard.site.systems.fields import ANY
from railyard.site.systems.model import System
from railyard.site.test_id import TestId
from railyard.stacks.model import number_alone

#: Why no relation of a rehearsal is judged: each of its curves is made separately, from that test's references alone.
NOT_OF_A_REHEARSAL = "not judged: a rehearsal makes its figures from the references themselves, one curve at a time"
#: Added to the figures of a replay that no source printed.
_COMPUTED = " (figures of a replay: computed, not published)"
#: If one of these rules fails, the curve cannot be compared; after a failed reference (rule 5) it can.
_LAST_RULE = 5


def judge(references: References, records: Sequence[Record]) -> tuple[RelationRecord, ...]:
    """Return a result for each relation, in the file's order; one per stack if its sides leave the stack open."""
    return tuple(result for relation in references.relations for result in _judge(relation, references, records))


def _judge(relation: Relation, references: References, records: Sequence[Record]) -> list[RelationRecord]:
    system = references.system.system
    if any(record.made.rehearsal is not None for record in records if record.where.system == system):
        return [_result(relation, "not-judged", NOT_OF_A_REHEARSAL)]
    both = sides(relation, references.entries)
    own = [record for record in records if record.where.system == system]
    made = _COMPUTED if any(_is_computed(side, relation, own) for side in both) else ""
    found = [_by_stack(side, own) for side in both]
    missing = [_why_missing(side, records) for side, each in zip(both, found, strict=True) if not each]
    if missing:
        return [_result(relation, "not-judged", f"not judged: {'; '.join(missing)}")]
    if all(side.stack is None for side in both):
        shared = [stack for stack in found[0] if all(stack in each for each in found)]
        if not shared:
            told = " and ".join(
                f"{side.words} with {listing(list(each))}" for side, each in zip(both, found, strict=True)
            )
            return [_result(relation, "not-judged", f"not judged: no stack ran on both sides: {told}")]
        return [
            _result(relation, *_with_mark(compare(relation, [each[stack] for each in found]), made), stack)
            for stack in shared
        ]
    chosen = []
    for side, each in zip(both, found, strict=True):
        if len(each) > 1:
            sentence = f"not judged: {side.words} ran with {listing(list(each))}, and the relation does not name one"
            return [_result(relation, "not-judged", sentence)]
        chosen.append(next(iter(each.values())))
    return [_result(relation, *_with_mark(compare(relation, chosen), made))]


def _with_mark(judged: tuple[RelationState, str], made: str) -> tuple[RelationState, str]:
    return judged[0], f"{judged[1]}{made}"


def _is_computed(side: Side, relation: Relation, records: Sequence[Record]) -> bool:
    """Return whether a curve of this side was computed for a replay, at a size of the relation."""
    return any(
        relation.sizes.covers(size)
        for record in records
        if _is_of(side, record) and _is_usable(record)
        for curve in record.found.curves
        if curve.metric == metric_of(side)
        for size in curve.computed
    )


def _by_stack(side: Side, records: Sequence[Record]) -> dict[str, MeasuredSide]:
    """Return what was measured on a side, by stack: the median of its repeats."""
    curves: dict[str, list[Curve]] = {}
    used = [record for record in records if _is_of(side, record) and _is_usable(record)]
    for record in used:
        curves.setdefault(record.test.stack, []).extend(_curves(record, metric_of(side)))
    printed = all(record.made.replayed is not None for record in used)
    measured = {}
    for stack, repeats in curves.items():
        # repeats with other sizes (a run with --full beside one without) have no median together with the first
        alike = [curve for curve in repeats if curve.sizes == repeats[0].sizes]
        if alike:
            measured[stack] = MeasuredSide(side.words, median(alike), tuple(alike), printed)
    return measured


def _is_of(side: Side, record: Record) -> bool:
    return (
        (record.where.fabric, record.test.rails, record.test.benchmark) == (side.fabric, side.rails, side.benchmark)
        and side.stack in (None, record.test.stack)
        and side.policy in ("any", record.test.policy)
        and (side.policy == record.test.policy or number_alone(record.test.policy or "") is None)
    )


def _is_usable(record: Record) -> bool:
    if record.found.state == "fail" and (record.found.verdict.rule or 0) < _LAST_RULE:
        return False
    return record.found.state not in ("not-tested", "disturbed")


def _curves(record: Record, metric: str) -> list[Curve]:
    return [
        Curve(each.metric, each.unit, each.sizes, each.values) for each in record.found.curves if each.metric == metric
    ]


def _why_missing(side: Side, records: Sequence[Record]) -> str:
    there = [record for record in records if _is_of(side, record)]
    failed = next((record for record in there if not _is_usable(record)), None)
    if failed is not None and failed.found.state == "fail":
        return f"side {side.words} gave no curve: it failed rule {failed.found.verdict.rule or 'none'}"
    if failed is not None:
        return f"side {side.words} was {failed.found.state.replace('-', ' ')}"
    if there:
        return f"side {side.words} has no {metric_of(side)}"
    return f"side {side.words} is missing"


def _result(relation: Relation, state: RelationState, sentence: str, stack: str | None = None) -> RelationRecord:
    return RelationRecord(relation.id, relation.says, relation.form, state, sentence, relation.source.cite(), stack)


#: The known figures at each place: the metric and both ends of its figure, which are equal if no range is printed.
_Figure = tuple[str, tuple[float, float]]
_Figures = Mapping[TestId, Sequence[_Figure]]


def costs_of_run(system: System, records: Iterable[Record]) -> tuple[CostRecord, ...]:
    """Return the fabrics that have a price, with what a run measured over them, cheapest first; () if none has one."""
    found: dict[TestId, list[_Figure]] = {}
    for record in records:
        if record.where.system != system.system or record.found.state not in ("pass", "report-only"):
            continue
        for curve in record.found.curves:
            if _counts(record.test.benchmark, curve.metric):
                known = [value for at, value in zip(curve.sizes, curve.values, strict=True) if at not in curve.computed]
                if not known:  # a replay's, which no source printed
                    continue
                best = max(known) if curve.metric == BANDWIDTH else min(known)
                found.setdefault(TestId(record.where.fabric, record.test.stack, record.test.rails), []).append(
                    (curve.metric, (best, best))
                )
    return _costs(system, found)


def costs_of_references(references: References) -> tuple[CostRecord, ...]:
    """Return the fabrics that have a price, with their references' figures, cheapest first; () if none has one."""
    found: dict[TestId, list[_Figure]] = {}
    for entry in references.entries:
        if entry.kind == BAD_CASE or not any(_counts(name, entry.metric) for name in entry.benchmark):
            continue
        given = [(value, value) for value in (entry.curve or {}).values()]
        given += [(entry.value, entry.value)] if isinstance(entry.value, float) else []
        given += [entry.ends] if entry.ends is not None else []
        if not given:
            continue
        best = max(given) if entry.metric == BANDWIDTH else min(given)
        for stack in entry.stack:
            for rails in entry.rails or (1,):
                found.setdefault(TestId(entry.fabric, stack, rails), []).append((entry.metric, best))
    return _costs(references.system, _merge_any_stack(found))


def _counts(benchmark: str, metric: str) -> bool:
    """Return whether a figure is a bandwidth one way, or half a round trip between two ranks."""
    known = BENCHMARKS.get(benchmark)
    if known is None:
        return False
    if metric == LATENCY:
        return known.pingpong
    return metric == BANDWIDTH and any(each.name == BANDWIDTH and each.directions == 1 for each in known.metrics)


def _merge_any_stack(found: Mapping[TestId, list[_Figure]]) -> _Figures:
    """Return the figures with those for any stack added to each stack of that fabric and number of rails."""
    stacks = {place for place in found if place.stack != ANY}
    merged = {place: list(figures) for place, figures in found.items()}
    for any_stack, figures in found.items():
        if any_stack.stack != ANY:
            continue
        named = [place for place in stacks if replace(place, stack=ANY) == any_stack]
        for place in named:
            merged[place] += figures
        if named:
            del merged[any_stack]
    return merged


def _costs(system: System, found: _Figures) -> tuple[CostRecord, ...]:
    rows = []
    for place, figures in found.items():
        bandwidths = [low for metric, (low, _) in figures if metric == BANDWIDTH]
        quickest = min((ends for metric, ends in figures if metric == LATENCY), default=None)
        for price in system.prices:
            if place.fabric in price.fabric and price.rails == place.rails:
                rows.append(
                    CostRecord(
                        fabric=place.fabric,
                        stack=place.stack,
                        rails=place.rails,
                        currency=price.currency,
                        date=price.date.isoformat(),
                        price_low=price.low,
                        price_high=price.high,
                        bound=price.bound,
                        nodes_from=price.nodes.first,
                        nodes_to=price.nodes.last,
                        bandwidth_mb_s=max(bandwidths, default=None),
                        latency_us=None if quickest is None else quickest[0],
                        latency_high_us=None if quickest is None or quickest[0] == quickest[1] else quickest[1],
                    )
                )
    return tuple(sorted(rows, key=lambda row: (row.price, row.fabric, row.stack)))


def best_for(costs: Sequence[CostRecord], nodes: int) -> tuple[CostRecord, ...]:
    """Return what is worth its money at this size of cluster: nothing as cheap has more bandwidth and less latency.

    Prices in several currencies cannot be compared, so then all rows are returned.
    """
    there = [row for row in costs if (row.nodes_from or 1) <= nodes and (row.nodes_to is None or nodes <= row.nodes_to)]
    return tuple(row for row in there if not any(_beats(other, row) for other in there if other is not row))


def _beats(one: CostRecord, other: CostRecord) -> bool:
    if one.currency != other.currency or one.price > other.price:
        return False
    mine, theirs = _merits(one), _merits(other)
    if not all(a >= b for a, b in zip(mine, theirs, strict=True)):
        return False
    return mine != theirs or one.price < other.price


def _merits(row: CostRecord) -> tuple[float, float]:
    """Return bandwidth and the inverse of latency (the middle of a range); what was not measured is worth nothing."""
    return row.bandwidth_mb_s or 0.0, 1 / row.latency_middle_us if row.latency_middle_us else 0.0
