"""Standard output of hp2p: its summaries, binary MB/s, and what is cut. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.parsers.hp2p import parse
from railyard.parsers.output import ParseError, Remark

TEXT = (Path(__file__).parent / "made" / "hp2p-two-summaries.txt").read_text(encoding="utf-8")
BINARY_MB = 1.048576


def test_the_last_summary_is_the_result() -> None:
    parsed = parse(TEXT)
    snapshot, final = parsed.tables
    assert (key_of(snapshot), key_of(final)) == (None, "hp2p/hp2p")
    assert dict(final.context) == {"stage": "final", "size": 1048576}
    found = dict(zip(final.columns, zip(final.units, final.rows[0], strict=True), strict=True))
    assert found["bandwidth_min"] == ("MB/s", 7141.84 * BINARY_MB)
    assert found["bandwidth_max"] == ("MB/s", 10951.70 * BINARY_MB)
    assert found["latency_max"] == ("us", 140.02)
    assert found["bisection_bandwidth_avg"] == ("MB/s", 80511.7 * BINARY_MB)
    assert found["bisection_efficiency_min"] == ("%", 97.2)
    assert len(found) == 15
    assert [curve.metric for curve in curves(final, "hp2p/hp2p")][:2] == ["bandwidth_min", "bandwidth_avg"]
    assert (parsed.failures, final.complete) == ((), True)


def test_a_size_that_its_figures_contradict_does_not_count() -> None:
    assert "size" not in parse(TEXT.replace(": 1048576", ": 104857")).tables[1].context


def test_a_summary_without_its_last_line_is_not_whole() -> None:
    assert not parse(TEXT[: TEXT.rindex(" ===============")]).tables[1].complete


def test_a_run_that_ended_before_its_summary_is_a_failure_and_another_text_is_refused() -> None:
    parsed = parse(TEXT[: TEXT.index(" === SUMMARY")])
    assert parsed.failures == (Remark(1, "a configuration without a summary"),)
    with pytest.raises(ParseError):
        parse("=== SUMMARY ===\n5 passed\n")


def matrix(slow: float, printed: float) -> str:
    """Return a summary of four ranks and the matrix behind it; rank 2 reaches only ``slow`` with each other one."""
    rows = [[0.0 if a == b else slow if 2 in (a, b) else 10000.25 for b in range(4)] for a in range(4)]
    rows[0][2] = slow - 1  # one way of one pair
    figures = f" Min bandwidth            : {printed:.2f} MB/s\n Max bandwidth            : 10000.25 MB/s\n"
    shown = "".join("".join(f"{value:f}\t" for value in row) + "\n" for row in rows)
    return f" === SUMMARY ===\n\n{figures}\n ===============\n\n{shown}"


def test_the_matrix_names_the_slowest_pair_and_a_slow_rank() -> None:
    parsed = parse(matrix(5000.5, 4999.5))
    assert [failure.text for failure in parsed.failures] == [
        "rank 2 is slow with every partner: at best 5000.5 MiB/s, while all other pairs reach at least 10000.2 MiB/s"
    ]
    assert parsed.tables[0].context["bandwidth_min_of"] == "rank 0, rank 2"
    assert parsed.remarks == ()


@pytest.mark.parametrize(("slow", "printed"), [(9500.0, 9499.0), (5000.5, 4000.0)])
def test_a_small_difference_or_the_matrix_of_another_run_blames_nobody(slow: float, printed: float) -> None:
    assert parse(matrix(slow, printed)).failures == ()
