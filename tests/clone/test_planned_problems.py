"""tests/golden/planned-problems.txt is what HPL and NPB get: its diff is the review of a change of plan."""

from tests import planned_problems


def test_the_golden_plans_are_those_of_the_planner() -> None:
    assert planned_problems.PAGE.read_text(encoding="utf-8") == planned_problems.page(), (
        "python -m tests.planned_problems writes it again"
    )
