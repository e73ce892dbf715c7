"""Remarks on a failed run's placement: its first process far from a rail, and a clock that is low."""

import pytest

from railyard.nodefacts import NodeFacts
from railyard.placement import processors, remarks

NEAR = {"mlx5_0:1": {"local_cpulist": "64-127"}}
CLOCK = {"frequency_max_khz": "3700000", "governor": "powersave"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("7", {7}),
        ("", set()),
        ("0-", set()),
        ("3-x", set()),
        ("0-99999999999999", set()),
    ],
)
def test_a_list_of_processors_is_read(text: str, found: set[int]) -> None:
    assert processors(text) == found


def far(bound: str, near: dict[str, dict[str, str]] = NEAR) -> tuple[str, ...]:
    return remarks([NodeFacts("vn1", {"cpus_allowed": bound}, near)], {}, ("mlx5_0:1",))


def test_a_process_that_is_bound_away_from_its_rail_is_said() -> None:
    assert far("0-15") == ("the first process of vn1 was bound to processors 0-15, far from mlx5_0:1 (near 64-127)",)


@pytest.mark.parametrize("bound", ["64", "0-64", "0-127", ""])
def test_a_process_that_may_run_beside_its_rail_is_not(bound: str) -> None:
    assert far(bound) == ()


def test_a_rail_without_processors_of_its_own_is_near_all() -> None:
    assert far("0-15", {}) == ()


def slow(clock_khz: int | None, said: dict[str, str] = CLOCK) -> tuple[str, ...]:
    return remarks([NodeFacts("vn1", said, {})], {} if clock_khz is None else {"vn1": clock_khz}, ())


def test_a_low_clock_is_said_with_the_governor() -> None:
    assert slow(1_200_000) == (
        "the clock of vn1 was 1.20 GHz at the end of the run, 32.4 % of its highest (bound 50.0 %, clock-share; "
        "governor powersave)",
    )


@pytest.mark.parametrize(
    ("clock_khz", "said"), [(1_850_000, CLOCK), (None, CLOCK), (1_200_000, {}), (1, {"frequency_max_khz": "fast"})]
)
def test_a_clock_that_is_high_enough_or_not_known_is_not(clock_khz: int | None, said: dict[str, str]) -> None:
    assert slow(clock_khz, said) == ()
