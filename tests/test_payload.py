"""The least payload of a run: by the printed rows, and for a collective by what no algorithm can avoid."""

from typing import Any

import pytest

from railyard.metrics import BENCHMARKS, Moved
from railyard.parsers.parsed import Table
from railyard.payload import LEAST_VECTORS, least_moved


def table(
    benchmark: str, rows: tuple[tuple[Any, ...], ...], columns: tuple[str, ...] = ("size", "repetitions")
) -> Table:
    return Table("imb", "2021.11", benchmark, columns, tuple(None for _ in columns), rows, 1, True)


ROWS = ((1024, 10), (4096, 5))


@pytest.mark.parametrize(
    ("key", "window", "moved"),
    [
        ("imb/PingPong", None, Moved(30_720, 30_720)),
        ("imb/Uniband", 4, Moved(4 * 30_720, 0)),
        ("imb/Biband", 4, Moved(4 * 30_720, 4 * 30_720)),
        ("imb/Allreduce", None, Moved(30_720, 30_720)),
    ],
)
def test_the_least_payload_of_the_first_node(key: str, window: int | None, moved: Moved) -> None:
    assert least_moved(table(key.partition("/")[2], ROWS), key, window) == moved


def test_a_window_that_is_not_given_is_the_tools_own() -> None:
    assert least_moved(table("Uniband", ROWS), "imb/Uniband", None) == Moved(256 * 30_720, 0)


def test_a_collective_without_a_known_bound_proves_nothing() -> None:
    assert least_moved(table("Alltoall", ROWS), "imb/Alltoall", None) == Moved(0, 0)


@pytest.mark.parametrize("columns", [("size",), ("repetitions",)])
@pytest.mark.parametrize("key", ["imb/Allreduce", "imb/PingPong"])
def test_rows_without_size_or_repetitions_prove_nothing(key: str, columns: tuple[str, ...]) -> None:
    assert least_moved(table(key.partition("/")[2], ((1024,),), columns), key, None) == Moved(0, 0)


@pytest.mark.parametrize("row", [(None, 10), (1024, None), (1024, 2.5)])
def test_a_cell_that_is_no_count_adds_nothing(row: tuple[Any, ...]) -> None:
    assert least_moved(table("Allreduce", (row, (1024, 10))), "imb/Allreduce", None) == Moved(10_240, 10_240)


def test_no_rows_moved_nothing() -> None:
    assert least_moved(table("Allreduce", ()), "imb/Allreduce", None) == Moved(0, 0)
    assert least_moved(table("PingPong", ()), "imb/PingPong", None) == Moved(0, 0)


def test_every_bound_is_of_a_collective_that_is_known() -> None:
    assert [key for key in LEAST_VECTORS if BENCHMARKS[key].traffic is not None] == []
