"""Markdown, CSV and plots of a run."""

import csv
import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.results.exports import HEADS, csv_text
from railyard.results.record.form import Evidence, Record, Suspect
from railyard.results.report.plots import write_plots
from railyard.results.report.terminal import markdown
from railyard.site.matrix import Cell
from tests.results.report.conftest import not_tested


def test_markdown_says_verdict_failures_matrix_and_what_was_not_tested(
    faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    lines = markdown(faulty_run, ["a problem"], all_cells).splitlines()
    assert lines[0] == "# FAIL: virtual"
    assert [line for line in lines if line.startswith("## ")] == [
        "## Problems of the run",
        "## What failed and why",
        "## Fabric × rails × stack",
        "## Not tested, and why",
        "## All tests",
    ]
    assert "- a problem" in lines
    assert "|  | openmpi | mpich | intelmpi |" in lines
    assert "| hsn, 1 rail | 2 pass, 1 expected failure | 3 pass, 1 report-only | 3 pass, 1 report-only |" in lines
    said = "Rail hsn1 of vn2: it moved 4.9 MB/s while hsn0 moved 47.8 MB/s"
    place = lines.index(f"- **ImbUniband %rails=2 @virtual:hsn+mpich**: {said}")
    assert lines[place + 1].startswith("  - found: bandwidth at 4 MiB is 76.6 MB/s, below 94.03 MB/s")
    assert lines[place + 2 : place + 4] == [
        "  - look at: the rate of hsn1 on vn2: railyard testbed status, ethtool hsn1",
        "  - type next: railyard doctor --system virtual --nodes",
    ]
    assert lines[2] == "blamed: the stack (1 test), rail hsn1 of vn2 (1 test) and node vn3 (1 test)."
    row = next(line for line in lines if line.startswith("| hsn | mpich | 2 | imb/Uniband |"))
    assert row == "| hsn | mpich | 2 | imb/Uniband | 76.6 | MB/s | 81.5 | 78.9 | 50/50 | fail (rule 5) |"


def test_markdown_counts_many_tests_that_did_not_run_for_one_reason(faulty_run: list[Record]) -> None:
    lines = markdown([not_tested(record, "not tested: no figure") for record in faulty_run]).splitlines()
    named = "netpipe/pingpong, netpipe/stream, netpipe/bidirectional, imb/PingPong"
    assert f"- no figure: {len(faulty_run)} tests of {named} and 3 more" in lines
    few = markdown([not_tested(faulty_run[0], "not tested: no figure")])
    assert f"- no figure: {faulty_run[0].test.case}" in few.replace("\\", "")


def test_markdown_has_the_small_table_of_a_suspect_in_place_of_its_sentence(faulty_run: list[Record]) -> None:
    slow = next(record for record in faulty_run if record.found.verdict.rule == 5 and record.found.state == "fail")
    evidence = (Evidence(("vn1", "vn2"), "hsn1", 5.16, "MB/s"),)
    suspect = Suspect("rail", "hsn1 of vn2 is slow with all", "vn2", "hsn1", brief="is slow", evidence=evidence)
    verdict = replace(slow.found.verdict, suspects=(suspect,), headline="Rail hsn1 of vn2 is slow")
    text = markdown([slow.with_fields(verdict=verdict)])
    table = "  - evidence: hsn1 alone, the best value between two nodes\n    - vn1 and vn2 5.16 MB/s\n"
    assert table in text.replace("vn2  5", "vn2 5")
    assert "with all" not in text


def test_what_was_disturbed_has_a_section_and_a_cell_of_its_own(disturbed_run: list[Record]) -> None:
    lines = markdown(disturbed_run).splitlines()
    place = lines.index("## What was disturbed")
    assert "## What failed and why" not in lines
    assert lines[place + 2].startswith(
        "- **NetpipePingpong %rails=1 @virtual:hsn+openmpi**: Disturbed: its processes waited for a processor 12 %"
    )
    rows = list(csv.DictReader(io.StringIO(csv_text(disturbed_run))))
    assert [(row["state"], row["attempts"], row["starved"]) for row in rows if row["name"] == "peak"][:3] == [
        ("disturbed", "0", "0.12"),
        ("pass", "1", "0.004"),
        ("pass", "0", ""),
    ]


def test_markdown_is_escaped(hostile: Record) -> None:
    text = markdown([hostile])
    assert "<script>" not in text
    assert "\\<script\\>" in text
    assert not set(text) & set("\x1b\x00\x07\u202e")


def test_csv_has_a_row_a_figure_and_a_point_of_a_curve(faulty_run: list[Record]) -> None:
    text = csv_text(faulty_run)
    assert tuple(text.splitlines()[0].split(",")) == HEADS
    rows = list(csv.DictReader(io.StringIO(text)))
    points = [
        len(record.found.figures) + sum(len(curve.sizes) for curve in record.found.curves) for record in faulty_run
    ]
    assert len(rows) == sum(count or 1 for count in points)
    slow = next(row for row in rows if (row["state"], row["name"], row["benchmark"]) == ("fail", "peak", "imb/Uniband"))
    assert (slow["benchmark"], slow["value"], slow["unit"], slow["size_bytes"]) == (
        "imb/Uniband",
        "76.61",
        "MB/s",
        "4194304",
    )
    assert (slow["percent_of_reference"], slow["nodes"]) == ("81.5", "vn1 vn2")
    away = next(row for row in rows if row["state"] == "not-tested")
    assert (away["name"], away["verdict"]) == ("", "Ctrl-C came before this test was started.")


def test_csv_has_no_formulas(hostile: Record) -> None:

    rows = list(csv.reader(io.StringIO(csv_text([hostile.with_fields(benchmark="=HYPERLINK(1)", policy="-3")]))))
    assert rows[1][7] == "'=HYPERLINK(1)"
    assert rows[1][6] == "-3"


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_plots_are_one_picture_a_test(tmp_path: Path, faulty_run: list[Record], kind: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    some = [record for record in faulty_run if record.test.benchmark == "imb/Uniband"][:2]
    drawn = write_plots(some, tmp_path / "plots", kind)
    assert [path.name for path in drawn] == [
        f"ImbUniband_rails=1_virtual_hsn+mpich.{kind}",
        f"ImbUniband_rails=1_virtual_hsn+intelmpi.{kind}",
    ]
    assert all(path.read_bytes().startswith(start) for path in drawn)


def test_texts_with_dollars_are_drawn(tmp_path: Path, hostile: Record) -> None:
    import dataclasses

    pytest.importorskip("matplotlib")
    curve = dataclasses.replace(hostile.found.curves[0], metric="$\\frac{1$", unit="MB/s")
    (path,) = write_plots([hostile.with_fields(curves=(curve,), stack="a$b$")], tmp_path, "png")
    assert path.parent == tmp_path


def test_without_matplotlib_there_is_a_sentence(
    tmp_path: Path, faulty_run: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SetupError) as caught:
        write_plots(faulty_run, tmp_path, "pdf")
    assert str(caught.value) == (
        "--plots: found no matplotlib, expected it to be installed; install railyard-hpc[plots], or make the page "
        "(-o report.html), which does not need it"
    )
