"""Cells that a spreadsheet would execute, in the table for spreadsheets."""

import csv
import gzip
import io
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from railyard.results.exports import csv_text, guard_cell
from tests.made.records import made_record


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\uff1d1+1", "--1+1"])
def test_a_formula_gets_an_apostrophe(text: str) -> None:
    assert guard_cell(text) == f"'{text}"


def test_a_formula_after_a_semicolon_gets_one_too() -> None:
    assert guard_cell("vn1;=1+1; @x;-3") == "vn1;'=1+1; '@x;-3"


@pytest.mark.parametrize("text", ["", "vn1", "-3", "+1.5e3", "a=b", "is low; the same rail elsewhere 15.4"])
def test_a_number_and_any_other_text_stay_themselves(text: str) -> None:
    assert guard_cell(text) == text


def test_a_joined_list_is_guarded_too() -> None:
    record = made_record(case="=HYPERLINK(1)", nodes=("=vn1", "vn2"), rails=2)
    (row,) = csv.DictReader(io.StringIO(csv_text([record])))
    assert (row["case"], row["nodes"], row["rails"]) == ("'=HYPERLINK(1)", "'=vn1 vn2", "2")


#: Texts that a scheduler or a record from elsewhere may give as the name of a node or a fabric.
HOSTILE = (
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "\r=1+1", " =1+1", "\n=1+1", "\xa0=1+1", "\ufeff=1+1", "\u200b=1+1",
    "\x00=1", "\v=1+1", "=cmd|' /C calc'!A0", '=HYPERLINK("http://x.example")', "1,=1+1", '"=1+1', '",=1+1', "{=1+1}",
    "-2+3+cmd|' /C calc'!A0", "+-1", "\uff1d1+1", "#REF!", "1;=1+1",
)  # fmt: skip


def formulas(file: Path) -> list[str]:
    """Return the cells that a spreadsheet makes formulas of: in Gnumeric's own form they have no type of value."""
    into = file.with_suffix(".gnumeric")
    subprocess.run(["ssconvert", "-T", "Gnumeric_XmlIO:sax", file, into], check=True, capture_output=True)
    content = into.read_bytes()
    tree = ElementTree.fromstring(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)
    return [
        cell.text or "" for cell in tree.iter("{http://www.gnumeric.org/v10.dtd}Cell") if "ValueType" not in cell.attrib
    ]


@pytest.mark.skipif(shutil.which("ssconvert") is None, reason="there is no ssconvert on PATH (Debian's gnumeric)")
def test_a_spreadsheet_makes_no_formula_of_any_name(tmp_path: Path) -> None:
    plain, table = tmp_path / "plain.csv", tmp_path / "table.csv"
    plain.write_text("a,b\n=1+1,2\n", encoding="utf-8")
    assert formulas(plain) == ["=1+1"]
    records = [made_record(case=text, fabric=text, nodes=(text,), rails=2) for text in HOSTILE]
    table.write_text(csv_text(records), encoding="utf-8", newline="")
    assert formulas(table) == []
