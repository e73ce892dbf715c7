"""The healthy rate comes from the top of the values, however many pairs collided."""

import random

import pytest

from railyard.base.numbers import quantile
from railyard.verdict.blame.search.matrix import healthy, shares, upper_spread
from railyard.verdict.blame.search.model import Layout, Step, rounds


def normal(count: int, seed: int = 1) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(12_000, 180) for _ in range(count)]


def test_quantiles_are_linear_between_neighbours() -> None:
    assert [quantile([1.0, 2.0, 4.0], share) for share in (0, 0.25, 0.5, 0.75, 1)] == [1, 1.5, 2, 3, 4]
    assert quantile([7.0], 0.3) == 7


@pytest.mark.parametrize("collided", [0.0, 0.3, 0.6, 0.85])
def test_the_healthy_level_stays_where_it_is_when_most_pairs_collide(collided: float) -> None:
    good = normal(10_000)
    mixed = [value / 2 if place < collided * len(good) else value for place, value in enumerate(good)]
    level, scatter = healthy(mixed)
    assert level == pytest.approx(12_000 + 0.674 * 180, rel=0.003)
    assert scatter == pytest.approx(0.015, rel=0.2)


def test_half_of_six_pairs_slow_by_a_tenth_leave_the_healthy_level() -> None:
    assert healthy([0.9, 0.9, 0.9, 1.0, 1.0, 1.0]) == (1.0, 0.0)
    assert healthy([0.0, 0.0]) == (0.0, 0.0)


def test_the_upper_spread_sees_no_slow_half() -> None:
    values = normal(20_001)
    assert upper_spread(values) == pytest.approx(180, rel=0.05)
    assert upper_spread([0.5, 0.5, 1.0, 1.0]) == 0.0


def test_the_best_of_several_measurements_counts() -> None:
    layout = Layout(("a", "b", "c"))
    step = Step("rounds", rounds(3), 1, "")
    seen = shares(layout, step, [(0, 1, 10.0), (0, 2, 10.0), (1, 2, 5.0)])
    assert seen is not None
    for value in (4.0, 8.0, 6.0):
        seen.better(layout, 1, 2, value)
    assert (seen.rows[1][2], seen.rows[2][1], seen.rows[0][1], seen.rows[1][1]) == (0.8, 0.8, 1.0, -1.0)
