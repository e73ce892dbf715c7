"""How figures and sizes are written."""

import pytest

from railyard.results.report.text import bytes_moved, number, percent


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "–"),
        (0.0, "0"),
        (0.031, "0.031"),
        (0.85, "0.850"),
        (4.754, "4.75"),
        (47.83, "47.8"),
        (766.24, "766"),
        (12418.4, "12418"),
        (-47.83, "-47.8"),
    ],
)
def test_a_figure_has_the_digits_of_its_size(value: float | None, written: str) -> None:
    assert number(value) == written


@pytest.mark.parametrize(
    ("count", "written"), [(None, "not readable"), (999, "1.0 kB"), (168_000_000, "168.0 MB"), (0, "0.0 kB")]
)
def test_traffic_is_in_decimal_units(count: int | None, written: str) -> None:
    assert bytes_moved(count) == written


def test_a_percentage_has_one_decimal() -> None:
    assert (percent(98.44), percent(None)) == ("98.4", "–")
