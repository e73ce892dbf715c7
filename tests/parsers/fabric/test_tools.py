"""One trap per test, in synthetic texts (samples/) and recordings of our own runs (recordings/)."""

from pathlib import Path

import pytest

from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.fabric.port import Peer, PortState
from railyard.parsers.fabric.text import Notes
from railyard.parsers.output import ParsedOutput, ParseError, Remark

HERE = Path(__file__).parent


CA_LINE = 'Ca\t1 "H-00aa000000000001"\t\t# "node1 mlx5_0"'


def read(name: str) -> ParsedOutput:
    path = next(
        path for path in (HERE / "samples" / f"{name}.txt", HERE / "recordings" / f"{name}.out") if path.is_file()
    )
    return FABRIC_PARSERS[name.partition("-")[0]](path.read_text(encoding="utf-8"))


def link(port: PortState) -> tuple[str | None, str | None, float | None, bool | None]:
    return port.width, port.speed, port.rate, port.is_degraded


def test_ibstat_names_fdr10_and_knows_the_layer_ib() -> None:
    first, second = read("ibstat-two").fabric
    assert (first.firmware, first.node_guid, first.guid, first.line) == (
        *("20.31.1014", "0x0011223344550000", "0x0011223344550001"),
        8,
    )
    assert (second.state, second.rate, second.speed, second.link_layer) == ("Initializing", 40.0, "FDR10", "InfiniBand")


def test_ibstat_of_one_port_has_no_indentation() -> None:
    (port,) = read("ibstat-one").fabric
    assert (port.device, port.port, port.state, port.is_active, port.rate) == ("mlx4_0", 2, "Down", False, 10.0)


def test_a_launchers_tags_are_no_part_of_a_fabric_tools_lines() -> None:
    text = (HERE / "samples" / "ibstat-one.txt").read_text(encoding="utf-8")
    tagged = "".join(f"[1,0]<stdout>: {line}" for line in text.splitlines(keepends=True))
    assert FABRIC_PARSERS["ibstat"](tagged) == FABRIC_PARSERS["ibstat"](text)


def test_ibstat_that_does_not_know_a_state_prints_none() -> None:
    text = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: ???\n\t\tPhysical state: ???\n\t\tRate: 10\n"
    (port,) = FABRIC_PARSERS["ibstat"](text).fabric
    assert (port.state, port.physical_state, port.rate) == (None, None, 10.0)


def test_ibstat_without_ports_is_a_remark() -> None:
    parsed = FABRIC_PARSERS["ibstat"]("CA 'mlx5_0'\n\tCA type: MT4123\n\tNumber of ports: 1\n")
    assert (parsed.fabric, parsed.remarks) == ((), (Remark(1, "no port is printed: CA 'mlx5_0'"),))


def test_ibstat_that_finds_no_device_says_so() -> None:
    panic = "ibpanic: [17] main: stat of IB device 'mlx5_0' failed: No such file or directory"
    assert FABRIC_PARSERS["ibstat"](f"{panic}\n") == ParsedOutput(failures=(Remark(1, panic),))


def test_ibstatus_takes_the_guid_from_the_gid_on_infiniband_only() -> None:
    first, second = read("ibstatus").fabric
    assert (first.guid, first.lid, link(first)) == ("0x0011223344550001", 17, ("2X", "HDR", 100.0, None))
    assert [port.guid for port in read("ibstatus-rxe").fabric] == [None, None]
    # an old kernel's "(4X)" is SDR; "unknown" gives no value
    assert (second.guid, second.sm_lid, link(second)) == (None, None, ("4X", "SDR", 10.0, None))


def test_ibv_devinfo_tells_fdr10_from_qdr_by_its_code() -> None:
    first, second = read("ibv_devinfo").fabric
    assert (link(first), first.lane_gbit_s, first.mtu_bytes) == (("4X", "FDR10", 40.0, None), 10.0, 2048)
    assert (first.counters, first.node_guid) == ({"BadPKeyCounter": 2}, "0x0002c90300aa0000")
    assert (second.state, second.mtu_bytes, second.link_layer, link(second)) == (
        *("Down", None, "Ethernet"),
        (None, None, None, None),
    )


def test_ibv_devinfo_with_a_broken_counter_keeps_the_port() -> None:
    text = "hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tstate:\t\tPORT_ACTIVE (4)\n\t\t\tqkey_viol_cntr:\t\t9x0\n"
    (port,) = FABRIC_PARSERS["ibv_devinfo"](text).fabric
    assert (port.device, port.port, port.state, dict(port.counters)) == ("mlx5_0", 1, "Active", {})


def test_iblinkinfo_says_what_a_link_could_be() -> None:
    host, narrow, healthy, starting, down, alone = read("iblinkinfo").fabric
    assert (host.node, host.device, host.kind, host.lid, host.guid) == (
        "node1",
        "mlx5_0",
        "CA",
        17,
        "0x0011223344550001",
    )
    assert (link(host), host.best_width, host.best_from) == (("2X", "HDR", 100.0, True), "4X", "both ends")
    # after -p's timers
    assert (link(narrow), narrow.peer) == (("2X", "HDR", 100.0, True), Peer("node1", "mlx5_0", 1, 17))
    assert (link(healthy), healthy.guid) == (("4X", "HDR", 200.0, False), "0x00aa000000000001")
    assert (starting.state, link(starting), starting.best_speed) == ("Initializing", ("4X", "FDR10", 40.0, None), "FDR")
    assert (down.state, down.physical_state, link(down), down.peer) == ("Down", "Polling", (None,) * 4, None)
    assert (link(alone), alone.peer) == (("4X", "XDR", 800.0, None), None)


def test_iblinkinfo_of_one_line_a_link_has_both_guids() -> None:
    up, down = read("iblinkinfo-l").fabric
    assert (up.node, up.device, up.port, link(up), up.best_speed) == (
        "leaf1",
        None,
        7,
        ("4X", "QDR", 40.0, True),
        "FDR10",
    )
    assert up.peer == Peer("node1", "mlx5_0", 1, 17, "0x0011223344550001")
    assert (down.state, down.physical_state) == ("Down", "Disabled")


def test_iblinkinfo_of_the_scripts_and_wrapped_by_a_mailer() -> None:
    old, down = read("iblinkinfo-old").fabric
    # what the scripts print for a port that is down is not valid
    assert (down.state, link(down), down.lane_gbit_s) == ("Down", (None,) * 4, None)
    assert (old.node, old.lid, link(old)) == ("old leaf of a vendor", 3, ("4X", "DDR", 20.0, False))
    wrapped = read("iblinkinfo-wrapped").fabric
    assert [(port.port, port.peer.node if port.peer else None, link(port)[3]) for port in wrapped] == [
        *((7, "node1", True), (8, "node2", False), (10, None, None)),
    ]


def test_iblinkinfo_of_a_simulated_fabric_shows_the_unplugged_cable() -> None:
    parsed = read("iblinkinfo-unlinked-ibsim")
    assert (len(parsed.fabric), sum(port.state == "Down" for port in parsed.fabric)) == (167, 137)
    assert {port.node for port in parsed.fabric if port.speed == "QDR"} == {"vn3", "Leaf2"}
    assert not any(port.node == "vn4" and port.device == "mlx5_1" for port in parsed.fabric)


def test_ibnetdiscover_has_both_ends() -> None:
    to_host, to_leaf, host = read("ibnetdiscover").fabric
    assert (to_host.node, to_host.port, to_host.lid, link(to_host)) == ("leaf1", 7, 2, ("2X", "HDR", 100.0, None))
    assert to_host.peer == Peer("node1", "mlx5_0", 1, 17, "0x0011223344550001")
    assert (to_leaf.peer, link(to_leaf)[1]) == (Peer("leaf2", None, 1, 3, "0x00aa000000000002"), "FDR10")
    assert (host.device, host.guid, host.lid, host.peer) == (
        *("mlx5_0", "0x0011223344550001", 17),
        Peer("leaf1", None, 7, 2, "0x00aa000000000001"),
    )
    assert len(read("ibnetdiscover-ibsim").fabric) == 32


def test_ibnetdiscover_gives_no_rate_to_a_port_without_a_partner() -> None:
    host, switch, dead, unknown = read("ibnetdiscover-p").fabric
    assert (host.peer, switch.peer) == (
        Peer("leaf1", None, 7, 2, "0x00aa000000000001"),
        Peer("node1", "mlx5_0", 1, 17, "0x0011223344550001"),
    )
    assert [(port.node, port.state, link(port)) for port in (dead, unknown)] == [
        ("leaf1", None, ("4X", "SDR", None, None)),
        ("leaf1", None, (None, None, None, None)),
    ]


def test_ibqueryerrors_tells_full_counters_from_wide_ones() -> None:
    parsed = read("ibqueryerrors")
    host, together, down = parsed.fabric
    assert (host.errors, host.saturated) == (
        {"SymbolErrorCounter": 65535, "LinkDownedCounter": 255},
        ("SymbolErrorCounter", "LinkDownedCounter"),
    )
    assert (link(host), host.peer) == (("2X", "HDR", 100.0, True), Peer("leaf1", None, 7, 2, "0x00aa000000000001"))
    # 255 of 64 bits is not full, 4294967295 of data may be
    assert (together.port, together.counters["LinkDownedCounter"], together.saturated) == (255, 255, ("PortXmitData",))
    assert (down.errors, down.state, down.node) == ({"PortXmitDiscards": 12}, "Down", "leaf1")
    assert {tuple(port.thresholds.items()) for port in parsed.fabric} == {
        (("SymbolErrorCounter", 10), ("VL15Dropped", 100))
    }
    assert parsed.failures == (Remark(12, "##          3 PMA query failures"),)
    assert parsed.remarks[0] == Remark(9, "## Summary: 12 nodes checked, 2 bad nodes found")


def test_ibqueryerrors_without_errors_is_read() -> None:
    parsed = read("ibqueryerrors-clean-ibsim")
    assert (parsed.fabric, parsed.failures) == ((), ())
    assert parsed.remarks[2].text == "##          168 ports checked, 0 ports have errors beyond threshold"
    (port,) = read("ibqueryerrors-counters").fabric
    assert port.counters == {"PortXmitData": 2048, "PortRcvData": 0, "PortXmitPkts": 3}


def test_a_heading_of_markdown_is_no_output_of_ibqueryerrors() -> None:
    with pytest.raises(ParseError, match="output of ibqueryerrors"):
        FABRIC_PARSERS["ibqueryerrors"]("## Unreleased\n\n- a line of a change log\n")


def test_perfquery_knows_how_wide_its_counters_are() -> None:
    short, extended = read("perfquery").fabric
    assert short.saturated == ("SymbolErrorCounter", "LinkDownedCounter", "LocalLinkIntegrityErrors", "PortXmitData")
    assert (extended.saturated, extended.extra["counters"]) == ((), "Port extended")
    (old,) = read("perfquery-old").fabric
    assert (old.port, old.counters) == (255, {"SymbolErrorCounter": 3, "LinkDownedCounter": 0, "PortXmitData": 17})


def test_perfquery_that_fails_says_why() -> None:
    parsed = read("perfquery-no-path-ibsim")
    assert (parsed.fabric, [failure.line for failure in parsed.failures]) == ((), [2, 3])


def test_ibportstate_tells_fdr10_and_what_this_end_has_enabled() -> None:
    (port,) = read("ibportstate-fdr10").fabric
    assert (link(port), port.best_width, port.best_from) == (("1X", "FDR10", 10.0, True), "4X", "this end")
    (query,) = read("ibportstate-ibsim").fabric
    (portinfo,) = read("ibportstate-smpquery-ibsim").fabric
    assert link(query) == link(portinfo) == ("4X", "EDR", 100.0, False)
    assert portinfo.mtu_bytes == 2048


def test_the_lines_of_a_port_whose_first_line_is_lost_change_nothing_of_the_port_before_it() -> None:
    # found by benchmarks/fuzz.py: the second port's rate was taken for the first one's
    first = "Infiniband device 'mlx5_0' port 1 status:\n\trate:\t\t 200 Gb/sec (4X HDR)\n\tlink_layer:\t InfiniBand\n"
    found = FABRIC_PARSERS["ibstatus"](f"{first}\trate:\t\t 40 Gb/sec (4X QDR)\n\tlink_layer:\t Ethernet\n")
    assert [(port.rate, port.speed, port.link_layer) for port in found.fabric] == [(200, "HDR", "InfiniBand")]
    assert [failure.line for failure in found.failures] == [4, 5]


@pytest.mark.parametrize(
    ("tool", "text", "line", "header"),
    [
        ("ibv_devinfo", "hca_id:\tmlx5_0\n\ttransport", 1, "hca_id:\tmlx5_0"),
        ("ibv_devinfo", "hca_id: a\n\tport: 1\n\t\tstate: PORT_DOWN (1)\nhca_id: b\n", 4, "hca_id: b"),
        ("ibqueryerrors", 'Errors for "node1 mlx5_0"\n ', 1, 'Errors for "node1 mlx5_0"'),
        ("ibstat", "CA 'mlx5_0'\n\tCA type: MT4123\n", 1, "CA 'mlx5_0'"),
        ("ibnetdiscover", 'Ca\t1 "H-00aa000000000001"\t\t# "node1 mlx5_0"\n', 1, CA_LINE),
    ],
)
def test_a_device_or_node_without_a_port_is_a_remark(tool: str, text: str, line: int, header: str) -> None:
    # found by benchmarks/fuzz.py: a text that was taken for the tool's without any message
    shown = " ".join(header.split())  # a tab between words is read as a blank
    assert FABRIC_PARSERS[tool](text).remarks == (Remark(line, f"no port is printed: {shown}"),)


@pytest.mark.parametrize(
    "line",
    [
        "ibpanic: [7] main: no port",
        "ibwarn: [7] mad_rpc: no answer",
        "perfquery: iberror: no port",
        "Fatal error:  No devices",
        " -E- No device",
        "Error: no such link",
        "Failed to open the port",
        "stat of IB device failed",
        "No IB devices found",
        "the device wasn't found",
        "open: Permission denied",
        "open: Operation not permitted",
        "open: No such file or directory",
        "open: No such device",
        "this counter is unsupported",
        "this counter is not supported",
        "the query timed out",
        "Timed out",
    ],
)
def test_what_a_fabric_tool_says_of_a_failure_is_one(line: str) -> None:
    notes = Notes()
    notes.foreign(3, line)
    notes.foreign(4, "an error counter of the port")
    assert (notes.failures, notes.remarks) == ([(3, line.strip())], [(4, "an error counter of the port")])


def test_iblinkinfo_and_ibnetdiscover_are_read_whole_with_a_tab_for_each_blank() -> None:
    for name, count in (("iblinkinfo", 6), ("ibnetdiscover-p", 4)):
        text = (HERE / "samples" / f"{name}.txt").read_text(encoding="utf-8").replace(" ", "\t")
        tool = name.partition("-")[0]
        assert [(port.port, port.rate) for port in FABRIC_PARSERS[tool](text).fabric] == [
            (port.port, port.rate) for port in read(name).fabric
        ]
        assert len(read(name).fabric) == count


def test_a_port_of_iblinkinfo_in_another_form_is_a_failure_with_its_line() -> None:
    text = (HERE / "samples" / "iblinkinfo.txt").read_text(encoding="utf-8").replace("==( 2X", "==[ 2X", 1)
    (failure,) = FABRIC_PARSERS["iblinkinfo"](text).failures
    assert failure.line == 2
    assert failure.text == (
        'a row that cannot be read: found "0x0011223344550001 17 1[ ] ==[ 2X 53.125 Gbps Active/ LinkUp)==> 2 7[ ] '
        '"leaf1" (Could be 4X )", expected a port as "5 1[  ] ==( 4X 25.78125 Gbps Active/ ..."'
    )


def test_lspci_reads_a_3d_controller_as_a_device_of_its_own() -> None:
    link = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 16GT/s, Width x{}\n"
    text = f"17:00.0 3D controller: NVIDIA A100\n{link.format(8)}\n81:00.0 Ethernet controller: X\n{link.format(16)}"
    slots = FABRIC_PARSERS["lspci"](text).hardware.slots
    assert [(slot.address, slot.kind, slot.width) for slot in slots] == [
        ("17:00.0", "3D controller", 8),
        ("81:00.0", "Ethernet controller", 16),
    ]
