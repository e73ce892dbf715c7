"""What must leave or enter a node in a collective, and how much of its time a mean over ranks shows."""

import pytest

from railyard.benchmarks.model import LeastVector
from railyard.benchmarks.moved_bytes import Crossing, crossing
from railyard.benchmarks.table import collective as table


@pytest.mark.parametrize(
    ("least", "nodes", "ranks", "expected"),
    [
        (table.ALLREDUCE, 2, 1, Crossing(1, 1)),
        (table.ALLREDUCE, 64, 8, Crossing(1, 1)),  # a switch may add up, so no more is certain
        (table.ALLGATHER, 4, 2, Crossing(6, 1)),  # the vectors of six other ranks
        (table.ALLTOALL, 2, 1, Crossing(1, 1)),
        (table.ALLTOALL, 2, 4, Crossing(16, 5 / 8)),  # 4 ranks to 4 others; if served in turn, they end at 1/4 ... 4/4
        (table.REDUCE_SCATTER, 2, 1, Crossing(0.5, 1)),  # half of the vector belongs to the other
        (table.REDUCE_SCATTER, 4, 1, Crossing(0.75, 1)),
        (table.BCAST, 4, 2, Crossing(1, 1 / 8)),
        (table.REDUCE, 2, 1, Crossing(1, 1 / 2)),
    ],
)
def test_what_crosses_and_who_waits(least: LeastVector, nodes: int, ranks: int, expected: Crossing) -> None:
    assert crossing(least, nodes, ranks) == expected


def test_of_an_unknown_number_of_ranks_the_least_is_taken() -> None:
    assert crossing(table.ALLREDUCE, None, None) == Crossing(1, 1)
    assert crossing(table.ALLTOALL, None, None) == Crossing(1, 1)
    found = crossing(table.REDUCE_SCATTER, None, None)
    assert found is not None and found.times * found.waiting == pytest.approx(0.25, abs=0.001)


def test_where_nothing_is_known_to_cross_or_to_be_waited_for() -> None:
    assert crossing(table.ALLREDUCE, 1, 8) is None
    assert crossing(table.BCAST, None, 1) is None
    assert crossing(table.REDUCE, 2, None) is None
