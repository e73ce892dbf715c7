"""Outputs of a node's or fabric's tools that read nothing: `railyard judge` says whose output it is, and what to do.

The lines are those of the tools' sources, and of outputs that others published.
"""

import json
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.parsers.tool_signs import REFUSALS, refusal_in

SAMPLES = Path(__file__).parents[1] / "parsers/fabric/samples"
SAID = [
    ("netlink error: Operation not supported\n", "ethtool"),
    ("ethtool: netlink error: No such device\n", "ethtool"),
    ("$ ethtool -m eth10\nCannot get module EEPROM information: Operation not supported\n", "ethtool"),
    ("Settings for eth9:\n\tCannot get device settings: No such device\nNo data available\n", "ethtool"),
    ("no stats available\n", "ethtool"),
    ('-E- Failed to open device: "mlx5_0". No such file or directory\n', "mlxlink"),
    ("\n-E- Device is not supported\n", "mlxlink"),
    ("ibpanic: [20058] main: 'mlx5_0' IB device can't be found: Success\n", "ibstat"),
    ("ibpanic: [1] main: stat of IB device 'mlx5_9' failed: No such file or directory\n", "ibstat"),
    (
        "ibwarn: [2384] mad_rpc_open_port: can't open UMAD port ((null):0)\n"
        "perfquery: iberror: failed: Failed to open '(null)' port '0'\n",
        "a tool of infiniband-diags",
    ),
    ("Fatal error:  No devices\n", "ibstatus"),
    ("Fatal error:  device 'mlx5_9': sys files not found (/sys/class/infiniband/mlx5_9)\n", "ibstatus"),
    ("No IB devices found\n", "ibv_devinfo"),
    ("Failed to get IB devices list: Function not implemented\n", "ibv_devinfo"),
    (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA driver is installed and running.\n",
        "nvidia-smi",
    ),
    ("Failed to initialize NVML: Driver/library version mismatch\n", "nvidia-smi"),
    ("No devices were found\n", "nvidia-smi"),
    ("Cannot get the list of CXI devices\n", "cxi_stat"),
    ("pcilib: Cannot open /proc/bus/pci\nlspci: Cannot find any working access method.\n", "lspci"),
]


def judge_file(file: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, object]]]:
    """Return the exit code of `railyard judge` for a text, and its judgements."""
    file.write_text(text, encoding="utf-8")
    code = main(["judge", str(file), "--json"])
    return code, json.loads(capsys.readouterr().out or '{"judgements": []}')["judgements"]


@pytest.mark.parametrize(("text", "tool"), SAID, ids=[f"{place}-{tool}" for place, (_, tool) in enumerate(SAID)])
def test_the_headline_says_whose_output_it_is_and_that_the_tool_read_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, tool: str
) -> None:
    code, (one,) = judge_file(tmp_path / "saved.out", text, capsys)
    assert (code, one["state"]) == (1, "fail")
    number, line = next((at, line.strip()) for at, line in enumerate(text.split("\n"), 1) if refusal_in(line))
    assert str(one["headline"]).startswith(f"Output of {tool}, which read nothing: {' '.join(line.split())[:30]}")
    assert one["lines"] == [number]
    assert f'which read nothing to judge; line {number}: "{line}"' in str(one["sentence"])


def test_what_to_do_is_said_in_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ethtool.out"
    file.write_text(SAID[0][0], encoding="utf-8")
    assert main(["judge", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "  FAIL  Output of ethtool, which read nothing: netlink error: Operation not supported\n" in printed
    assert "  look at: run it as root, for the port's own interface" in printed


def test_each_tool_of_the_table_has_an_example() -> None:
    assert {tool for _, tool in SAID} == {refusal.tool for refusal in REFUSALS}


def test_a_tool_that_read_something_is_not_said_to_have_read_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ethtool of a user without rights prints all settings but one."""
    settings = "".join(f"\tSetting {number}: on\n" for number in range(9))
    text = f"Settings for eth0:\n{settings}\tCannot get wake-on-lan settings: Operation not permitted\n"
    file = tmp_path / "settings.out"
    file.write_text(text, encoding="utf-8")
    assert main(["judge", str(file)]) == 2
    assert "read nothing" not in capsys.readouterr().err


def test_a_module_that_was_read_is_judged_beside_one_that_was_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = (SAMPLES / "ethtool-cmis.txt").read_text(encoding="utf-8")
    code, (first, second) = judge_file(tmp_path / "two.out", f"{sound}netlink error: Operation not supported\n", capsys)
    assert (code, first["state"], second["state"]) == (1, "pass", "fail")
    assert "no reading is beyond the module's own alarms" in str(first["sentence"])
    assert "netlink error: Operation not supported" in str(second["headline"])
    assert "read nothing" not in str(second["sentence"])


def test_the_modules_of_two_tools_in_one_file_are_both_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = "".join((SAMPLES / f"{name}.txt").read_text(encoding="utf-8") for name in ("mlxlink-module", "ethtool"))
    code, judgements = judge_file(tmp_path / "both.out", both, capsys)
    assert code == 1
    assert ["serial X000999" in str(one["sentence"]) for one in judgements] == [True, False]
    assert ["serial X000456" in str(one["sentence"]) for one in judgements] == [False, True]
