"""`railyard results`: each command's words and exit code, what leaves the site, and names scrubbed on request."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.results.record.file import FILE_NAME
from railyard.results.record.form import ConditionRecord, NodeGroup, Record, Suspect, VerdictRecord

Made = Callable[..., Record]
Stored = Callable[..., Path]
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(home))


def test_list_gives_a_line_a_run_or_a_test(stored_run: Stored, new_record: Made, capsys: Capsys) -> None:
    stored_run(
        new_record(run="r1"),
        new_record(run="r1", case="b", state="fail", verdict=VerdictRecord("too slow", 5), figures=()),
    )
    stored_run(new_record(run="r2", time="2026-11-22T06:00:00Z"))
    assert main(["results", "list"]) == 0
    assert capsys.readouterr().out == (
        "r1  2026-11-21 06:00  virtual  2 tests: 1 pass, 1 fail\nr2  2026-11-22 06:00  virtual  1 test: 1 pass\n"
    )
    assert main(["results", "list", "--tests", "--run", "r1"]) == 0
    assert capsys.readouterr().out == (
        "pass  hsn  mpich  1 rail  imb/PingPong  47.8 MB/s  bandwidth holds one-rail, at worst 101.7 % at 4 MiB\n"
        "fail  hsn  mpich  1 rail  imb/PingPong             too slow\n"
    )
    assert main(["results", "list", "--state", "fail", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["run"], row["counts"]) == ("r1", {"fail": 1})


def test_an_empty_store_and_nothing_asked_for_are_sentences(
    home: Path, stored_run: Stored, new_record: Made, capsys: Capsys
) -> None:
    runs = home / ".railyard" / "runs"
    assert main(["results", "list"]) == 0
    assert capsys.readouterr().out == f"{runs}: found no stored run, expected some; railyard run stores one\n"
    assert main(["results", "export"]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {runs}: found no stored run, expected some; railyard run stores one\n"
    )
    assert main(["results", "verify"]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {runs}: found no stored run, expected at least one; railyard run stores one\n"
    )
    stored_run(new_record())
    assert main(["results", "list", "--system", "virtaul"]) == 2
    assert capsys.readouterr().err == (
        'railyard: --system: found no run of "virtaul", expected a system that ran; did you mean "virtual"?\n'
    )
    assert main(["results", "list", "--rails", "7"]) == 0
    assert capsys.readouterr().out == "found no stored test of this kind, expected some; leave an option out\n"
    assert main(["results", "show", "--test", "Uniband"]) == 2
    assert 'found no test "Uniband", expected a part of a test\'s name' in capsys.readouterr().err


def test_show_gives_all_of_one_test(stored_run: Stored, new_record: Made, capsys: Capsys) -> None:
    stored_run(new_record())
    assert main(["results", "show", "last"]) == 0
    assert capsys.readouterr().out == (
        "run 20261121T060000Z-ab12\n"
        "pass  hsn  mpich  1 rail  imb/PingPong  47.8 MB/s  bandwidth holds one-rail, at worst 101.7 % at 4 MiB\n"
    )
    assert main(["results", "show", "--test", "PingPong"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ImbPingPong %rails=1 @virtual:hsn+mpich"
    for line in ("    nodes: vn1 vn2", "    command: mpirun -n 2", "      kernel: 6.1", "         4 MiB       47.80"):
        assert line in lines


def test_an_export_is_what_was_stored(
    home: Path, stored_run: Stored, new_record: Made, capsys: Capsys, tmp_path: Path
) -> None:
    stored_run(new_record(), new_record(case="b", figures=(), curves=(), state="not-tested"))
    assert main(["results", "export"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["format"], data["records"][0]) == (2, new_record().to_json())
    out = tmp_path / "out.csv"
    assert main(["results", "export", "-o", str(out)]) == 0
    assert capsys.readouterr().err == f"wrote {out}: 2 records\n"
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert [(row["kind"], row["name"], row["size_bytes"], row["value"], row["unit"]) for row in rows] == [
        ("figure", "peak", "4194304", "47.8", "MB/s"),
        ("figure", "small_message_latency", "1", "11.6", "us"),
        ("curve", "bandwidth", "65536", "16.9", "MB/s"),
        ("curve", "bandwidth", "4194304", "47.8", "MB/s"),
        ("curve", "latency", "1", "11.6", "us"),
        ("curve", "latency", "1024", "12.0", "us"),
        ("", "", "", "", ""),
    ]
    assert (rows[0]["nodes"], rows[0]["rails"], rows[6]["state"]) == ("vn1 vn2", "1", "not-tested")


def test_an_export_goes_round(home: Path, stored_run: Stored, new_record: Made, capsys: Capsys, tmp_path: Path) -> None:
    folder = stored_run(new_record())
    out = tmp_path / "out.json"
    assert main(["results", "export", "-o", str(out)]) == 0
    (folder / FILE_NAME).unlink()
    folder.rmdir()
    assert main(["results", "merge", str(out)]) == 0
    assert capsys.readouterr().out == "20261121T060000Z-ab12: 1 record came, 0 were here\n"
    assert main(["results", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [new_record().to_json()]


def test_a_merge_that_could_not_take_a_line_exits_1(tmp_path: Path, new_record: Made, capsys: Capsys) -> None:
    file = tmp_path / "given.jsonl"
    file.write_text(json.dumps(new_record().to_json()) + '\n{"form', encoding="utf-8")
    assert main(["results", "merge", str(file)]) == 1
    assert capsys.readouterr() == (
        "20261121T060000Z-ab12: 1 record came, 0 were here\n",
        f"railyard: {file}:2: found no JSON, expected a record; that line is left out\n",
    )


def test_verify_counts_and_exits_1_on_a_problem(stored_run: Stored, new_record: Made, capsys: Capsys) -> None:
    folder = stored_run(new_record())
    assert main(["results", "verify"]) == 0
    assert capsys.readouterr().out == "1 record of 1 run: 0 problems, 0 remarks\n"
    with (folder / FILE_NAME).open("ab") as file:
        file.write(b"{")
    assert main(["results", "verify", "last"]) == 1
    assert capsys.readouterr().out.endswith("1 record of 1 run: 1 problem, 0 remarks\n")
    assert main(["results", "verify", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["weight"] == "problem"


NAMES = ("vn1", "vn2", "cn07", "alice", "bob", "10.1.2.3", "/opt/site")


def test_scrub_leaves_no_name_and_every_figure(
    stored_run: Stored, new_record: Made, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "bob")
    record = new_record(
        nodes=("vn1.cluster.example", "vn2"),
        verdict=VerdictRecord(
            "vn2 is slow, vn1-vn2 too, so says bob; cn07: down", 5, suspects=(Suspect("node", "slow", "cn07"),)
        ),
        command=("/home/alice/bin/mpirun", "-host", "vn1,vn2", "10.1.2.3", "/opt/site/osu_bw"),
        environment={"mpi": "5.0.2 of alice", "ofed": "5.8.1.1"},
        hardware=(NodeGroup(("vn1",), {"bios_version": "1.2.3.4"}),),
        conditions=(ConditionRecord("driver", "enic 2.1.1.47", ("paper",), {"enic 2.1.1.48": ("vn1", "vn2")}),),
    )
    stored_run(record)
    for command in (
        ["results", "export", "--scrub"],
        ["results", "export", "--scrub", "--format", "csv"],
        ["results", "show", "--scrub"],
        ["results", "show", "--scrub", "--json"],
        ["results", "show", "--scrub", "--test", "PingPong"],
    ):
        assert main(command) == 0
        out = capsys.readouterr().out
        assert [name for name in NAMES if name in out] == [], command
    assert main(["results", "export", "--scrub"]) == 0
    (given,) = json.loads(capsys.readouterr().out)["records"]
    assert given["where"]["nodes"] == ["node1", "node2"]
    assert given["found"]["verdict"]["sentence"] == "node2 is slow, node1-node2 too, so says user; node3: down"
    assert given["how"]["command"] == ["/path/mpirun", "-host", "node1,node2", "0.0.0.0", "/path/osu_bw"]
    assert (given["how"]["environment"]["ofed"], given["where"]["hardware"][0]["facts"]["bios_version"]) == (
        "5.8.1.1",
        "1.2.3.4",
    )
    (condition,) = given["found"]["conditions"]
    assert (condition["stated"], condition["unlike"]) == ("enic 2.1.1.47", {"enic 2.1.1.48": ["node1", "node2"]})
    assert given["found"]["curves"] == record.to_json()["found"]["curves"]
    assert (given["test"]["case"], given["test"]["stack"]) == (record.test.case, record.test.stack)
