"""Results of another site: each line once, byte for byte, a run completely or not at all, no path out of the store."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.errors import InputError, RailyardError
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import Record
from railyard.results.store import query
from railyard.results.store.exchange import merge
from tests.made.at_once import exit_codes

Made = Callable[..., Record]


@pytest.fixture
def other(tmp_path_factory: pytest.TempPathFactory, new_record: Made) -> Path:
    """Another site with two runs, an output and a report beside the first."""
    site = tmp_path_factory.mktemp("other")
    for run, case in (("r1", "a"), ("r1", "b"), ("r2", "a")):
        append_record(site / ".railyard" / "runs" / run / FILE_NAME, new_record(run=run, case=case))
    first = site / ".railyard" / "runs" / "r1"
    (first / "outputs").mkdir()
    (first / "outputs" / "a.out").write_text("rows\n", encoding="utf-8")
    (first / "matrix.json").write_text("[]", encoding="utf-8")
    (first / "reframe").mkdir()
    (first / "reframe" / "stage").write_text("large", encoding="utf-8")
    (first / "outputs" / "passwd").symlink_to("/etc/passwd")
    return site


def counts(home: Path, source: Path) -> list[tuple[str, int, int, int]]:
    return [(one.run, one.came, one.there, len(one.problems)) for one in merge(home, source)]


def test_every_form_of_a_source_is_taken(home: Path, other: Path) -> None:
    runs = other / ".railyard" / "runs"
    assert counts(home, other) == [("r1", 2, 0, 0), ("r2", 1, 0, 0)]
    for source in (other, other / ".railyard", runs):
        assert counts(home, source) == [("r1", 0, 2, 0), ("r2", 0, 1, 0)]
    assert counts(home, runs / "r1") == [("r1", 0, 2, 0)]
    assert counts(home, runs / "r1" / FILE_NAME) == [("r1", 0, 2, 0)]
    assert {run.run for run in query.runs(home)} == {"r1", "r2"}


def test_what_lies_beside_comes_too_but_no_stage_folder_and_no_link(home: Path, other: Path) -> None:
    merge(home, other)
    folder = home / ".railyard" / "runs" / "r1"
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert found == ["matrix.json", "outputs", "outputs/a.out", FILE_NAME]


def test_lines_that_are_missing_come_and_those_of_a_newer_format_byte_for_byte(
    home: Path, other: Path, new_record: Made
) -> None:
    merge(home, other)
    file = other / ".railyard" / "runs" / "r2" / FILE_NAME
    newer = b'{"format": 7, "made": {"run": "r2"},   "odd":  [1]}\n'
    file.write_bytes(file.read_bytes() + newer)
    assert counts(home, other) == [("r1", 0, 2, 0), ("r2", 1, 1, 0)]
    here = home / ".railyard" / "runs" / "r2" / FILE_NAME
    assert here.read_bytes() == file.read_bytes()
    assert counts(home, other) == [("r1", 0, 2, 0), ("r2", 0, 2, 0)]


def test_a_cut_line_stays_behind_and_is_named(home: Path, other: Path) -> None:
    file = other / ".railyard" / "runs" / "r2" / FILE_NAME
    file.write_bytes(file.read_bytes() + b'{"format": 2, "test": {"ca')
    (second,) = (one for one in merge(home, other) if one.run == "r2")
    assert second.problems == (f"{file}:2: found no JSON, expected a record; that line is left out",)
    assert read_records(home / ".railyard" / "runs" / "r2").problems == ()


def test_an_exported_file_is_taken(home: Path, tmp_path: Path, new_record: Made) -> None:
    file = tmp_path / "given.json"
    file.write_text(json.dumps({"format": 1, "records": [new_record(run="r5").to_json()]}), encoding="utf-8")
    assert counts(home, file) == [("r5", 1, 0, 0)]
    assert query.load(home, "r5").records == (new_record(run="r5"),)


@pytest.mark.parametrize("run", ["../../evil", "/tmp/evil", ".hidden", "a/b", "", "a\nb", 7])
def test_a_run_whose_name_is_a_way_out_stays_behind(home: Path, tmp_path: Path, new_record: Made, run: object) -> None:
    file = tmp_path / "given.jsonl"
    line = new_record().to_json()
    line["made"]["run"] = run
    file.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(RailyardError) as caught:
        merge(home, file)
    shown = "the run " + repr(str(run))
    assert str(caught.value) == (f"{file}:1: found {shown}, expected a record with its run's id; that line is left out")
    assert not (home / ".railyard").exists()


def test_a_source_without_records_is_a_sentence(home: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        merge(home, tmp_path / "nowhere")
    assert str(caught.value) == (
        f"{tmp_path}/nowhere: found no records, expected a site, a run's folder, a .jsonl or an exported .json; "
        "check the name"
    )


def test_a_merge_that_was_stopped_leaves_no_half_run(home: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop_copy(folder: Path, into: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("railyard.results.store.exchange._copy_beside", stop_copy)
    with pytest.raises(KeyboardInterrupt):
        merge(home, other)
    assert list((home / ".railyard" / "runs").iterdir()) == []


def test_eight_merges_at_once_bring_each_line_once(home: Path, other: Path, new_record: Made) -> None:
    merge(home, other / ".railyard" / "runs" / "r2")
    file = other / ".railyard" / "runs" / "r2" / FILE_NAME
    for number in range(40):
        append_record(file, new_record(run="r2", case=f"new {number}"))
    assert exit_codes(home, [["results", "merge", str(other)]] * 8) == [0] * 8
    for run in ("r1", "r2"):
        theirs = read_records(other / ".railyard" / "runs" / run / FILE_NAME).records
        assert read_records(home / ".railyard" / "runs" / run / FILE_NAME).records == theirs
    left = sorted(path.name for path in (home / ".railyard" / "runs").iterdir())
    assert left == ["r1", "r2"]
