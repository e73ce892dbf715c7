"""Rows of figures that no parser read: the sentence says that they are there, and why they were not read."""

from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.parsers import osu
from railyard.parsers.parsed import Parsed, Remark
from railyard.parsers.unread_rows import unread_rows
from railyard.results.report.parsed import parsed_text

HEADING = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n"
UNFIT = f"{HEADING}1        fast    1.60\n2        fast    3.10\n"


def test_rows_that_do_not_fit_their_heading_are_named() -> None:
    parsed = osu.parse(UNFIT)
    why = (
        '2 lines with figures are among the remarks, first line 3, "1 fast 1.60", but they do not have the columns '
        "that the heading in line 1 announces"
    )
    assert unread_rows(parsed) == why
    assert f"no table: {why}\n" in parsed_text(parsed, width=400)


def test_rows_without_a_heading_are_named() -> None:
    parsed = Parsed(remarks=(Remark(7, "vn1 is up"), Remark(9, "4194304 1000 11034.57")))
    assert unread_rows(parsed) == (
        '1 line with figures is among the remarks, first line 9, "4194304 1000 11034.57", but no heading above them '
        "says what they measure"
    )


@pytest.mark.parametrize(
    "text",
    ["vn1 is up", "12 nodes", "2026-11-28 05:29:42", "rank 0 of 16 on 2 nodes", "", "1", "3 of 4 nodes answered 17"],
)
def test_prose_is_no_row(text: str) -> None:
    assert unread_rows(Parsed(remarks=(Remark(1, text),))) is None


def test_nothing_measured_is_said_only_if_there_are_no_figures() -> None:
    assert "no table: nothing was measured, or nothing of it was printed\n" in parsed_text(osu.parse(HEADING))


def test_judge_says_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "osu_bw.out"
    file.write_text(UNFIT, encoding="utf-8")
    assert main(["judge", str(file), "--link", "ib-edr"]) == 1
    assert (
        "  FAIL  rule 1 (complete): the output has no table (2 lines with figures are among the remarks, first line 3, "
        '"1 fast 1.60", but they do not have the columns that the heading in line 1 announces) and reports 1 failure, '
        'line 1: "a heading without any row: osu_bw"\n'
    ) in capsys.readouterr().out
