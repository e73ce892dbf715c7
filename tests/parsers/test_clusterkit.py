"""Reports of ClusterKit: its summaries of bandwidth and latency, and what is cut. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.parsers.clusterkit import parse
from railyard.parsers.output import ParseError

MADE = Path(__file__).parent / "made"
ANALYSIS = (MADE / "clusterkit-analysis.txt").read_text(encoding="utf-8")
BANDWIDTH = (MADE / "clusterkit-bandwidth.txt").read_text(encoding="utf-8")


def test_a_report_has_both_summaries_and_the_pairs_at_their_ends() -> None:
    (table,) = parse(ANALYSIS).tables
    assert dict(zip(table.columns, zip(table.units, table.rows[0], strict=True), strict=True)) == {
        "bandwidth_min": ("MB/s", 44810.0),
        "bandwidth_max": ("MB/s", 47301.0),
        "bandwidth_avg": ("MB/s", 46726.0),
        "latency_min": ("us", 1.312),
        "latency_max": ("us", 1.904),
        "latency_avg": ("us", 1.611),
    }
    assert table.context["bandwidth_min_of"] == "node03, node04"
    assert (key_of(table), table.complete) == ("clusterkit/pairwise", True)


def test_the_summary_below_a_matrix_is_read() -> None:
    parsed = parse(BANDWIDTH)
    (table,) = parsed.tables
    assert table.rows == ((97904.8, 98107.4, 98007.8),)
    assert [curve.metric for curve in curves(table, "clusterkit/pairwise")] == [
        *("bandwidth_min", "bandwidth_avg", "bandwidth_max"),
    ]
    assert parsed.remarks == ()


def test_a_further_sample_is_a_table_of_its_own() -> None:
    assert len(parse(BANDWIDTH + BANDWIDTH).tables) == 2


def test_a_report_without_its_mean_is_not_whole_and_another_text_is_refused() -> None:
    assert not parse(BANDWIDTH[: BANDWIDTH.index("Average")]).tables[0].complete
    with pytest.raises(ParseError):
        parse("Minimum bandwidth: 10 Mbps for each school\n")


def matrix(slow: float, other: float, latency: bool = False) -> str:
    """Return a report of five nodes, of which node03 reaches only ``slow`` with each other one."""
    nodes = range(1, 6)
    cell = {(a, b): 0.0 if a == b else slow if 3 in (a, b) else other for a in nodes for b in nodes}
    head = "Rank: " + "".join(f"{rank:>9}" for rank in range(5)) + "\n"
    rows = "".join(f"{a - 1:4d} (node{a:02d}): " + " ".join(f"{cell[a, b]:8.1f}" for b in nodes) + "\n" for a in nodes)
    what, unit = ("latency", "usec") if latency else ("bandwidth", "MB/s")
    least, most = min(slow, other), max(slow, other)
    lines = (("Minimum", least), ("Maximum", most), ("Average", (slow + other) / 2))
    return head + rows + "".join(f"{name} {what}: {value:.1f} {unit}\n" for name, value in lines)


def test_a_node_that_is_slow_with_every_partner_is_named() -> None:
    assert [failure.text for failure in parse(matrix(60000.0, 98000.0)).failures] == [
        "node03 is slow with every partner: at best 60000 MB/s, while all other pairs reach at least 98000 MB/s"
    ]
    assert parse(matrix(90000.0, 98000.0)).failures == ()
    assert parse(matrix(98000.0, 60000.0)).failures == ()


def test_a_node_with_a_low_latency_is_not_slow() -> None:
    parsed = parse(matrix(1.1, 1.9, latency=True))
    assert (parsed.failures, parsed.tables[0].column("latency_min")) == ((), (1.1,))


def test_the_matrix_names_the_slowest_pair() -> None:
    (table,) = parse((MADE / "clusterkit-bandwidth.txt").read_text(encoding="utf-8")).tables
    assert table.context["bandwidth_min_of"] == "node02, node03"


def test_a_matrix_whose_figures_touch_is_not_read_and_says_so() -> None:
    parsed = parse(matrix(60000.0, 98000.0).replace("  98000.0", "98000.0"))
    assert parsed.failures == ()
    assert parsed.remarks[0].text == "the matrix of all pairs is not read: a row has not a figure for each node"
