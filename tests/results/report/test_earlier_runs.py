"""Medians of earlier runs: only healthy measurements of the same test over the same sizes, from before."""

import dataclasses
from pathlib import Path

from railyard.results.record.file import append_record
from railyard.results.record.form import Record
from railyard.results.report.files import MOST_RUNS, earlier_medians


def scale_curve(record: Record, factor: float, **changes: object) -> Record:
    curve = record.found.curves[0]
    values = tuple(value * factor for value in curve.values)
    return record.with_fields(curves=(dataclasses.replace(curve, values=values),), **changes)


def store(runs: Path, name: str, *records: Record) -> Path:
    for record in records:
        append_record(runs / name / "records.jsonl", record)
    return runs / name


def test_the_median_of_the_runs_before(tmp_path: Path, healthy_run: list[Record]) -> None:
    record = healthy_run[0]
    for name, factor in (("1", 0.9), ("2", 0.5), ("3", 1.0), ("5", 9.0)):
        store(tmp_path, name, scale_curve(record, factor))
    folder = store(tmp_path, "4", record)
    (key,) = found = earlier_medians(folder, [record])
    assert key == ("virtual", record.test.case, "bandwidth")
    assert found[key].runs == 3
    assert found[key].values == tuple(value * 0.9 for value in record.found.curves[0].values)


def test_what_failed_was_replayed_or_has_other_sizes_does_not_count(tmp_path: Path, healthy_run: list[Record]) -> None:
    record = healthy_run[0]
    curve = record.found.curves[0]
    cut = record.with_fields(
        curves=(dataclasses.replace(curve, sizes=curve.sizes[:3], values=curve.values[:3], bands=()),)
    )
    store(tmp_path, "1", scale_curve(record, 0.9, state="fail"), scale_curve(record, 0.9, replayed="played"))
    store(tmp_path, "2", cut, scale_curve(record, 0.9, system="other"), scale_curve(record, 0.9, case="other"))
    folder = store(tmp_path, "3", record)
    assert earlier_medians(folder, [record]) == {}


def test_what_cannot_be_read_is_passed_over(tmp_path: Path, healthy_run: list[Record]) -> None:
    record = healthy_run[0]
    broken = store(tmp_path, "1", record) / "records.jsonl"
    for line in (
        '{"format": 1',
        "[]",
        '{"format": 2}',
        '{"format":1,"state":"pass","curves":[3,{"metric":"bandwidth"}]}',
    ):
        with broken.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    folder = store(tmp_path, "2", record)
    assert [found.runs for found in earlier_medians(folder, [record]).values()] == [1]


def test_a_replay_has_no_earlier_runs(tmp_path: Path, healthy_run: list[Record]) -> None:
    record = healthy_run[0].with_fields(replayed="played")
    store(tmp_path, "1", healthy_run[0])
    assert earlier_medians(store(tmp_path, "2", record), [record]) == {}


def test_only_the_newest_earlier_runs_are_read(tmp_path: Path, healthy_run: list[Record]) -> None:
    record = healthy_run[0]
    for index in range(MOST_RUNS + 5):
        store(tmp_path, f"{index:03}", record)
    folder = store(tmp_path, "999", record)
    assert [found.runs for found in earlier_medians(folder, [record]).values()] == [MOST_RUNS]
