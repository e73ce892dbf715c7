"""docs/reference/is-my-number-right.md: each number of a public thread is judged again, as on the page."""

import re

import pytest

from railyard.parsers.detect import parse
from tests.conftest import ROOT
from tests.number_threads import Row, Verdict, agreement, judge_row, log, page, rows

ROWS = rows()


@pytest.fixture(scope="module")
def row_verdicts() -> dict[str, Verdict]:
    return {row.id: judge_row(row) for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_railyard_says_of_each_number_what_the_page_says(row: Row, row_verdicts: dict[str, Verdict]) -> None:
    verdict = row_verdicts[row.id]
    assert row.says
    assert [piece for piece in row.says if piece not in verdict.text] == []
    assert verdict.exit_code == (0 if verdict.state == "pass" else 1)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_no_number_that_maintainers_call_right_fails(row: Row, row_verdicts: dict[str, Verdict]) -> None:
    """To refuse a healthy number is the worst error of a judge."""
    if row.theirs in ("fine", "explained"):
        assert row_verdicts[row.id].state != "fail", row_verdicts[row.id].text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_each_difference_has_its_reason_and_no_agreement_has_one(row: Row, row_verdicts: dict[str, Verdict]) -> None:
    differs = agreement(row, row_verdicts[row.id]) in ("no", "does not tell")
    assert bool(row.differ) == differs


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_the_output_has_the_figures_of_the_thread(row: Row) -> None:
    tables = parse(log(row)).tables
    assert len(tables) == (row.jobs if row.table else 0)
    for table in tables:
        shown = dict(zip(table.column("size"), table.column("busbw"), strict=True))
        assert shown == {size: pytest.approx(value * 1000, abs=6) for size, value in row.table.items()}
        assert table.context.get("nodes", 1) == row.nodes // row.jobs


def test_the_page_is_made_from_the_rows(row_verdicts: dict[str, Verdict]) -> None:
    written = (ROOT / "docs/reference/is-my-number-right.md").read_text(encoding="utf-8")
    made = page((row, row_verdicts[row.id]) for row in ROWS)
    assert written == made, "docs/reference/is-my-number-right.md is not what judge says; type: make docs"


def test_there_are_rows_of_many_threads_and_each_name_is_used_once() -> None:
    assert len({row.thread for row in ROWS}) >= 12
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+ \d+", row.thread) for row in ROWS)
    assert {row.theirs for row in ROWS} == {"fine", "low", "explained", "wrong-run", "more-needed", "no-answer"}


def test_a_row_that_cannot_be_judged_is_refused() -> None:
    with pytest.raises(ValueError, match="expected theirs of fine, low"):
        Row("x", "a/b 1", "", "gpus=8", 1, "good", "", (), {1 << 30: 1.0})
    with pytest.raises(ValueError, match="a table or an average"):
        Row("x", "a/b 1", "", "gpus=8", 1, "fine", "", ())
