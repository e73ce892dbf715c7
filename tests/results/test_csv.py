"""Cells that a spreadsheet would execute, in the table for spreadsheets."""

import csv
import io

import pytest

from railyard.results.csv import csv_text, guard_cell
from tests.made.records import made_record


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@SUM(A1)"])
def test_a_formula_gets_an_apostrophe(text: str) -> None:
    assert guard_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "vn1", "-3", "+1.5e3", "a=b"])
def test_a_number_and_any_other_text_stay_themselves(text: str) -> None:
    assert guard_cell(text) == text


def test_a_joined_list_is_guarded_too() -> None:
    record = made_record(case="=HYPERLINK(1)", nodes=("=vn1", "vn2"), rails=2)
    (row,) = csv.DictReader(io.StringIO(csv_text([record])))
    assert (row["case"], row["nodes"], row["rails"]) == ("'=HYPERLINK(1)", "'=vn1 vn2", "2")
