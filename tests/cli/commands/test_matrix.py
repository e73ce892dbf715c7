"""`railyard matrix`: the whole product as lines or JSON, with a reason for all that does not run."""

import json
import re
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.commands.matrix import text
from railyard.cli.main import main
from railyard.site.matrix import Cell

ROOT = Path(__file__).resolve().parents[3]

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
    Cell("qdr", "mvapich2", 2, "A", "osu/osu_bw", None, policy="striping"),
    Cell("qdr", "mvapich2", 2, "B", "osu/osu_mbw_mr", "no number", disabled=True, policy="striping"),
    Cell("qdr", "mvapich2", 2, "A", "osu/osu_bw", "one pair", policy="nic-per-rank", named=True),
    Cell("qdr", "mvapich2", 2, "B", "osu/osu_mbw_mr", None, policy="nic-per-rank", named=True),
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
    lacking = Cell("qdr", "mvapich2", 2, "", "", "it has none", policy="round-robin", named=True)
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
