"""Limits of links and slots compared with published figures, and the floors of a link's class."""

import csv
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.hardware import links
from railyard.hardware.limits import (
    Limit,
    LinkFloor,
    Sharing,
    class_floors,
    combine,
    limit,
    message_limit,
)
from railyard.hardware.links import LINKS, SLOTS, Link

MIB = 1 << 20


def value(link: str, slot: str | None = None, *args: Any, **options: Any) -> float:
    found = limit(LINKS[link], SLOTS[slot] if slot else None, *args, **options)
    assert found is not None
    return round(found.value_mb_s, 1)


@pytest.mark.parametrize(
    ("link", "mtu", "mb_s"),
    [
        ("ib-edr", 4096, 12421.2),
        ("roce-100", 4096, 12254.7),
        ("roce-100", 1024, 11573.2),
        ("ib-fdr", 4096, 6775.2),
        ("ib-sdr", 2048, 987.5),
        ("eth-100", 1500, 11866.1),
        ("eth-100", 9000, 12392.1),
        ("eth-1", 1500, 118.7),
        ("opa-100", 10240, 12470.8),
        ("slingshot-10", 4096, 12254.7),
    ],
)
def test_payload_at_an_mtu(link: str, mtu: int, mb_s: float) -> None:
    assert value(link, mtu=mtu) == mb_s


@pytest.mark.parametrize(
    ("link", "slot", "rails", "per_card", "directions", "mb_s"),
    [
        ("ib-edr", "pcie3-x16", 1, 1, 1, 12421.2),
        ("ib-edr", "pcie3-x8", 1, 1, 1, 7201.8),
        ("ib-edr", "pcie3-x16", 2, 2, 1, 14403.5),
        ("ib-edr", "pcie3-x16", 2, 1, 1, 24842.3),
        ("ib-edr", "pcie3-x16", 3, 2, 1, 14403.5 + 12421.2),
        ("ib-edr", "pcie3-x16", 1, 1, 2, 24842.3),
        ("ib-qdr", "pcie2-x8", 1, 1, 1, 3657.1),
        ("ib-qdr", "pcie2-x8", 2, 2, 1, 3657.1),
        ("ib-qdr", "pcie2-x8", 2, 1, 1, 7314.3),
        ("ib-hdr", "pcie3-x16", 1, 1, 1, 14403.5),
        ("ib-ndr", "pcie6-x16", 2, 2, 1, 99369.2),
        # One bus for both directions: their sum is at most the rate of the bus.
        ("ib-sdr", "pci-x-133", 1, 1, 1, 993.7),
        ("ib-sdr", "pci-x-133", 1, 1, 2, 1066.7),
        ("myrinet-2000", "pci-x-133", 1, 1, 2, 500.0),
        ("qsnet-2", "pci-x-133", 1, 1, 1, 1066.7),
    ],
)
def test_limit_of_link_and_slot(link: str, slot: str, rails: int, per_card: int, directions: int, mb_s: float) -> None:
    assert value(link, slot, rails, Sharing(per_card), directions=directions) == pytest.approx(mb_s, abs=0.11)


def test_devices_of_one_port_share_it() -> None:
    assert value("ib-hdr", "pcie3-x16", 2, Sharing(rails_per_port=2)) == 24842.3
    assert value("ib-hdr", "pcie3-x16", 2) == 28807.0


def test_max_payload_size_counts() -> None:
    assert value("ib-hdr", "pcie3-x16", max_payload=128) == 13266.4
    assert value("ib-hdr", "pcie3-x16", max_payload=512) == 15048.5


def test_the_terms_say_how_the_number_came() -> None:
    found = limit(LINKS["ib-edr"], SLOTS["pcie3-x16"], 2, Sharing(2))
    assert found == Limit(
        found.value_mb_s if found else 0,
        "slot pcie3-x16 15753.8 MB/s x 256/280 of a TLP, below the link's 24842.3 MB/s = 14403.5 MB/s",
        "PCI-SIG, PCI Express Base Specification 3.0",
    )
    wide = limit(LINKS["ib-edr"], SLOTS["pcie3-x16"], directions=2)
    assert wide is not None
    assert wide.terms == (
        "ib-edr 12500.0 MB/s x 4096/4122 payload (infiniband, MTU 4096) x 2 directions = 24842.3 MB/s "
        "(the slot allows more: pcie3-x16 15753.8 MB/s x 256/280 of a TLP x 2 directions per card)"
    )
    shared = limit(LINKS["ib-sdr"], SLOTS["pci-x-133"], directions=2)
    assert shared is not None
    assert shared.terms == (
        "slot pci-x-133 1066.7 MB/s shared by both directions, below the link's 1987.4 MB/s = 1066.7 MB/s"
    )


def shaped_link(rate: float) -> Link:
    rest = (None, None, "", rate, "declared", "tcp-shaped", (1500,), "a file", "", MIB)
    return Link("shaped", "shaped", *rest)


def test_a_shaped_rail_is_bounded_above_what_was_measured() -> None:
    """382.8 Mbit/s was measured over one rail, 97.7 MB/s in a ping-pong of 1 MiB over two: both are possible."""
    one, two = limit(shaped_link(0.4)), limit(shaped_link(0.4), rails=2)
    assert one is not None and two is not None
    assert round(one.value_mb_s, 2) == 48.22
    assert 382.8 / 8 < one.value_mb_s
    assert 97.7 < 1.02 * two.value_mb_s
    assert one.from_bytes == MIB


def test_a_burst_of_each_message_passes_at_once() -> None:
    one = Limit(14.0, "a rate", "a file", burst_bytes=128 << 10)
    # 896 of 1024 KiB wait for the rate
    assert (one.bound_at(MIB), one.bound_at(256 << 10)) == (14.0 * 8 / 7, 28.0)
    assert [one.bound_at(size) for size in (1, 128 << 10)] == [math.inf, math.inf]
    assert one.bound_at((128 << 10) + 1) == 14.0 * ((128 << 10) + 1)
    assert one.bound_at(0) == 14.0
    assert [replace(one, burst_bytes=0).bound_at(size) for size in (0, 1, MIB)] == [14.0] * 3


def test_every_rail_has_a_burst_of_its_own() -> None:
    link = replace(shaped_link(0.12), burst_bytes=128 << 10)
    one, two, both_ways = limit(link), limit(link, rails=2), limit(link, directions=2)
    assert one is not None and two is not None and both_ways is not None
    assert [found.burst_bytes for found in (one, two, both_ways)] == [128 << 10, 256 << 10, 128 << 10]
    assert round(two.bound_at(MIB), 2) == round(2 * one.value_mb_s * 4 / 3, 2) == 38.57
    unlike = combine([one, two])
    assert unlike is not None
    assert unlike.burst_bytes == 384 << 10


def test_a_link_without_a_figure_has_no_limit() -> None:
    assert limit(LINKS["aries"], SLOTS["pcie3-x16"]) is None
    assert limit(LINKS["sci"]) is None


@pytest.mark.parametrize(
    "wrong", [{"rails": 0}, {"sharing": Sharing(0)}, {"sharing": Sharing(1, 0)}, {"directions": 3}]
)
def test_counts_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="rails"):
        limit(LINKS["ib-edr"], **wrong)  # type: ignore[arg-type]


def test_unlike_rails_add_up_and_one_unknown_makes_all_unknown() -> None:
    one, other = limit(LINKS["ib-edr"]), limit(LINKS["ib-fdr"])
    both = combine([one, other])
    assert both is not None and one is not None and other is not None
    assert both.value_mb_s == one.value_mb_s + other.value_mb_s
    assert both.terms == f"{one.terms}, plus {other.terms}"
    assert combine([one, None]) is None


@given(st.sampled_from(sorted(LINKS)), st.sampled_from(sorted(SLOTS)), st.integers(1, 8), st.integers(1, 4))
def test_a_limit_never_falls_with_more_rails_or_a_wider_slot(link: str, slot: str, rails: int, per_card: int) -> None:
    found = limit(LINKS[link], SLOTS[slot], rails, Sharing(per_card))
    more = limit(LINKS[link], SLOTS[slot], rails + 1, Sharing(per_card))
    if found is None or more is None:
        return
    assert more.value_mb_s >= found.value_mb_s * (1 - 1e-9)
    generation, _, lanes = slot.partition("-x")
    if lanes in ("1", "4", "8"):
        wider = {"1": "4", "4": "8", "8": "16"}[lanes]
        wide = limit(LINKS[link], SLOTS[f"{generation}-x{wider}"], rails, Sharing(per_card))
        assert wide is not None
        assert wide.value_mb_s >= found.value_mb_s


@pytest.mark.parametrize("link", LINKS.values(), ids=lambda link: link.name)
def test_every_link_has_a_source_and_known_headers(link: Link) -> None:
    assert link.source
    assert link.headers in links.HEADERS
    assert list(link.mtus) == sorted(set(link.mtus))
    if link.lanes and link.signalling_gbit_s_per_lane and link.data_rate_gbit_s:
        assert link.data_rate_gbit_s < link.lanes * link.signalling_gbit_s_per_lane


def test_the_table_has_every_generation() -> None:
    speeds = (1, 10, 25, 40, 50, 100, 200, 400, 800)
    infiniband = "sdr ddr qdr fdr10 fdr edr hdr100 hdr ndr200 ndr xdr sdr-12x ddr-12x qdr-12x fdr-12x edr-12x".split()
    wanted = {f"ib-{name}" for name in infiniband} | {f"eth-{n}" for n in speeds} | {f"roce-{n}" for n in speeds}
    wanted |= {"opa-100", "opa-400", "slingshot-10", "slingshot-11", "slingshot-400", "efa-100", "efa-200", "efa-400"}
    wanted |= {"aries", "myrinet-2000", "myri-10g", "sci", "qsnet-2"}
    assert wanted <= set(LINKS)
    assert set(SLOTS) == {"pci-x-133"} | {f"pcie{g}-x{n}" for g in range(1, 7) for n in (1, 4, 8, 16)}


def test_a_class_floor_binds_streaming_one_way_alone() -> None:
    source = (
        "Railyard's own condition, not physics: InfiniBand EDR 4X streams at least 12 GB/s one way, 96.6 % of the "
        "limit of one rail; a class entry in a system's references sets another"
    )
    assert class_floors(LINKS["ib-edr"], 1, True) == (LinkFloor(12000.0, MIB, source),)
    assert [floor.value_mb_s for floor in class_floors(LINKS["ib-fdr"], 1, True)] == [6000.0]
    assert class_floors(LINKS["ib-edr"], 2, True) == ()
    assert class_floors(LINKS["ib-edr"], 1, False) == ()
    assert class_floors(LINKS["roce-100"], 1, True) == ()


@pytest.mark.parametrize(
    ("name", "mtu", "least"), [("ib-edr", 2048, 11924.8), ("ib-edr", 1024, 11777.1), ("ib-fdr", 2048, 5962.4)]
)
def test_a_class_floor_asks_the_same_share_of_the_limit_at_a_smaller_mtu(name: str, mtu: int, least: float) -> None:
    (floor,) = class_floors(LINKS[name], 1, True, mtu)
    assert floor.value_mb_s == pytest.approx(least, abs=0.1)
    assert f"GB/s one way with MTU {mtu}, " in floor.source
    assert class_floors(LINKS[name], 1, True, 4096) == class_floors(LINKS[name], 1, True)


LIMITS_NAMES = {
    "IB FDR10 4X": "ib-fdr10",
    "IB HDR100 2X": "ib-hdr100",
    "IB NDR200 2X": "ib-ndr200",
    "Omni-Path 100": "opa-100",
    "Slingshot 10 (100 GbE NIC)": "slingshot-10",
    "Slingshot 11 (Cassini 200)": "slingshot-11",
    "Ethernet 50G (1 lane)": "eth-50",
    "Myrinet 2000": "myrinet-2000",
    "Myri-10G": "myri-10g",
    "Quadrics QsNet II (Elan4)": "qsnet-2",
    "PCI-X 64 bit 133 MHz": "pci-x-133",
}


def our_name(name: str) -> str:
    if name in LIMITS_NAMES:
        return LIMITS_NAMES[name]
    words = name.lower().split()
    if words[0] == "ib":
        return f"ib-{words[1]}" + ("" if words[2] == "4x" else f"-{words[2]}")
    return f"eth-{words[1][:-1]}" if words[0] == "ethernet" else f"pcie{words[1][-1]}-{words[2]}"


def test_the_table_equals_the_survey_of_limits() -> None:
    folder = Path(os.environ.get("RAILYARD_CORPUS") or Path(__file__).parents[3] / "shared")
    file = folder / "references" / "limits.tsv"
    if not file.exists():
        pytest.skip("no reference corpus: set RAILYARD_CORPUS to its folder")
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert len(rows) == 41
    for row in rows:
        name, rate = our_name(row["name"]), row["data_rate_Gb/s"]
        if row["section"] == "link":
            if rate != "-":
                assert LINKS[name].data_rate_gbit_s == pytest.approx(float(rate), rel=1e-4), name
        else:
            assert SLOTS[name].raw_mb_s * 8 / 1000 == pytest.approx(float(rate), rel=1e-4), name
        if row["lanes"] != "-":
            thing = LINKS[name] if row["section"] == "link" else SLOTS[name]
            assert thing.lanes == int(row["lanes"]), name
            assert thing.signalling_gbit_s_per_lane == pytest.approx(float(row["lane_signalling_Gb/s"]), rel=1e-3), name


@pytest.mark.parametrize(
    ("link", "ports", "directions", "millions"),
    [
        ("ib-fdr", 1, 1, 262.2),  # 6818.2 MB/s / 26 B
        ("ib-fdr", 2, 1, 524.5),
        ("ib-fdr", 1, 2, 524.5),
        ("ib-edr", 1, 1, 480.8),
        ("roce-100", 1, 1, 152.4),  # 12500 / 82
    ],
)
def test_each_message_is_a_packet_of_its_own(link: str, ports: int, directions: int, millions: float) -> None:
    found = message_limit(LINKS[link], ports, directions)
    assert found is not None
    assert found.value / 1e6 == pytest.approx(millions, rel=1e-3)


@pytest.mark.parametrize("link", ["eth-100", "slingshot-11", "myrinet-2000", "opa-100"])
def test_a_link_whose_messages_may_share_a_packet_bounds_no_rate(link: str) -> None:
    assert message_limit(LINKS[link], 1, 1) is None
