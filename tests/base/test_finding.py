"""A finding in one line, and the number of findings of each weight."""

from railyard.base.errors import Finding, problem, problems, remark, tally


def test_a_finding_says_where_what_and_what_to_do_if_there_is_anything() -> None:
    assert problem("vn1 hsn0", "its link is down", "change the cable").sentence == (
        "vn1 hsn0: its link is down; change the cable"
    )
    assert remark("virtual", "no check uses this entry").sentence == "virtual: no check uses this entry"


def test_what_was_found_is_counted_by_weight() -> None:
    found: list[Finding] = [problem("vn1", "a"), remark("vn1", "b"), remark("vn2", "c")]
    assert (problems(found), tally(found), tally([])) == (1, "1 problem, 2 remarks", "0 problems, 0 remarks")
