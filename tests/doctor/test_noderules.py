"""Each rule of a node from both its sides: a healthy node has nothing, one fault gives one sentence."""

from collections.abc import Callable

import pytest

from railyard.doctor.nodeblock import NodeState
from railyard.doctor.noderules import RULES
from railyard.systems import System

Node = Callable[..., NodeState]


def said(node: NodeState, system: System) -> list[tuple[str, str]]:
    return [(one.weight, one.sentence) for rule in RULES for one in rule(node, system)]


@pytest.mark.parametrize("name", ["hdr", "roce", "eth"])
def test_a_healthy_node_has_nothing(node: Node, systems: dict[str, System], name: str) -> None:
    assert said(node(name), systems[name]) == []


#: system, text of the block, what stands there in its place, weight, sentence
FAULTS = [
    ("hdr", "begin 1", "begin 2", "problem", "n1: its answer has format 2, expected 1; run the doctor.sh of this "
     "installation"),
    ("hdr", "railyard-doctor n1 421 end\n", "", "problem", "n1: its answer has no end; see what its job step "
     "printed on stderr, and run it again"),
    ("hdr", "memlock_kb unlimited", "memlock_kb 64", "problem", "n1: a process of a job step may lock 64 kB of "
     "memory, so that RDMA buffers cannot be registered; set LimitMEMLOCK=infinity in the unit of slurmd (or of the "
     "scheduler's "
     "daemon), or memlock unlimited in /etc/security/limits.conf, and restart it: a login shell's own limit says "
     "nothing"),
    ("hdr", "[madvise] never", "madvise [never]", "remark", "n1: there are neither huge pages nor transparent ones; "
     "set transparent_hugepage to madvise, or vm.nr_hugepages: the card then translates fewer addresses"),
    ("hdr", "module ib_uverbs", "module x", "problem", "n1: the kernel module ib_uverbs is not loaded, so that no "
     "program sees a card; modprobe ib_uverbs"),
    ("hdr", "module rdma_ucm", "module x", "remark", "n1: the kernel module rdma_ucm is not loaded; modprobe rdma_ucm: "
     "connections by address (perftest -R, libfabric's verbs) need it"),
    ("hdr", "uverbs1 open", "uverbs1 closed", "problem", "n1: /dev/infiniband/uverbs1 may not be opened by uid "
     "1000; give it mode 0666 by a udev rule, as rdma-core does"),
    ("hdr", "governor performance", "governor powersave", "remark", "n1: the processors' frequency governor is "
     "powersave; cpupower frequency-set -g performance: small-message latency and message rate rise with the clock"),
    ("hdr", "numa_balancing 0", "numa_balancing 1", "remark", "n1: the kernel moves pages between domains of memory "
     "(NUMA balancing); sysctl kernel.numa_balancing=0 while it is measured: it unmaps pages to see who uses them"),
    ("hdr", "cstate 2 C1", "cstate 133 C6", "remark", "n1: a processor may sleep in C6, from which it wakes in 133 us; "
     "cpupower idle-set -D 50, or intel_idle.max_cstate=1 at boot: latencies are a few us"),
    ("hdr", "cstate 2 C1", "process 99 osu_bw", "problem", "n1: osu_bw runs there already; end it, or take other "
     "nodes: an earlier job left it, or somebody measures at this moment"),
    ("hdr", "load 0.10", "load 12.5", "remark", "n1: its load is 12.5 with 64 processors; see with top what runs "
     "there: a run that shares its node has figures of both"),
    ("hdr", "fact address", "fact elsewhere", "problem", "n1: it does not find its own name; enter it in DNS or "
     "/etc/hosts: launchers connect to nodes by name"),
    ("hdr", "address 10.0.0.1", "address 127.0.1.1", "problem", "n1: its own name means 127.0.1.1, where no other node "
     "reaches it; remove the name from the line of localhost in /etc/hosts"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "weight", "sentence"), FAULTS)
def test_one_fault_is_one_sentence(
    node: Node, systems: dict[str, System], name: str, old: str, new: str, weight: str, sentence: str
) -> None:
    assert said(node(name, old, new), systems[name]) == [(weight, sentence)]


def test_no_device_file_at_all(node: Node, systems: dict[str, System]) -> None:
    bare = node("hdr")
    bare.verbs.clear()
    assert said(bare, systems["hdr"]) == [
        (
            "problem",
            "n1: there is no /dev/infiniband/uverbs* in a job step; load ib_uverbs; in a container or under device "
            "cgroups, let jobs have /dev/infiniband",
        )
    ]


#: What is wrong where there is RDMA is nothing where there is none, or where it cannot matter.
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
    assert said(node(name, old, new), systems[name]) == []


def test_one_domain_of_memory_has_nothing_to_balance(node: Node, systems: dict[str, System]) -> None:
    alone = node("hdr", "numa_nodes 2", "numa_nodes 1")
    alone.facts["numa_balancing"] = "1"
    assert said(alone, systems["hdr"]) == []
