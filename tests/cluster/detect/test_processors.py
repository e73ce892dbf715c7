"""Cores, threads, sockets and memory of a node, from the kernel's own lists."""

import pytest

from railyard.cluster.detect.detected_cluster import Processors, detect, processors_of
from railyard.cluster.detect.source import Listing, Recorder
from railyard.cluster.detect.system_text import system_text

CPUS = "/sys/devices/system/cpu"


def node(online: str, threads: str, socket: str, memory: str = "MemTotal:       2113409276 kB") -> Listing:
    topology = f"{CPUS}/cpu0/topology"
    return Listing(
        {
            f"{CPUS}/online": online,
            f"{topology}/thread_siblings_list": threads,
            f"{topology}/core_siblings_list": socket,
            "/proc/meminfo": memory,
        }
    )


@pytest.mark.parametrize(
    ("online", "threads", "socket", "expected", "words"),
    [
        ("0-223", "0,112", "0-55,112-167", (112, 2, 2), "2 sockets of 56 cores, 2 threads a core"),
        ("0-223", "0-1", "0-111", (112, 2, 2), "2 sockets of 56 cores, 2 threads a core"),
        ("0-127", "0", "0-63", (128, 1, 2), "2 sockets of 64 cores, 1 thread a core"),
        ("0-287", "0-3", "0-287", (72, 4, 1), "1 socket of 72 cores, 4 threads a core"),
        ("0", "0", "0", (1, 1, 1), "1 socket of 1 core, 1 thread a core"),
        ("0-79", "0", "", (80, 1, None), "1 thread a core"),  # not the list of a socket
        ("0-79", "0", "0-2", (80, 1, None), "1 thread a core"),  # a number that is not a multiple of the sockets
    ],
)
def test_cores_are_counted_without_their_threads(
    online: str, threads: str, socket: str, expected: tuple[int, int, int | None], words: str
) -> None:
    found = processors_of(node(online, threads, socket))
    assert found == Processors(*expected, memory_kib=2113409276)
    assert found is not None and found.words == words


@pytest.mark.parametrize(
    ("online", "threads", "memory"),
    [
        ("", "0", "MemTotal: 8 kB"),
        ("0-3", "", "MemTotal: 8388608 kB"),
        ("0-3", "0-2", "MemTotal: 8388608 kB"),
        ("0-3", "0-1", "MemFree: 8388608 kB"),
        ("0-3", "zero", "MemTotal: 8388608 kB"),
        ("3-0", "0", "MemTotal: 8388608 kB"),
        ("0-3", "0", "MemTotal: 100 kB"),
    ],
)
def test_what_the_kernel_does_not_say_whole_is_not_said(online: str, threads: str, memory: str) -> None:
    assert processors_of(node(online, threads, "0-3", memory)) is None


@pytest.mark.parametrize(("kib", "text"), [(2113409276, "2015G"), (8 << 20, "8G"), (4016640, "3922M")])
def test_memory_is_rounded_down(kib: int, text: str) -> None:
    assert Processors(1, 1, 1, kib).memory == text


def test_a_recording_keeps_how_much_memory_there_is_and_not_how_it_is_used() -> None:
    recorder = Recorder(node("0-3", "0-1", "0-3", "MemTotal:       8388608 kB\nMemFree:         123 kB"))
    first = detect(recorder).node.processors
    assert recorder.listing.files["/proc/meminfo"] == "MemTotal:       8388608 kB"
    assert detect(recorder.listing).node.processors == first == Processors(2, 2, 1, 8388608)


@pytest.mark.parametrize(
    ("has_cpu", "domains"),
    [
        ("0-7", 8),
        ("0,2-3", None),  # three of 128 cores: they do not share them evenly
        ("0-1", 2),  # the others are those of GPUs or of memory alone
        ("", None), ("garbled", None),
    ],
)  # fmt: skip
def test_domains_with_processors_are_written_if_they_share_the_cores_evenly(has_cpu: str, domains: int | None) -> None:
    tree = node("0-127", "0", "0-63")
    tree.files["/sys/devices/system/node/has_cpu"] = has_cpu
    found = detect(tree)
    assert found.node.domains == domains
    said = [line for line in system_text(found, "made", "from a tree", {}).split("\n") if "hardware:" in line]
    assert (f", numa_domains: {domains}" in said[0]) == (domains is not None)
