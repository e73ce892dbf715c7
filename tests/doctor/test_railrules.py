"""Each rule of a rail from both its sides."""

from collections.abc import Callable

import pytest

from railyard.doctor.nodeblock import NodeState
from railyard.doctor.railrules import of_node
from railyard.systems import System

Node = Callable[..., NodeState]


def said(node: NodeState, system: System) -> list[tuple[str, str]]:
    return [(one.weight, one.sentence) for one in of_node(node, system.fabrics)]


@pytest.mark.parametrize("name", ["hdr", "roce", "eth"])
def test_healthy_rails_have_nothing(node: Node, systems: dict[str, System], name: str) -> None:
    assert said(node(name), systems[name]) == []


CABLE = "look at its cable, its switch port, and of InfiniBand the subnet manager"
FAULTS = [
    ("hdr", "mlx5_1:1 there rdma", "mlx5_1:1 there no", "problem", "n1 mlx5_1:1: there is no such device; correct "
     "the rail in the system's file (railyard detect on a node says its devices), or the node"),
    ("hdr", "mlx5_1:1 state 4: ACTIVE", "mlx5_1:1 state 2: INIT", "problem", "n1 mlx5_1:1: its port is 2: INIT; "
     f"{CABLE}"),
    ("eth", "eth2 carrier 1", "eth2 carrier off", "problem", "n1 eth2: it is switched off; ip link set eth2 up"),
    ("eth", "eth1 speed 10000", "eth1 speed 1000", "problem", "n1 eth1: its link runs at 1 Gbit/s, the system's file "
     "says eth-10; look at cable and switch port (a bad lane or a cable of an older kind lowers it), or correct the "
     "file"),
    ("eth", "eth2 carrier 1", "eth2 carrier 0", "problem", f"n1 eth2: it has no carrier; {CABLE}"),
    ("hdr", "mlx5_0:1 rate 200 Gb/sec (4X HDR)", "mlx5_0:1 rate 100 Gb/sec (4X EDR)", "problem", "n1 mlx5_0:1: its "
     "link runs at 4X EDR, 100 Gbit/s, the system's file says ib-hdr; look at cable and switch port (a bad lane or a "
     "cable of an older kind lowers it), or correct the file"),
    ("hdr", "mlx5_0:1 slot_width 16", "mlx5_0:1 slot_width 8", "problem", "n1 mlx5_0:1: its card runs in pcie4-x8, the "
     "system's file says pcie4-x16; look at slot, riser and BIOS, or correct the file: the limit of every run rests "
     "on it"),
    ("roce", "mlx5_0:1 mtu 9000", "mlx5_0:1 mtu 1500", "problem", "n1 mlx5_0:1: ens0 has an MTU of 1500, so that "
     "RoCE sends packets of 1024 B; set interface and switches to 4200 or more: at 1024 B a 100 Gbit/s link gives "
     "11.57 GB/s, at "
     "4096 B 12.25"),
    ("roce", "gid mlx5_1:1 3", "gid mlx5_1:1 none", "problem", "n1 mlx5_1:1: it has no GID of RoCE v2; give ens1 an IP "
     "address; then see that cma_roce_mode is RoCE v2"),
    ("roce", "mlx5_0:1 trust dscp", "mlx5_0:1 trust pcp", "remark", "n1 mlx5_0:1: it trusts pcp, not DSCP; mlnx_qos "
     "-i ens0 --trust dscp where the switches do so: else RoCE has no lossless class"),
    ("eth", "subnet eth2 0101010A", "subnet eth2 0001010A", "problem", "n1 eth1 and eth2: two rails are in one IP "
     "subnet, and either may answer for the other's address (ARP flux); give each rail a subnet of its own, or sysctl "
     "net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"),
    ("roce", "subnet ens1 0101010A", "subnet ens1 0001010A", "problem", "n1 mlx5_0:1 and mlx5_1:1: two rails are in "
     "one IP "
     "subnet, and either may answer for the other's address (ARP flux); give each rail a subnet of its own, or sysctl "
     "net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "weight", "sentence"), FAULTS)
def test_one_fault_is_one_sentence(
    node: Node, systems: dict[str, System], name: str, old: str, new: str, weight: str, sentence: str
) -> None:
    assert said(node(name, old, new), systems[name]) == [(weight, sentence)]


def test_rails_in_one_subnet_that_answer_for_themselves_alone_are_well(node: Node, systems: dict[str, System]) -> None:
    alike = node("eth", "subnet eth2 0101010A", "subnet eth2 0001010A")
    alike.facts["arp_ignore"], alike.devices["eth1"]["arp_announce"] = "1", "2"
    (only,) = said(alike, systems["eth"])
    assert only[1].endswith("or sysctl net.ipv4.conf.all.arp_announce=2"), "eth2 has it still to be set"
    alike.devices["eth2"]["arp_announce"] = "2"
    assert said(alike, systems["eth"]) == []


def test_the_rate_of_a_port_that_is_down_means_nothing(node: Node, systems: dict[str, System]) -> None:
    down = node("hdr", "mlx5_1:1 state 4: ACTIVE", "mlx5_1:1 state 1: DOWN")
    down.devices["mlx5_1:1"]["rate"] = "10 Gb/sec (4X SDR)"
    assert said(down, systems["hdr"]) == [("problem", f"n1 mlx5_1:1: its port is 1: DOWN; {CABLE}")]


def test_a_system_that_says_a_small_mtu_gets_it(node: Node, systems: dict[str, System]) -> None:
    fabric = systems["roce"].fabrics["roce"].model_copy(update={"mtu": 1024})
    stated = systems["roce"].model_copy(update={"fabrics": {"roce": fabric}})
    assert said(node("roce", "mtu 9000", "mtu 1500"), stated) == []


def test_a_rail_of_which_nothing_was_said_is_not_taken_for_well(node: Node, systems: dict[str, System]) -> None:
    silent = node("eth")
    del silent.devices["eth2"]
    assert said(silent, systems["eth"]) == [
        ("remark", "n1 eth2: nothing was said of it; name every rail when doctor.sh is called")
    ]
