"""RoCE: GIDs, MTU, flow control; and values that must be the same on all nodes: the odd node is named."""

from dataclasses import replace
from typing import Any

import pytest

from railyard.cluster.fabric.judge import judge, parse_pfc
from railyard.cluster.fabric.model import Card, ExpectedFabric, Finding, Gid, Readings, expected_fabric
from railyard.parsers.fabric.port import PortState
from railyard.site.systems.model import System

IPV4 = "0000:0000:0000:0000:0000:ffff:0a00:0001"
LOCAL = "fe80:0000:0000:0000:b859:9fff:fe00:1000"
GIDS = (Gid(0, LOCAL, "v1"), Gid(1, LOCAL, "v2"), Gid(2, IPV4, "v1"), Gid(3, IPV4, "v2"))


@pytest.fixture
def roce(synthetic_system: System) -> ExpectedFabric:
    return expected_fabric(synthetic_system, "roce")


def cards(**changes: Any) -> tuple[Card, ...]:
    """Return a card on each of four nodes; all are alike, but the last one is changed."""
    alike = [Card(f"vn{n}", "mlx5_0", "mlx5_core", "16.35.2000", "MT_0000000008", gids=GIDS) for n in range(1, 5)]
    return (*alike[:3], replace(alike[3], **changes))


def finding_sentences(expected: ExpectedFabric, readings: Readings) -> list[str]:
    return [finding.sentence for finding in judge(expected, readings).findings]


def test_what_a_roce_fabric_is_to_be(roce: ExpectedFabric) -> None:
    assert (roce.width, roce.speed, roce.rate, roce.mtu) == (None, None, 100.0, 4096)
    assert (roce.subnet_manager, roce.roce_mode) == (False, "v2")


def test_cards_that_are_alike_are_none(roce: ExpectedFabric) -> None:
    assert finding_sentences(roce, Readings(cards=cards())) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"firmware": "16.28.1002"},
            "vn4 mlx5_0: found firmware 16.28.1002, expected 16.35.2000, as on 3 of 4 cards; update it as on "
            "the others",
        ),
        (
            {"psid": "DEL0000000010"},
            "vn4 mlx5_0: found psid DEL0000000010, expected MT_0000000008, as on 3 of 4 cards; is it another "
            "model of card?",
        ),
        (
            {"gids": (Gid(0, LOCAL, "v1"), Gid(1, LOCAL, "v2"), Gid(5, IPV4, "v2"))},
            "vn4 mlx5_0: found the first usable GID at index 5, expected index 3, as on 3 of 4 cards; look at "
            "/sys/class/infiniband/DEVICE/ports/1/gid_attrs/types, and set the intended index for jobs",
        ),
        (
            {"gids": (Gid(0, LOCAL, "v1"), Gid(1, LOCAL, "v2"))},
            "vn4 mlx5_0: found only GIDs of RoCE v1, RoCE v2, expected a GID of RoCE v2 with an IP address; give the "
            "card's interface an IP address, and check its RoCE mode (cma_roce_mode)",
        ),
    ],
)
def test_the_odd_card_is_named(roce: ExpectedFabric, changes: dict[str, Any], sentence: str) -> None:
    assert finding_sentences(roce, Readings(cards=cards(**changes))) == [sentence]


def test_without_a_majority_nobody_is_odd(roce: ExpectedFabric) -> None:
    half = [replace(card, firmware="16.28.1002") for card in cards()[:2]]
    report = judge(roce, Readings(cards=(*half, *cards()[2:])))
    assert report.findings == (
        Finding(
            *("firmware", None, None, None),
            "firmware 16.28.1002 on vn1 mlx5_0, vn2 mlx5_0; firmware 16.35.2000 on vn3 mlx5_0, vn4 mlx5_0",
            "one firmware on all cards",
            "update some of them, or say which is expected (fabric_state.firmware)",
            "remark",
        ),
    )


def test_what_the_file_says_stands_above_the_majority(roce: ExpectedFabric) -> None:
    meant = replace(roce, firmware="16.28.1002", gid_index=1)
    report = judge(meant, Readings(cards=cards(firmware="16.28.1002")))
    assert [(finding.node, finding.what, finding.expected) for finding in report.findings] == [
        (f"vn{n}", "firmware", "16.28.1002") for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(("index", "found"), [(3, []), (2, ["RoCE v1 at index 2"] * 4), (9, ["no GID at index 9"] * 4)])
def test_a_gid_index_of_the_file_is_held(roce: ExpectedFabric, index: int, found: list[str]) -> None:
    report = judge(replace(roce, gid_index=index), Readings(cards=cards()))
    assert [finding.found for finding in report.findings] == found


def test_flow_control_and_notification_are_held_where_the_file_names_them(roce: ExpectedFabric) -> None:
    meant = replace(roce, pfc=(3,), ecn=(3,))
    readings = Readings(cards=tuple(replace(card, pfc=(3,), ecn=(3,)) for card in cards()[:3]) + cards(pfc=())[3:])
    assert finding_sentences(meant, readings) == [
        "vn4 mlx5_0: found PFC on no priority, expected PFC on priority 3; mlnx_qos -i INTERFACE "
        "--pfc, as on the switch"
    ]


def test_notification_of_another_priority_is_named(roce: ExpectedFabric) -> None:
    readings = Readings(cards=tuple(replace(card, ecn=(3,)) for card in cards()[:3]) + cards(ecn=(0, 3))[3:])
    assert finding_sentences(roce, readings) == []
    assert finding_sentences(replace(roce, ecn=(3,)), readings) == [
        "vn4 mlx5_0: found ECN on priorities 0, 3, expected ECN on priority 3; ecn/roce_*/enable/N of the interface in "
        "/sys, as on the switch"
    ]


def test_priorities_as_dcb_prints_them() -> None:
    text = "pfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:on 4:on 5:off 6:off 7:off\n"
    assert (parse_pfc(text), parse_pfc(text.replace("on", "off"))) == ((3, 4), ())
    assert parse_pfc("Device not found\n") is None


def test_an_mtu_of_1024_is_named_with_its_interface(roce: ExpectedFabric) -> None:
    port = PortState(
        node="vn1", device="mlx5_0", port=1, kind="CA", state="Active", rate=100.0, mtu_bytes=1024, netdev="ens1f0"
    )
    own = (port, port._replace(device="mlx5_1", mtu_bytes=4096))
    assert finding_sentences(roce, Readings(own=own)) == [
        "vn1 mlx5_0 port 1: found MTU 1024, expected MTU 4096; raise the interface's MTU: ip link set ens1f0 mtu 9000 "
        "(4200 or more gives a path MTU of 4096)"
    ]
    assert finding_sentences(replace(roce, kind="ib", mtu=2048), Readings(own=own)) == [
        "vn1 mlx5_0 port 1: found MTU 1024, expected MTU 2048; look at the subnet manager's MTU of this port and of "
        "its switch (max_mtu of ibv_devinfo)",
        "vn1 mlx5_1 port 1: found MTU 4096, expected MTU 2048; correct mtu of fabrics.roce in systems/made.yaml",
    ]


def test_the_rate_of_a_software_device_is_not_judged(roce: ExpectedFabric) -> None:
    soft = replace(roce, rails=tuple(replace(rail, counters="rxe") for rail in roce.rails))
    port = PortState(node="vg1", device="mlx5_0", port=1, kind="CA", state="Active", rate=2.5, width="1X", speed="SDR")
    own = (port, port._replace(device="mlx5_1"))
    report = judge(soft, Readings(own=own))
    assert (report.findings, report.notes) == (
        (),
        ("software devices; their printed rate means nothing and is not judged: mlx5_0, mlx5_1",),
    )
    assert [finding.what for finding in judge(roce, Readings(own=own)).findings] == ["contradiction"]
    down = (port._replace(state="Down"), own[1])
    assert [finding.place for finding in judge(soft, Readings(own=down)).findings] == ["vg1 mlx5_0 port 1"]


def test_a_link_of_a_quarter_of_the_rate_is_named(roce: ExpectedFabric) -> None:
    port = PortState(node="vn1", device="mlx5_0", port=1, kind="CA", state="Active", rate=25.0, width="1X", speed="EDR")
    other = port._replace(device="mlx5_1", rate=100.0, width="2X", speed="HDR")
    assert finding_sentences(roce, Readings(own=(port, other))) == [
        "vn1 mlx5_0 port 1: found 1X EDR (25 Gbit/s), expected 100 Gbit/s; lanes or speed are lost: reseat or replace "
        "its cable"
    ]
