"""`railyard record`: a run's outputs become recordings of the same curves, without names; the rest is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.benchmarks import metrics
from railyard.cli.main import main
from railyard.parsers import netpipe, osu
from railyard.provision.replay.form import file_of
from railyard.provision.replay.index import folder_of, match_index, read_index, read_kept_test
from railyard.results.record.file import append_record
from railyard.results.record.form import CurveRecord, NodeGroup, VerdictRecord
from railyard.results.run_folder import DeviceMoved, KeptTest, NicOfRank, NodeMoved
from railyard.site.test_id import TestId
from tests.made.records import made_record

ROOT = Path(__file__).resolve().parents[3]
RUN = "20261121T060000Z-1a2b"
OUTPUT = """cn07: Warning: /home/alice/mca.conf is not readable
# OSU MPI Bandwidth Test v7.4
# Size      Bandwidth (MB/s)
1                       5.01
4194304             12401.50
"""
CURVE = CurveRecord("bandwidth", "MB/s", (1, 4194304), (5.01, 12401.5))
RECORD = made_record(
    run=RUN,
    time="2026-11-21T06:00:00Z",
    case="OsuBandwidth %rails=1 @dell-c6320:edr+hpcx",
    check="OsuBandwidth",
    system="dell-c6320",
    fabric="edr",
    stack="hpcx",
    rails=1,
    benchmark="osu/osu_bw",
    state="pass",
    verdict=VerdictRecord("holds"),
    nodes=("cn07", "cn08"),
    curves=(CURVE,),
    output="outputs/bw.out",
)
CELL = TestId("edr", "hpcx", 1, "osu/osu_bw", "OsuBandwidth")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site folder whose only run left an output and two records, one of a test that was switched off."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.setenv("USER", "alice")
    (tmp_path / "systems").mkdir()
    run = tmp_path / ".railyard/runs" / RUN
    (run / "outputs").mkdir(parents=True)
    (run / "reframe-report.json").write_text("{}", encoding="utf-8")
    (run / "outputs/bw.out").write_text(OUTPUT, encoding="utf-8")
    append_record(run / "records.jsonl", RECORD)
    off = RECORD.with_fields(
        case="OsuLatency %rails=1 @dell-c6320:edr+hpcx", state="not-tested", curves=(), output=None
    )
    append_record(run / "records.jsonl", off)
    return tmp_path


def test_a_run_becomes_recordings_without_names_and_with_the_same_curves(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "recordings/dell-c6320/edr/hpcx/1/OsuBandwidth.out: osu/osu_bw, recorded",
        "left out: OsuLatency %rails=1 @dell-c6320:edr+hpcx: it did not run",
        "1 recorded, 1 left out; play them: railyard run --replay --system dell-c6320",
    ]
    folder = folder_of(site, "dell-c6320")
    text = (folder / file_of(CELL)).read_text(encoding="utf-8")
    assert text.splitlines()[0] == "node1: Warning: /path/mca.conf is not readable"
    assert text.splitlines()[1:] == OUTPUT.splitlines()[1:]
    (table,) = osu.parse(text).tables
    (curve,) = metrics.curves(table, "osu/osu_bw")
    assert (curve.sizes, curve.values) == (CURVE.sizes, CURVE.values)
    (one,) = read_index(folder).recordings
    assert (one.origin, one.made_by, one.source) == ("recorded", "railyard record", f"run {RUN}")
    assert match_index(folder, CELL, text.encode()).problem is None


KEPT = KeptTest(
    time="2026-11-21T05:59:58Z",
    policy="single",
    ranks_per_node=1,
    words=("-m", "1:4194304", "-d", "/home/alice/data"),
    files={"sizes.txt": "1\n4194304\n", "hosts.txt": "cn07\ncn08\n"},
    nodes=(
        NodeMoved("cn07", (DeviceMoved("mlx5_0:1", True, 123_456_789, 1_000, {"symbol_error": 3}),)),
        NodeMoved("cn08", (DeviceMoved("mlx5_0:1", True, 1_000, 123_456_789),)),
    ),
    nics=(NicOfRank("cn07", 0, "mlx5_0:1"),),
)


def test_what_the_counters_moved_is_recorded_beside_the_output_without_names(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = site / ".railyard/runs" / RUN
    (run / "outputs/bw.json").write_text(KEPT.to_text(), encoding="utf-8")
    facts = NodeGroup(("cn07", "cn08"), {"kernel": "6.1", "cpu": "EPYC"})
    append_record(run / "records.jsonl", RECORD.with_fields(hardware=(facts,)))
    assert main(["record"]) == 0
    assert "OsuBandwidth.out: osu/osu_bw, recorded, with its counters" in capsys.readouterr().out
    folder = folder_of(site, "dell-c6320")
    (one,) = read_index(folder).recordings
    kept = read_kept_test(folder, one)
    assert kept is not None
    assert [(node.node, node.devices) for node in kept.nodes] == [
        ("node1", KEPT.nodes[0].devices),
        ("node2", KEPT.nodes[1].devices),
    ]
    assert kept.words == ("-m", "1:4194304", "-d", "/path/data")
    assert kept.files == {"sizes.txt": "1\n4194304\n", "hosts.txt": "node1\nnode2\n"}
    assert [nic.node for nic in kept.nics] == ["node1"]
    assert [(group.nodes, group.facts) for group in kept.hardware] == [(("node1", "node2"), facts.facts)]
    text = (folder / file_of(CELL)).with_suffix(".json").read_text(encoding="utf-8")
    assert not any(name in text for name in ("cn07", "cn08", "alice"))


def test_a_secret_in_what_a_test_was_told_is_not_kept() -> None:
    told = replace(KEPT, words=("--password", "hunter2", "MY_VARIABLE=value"), files={"in": "token: abc123def\n"})
    text = told.to_text()
    assert not any(secret in text for secret in ("hunter2", "MY_VARIABLE=value", "abc123def"))


def test_a_kept_file_that_is_none_is_one_sentence(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / ".railyard/runs" / RUN / "outputs/bw.json").write_text("{", encoding="utf-8")
    assert "outputs/bw.json: found no readable JSON (" in refusal(site, capsys)


def test_a_recording_without_counters_that_replaces_one_leaves_none_behind(site: Path) -> None:
    kept = site / ".railyard/runs" / RUN / "outputs/bw.json"
    kept.write_text(KEPT.to_text(), encoding="utf-8")
    assert main(["record"]) == 0
    assert list(folder_of(site, "dell-c6320").rglob("OsuBandwidth.json"))
    kept.unlink()
    assert main(["record", "--replace"]) == 0
    folder = folder_of(site, "dell-c6320")
    assert not list(folder.rglob("OsuBandwidth.json"))
    assert "kept" not in (folder / "index.json").read_text(encoding="utf-8")


def test_recordings_that_are_there_stay_unless_told(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", RUN]) == 0
    capsys.readouterr()
    assert main(["record", RUN]) == 2
    assert capsys.readouterr().err == (
        "railyard: recordings/dell-c6320/edr/hpcx/1/OsuBandwidth.out: found a recording, expected none (1 of 1 are "
        "there); --replace overwrites them\n"
    )
    assert main(["record", RUN, "--replace"]) == 0


def refusal(site: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["record", *words]) == 2
    assert not (site / "recordings").exists()
    return capsys.readouterr().err


def test_what_was_itself_replayed_is_not_recorded(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "replayed: computed from published values, not measured"
    append_record(site / ".railyard/runs" / RUN / "records.jsonl", RECORD.with_fields(replayed=words))
    assert (
        refusal(site, capsys)
        .splitlines()[0]
        .endswith(f"{RUN}: found no output that can be recorded, expected at least one")
    )
    append_record(site / ".railyard/runs" / RUN / "records.jsonl", RECORD.with_fields(replayed=words))
    assert f"found a replayed test ({words}), expected a measured one" in refusal(site, capsys)


def test_a_name_that_is_a_figure_is_refused(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "4194304")
    assert refusal(site, capsys) == (
        "railyard: OsuBandwidth %rails=1 @dell-c6320:edr+hpcx: found other tables in its output without names of hosts "
        "and users, expected the same; a name of a host or user is a number or a benchmark's word\n"
    )


def test_an_output_that_is_gone_or_unreadable_is_said(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = site / ".railyard/runs" / RUN / "outputs/bw.out"
    output.write_text("Segmentation fault\n", encoding="utf-8")
    assert "its output cannot be read (" in refusal(site, capsys)
    output.unlink()
    assert "it left no output with a curve" in refusal(site, capsys)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("nowhere",),
            "railyard: nowhere: found no readable file (No such file or directory), expected records of a run",
        ),
        (("--published", "x", RUN), f"--published: found it beside the run {RUN}, expected one of them; leave one out"),
    ],
)
def test_wrong_words_are_one_sentence(
    words: tuple[str, ...], said: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    err = refusal(site, capsys, *words)
    assert said in err
    assert "Traceback" not in err


def test_rows_on_the_error_output_are_recorded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from railyard.results.run_folder import keep_output

    monkeypatch.setenv("RAILYARD_RUN_FOLDER", str(tmp_path / "run"))
    (tmp_path / "out").write_text("0: cn07\n", encoding="utf-8")
    (tmp_path / "err").write_text(
        "Now starting the main loop\n  0:       1 bytes     10 times -->      0.47 Mbps in      16.40 usec\n",
        encoding="utf-8",
    )
    kept = keep_output(tmp_path, "Netpipe", tmp_path / "out", tmp_path / "err")
    assert kept == "outputs/Netpipe.out"
    (table,) = netpipe.parse((tmp_path / "run" / kept).read_text(encoding="utf-8")).tables
    assert table.rows


def test_what_no_recording_can_tell_is_left_out(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node's own output is about names and would lose them; an installed application's is not ours to keep."""
    for check, benchmark in (("HplEveryNode", "hpl/every-node"), ("Installed", "installed/fluent")):
        other = RECORD.with_fields(case=f"{check} %rails=1 @dell-c6320:edr+hpcx", benchmark=benchmark)
        append_record(site / ".railyard/runs" / RUN / "records.jsonl", other)
    assert main(["record"]) == 0
    left = [line for line in capsys.readouterr().out.splitlines() if line.startswith("left out: ")]
    assert left[1:] == [
        "left out: HplEveryNode %rails=1 @dell-c6320:edr+hpcx: its output names nodes, and recordings hide these names",
        "left out: Installed %rails=1 @dell-c6320:edr+hpcx: the site's own patterns read it, and its output may "
        "belong to the vendor",
    ]
