"""A metric as a function of message size, and its key figures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.benchmarks.model import Curve, median, n_half, peak


def curve(*points: tuple[int, float]) -> Curve:
    return Curve("bandwidth", "MB/s", tuple(size for size, _ in points), tuple(value for _, value in points))


@pytest.mark.parametrize(
    ("sizes", "values", "message"),
    [
        ((1, 2), (1.0,), "bandwidth: 2 sizes but 1 values"),
        ((), (), "bandwidth: no sizes at all"),
        ((1, 4, 4), (1.0, 2.0, 3.0), "bandwidth: sizes do not rise at 4 B -> 4 B"),
        ((8, 4), (1.0, 2.0), "bandwidth: sizes do not rise at 8 B -> 4 B"),
        ((1, 2), (1.0, math.nan), "bandwidth: the value at 2 B is nan, not a finite number"),
        ((1,), (math.inf,), "bandwidth: the value at 1 B is inf, not a finite number"),
    ],
)
def test_what_is_no_curve_is_refused(sizes: tuple[int, ...], values: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Curve("bandwidth", "MB/s", sizes, values)
    assert str(caught.value) == message


def test_a_size_that_was_not_measured_has_no_value() -> None:
    measured = curve((1, 1.0), (4, 2.0))
    assert measured.value_at(4) == 2.0
    with pytest.raises(KeyError) as caught:
        measured.value_at(2)
    assert caught.value.args == ("bandwidth: no value at 2 B",)


def test_the_part_from_a_size_on() -> None:
    measured = curve((1, 1.0), (4, 2.0), (16, 3.0))
    assert measured.from_size(4) == curve((4, 2.0), (16, 3.0))
    assert measured.from_size(2) == curve((4, 2.0), (16, 3.0))
    assert measured.from_size(17) is None


def test_peak_is_the_largest_value() -> None:
    measured = curve((1, 1.0), (4, 9.0), (16, 9.0), (64, 8.0))
    assert peak(measured) == (4, 9.0)


@pytest.mark.parametrize(
    ("points", "plateau", "half"),
    [
        (((1, 0.0), (11, 10.0)), 10.0, 6.0),  # linear between two sizes
        (((1, 5.0), (2, 10.0)), 10.0, 1.0),  # above it from the start
        (((1, 1.0), (2, 4.0)), 10.0, math.inf),  # never reached
        (((1, 1.0), (2, 9.0), (4, 2.0), (8, 8.0)), 10.0, 6.0),  # passed, lost, passed again: the last time counts
        (((1, 9.0), (2, 1.0)), 10.0, math.inf),  # ends below
    ],
)
def test_n_half(points: tuple[tuple[int, float], ...], plateau: float, half: float) -> None:
    assert n_half(curve(*points), plateau) == half


@given(
    st.lists(st.floats(0.001, 1e6), min_size=2, max_size=12),
    st.floats(0.001, 2e6),
)
def test_n_half_lies_within_the_measured_sizes_or_is_infinite(values: list[float], plateau: float) -> None:
    measured = curve(*((2**place, value) for place, value in enumerate(values)))
    half = n_half(measured, plateau)
    assert half == math.inf or 1 <= half <= measured.sizes[-1]
    assert (half == math.inf) == (values[-1] < plateau / 2)


def test_the_median_of_passes_leaves_one_stall_out() -> None:
    passes = [curve((1, 2.0), (4, 46.0)), curve((1, 1.0), (4, 12.0)), curve((1, 3.0), (4, 48.0))]
    assert median(passes).values == (2.0, 46.0)


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ([], "no pass to take the median of"),
        ([curve((1, 2.0)), curve((2, 2.0))], "bandwidth: passes of one run differ in their sizes or unit"),
    ],
)
def test_passes_that_cannot_be_compared_have_no_median(passes: list[Curve], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        median(passes)
