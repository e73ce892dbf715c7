"""Processors by archspec's names, from texts of /proc/cpuinfo: archspec's package has genuine ones of many machines."""

from pathlib import Path

import archspec.cpu
import pytest

from railyard.hardware.node import is_known, name_of_cpuinfo

#: linux-rhel9-neoverse_v2, ...: the end of a file's name is the processor that it describes.
RECORDINGS = Path(archspec.cpu.__file__).parents[1] / "json/tests/targets"
KNOWN = {path.name: path.name.split("-", 2)[2] for path in sorted(RECORDINGS.glob("linux-*"))}
#: POWER and RISC-V: no system file of ours needs them.
OTHERS = ("power", "x60", "u74mc")


@pytest.mark.parametrize("name", KNOWN)
def test_each_recorded_machine_is_named_as_spack_names_it(name: str) -> None:
    text = (RECORDINGS / name).read_text(encoding="utf-8")
    expected = None if KNOWN[name].startswith(OTHERS) else KNOWN[name]
    assert name_of_cpuinfo(text) == expected
    assert expected is None or is_known(expected)
    # The second processor of a machine counts for nothing.
    assert name_of_cpuinfo(f"{text.strip()}\n\nprocessor : 1\nflags : fpu\n") == expected


def test_many_machines_were_recorded() -> None:
    assert len(KNOWN) > 30
    assert {"zen3", "zen4", "sapphirerapids", "neoverse_v2", "a64fx"} <= set(KNOWN.values())


@pytest.mark.parametrize(
    "text",
    ["", "processor : 0\nmodel name : AMD EPYC 7763\n", "flags : fpu\n", "Features : fp\nCPU implementer : 0x41"],
)
def test_what_names_no_more_than_a_family_is_not_known(text: str) -> None:
    assert name_of_cpuinfo(text) is None
