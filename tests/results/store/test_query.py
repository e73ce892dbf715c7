"""Queries of the store: each gets its answer, never depends on the index, and each mistake gets a sentence."""

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.errors import InputError, RailyardError
from railyard.results.record.file import FILE_NAME
from railyard.results.record.form import Record
from railyard.results.store import index as store_index
from railyard.results.store import query
from railyard.results.store.query import RecordFilter

Made = Callable[..., Record]
Stored = Callable[..., Path]


@pytest.fixture
def three(home: Path, stored_run: Stored, new_record: Made) -> Path:
    """Three runs: two of one system on two days, and between them one of another system with a failure."""
    stored_run(new_record(run="r1", time="2026-11-01T06:00:00Z"))
    stored_run(
        new_record(run="r1", time="2026-11-01T06:01:00Z", case="b", rails=2, benchmark="imb/Uniband", figures=())
    )
    stored_run(new_record(run="r3", time="2026-11-03T06:00:00Z"))
    stored_run(new_record(run="r2", time="2026-11-02T06:00:00Z", system="other", state="fail"))
    return home


def test_runs_come_with_their_times_systems_and_states(three: Path) -> None:
    first, second, third = query.runs(three)
    assert (first.run, second.run, third.run) == ("r1", "r2", "r3")
    assert (first.began, first.ended) == ("2026-11-01T06:00:00Z", "2026-11-01T06:01:00Z")
    assert (first.counts, second.counts) == ({"pass": 2}, {"fail": 1})
    assert (first.systems, second.systems) == (("virtual",), ("other",))
    assert first.folder == three / ".railyard" / "runs" / "r1"
    assert [run.run for run in query.runs(three, newest=2)] == ["r2", "r3"]


def test_a_number_that_a_database_does_not_hold_is_found_all_the_same(
    home: Path, stored_run: Stored, new_record: Made
) -> None:
    stored_run(new_record(run="r1", rails=2**63))
    assert [run.run for run in query.runs(home)] == ["r1"]


@pytest.mark.parametrize(
    ("wanted", "runs"),
    [
        (RecordFilter(system="virtual"), ["r1", "r1", "r3"]),
        (RecordFilter(system=("virtual", "other")), ["r1", "r1", "r2", "r3"]),
        (RecordFilter(rails=2), ["r1"]),
        (RecordFilter(rails=(1, 2), state="fail"), ["r2"]),
        (RecordFilter(benchmark="imb/Uniband"), ["r1"]),
        (RecordFilter(since="2026-11-02"), ["r2", "r3"]),
        (RecordFilter(until="2026-11-02"), ["r1", "r1"]),
        (RecordFilter(run="r3", fabric="hsn", stack="mpich", policy="single", check="ImbPingPong"), ["r3"]),
        (RecordFilter(where="peak > 47 AND path = 'proven'"), ["r1", "r2", "r3"]),
        (RecordFilter(where="peak > 48"), []),
        (RecordFilter(where="peak IS NULL -- as a whole"), ["r1"]),
        (RecordFilter(where="class IS NULL OR 0"), ["r1", "r1", "r2", "r3"]),
    ],
)
def test_what_is_asked_for_comes_the_oldest_first(three: Path, wanted: RecordFilter, runs: list[str]) -> None:
    assert [record.made.run for record in query.records(three, wanted).records] == runs


def test_the_newest_records_alone(three: Path) -> None:
    assert [record.made.run for record in query.records(three, newest=2).records] == ["r2", "r3"]
    assert query.records(three, newest=99).records == query.records(three).records


def test_every_column_may_be_asked_for(three: Path) -> None:
    for name in store_index.COLUMNS:
        query.records(three, RecordFilter(where=f'"{name}" IS NULL OR {name} = 0'))


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("peek > 1", '(no such column: peek), expected a condition in SQL such as "peak < 47"; did you mean "peak"?'),
        ("peak >", "expected a condition in SQL"),
        ("1); DROP TABLE tests --", "expected a condition in SQL"),
        ("load_extension('/tmp/x')", "expected a condition in SQL"),
        ("(SELECT 1 FROM pragma_database_list)", "not authorized"),
    ],
)
def test_a_wrong_condition_is_a_sentence(three: Path, where: str, sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        query.records(three, RecordFilter(where=where))
    assert str(caught.value).startswith(f'--where: found "{where}" (')
    assert sentence in str(caught.value)


def test_an_index_that_is_missing_damaged_or_old_changes_nothing(three: Path) -> None:
    index = three / ".railyard" / "index.sqlite"
    before = query.records(three)
    whole = index.read_bytes()
    index.unlink()
    assert query.records(three) == before
    for damaged in (b"", b"no database", whole[:-3000], whole[:100] + os.urandom(len(whole) - 100)):
        index.write_bytes(damaged)
        assert query.records(three) == before
    with sqlite3.connect(index) as old:
        old.execute("PRAGMA user_version = 0")
        old.execute("DELETE FROM tests")
    old.close()
    assert query.records(three) == before


def test_a_store_that_may_only_be_read_is_read(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_replace(self: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse_replace)
    assert len(query.records(three).records) == 4
    assert sorted(path.name for path in (three / ".railyard").iterdir()) == ["runs"]


def test_a_run_that_grows_and_one_that_goes_are_seen(three: Path, stored_run: Stored, new_record: Made) -> None:
    assert len(query.runs(three)) == 3
    stored_run(new_record(run="r3", time="2026-11-03T06:02:00Z", case="c", state="fail"))
    for path in (three / ".railyard" / "runs" / "r1").iterdir():
        path.unlink()
    assert [(run.run, run.counts) for run in query.runs(three)] == [("r2", {"fail": 1}), ("r3", {"pass": 1, "fail": 1})]


def test_only_the_last_record_of_a_case_counts_and_a_failure_before_a_pass(
    home: Path, stored_run: Stored, new_record: Made
) -> None:
    folder = stored_run(
        new_record(case="a", state="pass"), new_record(case="a", state="fail"), new_record(case="b", state="fail")
    )
    stored_run(new_record(case="b"))
    found = query.records(home).records
    assert [(record.test.case, record.found.state) for record in found] == [("a", "fail"), ("b", "fail"), ("b", "pass")]
    assert query.load(home, str(folder)).records == found


def test_an_empty_store_has_no_runs_and_makes_no_files(home: Path) -> None:
    assert query.runs(home) == ()
    assert query.records(home).records == ()
    assert not (home / ".railyard").exists()


def test_a_line_that_cannot_be_read_is_named_and_the_rest_comes(three: Path, new_record: Made) -> None:
    path = three / ".railyard" / "runs" / "r3" / FILE_NAME
    newer = {**new_record(case="n").to_json(), "format": 3}
    path.write_bytes(path.read_bytes() + json.dumps(newer).encode() + b"\n" + b'{"format": 1, "ru')
    sentences = (
        f"{path}:2: format 3 is too new, this Railyard reads formats 1 to 2; read it with the Railyard that wrote it",
        f"{path}:3: the last line is cut after 17 bytes, because its writer was stopped; that record is lost, "
        "the 1 before it are kept",
    )
    found = query.records(three)
    assert (len(found.records), found.problems) == (4, sentences)
    assert query.runs(three)[-1].problems == sentences


def test_a_run_is_loaded_by_any_of_its_names(three: Path) -> None:
    folder = three / ".railyard" / "runs" / "r3"
    for name in ("r3", "last", str(folder), str(folder / FILE_NAME)):
        loaded = query.load(three, name)
        assert (loaded.run, loaded.folder, len(loaded.records)) == ("r3", folder, 1)
    with pytest.raises(RailyardError):
        query.load(three, "r*")
    with pytest.raises(RailyardError):
        query.load(three, "r9")


def test_an_exported_file_is_loaded_and_another_json_refused(three: Path, tmp_path: Path, new_record: Made) -> None:
    file = tmp_path / "out.json"
    file.write_text(json.dumps({"format": 1, "records": [new_record().to_json(), {"format": 9}]}), encoding="utf-8")
    loaded = query.load(three, str(file))
    assert loaded.records == (new_record(),)
    assert loaded.problems == (
        f"{file}: records[1]: format 9 is too new, this Railyard reads formats 1 to 2; read it with the "
        "Railyard that wrote it",
    )
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        query.load(three, str(file))
    assert str(caught.value) == (
        f'{file}: found something else, expected {{"format": …, "records": […]}}; name an exported file'
    )


def test_a_clock_that_went_back_loses_nothing(home: Path, stored_run: Stored, new_record: Made) -> None:
    stored_run(new_record(case="a", time="2026-11-21T06:10:00Z"), new_record(case="b", time="2026-11-21T05:10:00Z"))
    (run,) = query.runs(home)
    assert (run.began, run.ended, run.counts) == ("2026-11-21T05:10:00Z", "2026-11-21T06:10:00Z", {"pass": 2})
