"""The shift between two sets of repeats: estimate, exact interval, bootstrap, and when there are too few."""

import itertools
import math
import random

import pytest
from scipy.stats import mannwhitneyu

from railyard.results.shift import arrangements, fewest, interval_rank, shift

# Permeability of human chorioamnion, at term and at 12 to 26 weeks: the example of Hollander and Wolfe, section 4.1.
TERM = (0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46)
EARLY = (1.15, 0.88, 0.90, 0.74, 1.21)


def test_the_example_of_the_book() -> None:
    found = shift(TERM, EARLY)
    assert (round(found.value, 6), round(found.low or 0, 6), round(found.high or 0, 6)) == (-0.305, -0.76, 0.15)
    assert (found.method, found.repeats, found.is_shown) == ("exact", (10, 5), False)
    assert round(found.smallest or 0, 6) == 0.455
    assert found.least_distance == 0.0


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3), (4, 4), (3, 6)])
def test_arrangements_are_those_that_can_be_counted(first: int, second: int) -> None:
    counted = [0] * (first * second + 1)
    for chosen in itertools.combinations(range(first + second), first):
        counted[sum(value - index for index, value in enumerate(chosen))] += 1
    assert arrangements(first, second) == counted
    assert sum(counted) == math.comb(first + second, first)


@pytest.mark.parametrize(("first", "second"), [(4, 4), (3, 5), (5, 6), (8, 4)])
def test_the_interval_holds_what_the_exact_test_does_not_refuse(first: int, second: int) -> None:
    draw = random.Random(first * 10 + second)
    a = [draw.gauss(100, 3) for _ in range(first)]
    b = [draw.gauss(102, 3) for _ in range(second)]
    found = shift(a, b)
    assert found.low is not None and found.high is not None
    for edge, outward in ((found.low, -1e-9), (found.high, 1e-9)):
        inside = mannwhitneyu([value - (edge - outward) for value in b], a, method="exact").pvalue
        outside = mannwhitneyu([value - (edge + outward) for value in b], a, method="exact").pvalue
        assert outside <= 0.05 < inside


@pytest.mark.parametrize(
    ("first", "second", "rank"),
    [(1, 1, 0), (3, 3, 0), (4, 4, 1), (3, 5, 1), (2, 7, 0), (2, 8, 1), (5, 5, 3), (1, 38, 0), (1, 39, 1)],
)
def test_too_few_repeats_have_no_interval(first: int, second: int, rank: int) -> None:
    assert interval_rank(first, second) == interval_rank(second, first) == rank
    found = shift([100.0 + index for index in range(first)], [200.0 + index for index in range(second)])
    assert found.has_interval is (rank > 0)


def test_four_repeats_a_side_are_the_fewest() -> None:
    assert fewest() == 4


def test_ten_a_side_are_bootstrapped_and_say_the_same_again() -> None:
    draw = random.Random(5)
    a = [draw.gauss(100, 1) for _ in range(12)]
    b = [draw.gauss(95, 4) for _ in range(11)]
    found = shift(a, b)
    assert found.method == "bootstrap"
    assert found == shift(a, b)
    assert found.low is not None and found.high is not None
    assert found.low < found.value < found.high < 0
    assert -9 < found.low and found.high < -1


def test_values_that_are_all_alike_fall_back_to_the_exact_interval() -> None:
    found = shift([7.0] * 10, [7.0] * 10)
    assert (found.method, found.value, found.low, found.high) == ("exact", 0.0, 0.0, 0.0)
    assert not found.is_shown


def test_moving_one_side_moves_estimate_and_interval_by_as_much() -> None:
    a, b = (1.0, 4.0, 2.0, 8.0), (3.0, 9.0, 5.0, 6.0)
    here, there = shift(a, b), shift(a, [value + 16 for value in b])
    assert (there.value, there.low, there.high) == (here.value + 16, (here.low or 0) + 16, (here.high or 0) + 16)


def test_a_side_without_values_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^found 0 and 1 values, expected at least one on each side$"):
        shift([], [1.0])


def test_a_median_of_zero_gives_no_per_cent() -> None:
    assert shift([0.0], [1.0]).percent(1.0) is None
    assert shift([50.0], [49.0]).percent(-1.0) == -2.0


def test_the_interval_holds_the_true_shift_as_often_as_it_says() -> None:
    draw = random.Random(11)
    misses = 0
    for _ in range(2000):
        a = [draw.gauss(0, 1) for _ in range(5)]
        b = [draw.gauss(3, 1) for _ in range(5)]
        found = shift(a, b)
        misses += not (found.low or 0) <= 3 <= (found.high or 0)
    assert 30 < misses < 97  # 5 against 5: 3.2 % by theory, 64 of 2,000, give or take four standard errors


def test_the_smallest_that_could_have_been_seen_is_the_longer_half() -> None:
    found = shift((0.0, 0.0, 0.0, 0.0), (1.0, 2.0, 3.0, 10.0))
    assert (found.value, found.low, found.high, found.smallest) == (2.5, 1.0, 10.0, 7.5)
    assert found.least_distance == 1.0
