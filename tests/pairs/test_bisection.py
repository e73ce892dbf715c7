"""Half against half: the shifts, what they should give, and what is said of it."""

import pytest

from railyard.pairs.bisection import expected_mb_s, judge, shifts


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


def test_the_blocking_factor_divides_what_is_expected() -> None:
    assert (expected_mb_s(8, 12_000), expected_mb_s(9, 12_000), expected_mb_s(8, 12_000, 2)) == (48_000, 48_000, 24_000)
    with pytest.raises(ValueError, match=r"^blocking 0\.5: 1 \(none\) or more, 2 for 2:1$"):
        expected_mb_s(8, 12_000, 0.5)


def test_a_healthy_half_with_static_routes() -> None:
    found = judge([[12_000, 6_000], [6_000, 6_000]], 12_000)
    assert (found.passed, found.aggregate_mb_s, found.worst_mb_s, found.worst_shift) == (True, 15_000, 12_000, 1)
    assert found.sentence == (
        "half against half gives 15000 MB/s one way over 2 pairs at once, mean of 2 shifts, 62.5 % of 24000 MB/s "
        "(2 pairs of 12000 MB/s alone, non-blocking), at least 55.0 % with static routes"
    )


def test_the_same_is_too_little_where_routes_are_kept_apart() -> None:
    found = judge([[12_000, 6_000], [6_000, 6_000]], 12_000, static_routing=False)
    assert not found.passed
    assert found.sentence.endswith(
        ", below 85.0 % with routes kept apart; the worst is shift 1 with 12000 MB/s: look for missing up-links, or a "
        "routing engine that does not know the topology"
    )


def test_two_to_one_is_held_against_half_and_more_than_that_cannot_be() -> None:
    good = judge([[6_000, 5_800]], 12_000, blocking=2, static_routing=False)
    assert (good.passed, good.expected_mb_s) == (True, 12_000)
    assert "98.3 % of 12000 MB/s (2 pairs of 12000 MB/s alone, blocking 2:1), at least 85.0 %" in good.sentence
    high = judge([[12_000, 12_000]], 12_000, blocking=2)
    assert not high.passed
    assert high.sentence.endswith(
        ": more than that cannot be, so the pair alone was slow or the blocking factor is too high"
    )


@pytest.mark.parametrize("values", [[], [[]], [[1.0], [1.0, 2.0]]])
def test_shifts_that_differ_are_an_error(values: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"expected one number of pairs, not 0$"):
        judge(values, 12_000)
