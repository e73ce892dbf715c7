"""What a node is and how it is set: the script on a synthetic sysfs, its result, and nodes that are alike."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from railyard.job.counters import reader_script
from railyard.job.node_facts import DEVICE_FACTS, FACTS, NodeFacts, group_nodes, node_script, parse
from railyard.results.record.form import NodeGroup
from tests.made.sysfs import Tree
from tests.patience import PATIENCE_S

TEXT = """\
railyard-node 1 run1
node vn1
fact kernel 6.1.0
fact smt on
device hsn0 driver veth
device hsn0 mtu 1500
end
"""


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Two sockets of two cores each, four domains, an mlx5 card behind ib0, a veth hsn0."""
    cpu = "sys/devices/system/cpu"
    put(
        tmp_path,
        {
            "proc/sys/kernel/hostname": "vn1\n",
            "proc/uptime": "10.00 20.00\n",
            "proc/sys/kernel/osrelease": "6.1.0-17-amd64\n",
            "proc/sys/kernel/numa_balancing": "1\n",
            "proc/cmdline": "root=UUID=1-2 iscsi.password=hush iommu=pt processor.max_cstate=1 quiet\n",
            "proc/meminfo": "MemTotal:       263921504 kB\nMemFree: 1 kB\n",
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: EPYC 9354: 32 cores\n"
            "microcode\t: 0xa101148\nflags\t\t: fpu vme\n",
            **{f"{cpu}/cpu{n}/topology/physical_package_id": f"{n // 2}\n" for n in range(4)},
            f"{cpu}/smt/control": "off\n",
            f"{cpu}/cpufreq/boost": "1\n",
            f"{cpu}/cpu0/cpufreq/scaling_governor": "performance\n",
            f"{cpu}/cpu0/cpufreq/scaling_driver": "acpi-cpufreq\n",
            f"{cpu}/cpu0/cpufreq/base_frequency": "2600000\n",
            "etc/os-release": 'NAME="Rocky Linux"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\nID=rocky\n',
            f"{cpu}/cpu0/cpuidle/state0/name": "POLL\n",
            f"{cpu}/cpu0/cpuidle/state0/disable": "0\n",
            f"{cpu}/cpu0/cpuidle/state1/name": "C1\n",
            f"{cpu}/cpu0/cpuidle/state1/disable": "0\n",
            f"{cpu}/cpu0/cpuidle/state2/name": "C2\n",
            f"{cpu}/cpu0/cpuidle/state2/disable": "1\n",
            "sys/devices/system/node/has_cpu": "0-2,5\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "sys/class/dmi/id/bios_version": "2.7.3\n",
            "sys/class/dmi/id/product_serial": "HUSH1234\n",
            "sys/class/net/hsn0/statistics/tx_bytes": "1\n",
            "sys/class/net/hsn0/carrier": "1\n",
            "sys/class/net/hsn0/mtu": "1500\n",
            "sys/class/net/hsn0/speed": "10000\n",
            "sys/class/net/ib0/statistics/tx_bytes": "1\n",
            "sys/class/net/ib0/carrier": "1\n",
            "sys/class/net/ib0/mtu": "2044\n",
            "sys/class/net/ib0/mode": "datagram\n",
            "sys/class/net/ib0/device/infiniband/mlx5_0/fw_ver": "20.31.1014\n",
            "sys/class/net/ib0/device/infiniband/mlx5_0/hca_type": "MT4123\n",
            "sys/class/net/ib0/device/current_link_width": "16\n",
            "sys/class/net/ib0/device/numa_node": "1\n",
            "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
            "sys/class/infiniband/mlx5_0/ports/1/rate": "100 Gb/sec (4X EDR)\n",
            "sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand\n",
            "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data": "1\n",
            "sys/class/infiniband/mlx5_0/fw_ver": "20.31.1014\n",
            "sys/class/infiniband/mlx5_0/board_id": "MT_0000000222\n",
            "sys/module/mlx5_core/version": "5.8-1.1.2\n",
            "sys/bus/mlx5_core/x": "",
            "reader.sh": reader_script(),
            "node.sh": node_script(),
            "out/.keep": "",
        },
    )
    (tmp_path / "sys/class/net/ib0/device/driver").symlink_to(tmp_path / "sys/bus/mlx5_core")
    return tmp_path


def run(node: Path, meant: str, watched: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(node / "reader.sh"), str(node / "out"), "run1", meant, watched, "--", "echo", "ran"],
        env={
            "PATH": os.environ["PATH"],
            "MPI_LOCALRANKID": "0",
            "RAILYARD_SYSFS": str(node / "sys"),
            "RAILYARD_PROC": str(node / "proc"),
            "RAILYARD_ETC": str(node / "etc"),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def test_the_script_says_what_the_node_is(node: Path) -> None:
    answer = run(node, "mlx5_0:1,ib0", "hsn0")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "ran\n", "")
    text = (node / "out" / "vn1.facts").read_text(encoding="utf-8")
    facts = parse(text, "run1")
    assert facts is not None
    assert facts.node == "vn1"
    assert facts.facts == {
        "kernel": "6.1.0-17-amd64",
        "operating_system": "Rocky Linux 9.4 (Blue Onyx)",
        "kernel_options": "iommu=pt processor.max_cstate=1",
        "memory": "263921504 kB",
        "processor": "EPYC 9354: 32 cores",
        "microcode": "0xa101148",
        "logical_processors": "4",
        "sockets": "2",
        "numa_nodes_per_socket": "2",
        "smt": "off",
        "turbo": "on",
        "governor": "performance",
        "frequency_driver": "acpi-cpufreq",
        "base_frequency_khz": "2600000",
        "c_states": "POLL C1",
        "transparent_hugepages": "madvise",
        "numa_balancing": "1",
        "bios_version": "2.7.3",
    }
    assert facts.devices == {
        "mlx5_0:1": {
            "rate": "100 Gb/sec (4X EDR)",
            "link_layer": "InfiniBand",
            "firmware": "20.31.1014",
            "board": "MT_0000000222",
        },
        "ib0": {
            "mtu": "2044",
            "mode": "datagram",
            "firmware": "20.31.1014",
            "card": "MT4123",
            "driver": "mlx5_core",
            "driver_version": "5.8-1.1.2",
            "current_link_width": "16",
            "numa_node": "1",
        },
        "hsn0": {"mtu": "1500", "speed_mbit_s": "10000"},
    }
    assert "hush" not in text.lower()


def test_a_slingshot_card_says_which_processors_are_near(tmp_path: Path) -> None:
    made = Tree.empty_node(tmp_path)
    made.slingshot("cxi0", "hsn0", {"hni_sts_tx_ok_octets": 1})
    (tmp_path / "node.sh").write_text(node_script(), encoding="utf-8")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1 kB\n", encoding="utf-8")
    (tmp_path / "sys/bus/cxi_ss1").mkdir(parents=True)
    slot = made.slot("cxi0")
    (slot / "driver").symlink_to(tmp_path / "sys/bus/cxi_ss1")
    put(slot, {"local_cpulist": "0-15,64-79\n", "numa_node": "1\n", "current_link_width": "16\n"})
    made.run("cxi0", watched="cxi1")
    facts = parse((tmp_path / "out/vn1.facts").read_text(encoding="utf-8"), "run1")
    assert facts is not None
    assert facts.devices == {
        "cxi0": {
            "driver": "cxi_ss1",
            "current_link_width": "16",
            "numa_node": "1",
            "local_cpulist": "0-15,64-79",
        }
    }


def test_a_script_that_is_not_there_or_breaks_stops_nothing(node: Path) -> None:
    (node / "node.sh").write_text("exit 3\nif then fi )(\n", encoding="utf-8")
    answer = run(node, "hsn0", "ib0")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "ran\n", "")
    (node / "node.sh").unlink()
    answer = run(node, "hsn0", "ib0")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "ran\n", "")


def test_a_node_without_any_of_it_says_no_more_than_its_name(node: Path) -> None:
    for name in ("cpuinfo", "cmdline", "meminfo"):
        (node / "proc" / name).unlink()
    (node / "proc/sys/kernel/osrelease").unlink()
    (node / "proc/sys/kernel/numa_balancing").unlink()
    (node / "etc/os-release").unlink()
    for folder in ("devices", "kernel", "class/dmi"):
        subprocess.run(["rm", "-r", str(node / "sys" / folder)], check=True)
    assert run(node, "hsn0", "ib0").stdout == "ran\n"
    facts = parse((node / "out" / "vn1.facts").read_text(encoding="utf-8"), "run1")
    assert facts is not None
    assert (facts.node, facts.facts) == ("vn1", {})


def test_turbo_of_a_driver_that_says_it_for_each_processor(node: Path) -> None:
    cpu = node / "sys/devices/system/cpu"
    (cpu / "cpufreq/boost").unlink()
    (cpu / "cpu0/cpufreq/boost").write_text("0\n", encoding="utf-8")
    assert run(node, "hsn0", "ib0").stdout == "ran\n"
    facts = parse((node / "out" / "vn1.facts").read_text(encoding="utf-8"), "run1")
    assert facts is not None
    assert facts.facts["turbo"] == "off"


def test_the_names_of_the_script_are_those_of_the_tables() -> None:
    script = node_script()
    named = set(re.findall(r"[\"']fact (\w+)[\"']", script))
    named |= set(re.search(r"for name in (sys_vendor[\w ]+);", script)[1].split())  # type: ignore[index]
    assert named == set(FACTS)
    of_devices = set(re.findall(r"device (?:\$1|\$\{slot##\*/\}) (\w+)", script))
    of_devices |= set(re.search(r"for name in (current_link_speed[\w ]+);", script)[1].split())  # type: ignore[index]
    assert of_devices | {"gpu_distance"} == set(DEVICE_FACTS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT[:-1],
        TEXT[:-5],
        TEXT.replace("run1", "run0"),
        TEXT.replace("node 1", "node 2"),
        "railyard-node 1 run1\nend\n",
        "x\n" * 5,
    ],
)
def test_a_file_that_is_cut_or_of_another_run_is_none(text: str) -> None:
    assert parse(text, "run1") is None


def test_a_line_that_is_not_known_is_left_out_and_control_codes_go() -> None:
    text = TEXT.replace("fact smt on", "fact serial X1\nfact smt \x1b[31mon\x07\nnoise\ndevice hsn0 owner me")
    facts = parse(text, "run1")
    assert facts == NodeFacts("vn1", {"kernel": "6.1.0", "smt": "on"}, {"hsn0": {"driver": "veth", "mtu": "1500"}})


def test_nodes_that_are_alike_share_a_group_and_an_odd_one_stands_alone() -> None:
    def one(node: str, smt: str) -> NodeFacts:
        return NodeFacts(node, {"smt": smt}, {"hsn0": {"driver": "veth"}})

    assert group_nodes([one("n3", "on"), one("n1", "off"), one("n2", "on"), one("n4", "on")]) == (
        NodeGroup(("n2", "n3", "n4"), {"smt": "on"}, {"hsn0": {"driver": "veth"}}),
        NodeGroup(("n1",), {"smt": "off"}, {"hsn0": {"driver": "veth"}}),
    )
    assert group_nodes([]) == ()


def test_the_distance_from_a_card_to_each_gpu_is_recorded(node: Path) -> None:
    near, far = "pci0000:60/0000:60:01.0/0000:62:00.0", "pci0000:a0/0000:a0:01.0/0000:a1:00.0"
    slot = f"{near}/0000:63:00.0"
    gpus = {"nvidia": f"{near}/0000:62:04.0/0000:64:00.0", "amdgpu": far}
    put(node, {f"sys/devices/{path}/numa_node": f"{n}\n" for n, path in enumerate((slot, *gpus.values()))})
    put(node, {f"sys/devices/{slot}/numa_node": "0\n", "proc/driver/nvidia/gpus/0000:64:00.0/information": "x\n"})
    (node / "sys/bus/pci/devices").mkdir(parents=True)
    (node / "sys/bus/pci/devices/0000:64:00.0").symlink_to(node / "sys/devices" / gpus["nvidia"])
    for driver, path in gpus.items():
        (node / "sys/bus/drivers" / driver).mkdir(parents=True)
        (node / "sys/devices" / path / "driver").symlink_to(node / "sys/bus/drivers" / driver)
    for number, path in (("renderD128", far), ("card0", slot)):
        (node / "sys/class/drm" / number).mkdir(parents=True)
        (node / "sys/class/drm" / number / "device").symlink_to(node / "sys/devices" / path)
    (node / "sys/class/infiniband/mlx5_0/device").symlink_to(node / "sys/devices" / slot)
    assert run(node, "mlx5_0:1", "hsn0").returncode == 0
    facts = parse((node / "out" / "vn1.facts").read_text(encoding="utf-8"), "run1")
    assert facts is not None
    assert facts.devices["mlx5_0:1"]["slot"] == slot
    assert facts.devices["mlx5_0:1"]["gpu_distance"] == "0000:64:00.0 PIX, 0000:a1:00.0 SYS"
    assert {name: said["accelerator"] for name, said in facts.devices.items() if "accelerator" in said} == {
        "0000:64:00.0": "nvidia",
        "0000:a1:00.0": "amdgpu",
    }
    assert "gpu_distance" not in facts.devices["hsn0"]


def test_networks_are_read_as_addresses_and_do_not_part_nodes_that_are_alike() -> None:
    text = TEXT.replace("device hsn0 mtu 1500", "device hsn0 mtu 1500\ndevice hsn0 subnets 0001620A/00FFFFFF x 1/0")
    one = parse(text, "run1")
    assert one is not None
    assert one.devices["hsn0"]["subnets"] == "10.98.1.0/24"
    other = NodeFacts("vn2", one.facts, {"hsn0": {**one.devices["hsn0"], "subnets": "10.98.7.0/24"}})
    (group,) = group_nodes([one, other])
    assert (group.nodes, group.devices["hsn0"]) == (("vn1", "vn2"), {"driver": "veth", "mtu": "1500"})
