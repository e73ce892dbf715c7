"""The newest results for Prometheus: samples as its own parser reads them, an atomic file, sentences for mistakes."""

import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError, SetupError
from railyard.benchmarks.model import Figure
from railyard.cli.main import main
from railyard.results import exports
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import Record, VerdictRecord
from railyard.results.sick import Kind, SeenTest, SickPart
from tests.made.records import made_record

NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)
MADE = made_record(
    run="r1",
    case='ImbUniband %rails=1 "odd\\" @virtual:hsn+mpich',
    verdict=VerdictRecord("so"),
    figures=(Figure("peak", 47.8, "MB/s"), Figure("peak", 1.0, "MB/s"), Figure("N½", 9, "B")),
)
LABELS = {
    "system": "virtual",
    "fabric": "hsn",
    "stack": "mpich",
    "rails": "1",
    "policy": "",
    "benchmark": "imb/Uniband",
    "case": MADE.test.case,
}

needs_library = pytest.mark.skipif(
    find_spec("prometheus_client") is None,
    reason="prometheus_client is not installed (the extra prometheus)",
)


def samples(text: str) -> list[tuple[str, dict[str, str], float]]:
    """The samples of a text, by the parser of the official library."""
    from prometheus_client.parser import text_string_to_metric_families

    return [
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


@needs_library
def test_figures_states_and_times_are_samples() -> None:
    found = samples(exports.text_of(exports.registry_of([MADE], NOW)))
    assert found == [
        ("railyard_figure", {**LABELS, "figure": "peak", "unit": "MB/s"}, 47.8),
        ("railyard_figure", {**LABELS, "figure": "N½", "unit": "B"}, 9.0),
        ("railyard_test_state", {**LABELS, "state": "pass"}, 1.0),
        ("railyard_test_state", {**LABELS, "state": "fail"}, 0.0),
        ("railyard_test_state", {**LABELS, "state": "disturbed"}, 0.0),
        ("railyard_test_state", {**LABELS, "state": "report-only"}, 0.0),
        ("railyard_test_state", {**LABELS, "state": "xfail"}, 0.0),
        ("railyard_test_state", {**LABELS, "state": "not-tested"}, 0.0),
        ("railyard_test_time_seconds", LABELS, datetime(2026, 11, 21, 6, 0, 12, tzinfo=timezone.utc).timestamp()),
        ("railyard_export_time_seconds", {}, NOW.timestamp()),
    ]


#: Names that would end a label, a line or a sample if they were not escaped.
HOSTILE = (
    'a"} 1\nrailyard_figure{x="',
    "a\\",
    'a\\"',
    "a\nb",
    "{a}",
    "a=b,c",
    "é\u2028x",
    "# HELP a",
    "$(a)",
    " ",
    "\x00a",
)


@needs_library
def test_hostile_names_are_labels_and_no_samples_of_their_own() -> None:
    records = [MADE.with_fields(case=f"{number} {text}", fabric=text) for number, text in enumerate(HOSTILE)]
    plain = [MADE.with_fields(case=f"{number}", fabric="hsn") for number in range(len(HOSTILE))]
    text = exports.text_of(exports.registry_of(records, NOW))
    assert len(samples(text)) == len(samples(exports.text_of(exports.registry_of(plain, NOW))))
    states = [labels for name, labels, _ in samples(text) if name == "railyard_test_state"]
    assert {labels["fabric"] for labels in states} == set(HOSTILE)
    promtool = shutil.which("promtool")  # of Prometheus itself; Debian's prometheus has it
    if promtool is not None:
        checked = subprocess.run(
            [promtool, "check", "metrics"], input=text, text=True, capture_output=True, check=False
        )
        assert "error" not in checked.stderr.lower(), checked.stderr


@needs_library
def test_sick_parts_are_samples_and_those_that_passed_since_are_not() -> None:
    def part(kind: Kind, *nodes: str, **more: Any) -> SickPart:
        first, last = (
            SeenTest("r1", MADE.test.case, "1970-01-01T00:00:01Z"),
            SeenTest("r2", MADE.test.case, "1970-01-01T00:00:02Z"),
        )
        return SickPart("virtual", kind, "x", "slow", "slow", "likely", "sick", first, last, nodes=nodes, **more)

    parts = [
        part("rail", "vn2", node="vn2", rail="hsn1", class_="fabric"),
        part("gpu", "vn2", node="vn2", part="3"),
        part("pair", "vn1", "vn2"),
        part("leaf", "n1", "n2", "n3", part="L4"),
        part("leaf", "n1", "n2", "n3"),
    ]
    cleared = replace(parts[0], node="vn9", nodes=("vn9",), state="passed since")
    found = samples(exports.text_of(exports.registry_of([], NOW, [*parts, cleared])))
    own = [(labels, value) for name, labels, value in found if name == "railyard_suspect"]
    assert [(each["kind"], each["node"], each["part"], each["class"], value) for each, value in own] == [
        ("rail", "vn2", "hsn1", "fabric", 1.0),
        ("gpu", "vn2", "3", "", 1.0),
        ("pair", "vn1-vn2", "", "", 1.0),
        ("leaf", "", "L4", "", 1.0),
        ("leaf", "n[1-3]", "", "", 1.0),
    ]
    assert {(each["system"], each["confidence"]) for each, _ in own} == {("virtual", "likely")}
    seen = {name: value for name, labels, value in found if labels.get("kind") == "gpu"}
    assert seen == {
        "railyard_suspect": 1.0,
        "railyard_suspect_first_seen_seconds": 1.0,
        "railyard_suspect_last_seen_seconds": 2.0,
    }


def test_the_newest_result_of_each_test_counts_and_no_replay() -> None:
    failed = MADE.with_fields(run="r2", time="2026-11-22T06:00:00Z", state="fail")
    retried = MADE.with_fields(run="r2", time="2026-11-22T06:10:00Z")
    played = MADE.with_fields(run="r3", time="2026-11-23T06:00:00Z", replayed="replayed: recorded, not measured")
    assert exports.newest([MADE, failed, retried, played], NOW) == (failed,)


@needs_library
def test_a_file_is_there_whole_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "railyard.prom"
    file.write_text("old", encoding="utf-8")
    exports.write(file, exports.registry_of([MADE], NOW))
    assert len(samples(file.read_text(encoding="utf-8"))) == 10
    assert [path.name for path in tmp_path.iterdir()] == ["railyard.prom"]


@needs_library
def test_what_cannot_be_written_or_would_not_be_read_is_a_sentence(tmp_path: Path) -> None:
    registry = exports.registry_of([MADE], NOW)
    with pytest.raises(RailyardError) as caught:
        exports.write(tmp_path / "railyard.txt", registry)
    assert str(caught.value) == (
        f'-o: found "{tmp_path}/railyard.txt", expected a name that ends in .prom: the collector reads no other'
    )
    with pytest.raises(SetupError) as refused:
        exports.write(tmp_path / "none" / "railyard.prom", registry)
    assert str(refused.value) == (
        f"{tmp_path}/none/railyard.prom: the file could not be written (No such file or directory); "
        "correct the path, or choose another -o"
    )


def test_without_the_library_the_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(SetupError) as caught:
        exports.registry_of([MADE], NOW)
    assert str(caught.value) == (
        "found no prometheus_client, expected Prometheus's client library; type: pip install 'railyard-hpc[prometheus]'"
    )


def site(folder: Path, monkeypatch: pytest.MonkeyPatch, *records: Record) -> Path:
    (folder / "systems").mkdir()
    for record in records:
        append_record(folder / ".railyard" / "runs" / record.made.run / FILE_NAME, record)
    monkeypatch.setenv("RAILYARD_HOME", str(folder))
    return folder


@needs_library
def test_the_command_prints_or_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = site(tmp_path, monkeypatch, MADE)
    assert main(["export", "prometheus"]) == 0
    assert len(samples(capsys.readouterr().out)) == 10
    assert main(["export", "prometheus", "-o", str(home / "railyard.prom")]) == 0
    assert capsys.readouterr().err == f"wrote {home}/railyard.prom: 1 test\n"


def test_nothing_to_export_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = site(tmp_path, monkeypatch)
    assert main(["export", "prometheus"]) == 2
    assert f"{home}/.railyard/runs: found no measured test, expected some (a replay is none)" in capsys.readouterr().err
    append_record(home / ".railyard" / "runs" / "r1" / FILE_NAME, MADE)
    assert main(["export", "prometheus", "--system", "virtaul"]) == 2
    said = capsys.readouterr().err
    assert '--system: found no run of "virtaul", expected a system that ran; did you mean "virtual"?' in said
