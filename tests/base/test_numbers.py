"""Powers of two up to a number."""

import pytest

from railyard.base.numbers import powers_of_two


@pytest.mark.parametrize(
    ("most", "powers"),
    [(0, ()), (1, (1,)), (2, (1, 2)), (4, (1, 2, 4)), (6, (1, 2, 4)), (64, (1, 2, 4, 8, 16, 32, 64))],
)
def test_powers_of_two_end_at_the_number(most: int, powers: tuple[int, ...]) -> None:
    assert powers_of_two(most) == powers
