"""Clients of iperf3 that run at once, each with its title: a row for each, and the sum that the link carried."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves
from railyard.parsers.iperf3 import parse

SHARED = Path(__file__).parents[3] / "shared"
CLIENT = """\
{title}:  Connecting to host 10.1.0.2, port {port}
{title}:  [  5] local 10.1.0.1 port 40{port} connected to 10.1.0.2 port {port}
{title}:  [ ID] Interval           Transfer     Bitrate         Retr  Cwnd
{title}:  [  5]   0.00-2.00   sec  {mbytes} MBytes  {rate} Gbits/sec    0    446 KBytes
{title}:  - - - - - - - - - - - - - - - - - - - - - - - - -
{title}:  [ ID] Interval           Transfer     Bitrate         Retr
{title}:  [  5]   0.00-2.00   sec  {mbytes} MBytes  {rate} Gbits/sec    0             sender
{title}:  [  5]   0.00-2.00   sec  {mbytes} MBytes  {rate} Gbits/sec                  receiver
{title}:  
{title}:  iperf Done.
"""
ONE = CLIENT.format(title="left", port=5101, mbytes=1120, rate="4.70")
OTHER = CLIENT.format(title="right", port=5102, mbytes=1096, rate="4.60")


def alternate_lines(*texts: str) -> str:
    return "".join("".join(lines) for lines in zip(*(text.splitlines(keepends=True) for text in texts), strict=True))


@pytest.mark.parametrize("text", [ONE + OTHER, alternate_lines(ONE, OTHER), alternate_lines(OTHER, ONE)])
def test_the_sum_of_the_clients_stands_for_the_run(text: str) -> None:
    (table,) = parse(text).tables
    assert parse(text).failures == ()
    assert sorted(row[0] for row in table.rows[:2] if isinstance(row[0], float)) == pytest.approx([575.0, 587.5])
    assert table.complete
    assert (table.context["clients"], table.context["streams"]) == (2, 2)
    (curve,) = curves(table, "iperf3/iperf3/2-streams")
    assert curve.values == pytest.approx((1162.5,))


def test_a_client_that_did_not_end_leaves_no_sum() -> None:
    cut = OTHER.rpartition("[  5]")[0].rpartition("[  5]")[0].rpartition("\n")[0] + "\n"
    parsed = parse(ONE + cut)
    assert parsed.tables == ()
    assert [failure.text for failure in parsed.failures] == ["a run without closing lines"]
    assert parsed.failures[0].line == ONE.count("\n") + 1


def test_one_client_with_a_title_is_read_as_ever() -> None:
    (table,) = parse(ONE).tables
    assert table.rows[-1][0] == pytest.approx(587.5)
    assert "clients" not in table.context


def test_a_posted_output_of_three_clients() -> None:
    file = SHARED / "field" / "08-iperf3-three-titles.txt"
    if not file.exists():
        pytest.skip("the folder of field cases is not beside the clone")
    (table,) = parse(file.read_text(encoding="utf-8")).tables
    assert [row[0] for row in table.rows] == pytest.approx([408.75, 410.0, 420.0, 1238.75])
