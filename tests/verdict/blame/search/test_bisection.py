"""Half against half: the shifts."""

import pytest

from railyard.verdict.blame.search.model import shifts


def test_shifts_of_six_and_of_seven_nodes() -> None:
    expected = (((0, 3), (1, 4), (2, 5)), ((0, 4), (1, 5), (2, 3)), ((0, 5), (1, 3), (2, 4)))
    assert shifts(6) == expected
    assert shifts(7) == expected


def test_every_pair_across_the_middle_comes_once() -> None:
    pairs = [pair for each in shifts(32) for pair in each]
    assert sorted(pairs) == [(a, b) for a in range(16) for b in range(16, 32)]


def test_some_shifts_are_evenly_spread() -> None:
    assert [each[0][1] - 16 for each in shifts(32, 4)] == [0, 4, 8, 12]
    assert len(shifts(32, 99)) == 16


@pytest.mark.parametrize(
    ("nodes", "count", "message"), [(1, None, "1 nodes have no two halves"), (8, 0, "0 shifts: at least 1")]
)
def test_what_cannot_be(nodes: int, count: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        shifts(nodes, count)
