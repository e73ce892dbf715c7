"""PortState: what follows from its fields, and its JSON; the vocabulary below it."""

import json

import pytest

from railyard.hardware.counters import ERROR_BITS, OLD_NAMES, is_full
from railyard.hardware.links import LANES, fastest, rate_gbit_s, slower, speed_of_lane, width_of
from railyard.parsers.fabric.port import Link, Peer, PortState
from railyard.parsers.fabric.words import guid_of, integer, physical_of, split_description, state_of


def test_a_link_fills_the_fields_between_kind_and_lid() -> None:
    assert PortState._fields[PortState._fields.index("kind") + 1 : PortState._fields.index("lid")] == Link._fields
    assert PortState._field_defaults.items() >= Link._field_defaults.items()


def test_json_has_what_was_printed_and_no_more() -> None:
    port = PortState(
        node="node1",
        port=1,
        state="Active",
        rate=100.0,
        lane_gbit_s=25.78125,
        width="4X",
        best_width="12X",
        best_from="both ends",
        peer=Peer("leaf1", None, 7),
        counters={"VL15Dropped": 0},
        line=3,
    )
    assert port.as_json() == {
        "node": "node1",
        "port": 1,
        "state": "Active",
        "rate": 100,
        "width": "4X",
        "lane_gbit_s": 25.78125,
        "best_width": "12X",
        "best_from": "both ends",
        "peer": {"node": "leaf1", "port": 7},
        "counters": {"VL15Dropped": 0},
        "line": 3,
        "degraded": True,
    }
    assert '"rate": 100,' in json.dumps(port.as_json())


@pytest.mark.parametrize(
    ("state", "width", "speed", "best", "degraded"),
    [
        ("Active", "4X", "EDR", ("4X", "EDR"), False),
        ("Active", "1X", "EDR", ("4X", "EDR"), True),
        ("Active", "4X", "QDR", ("4X", "FDR10"), True),
        ("Active", "8X", "EDR", ("4X", "EDR"), False),
        ("Active", None, "EDR", ("4X", "HDR"), True),
        ("Active", None, None, ("4X", "HDR"), None),
        ("Active", "4X", "100G", (None, "200G_4X"), True),
        ("Active", "4X", "100G", (None, "EDR"), None),
        ("Down", "1X", "SDR", ("4X", "EDR"), None),
        (None, "1X", "EDR", ("4X", "EDR"), True),
    ],
)
def test_a_link_is_degraded_below_what_it_could_be(
    state: str | None, width: str | None, speed: str | None, best: tuple[str | None, str], degraded: bool | None
) -> None:
    port = PortState(
        state=state, width=width, speed=speed, best_width=best[0], best_speed=best[1], best_from="both ends"
    )
    assert port.is_degraded is degraded


def test_a_port_without_a_state_is_neither_active_nor_not() -> None:
    assert [PortState(state=state).is_active for state in (None, "Active", "Initializing", "Polling")] == [
        None,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("width", "speed", "rate"),
    [
        *(("4X", "SDR", 10.0), ("4X", "QDR", 40.0), ("4X", "FDR10", 40.0), ("4X", "FDR", 56.0), ("4X", "EDR", 100.0)),
        *(("2X", "HDR", 100.0), ("4X", "NDR", 400.0), ("4X", "XDR", 800.0), ("1X", "SDR", 2.5), ("12X", "QDR", 120.0)),
        *((None, "EDR", None), ("4X", None, None), ("4X", "200G", None)),
    ],
)
def test_a_rate_is_the_kernels(width: str | None, speed: str | None, rate: float | None) -> None:
    assert rate_gbit_s(width, speed) == rate


@pytest.mark.parametrize("name", LANES)
def test_every_lane_speed_is_known_by_both_of_its_rates(name: str) -> None:
    rounded, signalled = LANES[name]
    # 10.0 alone does not show whether it is QDR or FDR10
    assert speed_of_lane(rounded) == ("QDR" if name == "FDR10" else name)
    assert speed_of_lane(signalled) == name
    assert speed_of_lane(signalled * 1.04) != name


def test_words_of_all_tools_are_ibstats() -> None:
    assert [state_of(word) for word in ("PORT_ACTIVE", "ACTIVE", "Initialize", "PORT_INIT", "DOWN", "???", "N/A")] == [
        *("Active", "Active", "Initializing", "Initializing", "Down"),
        *(None, None),
    ]
    assert [physical_of(word) for word in ("LINK_UP", "Disabled", "POLLING", "ARMED", "Rx disable")] == [
        *("LinkUp", "Disabled", "Polling", "PortConfigurationTraining", "Rx disable"),
    ]


def test_values_of_several_forms() -> None:
    assert [width_of(word) for word in ("4x", "12X", "??", "0x", "N/A")] == ["4X", "12X", None, None, None]
    assert guid_of("506b:4b03:0028:4ddc") == guid_of("0x506B4B0300284DDC") == "0x506b4b0300284ddc"
    assert [guid_of(word) for word in ("0x2c9", "", "node1", "1" * 17)] == ["0x00000000000002c9", None, None, None]
    assert [integer(word) for word in ("0x33bf", "17", "-1", "٣", "9" * 21, "")] == [13247, 17, None, None, None, None]
    assert [
        split_description(words)
        for words in ("vn1 mlx5_0", "o0001 HCA-1", "MF0;x:Y/U1", "MT25408 ConnectX by a vendor", "")
    ] == [
        *(("vn1", "mlx5_0"), ("o0001", "HCA-1"), ("MF0;x:Y/U1", None), ("MT25408 ConnectX by a vendor", None)),
        (None, None),
    ]
    assert (fastest(("SDR", "HDR", "EDR")), fastest(("10G", "100G_2X")), fastest(())) == ("HDR", "100G_2X", None)
    assert (slower("QDR", "FDR10"), slower("25GbE", "100GbE"), slower("10M", "1G")) == (True, True, True)


def test_a_full_counter_is_one_of_its_own_width() -> None:
    assert [is_full("LinkDownedCounter", value) for value in (254, 255)] == [False, True]
    assert [is_full("LinkDownedCounter", value, 64) for value in (255, 2**64 - 1)] == [False, True]
    assert [is_full("SomethingNew", value) for value in (255, 65535, 2**32 - 1)] == [False, True, True]
    assert set(OLD_NAMES.values()) <= {
        *ERROR_BITS,
        *("PortXmitData", "PortRcvData"),
        *("PortXmitPkts", "PortRcvPkts"),
    } | {"PortXmitWait"}
