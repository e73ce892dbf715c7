"""The heat map of all pairs: colours by the bound, the worst pair named, and not lost if nodes share a field."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from railyard.results.record.pair_rows import PairsRecord
from railyard.results.report.heatmap import CLASSES, heatmap


def all_pairs(count: int, planted: tuple[int, int] | None = None, expected: float | None = 50.0) -> PairsRecord:
    """All pairs at 52 MB/s, the planted one at 4.9."""
    nodes = tuple(f"n{index + 1}" for index in range(count))
    rows = tuple(
        tuple(None if row == column else 4.9 if (row, column) == planted else 52.0 for column in range(count))
        for row in range(count)
    )
    return PairsRecord(nodes, 4194304, rows, expected=expected)


def test_the_worst_pair_is_named_and_has_a_colour_of_its_own() -> None:
    found = heatmap(all_pairs(4, (1, 2)))
    assert found is not None
    assert found.worst[0] == "n2 to n3 4.90 MB/s, 9.8 %"
    assert found.scale == "100 % is 50.0 MB/s, the bound that a pair must reach"
    assert found.legend == (("h0", "below 50 %"), ("h4", "100 % or more"))
    squares = dict(re.findall(r'class="(h\d)" d="([^"]+)"', found.drawing))
    assert {name: path.count("M") for name, path in squares.items()} == {"h0": 1, "h4": 11}
    # column 2, row 1 of four fields of 130 each, beside a margin of 74
    assert squares["h0"].startswith("M334,204h")
    assert "<title>12 pairs of 4 nodes; 100 % is 50.0 MB/s, the bound that a pair must reach; worst: n2 to n3" in (
        found.drawing
    )
    ElementTree.fromstring(found.drawing)


def test_without_a_bound_the_median_is_the_scale() -> None:
    found = heatmap(all_pairs(4, (1, 2), expected=None))
    assert found is not None
    assert found.scale == "100 % is 52.0 MB/s, the median of all pairs"
    assert found.worst[0] == "n2 to n3 4.90 MB/s, 9.4 %"


@pytest.mark.parametrize("count", [8, 24, 25, 128, 300])
def test_any_number_of_nodes_is_drawn_and_the_planted_pair_stays(count: int) -> None:
    found = heatmap(all_pairs(count, (count - 1, 0)))
    assert found is not None
    ElementTree.fromstring(found.drawing)
    assert len(found.drawing) < 600_000
    assert found.worst[0].startswith(f"n{count} to n1 4.90 MB/s")
    assert ("h0", "below 50 %") in found.legend


def test_nothing_measured_has_no_map() -> None:
    assert heatmap(PairsRecord(("a", "b"), 8, ((None, None), (None, None)))) is None


def test_a_share_that_no_float_holds_is_of_the_best_class() -> None:
    found = heatmap(PairsRecord(("a", "b"), 8, ((None, 1e308), (1e-308, None)), expected=1e-300))
    assert found is not None
    assert [words for _, words in found.legend][-1] == CLASSES[-1][2]


def test_names_are_escaped() -> None:
    found = heatmap(PairsRecord(("<b>", "&"), 8, ((None, 1.0), (2.0, None))))
    assert found is not None
    ElementTree.fromstring(found.drawing)
    assert "<b>" not in found.drawing


def test_a_pair_that_just_keeps_its_bound_is_good() -> None:
    found = heatmap(all_pairs(4, expected=52.0))
    assert found is not None
    assert found.legend == (("h4", "100 % or more"),)
