"""Bars in a terminal: their heights, their axis, and what does not fit."""

from railyard.results.report.output_text import plot


def test_bars_are_as_high_as_their_values_from_zero() -> None:
    assert plot([1, 2, 4], ("a", "c"), height=2) == ["4.00 ┤    ██", "   0 ┤▄▄████", "      a    c"]


def test_a_logarithmic_axis_begins_at_the_smallest_value_above_zero() -> None:
    assert plot([0, 1, 10, 100], ("a", "d"), height=2, logarithmic=True) == [
        " 100 ┤      ██",
        "1.00 ┤    ████",
        "      a      d",
    ]


def test_values_that_are_all_alike_are_full_bars_on_either_axis() -> None:
    assert plot([3.0] * 4, ("a", "b"), height=1)[0] == "3.00 ┤████████"
    assert plot([3.0] * 4, ("a", "b"), height=1, logarithmic=True)[0] == "3.00 ┤████████"


def test_of_more_values_than_fit_the_largest_of_each_neighbourhood_is_drawn() -> None:
    values = [1.0] * 100
    values[50] = 8.0
    lines = plot(values, ("row 1", "row 100"), width=16, height=1)
    assert lines == ["8.00 ┤▁▁▁▁▁█▁▁▁▁", "      row 1 row 100"]


def test_nothing_is_drawn_for_values_that_are_none_or_below_zero() -> None:
    assert plot([-1.0, 0.0, 2.0], ("a", "b"), height=1)[0] == "2.00 ┤    ██"
    assert plot([0.0, 0.0], ("a", "b"), height=1)[0] == "0 ┤"
