"""`railyard matrix`: the whole product as lines or JSON, with a reason for all that does not run."""

import json
from pathlib import Path

import pytest

from railyard.cells import Cell
from railyard.cli import main
from railyard.commands.matrix import text
from railyard.home import HOME_VARIABLE

ROOT = Path(__file__).resolve().parents[1]

CELLS = (
    Cell("hsn", "mpich", 1, "A", "imb/PingPong", None),
    Cell("hsn", "mpich", 1, "B", "imb/Uniband", None),
    Cell("hsn", "mpich", 1, "C", "netpipe/stream", "no NetPIPE here"),
    Cell("hsn", "openmpi", 2, "A", "imb/PingPong", "no IMB here"),
    Cell("hsn", "openmpi", 2, "B", "imb/Uniband", "no IMB here"),
    Cell("hsn", "openmpi", 2, "C", "netpipe/stream", "hsn1 is on order", disabled=True),
    Cell("eth", "mpich", 2, "A", "imb/PingPong", "eth has 1 rail a node (eth0)"),
    Cell("eth", "mpich", 2, "B", "imb/Uniband", "eth has 1 rail a node (eth0)"),
)
TEXT = """\
hsn
  mpich      1 rail   imb/PingPong, imb/Uniband
                      not netpipe/stream: no NetPIPE here
  openmpi    2 rails  nothing runs
                      not imb/PingPong, imb/Uniband: no IMB here
                      not netpipe/stream: disabled: hsn1 is on order

eth
  mpich      2 rails  nothing runs
                      not all: eth has 1 rail a node (eth0)

8 cells: 2 run, 6 do not"""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(ROOT))


def test_the_matrix_as_lines() -> None:
    assert text(CELLS) == TEXT


def test_a_site_without_checks_is_one_sentence_and_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "systems").mkdir()
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert main(["matrix"]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {tmp_path}/checks: found no check, expected files with classes derived from InterconnectCheck; "
        "run from the clone, or copy checks/ beside systems/\n"
    )


def test_the_virtual_cluster_is_printed_unless_another_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[:2] == [
        "hsn",
        "  openmpi    1 rail   netpipe/pingpong, netpipe/stream, netpipe/bidirectional",
    ]
    assert printed.splitlines()[-1] == "132 cells: 33 run, 99 do not"
    assert main(["matrix", "--system", "local"]) == 0
    assert capsys.readouterr().out.startswith("loopback\n  openmpi    1 rail   netpipe/pingpong")


def test_json_has_every_cell_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)
    assert (len(cells), sum(cell["reason"] is None for cell in cells)) == (132, 33)
    assert cells[-1] == {
        "fabric": "eth",
        "stack": "intelmpi",
        "rails": 2,
        "check": "OsuAllreduce",
        "benchmark": "osu/osu_allreduce",
        "reason": "eth has 1 rail a node (eth0)",
        "disabled": False,
    }


def test_an_unknown_system_is_one_sentence_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--system", "virtul"]) == 2
    assert capsys.readouterr() == (
        "",
        'railyard: systems/: found no system "virtul", expected a system of that name; did you mean "virtual"?\n',
    )
