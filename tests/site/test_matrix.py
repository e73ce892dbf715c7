"""Which cells of a system run, why the others do not, and that ReFrame's features agree."""

from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.benchmarks.apps.installed_applications import Application
from railyard.hardware.node import NodeHardware
from railyard.rfm.checks.catalogue import needs
from railyard.site.matrix import (
    DEFAULT,
    DEVICE_BUFFERS,
    GPU_PAIRS,
    GPUS,
    RAIL_COUNTS,
    SWITCH_GROUPS,
    Cell,
    Need,
    device_reason,
    disabled_reason,
    environment_features,
    environment_terms,
    matrix,
    partition_features,
    problem_features,
    why_not,
)
from railyard.site.site import Site
from railyard.site.systems.load import load_system, load_systems
from railyard.site.systems.model import DisabledCombination, Fabric, Nodes, Rail, System
from railyard.site.systems.stack_entry import StackEntry
from railyard.site.test_id import TestId
from railyard.stacks import libraries, model
from tests.conftest import ROOT
from tests.made import systems

UNIBAND = Need("ImbUniband", "imb", "imb/Uniband", 2)
ALLREDUCE = Need("ImbAllreduce", "imb", "imb/Allreduce", 4)
STREAM = Need("NetpipeStream", "netpipe", "netpipe/stream", 2)


def changed_system(site: Site, **changes: Any) -> System:
    return site.system.model_copy(update=changes)


REASONS = [
    ("eth", "mpich", 2, UNIBAND, "eth has 1 rail per node (eth0)"),
    ("hsn", "mpich", 4, UNIBAND, "hsn has 2 rails per node (hsn0, hsn1)"),
    ("hsn", "mpich", 1, Need("Big", "imb", "imb/Alltoall", 8), "needs 8 nodes, virtual has 4"),
    (
        *("hsn", "openmpi", 1, UNIBAND),
        "the packaged IMB-MPI1 is linked to MPICH's ABI (libmpi.so.12) and Open MPI offers libmpi.so.40; Spack builds "
        "it: make run SPACK=1",
    ),
    (
        *("hsn", "mpich", 1, STREAM),
        "Debian's NPmpich2 is linked to Debian's own MPICH 4.0 and hung at its end once in three runs; Spack builds "
        "it: make run SPACK=1",
    ),
    ("hsn", "mpich", 1, Need("Gpc", "gpcnet", "gpcnet/net", 2), "virtual states no gpcnet for mpich"),
    (
        *("hsn", "openmpi", 1, Need("GpcnetNetwork", "gpcnet", "gpcnet/network_test", 2)),
        "no package carries GPCNeT; Spack builds it where a system asks for it (with: [gpcnet])",
    ),
    (
        *("hsn", "openmpi", 1, Need("Hpcc", "hpcc", "hpcc/Summary", 2)),
        "make run installs no hpcc; Spack builds it where a system asks for it (with: [hpcc])",
    ),
    # the nodes come before the tool: even with the tool there would be too few
    (
        *("hsn", "openmpi", 1, Need("GpcnetCongestion", "gpcnet", "gpcnet/network_load_test", 10)),
        "needs 10 nodes, virtual has 4",
    ),
]


@pytest.mark.parametrize(("fabric", "stack", "rails", "need", "sentence"), REASONS)
def test_each_reason_is_one_sentence(
    virtual: Site, fabric: str, stack: str, rails: int, need: Need, sentence: str
) -> None:
    assert why_not(virtual.system, fabric, stack, rails, need) == sentence


def test_a_stack_that_cannot_drive_the_rails_says_why(virtual: Site) -> None:
    many = tuple(Rail.model_validate({"device": f"hsn{n}", "counters": "netdev"}) for n in range(8))
    hsn = virtual.system.fabrics["hsn"].model_copy(update={"rails": many})
    system = changed_system(virtual, fabrics={"hsn": hsn})
    assert why_not(system, "hsn", "mpich", 8, UNIBAND) == (
        "mpich on tcp: striping over ch4:ucx over tcp uses at most 4 rails, 8 were asked for"
    )
    assert why_not(system, "hsn", "mpich", 4, UNIBAND) is None
    opa = changed_system(virtual, fabrics={"hsn": hsn.model_copy(update={"kind": "slingshot"})})
    assert why_not(opa, "hsn", "intelmpi", 1, UNIBAND) == (
        "intelmpi on slingshot: Intel MPI has no cxi provider, and its guide (OFI Providers Support) names none: use "
        "craympich, openmpi or mpich."
    )


def test_a_stack_that_cannot_be_told_the_fabrics_class_says_why(virtual: Site) -> None:
    roce = virtual.system.fabrics["hsn"].model_copy(update={"kind": "roce", "traffic_class": 104})
    system = changed_system(virtual, fabrics={"hsn": roce}, stacks={"mvapich2": virtual.system.stacks["mpich"]})
    assert why_not(system, "hsn", "mvapich2", 1, UNIBAND) == (
        "mvapich2 on roce: traffic class 104 was asked for, but mvapich2 has no setting for it (only for a service "
        "level)"
    )
    assert "rails1" not in environment_features(system, "hsn", "mvapich2")


def test_a_check_of_some_kinds_of_fabric_runs_over_those_alone(virtual: Site) -> None:
    need = Need("Bandwidth", "imb", "fabtests/fi_rdm_tagged_bw", 2, kinds=("slingshot", "efa"))
    assert why_not(virtual.system, "hsn", "mpich", 1, need) == (
        "fabtests/fi_rdm_tagged_bw is measured only over fabrics of kind slingshot and efa, not tcp"
    )
    slingshot = virtual.system.fabrics["hsn"].model_copy(update={"kind": "slingshot"})
    system = changed_system(virtual, fabrics={"hsn": slingshot})
    assert why_not(system, "hsn", "mpich", 1, need) is None
    assert accepts_cell(system, "hsn", "mpich", 1, need)
    assert not accepts_cell(virtual.system, "hsn", "mpich", 1, need)


def test_a_rank_on_every_core_needs_to_know_how_many_and_nodes_of_ones_own(virtual: Site) -> None:
    need = Need("OsuCores", "imb", "imb/Uniband", 2, every_core=True)
    assert why_not(virtual.system, "hsn", "mpich", 1, need) == (
        "a rank on every core needs nodes with their own cores; those of virtual share one host's"
    )
    real = changed_system(virtual, provider="nodes")
    unknown = real.model_copy(update={"nodes": virtual.system.nodes.model_copy(update={"hardware": None})})
    assert why_not(unknown, "hsn", "mpich", 1, need) == (
        "virtual does not state the number of cores per node (nodes: hardware: cores)"
    )
    stated = {"hardware": NodeHardware.model_validate({"cores": 112, "memory": "500G"})}
    known = real.model_copy(update={"nodes": virtual.system.nodes.model_copy(update=stated)})
    assert why_not(known, "hsn", "mpich", 1, need) is None
    for system, there in ((virtual.system, False), (unknown, False), (known, True)):
        assert ("cores" in partition_features(system, "hsn")) == there
        assert accepts_cell(system, "hsn", "mpich", 1, need) == there


def test_a_single_host_stands_in_for_any_number_of_nodes(virtual: Site) -> None:
    host = changed_system(virtual, provider="host", nodes=Nodes.model_validate({"names": ["localhost"]}))
    assert why_not(host, "hsn", "mpich", 1, Need("Big", "imb", "imb/Alltoall", 64)) is None
    assert "nodes64" in partition_features(host, "hsn")


def test_the_first_reason_is_the_systems_own(virtual: Site) -> None:
    """Missing rails come before a missing tool, and that comes before what the stack cannot do."""
    assert why_not(virtual.system, "eth", "openmpi", 2, ALLREDUCE) == "eth has 1 rail per node (eth0)"


def test_a_disabled_cell_can_run_and_has_the_sites_reason(virtual: Site) -> None:
    system = changed_system(virtual, disabled=(DisabledCombination(fabric="hsn", rails=2, reason="hsn1 is on order"),))
    assert disabled_reason(system, TestId("hsn", "mpich", 2)) == "hsn1 is on order"
    assert [disabled_reason(system, TestId(*cell)) for cell in (("hsn", "mpich", 1), ("eth", "mpich", 2))] == [
        None,
        None,
    ]
    cells = {(c.test.fabric, c.test.stack, c.test.rails): c for c in matrix(system, (UNIBAND,))}
    assert cells["hsn", "mpich", 2] == Cell(
        TestId("hsn", "mpich", 2, "imb/Uniband", "ImbUniband", "striping"), "hsn1 is on order", disabled=True
    )
    assert why_not(system, "hsn", "mpich", 2, UNIBAND) is None
    # A cell that cannot run has its own reason, not the site's.
    assert not cells["hsn", "openmpi", 2].disabled
    assert cells["hsn", "openmpi", 2].reason == why_not(system, "hsn", "openmpi", 2, UNIBAND)


def _cell_key(cell: Cell) -> tuple[str, str, int]:
    return cell.test.fabric, cell.test.stack, cell.test.rails


def test_one_benchmark_is_switched_off_and_so_is_what_no_reference_has_a_number_for(virtual: Site) -> None:
    entries = (
        DisabledCombination.model_validate({"benchmark": "imb/Allreduce", "reason": "no collectives"}),
        DisabledCombination(without_reference=True, reason="no figure"),
    )
    system = changed_system(virtual, disabled=entries)
    cells = matrix(system, (UNIBAND, ALLREDUCE, STREAM), lambda test: test.benchmark != "netpipe/stream")
    reasons = {cell.test.benchmark: cell.reason for cell in cells if _cell_key(cell) == ("eth", "openmpi", 1)}
    assert reasons["netpipe/stream"] == "no figure"
    reasons = {cell.test.benchmark: cell.reason for cell in cells if _cell_key(cell) == ("eth", "mpich", 1)}
    assert (reasons["imb/Uniband"], reasons["imb/Allreduce"]) == (None, "no collectives")


def test_the_first_entry_that_covers_a_combination_gives_the_reason(virtual: Site) -> None:
    entries = (DisabledCombination(stack="mpich", reason="licence"), DisabledCombination(reason="moving house"))
    system = changed_system(virtual, disabled=entries)
    assert disabled_reason(system, TestId("hsn", "mpich", 1)) == "licence"
    assert disabled_reason(system, TestId("hsn", "intelmpi", 1)) == "moving house"


# The virtual cluster


def test_33_cells_of_the_virtual_cluster_run_every_day(virtual: Site) -> None:
    known = problem_features(virtual.system)
    asked = tuple(need for need in needs(ROOT / "checks") if not need.feature or need.feature in known)
    cells = matrix(virtual.system, asked)
    # fabrics x stacks x rail counts x checks, none twice; Intel MPI has one rail policy in addition to its own
    assert {(c.test.fabric, c.test.stack, c.test.rails, c.test.policy) for c in cells if c.named} == {
        ("hsn", "intelmpi", 2, "nic-per-rank")
    }
    assert len(cells) == (2 * len(virtual.system.stacks) * 2 + 1) * len(asked)
    assert len(cells) == len({(c.test.fabric, c.test.stack, c.test.rails, c.named, c.test.check) for c in cells})
    everyday = [cell for cell in cells if cell.reason is None and not cell.extended]
    assert Counter((c.test.fabric, c.test.stack, c.test.rails) for c in everyday) == {
        ("hsn", "openmpi", 1): 3,
        ("hsn", "openmpi", 2): 3,
        ("hsn", "mpich", 1): 4,
        ("hsn", "mpich", 2): 4,
        ("hsn", "intelmpi", 1): 4,
        ("hsn", "intelmpi", 2): 4,
        ("eth", "openmpi", 1): 3,
        ("eth", "mpich", 1): 4,
        ("eth", "intelmpi", 1): 4,
    }
    reasons = {(c.test.fabric, c.test.stack, c.test.rails, c.test.check): c.reason for c in cells if not c.named}
    absent = {stack: entry.absent for stack, entry in virtual.system.stacks.items()}
    assert reasons["eth", "mpich", 2, "ImbUniband"] == "eth has 1 rail per node (eth0)"
    assert reasons["hsn", "openmpi", 1, "ImbUniband"] == absent["openmpi"]["imb"]
    assert reasons["hsn", "intelmpi", 2, "NetpipeStream"] == absent["intelmpi"]["netpipe"]
    assert reasons["eth", "mpich", 1, "OsuLatency"] == absent["mpich"]["osu"]
    assert not any(c.disabled for c in cells if not c.extended)


# ReFrame's features


def accepts_cell(system: System, fabric: str, stack: str, rails: int, need: Need) -> bool:
    """Return whether ReFrame accepts this cell, by the base check's requirements: +railsN +nodesN, and its terms."""
    return accepts_features(
        partition_features(system, fabric), environment_features(system, fabric, stack), rails, need
    )


def accepts_features(partition: list[str], environment: list[str], rails: int, need: Need) -> bool:
    """Return the same for the features of a partition and of an environment."""
    tools = [libraries.pair_feature(need.tool) if need.pair else need.tool]
    if need.starts_itself and rails == 1:
        tools.append(libraries.own_feature(need.tool))
    asked = f" +{need.feature}" if need.feature in (DEVICE_BUFFERS, SWITCH_GROUPS) else ""
    terms = [
        environment_terms(tool, rails, DEFAULT, need.pairs(rails), beside_default=True)[0] + asked for tool in tools
    ]
    place = {f"rails{rails}", f"nodes{need.nodes}", *(("first",) if need.within_node else ())}
    place |= {"cores"} if need.every_core else set()
    place |= {"has-gpus"} if need.gpus else set()
    there = place <= set(partition) and not (need.within_node and rails > 1)
    there = there and (not need.rails or rails in need.rails)  # no variant is made for another number
    there = there and (not need.kinds or not set(partition).isdisjoint(need.kinds))
    return there and any(_fits(term, set(environment)) for term in terms)


def _fits(term: str, features: set[str]) -> bool:
    wanted = {word[1:] for word in term.split() if word[0] == "+"}
    unwanted = {word[1:] for word in term.split() if word[0] == "-"}
    return wanted <= features and not unwanted & features


def test_features_are_what_a_partition_has_and_a_stack_can(virtual: Site) -> None:
    assert partition_features(virtual.system, "hsn") == [
        "tcp",
        "first",
        "rails1",
        "rails2",
        "nodes1",
        "nodes2",
        "nodes3",
        "nodes4",
    ]
    assert partition_features(virtual.system, "eth") == ["tcp", "rails1", "nodes1", "nodes2", "nodes3", "nodes4"]
    assert environment_features(virtual.system, "hsn", "mpich") == [
        "imb", "pairs", "sharing", "rails1", "rails2", "rails4", "single-1", "striping-2", "default-striping-2",
    ]  # fmt: skip
    assert environment_features(virtual.system, "hsn", "openmpi") == [
        "netpipe", "pairs", "sharing", "rails1", "rails2", "rails4", "rails8", "single-1", "striping-2",
        "default-striping-2",
    ]  # fmt: skip


def test_features_and_reasons_agree_on_every_cell_of_every_system() -> None:
    seen = 0
    asked = needs(ROOT / "checks")
    for system in load_systems(ROOT / "systems").values():
        for fabric in system.fabrics:
            partition = partition_features(system, fabric)
            for stack in system.stacks:
                environment = environment_features(system, fabric, stack)
                for rails, need in product(RAIL_COUNTS, asked):
                    runs = why_not(system, fabric, stack, rails, need) is None
                    assert accepts_features(partition, environment, rails, need) == runs, (
                        system.system,
                        fabric,
                        stack,
                        rails,
                    )
                    seen += 1
    assert seen >= 252


@pytest.fixture(scope="module")
def with_gpus(tmp_path_factory: pytest.TempPathFactory) -> System:
    path = tmp_path_factory.mktemp("systems") / "made.yaml"
    path.write_text(systems.GPUS, encoding="utf-8")
    return load_system(path)


def test_features_and_reasons_agree_where_nodes_have_gpus(with_gpus: System) -> None:
    device = [need for need in needs(ROOT / "checks") if need.feature == DEVICE_BUFFERS]
    runs = {
        (fabric, stack, rails, need.check)
        for fabric, stack, rails, need in product(with_gpus.fabrics, with_gpus.stacks, RAIL_COUNTS, device)
        if why_not(with_gpus, fabric, stack, rails, need) is None
    }
    for fabric, stack, rails, need in product(with_gpus.fabrics, with_gpus.stacks, RAIL_COUNTS, device):
        cell = (fabric, stack, rails, need.check)
        assert accepts_cell(with_gpus, fabric, stack, rails, need) == (cell in runs), cell
    assert {cell[:3] for cell in runs} == {
        ("ndr", "openmpi", 1), ("ndr", "openmpi", 2), ("ndr", "verbs", 1), ("ndr", "verbs", 2),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fabric", "stack", "reason"),
    [
        ("ndr", "mpich", "made states no device_buffers for mpich: set it if library and benchmarks use cuda or rocm"),
        ("eth", "openmpi", "openmpi on tcp: TCP does not reach the memory of GPUs: each message is copied through "
         "host memory, and the tests of host buffers measure that"),
    ],
)  # fmt: skip
def test_a_stack_without_messages_from_gpus_says_why(with_gpus: System, fabric: str, stack: str, reason: str) -> None:
    need = Need("DeviceBandwidth", "osu", "osu/osu_bw/device", 2, feature=DEVICE_BUFFERS)
    assert why_not(with_gpus, fabric, stack, 1, need) == reason


def test_a_rail_without_a_gpu_of_its_own_has_no_messages_from_gpus(with_gpus: System) -> None:
    assert with_gpus.gpus is not None
    lacking = with_gpus.gpus.model_copy(update={"nearest": {"mlx5_0": (0,)}})
    system = with_gpus.model_copy(update={"gpus": lacking})
    reason = "made states no GPU that is nearest to mlx5_1 (gpus: nearest)"
    assert device_reason(system, "ndr", "openmpi") == reason
    assert DEVICE_BUFFERS not in environment_features(system, "ndr", "openmpi")


def test_a_system_without_gpus_misses_no_test_of_them(with_gpus: System) -> None:
    asked = needs(ROOT / "checks")
    of_gpus = {need.check for need in asked if need.feature in (DEVICE_BUFFERS, GPUS, GPU_PAIRS)}
    assert len(of_gpus) == 14
    cells = matrix(with_gpus.model_copy(update={"gpus": None}), asked)
    assert not of_gpus & {cell.test.check for cell in cells}
    assert of_gpus <= {cell.test.check for cell in matrix(with_gpus, asked)}


@pytest.mark.parametrize(("changed", "pairs"), [({"nvlink": None}, False), ({"per_node": 1}, False), ({}, True)])
def test_copies_between_gpus_are_measured_where_nvlink_connects_them(
    with_gpus: System, changed: dict[str, int | None], pairs: bool
) -> None:
    assert with_gpus.gpus is not None
    system = with_gpus.model_copy(update={"gpus": with_gpus.gpus.model_copy(update=changed)})
    found = problem_features(system, {"nvbandwidth"})
    assert found == ((GPUS, GPU_PAIRS) if pairs else (GPUS,))


@pytest.mark.parametrize("rails", [1, 2])
@pytest.mark.parametrize("stack", ["openmpi", "mpich", "tcp", "libfabric"])
def test_features_and_reasons_agree_on_an_application_with_and_without_mpi(
    virtual: Site, stack: str, rails: int
) -> None:
    stated = {
        name: entry.model_copy(update={"benchmarks": {**entry.benchmarks, "gamess": "/opt/g"}})
        for name, entry in virtual.system.stacks.items()
        if name != "mpich"
    }
    gamess = Application(figure="(?P<seconds>[0-9]+)", success="done")
    system = changed_system(virtual, stacks={**virtual.system.stacks, **stated}, applications={"gamess": gamess})
    need = Need(
        "Installed", "gamess", "installed/gamess", 2, starts_itself=True, pair_a_rail=True, feature="app-gamess"
    )
    runs = why_not(system, "hsn", stack, rails, need) is None
    assert accepts_cell(system, "hsn", stack, rails, need) == runs
    assert runs == (stack == "openmpi" or (stack, rails) == ("tcp", 1))


@given(
    kind=st.sampled_from(("tcp", "ib", "roce", "opa", "slingshot", "efa")),
    rails=st.integers(1, 9),
    nodes=st.integers(1, 70),
    provider=st.sampled_from(("nodes", "host")),
    tools=st.sets(st.sampled_from(("imb", "netpipe", "osu"))),
    stack=st.sampled_from(sorted(model.STACKS)),
    asked=st.sampled_from(RAIL_COUNTS),
    span=st.sampled_from((1, 2, 4, 8, 16, 32, 64)),
)
def test_features_and_reasons_agree_whatever_the_system(
    kind: str, rails: int, nodes: int, provider: str, tools: set[str], stack: str, asked: int, span: int
) -> None:
    fabric = Fabric.model_validate(
        {
            "description": "x",
            "kind": kind,
            "link": "ib-edr",
            "rails": [{"device": f"dev{n}", "counters": "none"} for n in range(rails)],
        }
    )
    system = System.model_construct(
        system="x",
        provider=provider,
        nodes=Nodes.model_validate({"count": nodes}),
        fabrics={"fabric": fabric},
        stacks={stack: StackEntry.model_validate({"benchmarks": dict.fromkeys(tools, "bin")})},
        disabled=(),
    )
    need = Need("Check", "imb", "imb/Uniband", span)
    cell = next((c for c in matrix(system, (need,)) if c.test.rails == asked), None)
    reason = why_not(system, "fabric", stack, asked, need)
    assert accepts_cell(system, "fabric", stack, asked, need) == (reason is None)
    # The matrix ends at the largest number of rails of a fabric; beyond it nothing runs.
    assert reason is not None if cell is None else cell.reason == reason


def test_a_system_asks_for_problems_by_features_of_the_stacks_that_have_the_tool(virtual: Site) -> None:
    entry = virtual.system.stacks["openmpi"]
    with_npb = entry.model_copy(update={"benchmarks": {**entry.benchmarks, "npb": "/opt/npb/bin", "gamess": "/opt/g"}})
    gamess = Application(figure="(?P<seconds>[0-9]+)", success="done")
    system = changed_system(
        virtual,
        stacks={**virtual.system.stacks, "openmpi": with_npb},
        applications={"gamess": gamess},
        wrf_cases={"conus12km-v4": "/data"},
    )
    found = problem_features(system)
    assert found[:2] + found[-2:] == ("npb-S", "npb-W", "wrf-conus12km-v4", "app-gamess")
    assert {"npb-cg-S", "npb-cg-W", "npb-swept-W", "npb-lu-mz-W"} <= {*found}
    assert environment_features(system, "hsn", "openmpi")[:7] == [
        "gamess", "netpipe", "npb", "pairs", "sharing", "npb-S", "npb-W",
    ]  # fmt: skip
    assert "app-gamess" in environment_features(system, "hsn", "openmpi")
    assert "wrf-conus12km-v4" not in environment_features(system, "hsn", "openmpi")
    zones = entry.model_copy(update={"benchmarks": {"npb-mz": "/opt/npb-mz/bin"}})
    assert environment_features(changed_system(virtual, stacks={"openmpi": zones}), "hsn", "openmpi")[:3] == [
        "npb-mz", "npb-S", "npb-W",
    ]  # fmt: skip
    asked = (Need("A", "npb", "npb/CG/W", 2, feature="npb-cg-W"), Need("B", "npb", "npb/CG/C", 2, feature="npb-cg-C"))
    assert {cell.test.check for cell in matrix(system, asked)} == {"A"}
    # What the checks know without a system means all that a system states, and nothing if it states none.
    both = tuple(need for need in needs(ROOT / "checks") if need.check.startswith("Installed"))
    (stands,) = [need for need in both if need.check.startswith("Installed ")]
    swept = {(cell.test.check, cell.test.benchmark) for cell in matrix(system, both)} - {
        ("Installed %app=gamess", "installed/gamess")
    }
    assert swept == {
        (f"InstalledScaling %app=gamess %nodes={nodes}", f"installed/gamess/{nodes}-nodes")
        for nodes in (1, 2, 4, 8, 16, 32, 64)
    }
    cells = matrix(system, (stands,))
    assert {(cell.test.check, cell.test.benchmark) for cell in cells} == {("Installed %app=gamess", "installed/gamess")}
    assert {cell.test.stack for cell in cells if cell.reason is None} == {"openmpi"}
    assert "virtual states no gamess for mpich" in {cell.reason for cell in cells}
    assert matrix(virtual.system, (stands,)) == ()
