"""Whether the relations of a system hold between the curves that a run stored: pass, fail or not judged, and why.

Only measured values count: nothing is interpolated. A test that was disturbed, or failed before its reference
(incomplete, impossible, or over another path), gives no curve to compare, and neither does a rehearsal.
"""

from collections.abc import Sequence

from railyard.base.wording import listing
from railyard.benchmarks.model import Curve, median
from railyard.results.record.form import Record
from railyard.results.run_folder import RelationRecord
from railyard.site.references.band import RelationState
from railyard.site.references.load import References
from railyard.site.references.model import Relation, Side
from railyard.site.references.relation_checks import metric_of, sides
from railyard.site.references.relation_forms import MeasuredSide, compare
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
    for record in records:
        if _is_of(side, record) and _is_usable(record):
            curves.setdefault(record.test.stack, []).extend(_curves(record, metric_of(side)))
    measured = {}
    for stack, repeats in curves.items():
        # repeats with other sizes (a run with --full beside one without) have no median together with the first
        alike = [curve for curve in repeats if curve.sizes == repeats[0].sizes]
        if alike:
            measured[stack] = MeasuredSide(side.words, median(alike), tuple(alike))
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
