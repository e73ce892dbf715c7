"""`railyard matrix`: the whole product as lines or JSON, with a reason for all that does not run."""

import json
import re
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.commands.matrix import text
from railyard.cli.main import main
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId

ROOT = Path(__file__).resolve().parents[3]

CELLS = (
    Cell(TestId("hsn", "mpich", 1, "imb/PingPong", "A"), None),
    Cell(TestId("hsn", "mpich", 1, "imb/Uniband", "B"), None),
    Cell(TestId("hsn", "mpich", 1, "netpipe/stream", "C"), "no NetPIPE here"),
    Cell(TestId("hsn", "openmpi", 2, "imb/PingPong", "A"), "no IMB here"),
    Cell(TestId("hsn", "openmpi", 2, "imb/Uniband", "B"), "no IMB here"),
    Cell(TestId("hsn", "openmpi", 2, "netpipe/stream", "C"), "hsn1 is on order", disabled=True),
    Cell(TestId("eth", "mpich", 2, "imb/PingPong", "A"), "eth has 1 rail a node (eth0)"),
    Cell(TestId("eth", "mpich", 2, "imb/Uniband", "B"), "eth has 1 rail a node (eth0)"),
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

device buffers: not tested
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
    (tmp_path / "checks").mkdir()
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert main(["matrix"]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {tmp_path}/checks: found no check, expected files with classes derived from InterconnectCheck; "
        "put some there, or remove the folder: Railyard's own are taken then\n"
    )


def test_the_virtual_cluster_is_printed_unless_another_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[:2] == [
        "hsn",
        "  openmpi    1 rail   netpipe/pingpong, netpipe/stream, netpipe/bidirectional",
    ]
    assert re.fullmatch(r"[0-9]+ cells: [0-9]+ run, [0-9]+ do not", printed.splitlines()[-1])
    assert main(["matrix", "--system", "local"]) == 0
    assert capsys.readouterr().out.startswith("loopback\n  openmpi    1 rail   netpipe/pingpong")


def test_json_has_every_cell_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)
    # of every check, and of each rail policy that a stack has not got one without a check
    checked = [cell for cell in cells if cell["check"]]
    assert sum(cell["reason"] is None and not cell["extended"] for cell in checked) == 33
    assert all(cell["reason"] for cell in cells if not cell["check"])
    (cell,) = (
        c for c in checked if (c["fabric"], c["stack"], c["rails"], c["check"]) == ("eth", "mpich", 2, "OsuBandwidth")
    )
    assert cell == {
        "fabric": "eth",
        "stack": "mpich",
        "rails": 2,
        "check": "OsuBandwidth",
        "benchmark": "osu/osu_bw",
        "reason": "eth has 1 rail a node (eth0)",
        "disabled": False,
        "extended": False,
        "policy": "",
        "named": False,
    }


def test_an_unknown_system_is_one_sentence_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--system", "virtul"]) == 2
    assert capsys.readouterr() == (
        "",
        'railyard: systems/: found no system "virtul", expected a system of that name; did you mean "virtual"?\n',
    )


POLICED = (
    Cell(TestId("qdr", "mvapich2", 2, "osu/osu_bw", "A", "striping"), None),
    Cell(TestId("qdr", "mvapich2", 2, "osu/osu_mbw_mr", "B", "striping"), "no number", disabled=True),
    Cell(TestId("qdr", "mvapich2", 2, "osu/osu_bw", "A", "nic-per-rank"), "one pair", named=True),
    Cell(TestId("qdr", "mvapich2", 2, "osu/osu_mbw_mr", "B", "nic-per-rank"), None, named=True),
)
POLICED_TEXT = """\
qdr
  mvapich2   2 rails  striping: osu/osu_bw
                      not osu/osu_mbw_mr: disabled: no number
                      no round-robin: it has none
  mvapich2   2 rails  nic-per-rank: osu/osu_mbw_mr
                      not osu/osu_bw: one pair

device buffers: not tested
4 cells: 2 run, 2 do not"""


def test_rail_policies_are_lines_of_their_own_and_what_a_stack_lacks_says_why() -> None:
    lacking = Cell(TestId("qdr", "mvapich2", 2, "", "", "round-robin"), "it has none", named=True)
    assert text(POLICED, (lacking,)) == POLICED_TEXT


def test_the_matrix_of_the_virtual_cluster_says_why_a_stack_has_one_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix"]) == 0
    assert (
        "                      no round-robin: mpich on tcp: UCX splits one large message over its devices and sends "
        "small ones over the first: it has no round robin (mvapich2 has)."
    ) in capsys.readouterr().out.splitlines()
    assert main(["matrix", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)
    assert {(cell["stack"], cell["policy"]) for cell in cells if not cell["check"]} >= {
        ("openmpi", "round-robin"), ("openmpi", "nic-per-rank"), ("mpich", "round-robin"), ("mpich", "nic-per-rank"),
        ("intelmpi", "striping"),
    }  # fmt: skip


def test_only_the_problems_that_a_system_asks_for_are_in_its_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--json"]) == 0
    benchmarks = {cell["benchmark"] for cell in json.loads(capsys.readouterr().out)}
    assert {"npb/CG/S", "npb/CG/W", "npb/FT/W/4-nodes"} <= benchmarks
    assert not {name for name in benchmarks if name.startswith(("npb/CG/C", "npb/FT/C"))}
