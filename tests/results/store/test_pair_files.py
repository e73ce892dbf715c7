"""The rows of pairs in the store: whoever reads a run without them is told, and merge and export bring them along."""

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import railyard_group
from railyard.results.record import pair_rows
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import Record
from railyard.results.record.pair_rows import RecordedPairs, Row, of_rows
from railyard.results.report.files import read_results
from railyard.results.store import query
from railyard.results.store.exchange import merge
from railyard.results.store.verify import verify

Made = Callable[..., Record]
NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)
NODES = ("vn1", "vn2", "vn3", "vn4")
ROWS = (Row(0, 1, 0, 1, 47.8, 47.7, 2.0), Row(0, 1, 2, 3, 46.0, 45.0, 2.0))
MISSING = "expected the rows of pairs that its record names"


def sampled_pairs(rows: tuple[Row, ...] = ROWS) -> RecordedPairs:
    """Return pairs of four nodes, the rows in a file."""
    return of_rows(NODES, rows, ("pairs",), size=4 << 20, expected=45.0)


def store(home: Path, made: Made, run: str = "r1", rows: tuple[Row, ...] = ROWS) -> Path:
    """Store a run with such a record, and return the file of its rows."""
    folder = home / ".railyard" / "runs" / run
    folder.mkdir(parents=True, exist_ok=True)
    pairs = sampled_pairs(rows)
    assert pairs.file is not None
    pair_rows.write(folder, pairs.file)
    append_record(folder / FILE_NAME, made(run=run, pairs=pairs.record))
    return folder / pairs.file.told.file


def test_a_run_with_its_rows_is_whole(home: Path, new_record: Made) -> None:
    folder = store(home, new_record).parent
    read = read_records(folder)
    assert read.problems == ()
    assert verify(folder, ("virtual",), NOW).findings == ()
    (record,) = read.records
    assert record.found.pairs is not None and record.found.pairs.rows is not None
    assert pair_rows.read(folder, record.found.pairs.rows) == ROWS
    assert read_results(folder).is_pass


def test_a_run_without_its_rows_is_no_pass_anywhere(home: Path, new_record: Made) -> None:
    file = store(home, new_record)
    file.unlink()
    (said,) = read_records(file.parent).problems
    assert said.startswith(f"{file.parent / FILE_NAME}:1: {file}: found no such file, {MISSING}")
    assert [each.what for each in verify(file.parent, ("virtual",), NOW).findings] == [said]
    assert not read_results(file.parent).is_pass
    (summary,) = query.runs(home)
    assert summary.problems == (said,)
    assert query.records(home).problems == (said,)
    assert query.load(home, "r1").problems == (said,)


def test_rows_of_no_record_are_odd(home: Path, new_record: Made) -> None:
    file = store(home, new_record)
    stray = file.with_name("pairs-0123456789abcdef.tsv.gz")
    stray.write_bytes(b"x")
    (found,) = verify(file.parent, ("virtual",), NOW).findings
    assert (found.weight, found.what) == (
        "remark",
        f"no record names {stray.name}: the test that wrote it was stopped before its record; remove the file",
    )


def test_a_merge_brings_the_rows(home: Path, new_record: Made, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    file = store(other, new_record)
    assert [(one.came, one.problems) for one in merge(home, other)] == [(1, ())]
    here = home / ".railyard" / "runs" / "r1" / file.name
    assert here.read_bytes() == file.read_bytes()
    assert query.load(home, "r1").problems == ()


def test_a_merge_into_a_run_that_is_here_brings_what_is_missing(
    home: Path, new_record: Made, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    append_record(home / ".railyard" / "runs" / "r1" / FILE_NAME, new_record(run="r1", case="a"))
    file = store(other, new_record)
    merge(home, other)
    here = home / ".railyard" / "runs" / "r1" / file.name
    assert query.load(home, "r1").problems == ()
    here.unlink()  # and later, what was lost here
    assert [(one.came, one.there) for one in merge(home, other)] == [(0, 1)]
    assert query.load(home, "r1").problems == ()


def test_rows_that_are_damaged_at_the_source_stay_behind_and_are_named(
    home: Path, new_record: Made, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    file = store(other, new_record)
    file.write_bytes(file.read_bytes()[:-3])
    (one,) = merge(home, other)
    (said,) = one.problems
    assert said.startswith(f"{file.parent / FILE_NAME}: {file.name}: found a file that is cut, {MISSING}")
    assert not (home / ".railyard" / "runs" / "r1" / file.name).exists()
    assert not read_results(home / ".railyard" / "runs" / "r1").is_pass


def test_an_export_has_the_rows_and_is_merged_with_them(
    home: Path, new_record: Made, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = store(home, new_record)
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    exported = home / "given.json"
    for words in (("--scrub",), ()):
        ran = CliRunner().invoke(railyard_group, ["results", "export", "-o", str(exported), *words])
        assert ran.exit_code == 0, ran.output
        other = tmp_path_factory.mktemp("other")
        assert [(one.came, one.problems) for one in merge(other, exported)] == [(1, ())]
        there = other / ".railyard" / "runs" / "r1" / file.name
        assert there.read_bytes() == file.read_bytes()
        assert query.load(other, "r1").problems == ()
    assert query.load(home, str(exported)).problems == ()
    data = json.loads(exported.read_text(encoding="utf-8"))
    del data["files"]
    exported.write_text(json.dumps(data), encoding="utf-8")
    (said,) = query.load(home, str(exported)).problems
    assert said.startswith(f"{exported}: records[0]: {exported}: {file.name}: found no such file, {MISSING}")


def test_a_scrubbed_record_and_its_rows_hold_no_name(
    home: Path, new_record: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store(home, new_record).parent
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    ran = CliRunner().invoke(railyard_group, ["results", "show", "r1", "--json", "--scrub"])
    assert ran.exit_code == 0, ran.output
    (values,) = json.loads(ran.stdout)
    assert values["found"]["pairs"]["nodes"] == ["node1", "node2", "node3", "node4"]
    assert "vn1" not in ran.stdout
    (record,) = read_records(folder).records
    assert values["found"]["pairs"]["rows"] == record.to_json()["found"]["pairs"]["rows"]


def test_two_tests_of_a_run_have_a_file_each(home: Path, new_record: Made) -> None:
    first = store(home, new_record)
    second = store(home, lambda **words: new_record(**words).with_fields(case="b"), rows=ROWS[:1])
    assert first.name != second.name
    assert read_records(first.parent).problems == ()
