"""A figure with its name, in a line that its tool's parser cannot read, is a failure with that line: none is lost."""

from pathlib import Path

import pytest

from railyard.parsers import detect
from railyard.parsers.sockperf import parse as parse_sockperf
from railyard.parsers.wrong_lines import with_wrong_lines

MADE = Path(__file__).parent / "made"
CELLS = (
    ("hp2p-two-summaries.txt", "7141.84"),
    ("hp2p-two-summaries.txt", "140.02"),
    ("clusterkit-analysis.txt", "44810"),
    ("clusterkit-analysis.txt", "1.904"),
    ("npb-cg-and-mg.txt", "   1.50"),
    ("npb-cg-and-mg.txt", "1001.00"),
    ("hpl-two-sizes.txt", "1.8455e+01"),
    ("hpl-two-sizes.txt", "   18.50"),
    ("hpcg-3.1-valid.txt", "36.8812\nFinal Summary::HPCG 2.4"),
)


def _replace_figure(text: str, cell: str, found: str) -> tuple[str, int]:
    """Return a text with something else in place of a figure, and the figure's line."""
    assert text.count(cell) == 1
    rest = cell.partition("\n")[1:]
    return text.replace(cell, found + "".join(rest)), text[: text.index(cell)].count("\n") + 1


@pytest.mark.parametrize(("name", "cell"), CELLS)
@pytest.mark.parametrize("found", ["", "********", "nan", "-inf", "1,234.5", "12,5"])
def test_the_line_of_a_figure_that_cannot_be_read_fails(name: str, cell: str, found: str) -> None:
    whole = (MADE / name).read_text(encoding="utf-8")
    text, line = _replace_figure(whole, cell, found)
    known = {failure.line for failure in with_wrong_lines(detect.parse(whole), whole).failures}
    parsed = with_wrong_lines(detect.parse(text), text)
    assert [failure.line for failure in parsed.failures if failure.line not in known] == [line]


@pytest.mark.parametrize("found", ["", "-64", "64k", "*"])
def test_a_size_that_cannot_be_read_is_not_the_default(found: str) -> None:
    text = (MADE / "sockperf-ping-pong.txt").read_text(encoding="utf-8").replace("-m 64 ", f"-m {found} ")
    (table,) = parse_sockperf(text).tables
    assert "size" not in table.columns
