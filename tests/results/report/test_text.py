"""How figures and sizes are written."""

import pytest

from railyard.results.report.text import bytes_moved, number, percent, size


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "–"),
        (0.0, "0.00"),
        (0.031, "0.031"),
        (0.85, "0.85"),
        (4.754, "4.75"),
        (47.83, "47.8"),
        (766.24, "766.2"),
        (12418.4, "12,418"),
        (-47.83, "-47.8"),
    ],
)
def test_a_figure_has_the_digits_of_its_size(value: float | None, written: str) -> None:
    assert number(value) == written


@pytest.mark.parametrize(
    ("count", "written"),
    [(0, "0 B"), (1000, "1,000 B"), (1024, "1 KiB"), (1536, "1,536 B"), (4 << 20, "4 MiB"), (1 << 30, "1 GiB")],
)
def test_a_size_is_in_the_largest_unit_that_divides_it(count: int, written: str) -> None:
    assert size(count) == written


@pytest.mark.parametrize(
    ("count", "written"), [(None, "not readable"), (999, "1.0 kB"), (168_000_000, "168.0 MB"), (0, "0.0 kB")]
)
def test_traffic_is_in_decimal_units(count: int | None, written: str) -> None:
    assert bytes_moved(count) == written


def test_a_percentage_has_one_decimal() -> None:
    assert (percent(98.44), percent(None)) == ("98.4", "–")
