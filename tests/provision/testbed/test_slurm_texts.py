"""Slurm's configuration on a testbed: each node once, on its leaf; no file of a daemon is below the clone."""

from pathlib import Path

from railyard.provision.testbed.slurm_texts import files, leaves
from railyard.provision.testbed.spec import DEFAULT_SPEC, TestbedSpec

FOLDER = Path("/site/.railyard/testbed/slurm")


def lines_of(name: str, spec: TestbedSpec = DEFAULT_SPEC) -> list[str]:
    return files(spec, FOLDER)[name].splitlines()


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
