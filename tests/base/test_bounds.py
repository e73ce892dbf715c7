"""The table of bounds is complete, explains itself, and its document shows every row."""

from railyard.base import bounds
from railyard.base.bounds import BOUNDS, JudgingBound, document


def test_every_bound_of_the_module_stands_in_the_table_once() -> None:
    defined = [value for value in vars(bounds).values() if isinstance(value, JudgingBound)]
    assert tuple(defined) == BOUNDS
    assert len({bound.name for bound in BOUNDS}) == len(BOUNDS)


def test_every_bound_has_a_unit_a_reason_and_a_source() -> None:
    for bound in BOUNDS:
        assert bound.value > 0 or bound.name == "hard-errors"
        assert all((bound.unit, bound.reason, bound.source))
        assert "|" not in bound.unit + bound.reason + bound.source


def test_the_document_has_a_row_for_each_bound() -> None:
    lines = document().splitlines()
    assert lines[0] == "| bound | value | unit | reason | source |"
    assert lines[2] == (
        "| `impossible-factor` | 1.02 | x limit | if the clock is read a little early or late, a healthy run exceeds "
        "the limit by well under 2 % | engineering proposal of this project |"
    )
    assert [line.split("`")[1] for line in lines[2:]] == [bound.name for bound in BOUNDS]
