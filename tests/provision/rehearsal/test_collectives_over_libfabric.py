"""A rehearsed run of rccl-tests over Slingshot: RCCL reaches these cards only over its plugin for libfabric."""

from pathlib import Path

import pytest

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.parsers import nccl
from railyard.site.site import Site, site_at
from railyard.verdict.assess import Assessment
from tests.made.sysfs import Tree
from tests.provision.rehearsal.conftest import NODES, Bed
from tests.provision.rehearsal.test_collectives import WORDS
from tests.provision.rehearsal.test_cxi_pair import SYSTEM

STACKS = """\
stacks:
  craympich:
    modules: [cray-mpich]
    benchmarks: {osu: osu}
  rccl:
    mpi: craympich
    modules: [rccl]
    benchmarks: {nccl: nccl}
gpus:
  per_node: 2
  kind: AMD Instinct MI250X
  xgmi: mi250x
  nearest: {cxi0: [0], cxi1: [1]}
"""


@pytest.fixture
def roomy(tmp_path: Path) -> Site:
    """The site alone, in place of the one with InfiniBand."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    text = SYSTEM.partition("stacks:\n")[0].replace("names: [n8", "hardware: {cores: 8, memory: 64G}, names: [n8")
    (tmp_path / "systems/roomy.yaml").write_text(text + STACKS)
    return site_at(tmp_path, "roomy")


@pytest.fixture
def over_slingshot(bed: Bed) -> Bed:
    bed.trees = {node: Tree.empty_node(bed.root / "slingshot" / node, node) for node in NODES}
    for tree in bed.trees.values():
        for number in range(2):
            names = ("hni_sts_tx_ok_octets", "hni_sts_rx_ok_octets")
            tree.slingshot(f"cxi{number}", f"hsn{number}", dict.fromkeys(names, 9))
    bed.plant()
    return bed


def run(bed: Bed, **variables: str) -> Assessment:
    ran = bed.run(
        "rccl", "nccl", "all_reduce_perf", WORDS, rails=2, nodes=NODES, per_node=2, fabric="hsn", variables=variables
    )
    return ran.assess_run("nccl/all_reduce_perf", nccl.parse, told=Repetitions(20, 5), validates=True)


def test_a_healthy_collective_goes_over_the_plugin_and_is_proven(over_slingshot: Bed) -> None:
    found = run(over_slingshot)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text


def test_a_library_that_takes_sockets_in_its_place_is_named_with_what_to_look_at(over_slingshot: Bed) -> None:
    found = run(over_slingshot, NCCL_NET="Socket", NCCL_SOCKET_IFNAME="hsn")
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "used the network Socket (line " in found.verdict.sentence
    assert "expected AWS Libfabric" in found.verdict.sentence
    assert "its plugin for libfabric" in (found.verdict.look_at or "")
