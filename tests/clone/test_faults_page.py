"""The page of planted faults agrees with the tests, and a marker that cannot be read is refused with its test."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests import faults

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def collected_faults(request: pytest.FixtureRequest) -> tuple[faults.FaultRow, ...]:
    """Return the faults of all tests; a session with only some tests does not know them."""
    if {Path(each).resolve() for each in request.config.args} != {faults.TESTS}:
        pytest.skip("only a session of all tests collects the faults that they plant (pytest tests)")
    return request.config.stash[faults.COLLECTED]


def test_the_page_is_generated_from_the_tests(collected_faults: tuple[faults.FaultRow, ...]) -> None:
    written = (ROOT / "docs/reference/faults.md").read_text(encoding="utf-8")
    assert written == faults.page(collected_faults), (
        "docs/reference/faults.md is not what the tests say; type: make docs"
    )


def test_no_fault_is_told_twice(collected_faults: tuple[faults.FaultRow, ...]) -> None:
    rows = [(row.planted, row.said) for row in collected_faults]
    assert len(rows) == len(set(rows))


def items(*markers: pytest.MarkDecorator) -> Iterable[pytest.Item]:
    class Item:
        nodeid = "tests/a/test_x.py::test_y[z]"

        def iter_markers(self, name: str) -> Iterable[pytest.Mark]:
            return [each.mark for each in markers if each.name == name]

    return [Item()]  # type: ignore[list-item]


def test_a_marker_is_a_row_and_each_is_told_once() -> None:
    marker = pytest.mark.fault("rail", "half a rail", "is slow")
    assert faults.rows_of(items(marker, marker)) == (faults.FaultRow("rail", "half a rail", "is slow", "a/test_x.py"),)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("rial", "a", "b"), 'test_x.py::test_y.*: found the layer "rial", expected one of rail, path'),
        (("rail", "a"), "test_x.py::test_y.*: expected mark.fault with three texts"),
        (("rail", "a", 1), "expected mark.fault with three texts"),
        (("rail", "a", " "), "expected mark.fault with three texts"),
    ],
)
def test_a_marker_that_cannot_be_read_is_refused(words: tuple[object, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        faults.rows_of(items(pytest.mark.fault(*words)))
