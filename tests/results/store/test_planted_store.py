"""Faults planted in stored results: each is named when the results are read, and sound records beside it are kept."""

import json
import os
import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError, SetupError
from railyard.results import exports
from railyard.results.comparison import compare
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import CurveRecord, PathProofRecord, Record, hold_promise
from railyard.results.repeats import choose_records
from railyard.results.series import series_of
from railyard.results.store import query
from railyard.results.store.exchange import merge
from railyard.results.store.verify import verify
from tests.results.store.conftest import days

Made = Callable[..., Record]
Stored = Callable[..., Path]
NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)


def findings_text(folder: Path) -> str:
    return "\n".join(each.what for each in verify(folder, ("virtual",), NOW).findings)


def of_another_format(number: int) -> Callable[[bytes], bytes]:
    return lambda line: json.dumps({**json.loads(line), "format": number}).encode() + b"\n"


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(
            lambda line: line[:-40],
            marks=pytest.mark.fault("store", "a record cut in mid-line", "its writer was stopped; that record is lost"),
            id="cut",
        ),
        pytest.param(
            of_another_format(7),
            marks=pytest.mark.fault("store", "a record of a later Railyard", "format 7 is too new"),
            id="too-new",
        ),
        pytest.param(
            of_another_format(0),
            marks=pytest.mark.fault("store", "a record of a format that is no longer read", "format 0 is too old"),
            id="too-old",
        ),
        pytest.param(
            lambda line: line.replace(b"47.8", b"NaN", 1),
            marks=pytest.mark.fault("store", "a figure overwritten by NaN", "NaN"),
            id="nan",
        ),
        pytest.param(
            lambda line: b"\0" * len(line) + b"\n",
            marks=pytest.mark.fault(
                "store", "a line of zeros, as a file system leaves after a crash", "found no JSON ("
            ),
            id="zeros",
        ),
        pytest.param(
            lambda line: line.replace(b'"run":"r1"', b'"run":"r9"'),
            marks=pytest.mark.fault(
                "store", "a record of another run in the folder", "found records of run r9, expected"
            ),
            id="other-run",
        ),
        pytest.param(
            lambda line: line.replace(b"2026-11-21T06:00:12Z", b"2026-11-20T06:00:12Z"),
            marks=pytest.mark.fault(
                "store", "a clock set back by a day between two tests", "the clock went back by 86400 s"
            ),
            id="clock-back",
        ),
        pytest.param(
            lambda line: line.replace(b"2026-11-21T06:00:12Z", b"2062-11-21T06:00:12Z"),
            marks=pytest.mark.fault("store", "a clock 36 years ahead", "1 record from the future (the first: b, 2062"),
            id="clock-ahead",
        ),
        pytest.param(
            lambda line: line.replace(b"2026-11-21T06:00:12Z", b"2026-11-21T07:00:12+01:00"),
            marks=pytest.mark.fault(
                "store", "a record in local time, merged from elsewhere", "1 record with a time in another form"
            ),
            id="local-time",
        ),
        pytest.param(
            lambda line: line.replace(b'"MB/s"', b'"furlong"'),
            marks=pytest.mark.fault("store", "a curve in a unit that is none", "it cannot be compared"),
            id="unit",
        ),
        pytest.param(
            lambda line: line.replace(b'"system":"virtual"', b'"system":"virtaul"'),
            marks=pytest.mark.fault(
                "store", "a record of a system that is not here", 'its system "virtaul" has no file'
            ),
            id="other-system",
        ),
    ],
)
def test_what_is_wrong_with_a_record_is_named_and_the_others_are_kept(
    stored_run: Stored, new_record: Made, spoil: Callable[[bytes], bytes], promise: str
) -> None:
    folder = stored_run(new_record(run="r1"), new_record(run="r1", case="b"))
    assert findings_text(folder) == ""
    first, second = (folder / FILE_NAME).read_bytes().splitlines(keepends=True)
    assert spoil(second) != second
    (folder / FILE_NAME).write_bytes(first + spoil(second))
    assert promise in findings_text(folder)
    assert read_records(folder).records[0] == new_record(run="r1")


@pytest.mark.fault("store", "a record removed after the run had ended", "so somebody removed the others")
def test_a_run_that_ended_has_a_record_of_each_test(stored_run: Stored, new_record: Made, promise: str) -> None:
    folder = stored_run(new_record(run="r1"))
    with hold_promise(folder, "virtual", "2026-11-21T06:00:00Z", (new_record().test.case, "b")):
        stored_run(new_record(run="r1", case="b"))
    assert read_records(folder).problems == ()
    lines = (folder / FILE_NAME).read_bytes().splitlines(keepends=True)
    (folder / FILE_NAME).write_bytes(lines[0])
    (problem,) = read_records(folder).problems
    assert "found 1 record of 2 promised tests" in problem
    assert promise in problem


@pytest.mark.fault("store", "a run on a file system without locks", "or still runs (its file system has no locks")
def test_a_run_without_locks_is_not_said_to_be_killed_for_sure(
    stored_run: Stored, new_record: Made, monkeypatch: pytest.MonkeyPatch, promise: str
) -> None:
    def no_locks(descriptor: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    folder = stored_run(new_record(run="r1"))
    monkeypatch.setattr("fcntl.flock", no_locks)
    with hold_promise(folder, "virtual", "2026-11-21T06:00:00Z", (new_record().test.case, "b")):
        (problem,) = read_records(folder).problems
        assert promise in problem


def test_a_whole_run_that_is_merged_was_not_killed(
    home: Path, stored_run: Stored, new_record: Made, tmp_path: Path
) -> None:
    folder = stored_run(new_record(run="r1"))
    with hold_promise(folder, "virtual", "2026-11-21T06:00:00Z", (new_record().test.case,)):
        pass
    other = tmp_path / "other"
    merge(other, folder)
    assert read_records(other / ".railyard" / "runs" / "r1").problems == ()


@pytest.mark.fault("store", "a record changed at the other site before it is merged again", "; it is left out")
def test_a_changed_record_does_not_take_the_place_of_the_one_here(
    home: Path, stored_run: Stored, new_record: Made, tmp_path: Path, promise: str
) -> None:
    folder = stored_run(new_record(run="r1"))
    source = tmp_path / "sent.jsonl"
    source.write_bytes((folder / FILE_NAME).read_bytes().replace(b"47.8", b"74.8"))
    (merged,) = merge(home, source)
    assert merged.came == 0
    assert promise in merged.problems[0]
    assert query.records(home).records == (new_record(run="r1"),)


@pytest.mark.fault("store", "a run's folder copied, so that its repeats count twice", "also has, expected each once")
def test_a_copied_run_is_counted_once(home: Path, stored_run: Stored, new_record: Made, promise: str) -> None:
    folder = stored_run(new_record(run="r1"), new_record(run="r1", case="b"))
    assert query.records(home).problems == ()
    shutil.copytree(folder, folder.with_name("r1-copy"))
    asked = query.records(home)
    assert [record.test.case for record in asked.records] == [new_record().test.case, "b"]
    assert promise in asked.problems[0]


@pytest.mark.fault("store", "a file of records that no longer opens, among others", "its tests are missing here")
def test_a_run_that_cannot_be_read_hides_no_other(
    home: Path, stored_run: Stored, new_record: Made, monkeypatch: pytest.MonkeyPatch, promise: str
) -> None:
    stored_run(new_record(run="r1"))
    folder = stored_run(new_record(run="r2"))
    really = os.open

    def stale(path: Any, *how: Any) -> int:
        if path == folder / FILE_NAME:
            raise OSError(116, "Stale file handle")
        return really(path, *how)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", stale)
        for _ in range(2):  # the index does not count it as read
            asked = query.records(home)
            assert [record.made.run for record in asked.records] == ["r1"]
            expected = f"{folder / FILE_NAME}: found no readable file (Stale file handle), expected records of a run; "
            assert asked.problems == (f"{expected}{promise}",)
            assert [(one.run, one.problems) for one in query.runs(home)] == [("r1", ()), ("r2", asked.problems)]
    assert [record.made.run for record in query.records(home).records] == ["r1", "r2"]
    assert query.records(home).problems == ()


@pytest.mark.fault("store", "another user's run, which may not be read", "found a folder that you may not read")
def test_a_folder_that_may_not_be_read_is_said(
    home: Path, stored_run: Stored, new_record: Made, monkeypatch: pytest.MonkeyPatch, promise: str
) -> None:
    stored_run(new_record(run="r1"))
    other = stored_run(new_record(run="r2")).with_name("r3")
    other.mkdir()
    assert query.records(home).problems == ()
    monkeypatch.setattr("os.access", lambda path, how: path != other)
    (problem,) = query.records(home).problems
    assert problem == f"{other}: {promise}, expected a run; its tests are missing here"
    assert [one.run for one in query.runs(home) if one.problems] == ["r3"]


def test_a_record_of_the_future_hides_no_later_run_from_prometheus(new_record: Made) -> None:
    ahead, failed = new_record(run="r0", time="2062-11-21T06:00:12Z"), new_record(run="r1", state="fail")
    assert exports.newest([ahead, failed], NOW) == (failed,)


@pytest.mark.fault("store", "a disk that is full", "free some space, or choose another folder")
def test_a_record_that_cannot_be_written_is_an_error(
    stored_run: Stored, new_record: Made, monkeypatch: pytest.MonkeyPatch, promise: str
) -> None:
    folder = stored_run(new_record(run="r1"))

    def full(descriptor: int, line: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        with pytest.raises(SetupError) as caught:
            append_record(folder / FILE_NAME, new_record(run="r1", case="b"))
    assert promise in str(caught.value)
    assert read_records(folder).records == (new_record(run="r1"),)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            {"state": "disturbed"},
            marks=pytest.mark.fault("store", "a reference captured from disturbed runs", "its state is disturbed"),
            id="disturbed",
        ),
        pytest.param(
            {"rehearsal": "stand-ins ran"},
            marks=pytest.mark.fault("store", "a reference captured from a rehearsal", "it is from a rehearsal"),
            id="rehearsal",
        ),
        pytest.param(
            {"replayed": "a recording"},
            marks=pytest.mark.fault("store", "a reference captured from a replay", "a recording was played"),
            id="replay",
        ),
        pytest.param(
            {"path_proof": PathProofRecord("failed", "over eth0")},
            marks=pytest.mark.fault("store", "a reference captured over the wrong network", "its path proof failed"),
            id="path",
        ),
    ],
)
def test_what_is_no_measurement_is_no_reference(new_record: Made, change: dict[str, object], promise: str) -> None:
    assert choose_records([new_record()], replace=False)[1] == ()
    groups, left = choose_records([new_record(**change)], replace=False)
    assert groups == ()
    assert promise in left[0]


@pytest.mark.fault("store", "runs compared that went to other sizes", "message sizes differ, 2 from 64 KiB to 4 MiB")
def test_runs_of_other_sizes_have_no_key_figure_in_common(promise: str) -> None:
    def shorter(record: Record) -> Record:
        first = CurveRecord("bandwidth", "MB/s", (65536, 1048576), (16.9, 40.0))
        return record.with_fields(curves=(first,))

    runs = tuple(one.with_fields(curves=one.found.curves[:1]) for one in days(6))
    assert compare(runs, runs).tests[0].refused == ()
    with pytest.raises(RailyardError) as caught:
        compare(runs, [shorter(one) for one in runs])
    assert promise in str(caught.value)


@pytest.mark.fault("store", "three weeks without a run", "no run from 2026-11-04 to 2026-11-25, 21 days")
def test_a_gap_in_the_history_is_said(promise: str) -> None:
    *before, last = days(5)
    assert not any("no run" in remark for one in series_of((*before, last)) for remark in one.remarks)
    late = last.with_fields(time="2026-11-25T06:00:12Z")
    assert any(promise in remark for one in series_of((*before, late)) for remark in one.remarks)
