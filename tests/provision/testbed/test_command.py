"""`railyard testbed` on the command line: whole outputs, exit codes, one sentence for each mistake."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.provision.testbed.cluster import Testbed

UP = "4 nodes (vn1, vn2, vn3, vn4); eth0 80 Mbit/s, hsn0 120 Mbit/s, hsn1 120 Mbit/s\n"


@pytest.fixture
def home(namespaces: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "systems").mkdir()
    monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def bed_home(bed: Testbed, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = bed.folder.parent.parent
    (home / "systems").mkdir(exist_ok=True)
    monkeypatch.setenv("RAILYARD_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "120")
    bed.restore()
    return home


def testbed(*words: str) -> int:
    return main(["testbed", *words])


testbed.__test__ = False  # type: ignore[attr-defined]


def test_up_up_down_down(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = [testbed("up")]
    codes.append(testbed("degrade", "vn2", "hsn1", "slow", "40mbit"))
    codes.append(testbed("up"))
    codes += [testbed("down"), testbed("down")]
    assert codes == [0, 0, 0, 0, 0]
    assert capsys.readouterr().out == (
        f"up: {UP}hsn1 of vn2 is slow (40 Mbit/s)\nit is up already: {UP}"
        "degraded: hsn1 of vn2 is slow (40 Mbit/s)\ndown\nit was not up\n"
    )


@pytest.mark.parametrize(
    "words",
    [["status"], ["exec", "vn1", "--", "true"], ["degrade", "vn1", "hsn0", "unplugged"], ["restore"]],
    ids=lambda words: words[0],
)
def test_all_else_says_that_it_is_not_up(home: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert testbed(*words) == 2
    assert capsys.readouterr().err == ("railyard: testbed: the virtual cluster is not up: run 'railyard testbed up'\n")


def test_status_as_a_table(bed: Testbed, bed_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bed.degrade("vn2", "hsn1", "lossy", 1)
    bed.degrade("vn3", "hsn0", "unplugged")
    assert testbed("status") == 0
    words = [re.sub(r"[│┃]|\s+", " ", line).split() for line in capsys.readouterr().out.splitlines()]
    rows = [" ".join(row) for row in words if row and row[0].startswith("vn")]
    assert len(rows) == 12
    assert rows[0].startswith("vn1 eth0 eth 10.99.0.1 80 Mbit/s")
    assert [row.split(" Mbit/s ")[0] + row[-20:].rpartition(".")[2][1:] for row in rows if not row.endswith("ok")] == [
        "vn2 hsn1 hsn rail 1 10.99.2.2 120 lossy (1 %)",
        "vn3 hsn0 hsn rail 0 10.99.1.3 120 unplugged",
    ]


def test_status_as_json(bed: Testbed, bed_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bed.degrade("vn2", "hsn1", "slow", 40)
    assert testbed("status", "--json") == 0
    rails = json.loads(capsys.readouterr().out)["rails"]
    (rail,) = [rail for rail in rails if rail["degradations"]]
    assert {**rail, "tx_bytes": 0, "rx_bytes": 0} == {
        "node": "vn2", "device": "hsn1", "network": "hsn rail 1", "address": "10.99.2.2", "rate_mbit_s": 120.0,
        "carrier": True, "tx_bytes": 0, "rx_bytes": 0, "degradations": [{"kind": "slow", "value": 40}],
    }  # fmt: skip


def test_exec_becomes_the_command(bed_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "railyard", "testbed", "exec", "vn3", "--", "sh", "-c", "hostname; exit 9"],
        capture_output=True, text=True, env=os.environ,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("vn3\n", "", 9)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["exec", "vn5", "--", "true"], 'testbed: no node is called "vn5"; did you mean "vn'),
        (["exec", "vn1", "--"], "no command was given: railyard testbed exec NODE -- COMMAND"),
        (["degrade", "vn1", "hsn0", "slow", "fast"], 'testbed: the rate "fast" is not a number of Mbit/s: write 40, '),
        (["degrade", "vn1", "eht0", "unplugged"], 'testbed: no network has the device "eht0"; did you mean "eth0"?'),
        (["restore", "vn1", "hsn9"], 'testbed: no network has the device "hsn9"; did you mean "hsn'),
        (["dwon"], 'no such command "dwon"; did you mean "down"?'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_one_sentence_and_exit_2(
    bed_home: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert testbed(*words) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"railyard: {sentence}")
    assert printed.count("\n") == 1


def test_restore_says_what_it_undid(bed: Testbed, bed_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bed.degrade("vn2", "hsn1", "slow", 40)
    assert [testbed("restore", "vn1"), testbed("restore", "vn2", "hsn1"), testbed("restore")] == [0, 0, 0]
    assert capsys.readouterr().out == (
        "nothing was degraded\nhsn1 of vn2 is no longer slow (40 Mbit/s)\nnothing was degraded\n"
    )
