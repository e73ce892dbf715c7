"""Charts of sweeps over numbers of nodes: the drawing, and the numbers beside it."""

import re
import xml.etree.ElementTree as ElementTree

from railyard.results.report.html import html_report
from railyard.results.report.svg import sweep_charts
from tests.results.test_sweeps import ONE, TWO_RAILS, record


def test_a_problem_is_one_chart_of_all_its_lines_beside_linear() -> None:
    (chart,) = sweep_charts([*ONE, *TWO_RAILS])
    assert chart.heading == "npb/FT/W"
    assert chart.names == ("hsn, 1 rail, openmpi", "hsn, 2 rails, openmpi", "linear")
    assert chart.heads == ("test", "nodes", "Mop/s", "speed-up", "% of linear", "serial fraction")
    assert chart.rows[:3] == (
        ("hsn, 1 rail, openmpi", "1", "400", "1.00", "100.0", ""),
        ("hsn, 1 rail, openmpi", "2", "600", "1.50", "75.0", "0.333"),
        ("hsn, 1 rail, openmpi", "4", "800", "2.00", "50.0", "0.333"),
    )
    ElementTree.fromstring(chart.drawing)
    assert "<title>npb/FT/W over 1, 2, 4 nodes: Mop/s</title>" in chart.drawing


def test_what_the_sweep_says_stands_below_it() -> None:
    (chart,) = sweep_charts(ONE)
    assert chart.words == (
        "hsn, 1 rail, openmpi: 50.0 % of linear on 4 nodes; serial fraction 0.333 throughout: work that the "
        "nodes cannot share."
    )


def test_the_page_has_it() -> None:
    page = html_report(ONE)
    assert '<h2 id="scaling">Scaling over nodes</h2>' in page and "<h3>npb/FT/W</h3>" in page
    assert '<h2 id="scaling">' not in html_report(ONE[:1])


def test_linear_is_drawn_from_the_smallest_number_of_nodes() -> None:
    """A linear sweep is on the line."""
    (chart,) = sweep_charts([record(1, 400.0), record(2, 800.0), record(4, 1600.0)])
    measured, linear = re.findall(r'class="many m[01]" d="([^"]+)"', chart.drawing)
    assert measured == linear
