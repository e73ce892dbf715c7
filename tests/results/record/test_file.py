"""A record stays the same in its file: only whole lines, four sentences for what cannot be read, nothing infinite."""

import fcntl
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import InputError
from railyard.base.json_codec import FormError
from railyard.benchmarks.model import Figure
from railyard.results.record.file import append_record, read_records
from railyard.results.record.form import (
    AttemptRecord,
    BandRecord,
    ConditionRecord,
    CurveRecord,
    Evidence,
    LimitRecord,
    NodeGroup,
    NodeTraffic,
    PathProofRecord,
    RailTraffic,
    Record,
    RuleRecord,
    Suspect,
    VerdictRecord,
)
from tests.made.records import made_record

# The same record in format 1, in which all fields were at the top.
OLD = json.loads((Path(__file__).parent / "format_1.jsonl").read_text(encoding="utf-8"))
# The example of format 2: every key that there is.
LINE: dict[str, Any] = {
    "format": 2,
    "test": {
        "case": "ImbPingPong %rails=1 @virtual:hsn+mpich",
        "check": "ImbPingPong",
        "benchmark": "imb/PingPong",
        "stack": "mpich",
        "rails": 1,
        "policy": "single",
        "hash": "1a2b3c4d",
        "benchmark_version": "2021.11",
    },
    "where": {
        "system": "virtual",
        "fabric": "hsn",
        "nodes": ["vn1", "vn2"],
        "hardware": [
            {"nodes": ["vn1", "vn2"], "facts": {"smt": "on"}, "devices": {"hsn0": {"driver": "veth"}}, "varied": {}}
        ],
        "scheduler": "slurm",
        "job_id": "4711",
    },
    "found": {
        "state": "fail",
        "verdict": {
            "sentence": "too slow",
            "rule": 5,
            "class": "fabric",
            "rules": [{"rule": 5, "name": "reference", "state": "fail", "sentence": "too slow"}],
            "suspects": [
                {"kind": "rail", "reason": "slow", "node": "vn2", "rail": "hsn1"}
                | {"part": None, "nodes": [], "confidence": None, "brief": "is slow"}
                | {
                    "evidence": [
                        {"nodes": ["vn1", "vn2"], "rail": "hsn1", "value": 5.16, "unit": "MB/s", "is_control": True}
                    ]
                }
            ],
            "next": "the cable",
            "remarks": ["nobody else was slow"],
            "headline": "Rail hsn1 of vn2 is slow",
            "measured": "4 of 47 MB/s",
        },
        "figures": [{"name": "peak", "value": 47.8, "unit": "MB/s", "size": 4194304, "computed": False}],
        "curves": [
            {
                "metric": "bandwidth",
                "unit": "MB/s",
                "sizes": [1, 4194304],
                "values": [0.04, 47.8],
                "directions": 1,
                "limit": {"value": 48.6, "terms": "1 x 400 Mbit/s", "source": "HTB class", "from_bytes": 0},
                "bands": [
                    {
                        "id": "hsn-uni-1",
                        "kind": "class",
                        "source": "systems/virtual.yaml",
                        "sizes": [1, 4194304],
                        "low": [None, 47.0],
                        "high": [None, None],
                    }
                ],
                "percent_of_reference": 101.7,
                "percent_of_reference_size": 4194304,
                "percent_of_limit": 98.4,
                "deficit": None,
                "computed": [],
            }
        ],
        "pairs": None,
        "references": ["hsn-uni-1"],
        "conditions": [
            {"name": "turbo", "stated": "enabled", "references": ["edr-bandwidth"], "unlike": {"off": ["vn2"]}},
        ],
    },
    "how": {
        "command": ["mpirun", "-np", "2"],
        "variables": {"UCX_TLS": "tcp,self"},
        "environment": {"reframe": "4.10.4", "mpi": None},
        "linked": ["libmpi.so.12 => /opt/mpich/lib/libmpi.so.12"],
        "path_proof": {
            "state": "proven",
            "sentence": "all on hsn0",
            "expected_bytes": 1234,
            "nodes": [
                {
                    "node": "vn1",
                    "rails": [{"device": "hsn0", "meant": True, "tx_bytes": 1, "rx_bytes": None, "share": 1.0}],
                    "clock_khz": 2100000,
                }
            ],
            "alike": [],
        },
        "attempts": [
            {"sentence": "far too slow", "rule": 5, "elapsed_s": 4.2, "starved": 0.3, "time": "2026-11-21T05:59:50Z"}
        ],
        "starved": 0.01,
    },
    "made": {
        "run": "20261121T060000Z-ab12",
        "time": "2026-11-21T06:00:12Z",
        "started": "2026-11-21T06:00:06Z",
        "elapsed_s": 5.1,
        "output": "outputs/pingpong.out",
        "reframe": {"result": "pass"},
        "replayed": None,
        "rehearsal": None,
        "rehearsed_output": None,
    },
}
RECORD = made_record(
    run="20261121T060000Z-ab12",
    time="2026-11-21T06:00:12Z",
    case="ImbPingPong %rails=1 @virtual:hsn+mpich",
    check="ImbPingPong",
    system="virtual",
    fabric="hsn",
    stack="mpich",
    rails=1,
    benchmark="imb/PingPong",
    state="fail",
    verdict=VerdictRecord(
        "too slow",
        5,
        "fabric",
        (RuleRecord(5, "reference", "fail", "too slow"),),
        (
            Suspect(
                "rail",
                "slow",
                "vn2",
                "hsn1",
                brief="is slow",
                evidence=(Evidence(("vn1", "vn2"), "hsn1", 5.16, "MB/s", is_control=True),),
            ),
        ),
        "the cable",
        ("nobody else was slow",),
        "Rail hsn1 of vn2 is slow",
        "4 of 47 MB/s",
    ),
    hash="1a2b3c4d",
    policy="single",
    elapsed_s=5.1,
    nodes=("vn1", "vn2"),
    figures=(Figure("peak", 47.8, "MB/s", 4194304),),
    curves=(
        CurveRecord(
            "bandwidth",
            "MB/s",
            (1, 4194304),
            (0.04, 47.8),
            1,
            LimitRecord(48.6, "1 x 400 Mbit/s", "HTB class"),
            (BandRecord("hsn-uni-1", "class", "systems/virtual.yaml", (1, 4194304), (None, 47.0), (None, None)),),
            101.7,
            4194304,
            98.4,
        ),
    ),
    path_proof=PathProofRecord(
        "proven", "all on hsn0", 1234, (NodeTraffic("vn1", (RailTraffic("hsn0", True, 1, None, 1.0),), 2100000),)
    ),
    references=("hsn-uni-1",),
    environment={"reframe": "4.10.4", "mpi": None},
    command=("mpirun", "-np", "2"),
    output="outputs/pingpong.out",
    reframe={"result": "pass"},
    started="2026-11-21T06:00:06Z",
    scheduler="slurm",
    job_id="4711",
    linked=("libmpi.so.12 => /opt/mpich/lib/libmpi.so.12",),
    variables={"UCX_TLS": "tcp,self"},
    benchmark_version="2021.11",
    hardware=(NodeGroup(("vn1", "vn2"), {"smt": "on"}, {"hsn0": {"driver": "veth"}}),),
    attempts=(AttemptRecord("far too slow", 5, 4.2, 0.3, "2026-11-21T05:59:50Z"),),
    starved=0.01,
    conditions=(ConditionRecord("turbo", "enabled", ("edr-bandwidth",), {"off": ("vn2",)}),),
)


def line_with(part: str, **values: object) -> dict[str, object]:
    """Return the example with these values in one part."""
    return {**LINE, part: {**LINE[part], **values}}


def line_without(part: str, key: str) -> dict[str, object]:
    """Return the example without one key of a part."""
    return {**LINE, part: {name: value for name, value in LINE[part].items() if name != key}}


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_the_json_of_format_2_is_exactly_this() -> None:
    assert RECORD.to_json() == LINE
    assert Record.from_json(LINE) == RECORD


def test_a_line_of_format_1_is_the_same_record_and_is_written_in_format_2(tmp_path: Path) -> None:
    assert read_records(write(tmp_path / "records.jsonl", OLD, LINE)).records == (RECORD, RECORD)
    (record,) = read_records(write(tmp_path / "records.jsonl", {**OLD, "energy_j": 3.5})).records
    assert record.to_json() == {**LINE, "energy_j": 3.5}


def test_a_field_is_found_by_its_name_and_another_name_is_refused() -> None:
    assert [RECORD.value(name) for name in ("case", "system", "starved", "state", "run")] == [
        LINE["test"]["case"], "virtual", 0.01, "fail", LINE["made"]["run"]
    ]  # fmt: skip
    with pytest.raises(KeyError):
        RECORD.with_fields(stat="pass")


def test_a_record_that_is_appended_is_read_back_equal_and_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one" / "records.jsonl"
    append_record(path, RECORD)
    append_record(path, RECORD.with_fields(state="pass"))
    read = read_records(path.parent)
    assert read.records == (RECORD, RECORD.with_fields(state="pass"))
    assert read.problems == ()
    assert path.read_bytes().count(b"\n") == 2


def test_a_record_that_is_older_than_remarks_and_attempts_shows_its_sentence_as_it_is(tmp_path: Path) -> None:
    line = json.loads(json.dumps(OLD))
    del line["verdict"]["remarks"], line["attempts"], line["starved"]
    line["verdict"]["sentence"] = "too slow; nobody else was slow"
    (record,) = read_records(write(tmp_path / "records.jsonl", line)).records
    assert (record.found.verdict.remarks, record.found.verdict.text) == ((), "too slow; nobody else was slow")
    assert (record.how.attempts, record.how.starved) == ((), None)
    assert RECORD.found.verdict.text == "too slow; nobody else was slow"


def test_unknown_keys_are_kept_at_every_depth(tmp_path: Path) -> None:
    line = json.loads(json.dumps(LINE))
    line["energy_j"] = 3.5
    line["where"]["rack"] = 7
    line["found"]["verdict"]["suspects"][0]["slot"] = "2-1"
    line["found"]["curves"][0]["bands"][0]["owner"] = {"site": "a"}
    path = write(tmp_path / "records.jsonl", line)
    (record,) = read_records(path).records
    assert (record.extra, record.where.extra) == ({"energy_j": 3.5}, {"rack": 7})
    assert record.to_json() == line


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({**LINE, "format": 0}, "format 0 is too old, this Railyard reads formats 1 to 2; run the test again"),
        (
            {**LINE, "format": 3},
            "format 3 is too new, this Railyard reads formats 1 to 2; read it with the Railyard that wrote it",
        ),
        (
            {"run": "x"},
            'found no "format" key, so this is not a record of Railyard; name another file',
        ),
        ([1], 'found no "format" key, so this is not a record of Railyard; name another file'),
        ({**LINE, "format": "1"}, "found format '1', expected a whole number; that record is not used"),
        ({**LINE, "format": True}, "found format True, expected a whole number; that record is not used"),
        (
            line_with("found", state="passed"),
            "found.state: found 'passed', expected one of pass, fail, disturbed, report-only, xfail, not-tested; "
            "that record is not used",
        ),
        (line_without("made", "run"), "made.run: found nothing, expected this key; that record is not used"),
        ({**LINE, "where": []}, "where: found [], expected an object {…}; that record is not used"),
        (
            {key: value for key, value in LINE.items() if key != "where"},
            "where: found nothing, expected this key; that record is not used",
        ),
        (
            {**OLD, "state": "passed"},
            "state: found 'passed', expected one of pass, fail, disturbed, report-only, xfail, not-tested; "
            "that record is not used",
        ),
        (
            {key: value for key, value in OLD.items() if key != "verdict"},
            "verdict: found nothing, expected this key; that record is not used",
        ),
        (
            {**OLD, "curves": [{"metric": "latency", "unit": "us", "sizes": [1, 2], "values": [1.0]}]},
            "curves[0].values: found 1 values, expected 2, one per size; that record is not used",
        ),
        (
            line_with("found", curves=[{"metric": "latency", "unit": "us", "sizes": [2, 2], "values": [1.0, 1.0]}]),
            "found.curves[0].sizes[1]: found 2 after 2, expected rising sizes; that record is not used",
        ),
    ],
)
def test_a_line_that_is_no_record_is_named_and_the_others_are_kept(tmp_path: Path, line: object, sentence: str) -> None:
    path = write(tmp_path / "records.jsonl", LINE, line, LINE)
    read = read_records(path)
    assert read.records == (RECORD, RECORD)
    assert read.problems == (f"{path}:2: {sentence}",)


def test_a_cut_last_line_is_named_and_the_rest_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "records.jsonl", LINE, LINE)
    path.write_bytes(path.read_bytes()[:-400])
    cut = len(path.read_bytes().splitlines()[-1])
    read = read_records(path)
    assert read.records == (RECORD,)
    assert read.problems == (
        f"{path}:2: the last line is cut after {cut} bytes, because its writer was stopped; that record is lost, "
        "the 1 before it are kept",
    )


def test_any_cut_of_a_file_keeps_exactly_the_whole_lines(tmp_path: Path) -> None:
    whole = write(tmp_path / "records.jsonl", LINE).read_bytes()
    path = tmp_path / "cut.jsonl"
    for length in range(1, len(whole) - 1, 7):
        path.write_bytes(whole + whole[:length])
        read = read_records(path)
        assert (len(read.records), len(read.problems)) == (1, 1), length


def test_a_record_after_a_cut_line_starts_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "records.jsonl", LINE)
    path.write_bytes(path.read_bytes() + b'{"format": 1, "ru')
    append_record(path, RECORD)
    read = read_records(path)
    assert read.records == (RECORD, RECORD)
    assert len(read.problems) == 1
    assert read.problems[0].startswith(f"{path}:2: found no JSON (")
    assert read.problems[0].endswith("); that record is lost, the others are kept")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_not_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(LINE).replace("5.1", text) + "\n", encoding="utf-8")
    assert read_records(path).problems == (
        f"{path}:1: found no JSON ({text} is not a JSON number); that record is lost, the others are kept",
    )


def test_nan_is_not_written_and_leaves_no_line(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    figure = Figure("peak", float("nan"), "MB/s")
    with pytest.raises(FormError) as caught:
        append_record(path, RECORD.with_fields(figures=(figure,)))
    assert str(caught.value) == "found.figures[0].value: found nan, expected a finite number"
    assert not path.exists()


def test_bytes_that_are_no_text_and_deep_nesting_are_problems_not_tracebacks(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"\xff\xfe\n" + b"[" * 200_000 + b"\n\n" + json.dumps(LINE).encode() + b"\n")
    read = read_records(path)
    assert read.records == (RECORD,)
    assert [problem.startswith(f"{path}:{line}: found no JSON (") for line, problem in enumerate(read.problems, 1)] == [
        True,
        True,
    ]


def test_no_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_records(tmp_path / "nowhere.jsonl")
    assert str(caught.value) == (
        f"{tmp_path}/nowhere.jsonl: found no readable file (No such file or directory), expected records of a run; "
        "name a run folder"
    )


def test_many_writers_at_once_leave_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"

    def write_some(name: str) -> None:
        for number in range(10):
            append_record(path, RECORD.with_fields(case=f"{name}-{number}"))

    writers = [threading.Thread(target=write_some, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    read = read_records(path)
    assert read.problems == ()
    assert {record.test.case for record in read.records} == {
        f"{name}-{number}" for name in "abcd" for number in range(10)
    }


def test_a_writer_waits_for_one_that_is_at_it(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        writer = threading.Thread(target=append_record, args=(path, RECORD))
        writer.start()
        writer.join(0.1)
        assert writer.is_alive()
        assert path.read_bytes() == b""
    writer.join(10)
    assert read_records(path).records == (RECORD,)


def test_a_record_without_the_later_keys_is_read(tmp_path: Path) -> None:
    later = ("started", "scheduler", "job_id", "linked", "variables", "benchmark_version", "hardware", "pairs")
    path = write(tmp_path / "records.jsonl", {key: value for key, value in OLD.items() if key not in later})
    (record,) = read_records(path).records
    assert (record.made.started, record.how.linked, record.how.variables, record.where.hardware) == (None, (), {}, ())


def test_a_reader_waits_for_a_line_that_is_being_written(tmp_path: Path) -> None:
    path = write(tmp_path / "records.jsonl", LINE)
    whole = json.dumps(line_with("test", case="second")).encode() + b"\n"
    writer = os.open(path, os.O_WRONLY | os.O_APPEND)
    fcntl.flock(writer, fcntl.LOCK_EX)
    os.write(writer, whole[:50])
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.append(len(read_records(path).records)))
    reader.start()
    reader.join(0.1)
    assert reader.is_alive()
    os.write(writer, whole[50:])
    os.close(writer)
    reader.join(10)
    assert found == [2]


def test_a_field_of_format_1_says_in_which_part_it_is_now() -> None:
    for name, sentence in {
        "verdict": "a Record has no verdict; it is found.verdict now",
        "verdikt": "a Record has no verdikt",
    }.items():
        with pytest.raises(AttributeError) as caught:
            getattr(RECORD, name)
        assert str(caught.value) == sentence
