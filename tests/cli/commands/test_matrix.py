"""`railyard matrix`: the whole product as lines or JSON, with a reason for each cell that does not run."""

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
    Cell(TestId("hsn", "mpich", 1, "imb/PingPong", "ImbPingPong"), None),
    Cell(TestId("hsn", "mpich", 1, "imb/Uniband", "ImbUniband"), None, extended=True),
    Cell(TestId("hsn", "mpich", 1, "netpipe/stream", "NetpipeStream"), "no NetPIPE here"),
    Cell(TestId("hsn", "mpich", 2, "imb/PingPong", "ImbPingPong", "striping"), None),
    Cell(TestId("hsn", "openmpi", 2, "imb/PingPong", "ImbPingPong"), "no IMB here"),
    Cell(TestId("hsn", "openmpi", 2, "imb/Uniband", "ImbUniband"), "no IMB here"),
    Cell(TestId("hsn", "openmpi", 2, "netpipe/stream", "NetpipeStream"), "hsn1 is on order", disabled=True),
    Cell(TestId("eth", "mpich", 2, "imb/PingPong", "ImbPingPong"), "eth has 1 rail per node (eth0)"),
    Cell(TestId("eth", "mpich", 2, "imb/Uniband", "ImbUniband"), "eth has 1 rail per node (eth0)"),
)
TABLE = """\
hsn          mpich
ImbPingPong  1 2
ImbUniband   (1)
striping over several rails: mpich
no check runs with: openmpi
1 check with no stack: NetpipeStream

eth
nothing runs

numbers: the rails that a check runs with; (in brackets): with --extended only"""
TEXT = f"""\
{TABLE}
9 cells: 3 run, 6 do not (--why: the reasons)"""
WHY = f"""\
{TABLE}

why not:
no IMB here (2 cells)
    hsn: openmpi (2 rails)
    ImbPingPong, ImbUniband
eth has 1 rail per node (eth0) (2 cells)
    eth: mpich (2 rails)
    ImbPingPong, ImbUniband
no NetPIPE here (1 cell)
    hsn: mpich (1 rail)
    NetpipeStream
disabled: hsn1 is on order (1 cell)
    hsn: openmpi (2 rails)
    NetpipeStream

9 cells: 3 run, 6 do not"""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(ROOT))


def test_the_matrix_is_a_table_and_gives_reasons_when_it_is_asked_for_them() -> None:
    assert text(CELLS) == TEXT
    assert text(CELLS, why=True) == WHY


def test_variants_of_a_check_share_a_line_where_they_run_at_the_same_places() -> None:
    def cell(nodes: int, stack: str, reason: str | None = None) -> Cell:
        return Cell(TestId("hsn", stack, 1, f"hpl/hpl/{nodes}-nodes", f"HplScaling %nodes={nodes}"), reason)

    some = (cell(2, "mpich"), cell(4, "mpich"), cell(8, "mpich", "needs 8 nodes, hsn has 4"))
    assert text(some).splitlines()[:3] == [
        "hsn                          mpich",
        "HplScaling %nodes=2 +1 more  1",
        "",
    ]
    assert text(some[:2]).splitlines()[1] == "HplScaling  1"
    apart = (*some[:2], cell(2, "openmpi"), cell(4, "openmpi", "no HPL here"))
    assert text(apart).splitlines()[1:3] == ["HplScaling %nodes=2  1      1", "HplScaling %nodes=4  1      -"]


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_no_line_is_wider_than_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["matrix", "--why"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert max(map(len, printed)) <= columns
    # a column that did not fit is in a table below, and none is lost
    heads = [line.split()[1:] for line in printed if line.startswith("hsn  ")]
    assert [name for head in heads for name in head] == ["openmpi", "mpich", "intelmpi", "intelmpi", "tcp", "libfabric"]
    assert (len(heads) > 1) == (columns < 80)


def test_a_table_below_has_no_line_for_a_check_that_runs_in_none_of_its_columns() -> None:
    cells = (
        Cell(TestId("hsn", "openmpi", 1, "osu/osu_bw", "OsuBandwidth"), None),
        Cell(TestId("hsn", "verbs", 1, "osu/osu_bw", "OsuBandwidth"), "no MPI"),
        Cell(TestId("hsn", "openmpi", 1, "perftest/ib_write_bw", "WriteBandwidth"), "no MPI needed"),
        Cell(TestId("hsn", "verbs", 1, "perftest/ib_write_bw", "WriteBandwidth"), None),
    )
    assert text(cells).splitlines()[:3] == [
        "hsn             openmpi  verbs",
        "OsuBandwidth    1        -",
        "WriteBandwidth  -        1",
    ]
    assert text(cells, width=25).splitlines()[:5] == [
        "hsn             openmpi",
        "OsuBandwidth    1",
        "",
        "hsn             verbs",
        "WriteBandwidth  1",
    ]


def test_one_reason_is_said_once_whatever_tool_and_stack_it_names() -> None:
    cells = tuple(
        Cell(TestId("hsn", stack, 1, f"{tool}/x", tool), f"big states no {tool} for {stack}")
        for stack in ("mpich", "openmpi")
        for tool in ("hpl", "npb")
    )
    assert text(cells, why=True).splitlines()[-5:-2] == [
        "big states no such tool for the stack (4 cells)",
        "    hsn: mpich, openmpi (1 rail)",
        "    every check",
    ]


def test_a_site_without_checks_is_one_sentence_and_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "checks").mkdir()
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert main(["matrix"]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {tmp_path}/checks: found no check, expected files with classes derived from InterconnectCheck; "
        "put some there, or remove the folder: then Railyard's own checks are used\n"
    )


def test_checks_of_a_place_are_shown_instead_of_those_of_the_site(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--json", "-c", str(ROOT / "checks/microbench/netpipe.py")]) == 0
    cells = json.loads(capsys.readouterr().out)
    assert {cell["check"].split()[0][:7] for cell in cells if cell["check"]} == {"Netpipe"}
    assert main(["matrix", "-c", str(ROOT / "railyard/cli/options.py")]) == 2
    assert capsys.readouterr().err.endswith(
        "options.py: found no check, expected files with classes derived from InterconnectCheck; "
        "put @rfm.simple_test above each class\n"
    )


def test_the_virtual_cluster_is_printed_unless_another_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["matrix"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "hsn                    openmpi  mpich  intelmpi  intelmpi      tcp    libfabric"
    assert "NetpipePingPong        1 2      -      -         -             -      -" in printed
    assert "ImbUniband             -        1 2    1 2       (2)           -      -" in printed
    assert re.fullmatch(r"[0-9]+ cells: [0-9]+ run, [0-9]+ do not \(--why: the reasons\)", printed[-1])
    assert main(["matrix", "--system", "local"]) == 0
    assert capsys.readouterr().out.startswith("loopback               openmpi  mpich  intelmpi\nImbPingPong ")


def test_json_has_every_cell_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)
    # one for every check, and one without a check for each rail policy that a stack lacks
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
        "reason": "eth has 1 rail per node (eth0)",
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
qdr  mvapich2  mvapich2
               nic-per-rank
A    2         -
B    -         2
striping over several rails: mvapich2"""


def test_rail_policies_are_columns_of_their_own_and_what_a_stack_lacks_says_why() -> None:
    lacking = Cell(TestId("qdr", "mvapich2", 2, "", "", "round-robin"), "it has none", named=True)
    shown = text(POLICED, (lacking,), why=True)
    assert shown.startswith(f"{POLICED_TEXT}\n\n")
    assert "it has none (1 cell)\n    qdr: mvapich2 (2 rails)\n    rail policy round-robin\n" in shown


def test_the_matrix_of_the_virtual_cluster_says_why_a_stack_has_one_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--why"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "mpich on tcp: UCX splits one large message over its devices and sends small ones over the first: it has no "
        "round robin (mvapich2 has). (1 cell) hsn: mpich (2 rails) rail policy round-robin"
    ) in said
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
