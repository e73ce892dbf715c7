"""Saved outputs of lspci, show_gids, nvidia-smi and ibstatus in a node's folder: what `railyard fabric --from` says."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.cluster.fabric.judge import judge
from railyard.cluster.fabric.model import ExpectedFabric, Gid, expected_fabric
from railyard.cluster.fabric.saved_outputs import read_folder, tool_of
from railyard.site.systems.model import System

SAMPLES = Path(__file__).resolve().parents[2] / "parsers" / "fabric" / "samples"
IBSTATUS = """\
Infiniband device '{device}' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:b859:9f03:0000:100a
\tbase lid:\t 0xa
\tsm lid:\t\t 0x1
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t {rate}
\tlink_layer:\t InfiniBand

"""


@pytest.fixture
def save_listings(tmp_path: Path) -> Callable[..., Path]:
    def run(**files: str) -> Path:
        (tmp_path / "saved" / "vn1").mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / "saved" / "vn1" / name.replace("__", "-")).with_suffix(".out").write_text(
                text, encoding="utf-8"
            )
        return tmp_path / "saved"

    return run


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")


def sentences(expected: ExpectedFabric, folder: Path) -> list[str]:
    return [f"{each.weight}: {each.sentence}" for each in judge(expected, read_folder(folder)).findings]


def test_the_ports_of_ibstatus_are_judged(save_listings: Callable[..., Path], expected_edr: ExpectedFabric) -> None:
    text = "".join(
        IBSTATUS.format(device=device, rate=rate)
        for device, rate in (("mlx5_0", "100 Gb/sec (4X EDR)"), ("mlx5_1", "50 Gb/sec (2X EDR)"))
    )
    found = [
        each
        for each in judge(expected_edr, read_folder(save_listings(ibstatus=text))).findings
        if each.device == "mlx5_1"
    ]
    assert [each.sentence for each in found] == [
        "vn1 mlx5_1 port 1: found 2X EDR (50 Gbit/s), expected 4X EDR (100 Gbit/s); lanes are lost: reseat or replace "
        "its cable"
    ]


RESEAT = (
    "put the card into a slot with all lanes wired, reseat it and its riser; check bifurcation and speed in the BIOS"
)


def test_a_slot_below_the_files_is_a_problem(save_listings: Callable[..., Path], expected_edr: ExpectedFabric) -> None:
    rails = tuple(replace(rail, slot="pcie3-x16") for rail in expected_edr.rails)
    assert sentences(replace(expected_edr, rails=rails), save_listings(lspci=sample("lspci"))) == [
        "problem: vn1 81:00.0: found LnkSta 8 GT/s x8 (LnkCap 16 GT/s x16), expected pcie3-x16, as "
        f"{expected_edr.file} says; {RESEAT}"
    ]


def test_a_slot_as_the_file_says_is_none_though_the_card_could_do_more(
    save_listings: Callable[..., Path], expected_edr: ExpectedFabric
) -> None:
    rails = tuple(replace(rail, slot="pcie3-x8") for rail in expected_edr.rails)
    assert sentences(replace(expected_edr, rails=rails), save_listings(lspci=sample("lspci"))) == []


def test_without_a_slot_in_the_file_a_degraded_one_is_a_remark(
    save_listings: Callable[..., Path], expected_edr: ExpectedFabric
) -> None:
    rails = tuple(replace(rail, slot=None) for rail in expected_edr.rails)
    assert sentences(replace(expected_edr, rails=rails), save_listings(lspci=sample("lspci"))) == [
        "remark: vn1 81:00.0: found LnkSta 8 GT/s x8 (LnkCap 16 GT/s x16), expected 16 GT/s x16, as its LnkCap; "
        f"{RESEAT}"
    ]


def test_gids_of_show_gids_are_those_of_the_card(save_listings: Callable[..., Path]) -> None:
    cards = read_folder(save_listings(show_gids=sample("show_gids"))).cards
    assert [(card.node, card.device, len(card.gids)) for card in cards] == [("vn1", "mlx5_0", 3), ("vn1", "mlx5_1", 1)]
    assert cards[0].gids[2] == Gid(3, "0000:0000:0000:0000:0000:ffff:0a01:0007", "v2", "ens1f0np0")


def test_a_port_of_show_gids_without_a_gid_for_jobs_is_a_problem_with_its_interface(
    save_listings: Callable[..., Path], synthetic_system: System
) -> None:
    text = sample("show_gids").replace("10.1.0.7  \tv2", "10.1.0.7  \tv1")
    expected = expected_fabric(synthetic_system, "roce")
    assert sentences(expected, save_listings(show_gids=text))[0] == (
        "problem: vn1 mlx5_0: found only GIDs of RoCE v1, RoCE v2, expected a GID of RoCE v2 with an IP address; give "
        "the card's interface ens1f0np0 an IP address, and check its RoCE mode (cma_roce_mode)"
    )


def test_a_gpu_far_from_every_nic_is_a_remark(save_listings: Callable[..., Path], expected_edr: ExpectedFabric) -> None:
    assert sentences(expected_edr, save_listings(nvidia__smi=sample("nvidia_smi-topo"))) == [
        "remark: vn1: found GPU1: no NIC is nearer than NODE or SYS, so its bytes cross host bridges or sockets, "
        "expected a NIC at PIX, PXB or PHB of each GPU; let each GPU use a NIC of its own socket, or move the NIC to a "
        "slot behind the GPU's switch"
    ]


@pytest.mark.parametrize("name", ["nvidia-smi.out", "nvidia-smi-topo.txt", "nvidia_smi.out"])
def test_a_file_of_nvidia_smi_is_known_by_its_own_name(name: str) -> None:
    assert tool_of(Path(name)) == "nvidia_smi"
