"""A card's slot, from synthetic trees of sysfs to the sentence, with files that are missing, unreadable or empty."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.cluster.fabric.judge import driver_findings, judge
from railyard.cluster.fabric.model import Card, ExpectedFabric, Readings, SlotState
from railyard.cluster.fabric.slots import slot_findings
from railyard.cluster.fabric.sysfs import Control, cards_of, device_control, ports_of, redirects
from railyard.hardware.links import pcie_generation

GOOD = SlotState("0000:3b:00.0", "8.0 GT/s PCIe", 16, "8.0 GT/s PCIe", 16, 256)


def card(**changes: Any) -> Card:
    return Card("vn1", "mlx5_0", slot=replace(GOOD, **changes))


def slot_sentences(expected: ExpectedFabric, *cards: Card) -> list[str]:
    return [finding.sentence for finding in slot_findings(expected, Readings(cards=cards))]


def test_a_slot_as_the_file_has_it_is_none(expected_edr: ExpectedFabric) -> None:
    assert slot_sentences(expected_edr, card()) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"width": 8},
            "vn1 mlx5_0: found PCIe Gen3 x8 (0000:3b:00.0), 7202 MB/s at most, expected PCIe Gen3 x16; put it into a "
            "slot with all lanes wired, or reseat it and its riser; check bifurcation in the BIOS",
        ),
        (
            {"speed": "5 GT/s"},
            "vn1 mlx5_0: found PCIe Gen2 x16 (0000:3b:00.0), 7314 MB/s at most, expected PCIe Gen3 x16; check the "
            "slot's speed in the BIOS, reseat the card and its riser, and update its firmware",
        ),
        (
            {"width": 8, "max_width": 8},
            "vn1 mlx5_0: found PCIe Gen3 x8 (0000:3b:00.0), 7202 MB/s at most, expected PCIe Gen3 x16; the card itself "
            "supports only PCIe Gen3 x8: is it another card than in the file?",
        ),
        (
            {"speed": "Unknown", "width": 0},
            'vn1 mlx5_0: found a slot of speed "Unknown" and width unknown, expected PCIe Gen3 x16; cannot be '
            "judged: lspci -vv -s 0000:3b:00.0 as root shows LnkSta",
        ),
        (
            {"speed": None, "width": None},
            "vn1 mlx5_0: found a slot of speed unknown and width unknown, expected PCIe Gen3 x16; cannot be "
            "judged: lspci -vv -s 0000:3b:00.0 as root shows LnkSta",
        ),
        (
            {"speed": "16.0 GT/s PCIe"},
            "vn1 mlx5_0: found PCIe Gen4 x16, expected PCIe Gen3 x16; better than the file says: correct slot in "
            "systems/made.yaml; limits are computed from it",
        ),
    ],
)
def test_a_slot_that_is_not_as_the_file_has_it(
    expected_edr: ExpectedFabric, changes: dict[str, Any], sentence: str
) -> None:
    assert slot_sentences(expected_edr, card(**changes)) == [sentence]


def test_only_what_is_worse_is_a_problem(expected_edr: ExpectedFabric) -> None:
    cards = {
        "narrow": card(width=8),
        "unread": card(speed=None),
        "better": card(speed="16.0 GT/s PCIe"),
        "small": card(max_payload=128),
        "large": card(max_payload=512),
    }
    weights = {
        name: [finding.weight for finding in slot_findings(expected_edr, Readings(cards=(each,)))]
        for name, each in cards.items()
    }
    assert weights == {
        "narrow": ["problem"], "unread": ["remark"], "better": ["remark"], "small": ["problem"], "large": ["remark"],
    }  # fmt: skip


def test_settings_are_held_where_the_file_names_them_and_the_node_shows_them(expected_edr: ExpectedFabric) -> None:
    set_so = card(max_read_request=512, relaxed_ordering=False, acs=True, iommu="translated")
    assert slot_sentences(expected_edr, set_so) == []
    meant = replace(expected_edr, max_read_request=4096, relaxed_ordering=True, acs=False, iommu="passthrough")
    assert [sentence.partition(";")[0] for sentence in slot_sentences(meant, set_so)] == [
        "vn1 mlx5_0: found max_read_request 512, expected max_read_request 4096",
        "vn1 mlx5_0: found relaxed_ordering off, expected relaxed_ordering on",
        "vn1 mlx5_0: found acs on, expected acs off",
        "vn1 mlx5_0: found iommu translated, expected iommu passthrough",
    ]
    assert slot_sentences(meant, card()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *(("8.0 GT/s PCIe", 3), ("2.5 GT/s", 1), ("64.0 GT/s PCIe", 6)),
        *(("Unknown speed", None), ("x GT/s", None), (None, None)),
    ],
)
def test_speeds_as_kernels_print_them(text: str | None, found: int | None) -> None:
    assert pcie_generation(text) == found


# Synthetic configuration space: a list of capabilities with PCI Express at 0x60, its Device Control word at 0x68.


def config(word: int, length: int = 256) -> bytes:
    space = bytearray(4096)
    space[0x06] = 0x10
    space[0x34] = 0x40
    space[0x40:0x42] = bytes((0x01, 0x60))
    space[0x60:0x62] = bytes((0x10, 0x00))
    space[0x68:0x6A] = word.to_bytes(2, "little")
    return bytes(space[:length])


def bridge(control: int | None) -> bytes:
    """Return a bridge's space with another extended capability first, then ACS with this control word, or none."""
    space = bytearray(4096)
    space[0x100:0x104] = (0x0001 | (0x148 << 20)).to_bytes(4, "little")
    if control is not None:
        space[0x148:0x14C] = (0x000D).to_bytes(4, "little")
        space[0x14E:0x150] = control.to_bytes(2, "little")
    return bytes(space)


def test_device_control_is_read_where_the_space_is_whole() -> None:
    # payload 256 B: 1 in bits 5 to 7; request 4096 B: 5 in bits 12 to 14; relaxed ordering: bit 4
    assert device_control(config(5 << 12 | 1 << 5 | 1 << 4)) == Control(256, 4096, True)
    assert device_control(config(2 << 12)) == Control(128, 512, False)
    assert device_control(config(7 << 12)) is None
    assert device_control(config(1 << 5, 64)) is None
    assert device_control(b"") is None


def test_a_circle_of_capabilities_ends() -> None:
    space = bytearray(config(0))
    space[0x41] = 0x40
    assert device_control(bytes(space)) is None


def test_bridges_redirect_or_not() -> None:
    assert (redirects(bridge(0x1D)), redirects(bridge(0)), redirects(bridge(None))) == (True, False, False)
    assert redirects(bridge(0x1D)[:64]) is None


# Synthetic trees


def tree(root: Path, device: str = "mlx5_0", address: str = "0000:3b:00.0", **files: str) -> Path:
    """Make a device with an active port in a slot behind one bridge; ``files`` replace some, or remove empty ones."""
    sys = root / "sys"
    port = f"class/infiniband/{device}/ports/1"
    pci = sys / "devices/pci0000:3a/0000:3a:00.0" / address
    (sys / "class/infiniband" / device).mkdir(parents=True)
    pci.mkdir(parents=True)
    driver = sys / "bus/pci/drivers" / files.pop("driver", "mlx5_core")
    driver.mkdir(parents=True, exist_ok=True)
    (pci / "driver").symlink_to(driver)
    (sys / "class/infiniband" / device / "device").symlink_to(pci)
    written = {
        f"class/infiniband/{device}/fw_ver": "16.35.2000",
        f"class/infiniband/{device}/board_id": "MT_0000000008",
        f"{port}/state": "4: ACTIVE",
        f"{port}/phys_state": "5: LinkUp",
        f"{port}/rate": "100 Gb/sec (4X EDR)",
        f"{port}/link_layer": "InfiniBand",
        f"{port}/lid": "0xa",
        f"{port}/sm_lid": "0x1",
        f"{port}/gids/0": "fe80:0000:0000:0000:b859:9f03:0000:100a",
        f"{port}/gid_attrs/types/0": "IB/RoCE v1",
        f"{port}/counters/symbol_error": "0",
        f"{port}/counters/link_downed": "2",
        "device/vendor": "0x15b3",
        "device/current_link_speed": "8.0 GT/s PCIe",
        "device/current_link_width": "16",
        "device/max_link_speed": "8.0 GT/s PCIe",
        "device/max_link_width": "16",
    } | {name.replace("__", "/").replace("port/", f"{port}/"): text for name, text in files.items()}
    for name, text in written.items():
        path = pci / name.removeprefix("device/") if name.startswith("device/") else sys / name
        if text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n", encoding="utf-8")
    (pci / "config").write_bytes(config(5 << 12 | 1 << 5 | 1 << 4))
    (pci.parent / "config").write_bytes(bridge(0x1D))
    return sys


def test_a_node_reads_its_own_port_and_card(tmp_path: Path) -> None:
    sys = tree(tmp_path)
    (port,) = ports_of(sys, "vn1")
    assert (port.node, port.device, port.port) == ("vn1", "mlx5_0", 1)
    assert (port.state, port.physical_state) == ("Active", "LinkUp")
    assert (port.rate, port.width, port.speed, port.lid, port.sm_lid) == (100.0, "4X", "EDR", 10, 1)
    assert (port.guid, dict(port.counters)) == (
        *("0xb8599f030000100a", {"SymbolErrorCounter": 0, "LinkDownedCounter": 2}),
    )
    (found,) = cards_of(sys, "vn1")
    assert (found.driver, found.firmware, found.psid, found.unread) == ("mlx5_core", "16.35.2000", "MT_0000000008", ())
    assert found.slot == SlotState(
        "0000:3b:00.0", "8.0 GT/s PCIe", 16, "8.0 GT/s PCIe", 16, 256, 4096, True, True, "off"
    )
    assert [(gid.index, gid.kind) for gid in found.gids] == [(0, "v1")]


def test_what_an_ordinary_user_cannot_read_is_named_and_not_judged(
    tmp_path: Path, expected_edr: ExpectedFabric
) -> None:
    sys = tree(tmp_path, device__current_link_speed="", class__infiniband__mlx5_0__fw_ver="", port__rate="Unknown")
    pci = (sys / "class/infiniband/mlx5_0/device").resolve()
    (pci / "config").write_bytes(config(0, 64))
    (pci.parent / "config").write_bytes(bridge(0)[:64])
    (found,) = cards_of(sys, "vn1")
    assert found.slot is not None
    assert (found.slot.max_payload, found.slot.acs, found.slot.speed) == (None, None, None)
    assert found.unread == (
        "fw_ver", "device/current_link_speed or _width", "device/config (only root can read all of it)",
    )  # fmt: skip
    (port,) = ports_of(sys, "vn1")
    assert (port.rate, port.width, port.speed) == (None, None, None)
    report = judge(expected_edr, Readings(cards=(found,)))
    assert [finding.what for finding in report.findings] == ["slot-unread"]
    assert report.notes == (f"not readable, so not judged: vn1 mlx5_0: {', '.join(found.unread)}",)


def test_files_that_give_an_error_or_strange_bytes_are_not_known(tmp_path: Path, expected_edr: ExpectedFabric) -> None:
    sys = tree(tmp_path, device__current_link_speed="Unknown speed", port__state="9: \x1b[31mODD")
    device = sys / "class/infiniband/mlx5_0"
    for name in ("fw_ver", "ports/1/rate"):
        (device / name).unlink()
        (device / name).mkdir()  # read() of it is an error even for root
    (device / "board_id").write_bytes(b"\xff\x00MT\n")
    (port,) = ports_of(sys, "vn1")
    assert (port.rate, port.width, port.speed, "\x1b" in str(port.state)) == (None, None, None, False)
    (found,) = cards_of(sys, "vn1")
    assert (found.firmware, found.unread, str(found.psid).isprintable()) == (None, ("fw_ver",), True)
    report = judge(expected_edr, Readings(own=(port,), cards=(found,)))
    assert [(finding.what, finding.place, finding.found) for finding in report.findings] == [
        ("absent", "vn1 mlx5_1 port 1", "no such device or port on the node"),
        ("state", "vn1 mlx5_0 port 1", "ODD (LinkUp)"),
        ("slot-unread", "vn1 mlx5_0", 'a slot of speed "Unknown speed" and width 16'),
    ]


def test_congestion_notification_is_on_where_both_ends_of_it_are(tmp_path: Path) -> None:
    ends = {f"roce_{end}__enable__{n}": "1" for end, n in (("np", 3), ("rp", 3), ("np", 5))}
    files = {f"class__net__ens1f0__ecn__{name}": text for name, text in ends.items()}
    sys = tree(tmp_path, **files, device__net__ens1f0__mtu="9000")
    assert [found.ecn for found in cards_of(sys, "vn1")] == [(3,)]
    assert [found.ecn for found in cards_of(tree(tmp_path / "without"), "vn1")] == [None]


def test_a_device_that_is_no_pci_device_has_no_slot(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/infiniband/rxe0/ports/1"
    folder.mkdir(parents=True)
    (folder / "state").write_text("4: ACTIVE\n", encoding="utf-8")
    (found,) = cards_of(tmp_path / "sys", "vn1")
    assert (found.slot, found.driver) == (None, None)
    assert (ports_of(tmp_path / "none", "vn1"), cards_of(tmp_path / "none", "vn1")) == ((), ())


@pytest.mark.parametrize(
    ("driver", "weight", "sentence"),
    [
        (
            *("bnxt_en", "problem"),
            "vn1 mlx5_0: found the driver bnxt_en, expected mlx5_core (counters: mlx5); correct counters of this "
            "rail in "
            "systems/made.yaml",
        ),
        (
            *("newnic", "remark"),
            "vn1 mlx5_0: found the driver newnic, expected mlx5_core (counters: mlx5); no table has this driver: link "
            "and slot are judged, counters only by their standard names",
        ),
    ],
)
def test_a_driver_that_is_not_the_files(
    tmp_path: Path, expected_edr: ExpectedFabric, driver: str, weight: str, sentence: str
) -> None:
    cards = cards_of(tree(tmp_path, driver=driver), "vn1")
    (finding,) = driver_findings(expected_edr, Readings(cards=cards))
    assert (finding.weight, finding.sentence) == (weight, sentence)


def test_one_of_two_cards_in_a_narrow_slot_is_named_alone(tmp_path: Path, expected_edr: ExpectedFabric) -> None:
    tree(tmp_path)
    sys = tree(tmp_path, "mlx5_1", "0000:5e:00.0", device__current_link_width="8")
    report = judge(expected_edr, Readings(own=ports_of(sys, "vn1"), cards=cards_of(sys, "vn1")))
    assert [(finding.what, finding.place) for finding in report.findings] == [("slot", "vn1 mlx5_1")]
