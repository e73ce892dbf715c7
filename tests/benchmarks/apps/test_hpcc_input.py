"""hpccinf.txt: small for parts that only compute, an accepted transposition, and its five extra lines."""

import pytest

from railyard.benchmarks.apps.hpl import HPCC_BLOCK, hpcc_text, orders


@pytest.mark.parametrize(
    ("ranks", "found"),
    [(2, (160, 1408)), (4, (256, 1984)), (7, (320, 2624)), (64, (1024, 8000)), (4096, (8192, 64000))],
)
def test_the_orders_grow_with_the_root_of_the_ranks(ranks: int, found: tuple[int, int]) -> None:
    assert orders(ranks) == found


@pytest.mark.parametrize("ranks", [*range(1, 140), 1021, 4096, 9973])
def test_every_number_of_ranks_has_a_transposition_that_is_taken(ranks: int) -> None:
    computed, transposed = orders(ranks)
    assert (computed % HPCC_BLOCK, transposed % HPCC_BLOCK) == (0, 0)
    assert 0 < 8 * computed**2 <= (128 << 10) * ranks
    # io.c of HPC Challenge 1.5.0 skips every other line
    assert transposed >= 0.9486 * computed * 0.5


def test_the_file_is_hpls_and_five_lines_of_ptrans() -> None:
    lines = hpcc_text(8).splitlines()
    assert [line.split()[0] for line in lines[4:12]] == ["1", "352", "1", "32", "0", "1", "2", "4"]
    assert len(lines) == 31 + 5
    assert [line.split()[0] for line in lines[31:]] == ["-", "1", "2816", "0", "32"]
    assert max(map(len, lines)) < 80  # its buffer for a line
