"""The least payload of a run: from the printed rows, and for a collective what no algorithm can avoid."""

from dataclasses import replace
from typing import Any

import pytest

from railyard.benchmarks.moved_bytes import (
    MovedBytes,
    Repetitions,
    is_mirrored,
    least_moved,
    parts_of_a_vector,
    table_payload,
)
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.parsers.output import Table


def table(
    benchmark: str, rows: tuple[tuple[Any, ...], ...], columns: tuple[str, ...] = ("size", "repetitions")
) -> Table:
    return Table("imb", "2021.11", benchmark, columns, tuple(None for _ in columns), rows, 1, True)


ROWS = ((1024, 10), (4096, 5))


@pytest.mark.parametrize(
    ("key", "window", "moved"),
    [
        # IMB makes the printed repetitions twice: untimed, then timed.
        ("imb/PingPong", None, MovedBytes(2 * 30_720, 2 * 30_720)),
        ("imb/Uniband", 4, MovedBytes(8 * 30_720, 0)),
        ("imb/Biband", 4, MovedBytes(8 * 30_720, 8 * 30_720)),
        ("imb/Allreduce", None, MovedBytes(30_720, 30_720)),
    ],
)
def test_the_least_payload_of_the_first_node(key: str, window: int | None, moved: MovedBytes) -> None:
    assert least_moved(table(key.partition("/")[2], ROWS), key, window) == moved


def test_of_other_releases_of_imb_only_the_timed_repetitions_are_sure() -> None:
    assert least_moved(replace(table("PingPong", ROWS), version="2019.6"), "imb/PingPong", None) == MovedBytes(
        30_720, 30_720
    )


def test_a_window_that_is_not_given_is_the_tools_own() -> None:
    assert least_moved(table("Uniband", ROWS), "imb/Uniband", None) == MovedBytes(2 * 256 * 30_720, 0)


def test_a_collective_without_a_known_bound_proves_nothing() -> None:
    assert least_moved(table("Gather", ROWS), "imb/Gather", None) == MovedBytes(0, 0)


TOLD = Repetitions(2, 1)


@pytest.mark.parametrize(
    ("key", "nodes", "ranks", "moved"),
    [
        ("osu/osu_allreduce", 4, 1, MovedBytes(8000, 8000)),
        ("osu/osu_alltoall", 4, 1, MovedBytes(24_000, 24_000)),
        ("osu/osu_alltoallv", 2, 3, MovedBytes(72_000, 72_000)),
        ("osu/osu_allgather", 4, 1, MovedBytes(8000, 24_000)),
        ("osu/osu_allgather", 2, 3, MovedBytes(24_000, 24_000)),
        ("osu/osu_bcast", 4, 1, MovedBytes(8000, 0)),
        ("osu/osu_reduce", 4, 1, MovedBytes(0, 8000)),
        ("osu/osu_reduce_scatter", 4, 1, MovedBytes(6000, 2000)),
    ],
)
def test_the_least_of_a_collective_over_all_nodes(key: str, nodes: int, ranks: int, moved: MovedBytes) -> None:
    found = replace(table(key.removeprefix("osu/"), ((4000,),), ("size",)), tool="osu")
    assert least_moved(found, key, None, TOLD, nodes, ranks) == moved


def test_several_pairs_of_nodes_share_the_pairs_of_ranks() -> None:
    found = replace(table("osu_mbw_mr", ((4000,),), ("size",)), tool="osu", context={"pairs": 6})
    assert least_moved(found, "osu/osu_mbw_mr", 8, TOLD, nodes=4, ranks_per_node=3) == MovedBytes(3 * 8 * 12_000, 0)
    assert least_moved(found, "osu/osu_mbw_mr", 8, TOLD, nodes=2, ranks_per_node=6) == MovedBytes(6 * 8 * 12_000, 0)


@pytest.mark.parametrize(
    ("key", "moved"),
    [
        # Two measured messages of 4000 B, and one to warm up.
        ("osu/osu_multi_lat", MovedBytes(12_000, 12_000)),
        ("osu/osu_put_latency", MovedBytes(12_000, 0)),
        ("osu/osu_get_latency", MovedBytes(0, 12_000)),
        ("osu/osu_put_bw", MovedBytes(96_000, 0)),
        ("osu/osu_get_bw", MovedBytes(0, 96_000)),
    ],
)
def test_a_put_goes_one_way_and_a_get_the_other(key: str, moved: MovedBytes) -> None:
    found = replace(table(key.removeprefix("osu/"), ((4000,),), ("size",)), tool="osu")
    assert least_moved(found, key, 8, TOLD) == moved


@pytest.mark.parametrize(
    ("key", "nodes", "mirrored"),
    [
        ("osu/osu_bw", 2, [False, True]),
        ("osu/osu_mbw_mr", 4, [False, False, True, True]),
        ("osu/osu_bw", 1, [False]),
        ("osu/osu_bcast", 4, [False, True, True, True]),
        ("osu/osu_reduce", 2, [False, True]),
        ("osu/osu_allgather", 4, [False] * 4),
        ("imb/Gather", 4, [False] * 4),
    ],
)
def test_which_nodes_are_the_other_side(key: str, nodes: int, mirrored: list[bool]) -> None:
    assert [is_mirrored(key, node, nodes) for node in range(nodes)] == mirrored


@pytest.mark.parametrize(
    ("key", "parts"),
    [("osu/osu_alltoall", 1), ("osu/osu_allgather", 1), ("osu/osu_bcast", 4), ("imb/Gather", 4), ("osu/osu_bw", 1)],
)
def test_into_how_many_messages_a_vector_may_be_cut(key: str, parts: int) -> None:
    assert parts_of_a_vector(key, 4) == parts


@pytest.mark.parametrize("columns", [("size",), ("repetitions",)])
@pytest.mark.parametrize("key", ["imb/Allreduce", "imb/PingPong"])
def test_rows_without_size_or_repetitions_prove_nothing(key: str, columns: tuple[str, ...]) -> None:
    assert least_moved(table(key.partition("/")[2], ((1024,),), columns), key, None) == MovedBytes(0, 0)


@pytest.mark.parametrize("row", [(None, 10), (1024, None), (1024, 2.5)])
def test_a_cell_that_is_no_count_adds_nothing(row: tuple[Any, ...]) -> None:
    assert least_moved(table("Allreduce", (row, (1024, 10))), "imb/Allreduce", None) == MovedBytes(10_240, 10_240)


def test_no_rows_moved_nothing() -> None:
    assert least_moved(table("Allreduce", ()), "imb/Allreduce", None) == MovedBytes(0, 0)
    assert least_moved(table("PingPong", ()), "imb/PingPong", None) == MovedBytes(0, 0)


def test_every_bound_is_of_a_collective_that_is_known() -> None:
    assert [key for key, each in BENCHMARKS.items() if each.least is not None and each.traffic is not None] == []


TWO_LAUNCHES = Repetitions(6, 1, Repetitions(100, 10), 1024)


def test_each_size_has_the_repetitions_of_its_launch() -> None:
    assert [TWO_LAUNCHES.of_size(size).measured for size in (1, 1024, 1025, None)] == [100, 100, 6, 6]
    assert TOLD.of_size(1) is TOLD
    rows = ((1024, 1.0), (4096, 1.0))
    of_osu = replace(table("osu_bw", rows, ("size", "bandwidth")), tool="osu")
    assert least_moved(of_osu, "osu/osu_bw", 1, TWO_LAUNCHES) == MovedBytes(110 * 1024 + 7 * 4096, 0)
    both = table_payload(of_osu, "osu/osu_bw", 1, TWO_LAUNCHES)
    assert both is not None and both[1] == MovedBytes(110 * 1024 + 7 * 4096, 0)
    of_osu = replace(of_osu, benchmark="osu_allreduce")
    moved = 100 * 1024 + 6 * 4096
    assert least_moved(of_osu, "osu/osu_allreduce", 1, TWO_LAUNCHES, nodes=4) == MovedBytes(moved, moved)
