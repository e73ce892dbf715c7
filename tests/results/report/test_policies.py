"""Rail policies in table, matrix and page: shown if a run has several, and not if each stack has its own."""

from railyard.results.record.form import Record
from railyard.results.report.html import html_report
from railyard.results.report.overview import cell_words, matrix
from railyard.results.report.summary import row
from railyard.results.report.terminal import text_report
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId


def several(healthy_run: list[Record]) -> list[Record]:
    """Return a test over two rails, once with its stack's own policy and once with a named one."""
    one = next(record for record in healthy_run if record.test.rails == 2)
    own = one.with_fields(policy="striping", case="ImbUniband %rails=2 @virtual:hsn+mpich")
    return [
        own,
        one.with_fields(policy="round-robin", case="ImbUniband %rails=2 %policy=round-robin @virtual:hsn+mpich"),
    ]


def test_the_table_says_the_policy_where_a_test_names_one(healthy_run: list[Record]) -> None:
    text = text_report(several(healthy_run))
    assert "2, striping" in text and "2, round-robin" in text
    assert "2, stripe" not in text_report(healthy_run) and "2, round" not in text_report(healthy_run)


def test_a_single_rail_needs_no_policy(healthy_run: list[Record]) -> None:
    one = next(record for record in healthy_run if record.test.rails == 1)
    assert row(one, policies=True).rails == "1"
    two = next(record for record in healthy_run if record.test.rails == 2)
    assert (row(two).rails, row(two, policies=True).rails) == ("2", f"2, {two.test.policy}")


def test_the_page_says_it_too(healthy_run: list[Record]) -> None:
    text = html_report(several(healthy_run))
    assert "2, striping" in text and "2, round-robin" in text


def test_a_policy_that_left_no_record_is_missed(healthy_run: list[Record]) -> None:
    own, other = several(healthy_run)
    cells = [
        Cell(TestId(own.where.fabric, own.test.stack, 2, own.test.benchmark)),
        Cell(TestId(own.where.fabric, own.test.stack, 2, own.test.benchmark, policy="round-robin"), named=True),
    ]
    assert matrix([own, other], cells).unrun == ()
    (unrun,) = matrix([own], cells).unrun
    assert unrun == cells[1]
    assert cell_words(unrun).startswith(f"{own.test.benchmark}, round-robin on ")
