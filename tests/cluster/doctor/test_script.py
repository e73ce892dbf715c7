"""doctor.sh itself, on synthetic trees of sysfs, procfs and /dev: node_block can read what it prints."""

import os
import subprocess
from pathlib import Path

import pytest

from railyard.base.paths import packaged_text
from railyard.cluster.doctor.node_block import NodeState, parse

SCRIPT = packaged_text("cluster/doctor/doctor.sh")
TREE = {
    "proc/sys/kernel/hostname": "n1",
    "proc/sys/kernel/numa_balancing": "1",
    "proc/sys/vm/nr_hugepages": "0",
    "proc/loadavg": "0.50 0.40 0.30 1/500 4711",
    "proc/sys/net/ipv4/conf/all/arp_ignore": "0",
    "proc/sys/net/ipv4/conf/all/arp_announce": "0",
    "proc/sys/net/ipv4/conf/ens0/arp_ignore": "1",
    "proc/net/route": "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t0101010A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "ens0\t0001010A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0",
    "proc/net/fib_trie": "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 10.1.1.0\n"
    "        /24 link UNICAST\n     |-- 10.1.1.7\n        /32 host LOCAL\n"
    "Local:\n     |-- 10.1.1.7\n        /32 host LOCAL\n",
    "proc/77/comm": "osu_bw",
    "proc/78/comm": "sshd",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/name": "C1",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/latency": "2",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/disable": "0",
    "sys/devices/system/cpu/cpu0/cpuidle/state2/name": "C6",
    "sys/devices/system/cpu/cpu0/cpuidle/state2/latency": "133",
    "sys/devices/system/cpu/cpu0/cpuidle/state2/disable": "1",
    "sys/devices/system/cpu/cpu1/online": "1",
    "sys/devices/system/node/node0/cpulist": "0",
    "sys/devices/system/node/node1/cpulist": "1",
    "sys/module/ib_uverbs/refcnt": "1",
    "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
    "sys/class/infiniband/mlx5_0/ports/1/rate": "100 Gb/sec (4X EDR)",
    "sys/class/infiniband/mlx5_0/ports/1/link_layer": "Ethernet",
    "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0": "IB/RoCE v1",
    "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/3": "RoCE v2",
    "sys/class/infiniband/mlx5_0/device/current_link_speed": "16.0 GT/s PCIe",
    "sys/class/infiniband/mlx5_0/device/current_link_width": "8",
    "sys/class/infiniband/mlx5_0/device/net/ens0/mtu": "1500",
    "sys/class/infiniband/mlx5_0/fw_ver": "22.36.1010",
    "sys/class/net/ens0/mtu": "1500",
    "sys/class/net/ens0/carrier": "1",
    "sys/class/cxi/cxi0/device/port/link": "up",
    "sys/class/net/eth1/mtu": "9000",
    "sys/class/net/eth1/carrier": "0",
    "sys/class/net/eth1/speed": "25000",
    "sys/class/net/eth2/mtu": "1500",
    "dev/infiniband/uverbs0": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in TREE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{text}\n", encoding="utf-8")
    (tmp_path / "doctor.sh").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def call(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    places = {f"RAILYARD_{name}": str(root / folder) for name, folder in
              (("SYSFS", "sys"), ("PROC", "proc"), ("DEV", "dev"))}  # fmt: skip
    return subprocess.run(
        ["sh", str(root / "doctor.sh"), *arguments], capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], **places},
    )  # fmt: skip


def node(root: Path, rails: str = "mlx5_0:1,cxi0,eth1,eth2,mlx5_7:1") -> NodeState:
    answer = call(root, rails)
    assert (answer.returncode, answer.stderr) == (0, "")
    (state,) = parse(answer.stdout)
    return state


def test_all_that_the_tree_holds_is_said(root: Path) -> None:
    state = node(root)
    assert (state.name, state.format, state.whole) == ("n1", "1", True)
    told = {name: state.facts[name] for name in ("numa_balancing", "hugepages", "governor", "load", "processors")}
    assert told == {
        "numa_balancing": "1",
        "hugepages": "0",
        "governor": "powersave",
        "load": "0.50 0.40 0.30 1/500 4711",
        "processors": "2",
    }
    assert (state.facts["numa_nodes"], state.facts["uid"]) == ("2", str(os.getuid()))
    assert state.facts["transparent_hugepages"] == "always [madvise] never"
    assert (state.number("clock_s") or 0) > 1.7e9
    assert state.facts["memlock_kb"]
    assert (state.modules, state.verbs) == ({"ib_uverbs"}, {"uverbs0": True})
    assert state.cstates == [(2, "C1")], "a state that is switched off is none"
    assert state.subnets == [("ens0", "0001010A", "00FFFFFF")], "a default route is no network"
    assert state.own == ["10.1.1.7"], "its loopback is not a network address of its own"
    assert state.processes == [("77", "osu_bw")]


def test_each_rail_is_said_in_its_kind(root: Path) -> None:
    state = node(root)
    assert state.device("mlx5_0:1") == {
        "there": "rdma",
        "state": "4: ACTIVE",
        "rate": "100 Gb/sec (4X EDR)",
        "link_layer": "Ethernet",
        "firmware": "22.36.1010",
        "slot_speed": "16.0 GT/s PCIe",
        "slot_width": "8",
        "slot": "device",
        "interface": "ens0",
        "mtu": "1500",
        "carrier": "1",
        "arp_ignore": "1",
    }
    assert state.gids == {"mlx5_0:1": [3]}
    ndev = root / "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0"
    ndev.parent.mkdir()
    ndev.write_text("eth1\n", encoding="utf-8")
    assert node(root).device("mlx5_0:1")["interface"] == "eth1", "the GID's own interface goes first"
    assert state.device("cxi0") == {"there": "cxi", "state": "up"}
    assert state.device("eth1") == {
        "there": "net",
        "interface": "eth1",
        "mtu": "9000",
        "speed": "25000",
        "carrier": "0",
    }
    assert state.device("eth2")["carrier"] == "off", "of an interface that is switched off it cannot be read"
    assert state.device("mlx5_7:1") == {"there": "no"}


def test_a_bare_machine_still_gives_a_whole_answer(tmp_path: Path) -> None:
    (tmp_path / "doctor.sh").write_text(SCRIPT, encoding="utf-8")
    answer = call(tmp_path, "eth0")
    (state,) = parse(answer.stdout)
    assert (state.name, state.whole, state.device("eth0")) == ("unknown", True, {"there": "no"})


def test_the_limit_of_locked_memory_is_that_of_the_process(root: Path) -> None:
    limited = subprocess.run(
        ["sh", "-c", 'ulimit -l 64; exec sh "$0" eth1', str(root / "doctor.sh")],
        capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "RAILYARD_SYSFS": str(root / "sys"), "RAILYARD_PROC": str(root / "proc")},
    )  # fmt: skip
    (state,) = parse(limited.stdout)
    assert state.facts["memlock_kb"] == "64"


def test_a_call_without_rails_is_refused(root: Path) -> None:
    answer = call(root)
    assert (answer.returncode, answer.stdout) == (64, "")
    assert answer.stderr == "railyard: doctor.sh DEVICE[,DEVICE...]: one list of rails is needed\n"
