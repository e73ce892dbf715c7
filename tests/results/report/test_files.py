"""A run's folder becomes reports, and nothing that failed or was lost is forgotten."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

from railyard.base.errors import InputError, SetupError
from railyard.cli.commands.report import command
from railyard.cli.main import main
from railyard.results.record.file import append_record
from railyard.results.record.form import Record
from railyard.results.report.files import read_results, write_format, write_report, write_reports
from railyard.results.report.overview import cell_json
from railyard.results.store.index import final
from railyard.site.matrix import Cell


@pytest.fixture(autouse=True)
def _a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fold at 100 columns on every machine."""
    monkeypatch.setenv("COLUMNS", "100")


def folder_of(path: Path, records: list[Record], cells: list[Cell] | None = None) -> Path:
    """A run folder with these records, and with a matrix if cells are given."""
    for record in records:
        append_record(path / "records.jsonl", record)
    if cells is not None:
        (path / "matrix.json").write_text(json.dumps([cell_json(cell) for cell in cells]), encoding="utf-8")
    return path


def run(*arguments: str, expected: int) -> str:
    """The output of the command, which returned the expected exit code."""
    result = CliRunner().invoke(command, list(arguments), standalone_mode=False)
    if result.exception:
        raise result.exception
    assert result.return_value == expected
    return result.output


def test_a_healthy_folder_passes_in_every_format(
    tmp_path: Path, healthy_run: list[Record], all_cells: list[Cell]
) -> None:
    folder = str(folder_of(tmp_path, healthy_run, all_cells))
    assert run(folder, expected=0).endswith(
        "29 tests: 24 pass, 0 fail, 0 disturbed, 5 report-only, 0 expected failure, 0 not tested\n"
    )
    assert run(folder, "--format", "html", expected=0).startswith("<!DOCTYPE html>")
    assert ElementTree.fromstring(run(folder, "--format", "junit", expected=0)).get("tests") == "29"
    answer = json.loads(run(folder, "--format", "json", expected=0))
    assert answer["counts"] == {"pass": 24, "fail": 0, "disturbed": 0, "report-only": 5, "xfail": 0, "not-tested": 0}
    told = {record["test"]["case"]: record for record in answer["records"]}
    assert told == {record.test.case: record.to_json() for record in healthy_run}
    assert len(answer["records"]) == len(healthy_run)


def test_the_format_follows_the_ending_of_the_output(tmp_path: Path, faulty_run: list[Record]) -> None:
    folder = folder_of(tmp_path, faulty_run)
    for name, start in (
        ("a.html", "<!DOCTYPE"),
        ("a.xml", "<?xml"),
        ("a.json", '{\n "format": 2'),
        ("a.txt", "fabric"),
    ):
        assert (
            run(str(folder / "records.jsonl"), "-o", str(tmp_path / name), expected=1) == f"wrote {tmp_path / name}\n"
        )
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_a_lost_line_is_no_pass(tmp_path: Path, healthy_run: list[Record]) -> None:
    folder = folder_of(tmp_path, healthy_run)
    with (folder / "records.jsonl").open("a") as file:
        file.write('{"format": 1')
    text = run(str(folder), expected=1)
    assert "FAIL: the run had a problem." in text
    assert "the last line is cut after 12 bytes" in " ".join(text.split())


def test_a_promised_cell_without_a_record_is_no_pass(
    tmp_path: Path, healthy_run: list[Record], all_cells: list[Cell]
) -> None:
    folder = folder_of(tmp_path, healthy_run[:-1], all_cells)
    assert "imb/Allreduce on eth, 1 rail, intelmpi: should have run, but left no record" in run(str(folder), expected=1)


def test_an_empty_record_file_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").touch()
    assert run(str(tmp_path), expected=1).startswith("NOTHING JUDGED: ")


def test_no_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        run(str(tmp_path / "none"), expected=2)
    assert str(caught.value) == (
        f"{tmp_path}/none: found no readable file (No such file or directory), expected records of a run; "
        "name a run folder"
    )


def test_the_last_record_of_a_case_stands_but_a_pass_hides_no_failure(healthy_run: list[Record]) -> None:
    good, other = healthy_run[:2]
    bad = good.with_fields(state="fail")
    later = good.with_fields(elapsed_s=9.0)
    assert final([good, other, bad]) == (bad, other)
    assert final([good, later]) == (later,)
    assert final([bad, later]) == (bad, later)
    assert final([bad, bad]) == (bad,)
    restless = bad.with_fields(state="disturbed")
    assert final([restless, later]) == (restless, later)
    assert final([restless, bad]) == (bad,)
    assert final([good, good.with_fields(run="another")]) == (good, good.with_fields(run="another"))


def test_a_run_leaves_page_junit_and_its_problems_beside_the_records(
    tmp_path: Path, healthy_run: list[Record], all_cells: list[Cell]
) -> None:
    folder = folder_of(tmp_path, healthy_run, all_cells)
    text = write_reports(folder, healthy_run, ["-S nosuch=3 named nothing"])
    assert "FAIL: the run had a problem." in text
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert ElementTree.parse(folder / "junit.xml").getroot().get("errors") == "1"
    assert sorted(path.name for path in folder.iterdir()) == [
        *("junit.xml", "matrix.json", "problems.json", "records.jsonl", "report.html"),
    ]
    assert read_results(folder).problems == ("-S nosuch=3 named nothing",)
    assert not read_results(folder).is_pass
    assert write_reports(folder, healthy_run).count("problem") == 0
    assert read_results(folder).is_pass


def test_a_broken_file_of_problems_is_a_sentence(tmp_path: Path, healthy_run: list[Record]) -> None:
    folder = folder_of(tmp_path, healthy_run)
    (folder / "problems.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_results(folder)
    assert str(caught.value) == f"{folder}/problems.json: found something else, expected a list of sentences"


def test_a_report_that_cannot_be_written_leaves_the_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.mkdir()
    with pytest.raises(SetupError) as caught:
        write_report(path, "new")
    assert str(caught.value) == (
        f"{path}: the report could not be written (Is a directory); correct the path, or choose another place"
    )
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("variables", "colour"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour_needs_a_terminal_that_can_and_no_no_color(
    tmp_path: Path,
    faulty_run: list[Record],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variables: dict[str, str],
    colour: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    command.main([str(folder_of(tmp_path, faulty_run))], standalone_mode=False)
    assert ("\x1b[" in capsys.readouterr().out) is colour


def test_several_runs_are_one_report_of_the_newest_of_each_test(
    tmp_path: Path, healthy_run: list[Record], all_cells: list[Cell]
) -> None:
    slow = healthy_run[0].with_fields(state="fail")
    folder_of(tmp_path / "1", [slow, *healthy_run[1:]], all_cells)
    later = [record.with_fields(run="later", time="2027") for record in healthy_run]
    folder_of(tmp_path / "2", later, all_cells)
    one, two = str(tmp_path / "1"), str(tmp_path / "2")
    assert "1 fail" in run(one, expected=1)
    text = run(one, two, expected=0)
    assert text.startswith("The newest record of each of 29 tests, of 58 in all\n\n")
    assert text.endswith("29 tests: 24 pass, 0 fail, 0 disturbed, 5 report-only, 0 expected failure, 0 not tested\n")
    assert "What failed earlier" in run(one, two, "--format", "html", expected=0)
    assert run(one, two, "--format", "md", expected=0).startswith("# PASS: virtual\n")
    assert run(one, two, "--format", "csv", expected=0).count("\n") > 2 * len(healthy_run)


def test_a_run_without_records_among_others_is_no_pass(
    tmp_path: Path, healthy_run: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")  # no sentence is folded, however long the folder's name
    folder_of(tmp_path / "1", healthy_run)
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "records.jsonl").touch()
    text = run(str(tmp_path / "1"), str(tmp_path / "2"), expected=1)
    assert f"{tmp_path}/2: found no record in this run" in text


def test_runs_are_named_by_id_pattern_and_last(
    tmp_path: Path, healthy_run: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "systems").mkdir()
    monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
    for name, record in zip(("20260101-a", "20260102-b"), healthy_run, strict=False):
        folder_of(tmp_path / ".railyard" / "runs" / name, [record.with_fields(run=name)])
    assert "1 test: 1 pass" in run(expected=0)
    assert "2 tests: 2 pass" in run("last2", expected=0)
    assert "2 tests: 2 pass" in run("2026*", expected=0)
    assert "1 test: 1 pass" in run("20260101", expected=0)


def test_plots_are_drawn_beside_the_report(
    tmp_path: Path, healthy_run: list[Record], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    folder = folder_of(tmp_path / "run", healthy_run[:1])
    run(str(folder), "--plots", str(tmp_path / "plots"), "--as", "png", expected=0)
    assert [path.suffix for path in (tmp_path / "plots").iterdir()] == [".png"]
    assert main(["report", str(folder), "--as", "png"]) == 2
    assert "--as: found it without --plots, expected a folder for the pictures" in capsys.readouterr().err


def test_a_report_made_later_is_the_one_that_the_run_made(
    tmp_path: Path, faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    # ReFrame runs a check over all stacks and fabrics before the next check; a report goes by fabric and stack
    as_run = sorted(faulty_run, key=lambda record: record.test.benchmark)
    folder = folder_of(tmp_path / "run", as_run, all_cells)
    by_place = sorted(as_run, key=lambda record: (record.where.fabric != "hsn", record.test.stack, record.test.rails))
    text = write_reports(folder, by_place, ["a problem"])
    assert run(str(folder), "--format", "html", expected=1) == (folder / "report.html").read_text(encoding="utf-8")
    assert run(str(folder), "--format", "junit", expected=1) == (folder / "junit.xml").read_text(encoding="utf-8")
    assert write_format(read_results(folder), "terminal") == text
