"""Settings of nccl-tests: sizes, iterations, groups, and on which systems its checks run."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from railyard.benchmarks.table.nccl import PARTS, collective_of, part_of
from railyard.rfm.checks.catalogue import needs
from railyard.rfm.checks.gpu import NcclCheck
from railyard.site.matrix import Cell, matrix, partition_features
from railyard.site.site import Site
from tests.conftest import ROOT
from tests.made.nccl import gpu_site


def nccl_check(benchmark: str = "all_reduce_perf", **changes: Any) -> Any:
    told: dict[str, Any] = {"smallest": 1 << 20, "largest": 1 << 22, "num_nodes": 4, "ranks_per_node": 8}
    told |= {"repetitions": 20, "warm_up": 5, "check_data": True, "benchmark": benchmark, "key": f"nccl/{benchmark}"}
    return SimpleNamespace(**told | {"program": benchmark.partition("/")[0], **changes})


def property_of(check: Any, name: str) -> Any:
    return vars(NcclCheck)[name].fget(check)


def test_it_is_told_every_power_of_two_one_gpu_a_process_and_how_often() -> None:
    words = " ".join(NcclCheck.arguments(nccl_check(), property_of(nccl_check(), "message_sizes")))
    assert words == "-b 1048576 -e 4194304 -f 2 -t 1 -g 1 -n 20 -w 5 -c 1"
    of_rails = NcclCheck.arguments(nccl_check("all_reduce_perf/rails"), property_of(nccl_check(), "message_sizes"))
    assert " ".join(of_rails) == f"{words} -a 3", "a mean over eight groups hides a slow one"
    assert property_of(nccl_check(), "message_sizes") == (1 << 20, 1 << 21, 1 << 22)
    assert property_of(nccl_check(), "programs") == ("all_reduce_perf", "all_reduce_perf_mpi")


@pytest.mark.parametrize(
    ("benchmark", "ranks", "variables"),
    [
        ("all_reduce_perf", 8, {}),
        ("all_reduce_perf/rails", 8, {"NCCL_TESTS_SPLIT": "MOD 8"}),
        ("all_reduce_perf/rails", 4, {"NCCL_TESTS_SPLIT": "MOD 4"}),
        ("all_reduce_perf/over-nics", 8, {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}),
        ("all_reduce_perf/one-node", 8, {}),
    ],
)
def test_each_part_is_told_by_variables(benchmark: str, ranks: int, variables: dict[str, str]) -> None:
    assert property_of(nccl_check(benchmark, ranks_per_node=ranks), "told_ranks") == variables


@pytest.mark.parametrize(
    ("benchmark", "nodes", "is_asked"),
    [
        ("all_reduce_perf", 3, True),
        ("all_gather_perf", 4, True),
        # 24 ranks cannot share a power of two in parts of 16 B
        ("all_gather_perf", 3, False),
        ("sendrecv_perf/two-nodes", 3, True),
    ],
)
def test_sizes_that_ranks_cannot_share_are_the_parsers_to_compare(benchmark: str, nodes: int, is_asked: bool) -> None:
    check = nccl_check(benchmark, num_nodes=nodes)
    check.message_sizes = property_of(check, "message_sizes")
    assert property_of(check, "asked_sizes") == (check.message_sizes if is_asked else ())


@pytest.mark.parametrize(("benchmark", "gpus", "ranks"), [("all_reduce_perf", 4, 4), ("all_reduce_perf/one-gpu", 4, 1)])
def test_a_node_has_a_process_for_each_gpu_that_takes_part(benchmark: str, gpus: int, ranks: int) -> None:
    check = nccl_check(benchmark, site=SimpleNamespace(system=SimpleNamespace(gpus=SimpleNamespace(per_node=gpus))))
    NcclCheck.shape(check)
    assert check.ranks_per_node == ranks


def test_a_key_says_collective_and_part() -> None:
    assert [part_of(f"nccl/all_reduce_perf{f'/{name}' if name else ''}") for name in PARTS] == list(PARTS.values())
    assert collective_of("nccl/sendrecv_perf/two-nodes") == "sendrecv"
    assert collective_of("nccl/alltoallv_perf") is None


def ours(cells: tuple[Cell, ...]) -> list[Cell]:
    return [cell for cell in cells if cell.test.benchmark.startswith("nccl/")]


def test_a_system_with_gpus_has_them_with_the_library_alone(tmp_path: Path) -> None:
    system = gpu_site(tmp_path).system
    assert "has-gpus" in partition_features(system, "ndr")
    cells = ours(matrix(system, needs(ROOT / "checks")))
    running = [cell for cell in cells if cell.reason is None]
    assert {cell.test.stack for cell in running} == {"nccl"}
    daily = {(cell.test.check, cell.test.rails) for cell in running if not cell.extended}
    every = {("NcclAllReduce", rails) for rails in (1, 2, 4)} | {("NcclRails", rails) for rails in (1, 2, 4)}
    assert daily == every | {("NcclOneNode", 1)}
    reasons = Counter(cell.reason for cell in cells if cell.test.stack == "openmpi")
    assert set(reasons) == {
        "nccl does not measure openmpi but another library: its stack is nccl or rccl",
        "a pair within a node uses no network: it is measured once, with ndr and one rail",
    }


def test_a_system_without_gpus_has_none_and_says_why(virtual: Site) -> None:
    assert "has-gpus" not in partition_features(virtual.system, "hsn")
    assert {cell.reason for cell in ours(matrix(virtual.system, needs(ROOT / "checks")))} == {
        "virtual states no GPUs (gpus)"
    }
