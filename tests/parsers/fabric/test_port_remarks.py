"""What ports show that is no fault of a cable: the words for all ports, congestion, and a small path MTU."""

from pathlib import Path

import pytest

from railyard.parsers.fabric import ibqueryerrors, ibv_devinfo
from railyard.parsers.fabric.port import ALL_PORTS, PortState, place, port_remarks
from railyard.results.report.output_text import parsed_text

SAMPLES = Path(__file__).parent / "samples"


def test_the_sum_over_a_devices_ports_is_called_all_ports() -> None:
    text = parsed_text(ibqueryerrors.parse((SAMPLES / "ibqueryerrors.txt").read_text(encoding="utf-8")))
    assert "leaf1  –       all ports  –       –" in text
    assert place(PortState(node="leaf1", port=ALL_PORTS)) == "leaf1 all ports"


def test_congestion_is_shown_as_such() -> None:
    ports = ibqueryerrors.parse((SAMPLES / "ibqueryerrors.txt").read_text(encoding="utf-8")).fabric
    assert port_remarks(ports) == (
        "node1 mlx5_0 port 1: PortXmitWait 7: it had data to send but no credit: congestion, or a slow receiver behind "
        "it, not its cable",
        "leaf1 port 10: PortXmitDiscards 12: packets were dropped before they were sent: congestion first (a receiver "
        "that does not take them in time), or a link that was down or has a smaller MTU",
    )


def test_of_many_ports_a_sentence_names_the_first() -> None:
    ports = [PortState(node=f"n{number}", port=1, counters={"PortXmitWait": 1000 * number}) for number in range(1, 7)]
    assert port_remarks(ports) == (
        "6 ports (n1 port 1: PortXmitWait 1,000; n2 port 1: PortXmitWait 2,000; n3 port 1: PortXmitWait 3,000; n4 port "
        "1: PortXmitWait 4,000; and 2 more of this kind): it had data to send but no credit: congestion, or a slow "
        "receiver behind it, not its cable",
    )


def test_a_path_mtu_below_the_ports_own_is_a_remark() -> None:
    parsed = ibv_devinfo.parse((SAMPLES / "ibv_devinfo.txt").read_text(encoding="utf-8"))
    (remark,) = port_remarks(parsed.fabric)
    assert remark == (
        "mlx4_0 port 1: active_mtu 2048 is below max_mtu 4096: the subnet manager or the partner limits the path MTU: "
        "smaller packets carry more headers"
    )
    text = parsed_text(parsed)
    assert "  MTU\n" in text and "  2048 of 4096\n" in text


@pytest.mark.parametrize(
    ("port", "remarks"),
    [
        (PortState(mtu_bytes=4096, max_mtu_bytes=4096, state="Active"), 0),
        (PortState(mtu_bytes=1024, max_mtu_bytes=4096, state="Down"), 0),
        (PortState(mtu_bytes=1024, state="Active"), 0),
        (PortState(counters={"PortXmitWait": 0}), 0),
        (PortState(mtu_bytes=1024, max_mtu_bytes=4096, link_layer="Ethernet", device="mlx5_0", port=1), 1),
    ],
)
def test_a_port_as_it_should_be_has_no_remark(port: PortState, remarks: int) -> None:
    found = port_remarks([port])
    assert len(found) == remarks
    assert not found or found[0] == (
        "mlx5_0 port 1: active_mtu 1024 is below max_mtu 4096: the MTU of its network interface limits the path MTU: "
        "4200 or more gives 4096"
    )
