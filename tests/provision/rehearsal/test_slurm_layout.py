"""Slurm is told what the system's file says: hardware, features, resources, partitions, switches."""

from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.rehearsal.nodes import layout_of, leaf_switches
from railyard.provision.testbed.slurm_texts import Gres, Layout, files
from railyard.provision.testbed.spec import rehearsal_spec
from railyard.site.systems.job_requests import requested_words
from railyard.site.systems.model import System
from tests.made.rehearsal_site import TEXT, site

STANDING = ("n1", "n2", "n9")
JOBS = next(line for line in TEXT.splitlines() if line.startswith("jobs:"))


def layout(system: System) -> Layout:
    return layout_of(system, STANDING, leaf_switches(system, STANDING), "/bed/prolog")


def file_lines(system: System) -> dict[str, list[str]]:
    texts = files(rehearsal_spec(STANDING), Path("/bed/slurm"), layout(system))
    return {name: text.splitlines() for name, text in texts.items()}


def test_the_configuration_of_a_site(tmp_path: Path) -> None:
    texts = file_lines(site(tmp_path))
    assert [
        line for line in texts["slurm.conf"] if line.startswith(("NodeName=n9", "Part", "Topo", "Gres", "TaskPro"))
    ] == [
        "TopologyPlugin=topology/tree",
        "TaskProlog=/bed/prolog",
        "GresTypes=gpu",
        "NodeName=n9 NodeAddr=10.99.0.3 CPUs=112 Boards=1 SocketsPerBoard=2 CoresPerSocket=56 ThreadsPerCore=1 "
        "RealMemory=512000 Feature=ndr,hbm Gres=gpu:h100:4 State=UNKNOWN",
        "PartitionName=compute Nodes=n1,n2,n9 MaxTime=UNLIMITED State=UP OverSubscribe=NO Default=YES PriorityTier=1",
    ]
    assert texts["topology.conf"] == [
        "SwitchName=leaf1 Nodes=n1,n2",
        "SwitchName=leaf2 Nodes=n9",
        "SwitchName=spine Switches=leaf1,leaf2",
    ]
    assert texts["gres.conf"] == ["Name=gpu Type=h100 Count=4 File=/run/gres/0.[0-3]"]
    assert "for each in 0 1 2 3; do for file in /run/gres/0.$each; do mknod $file c 1 3; done; done" in texts["start"]


def test_slurm_is_told_the_stated_sockets(tmp_path: Path) -> None:
    texts = file_lines(site(tmp_path, ("cores: 112", "cores: 112, sockets: 1, threads_per_core: 2")))
    (line,) = (line for line in texts["slurm.conf"] if line.startswith("NodeName=n9 "))
    assert " CPUs=224 Boards=1 SocketsPerBoard=1 CoresPerSocket=112 ThreadsPerCore=2 " in line


def test_a_file_that_asks_for_nothing(tmp_path: Path) -> None:
    system = site(tmp_path, (JOBS, ""), ("leaf_switches: {leaf1: 'n[1-8]', leaf2: 'n[9-16]'}", ""))
    texts = file_lines(system)
    assert not any(line.startswith("TopologyPlugin") for line in texts["slurm.conf"])
    assert texts["slurm.conf"][-1] == (
        "PartitionName=all Nodes=n1,n2,n9 MaxTime=UNLIMITED State=UP OverSubscribe=NO Default=YES PriorityTier=1"
    )
    stated = system.nodes.model_validate({"names": system.nodes.names, "exclusive": True})
    whole = file_lines(system.model_copy(update={"nodes": stated}))
    assert " OverSubscribe=EXCLUSIVE " in whole["slurm.conf"][-1]
    assert "gres.conf" not in texts
    assert texts["topology.conf"] == []


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        ("--partition=fast,slow", ("fast", "slow")),
        ("-pfast", ("fast",)),
    ],
)
def test_access_options_say_the_same(tmp_path: Path, access: str, expected: tuple[str, ...]) -> None:
    system = site(
        tmp_path, (JOBS, f'access: ["{access}", "--gpus-per-node=a100:8", "--exclude=n[3-4]", "--exclusive"]')
    )
    assert layout(system).partitions == expected
    assert layout(system).gres == (Gres("gpu", 8, "a100"),)
    assert layout(system).absent == ("n3", "n4")
    assert layout(system).exclusive is False
    assert requested_words(system, "reservation") == ()


@pytest.mark.parametrize(
    ("constraint", "features"),
    [
        ("edr", ("edr",)),
        ("edr&haswell", ("edr", "haswell")),
        ("[rack1*4|rack2*4]", ("rack1", "rack2")),
        ("ib-hdr&!4gpu", ("ib-hdr", "4gpu")),
    ],
)
def test_every_node_has_each_feature_of_a_constraint(
    tmp_path: Path, constraint: str, features: tuple[str, ...]
) -> None:
    assert layout(site(tmp_path, ("ndr&hbm", f'"{constraint}"'))).features == features


@pytest.mark.parametrize(
    ("gres", "expected"),
    [
        ("gpu", (Gres("gpu", 1),)),
        ("gpu:8", (Gres("gpu", 8),)),
        ("gpu:tesla", (Gres("gpu", 1, "tesla"),)),
        ("gpu:a100:4,nvme:1", (Gres("gpu", 4, "a100"), Gres("nvme", 1))),
        ("gpu:1g.10gb:4", (Gres("gpu", 4, "1g.10gb"),)),
        ("gpu:a100-40gb:2", (Gres("gpu", 2, "a100-40gb"),)),
        ("nic-rate:4K", (Gres("nic-rate", 4096),)),
    ],
)
def test_resources(tmp_path: Path, gres: str, expected: tuple[Gres, ...]) -> None:
    assert layout(site(tmp_path, ("gpu:h100:4", gres))).gres == expected


def test_a_resource_of_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        layout(site(tmp_path, ("gpu:h100:4", "gpu:a:b:c")))
    assert (
        str(refused.value) == 'rehearsal: found the resource "gpu:a:b:c", expected a form such as gpu:8 or gpu:a100:4'
    )


def test_a_node_that_jobs_exclude_is_known_to_slurm(tmp_path: Path) -> None:
    lines = file_lines(site(tmp_path, ("partition: compute", "partition: compute, exclude: [n5]")))["slurm.conf"]
    (line,) = [line for line in lines if line.startswith("NodeName=n5")]
    assert line.endswith(' State=DOWN Reason="not rehearsed"')
    assert "Nodes=n1,n2,n9 " in lines[-1]


def test_a_leaf_called_spine_is_no_spine(tmp_path: Path) -> None:
    system = site(tmp_path, ("leaf1:", "spine:"))
    assert file_lines(system)["topology.conf"][-1] == "SwitchName=spine-above Switches=spine,leaf2"
