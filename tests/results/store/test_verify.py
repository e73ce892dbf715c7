"""What is wrong or odd in stored results, in words."""

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest

from railyard.results.record.file import FILE_NAME
from railyard.results.record.form import CurveRecord, Record
from railyard.results.run_folder import kept_output
from railyard.results.store.verify import verify

Made = Callable[..., Record]
Stored = Callable[..., Path]
NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)


def findings_of(folder: Path, systems: tuple[str, ...] = ("virtual",)) -> list[tuple[str, str]]:
    return [(each.weight, each.what) for each in verify(folder, systems, NOW).findings]


def test_a_healthy_run_has_nothing(stored_run: Stored, new_record: Made) -> None:
    folder = stored_run(new_record(), new_record(case="b"))
    assert findings_of(folder) == []
    assert verify(folder, ("virtual",), NOW).records == 2


def test_a_cut_line_and_an_empty_file_are_problems(stored_run: Stored, new_record: Made) -> None:
    folder = stored_run(new_record())
    path = folder / FILE_NAME
    path.write_bytes(path.read_bytes() + b'{"form')
    cut = (
        "the last line is cut after 6 bytes, because its writer was stopped; "
        "that record is lost, the 1 before it are kept"
    )
    assert findings_of(folder) == [("problem", f"{path}:2: {cut}")]
    path.write_bytes(b"")
    assert findings_of(folder) == [("problem", f"{path}: found no record, expected one per test")]


def test_a_folder_that_was_renamed_is_a_problem(stored_run: Stored, new_record: Made) -> None:
    folder = stored_run(new_record(run="r1"))
    renamed = folder.rename(folder.with_name("r2"))
    assert findings_of(renamed) == [
        ("problem", "found records of run r1, expected only those of r2; was a folder renamed, or a file copied?")
    ]


def test_an_output_that_is_not_there_is_odd(stored_run: Stored, new_record: Made) -> None:
    folder = stored_run(new_record(output="outputs/a.out"), new_record(case="b", output="outputs/b.out"))
    (folder / "outputs").mkdir()
    (folder / "outputs" / "a.out").write_text("", encoding="utf-8")
    assert findings_of(folder) == [
        ("remark", "1 output that records name is not there (the first: outputs/b.out); the figures are")
    ]


@pytest.mark.parametrize("name", ["../../bait", "/dev/zero", "outputs/../bait", "outputs/link.out", "x" * 5000, ""])
def test_an_output_elsewhere_is_not_looked_at(stored_run: Stored, new_record: Made, name: str) -> None:
    folder = stored_run(new_record(output=name))
    (folder / "outputs").mkdir()
    bait = folder / "bait"
    bait.write_text("", encoding="utf-8")
    (folder / "outputs/link.out").symlink_to(bait)
    assert kept_output(folder, name) is None
    assert findings_of(folder) == [
        ("remark", f"1 output that records name is not there (the first: {name[:60]}); the figures are")
    ]


def test_a_clock_that_went_back_is_odd(stored_run: Stored, new_record: Made) -> None:
    folder = stored_run(new_record(time="2026-11-21T06:00:12Z"), new_record(case="b", time="2026-11-21T05:59:12Z"))
    assert findings_of(folder) == [
        (
            "remark",
            "the clock went back by 60 s between ImbPingPong %rails=1 @virtual:hsn+mpich (2026-11-21T06:00:12Z) and "
            "b (2026-11-21T05:59:12Z); the order in the file counts, and elapsed times do not come from this clock",
        )
    ]


@pytest.mark.parametrize("time", ["", "yesterday", "2026-11-21"])
def test_a_time_of_another_form_is_a_problem_and_no_traceback(stored_run: Stored, new_record: Made, time: str) -> None:
    assert findings_of(stored_run(new_record(time=time), new_record(case="b"))) == [
        (
            "problem",
            f'1 record with a time in another form (the first: {new_record().test.case}, "{time}"), expected UTC such '
            "as 2026-11-21T06:00:12Z: runs are sorted, and chosen by day, by that text",
        )
    ]


def test_a_system_that_was_renamed_is_odd(stored_run: Stored, new_record: Made) -> None:
    assert findings_of(stored_run(new_record(system="virtaul"))) == [
        (
            "remark",
            'its system "virtaul" has no file in systems/ (did you mean "virtual"?); if it was renamed, '
            "`railyard capture --stored-as virtaul` still finds its runs",
        )
    ]


def test_other_units_are_odd_where_they_convert_and_a_problem_where_not(stored_run: Stored, new_record: Made) -> None:
    def curve(unit: str) -> tuple[CurveRecord, ...]:
        return (CurveRecord("bandwidth", unit, (1,), (1.0,)),)

    assert findings_of(
        stored_run(new_record(curves=curve("MiB/s")), new_record(case="b", curves=curve("furlong")))
    ) == [
        ("remark", "bandwidth is in MiB/s, expected MB/s; comparisons convert it"),
        ("problem", "bandwidth is in furlong, expected MB/s; it cannot be compared"),
    ]
