"""Where a row of values changed its level: planted steps are found at their place, and noise alone is not a step."""

import math
from collections.abc import Callable

import pytest

from railyard.results.history import FEWEST, LEAST_RUNS, MOST_RUNS, steps

Row = Callable[..., list[float]]


def step_places(values: list[float]) -> list[int]:
    return [step.index for step in steps(values)]


@pytest.mark.parametrize("percent", [2, 5, 10])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_step_is_found_at_its_place_with_five_runs_after_it(row: Row, percent: int, sign: int) -> None:
    values = row(25) + row(5, 47.8 * (1 + sign * percent / 100), seed=2)
    assert step_places(values) == [25]
    (step,) = steps(values)
    assert 0 < step.p <= 0.001


def test_three_runs_after_a_step_do_not_tell_it_yet(row: Row) -> None:
    assert step_places(row(30) + row(3, 40.0, seed=2)) == []
    assert step_places(row(30) + row(5, 40.0, seed=2)) == [30]


def test_a_level_has_five_runs_or_more(row: Row) -> None:
    # it is not by chance that the four outliers are side by side, so they are reported, with one value from before
    assert FEWEST == 5
    assert step_places(row(30) + row(4, 40.0, seed=2)) == [29]


def test_two_levels_that_both_have_runs_far_off_are_two(row: Row) -> None:
    # a seventh of each level is a third below it, like the peak in both directions on one rail
    high = [value * (0.67 if run % 7 == 1 else 1) for run, value in enumerate(row(28))]
    low = [value * (0.67 if run % 7 == 2 else 1) for run, value in enumerate(row(28, 47.8 * 0.9, seed=2))]
    assert step_places(high) == []
    assert step_places(high + low) == [28]


def test_single_runs_that_are_far_off_are_no_level_and_hide_none(row: Row) -> None:
    values = row(30)
    values[7], values[21] = 45.0, 44.9  # 6 % off, like one run in sixteen on the virtual cluster
    assert step_places(values) == []
    assert step_places(values + row(6, 47.8 * 0.98, seed=2)) == [30]


def test_a_level_that_came_and_went_has_two_ends(row: Row) -> None:
    assert step_places(row(30) + row(8, 46.4, seed=2) + row(30, seed=3)) == [30, 38]


def test_several_steps_are_found_apart(row: Row) -> None:
    values = row(25) + row(20, 45.0, seed=2) + row(20, 42.0, seed=3) + row(20, 46.0, seed=4)
    assert step_places(values) == [25, 45, 65]


def test_a_figure_that_jumps_between_levels_has_no_change() -> None:
    # the peak of two rails in both directions: each run is on one of three levels
    values = [(94.5, 124.5, 182.0)[(index * index * 7 + index // 3) % 3] for index in range(40)]
    assert step_places(values) == []


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_no_change(row: Row, seed: int) -> None:
    assert step_places(row(60, seed=seed)) == []


def test_rounded_values_that_are_mostly_equal_show_a_step() -> None:
    values = [47.8] * 20 + [47.9] * 2 + [46.8] * 6
    assert step_places(values) == [22]
    assert step_places([47.8] * 30) == []


def test_values_of_any_size_and_sign_show_a_step() -> None:
    small = [1.0, 1.1, 0.9, 1.05, 0.95] * 5
    assert step_places([*small, *[100 * value for value in small]]) == [25]
    assert step_places([value - 1 for value in small] + [value + 4 for value in small]) == [25]


def test_too_few_runs_tell_nothing(row: Row) -> None:
    assert step_places([]) == []
    assert step_places([1.0]) == []
    assert LEAST_RUNS == 18
    assert step_places(row(10) + row(5, 20.0, seed=2)) == []
    assert step_places(row(20) + row(5, 20.0, seed=2)) == [20]


def test_only_the_newest_are_looked_at_and_indices_are_those_of_the_whole_row(row: Row) -> None:
    values = row(30) + row(MOST_RUNS - 10, 40.0, seed=2) + row(10, 44.0, seed=3)
    assert len(values) == MOST_RUNS + 30
    assert step_places(values) == [MOST_RUNS + 20]


def test_a_history_that_is_looked_at_again_says_the_same(row: Row) -> None:
    values = row(40) + row(9, 47.67, seed=5)
    (step,) = steps(values)
    assert 0.0002 < step.p <= 0.001  # other orders are equally clear: how many random ones depends on the seed
    assert steps(values) == (step,)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^a value that is not finite$"):
        steps([1.0, bad])


@pytest.mark.parametrize("drop", [0.02, 0.10, 0.40])
def test_a_fall_below_two_levels_that_were_always_there_is_told(drop: float) -> None:
    # Seen: a sixth of a stream's runs were 0.02 % below the others, which were within 0.003 % of each other. When
    # values were bounded by only that spread, a fall by 40 % was no farther off than these runs.
    before = [1.0 + run % 4 * 1e-5 - (2e-4 if run % 6 == 1 else 0) for run in range(30)]
    assert step_places(before) == []
    assert step_places([*before, *((1 - drop) * value for value in before[:5])]) == [30]


def test_a_new_level_at_the_end_is_told_although_some_runs_before_were_as_far_off(row: Row) -> None:
    values = row(60)
    for place in (3, 17, 30, 44):
        values[place] = 45.0
    assert step_places(values) == []
    assert step_places(values + row(5, 47.8 * 0.98, seed=2)) == [60]
