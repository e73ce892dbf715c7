"""Standard output of hp2p: its summaries, binary MB/s, and what is cut. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.parsers.hp2p import parse
from railyard.parsers.parsed import ParseError, Remark

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
