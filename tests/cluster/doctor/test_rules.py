"""Each rule of a node and its rails: a healthy node has no finding, and one fault gives one sentence."""

from collections.abc import Callable

import pytest

from railyard.cluster.doctor.judge import of_nodes
from railyard.cluster.doctor.node_block import NodeState
from railyard.site.systems.model import System

Node = Callable[..., NodeState]


def rule_sentences(node: NodeState, system: System) -> list[tuple[str, str]]:
    return [(one.weight, one.sentence) for one in of_nodes([node], system)]


@pytest.mark.parametrize("name", ["hdr", "roce", "eth"])
def test_a_healthy_node_has_nothing(node: Node, systems: dict[str, System], name: str) -> None:
    assert rule_sentences(node(name), systems[name]) == []


CABLE = "check its cable, and the switch port at the other end"
#: system, text of the block, what replaces it, weight, sentence
FAULTS = [
    ("hdr", "begin 1", "begin 2", "problem", "n1: its answer has format 2, expected 1; run the doctor.sh of this "
     "installation"),
    ("hdr", "railyard-doctor n1 421 end\n", "", "problem", "n1: its answer has no end; read what its job "
     "step printed on stderr, and run it again"),
    ("hdr", "memlock_kb unlimited", "memlock_kb 64", "problem", "n1: a process of a job step may lock 64 kB of "
     "memory, so RDMA buffers cannot be registered; set LimitMEMLOCK=infinity in the unit of slurmd (or of the "
     "scheduler's "
     "daemon), or memlock unlimited in /etc/security/limits.conf, and restart it: a login shell's own limit says "
     "nothing"),
    ("hdr", "[madvise] never", "madvise [never]", "remark", "n1: there are neither huge pages nor transparent ones; "
     "set transparent_hugepage to madvise, or vm.nr_hugepages: the card then translates fewer addresses"),
    ("hdr", "module ib_uverbs", "module x", "problem", "n1: the kernel module ib_uverbs is not loaded, so no "
     "program sees a card; modprobe ib_uverbs"),
    ("hdr", "module rdma_ucm", "module x", "remark", "n1: the kernel module rdma_ucm is not loaded; modprobe rdma_ucm: "
     "connections by address (perftest -R, libfabric's verbs) need it"),
    ("hdr", "uverbs1 open", "uverbs1 closed", "problem", "n1: /dev/infiniband/uverbs1 may not be opened by uid "
     "1000; give it mode 0666 by a udev rule, as rdma-core does"),
    ("hdr", "governor performance", "governor powersave", "remark", "n1: the processors' frequency governor is "
     "powersave; cpupower frequency-set -g performance: small-message latency and message rate rise with the clock"),
    ("hdr", "numa_balancing 0", "numa_balancing 1", "remark", "n1: the kernel moves pages between memory domains "
     "(NUMA balancing); sysctl kernel.numa_balancing=0 while it is measured: it unmaps pages to see who uses them"),
    ("hdr", "cstate 2 C1", "cstate 133 C6", "remark", "n1: a processor may sleep in C6, from which it wakes in 133 us; "
     "cpupower idle-set -D 50, or intel_idle.max_cstate=1 at boot: latencies are a few us"),
    ("hdr", "cstate 2 C1", "process 99 osu_bw", "problem", "n1: osu_bw runs there already; end it, or use other "
     "nodes: an earlier job left it, or somebody is measuring now"),
    ("hdr", "load 0.10", "load 12.5", "remark", "n1: its load is 12.5 with 64 processors; check with top what runs "
     "there: other work on the node changes a run's figures"),
    ("hdr", "fact address", "fact elsewhere", "problem", "n1: it does not find its own name; enter it in DNS or "
     "/etc/hosts: launchers connect to nodes by name"),
    ("hdr", "address 10.0.0.1", "address 127.0.1.1", "problem", "n1: its own name resolves to 127.0.1.1, which no "
     "other node can reach; remove the name from the line of localhost in /etc/hosts"),
    ("hdr", "mlx5_1:1 state 4: ACTIVE", "mlx5_1:1 state 2: INIT", "problem", "n1 mlx5_1 port 1: found Initializing "
     "(LinkUp), expected Active; no subnet manager has configured it: start one (opensm, or the switch's own)"),
    ("hdr", "mlx5_0:1 rate 200 Gb/sec (4X HDR)", "mlx5_0:1 rate 100 Gb/sec (4X EDR)", "problem", "n1 mlx5_0 port 1: "
     "found 4X EDR (100 Gbit/s), expected 4X HDR (200 Gbit/s); replace its cable, or check with ibportstate which "
     "end does not allow more"),
    ("hdr", "mlx5_0:1 slot_width 16", "mlx5_0:1 slot_width 8", "problem", "n1 mlx5_0: found PCIe Gen4 x8 "
     "(0000:c0:00.0), 14404 MB/s at most, expected PCIe Gen4 x16; put it into a slot with all lanes wired, or reseat "
     "it and its riser; check bifurcation in the BIOS"),
    ("roce", "mlx5_0:1 mtu 9000", "mlx5_0:1 mtu 1500", "problem", "n1 mlx5_0 port 1: found MTU 1024, expected MTU "
     "4096; raise the interface's MTU: ip link set ens0 mtu 9000 (4200 or more gives a path MTU of 4096)"),
    ("hdr", "mlx5_1:1 there rdma", "mlx5_1:1 there no", "problem", "n1 mlx5_1:1: there is no such device; correct "
     "the rail in the system's file (railyard detect on a node prints its devices), or the node"),
    ("eth", "eth2 carrier 1", "eth2 carrier off", "problem", "n1 eth2: it is switched off; ip link set eth2 up"),
    ("eth", "eth1 speed 10000", "eth1 speed 1000", "problem", "n1 eth1: its link runs at 1 Gbit/s, the system's file "
     "says eth-10; look at cable and switch port (a bad lane or a cable of an older kind lowers it), or correct the "
     "file"),
    ("eth", "eth2 carrier 1", "eth2 carrier 0", "problem", f"n1 eth2: it has no carrier; {CABLE}"),
    ("roce", "gid mlx5_1:1 3", "gid mlx5_1:1 none", "problem", "n1 mlx5_1:1: it has no GID of RoCE v2; give ens1 an IP "
     "address; then check that cma_roce_mode is RoCE v2"),
    ("roce", "mlx5_0:1 trust dscp", "mlx5_0:1 trust pcp", "remark", "n1 mlx5_0:1: it trusts pcp, not DSCP; mlnx_qos "
     "-i ens0 --trust dscp if the switches do so: otherwise RoCE has no lossless class"),
    ("eth", "subnet eth2 0101010A", "subnet eth2 0001010A", "problem", "n1 eth1 and eth2: two rails are in one IP "
     "subnet, and either may answer for the other's address (ARP flux); give each rail its own subnet, or set sysctl "
     "net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"),
    ("roce", "subnet ens1 0101010A", "subnet ens1 0001010A", "problem", "n1 mlx5_0:1 and mlx5_1:1: two rails are in "
     "one IP "
     "subnet, and either may answer for the other's address (ARP flux); give each rail its own subnet, or set sysctl "
     "net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "weight", "sentence"), FAULTS)
def test_one_fault_is_one_sentence(
    node: Node, systems: dict[str, System], name: str, old: str, new: str, weight: str, sentence: str
) -> None:
    assert rule_sentences(node(name, old, new), systems[name]) == [(weight, sentence)]


def test_no_device_file_at_all(node: Node, systems: dict[str, System]) -> None:
    bare = node("hdr")
    bare.verbs.clear()
    assert rule_sentences(bare, systems["hdr"]) == [
        (
            "problem",
            "n1: there is no /dev/infiniband/uverbs* in a job step; load ib_uverbs; in a container or with device "
            "cgroups, give jobs access to /dev/infiniband",
        )
    ]


#: A fault of RDMA is no finding if there is no RDMA, or if it cannot matter.
HARMLESS = [
    ("eth", "memlock_kb unlimited", "memlock_kb 64"),
    (
        "hdr",
        "memlock_kb unlimited\nrailyard-doctor n1 421 fact uid 1000",
        "memlock_kb 64\nrailyard-doctor n1 421 fact uid 0",
    ),
    ("eth", "module ib_uverbs", "module x"),
    ("eth", "uverbs0 open", "uverbs0 closed"),
    ("eth", "cstate 2 C1", "cstate 133 C6"),
    ("hdr", "cstate 2 C1", "cstate 49 C1E"),
    ("hdr", "load 0.10", "load 6.3"),
    ("hdr", "governor performance", "governor userspace"),
    ("hdr", "fact hugepages 0", "fact hugepages 512"),
]


@pytest.mark.parametrize(("name", "old", "new"), HARMLESS)
def test_what_does_no_harm_is_not_said(node: Node, systems: dict[str, System], name: str, old: str, new: str) -> None:
    assert rule_sentences(node(name, old, new), systems[name]) == []


def test_one_domain_of_memory_has_nothing_to_balance(node: Node, systems: dict[str, System]) -> None:
    alone = node("hdr", "numa_nodes 2", "numa_nodes 1")
    alone.facts["numa_balancing"] = "1"
    assert rule_sentences(alone, systems["hdr"]) == []


def test_rails_in_one_subnet_that_answer_for_themselves_alone_are_well(node: Node, systems: dict[str, System]) -> None:
    alike = node("eth", "subnet eth2 0101010A", "subnet eth2 0001010A")
    alike.facts["arp_ignore"], alike.devices["eth1"]["arp_announce"] = "1", "2"
    (only,) = rule_sentences(alike, systems["eth"])
    assert only[1].endswith("or set sysctl net.ipv4.conf.all.arp_announce=2"), "eth2 has it still to be set"
    alike.devices["eth2"]["arp_announce"] = "2"
    assert rule_sentences(alike, systems["eth"]) == []


def test_the_rate_of_a_port_that_is_down_means_nothing(node: Node, systems: dict[str, System]) -> None:
    down = node("hdr", "mlx5_1:1 state 4: ACTIVE", "mlx5_1:1 state 1: DOWN")
    down.devices["mlx5_1:1"]["rate"] = "10 Gb/sec (4X SDR)"
    down.devices["mlx5_1:1"]["phys_state"] = "2: Polling"
    assert rule_sentences(down, systems["hdr"]) == [
        (
            "problem",
            "n1 mlx5_1 port 1: found Down (Polling), expected Active; it sees no partner: plug its cable in, or "
            "check the switch port at the other end",
        )
    ]


def test_a_rail_that_all_nodes_have_otherwise_is_the_files_mistake(node: Node, systems: dict[str, System]) -> None:
    nodes = [node("hdr", name=f"n{number}", number=number) for number in (1, 2)]
    for one in nodes:
        for said_of_rail in one.devices.values():
            said_of_rail["rate"] = "100 Gb/sec (4X EDR)"
    assert [one.sentence for one in of_nodes(nodes, systems["hdr"])] == [
        "the fabric: found 4X EDR (100 Gbit/s) on all 4 ports of nodes, expected 4X HDR (200 Gbit/s), as "
        "systems/hdr.yaml says; the file contradicts the fabric: correct link of fabrics.hdr, or find what "
        "slows all ports"
    ]


def test_a_system_that_says_a_small_mtu_gets_it(node: Node, systems: dict[str, System]) -> None:
    fabric = systems["roce"].fabrics["roce"].model_copy(update={"mtu": 1024})
    stated = systems["roce"].model_copy(update={"fabrics": {"roce": fabric}})
    assert rule_sentences(node("roce", "mtu 9000", "mtu 1500"), stated) == []


def test_a_rail_of_which_nothing_was_said_is_not_taken_for_well(node: Node, systems: dict[str, System]) -> None:
    silent = node("eth")
    del silent.devices["eth2"]
    assert rule_sentences(silent, systems["eth"]) == [
        ("remark", "n1 eth2: the answer does not mention it; name every rail when doctor.sh is called")
    ]
