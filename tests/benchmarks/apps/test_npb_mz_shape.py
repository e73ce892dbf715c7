"""Which ranks and threads NPB-MZ's kernels get, by nodes, cores and zones, and what is refused."""

import re
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.npb import (
    CLASSES,
    ZONE_KERNELS,
    Layout,
    layout,
    programs,
    ranks_of_threads,
    refuse_large_zones,
    zones,
)
from railyard.benchmarks.table.applications import ENTRIES
from railyard.parsers import npb


@pytest.mark.parametrize("name", ["bt-mz", "sp-mz"])
def test_zones_grow_with_the_class(name: str) -> None:
    assert [zones(name, problem) for problem in CLASSES] == [4, 16, 16, 64, 256, 1024, 4096]


def test_lu_mz_has_sixteen_zones_whatever_the_class() -> None:
    assert {zones("lu-mz", problem) for problem in CLASSES} == {16}


def test_genuine_outputs_name_the_same_zones(corpus: Path) -> None:
    seen = set()
    for file in ("npbmz331_spmz_hybrid_hwloc_warning.txt", "npbmz331_lu_eth_gfortran_431_one_done_then_cut.txt",
                 "npbmz331_sp_eth_gfortran_431_make_output.txt"):  # fmt: skip
        text = (corpus / "npb" / file).read_text(encoding="utf-8", errors="replace")
        printed = re.search(r"Number of zones: +([0-9]+) x +([0-9]+)", text)
        table = npb.parse(text).tables[0]
        assert printed is not None
        name, problem = str(table.benchmark).lower(), str(table.context["class"])
        assert zones(name, problem) == int(printed[1]) * int(printed[2])
        seen.add((name, problem))
    assert seen == {("sp-mz", "C"), ("lu-mz", "B"), ("sp-mz", "B")}


def test_every_kernel_and_class_is_in_the_table() -> None:
    keys = {entry.key for entry in ENTRIES}
    assert [key for name in ZONE_KERNELS for each in CLASSES if (key := f"npb/{name.upper()}/{each}") not in keys] == []


@pytest.mark.parametrize("name", ZONE_KERNELS)
@pytest.mark.parametrize("problem", CLASSES)
@pytest.mark.parametrize(("nodes", "cores"), [(1, 1), (2, 2), (3, 12), (4, 64), (64, 128), (5000, 48)])
def test_no_layout_has_more_ranks_than_zones_or_threads_than_cores(
    name: str, problem: str, nodes: int, cores: int
) -> None:
    found = layout(name, problem, nodes, cores)
    assert found.nodes == min(nodes, zones(name, problem))
    assert found.nodes * found.ranks_per_node <= zones(name, problem)
    assert found.ranks_per_node * found.threads == cores
    assert found.threads >= min(2, cores)


@pytest.mark.parametrize(
    ("name", "problem", "nodes", "cores", "asked", "expected"),
    [
        ("bt-mz", "W", 4, 1, {}, (4, 1, 1)),
        ("sp-mz", "C", 8, 64, {}, (8, 32, 2)),  # one zone per rank
        ("lu-mz", "C", 8, 64, {}, (8, 2, 32)),  # sixteen zones: the other cores are threads
        ("bt-mz", "C", 8, 32, {}, (8, 8, 4)),  # with more than 64 ranks, the widest zones alone take longer
        ("sp-mz", "S", 64, 32, {}, (4, 1, 32)),  # four zones: four nodes
        ("sp-mz", "C", 4, 64, {"threads": 16}, (4, 4, 16)),
        ("sp-mz", "C", 4, 64, {"threads": 24}, (4, 2, 24)),
        ("sp-mz", "C", 4, 64, {"threads": 1}, (4, 64, 1)),
        ("sp-mz", "C", 4, 64, {"ranks": 2}, (4, 2, 32)),
        ("sp-mz", "C", 4, 64, {"ranks": 3, "threads": 5}, (4, 3, 5)),
        ("lu-mz", "A", 8, 64, {"least": 4}, (4, 4, 16)),  # a NIC each
        ("bt-mz", "S", 4, 2, {"least": 2}, (2, 2, 1)),
    ],
)
def test_ranks_and_threads_are_chosen_or_asked_for(
    name: str, problem: str, nodes: int, cores: int, asked: dict[str, int], expected: tuple[int, int, int]
) -> None:
    assert layout(name, problem, nodes, cores, **asked) == Layout(*expected)


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"threads": 16},
        "NPB-MZ: found 1 rank of 16 threads on each node, 16 cores, expected at most 8, the cores of a node "
        "(nodes.hardware); take fewer (-S threads, -S ranks)",
    ),
    (
        {"ranks": 1, "threads": 9},
        "NPB-MZ: found 1 rank of 9 threads on each node, 9 cores, expected at most 8, the cores of a node "
        "(nodes.hardware); take fewer (-S threads, -S ranks)",
    ),
    (
        {"ranks": 2},
        "NPB-MZ: found 2 ranks on each of 4 nodes, 8 in all, expected at most 4, the zones of sp-mz of class S; take "
        "fewer (-S ranks) or a larger class",
    ),
    ({"threads": -1}, "NPB-MZ: found -S threads=-1, expected a number above 0, or 0 to have it chosen"),
    (
        {"least": 4},
        "NPB-MZ: found no place for 4 ranks of 1 thread on each of 2 nodes of 8 cores, expected at most 4 ranks in "
        "all, the zones of sp-mz of class S; take another class or fewer threads",
    ),
    (
        {"least": 2, "threads": 8},
        "NPB-MZ: found no place for 2 ranks of 8 threads on each of 2 nodes of 8 cores, expected at most 4 ranks in "
        "all, the zones of sp-mz of class S; take another class or fewer threads",
    ),
]


@pytest.mark.parametrize(("asked", "sentence"), REFUSED)
def test_what_fits_neither_cores_nor_zones_is_refused(asked: dict[str, int], sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        layout("sp-mz", "S", 4, 8, **asked)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("name", "problem", "sentence"),
    [
        ("spmz", "S", 'NPB-MZ: found the kernel "spmz": did you mean "sp-mz"?'),
        ("sp-mz", "F", 'NPB-MZ: found the class "F", expected one of S, W, A, B, C, D, E'),
    ],
)
def test_an_unknown_kernel_or_class_is_named(name: str, problem: str, sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        layout(name, problem, 2, 2)
    assert str(caught.value) == sentence


def test_a_class_that_no_memory_holds_is_refused() -> None:
    refuse_large_zones("sp-mz", "E", 4, 64 << 30)
    with pytest.raises(RailyardError) as caught:
        refuse_large_zones("sp-mz", "E", 4, 48 << 30)
    assert str(caught.value) == (
        "NPB: found class E of sp-mz, whose arrays take at least 220.1 GiB, expected at most 192.0 GiB, the memory of "
        "4 nodes; take a smaller class"
    )


def test_an_executable_is_named_as_either_release_does() -> None:
    assert programs("lu-mz", "C", 16) == ("lu-mz.C.x", "lu-mz.C.16")
    assert ranks_of_threads(1, 2) == "1 rank of 2 threads"
