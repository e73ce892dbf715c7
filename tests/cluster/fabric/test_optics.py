"""Cables and modules in `railyard fabric`, and in `railyard judge FILE`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.cluster.fabric.judge import judge
from railyard.cluster.fabric.model import ExpectedFabric, RailExpected
from railyard.cluster.fabric.own_json import lines_of, read_lines
from railyard.cluster.fabric.saved_outputs import optics_words, read_folder

SAMPLES = Path(__file__).parents[2] / "parsers/fabric/samples"


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")


@pytest.fixture
def expected_ndr() -> ExpectedFabric:
    rails = (RailExpected("mlx5_0", 1, None, "mlx5"), RailExpected("mlx5_1", 1, None, "mlx5"))
    return ExpectedFabric("systems/s.yaml", "ndr", "ib", "ib-ndr", rails, ("n1",), 1, 4, "NDR", 400.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1/mlxlink-mlx5_0.out").write_text(sample("mlxlink-module"), encoding="utf-8")
    return tmp_path


def test_alarms_of_a_module_are_problems_with_node_port_and_serial(folder: Path, expected_ndr: ExpectedFabric) -> None:
    report = judge(expected_ndr, read_folder(folder))
    optics = [one for one in report.findings if one.what == "optics"]
    assert [(one.place, one.found, one.weight) for one in optics] == [
        ("n1 mlx5_0 port 1", "transmitted power of lane 3 5.1 dBm", "problem"),
        ("n1 mlx5_0 port 1", "received power of lane 2 no light", "problem"),
    ]
    assert all("serial X000999" in one.fix for one in optics)
    said = "n1 mlx5_0 port 1: bit errors before correction 3e-09, after it 1.5e-254 (Standard_RS-FEC - (544,514))"
    assert any(note.startswith(said) for note in report.notes)


def test_a_warning_is_a_remark_and_what_is_not_stated_a_note(folder: Path, expected_ndr: ExpectedFabric) -> None:
    link = sample("mlxlink-module").partition("Module Info")[0]
    for device, module in (("mlx5_0", "ethtool-cmis"), ("mlx5_1", "ethtool-cmis")):
        (folder / f"n1/mlxlink-{device}.out").write_text(link, encoding="utf-8")
        (folder / f"n1/ethtool-{device}.out").write_text(sample(module), encoding="utf-8")
    report = judge(expected_ndr, read_folder(folder))
    assert [(one.what, one.weight) for one in report.findings] == [("optics", "remark"), ("optics", "remark")]
    assert sum("lanes 5 to 8: no bias and no light either way" in note for note in report.notes) == 2


def test_a_module_goes_through_a_nodes_own_lines(folder: Path) -> None:
    (port,) = read_folder(folder).own
    (again,), _ = read_lines(lines_of("n1", (port,), ()), "own.out")
    assert dict(again.module) == dict(port.module)


@pytest.mark.parametrize(
    ("there", "device", "netdevs", "words"),
    [
        (("mlxlink", "ethtool"), "mlx5_0", ["eth1"], ("mlxlink", "-d", "mlx5_0", "-m", "-c")),
        (("ethtool",), "mlx5_0", ["eth1"], ("ethtool", "-m", "eth1")),
        (("ethtool",), "mlx5_0", [], ()),
        (("mlxlink",), "bnxt_re0", ["eth1"], ()),
    ],
)
def test_the_tool_is_that_of_the_card_and_the_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], device: str, netdevs: list[str], words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/usr/bin/{name}" if name in there else None)
    assert optics_words(device, netdevs) == words


@pytest.mark.parametrize(
    ("name", "code", "state", "said"),
    [
        (
            "ethtool",
            1,
            "fail",
            "EXAMPLE Q28-SR4-X, serial X000456: laser bias current of lane 4 0 mA, expected",
        ),
        ("ethtool-cmis", 0, "pass", "serial X000789: no reading is beyond the module's own alarms"),
        ("mlxlink-module", 1, "fail", "received power of lane 2 no light, expected at least -10.41 dBm"),
    ],
)
def test_judge_reads_a_module_by_its_own_thresholds(
    capsys: pytest.CaptureFixture[str], name: str, code: int, state: str, said: str
) -> None:
    assert main(["judge", str(SAMPLES / f"{name}.txt"), "--json"]) == code
    (judged,) = json.loads(capsys.readouterr().out)["judgements"]
    assert judged["state"] == state
    assert said in judged["sentence"]


def test_judge_passes_no_module_that_states_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ethtool.out"
    head = [line for line in sample("ethtool").splitlines() if "threshold" not in line]
    file.write_text("\n".join(head) + "\n", encoding="utf-8")
    assert main(["judge", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "not judged" in printed and "the module states no thresholds" in printed


def test_a_module_of_an_interface_of_infiniband_is_judged_too(tmp_path: Path, expected_ndr: ExpectedFabric) -> None:
    """ethtool reads ib0 as well, and does not print the link layer."""
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1/ethtool-mlx5_0.out").write_text(sample("ethtool"), encoding="utf-8")
    (tmp_path / "n1/ethtool-mlx5_1.out").write_text("netlink error: Operation not supported\n", encoding="utf-8")
    report = judge(expected_ndr, read_folder(tmp_path))
    optics = [one.found for one in report.findings if one.what == "optics"]
    assert optics[:1] == ["laser bias current of lane 4 0 mA"] and len(optics) == 3
    assert "ethtool failed in part (n1/ethtool-mlx5_1.out): netlink error: Operation not supported" in report.notes


def test_a_second_module_in_one_file_is_named_as_not_judged(tmp_path: Path) -> None:
    (tmp_path / "n1").mkdir()
    both = sample("ethtool-sfp") + sample("ethtool")
    (tmp_path / "n1/ethtool-mlx5_0.out").write_text(both, encoding="utf-8")
    assert (
        "n1/ethtool-mlx5_0.out: only the first module is judged: give each its own file" in read_folder(tmp_path).notes
    )


def test_the_modules_of_two_tools_for_one_port_are_both_judged(folder: Path, expected_ndr: ExpectedFabric) -> None:
    alone = judge(expected_ndr, read_folder(folder)).findings
    # the same module again, but as ethtool prints it: it has a fault of its own, and no voltage
    (folder / "n1/ethtool-mlx5_0.out").write_text(
        "\n".join(line for line in sample("ethtool").splitlines() if "voltage" not in line) + "\n", encoding="utf-8"
    )
    both = judge(expected_ndr, read_folder(folder))
    new = [one for one in both.findings if one not in alone]
    assert {one for one in alone if one.what == "optics"} < set(both.findings)
    assert [(one.place, one.found) for one in new] == [
        ("n1 mlx5_0 port 1", "laser bias current of lane 4 0 mA"),
        ("n1 mlx5_0 port 1", "transmitted power of lane 4 no light"),
        # "no light" of mlxlink, too, but by another threshold
        ("n1 mlx5_0 port 1", "received power of lane 2 no light"),
    ]
    assert any("serial X000456): not judged: voltage: it is not shown" in note for note in both.notes)


def test_what_two_tools_say_alike_is_one_finding(folder: Path, expected_ndr: ExpectedFabric) -> None:
    readings = read_folder(folder)
    again = replace(readings, more_modules=readings.own)
    assert judge(expected_ndr, again).findings == judge(expected_ndr, readings).findings
    assert judge(expected_ndr, again).notes == judge(expected_ndr, readings).notes


def test_a_module_of_a_port_that_is_no_rail_is_named_as_not_judged(folder: Path, expected_ndr: ExpectedFabric) -> None:
    (folder / "n1/ethtool-eth7.out").write_text(sample("ethtool"), encoding="utf-8")
    said = (
        "n1 eth7 port 1: its module is not judged, since this is no rail: systems/s.yaml has mlx5_0 port 1 and mlx5_1"
    )
    assert any(note.startswith(said) for note in judge(expected_ndr, read_folder(folder)).notes)
