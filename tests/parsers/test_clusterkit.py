"""Reports of ClusterKit: its summaries of bandwidth and latency, and what is cut. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.parsers.clusterkit import parse
from railyard.parsers.parsed import ParseError

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


def test_a_matrix_is_left_out_and_its_summary_is_read() -> None:
    parsed = parse(BANDWIDTH)
    (table,) = parsed.tables
    assert table.rows == ((97904.8, 98107.4, 98007.8),)
    assert [curve.metric for curve in curves(table, "clusterkit/pairwise")] == [
        *("bandwidth_min", "bandwidth_avg", "bandwidth_max"),
    ]
    assert len(parsed.remarks) == 4


def test_a_further_sample_is_a_table_of_its_own() -> None:
    assert len(parse(BANDWIDTH + BANDWIDTH).tables) == 2


def test_a_report_without_its_mean_is_not_whole_and_another_text_is_refused() -> None:
    assert not parse(BANDWIDTH[: BANDWIDTH.index("Average")]).tables[0].complete
    with pytest.raises(ParseError):
        parse("Minimum bandwidth: 10 Mbps for each school\n")
