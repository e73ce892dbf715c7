"""Systems for the doctor's rules, and a healthy node of each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.cluster.doctor.node_block import NodeState, parse
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.made.systems import ETH, HDR

SYSTEMS = {
    "hdr": HDR,
    "roce": """\
system: roce
description: Two rails of RoCE
scheduler: pbs
launcher: mpirun
nodes: {names: [r1, r2]}
report_only: nothing is known of it
fabrics:
  roce:
    description: RoCE
    kind: roce
    link: roce-100
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
stacks:
  openmpi: {prefix: /opt/ompi, benchmarks: {osu: /opt/osu/mpi}}
""",
    "eth": ETH,
}
_FACTS = """\
begin 1
fact clock_s 1000
fact memlock_kb unlimited
fact uid 1000
fact hugepages 0
fact transparent_hugepages always [madvise] never
fact numa_balancing 0
fact governor performance
fact load 0.10 0.20 0.30 1/500 4711
fact processors 64
fact numa_nodes 2
fact address 10.0.0.{number}
fact arp_ignore 0
fact arp_announce 0
cstate 2 C1
module ib_uverbs
module rdma_ucm
uverbs uverbs0 open
uverbs uverbs1 open
"""
_RAILS = {
    "hdr": """\
device mlx5_{rail}:1 there rdma
device mlx5_{rail}:1 state 4: ACTIVE
device mlx5_{rail}:1 phys_state 5: LinkUp
device mlx5_{rail}:1 rate 200 Gb/sec (4X HDR)
device mlx5_{rail}:1 link_layer InfiniBand
device mlx5_{rail}:1 firmware 20.35.1012
device mlx5_{rail}:1 slot_speed 16.0 GT/s PCIe
device mlx5_{rail}:1 slot_width 16
device mlx5_{rail}:1 slot_max_speed 16.0 GT/s PCIe
device mlx5_{rail}:1 slot_max_width 16
device mlx5_{rail}:1 slot 0000:c{rail}:00.0
""",
    "roce": """\
device mlx5_{rail}:1 there rdma
device mlx5_{rail}:1 state 4: ACTIVE
device mlx5_{rail}:1 phys_state 5: LinkUp
device mlx5_{rail}:1 rate 100 Gb/sec (4X EDR)
device mlx5_{rail}:1 link_layer Ethernet
device mlx5_{rail}:1 interface ens{rail}
device mlx5_{rail}:1 mtu 9000
device mlx5_{rail}:1 carrier 1
device mlx5_{rail}:1 arp_ignore 0
device mlx5_{rail}:1 arp_announce 0
device mlx5_{rail}:1 trust dscp
gid mlx5_{rail}:1 3
subnet ens{rail} 0{rail}01010A 00FFFFFF
""",
    "eth": """\
device eth{port} there net
device eth{port} interface eth{port}
device eth{port} mtu 1500
device eth{port} speed 10000
device eth{port} carrier 1
subnet eth{port} 0{rail}01010A 00FFFFFF
""",
}


def block(system: str, node: str = "n1", number: int = 1, rails: int = 2) -> str:
    """Return what doctor.sh prints on a node of one of the systems that has nothing wrong."""
    said = (_RAILS[system].format(rail=rail, port=rail + 1) for rail in range(rails))
    text = _FACTS.format(number=number) + "".join(said)
    return "".join(f"railyard-doctor {node} 42{number} {line}\n" for line in f"{text}end".split("\n"))


@pytest.fixture(scope="session")
def systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, System]:
    """The systems hdr, roce and eth."""
    folder: Path = tmp_path_factory.mktemp("site") / "systems"
    folder.mkdir()
    for name, text in SYSTEMS.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return {name: load_system(folder / f"{name}.yaml") for name in SYSTEMS}


@pytest.fixture
def healthy_block() -> Callable[..., str]:
    """Return a function that returns the block of a healthy node, for a system, a name and a number."""
    return block


@pytest.fixture
def node() -> Callable[..., NodeState]:
    """Return a function that returns a node of a system with a text in its block replaced; the text must be there."""

    def make(system: str, old: str = "", new: str = "", name: str = "n1", number: int = 1) -> NodeState:
        text = block(system, name, number)
        assert old in text, f"the block has no {old!r}"
        (state,) = parse(text.replace(old, new))
        return state

    return make
