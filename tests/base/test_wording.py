"""How numbers are written in sentences."""

import pytest

from railyard.base.wording import (
    count_of,
    listing,
    message_size,
    number,
    percent,
    places,
    size_ranges,
    some,
    traffic,
)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1024, "1 KiB"),
        (1 << 22, "4 MiB"),
        (3 << 30, "3 GiB"),
        (17179868160, "16.00 GiB"),
        (150000 << 10, "150000 KiB"),
    ],
)
def test_message_sizes_are_binary_where_whole(size: int, text: str) -> None:
    assert message_size(size) == text


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((), ""),
        ((4,), "4 B"),
        ((1, 4), "1 B to 4 B"),
        ((1, 1 << 20), "1 B and 1 MiB"),
        ((1, 4, 1 << 22), "1 B to 4 B and 4 MiB"),
    ],
)
def test_sizes_are_ranges_of_what_was_measured(sizes: tuple[int, ...], text: str) -> None:
    assert size_ranges(sizes, (1, 4, 1024, 1 << 20, 1 << 22)) == text


@pytest.mark.parametrize(("amount", "text"), [(0, "0.0 kB"), (99_999, "100.0 kB"), (190e6, "190.0 MB")])
def test_traffic_is_decimal(amount: float, text: str) -> None:
    assert traffic(amount) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.39, "0.3900"), (4.8, "4.800"), (47.8312, "47.83"), (12084.2, "12084"), (1e15, "1e+15")],
)
def test_numbers_have_four_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_shares_and_lists() -> None:
    assert percent(0.98312) == "98.3 %"
    assert [listing(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("count", "form", "text"),
    [(0, "", "0 rows"), (1, "", "1 row"), (12_000, "", "12000 rows"), (12_000, ",", "12,000 rows")],
)
def test_a_noun_follows_its_number(count: int, form: str, text: str) -> None:
    assert count_of(count, "row", form) == text


def test_of_many_places_and_sentences_the_first_are_told_and_the_rest_counted() -> None:
    assert places(["a", "b"]) == "a and b"
    assert places(list("abcdefghij")) == "a, b, c, d, e, f, g, h and 2 more"
    assert some(["a", "b"]) == "a; b"
    assert some(list("abcdefghij")) == "a; b; c; d; e; f; g; h; and 2 more of this kind"
    assert some([]) == ""
