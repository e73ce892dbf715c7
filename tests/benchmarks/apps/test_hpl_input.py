"""HPL's problem: which bound decides N, the grid, and what is refused."""

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.hpl import Machine, Problem, grid, order_by_memory, order_by_time, problem, text

GIB = 1 << 30
#: Two nodes of 32 ranks and 192 GiB each, with 2 Tflop/s expected.
TWO = Machine(2, 32, 192 * GIB, 2000.0)


@pytest.mark.parametrize(
    ("ranks", "shape"),
    [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (12, (3, 4)), (64, (8, 8)), (80, (8, 10)), (7, (1, 7))],
)
def test_the_grid_is_as_square_as_can_be_with_the_longer_side_along_rows(ranks: int, shape: tuple[int, int]) -> None:
    assert grid(ranks) == shape


def test_the_matrix_takes_its_share_of_memory_and_no_more() -> None:
    order = order_by_memory(TWO, 192)
    whole = 0.9 * 2 * 192 * GIB
    assert order % 192 == 0
    assert 8 * order**2 <= whole < 8 * (order + 192) ** 2


def test_the_order_by_time_takes_the_time() -> None:
    order = order_by_time(TWO, 192, 60.0)
    assert order % 192 == 0
    assert 2 / 3 * order**3 / 2e12 <= 60 < 2 / 3 * (order + 192) ** 3 / 2e12


def test_the_smaller_order_counts_and_the_sentence_says_which() -> None:
    short, long = problem(TWO, budget_s=60), problem(TWO, budget_s=36_000)
    by_time, by_memory = order_by_time(TWO, 192, 60), order_by_memory(TWO, 192)
    assert (short.order, short.bound, long.order, long.bound) == (by_time, "time", by_memory, "memory")
    assert short.sentence == (
        f"N {by_time} by a time budget of 60.00 s at 2000 Gflop/s (the memory would allow {by_memory}), "
        "on a grid of 8x8, NB 192"
    )
    assert long.sentence == (
        f"N {by_memory} by 90.0 % of the memory (the time would allow {order_by_time(TWO, 192, 36_000)}), "
        "on a grid of 8x8, NB 192"
    )


def test_what_is_asked_for_is_taken() -> None:
    made = problem(TWO, budget_s=60, order=10_000, shape=(4, 16), block=256)
    assert made == Problem(10_000, 256, 4, 16, "asked", "N 10000 as asked, on a grid of 4x16, NB 256")
    assert made.flop == pytest.approx(2 / 3 * 1e12 + 1.5e8)


def test_a_tiny_machine_still_has_one_block() -> None:
    assert problem(Machine(1, 1, 1 << 10, 1e-6), budget_s=1e-6, block=8).order == 8


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"order": 300_000},
            "HPL: found N 300000, whose matrix takes 335.3 GiB of each of 2 nodes, expected at most 192.0 GiB "
            "(N 227023); take a smaller N or more nodes",
        ),
        (
            {"shape": (4, 15)},
            "HPL: found a grid of 4x15, which is 60 processes, expected 64 (2 nodes of 32 ranks), such as 8x8",
        ),
        ({"share": 90.0}, "HPL: found a memory share of 90, expected more than 0 and at most 1 (90 % is 0.9)"),
        ({"share": 0.0}, "HPL: found a memory share of 0, expected more than 0 and at most 1 (90 % is 0.9)"),
        ({"block": 0}, "HPL: found a block (NB) of 0, expected at least 1"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, object], sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        problem(TWO, budget_s=60, **asked)  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_the_file_has_hpls_31_lines_in_hpls_order() -> None:
    lines = text(problem(TWO, budget_s=60, order=4608, shape=(2, 32))).splitlines()
    assert len(lines) == 31
    values = [line.split()[0] for line in lines[3:]]
    assert values == (
        "6 1 4608 1 192 0 1 2 32 16.0 1 2 1 4 1 2 1 1 1 1 1 1 2 64 0 0 1 8".split()
    )  # device, Ns, NBs, PMAP, grids, Ps, Qs, threshold, PFACTs, NBMINs, NDIVs, RFACTs, BCASTs, DEPTHs, SWAP …
