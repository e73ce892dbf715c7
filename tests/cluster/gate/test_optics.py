"""Cables and modules in a gate: only if the site asks, only alarms are faults, and what is not judged is said."""

from pathlib import Path

import pytest

from tests.cluster.gate.conftest import Site
from tests.cluster.gate.test_gate import FIRST, NOT_SENT

SAMPLES = Path(__file__).parents[2] / "parsers/fabric/samples"


def tool(site: Site, name: str, text: str, code: int = 0) -> None:
    """Put a program on PATH that prints a text."""
    site.program(name, f"#!/bin/sh\ncat <<'END'\n{text.rstrip()}\nEND\nexit {code}\n")


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")


def well(text: str) -> str:
    """Return mlxlink's output with the two readings that are beyond an alarm inside it."""
    return text.replace("1.886,-40,", "1.886,2.0,").replace("1.427,5.1,", "1.427,1.5,")


def test_a_gate_reads_no_module_unless_the_site_asks(site: Site) -> None:
    tool(site, "mlxlink", sample("mlxlink-module"))
    assert site.gate().out == f"n1: fit: links, slots; not checked: {FIRST}, {NOT_SENT}\n"


def test_an_alarm_is_the_reason_with_port_lane_and_serial(site: Site) -> None:
    site.says({"optics": True})
    tool(site, "mlxlink", sample("mlxlink-module"))
    found = site.gate()
    assert found.code == 1
    assert found.out.startswith(
        "n1: unfit: mlx5_0:1: transmitted power of lane 3 5.1 dBm, expected at most 5 dBm "
        "(the module's own high alarm); OSFP, EXAMPLE T-F4GS-X, serial X000999 (+3 more)"
    )


def test_modules_that_are_well_are_checked(site: Site) -> None:
    site.says({"optics": True})
    tool(site, "mlxlink", well(sample("mlxlink-module")))
    assert site.gate().out == f"n1: fit: links, slots, optics; not checked: {FIRST}, {NOT_SENT}\n"


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("-E- No such device\n", 1, "mlxlink printed no module: -E- No such device"),
        (
            well(sample("mlxlink-module")).replace("850 nm VCSEL", "Copper cable, passive, unequalized")
            .replace("[-5..75]", "[0..0]").replace("54 [", "0 [").replace("3261.2 [2970..3630]", "0 [0..0]")
            .replace("8.38,8.38,8.38,8.38 [2..15]", "N/A").replace("1.886,2.0,2.281,1.976 [-10.41..6]", "N/A")
            .replace("1.562,1.427,1.5,1.761 [-8.508..5]", "N/A"),
            0, "passive copper: it has no light and no thresholds",
        ),
    ],
)  # fmt: skip
def test_what_shows_nothing_is_said_and_drains_nobody(site: Site, text: str, code: int, why: str) -> None:
    site.says({"optics": True})
    tool(site, "mlxlink", text, code)
    found = site.gate()
    assert (found.code, found.out.startswith("n1: fit: links, slots; not checked: ")) == (0, True), found.out
    assert f"module of mlx5_0:1, module of mlx5_1:1 ({why})" in found.out


def test_a_warning_drains_nobody_and_is_said(site: Site) -> None:
    file = site.home / "systems/eth.yaml"
    file.write_text(f"{file.read_text(encoding='utf-8')}gate: {{optics: true}}\n", encoding="utf-8")
    tool(site, "ethtool", sample("ethtool-sfp"))
    found = site.gate("--verbose", system="eth")
    assert found.code == 0
    assert "  not checked: warning of eth1: received power of lane 1 -16 dBm, expected at least -15.23 dBm" in found.out
    assert found.out.startswith("n1: fit: links, optics; not checked: ")


def test_a_module_of_which_a_part_is_missing_is_not_all_checked(site: Site) -> None:
    site.says({"optics": True})
    text = well(sample("mlxlink-module")).replace("1.886,2.0,", "1.886,N/A,")
    tool(site, "mlxlink", text, code=1)
    found = site.gate()
    assert found.code == 0
    assert "readings of mlx5_0:1, readings of mlx5_1:1 (received power of lane 2: it is not shown)" in found.out
    assert "readings of mlx5_0:1, readings of mlx5_1:1 (mlxlink: it ended with 1)" in found.out
