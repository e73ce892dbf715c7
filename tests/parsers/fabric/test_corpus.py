"""The genuine outputs, file by file, compared with a reading by hand; and no other parser reads them."""

from pathlib import Path

import pytest

from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.fabric.port import PortState
from railyard.parsers.output import ParseError

#: (device or node, port, state, physical state, rate in Gbit/s, LID, link layer) of each port of a file.
Row = tuple[str | None, int | None, str | None, str | None, float | None, int | None, str | None]
UP = ("Active", "LinkUp")
IB, ETH = "InfiniBand", "Ethernet"

IBSTAT: dict[str, tuple[Row, ...]] = {
    "gpud_ibstat_39_0_a100_failed_ibpanic_exit-255_0.txt": tuple(
        (f"mlx5_{n}", 1, *UP, 200, lid, IB)
        for n, lid in enumerate((13247, 13246, 13259, 13276, 13301, 13300, 13302, 13305))
    ),
    "gpud_ibstat_47_0_a100_all_active_0.txt": (
        ("mlx5_0", 1, *UP, 200, 0, ETH),
        *(
            (f"mlx5_{n}", 1, *UP, 200, lid, IB)
            for n, lid in zip(range(1, 8), (1369, 1372, 1374, 1379, 1383, 1387, 1392), strict=True)
        ),
        ("mlx5_8", 1, *UP, 200, 1396, IB),
    ),
    "gpud_ibstat_47_0_h100_all_active_0.txt": tuple(
        (f"mlx5_{n}", 1, *UP, 100 if n in (1, 2, 7, 8) else 400, 0, ETH) for n in (0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9)
    ),
    "gpud_ibstat_47_0_h100_some_down_0.txt": (
        ("mlx5_0", 1, *UP, 400, 75, IB),
        ("mlx5_1", 1, *UP, 100, 0, ETH),
        ("mlx5_10", 1, *UP, 400, 828, IB),
        ("mlx5_11", 1, *UP, 400, 944, IB),
        ("mlx5_2", 1, "Down", "Disabled", 40, 0, ETH),
        ("mlx5_3", 1, *UP, 400, 143, IB),
        ("mlx5_4", 1, *UP, 400, 343, IB),
        ("mlx5_5", 1, *UP, 400, 454, IB),
        ("mlx5_6", 1, *UP, 400, 597, IB),
        ("mlx5_7", 1, "Down", "Disabled", 40, 0, ETH),
        ("mlx5_8", 1, "Down", "Disabled", 40, 0, ETH),
        ("mlx5_9", 1, *UP, 400, 771, IB),
    ),
    "ibstat_cx5_roce100.txt": (("mlx5_0", 1, *UP, 100, 0, ETH),),
    "ibstat_ddr_dual_port_server.txt": (("mlx4_0", 1, *UP, 20, 1, IB), ("mlx4_0", 2, *UP, 20, 3, IB)),
    "ibstat_fdr10_initializing_port2_down.txt": (
        ("mlx4_0", 1, "Initializing", "LinkUp", 40, 0, IB),
        ("mlx4_0", 2, "Down", "Disabled", 10, 0, IB),
    ),
    "ibstat_fdr_dual_port_active.txt": (("mlx4_0", 1, *UP, 56, 10, IB), ("mlx4_0", 2, *UP, 56, 12, IB)),
    # the author's remarks follow two values; the last word is cut to "InfiniBan" and names no layer
    "ibstat_fdr_port1_disabled.txt": (
        ("mlx4_0", 1, "Down", "Disabled", 2.5, 3, IB),
        ("mlx4_0", 2, *UP, 56, 2, None),
    ),
}
OTHERS: dict[str, tuple[str, tuple[Row, ...]]] = {
    "gpud_ibstatus_39_a100_hdr.txt": (
        "ibstatus",
        (
            *((f"mlx5_{n}", 1, *UP, 200, lid, IB) for n, lid in enumerate((13247, 13246, 13259, 13276))),
            *((f"mlx5_{n}", 1, *UP, 200, lid, IB) for n, lid in enumerate((13301, 13300, 13302, 13305), 4)),
            ("mlx5_8", 1, *UP, 40, 0, ETH),
        ),
    ),
    "ibnetdiscover_p_edr_mixed.txt": (
        "ibnetdiscover",
        (
            *(("HCA-1", 1, None, None, 100, lid, None) for lid in (134, 133, 1432)),
            *(("ib-i1l1s01", port, None, None, 100, 1719, None) for port in (10, 11, 1)),
            ("ib-i4l1s01", 35, None, None, 100, 2052, None),
            # no partner: the printed "4x ???" and "4x SDR" are not of a link
            ("ib-i4l1s01", 37, None, None, None, 2052, None),
            ("ib-i7l2s01", 80, None, None, None, 1781, None),
        ),
    ),
    "ibportstate_fdr_query.txt": ("ibportstate", ((None, 2, *UP, 56, 12, None),)),
    "ibv_devinfo_cx5_roce100.txt": ("ibv_devinfo", (("mlx5_0", 1, "Active", None, None, 0, ETH),)),
    "mlxlink_ndr400_cx7.txt": ("mlxlink", ((None, None, *UP, 400, None, IB),)),
    "perfquery_edr_switch_port.txt": ("perfquery", ((None, 1, None, None, None, 2052, None),)),
    "perfquery_rcv_error.txt": ("perfquery", ((None, 1, None, None, None, 2052, None),)),
    "superbench_ibstat_p.txt": ("ibstat", ((None, None, None, None, None, None, None),) * 10),
}
FILES = {name: ("ibstat", rows) for name, rows in IBSTAT.items()} | OTHERS
UNREAD = ("hca_self_test_ofed_qdr.txt", "ibswinfo_edr_fan_error.txt")


def text_of(corpus: Path, name: str) -> str:
    return (corpus / "ibdiag" / name).read_text(encoding="utf-8", errors="replace")


def row_of(port: PortState) -> Row:
    where = port.device or (port.node if port.kind == "Switch" else None)
    return (where, port.port, port.state, port.physical_state, port.rate, port.lid, port.link_layer)


@pytest.mark.parametrize("name", FILES)
def test_every_port_of_the_corpus_holds(corpus: Path, name: str) -> None:
    tool, rows = FILES[name]
    assert tuple(row_of(port) for port in FABRIC_PARSERS[tool](text_of(corpus, name)).fabric) == rows


def test_the_corpus_has_no_file_without_an_expectation(corpus: Path) -> None:
    assert {path.name for path in (corpus / "ibdiag").iterdir()} == {*FILES, *UNREAD}


def test_no_parser_reads_another_tools_output(corpus: Path) -> None:
    read = []
    for name in (*FILES, *UNREAD):
        for tool, parse in FABRIC_PARSERS.items():
            if tool == FILES.get(name, ("none", ()))[0]:
                continue
            try:
                parse(text_of(corpus, name))
            except ParseError:
                continue
            read.append(f"{name} read as {tool}")
    assert read == []


def test_an_abort_behind_the_last_port_is_a_failure(corpus: Path) -> None:
    parsed = FABRIC_PARSERS["ibstat"](text_of(corpus, "gpud_ibstat_39_0_a100_failed_ibpanic_exit-255_0.txt"))
    assert [failure.line for failure in parsed.failures] == [137]


def test_the_extended_speed_of_an_fdr_port_decides(corpus: Path) -> None:
    (port,) = FABRIC_PARSERS["ibportstate"](text_of(corpus, "ibportstate_fdr_query.txt")).fabric
    assert (port.speed, port.lane_gbit_s, port.width, port.best_speed, port.is_degraded) == (
        *("FDR", 14.0625, "4X", "FDR"),
        False,
    )


def test_an_mtu_of_1024_shows(corpus: Path) -> None:
    (port,) = FABRIC_PARSERS["ibv_devinfo"](text_of(corpus, "ibv_devinfo_cx5_roce100.txt")).fabric
    assert (port.mtu_bytes, port.max_mtu_bytes, port.firmware) == (1024, 4096, "16.23.1020")


def test_extended_counters_are_raw_and_not_full(corpus: Path) -> None:
    (port,) = FABRIC_PARSERS["perfquery"](text_of(corpus, "perfquery_edr_switch_port.txt")).fabric
    assert port.counters["PortXmitData"] == 178791657177235
    assert port.errors == {"LinkDownedCounter": 1, "PortRcvSwitchRelayErrors": 7, "PortXmitDiscards": 20046}
    assert (len(port.counters), port.saturated) == (22, ())


def test_names_of_hosts_between_port_guids_are_kept(corpus: Path) -> None:
    ports = FABRIC_PARSERS["ibstat"](text_of(corpus, "superbench_ibstat_p.txt")).fabric
    assert (ports[9].node, ports[9].guid) == ("vma414bbc00005R", "0x043f720300e61112")
