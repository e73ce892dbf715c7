"""Which numbers of processes NPB's kernels get, and which classes do not fit into memory."""

import math

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.npb import (
    CLASSES,
    KERNELS,
    find,
    least_memory,
    ranks_per_node,
    refuse_too_large,
)
from railyard.benchmarks.table.micro import PACKAGES as TOOLS


def test_the_kernels_are_those_that_spack_builds() -> None:
    assert [f"{name}.*" for name in KERNELS] == list(TOOLS["npb"].executables)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("problem", CLASSES)
def test_every_class_has_a_size_and_runs_on_four_nodes_of_few_cores(name: str, problem: str) -> None:
    cores = 16 if (name, problem) == ("is", "E") else 1  # at least 64 processes
    assert len(KERNELS[name].sizes[problem]) == 3
    assert ranks_per_node(name, problem, 4, cores) == cores


def test_classes_grow() -> None:
    for kernel in KERNELS.values():
        points = [kernel.points(problem) for problem in CLASSES]
        assert points == sorted(points)


@pytest.mark.parametrize(
    ("name", "problem", "nodes", "cores", "each"),
    [
        ("bt", "C", 4, 32, 25),  # 100 is the largest square of 4 n up to 128
        ("sp", "C", 1, 32, 25),
        ("bt", "C", 2, 32, 32),  # 64
        ("cg", "C", 2, 24, 16),
        ("ft", "C", 4, 24, 16),
        ("ep", "C", 3, 24, 24),
        ("lu", "S", 4, 8, 1),  # parts of at least four points along a plane of twelve
        ("lu", "W", 4, 32, 16),
        ("bt", "S", 4, 8, 4),  # 16 is (12 / 3) squared
        ("ft", "W", 4, 32, 8),  # 32 planes
        ("is", "C", 32, 64, 32),  # 1024 is the most that its authors verified
        ("is", "S", 4, 64, 32),  # 128 in class S
        ("is", "E", 4, 20, 16),
        ("ep", "S", 4, 96, 64),  # 256 batches
    ],
)
def test_the_most_ranks_that_a_kernel_takes_are_chosen(
    name: str, problem: str, nodes: int, cores: int, each: int
) -> None:
    found = ranks_per_node(name, problem, nodes, cores)
    assert found == each
    assert KERNELS[name].fits(found * nodes)


def test_where_no_number_will_do_the_sentence_says_so() -> None:
    with pytest.raises(RailyardError) as caught:
        ranks_per_node("bt", "W", 2, 1)
    assert str(caught.value) == (
        "NPB: found no number of ranks for bt of class W on 2 nodes of 1 cores, expected a square number of at most 64 "
        "in all; take other nodes or another class"
    )
    with pytest.raises(RailyardError) as caught:
        ranks_per_node("cg", "F", 2, 1)
    assert str(caught.value) == 'NPB: found the class "F", expected one of S, W, A, B, C, D, E'


def test_a_kernel_that_is_none_is_named_with_the_nearest() -> None:
    with pytest.raises(RailyardError) as caught:
        find("cgg")
    assert str(caught.value) == 'NPB: found the kernel "cgg": did you mean "cg"?'


def test_a_class_that_no_memory_holds_is_refused() -> None:
    assert least_memory("ft", "D") == 56 * 2048 * 1024 * 1024
    refuse_too_large("ft", "D", 4, 28 << 30)
    with pytest.raises(RailyardError) as caught:
        refuse_too_large("ft", "D", 4, 27 << 30)
    assert str(caught.value) == (
        "NPB: found class D of ft, whose arrays take at least 112.0 GiB, expected at most 108.0 GiB, the memory of "
        "4 nodes; take a smaller class"
    )
    assert least_memory("ep", "E") == 0


def test_points_are_products() -> None:
    assert KERNELS["ft"].points("W") == math.prod((128, 128, 32))
