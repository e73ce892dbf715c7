"""Slurm's configuration on a testbed: each node once, on its leaf; no file of a daemon is below the clone."""

from pathlib import Path

import pytest

from railyard.provision.testbed.slurm_texts import Layout, Release, files, leaves, release_of
from railyard.provision.testbed.spec import DEFAULT_SPEC, TestbedSpec

FOLDER = Path("/site/.railyard/testbed/slurm")


def lines_of(name: str, spec: TestbedSpec = DEFAULT_SPEC, release: Release = (22, 5)) -> list[str]:
    return files(spec, FOLDER, release=release)[name].splitlines()


@pytest.mark.parametrize(
    ("said", "release"),
    [
        ("slurm-wlm 22.05.8\n", (22, 5)),
        ("slurm 26.05.3\n", (26, 5)),
        ("a module's greeting\nslurm 23.11.10\n", (23, 11)),
        ("slurmctld: fatal: no configuration\n", None),
        ("", None),
    ],
)
def test_a_release_is_read_from_what_the_controller_prints_of_itself(said: str, release: Release | None) -> None:
    assert release_of(said) == release


@pytest.mark.parametrize(
    ("release", "whole", "cgroups"),
    [
        ((20, 11), "OverSubscribe=EXCLUSIVE", ["CgroupPlugin=cgroup/v1", "CgroupAutomount=no"]),
        ((22, 5), "OverSubscribe=EXCLUSIVE", ["CgroupPlugin=cgroup/v1", "CgroupAutomount=no"]),
        ((23, 11), "OverSubscribe=EXCLUSIVE", ["CgroupPlugin=cgroup/v1"]),
        ((25, 11), "OverSubscribe=EXCLUSIVE", ["CgroupPlugin=disabled"]),
        ((26, 5), "Exclusive=NODE", ["CgroupPlugin=disabled"]),
        ((27, 5), "Exclusive=NODE", ["CgroupPlugin=disabled"]),
    ],
)
def test_each_release_is_given_the_words_that_it_reads(release: Release, whole: str, cgroups: list[str]) -> None:
    partitions = [line for line in lines_of("slurm.conf", release=release) if line.startswith("PartitionName=")]
    assert [line.split()[4] for line in partitions] == [whole, whole]
    assert lines_of("cgroup.conf", release=release) == cgroups


@pytest.mark.parametrize("release", [(22, 5), (26, 5)])
def test_shared_nodes_and_no_switches_need_no_word_of_a_release(release: Release) -> None:
    """topology/none has another name in newer releases, and switch/none is gone: both are what a missing line means."""
    made = files(DEFAULT_SPEC, FOLDER, Layout(exclusive=False, leaves={}), release)
    text = made["slurm.conf"]
    assert text.count(" OverSubscribe=NO") == 2
    assert "xclusive" not in text and "TopologyPlugin" not in text and "SwitchType" not in text
    assert made["topology.conf"] == ""


def test_every_node_is_there_with_its_address() -> None:
    nodes = [line.split()[:2] for line in lines_of("slurm.conf") if line.startswith("NodeName=")]
    assert nodes == [[f"NodeName=vn{n}", f"NodeAddr=10.99.0.{n}"] for n in (1, 2, 3, 4)]
    assert "SlurmctldHost=vn1(10.99.0.1)" in lines_of("slurm.conf")
    shared = "Nodes=vn1,vn2,vn3,vn4 MaxTime=60 State=UP OverSubscribe=EXCLUSIVE"
    assert [line for line in lines_of("slurm.conf") if line.startswith("PartitionName=")] == [
        f"PartitionName=all {shared} Default=YES PriorityTier=1",
        f"PartitionName=urgent {shared} PriorityTier=2",
    ]


def test_two_leaves_below_a_spine() -> None:
    assert lines_of("topology.conf") == [
        "SwitchName=leaf0 Nodes=vn1,vn2",
        "SwitchName=leaf1 Nodes=vn3,vn4",
        "SwitchName=spine Switches=leaf0,leaf1",
    ]


def test_an_odd_node_has_a_leaf_of_its_own(small: TestbedSpec) -> None:
    three = TestbedSpec(("a", "b", "c"), small.networks)
    assert leaves(three) == (("a", "b"), ("c",))


def test_what_a_daemon_keeps_is_its_nodes_own() -> None:
    """A path below the clone may be too long for a socket, and all nodes share it."""
    kept = ("StateSaveLocation", "SlurmdSpoolDir", "SlurmctldPidFile", "SlurmdPidFile")
    places = dict(line.split("=", 1) for line in lines_of("slurm.conf") if line.startswith(kept))
    assert len(places) == len(kept)
    assert all(place.startswith("/run/slurm") for place in places.values())


def test_no_setting_is_there_twice() -> None:
    many = ("NodeName=", "PartitionName=")
    names = [line.split("=")[0] for line in lines_of("slurm.conf") if not line.startswith(many)]
    assert len(names) == len(set(names))
