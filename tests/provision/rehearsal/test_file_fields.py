"""A healthy rehearsed node has no fault by its own system's file, whatever the file says about nodes, rails and ports.

Each row sets one field away from its default. A row that the stand-ins do not obey has the sentence that says so. The
fields of ``gpus`` are obeyed by the stand-in of nccl-tests: its figures are possible, its bytes went over the NICs.
"""

import subprocess
from pathlib import Path

import pytest

from railyard.cluster.doctor import rail_rules
from railyard.cluster.doctor.node_block import SCRIPT, parse, rails_of
from railyard.cluster.fabric.judge import judge
from railyard.cluster.fabric.model import Readings, expected_fabric
from railyard.cluster.fabric.sysfs import cards_of, ports_of
from railyard.provision.rehearsal.nodes import choose
from railyard.site.site import Site, site_at
from railyard.site.systems.model import System
from railyard.site.systems.parts import Gpus
from tests.made.rehearsal_site import site
from tests.provision.rehearsal import conftest
from tests.provision.rehearsal.conftest import Bed
from tests.provision.rehearsal.test_collectives import NCCL, run
from tests.provision.rehearsal.test_sysfs import unpack_sysfs

DOCTOR = Path(rail_rules.__file__).parent / SCRIPT
ROCE = (("kind: ib", "kind: roce"), ("link: ib-ndr", "link: roce-100"))
FIRST = "{device: mlx5_0, port: 1, counters: mlx5}"


def fabric(words: str) -> tuple[str, str]:
    """Return the change that adds a line to the fabric."""
    return "    kind: ib\n", f"    kind: ib\n    {words}\n"


def state(words: str) -> tuple[str, str]:
    return fabric(f"fabric_state: {{{words}}}")


#: What is changed in the file, and the beginning of the sentence if the rehearsed node does not obey it.
ROWS: dict[str, tuple[tuple[tuple[str, str], ...], str]] = {
    "slot": ((("slot: pcie5-x16", "slot: pcie4-x8"),), ""),
    "slot of a rail": (((FIRST, FIRST[:-1] + ", slot: pcie3-x16}"),), ""),
    "rails_per_card": ((("counters: mlx5}", "counters: mlx5, rails_per_card: 2}"),), ""),
    "rails_per_port": ((("counters: mlx5}", "counters: mlx5, rails_per_port: 2}"),), ""),
    "bonded_ports": ((("counters: mlx5}", "counters: mlx5, bonded_ports: 2}"), *ROCE), "the bonded ports of ndr"),
    "mtu": ((fabric("mtu: 2048"),), ""),
    "mtu of RoCE": ((fabric("mtu: 1024"), *ROCE), ""),
    "max_payload": ((fabric("max_payload: 512"),), ""),
    "gid_index": ((fabric("gid_index: 3"), *ROCE), ""),
    "traffic_class": ((fabric("traffic_class: 106"), *ROCE), ""),
    "service_level": ((fabric("service_level: 3"),), ""),
    "width and speed": ((state("width: 4, speed: NDR"),), ""),
    "path MTU": ((state("mtu: 1024"),), ""),
    "firmware": ((state("firmware: 28.39.1002"),), ""),
    "psid": ((state("psid: MT_0000000838"),), ""),
    "no subnet manager": ((state("subnet_manager: false"),), ""),
    "gid_index of the state": ((state("gid_index: 3"), *ROCE), ""),
    "GID of version 1": ((state("gid_index: 2, roce_mode: v1"), *ROCE), ""),
    "another order of GIDs": ((state("gid_index: 2"), *ROCE), ""),
    "GID of a fourth address": ((fabric("gid_index: 7"), *ROCE), ""),
    "many GIDs": ((state("gid_index: 7"), *ROCE), ""),
    "pfc": ((state("pfc: [3]"), *ROCE), ""),
    "ecn": ((state("ecn: [3]"), *ROCE), ""),
    "max_read_request": ((state("max_read_request: 4096"),), ""),
    "relaxed_ordering": ((state("relaxed_ordering: true"),), ""),
    "acs": ((state("acs: true"),), ""),
    "iommu off": ((state("iommu: 'off'"),), ""),
    "iommu passthrough": ((state("iommu: passthrough"),), ""),
    "iommu translated": ((state("iommu: translated"),), ""),
    "sockets": ((("cores: 112", "cores: 112, sockets: 4"),), ""),
    "threads_per_core": ((("cores: 112", "cores: 112, threads_per_core: 2"),), ""),
    "memory": ((("memory: 500G", "memory: 64G"),), ""),
    "leaf switches": ((("{leaf1: 'n[1-8]', leaf2: 'n[9-16]'}", "{all: 'n[1-16]'}"),), ""),
}


def findings(folder: Path, system: System) -> list[str]:
    """Return what ``railyard fabric`` and ``railyard doctor`` find wrong with rails, cards and slots of one node."""
    sys = unpack_sysfs(folder, system)
    (name,) = system.fabrics
    report = judge(expected_fabric(system, name), Readings(own=ports_of(sys, "n3"), cards=cards_of(sys, "n3")))
    said = subprocess.run(
        ["sh", str(DOCTOR), rails_of(system)], env={"PATH": "/usr/bin:/bin", "RAILYARD_SYSFS": str(sys)},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    (node,) = parse(said)
    doctor = [*rail_rules.of_node(node, system.fabrics), *rail_rules.of_nodes([node], system)]
    return [str(found) for found in (*report.findings, *doctor)]


@pytest.mark.parametrize("row", ROWS)
def test_a_healthy_node_obeys_the_field_or_the_rehearsal_says_so(tmp_path: Path, row: str) -> None:
    changes, sentence = ROWS[row]
    system = site(tmp_path, *changes)
    assert findings(tmp_path, system) == []
    said = choose(system, 100_000).left_out
    assert any(each.startswith(sentence) for each in said) if sentence else True


#: The field -> the whole part ``gpus`` of a file that has it.
GPU_ROWS = {
    "per_node": "{per_node: 4, kind: NVIDIA A100, nvlink: 3}",
    "kind": "{per_node: 2, kind: a GPU that nobody has heard of, nvlink: 4}",
    "nvlink": "{per_node: 2, kind: NVIDIA V100, nvlink: 2}",
    "nvlinks": "{per_node: 2, kind: NVIDIA H800, nvlink: 4, nvlinks: 8}",
    "xgmi": "{per_node: 2, kind: AMD Instinct MI300X, xgmi: mi300x}",
    "slot": "{per_node: 2, kind: NVIDIA L4, slot: pcie4-x8}",
    "domain": "{per_node: 2, kind: NVIDIA GB200, nvlink: 5, domain: 4}",
    "nearest": "{per_node: 2, kind: NVIDIA H100 SXM5, nvlink: 4, nearest: {mlx5_0: [1], mlx5_1: [0]}}",
}
#: `make test` has those whose bytes or connections differ.
GPU_CASES = [
    pytest.param(name, marks=() if name in ("per_node", "slot", "domain", "nearest") else pytest.mark.full)
    for name in GPU_ROWS
]


@pytest.fixture
def roomy(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    """The site of all rehearsals here, with NCCL and these GPUs."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    text = conftest.SYSTEM.replace("stacks:\n", NCCL, 1) + f"gpus: {GPU_ROWS[request.param]}\n"
    (tmp_path / "systems/roomy.yaml").write_text(text, encoding="utf-8")
    return site_at(tmp_path, "roomy")


def test_each_field_of_the_gpus_has_its_row() -> None:
    assert set(GPU_ROWS) == set(Gpus.model_fields)


@pytest.mark.parametrize("roomy", GPU_CASES, indirect=True)
def test_a_healthy_run_obeys_the_field_of_the_gpus(bed: Bed) -> None:
    gpus = bed.site.system.gpus
    assert gpus is not None
    for key, nodes in (("nccl/all_reduce_perf", bed.trees), ("nccl/all_reduce_perf/one-node", ["n8"])):
        found = run(bed, key, nodes=tuple(nodes), per_node=gpus.per_node)
        assert found.verdict.state == "report-only", f"{key}: {found.verdict.text}"
        assert {rule.state for rule in found.verdict.rules} <= {"pass", "not-judged"}, key
