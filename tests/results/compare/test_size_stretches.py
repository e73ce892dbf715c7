"""At which sizes curves differ: a planted loss is found with its sizes, and noise alone almost never."""

import random

import pytest

from railyard.results.shift import stretches

SIZES = tuple(2**n for n in range(20))


def curves(count: int, draw: random.Random, slower_from: int = 99, share: float = 0.05) -> list[list[float]]:
    """Curves with noise of 0.5 % per size and 0.5 % per run; lower from one index on."""
    made = []
    for _ in range(count):
        whole = 1 + draw.gauss(0, 0.005)
        made.append(
            [
                100 * whole * (1 + draw.gauss(0, 0.005)) * (1 - share if index >= slower_from else 1)
                for index in range(len(SIZES))
            ]
        )
    return made


@pytest.mark.parametrize("repeats", [4, 5, 8, 12])
def test_a_loss_of_five_per_cent_is_found_with_its_sizes(repeats: int) -> None:
    draw = random.Random(repeats)
    (found,) = stretches(SIZES, curves(repeats, draw), curves(repeats, draw, slower_from=12))
    assert (found.first, found.last, found.sizes) == (4096, 524288, 8)
    assert -6 < found.percent < -4
    assert found.p <= 0.05
    assert abs(found.least) <= abs(found.percent) <= abs(found.most)


def test_the_chance_of_four_against_four_is_that_of_two_deals_in_seventy() -> None:
    draw = random.Random(1)
    (found,) = stretches(SIZES, curves(4, draw), curves(4, draw, slower_from=0, share=0.5))
    assert found.p == pytest.approx(2 / 70)
    assert found.sizes == 20


def test_a_gain_and_a_loss_are_two_stretches() -> None:
    draw = random.Random(3)
    b = [
        [value * (0.9 if index < 6 else 1.1 if index >= 14 else 1) for index, value in enumerate(curve)]
        for curve in curves(6, draw)
    ]
    found = stretches(SIZES, curves(6, draw), b)
    assert [(one.first, one.last, one.percent > 0) for one in found] == [(1, 32, False), (16384, 524288, True)]


def test_three_against_three_tell_nothing() -> None:
    draw = random.Random(4)
    assert stretches(SIZES, curves(3, draw), curves(3, draw, slower_from=0, share=0.5)) == ()


def test_no_curves_and_no_sizes_tell_nothing() -> None:
    assert stretches((), [[]] * 5, [[]] * 5) == ()
    assert stretches(SIZES, [], curves(5, random.Random(1))) == ()


def test_curves_that_are_alike_do_not_differ() -> None:
    assert stretches(SIZES, [[7.0] * 20] * 5, [[7.0] * 20] * 5) == ()


def test_noise_is_taken_for_a_difference_in_one_of_twenty_comparisons_at_most() -> None:
    draw = random.Random(2026)
    alarms = sum(bool(stretches(SIZES, curves(5, draw), curves(5, draw))) for _ in range(300))
    assert alarms < 27  # 5 % of 300 are 15, and three standard errors 11


def test_a_curve_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^found a curve without a value for each of the 20 sizes$"):
        stretches(SIZES, [[1.0]], [[1.0] * 20])


def test_sides_of_unlike_numbers_are_dealt_out_as_they_are() -> None:
    draw = random.Random(6)
    (found,) = stretches(SIZES, curves(4, draw), curves(6, draw, slower_from=12))
    assert (found.first, found.last) == (4096, 524288)
    assert found.p == pytest.approx(1 / 210)  # of all ways to take six of ten, only the true one has such a sum
