"""Folders of saved outputs: what each file gives, what a failed tool gives, and sentences for files of another kind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import InputError
from railyard.cluster.fabric.judge import judge
from railyard.cluster.fabric.model import Card, ExpectedFabric, Gid, Manager, SlotState, by_device, merge_ports
from railyard.cluster.fabric.own_json import lines_of, read_lines
from railyard.cluster.fabric.saved_outputs import read_folder, tool_of
from railyard.job.node_files import prepare_folder
from railyard.parsers.fabric.port import PortState

Links = dict[str, Any]
CLEAN = """\

## Summary: 7 nodes checked, 0 bad nodes found
##          88 ports checked, 0 ports have errors beyond threshold
"""
SMINFO = "sminfo: sm lid 10 sm guid 0xb8599f030000100a, activity count 4 priority 0 state 3 SMINFO_MASTER\n"
IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4119
\tNumber of ports: 1
\tFirmware version: 16.35.2000
\tNode GUID: 0xb8599f030000100a
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 100
\t\tBase lid: 10
\t\tSM lid: 1
\t\tPort GUID: 0xb8599f030000100a
\t\tLink layer: InfiniBand
"""
NO_RIGHT = "ibpanic: [17] main: Failed to open '(null)' port '0'\niblinkinfo: failed: Permission denied\n"


@pytest.fixture
def folder(tmp_path: Path, links: Links, show: Callable[[Links], str]) -> Path:
    """A folder with the outputs of the healthy fabric."""
    place = tmp_path / "saved"
    (place / "vn1").mkdir(parents=True)
    for name, text in {
        "iblinkinfo.out": show(links),
        "ibqueryerrors.out": CLEAN,
        "sminfo.out": SMINFO,
        "vn1/ibstat.out": IBSTAT + IBSTAT.replace("mlx5_0", "mlx5_1").replace("100a", "100b"),
    }.items():
        (place / name).write_text(text, encoding="utf-8")
    return place


def test_a_healthy_folder_gives_nothing(folder: Path, expected_edr: ExpectedFabric) -> None:
    readings = read_folder(folder)
    report = judge(expected_edr, readings)
    assert (report.findings, report.notes, report.seen, report.hops) == ((), (), 8, {1: 4, 3: 8})
    assert (readings.is_whole, readings.counters, readings.later) == (True, (), None)
    assert readings.managers == {"": Manager(10, "0xb8599f030000100a", "MASTER")}


def test_a_second_reading_of_counters_is_by_name(folder: Path, expected_edr: ExpectedFabric) -> None:
    grown = f'Errors for "vn3 mlx5_1"\n   GUID 0xb8599f030000100f port 1: [SymbolErrorCounter == 7]\n{CLEAN}'
    (folder / "ibqueryerrors-later.out").write_text(grown, encoding="utf-8")
    assert [finding.found for finding in judge(expected_edr, read_folder(folder)).findings] == [
        "SymbolErrorCounter +7 in the time between two readings"
    ]


def test_without_umad_rights_a_nodes_own_ports_are_judged_and_the_rest_is_counted(
    folder: Path, expected_edr: ExpectedFabric
) -> None:
    for name in ("iblinkinfo", "ibqueryerrors"):
        (folder / f"{name}.out").write_text(NO_RIGHT.replace("iblinkinfo", name), encoding="utf-8")
    (folder / "sminfo.out").write_text("sminfo: iberror: failed: Permission denied\n", encoding="utf-8")
    report = judge(expected_edr, read_folder(folder))
    assert (report.findings, report.seen, report.unseen) == ((), 2, 6)
    assert report.notes[0] == (
        "iblinkinfo failed in part: ibpanic: [17] main: Failed to open '(null)' port '0'; reading the subnet needs "
        "read access to /dev/infiniband/umad* (root has it)"
    )


def test_answers_of_nodes_are_read_a_file_a_node_and_one_that_is_cut_is_said(tmp_path: Path) -> None:
    asking = prepare_folder(tmp_path / "answers", "today", 3)
    own = '{"format":1,"node":"NODE","ports":[{"device":"mlx5_0","port":1,"state":"Active"}],"cards":[]}\n'
    for rank, (node, text) in enumerate({"vn1": own, "vn2": own, "vn3": "Traceback\n"}.items()):
        above = f"railyard-file 1 today {node} {rank} - -\n{text.replace('NODE', node)}\n"
        end = f"railyard-file end 0 {len(above)}\n" if node != "vn2" else ""
        (asking.folder / f"{node}.{rank}.out").write_text(above + end, encoding="utf-8")
    read = read_folder(tmp_path)
    assert [(port.node, port.device) for port in read.own] == [("vn1", "mlx5_0")]
    cut = f"not judged: vn2: its answer {asking.folder}/vn2.1.out is incomplete: found "
    assert [note[: len(cut)] for note in read.notes][:1] == [cut]
    assert read.notes[1:] == (
        "not judged: vn3: its answer (exit code 0): found no such line, expected a line that `railyard fabric --own` "
        "printed",
    )


def test_a_file_of_a_strange_name_is_said(folder: Path, expected_edr: ExpectedFabric) -> None:
    (folder / "README").write_text("outputs of Monday\n", encoding="utf-8")
    (folder / "vn1/dmesg.txt").write_text("nothing\n", encoding="utf-8")
    assert judge(expected_edr, read_folder(folder)).notes == (
        "not read, since no known tool has this name: vn1/dmesg.txt",
        "not read, since no known tool has this name: README",
    )


def test_mlxlink_and_dcb_are_of_the_device_in_their_names(folder: Path) -> None:
    mlxlink = "Operational Info\n----------------\nState : Active\nSpeed : IB-EDR\nWidth : 4x\n"
    (folder / "vn1/mlxlink-mlx5_1.out").write_text(mlxlink, encoding="utf-8")
    port = next(port for port in read_folder(folder).own if port.device == "mlx5_1")
    assert (port.node, port.port, port.width, port.speed, port.firmware) == ("vn1", 1, "4X", "EDR", "16.35.2000")
    assert tool_of(Path("dcb-mlx5_1.out")) == "dcb"


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        (
            *("iblinkinfo.out", "hello\n"),
            'iblinkinfo.out:1: found "hello", expected output of iblinkinfo: a port as "5 1[  ] ==( 4X 25.78125 Gbps '
            'Active/ ..."; name each file after its tool',
        ),
        (
            *("vn1/own.out", "srun: job 7\n"),
            "own.out: found no such line, expected a line that `railyard fabric --own` printed",
        ),
        (
            *("vn1/own.out", '{"format":1,"node":"vn1","ports":[{"device"\n'),
            "own.out:1: found no whole JSON (",
        ),
        (
            *("vn1/own.out", '{"format":2,"node":"vn1","ports":[],"cards":[]}\n'),
            "own.out:1: found format 2, expected format 1; read it with its own Railyard",
        ),
    ],
)
def test_a_file_that_is_none_of_its_tools_is_one_sentence(folder: Path, file: str, text: str, sentence: str) -> None:
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_folder(folder)
    assert sentence in str(refused.value)


def test_a_folder_that_holds_nothing_or_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r": found no such folder, expected a folder of saved outputs$"):
        read_folder(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"/empty: found no output of a known tool, expected outputs named by "):
        read_folder(tmp_path / "empty")


def test_a_nodes_own_line_gives_what_it_was_made_from() -> None:
    port = PortState(node="vn1", device="mlx5_0", port=1, kind="CA", rate=100.0, counters={"VL15Dropped": 1})
    slot = SlotState("0000:3b:00.0", "8.0 GT/s PCIe", 16, max_payload=256, relaxed_ordering=True)
    card = Card("vn1", "mlx5_0", "mlx5_core", slot=slot, gids=(Gid(0, "fe80::1", "v1"),), ecn=(3,), unread=("config",))
    line = lines_of("vn1", (port,), (card,))
    assert "\n" not in line
    ports, cards = read_lines(f"srun: something\n{line}\n", "job.out")
    assert (ports, cards) == ((port,), (card,))
    assert list(json.loads(line)) == ["format", "node", "ports", "cards"]


def test_long_texts_of_several_nodes_are_told_apart_though_their_lines_alternate() -> None:
    def printed_lines(node: str) -> tuple[Card, list[str]]:
        gids = tuple(Gid(index, f"fe80::{index:04x}", "v1") for index in range(60))
        card = Card(node, "mlx5_0", "mlx5_core", gids=gids)
        return card, lines_of(node, (), (card,)).split("\n")

    (one, first), (other, second) = printed_lines("vn1"), printed_lines("vn2")
    assert len(first) == len(second) > 2 and all(len(line) < 1024 for line in (*first, *second))
    mixed = [line for both in zip(first, second, strict=True) for line in both]
    assert read_lines("\n".join(mixed), "job.out") == ((), (one, other))
    with pytest.raises(InputError, match=r"job\.out: found of vn2 only the parts 1 and 2, expected all parts"):
        read_lines("\n".join([*first, *second[:2]]), "job.out")


def test_views_of_one_port_fill_each_other() -> None:
    first = PortState(node="vn1.site", device="mlx5_0", port=1, state="Active", counters={"A": 1})
    second = PortState(node="vn1", device="mlx5_0", port=1, state="Down", rate=100.0, counters={"A": 9, "B": 2})
    (port,) = merge_ports(by_device, (first,), (second,))
    assert (port.state, port.rate, dict(port.counters)) == ("Active", 100.0, {"A": 1, "B": 2})


def test_rails_on_subnets_of_their_own_have_the_same_lids(
    folder: Path, links: Links, show: Callable[[Links], str], expected_edr: ExpectedFabric
) -> None:
    first = show({name: link for name, link in links.items() if "mlx5_1" not in name})
    second = first.replace("mlx5_0", "mlx5_1").replace("0xb8599f03", "0xb8599f04").replace("0xec0d9a03", "0xec0d9a04")
    (folder / "iblinkinfo.out").unlink()
    (folder / "iblinkinfo-mlx5_0.out").write_text(first, encoding="utf-8")
    (folder / "iblinkinfo-mlx5_1.out").write_text(second, encoding="utf-8")
    report = judge(expected_edr, read_folder(folder))
    assert (report.findings, report.seen, report.hops) == ((), 8, {1: 4, 3: 8})


def test_one_subnet_that_is_seen_from_two_rails_is_one(folder: Path, expected_edr: ExpectedFabric) -> None:
    (folder / "iblinkinfo-mlx5_1.out").write_bytes((folder / "iblinkinfo.out").read_bytes())
    report = judge(expected_edr, read_folder(folder))
    assert (report.findings, report.seen, report.hops) == ((), 8, {1: 4, 3: 8})


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("Rate: 100", "Rate: 40", "40 Gbit/s"),
        ("State: Active", "State: Initializing", "Initializing (LinkUp)"),
        ("State: Active\n\t\tPhysical state: LinkUp", "State: Down\n\t\tPhysical state: Polling", "Down (Polling)"),
    ],
)
def test_a_rail_that_its_node_shows_as_wrong_is_a_problem_though_the_subnet_shows_it_as_right(
    folder: Path, expected_edr: ExpectedFabric, old: str, new: str, found: str
) -> None:
    output = folder / "vn1/ibstat.out"
    output.write_text(output.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    (one,) = judge(expected_edr, read_folder(folder)).findings
    assert (one.place, one.found, one.weight) == ("vn1 mlx5_0 port 1", found, "problem")
    assert one.fix.startswith("the subnet shows 4X EDR (100 Gbit/s), Active: read both again; if it stays, ")


def test_sdr_alone_is_a_remark_since_kernels_print_it_for_a_speed_that_they_do_not_know(
    folder: Path, expected_edr: ExpectedFabric
) -> None:
    output = folder / "vn1/ibstat.out"
    output.write_text(output.read_text(encoding="utf-8").replace("Rate: 100", "Rate: 10", 1), encoding="utf-8")
    assert [finding.weight for finding in judge(expected_edr, read_folder(folder)).findings] == ["remark"]


def test_an_output_about_one_device_does_not_say_that_the_other_is_absent(
    folder: Path, expected_edr: ExpectedFabric
) -> None:
    (folder / "vn1/ibstat.out").unlink()
    (folder / "vn1/ibstat-mlx5_0.out").write_text(IBSTAT, encoding="utf-8")
    assert judge(expected_edr, read_folder(folder)).findings == ()


def test_error_counters_without_a_summary_may_be_cut(folder: Path, expected_edr: ExpectedFabric) -> None:
    begun = 'Errors for "vn3 mlx5_1"\n   GUID 0xb8599f030000100f port 1: [PortXmitWait == 7]\n'
    cut = "ibqueryerrors.out has no summary at its end, as if it were cut: it may lack ports with errors"
    for text, is_cut in ((begun, True), (begun + "Errors for", True), (begun + CLEAN, False)):
        (folder / "ibqueryerrors.out").write_text(text, encoding="utf-8")
        assert (cut in read_folder(folder).notes) == is_cut


def test_perfquery_of_a_node_or_of_the_subnet_is_judged(folder: Path, expected_edr: ExpectedFabric) -> None:
    counters = "# Port counters: Lid {} port 1 (CapMask: 0x5200)\nSymbolErrorCounter:..............{}\n"
    (folder / "vn1/perfquery-mlx5_0.out").write_text(counters.format(10, 3), encoding="utf-8")
    assert judge(expected_edr, read_folder(folder)).findings == ()
    (folder / "vn1/perfquery-mlx5_0.out").write_text(counters.format(10, 4711), encoding="utf-8")
    (found,) = judge(expected_edr, read_folder(folder)).findings
    assert (found.node, found.device, found.found) == (
        "vn1",
        "mlx5_0",
        "SymbolErrorCounter 4711 since they were cleared",
    )
    (folder / "vn1/perfquery-mlx5_0.out").unlink()
    (folder / "perfquery.out").write_text(counters.format(10, 4711), encoding="utf-8")
    (found,) = judge(expected_edr, read_folder(folder)).findings
    assert (found.node, found.device) == ("vn1", "mlx5_0")
    (folder / "perfquery.out").write_text(counters.format(999, 4711), encoding="utf-8")
    (found,) = judge(expected_edr, read_folder(folder)).findings
    assert found.node == "LID 999"


def test_bad_signal_integrity_is_a_problem_of_its_port(folder: Path, expected_edr: ExpectedFabric) -> None:
    mlxlink = (
        "Operational Info\n----------------\nState                           : Active\n"
        "Physical state                  : LinkUp\nSpeed                           : IB-EDR\n"
        "Width                           : 4x\n\nTroubleshooting Info\n--------------------\n"
        "Status Opcode                   : {}\nGroup Opcode                    : PHY FW\n"
        "Recommendation                  : {}\n"
    )
    (folder / "vn1/mlxlink-mlx5_0.out").write_text(mlxlink.format(0, "No issue was observed"), encoding="utf-8")
    assert judge(expected_edr, read_folder(folder)).findings == ()
    (folder / "vn1/mlxlink-mlx5_0.out").write_text(mlxlink.format(15, "Bad signal integrity"), encoding="utf-8")
    (found,) = judge(expected_edr, read_folder(folder)).findings
    assert (found.weight, found.node, found.device) == ("problem", "vn1", "mlx5_0")
    assert found.found == "mlxlink: Bad signal integrity (status opcode 15)"
