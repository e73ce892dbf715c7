"""The counter reader on synthetic trees of every driver: what it finds, what it counts, and how long it waits."""

import re
import shutil
from pathlib import Path

import pytest

from railyard.hardware.counters import DRIVERS
from railyard.job.counters import DeviceCounters, NodeCounters, reader_script
from tests.made.sysfs import Tree, write

#: What every shell writes for a node of two cards: one is named by its interface; another name is of no network.
NAMES = """\
railyard-counters 1 run1
node vn1
first-by MPI_LOCALRANKID
meant mlx5_0:1
watched hsn0
watched lost0
other ib0
other cxi0
beside mlx5_0:1 ib0
beside hsn0 hsn0
beside ib0 ib0
beside cxi0 hsn0
about mlx5_0:1 driver mlx5_core
about mlx5_0:1 layer InfiniBand
about hsn0 mtu 1500
about ib0 driver mlx5_core
about ib0 layer InfiniBand
about ib0 mtu 1500""".splitlines()
AFTER = """\
mlx5_0:1 state 4: ACTIVE
mlx5_0:1 link_downed 0
mlx5_0:1 port_rcv_data 2000
mlx5_0:1 port_xmit_data 1000
mlx5_0:1 symbol_error 3
hsn0 carrier 1
hsn0 tx_bytes 100
hsn0 rx_bytes 200
hsn0 hni_sts_tx_ok_octets 100
lost0 present no
ib0 carrier 1
ib0 tx_bytes 100
ib0 rx_bytes 200
ib0 port_xmit_data 1000
ib0 port_rcv_data 2000
cxi0 carrier 1
cxi0 hni_sts_tx_ok_octets 100
waited 10
mlx5_0:1 hw/lifespan 10
mlx5_0:1 hw/np_cnp_sent 5
ib0 hw/lifespan 10""".splitlines()

IB = {"port_xmit_data": 1000, "port_rcv_data": 2000, "link_downed": 0, "symbol_error": 3}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree.empty_node(tmp_path)


def moved_bytes(reading: NodeCounters) -> dict[str, tuple[int | None, int | None]]:
    return {device.device: (device.tx.delta_bytes, device.rx.delta_bytes) for device in reading.devices}


def device(reading: NodeCounters, name: str) -> DeviceCounters:
    found = reading.device(name)
    assert found is not None
    return found


def test_an_infiniband_port_counts_units_of_4_bytes_and_its_interface_stands_beside_it(tree: Tree) -> None:
    port = tree.port("mlx5_0", counters=IB, driver="mlx5_core")
    tree.interface("ib0", "mlx5_0")
    reading = tree.run("mlx5_0:1", {port / "counters/port_xmit_data": 2500}, drivers={"mlx5_0:1": "mlx5"})
    assert reading.problem is None
    assert moved_bytes(reading) == {"mlx5_0:1": (6000, 0), "ib0": (0, 0)}
    assert [(d.device, d.meant, d.beside, d.overlap) for d in reading.devices] == [
        ("mlx5_0:1", True, None, "port"),
        ("ib0", False, "mlx5_0:1", "none"),
    ]


def test_on_ethernet_the_port_and_its_interface_count_apart(tree: Tree) -> None:
    tree.port("mlx5_0", counters=IB, layer="Ethernet", driver="mlx5_core", address_of="ens1f0")
    tree.interface("ens1f0", "mlx5_0")
    reading = tree.run("mlx5_0:1", drivers={"mlx5_0:1": "mlx5"})
    assert (device(reading, "mlx5_0:1").overlap, device(reading, "ens1f0").beside) == ("apart", "mlx5_0:1")


def test_a_second_port_of_the_card_is_found_with_its_own_interface(tree: Tree) -> None:
    tree.port("mlx4_0", 1, counters=IB, driver="mlx4_core")
    tree.port("mlx4_0", 2, counters=IB, driver="mlx4_core")
    tree.interface("ib0", "mlx4_0", dev_port=0)
    tree.interface("ib1", "mlx4_0", dev_port=1)
    reading = tree.run("mlx4_0:2", drivers={"mlx4_0:2": "mlx4"})
    assert [(d.device, d.beside, d.driver, d.unnamed) for d in reading.devices] == [
        ("mlx4_0:2", None, "mlx4", False),
        ("mlx4_0:1", None, "mlx4", True),
        ("ib0", None, "netdev", True),
        ("ib1", "mlx4_0:2", "netdev", False),
    ]


def test_omni_path_counts_flits_of_8_bytes(tree: Tree) -> None:
    port = tree.port("hfi1_0", counters=IB, driver="hfi1")
    reading = tree.run("hfi1_0:1", {port / "counters/port_rcv_data": 2010}, drivers={"hfi1_0:1": "hfi1"})
    assert moved_bytes(reading) == {"hfi1_0:1": (0, 80)}


@pytest.mark.parametrize(
    ("row", "hw", "change", "sent"),
    [
        ("bnxt_re", {"tx_bytes": 10, "rx_bytes": 20}, {"tx_bytes": 510}, 500),
        ("efa", {"tx_bytes": 10, "rx_bytes": 20}, {"tx_bytes": 510}, 500),
        (
            "irdma",
            {"ip4OutOctets": 5, "ip6OutOctets": 7, "ip4InOctets": 0, "ip6InOctets": 0},
            {"ip4OutOctets": 105, "ip6OutOctets": 207},
            300,
        ),
    ],
)
def test_drivers_with_counters_of_their_own_count_bytes(
    tree: Tree, row: str, hw: dict[str, int], change: dict[str, int], sent: int
) -> None:
    port = tree.port("rdma0", hw=hw, layer="Ethernet")
    changes = {port / "hw_counters" / name: value for name, value in change.items()}
    assert moved_bytes(tree.run("rdma0:1", changes, drivers={"rdma0:1": row})) == {"rdma0:1": (sent, 0)}


@pytest.mark.parametrize(("mtu", "path_mtu"), [(1500, 1024), (4500, 4096), (9000, 4096)])
def test_software_rdma_counts_packets_of_at_most_the_path_mtu(tree: Tree, mtu: int, path_mtu: int) -> None:
    tree.interface("eth1", mtu=mtu)
    hw = {"sent_pkts": 10, "rcvd_pkts": 20, "lifespan": 10}
    port = tree.port("rxe0", hw=hw, layer="Ethernet", address_of="eth1")
    reading = tree.run("rxe0:1", {port / "hw_counters/sent_pkts": 17}, drivers={"rxe0:1": "rxe"})
    # The interface under it carries the same packets: it is not another network.
    assert moved_bytes(reading) == {"rxe0:1": (7 * path_mtu, 0)}
    assert device(reading, "rxe0:1").packet_bytes == path_mtu


def test_slingshot_counts_bytes_with_a_time_behind_them(tree: Tree) -> None:
    telemetry = tree.slingshot("cxi0", "hsn0", {"hni_sts_tx_ok_octets": 100, "hni_sts_rx_ok_octets": 200})
    changes = {telemetry / "hni_sts_tx_ok_octets": "1100@1700000009.1"}
    reading = tree.run("cxi0", changes, drivers={"cxi0": "cxi"})
    assert moved_bytes(reading) == {"cxi0": (1000, 0), "hsn0": (0, 0)}
    assert (device(reading, "cxi0").carrier_after, device(reading, "hsn0").beside) == (True, "cxi0")


def test_a_rail_named_by_its_interface_counts_its_cards_bytes(tree: Tree) -> None:
    port = tree.port("mlx5_0", counters=IB, layer="Ethernet", driver="mlx5_core", address_of="hsn0")
    interface = tree.interface("hsn0", "mlx5_0")
    changes = {port / "counters/port_xmit_data": 1250, interface / "statistics/tx_bytes": 107}
    reading = tree.run("hsn0", changes, drivers={"hsn0": "mlx5"})
    # The card under its own name would count the same bytes twice; TCP over the interface can be told from RDMA.
    assert moved_bytes(reading) == {"hsn0": (1000, 0), "hsn0/net": (7, 0)}
    assert [d.meant for d in reading.devices] == [True, False]


def test_a_card_whose_interface_is_the_rail_counts_nothing_else_on_infiniband(tree: Tree) -> None:
    tree.port("mlx5_0", counters=IB, driver="mlx5_core")
    tree.interface("ib0", "mlx5_0")
    assert list(moved_bytes(tree.run("ib0"))) == ["ib0"]


def test_rdma_of_a_card_whose_interface_is_the_rail_is_another_network_on_ethernet(tree: Tree) -> None:
    port = tree.port("mlx5_0", counters=IB, layer="Ethernet", driver="mlx5_core", address_of="ens1f0")
    tree.interface("ens1f0", "mlx5_0")
    reading = tree.run("ens1f0", {port / "counters/port_xmit_data": 2000})
    assert moved_bytes(reading) == {"ens1f0": (0, 0), "mlx5_0:1": (4000, 0)}


def test_a_bond_is_one_device_and_its_interfaces_are_none(tree: Tree) -> None:
    tree.port("mlx5_bond_0", counters=IB, layer="Ethernet", driver="mlx5_core", address_of="bond0")
    bond = tree.interface("bond0")
    for name in ("ens1f0", "ens1f1"):
        (tree.interface(name, "mlx5_bond_0") / "master").symlink_to(bond)
    reading = tree.run("mlx5_bond_0:1", drivers={"mlx5_bond_0:1": "mlx5"})
    assert [(d.device, d.beside) for d in reading.devices] == [("mlx5_bond_0:1", None), ("bond0", "mlx5_bond_0:1")]


def test_interfaces_without_hardware_and_representors_are_not_looked_for(tree: Tree) -> None:
    tree.interface("eth0")
    tree.interface("docker0")
    tree.interface("ens9", "ice0")
    write(tree.interface("ens9r0", "ice0"), {"phys_port_name": "pf0vf3"})
    assert list(moved_bytes(tree.run("eth0"))) == ["eth0", "ens9"]


def test_a_virtual_function_does_not_see_its_ports_errors(tree: Tree) -> None:
    port = tree.port("mlx5_2", counters=IB, driver="mlx5_core")
    (tree.slot("mlx5_2") / "physfn").mkdir()
    reading = tree.run("mlx5_2:1", {port / "counters/link_downed": 4}, drivers={"mlx5_2:1": "mlx5"})
    found = device(reading, "mlx5_2:1")
    assert (found.virtual, found.errors) == (True, {})


def test_errors_and_signals_are_told_apart(tree: Tree) -> None:
    port = tree.port("mlx5_0", counters=IB, hw={"np_cnp_sent": 5}, driver="mlx5_core")
    changes = {port / "counters/symbol_error": 5, port / "hw_counters/np_cnp_sent": 17}
    found = device(tree.run("mlx5_0:1", changes, drivers={"mlx5_0:1": "mlx5"}), "mlx5_0:1")
    assert (found.errors, found.signals, found.stuck) == ({"symbol_error": 2}, {"hw/np_cnp_sent": 12}, ())


def test_an_error_counter_at_its_maximum_is_no_absence_of_errors(tree: Tree) -> None:
    tree.port("mlx5_0", counters={**IB, "link_downed": 255, "symbol_error": 65535}, driver="mlx5_core")
    found = device(tree.run("mlx5_0:1", drivers={"mlx5_0:1": "mlx5"}), "mlx5_0:1")
    assert (found.errors, found.stuck) == ({}, ("link_downed", "symbol_error"))


def test_a_legacy_counter_at_its_maximum_is_full(tree: Tree) -> None:
    port = tree.port("mlx4_0", counters=IB, driver="mlx4_core")
    changes = {port / "counters/port_xmit_data": 2**32 - 1}
    found = device(tree.run("mlx4_0:1", changes, drivers={"mlx4_0:1": "mlx4"}), "mlx4_0:1")
    assert found.trouble == "has a full counter of bytes sent: it is at its maximum and no longer counts"


def test_a_wide_counter_goes_on_there(tree: Tree) -> None:
    port = tree.port("mlx5_0", counters=IB, driver="mlx5_core")
    changes = {port / "counters/port_xmit_data": 2**32 - 1}
    found = device(tree.run("mlx5_0:1", changes, drivers={"mlx5_0:1": "mlx5"}), "mlx5_0:1")
    assert (found.trouble, found.tx.delta_bytes) == (None, 4 * (2**32 - 1 - 1000))


def test_a_card_of_another_driver_than_the_file_says_is_not_counted(tree: Tree) -> None:
    tree.port("mlx5_0", counters=IB, driver="mlx5_core")
    found = device(tree.run("mlx5_0:1", drivers={"mlx5_0:1": "hfi1"}), "mlx5_0:1")
    assert found.trouble == "is driven by mlx5_core, but the system's file says counters: hfi1"


def test_the_second_reading_waits_for_the_lifespan_of_the_counters(tree: Tree) -> None:
    tree.port("rdma0", hw={"tx_bytes": 10, "rx_bytes": 20, "lifespan": 30}, layer="Ethernet")
    reading = tree.run("rdma0:1", drivers={"rdma0:1": "efa"})
    assert "\nwaited 30\nafter rdma0:1 hw/lifespan 30\n" in tree.text
    assert (reading.problem, device(reading, "rdma0:1").trouble) == (None, None)


def test_counters_that_are_refreshed_too_seldom_are_not_believed(tree: Tree) -> None:
    tree.port("rdma0", hw={"tx_bytes": 10, "rx_bytes": 20, "lifespan": 20000}, layer="Ethernet")
    found = device(tree.run("rdma0:1", drivers={"rdma0:1": "efa"}), "rdma0:1")
    assert found.trouble == ("has counters that the kernel refreshes every 20000 ms, for which the reader did not wait")


def test_a_clock_that_stands_still_does_not_hold_the_run(tree: Tree) -> None:
    tree.port("rdma0", hw={"tx_bytes": 10, "rx_bytes": 20, "lifespan": 10}, layer="Ethernet")
    (tree.root / "proc/uptime").unlink()
    (tree.root / "proc/uptime").write_text("100.08 50.00\n")
    reading = tree.run("rdma0:1", drivers={"rdma0:1": "efa"})
    assert "waited" not in tree.text
    assert device(reading, "rdma0:1").trouble is not None


def test_idle_devices_are_read_before_and_after_where_the_file_asks_for_it(tree: Tree) -> None:
    tree.interface("eth0")
    (tree.root / "idle_ms").write_text("200\n")
    reading = tree.run("eth0")
    lines = ("\nidle at ", "\nidle eth0 tx_bytes 100\n", "\nbefore at ", "\nafter at ", "\nrest at ", "\nrest eth0 ")
    places = [tree.text.index(line) for line in lines]
    assert places == sorted(places)
    seconds = [float(tree.text[place:].split()[2]) for place in places if " at " in tree.text[place : place + 12]]
    assert seconds[1] - seconds[0] >= 0.2
    assert seconds[3] - seconds[2] >= 0.2
    assert (reading.problem, moved_bytes(reading)) == (None, {"eth0": (0, 0)})


@pytest.mark.parametrize("shell", ["dash", "bash", "bash --posix", "busybox sh"])
def test_every_shell_reads_the_same(tree: Tree, shell: str) -> None:
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"no {shell.split()[0]} on this machine")
    tree.port("mlx5_0", counters=IB, hw={"np_cnp_sent": 5, "lifespan": 10}, driver="mlx5_core")
    tree.interface("ib0", "mlx5_0")
    tree.slingshot("cxi0", "hsn0", {"hni_sts_tx_ok_octets": 100})
    write(tree.root, {"idle_ms": 200})
    tree.run("mlx5_0:1", watched="hsn0,lost0", shell=shell)
    lines = [line for line in tree.text.splitlines() if line.split()[1] != "at"]
    after = [line.removeprefix("after ") for line in lines if line.startswith(("after ", "waited "))]
    assert after == AFTER
    idle, before, rest = (
        [line.removeprefix(f"{when} ") for line in lines if line.startswith(f"{when} ")]
        for when in ("idle", "before", "rest")
    )
    assert idle == before == rest == [line for line in AFTER if line != "waited 10"]
    assert lines[: -3 * len(idle) - len(after) - 1] == NAMES


def test_segments_that_tcp_sent_again_are_read(tree: Tree) -> None:
    tree.interface("eth0")
    head = "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs "
    head += "OutSegs RetransSegs InErrs OutRsts InCsumErrors"
    text = f"Ip: Forwarding\nIp: 1\n{head}\nTcp: 1 200 1200 -1 5 6 7 8 9 10 100 3 0 0 0"
    snmp = write(tree.root / "proc/net", {"snmp": text})
    changes = {snmp / "snmp": f"{head}\nTcp: 1 200 1200 -1 5 6 7 8 9 10 1100 23 0 0 0"}
    reading = tree.run("eth0", changes)
    assert (reading.problem, reading.sent, reading.resent) == (None, 1000, 20)


@pytest.mark.parametrize(("after", "kills"), [("oom_kill 5\n", 2), ("oom_kill 3\n", 0), ("", None)])
def test_processes_that_the_kernel_killed_for_memory_are_counted(tree: Tree, after: str, kills: int | None) -> None:
    tree.interface("eth0")
    vmstat = write(tree.root / "proc", {"vmstat": "pgfree 12\noom_kill 3\nnuma_hit 9"}) / "vmstat"
    reading = tree.run("eth0", {vmstat: f"pgfree 13\n{after}numa_hit 10"})
    assert (reading.problem, reading.memory_kills) == (None, kills)


def test_the_reader_names_every_counter_of_traffic_of_the_table() -> None:
    named: dict[str, set[str]] = {}
    for folder, names in re.findall(r"^(of_\w+)=(?:\$\1,)?(\S+)$", reader_script(), re.MULTILINE):
        named.setdefault(folder, set()).update(names.split(","))
    rows = DRIVERS.values()
    traffic = {counter for row in rows for counters in (row.tx, row.rx) for counter in counters.split("+")}
    slingshot = DRIVERS["cxi"]
    assert named == {
        "of_interface": {"tx_bytes", "rx_bytes"},
        "of_port": {"port_xmit_data", "port_rcv_data"},
        "of_hardware": {"lifespan", *(name.removeprefix("hw/") for name in traffic if name.startswith("hw/"))},
        # A rail's telemetry is read by name too.
        "of_slingshot": {slingshot.tx, slingshot.rx, *slingshot.errors, *slingshot.signals},
    }
    everything = {f"hw/{name}" for name in named["of_hardware"]}.union(*named.values())
    assert traffic <= everything


def test_of_a_device_that_is_not_meant_the_traffic_alone_is_read(tree: Tree) -> None:
    hw = {"lifespan": 0, "tx_bytes": 10, "rx_bytes": 20, "max_retry_exceeded": 0}
    for name in ("bnxt_re0", "bnxt_re1"):
        tree.port(name, hw=hw, layer="Ethernet", driver="bnxt_en")
    tree.run("bnxt_re0:1", drivers={"bnxt_re0:1": "bnxt_re"})
    lines = (tree.root / f"out/{tree.node}.counters").read_text().splitlines()
    read = {
        name: {line.split()[2] for line in lines if line.startswith(f"after {name} ")}
        for name in ("bnxt_re0:1", "bnxt_re1:1")
    }
    assert read["bnxt_re0:1"] - read["bnxt_re1:1"] == {"hw/max_retry_exceeded"}
    assert read["bnxt_re1:1"] == {"state", "hw/lifespan", "hw/tx_bytes", "hw/rx_bytes"}


def test_the_clock_of_the_first_processs_processor_is_read_at_the_end(tree: Tree) -> None:
    tree.interface("eth0")
    write(tree.root / "proc/self", {"status": "Name:\tsh\nCpus_allowed:\tff00\nCpus_allowed_list:\t8-15"})
    for cpu, clock in ((0, 800000), (8, 2400000)):
        write(tree.root / f"sys/devices/system/cpu/cpu{cpu}/cpufreq", {"scaling_cur_freq": clock})
    reading = tree.run("eth0")
    assert (reading.problem, reading.clock_khz) == (None, 2400000)
    assert tree.text.count("clock_khz") == 1


def test_the_time_of_processors_is_that_of_the_command(tmp_path: Path) -> None:
    made = Tree.empty_node(tmp_path)
    made.interface("eth0")
    assert made.run("eth0").used_s is None, "the node does not show it"
    (made.root / "proc/self").symlink_to("/proc/self")
    work = write(made.root, {"work": 1}) / "work"
    # A command that computes makes the change: hundreds of thousands of steps of a shell take some hundredths of a
    # second.
    reading = made.run("eth0", {work: "'$(i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done)'"})
    assert reading.problem is None
    assert reading.used_s is not None and reading.used_s > 0
