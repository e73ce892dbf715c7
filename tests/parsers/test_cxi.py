"""Output of libcxi's cxi_write_bw: rows, what its head says, and what is cut. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.parsers.cxi import COLUMNS, parse
from railyard.parsers.output import ParseError, Remark

TEXT = (Path(__file__).parent / "made" / "cxi-write_bw.txt").read_text(encoding="utf-8")
LAST = "           4       64000    160.25        40.062500\n"


def test_rows_have_writes_and_rates_in_their_units() -> None:
    parsed = parse(TEXT)
    (table,) = parsed.tables
    assert (table.tool, table.benchmark, table.line, table.complete) == ("cxi", "cxi_write_bw", 2, True)
    assert (table.columns, table.units) == (COLUMNS, ("B", None, "MB/s", "1/s"))
    assert table.rows == ((1, 64000, 40.0, 40e6), (2, 64000, 80.5, 40.25e6), (4, 64000, 160.25, 40.0625e6))
    assert dict(table.context) == {"bidirectional": False, "list_size": 64}
    assert (parsed.failures, parsed.remarks) == ((), ())
    assert key_of(table) == "cxi/cxi_write_bw"
    assert curves(table, "cxi/cxi_write_bw")[0].values == (40.0, 80.5, 160.25)


def test_both_ways_at_once_are_another_benchmark() -> None:
    (table,) = parse(TEXT.replace("Bidirectional    : Disabled", "Bidirectional    : Enabled")).tables
    assert key_of(table) == "cxi/cxi_write_bw/bidirectional"


@pytest.mark.parametrize("text", [TEXT.replace(LAST, ""), TEXT[: TEXT.index(LAST) + len(LAST)], TEXT[:-40]])
def test_a_table_without_its_largest_size_or_its_last_line_is_not_whole(text: str) -> None:
    assert not parse(text).tables[0].complete


def test_a_row_that_is_cut_does_not_count() -> None:
    (table,) = parse(TEXT[: TEXT.index(LAST) + 30]).tables
    assert (len(table.rows), table.complete) == (2, False)


def test_an_iteration_that_failed_is_a_failure_and_a_server_that_is_not_there_too() -> None:
    parsed = parse(TEXT.replace(LAST, "Iteration failed: Connection timed out\n"))
    assert parsed.failures == (Remark(25, "Iteration failed: Connection timed out"),)
    assert not parsed.tables[0].complete
    assert parse("cxi_write_bw: Unable to connect to server: Connection refused\n").failures


def test_another_text_is_refused() -> None:
    with pytest.raises(ParseError):
        parse("# OSU MPI Bandwidth Test v5.8\n")
