"""Which message sizes a check measures."""

import pytest

from railyard.site.systems.measure import FULL_SIZES, QUICK_SIZES, sizes_within


@pytest.mark.parametrize(
    ("smallest", "largest", "sizes", "expected"),
    [
        (4, 300, QUICK_SIZES, (4, 16, 64, 256)),
        (64, 256, FULL_SIZES, (64, 128, 256)),
        # the only large message of a check, on a system that sends none of this size
        (4 << 20, 1 << 20, QUICK_SIZES, (1 << 20,)),
        (4 << 20, 3 << 20, FULL_SIZES, (2 << 20,)),
        (4, 3, QUICK_SIZES, (1,)),
    ],
)
def test_a_check_measures_the_sizes_that_are_allowed_and_at_least_one(
    smallest: int, largest: int, sizes: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert sizes_within(smallest, largest, sizes) == expected
