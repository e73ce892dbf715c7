"""The names in our tables for what the kernel prints."""

import pytest

from railyard.cluster.detect.ports import (
    PortRate,
    infiniband_link,
    plain_link,
    port_rate,
    slingshot_link,
    slot_name,
)


@pytest.mark.parametrize(
    ("text", "link", "words"),
    [
        ("10 Gb/sec (4X)", "ib-sdr", "4X SDR, 10 Gbit/s"),
        ("20 Gb/sec (4X DDR)", "ib-ddr", "4X DDR, 20 Gbit/s"),
        ("40 Gb/sec (4X QDR)", "ib-qdr", "4X QDR, 40 Gbit/s"),
        ("40 Gb/sec (4X FDR10)", "ib-fdr10", "4X FDR10, 40 Gbit/s"),
        ("56 Gb/sec (4X FDR)", "ib-fdr", "4X FDR, 56 Gbit/s"),
        ("100 Gb/sec (4X EDR)", "ib-edr", "4X EDR, 100 Gbit/s"),
        ("100 Gb/sec (2X HDR)", "ib-hdr100", "2X HDR, 100 Gbit/s"),
        ("200 Gb/sec (4X HDR)", "ib-hdr", "4X HDR, 200 Gbit/s"),
        ("200 Gb/sec (2X NDR)", "ib-ndr200", "2X NDR, 200 Gbit/s"),
        ("400 Gb/sec (4X NDR)", "ib-ndr", "4X NDR, 400 Gbit/s"),
        ("800 Gb/sec (4X XDR)", "ib-xdr", "4X XDR, 800 Gbit/s"),
        ("2.5 Gb/sec (1X SDR)", "ib-sdr-1x", "1X SDR, 2.5 Gbit/s"),
        ("300 Gb/sec (12X EDR)", "ib-edr-12x", "12X EDR, 300 Gbit/s"),
        # one lane of four: no rail is built like this, and the table has no such link
        ("25 Gb/sec (1X EDR)", None, "1X EDR, 25 Gbit/s"),
    ],
)
def test_a_rate_is_a_link(text: str, link: str | None, words: str) -> None:
    rate = port_rate(text)
    assert rate is not None
    assert (infiniband_link(rate), rate.words) == (link, words)


@pytest.mark.parametrize("text", [None, "", "0 Gb/sec (4X SDR)", "100 Gb/s", "100 Gb/sec (4X EDR) more", "unknown"])
def test_another_text_is_no_rate(text: str | None) -> None:
    assert port_rate(text) is None


def test_a_rate_without_width_is_no_infiniband_link() -> None:
    assert infiniband_link(PortRate(100.0, None, None)) is None


def test_links_told_by_their_rate() -> None:
    assert [plain_link("roce", rate) for rate in (25.0, 100.0, 20.0)] == ["roce-25", "roce-100", None]
    assert [plain_link("eth", rate) for rate in (1.0, 400.0, 2.5)] == ["eth-1", "eth-400", None]
    assert (plain_link("opa", 100.0), plain_link("efa", 200.0)) == ("opa-100", "efa-200")
    assert [slingshot_link(rate) for rate in (200.0, 400.0, 100.0)] == ["slingshot-11", "slingshot-400", None]


@pytest.mark.parametrize(
    ("speed", "width", "slot"),
    [
        ("2.5 GT/s PCIe", "1", "pcie1-x1"),
        ("5 GT/s", "8", "pcie2-x8"),
        ("8.0 GT/s PCIe", "16", "pcie3-x16"),
        ("16.0 GT/s PCIe", "8", "pcie4-x8"),
        ("32.0 GT/s PCIe", "16", "pcie5-x16"),
        ("64.0 GT/s PCIe", "16", "pcie6-x16"),
        ("8.0 GT/s PCIe", "2", None),
        ("8.0 GT/s PCIe", "0", None),
        ("Unknown", "16", None),
        (None, None, None),
    ],
)
def test_a_slot_of_the_table_or_none(speed: str | None, width: str | None, slot: str | None) -> None:
    assert slot_name(speed, width) == slot
