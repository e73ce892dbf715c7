"""A node shows the processors and domains of memory that the system's file declares."""

from pathlib import Path

import pytest

from railyard.cluster.detect.detected_cluster import processors_of
from railyard.cluster.detect.source import Folder
from railyard.provision.rehearsal.sysfs import Machine, machine_assumptions, machine_of
from tests.made.rehearsal_site import site

TWO_THREADS = Machine(2, 56, 2, 500 << 30)


def test_the_first_threads_of_all_cores_come_before_the_second() -> None:
    assert [TWO_THREADS.processors_near(socket) for socket in (0, 1)] == ["0-55,112-167", "56-111,168-223"]
    assert TWO_THREADS.processors == 224
    files = TWO_THREADS.files()
    assert files["cpu/cpu60/topology/thread_siblings_list"] == "60,172"
    assert files["cpu/cpu172/topology/physical_package_id"] == "1"
    assert (files["cpu/online"], files["cpu/smt/control"], files["node/has_cpu"]) == ("0-223", "on", "0-1")


def test_one_core_is_no_range() -> None:
    files = Machine(1, 1, 1, 1 << 30).files()
    assert (files["cpu/online"], files["node/node0/cpulist"], files["cpu/smt/control"]) == ("0", "0", "off")


def test_masks_say_what_lists_say() -> None:
    files = Machine(2, 20, 1, 64 << 30).files()
    assert files["node/node0/cpumap"] == "00000000,000fffff"
    assert files["node/node1/cpumap"] == "000000ff,fff00000"


def test_detect_reads_what_was_declared(tmp_path: Path) -> None:
    for path, text in TWO_THREADS.files().items():
        file = tmp_path / "sys/devices/system" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:       524288000 kB\n")
    found = processors_of(Folder(tmp_path))
    assert found is not None
    assert found.words == "2 sockets of 56 cores, 2 threads a core"


def test_the_clock_is_the_declared_one(tmp_path: Path) -> None:
    machine = machine_of(site(tmp_path))
    assert (machine.sockets, machine.cores, machine.memory) == (2, 112, 500 << 30)
    files = machine.files()
    assert files["cpu/cpu0/cpufreq/scaling_cur_freq"] == "2000000"
    assert files["cpu/cpu0/cpufreq/scaling_max_freq"] == "3800000"


@pytest.mark.parametrize(("cores", "sockets"), [("1", 1), ("7", 1), ("8", 2), ("33", 1), ("128", 2)])
def test_sockets_are_assumed_where_cores_can_be_halved(tmp_path: Path, cores: str, sockets: int) -> None:
    assert machine_of(site(tmp_path, ("cores: 112", f"cores: {cores}"))).sockets == sockets


@pytest.mark.parametrize(("sockets", "near"), [(1, "0-111"), (4, "28-55")])
def test_stated_sockets_are_the_nodes(tmp_path: Path, sockets: int, near: str) -> None:
    stated = site(tmp_path, ("cores: 112", f"cores: 112, sockets: {sockets}"))
    machine = machine_of(stated)
    assert (machine.sockets, machine.cores, machine.processors_near(min(1, sockets - 1))) == (sockets, 112, near)
    assert list(machine_assumptions(stated)) == ["the file does not say how many threads a core has: each core has one"]
    whole = site(tmp_path, ("cores: 112", f"cores: 112, sockets: {sockets}, threads_per_core: 2"))
    assert list(machine_assumptions(whole)) == []


def test_what_is_assumed_is_said(tmp_path: Path) -> None:
    bare = site(tmp_path, ("  hardware: {cores: 112, memory: 500G, base_ghz: 2.0, turbo_ghz: 3.8}\n", ""))
    assert list(machine_assumptions(bare)) == [
        "the file has no nodes.hardware: each node has 2 sockets of 16 cores, one thread per core, and 64 GiB"
    ]
    assert list(machine_assumptions(site(tmp_path))) == [
        "the file does not say how a node's cores are spread over sockets: each node has 2 sockets of 56 cores, "
        "one thread per core"
    ]
