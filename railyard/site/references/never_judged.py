"""Finds relations that no run can judge, since a system lacks one of their sides, and claims that only they hold."""

from collections.abc import Iterator, Sequence

from railyard.base.finding import Finding, problem, remark
from railyard.site.matrix import Cell
from railyard.site.references.load import References
from railyard.site.references.model import ANY, Side, is_for
from railyard.site.references.relation_checks import sides


def never_judged(references: References, cells: Sequence[Cell]) -> Iterator[Finding]:
    """Yield a finding for each relation with a side that no test of the system can give; ``cells`` are all tests.

    A test that the site, or a missing reference, switches off never runs. If no check at all measures the side's
    benchmark, the finding is a remark, since the check may be in another folder.
    """
    if not references.relations and not references.claims:
        return
    where = references.system.system
    lost: set[str] = set()
    for relation in references.relations:
        without = next((side for side in sides(relation, references.entries) if not _is_given(cells, side)), None)
        if without is None:
            continue
        lost.add(relation.id)
        if all(cell.test.benchmark != without.benchmark for cell in cells):
            yield remark(where, f"{relation.id}: no check here measures {without.benchmark}")
            continue
        why = next((cell.reason for cell in cells if _is_of(cell, without)), "no test has such a place and policy")
        yield problem(
            where, f"{relation.id}: it can never be judged, since no test gives its side {without.words}: {why}"
        )
    yield from _claims(references, cells, lost)


def _claims(references: References, cells: Sequence[Cell], lost: set[str]) -> Iterator[Finding]:
    """Yield a problem for each claim that only such relations hold, or entries for which the same is true."""
    runs = [cell.test for cell in cells if cell.reason is None]
    for entry in references.entries:
        any_policy = entry.model_copy(update={"policy": (ANY,)})
        if not any(is_for(any_policy, test) for test in runs):
            lost.add(entry.id)
    for claim in references.claims:
        if claim.held_by and all(name in lost for name in claim.held_by):
            held = ", ".join(claim.held_by)
            sentence = (
                f'the claim "{claim.says}": {held} can never be judged, so nothing holds the claim: say why in not_held'
            )
            yield problem(references.system.system, sentence)


def _is_given(cells: Sequence[Cell], side: Side) -> bool:
    return any(cell.reason is None for cell in cells if _is_of(cell, side))


def _is_of(cell: Cell, side: Side) -> bool:
    test = cell.test
    return (
        (test.fabric, test.rails, test.benchmark) == (side.fabric, side.rails, side.benchmark)
        and side.stack in (None, test.stack)
        and side.policy in (ANY, test.policy)
    )
