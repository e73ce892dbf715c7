"""Output of iperf 2: which report is a run's, sums of streams, units, and what is cut. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.parsers import detect
from railyard.parsers.iperf2 import parse
from railyard.parsers.output import ParseError, Remark

MADE = Path(__file__).parent / "made"
INTERVALS = (MADE / "iperf2-intervals.txt").read_text(encoding="utf-8")
STREAMS = (MADE / "iperf2-two-streams-2.1.txt").read_text(encoding="utf-8")
DATAGRAMS = (MADE / "iperf2-udp.txt").read_text(encoding="utf-8")
ONE = "[  3] local 10.1.0.1 port 40000 connected with 10.1.0.2 port 5001\n"


def test_the_report_of_the_whole_run_counts_and_not_its_intervals() -> None:
    (table,) = parse(INTERVALS).tables
    assert (table.rows, table.units, table.line, table.complete) == (((1173.75,),), ("MB/s",), 5, True)
    assert dict(table.context) == {
        "protocol": "TCP",
        "side": "client",
        "role": "sender",
        "streams": 1,
        "interval": 3.0,
    }
    assert key_of(table) == "iperf2/iperf2"


def test_of_several_streams_the_sum_counts() -> None:
    (table,) = parse(STREAMS).tables
    assert table.rows == ((1173.75,),)
    assert key_of(table) == "iperf2/iperf2/2-streams"


def test_a_sum_alone_is_of_several_streams() -> None:
    (table,) = parse("[SUM]  0.0-30.0 sec    337 GBytes  96.4 Gbits/sec\n").tables
    assert key_of(table) == "iperf2/iperf2/several-streams"
    assert table.rows == ((12050.0,),)


def test_several_streams_without_their_sum_are_a_failure() -> None:
    parsed = parse("".join(line for line in STREAMS.splitlines(keepends=True) if "[SUM]" not in line))
    assert parsed.tables == ()
    assert parsed.failures == (Remark(6, "a run without the sum of its streams"),)


def test_over_udp_the_server_says_what_arrived() -> None:
    (table,) = parse(DATAGRAMS).tables
    assert table.rows == ((125.0,), (124.625,))
    assert (table.context["role"], table.context["lost"], table.context["datagrams"]) == (
        *("sender, receiver", 2551),
        850341,
    )


def test_bytes_are_binary() -> None:
    (table,) = parse(f"{ONE}[  3]  0.0-10.0 sec  10.9 GBytes  1.09 GBytes/sec\n").tables
    assert table.rows[0][0] == pytest.approx(1.09 * 2**30 / 1e6)


def test_clients_of_a_server_one_after_another_are_runs_of_their_own() -> None:
    listening = "Server listening on TCP port 5001\n"
    report = "[  3]  0.0-10.0 sec  10.9 GBytes  9.36 Gbits/sec\n"
    tables = parse(f"{listening}{ONE}{report}{ONE.replace('3', '4', 1)}{report.replace('3', '4', 1)}").tables
    assert [(table.context["role"], table.rows) for table in tables] == 2 * [("receiver", ((1170.0,),))]


@pytest.mark.parametrize("seconds", ["1.0", "2.0"])
def test_a_short_report_alone_may_be_an_interval(seconds: str) -> None:
    moved = float(seconds) * 1.09
    parsed = parse(f"{ONE}[  3]  0.0- {seconds} sec  {moved:.2f} GBytes  9.36 Gbits/sec\n")
    assert (parsed.tables, parsed.failures) == ((), (Remark(1, "a run without its report"),))


def test_a_rate_that_its_bytes_contradict_is_a_failure() -> None:
    parsed = parse(INTERVALS.replace("0.0- 3.0 sec  3.28", "0.0- 3.0 sec  32.8"))
    assert parsed.tables == ()
    assert parsed.failures[1].text.startswith("figures that contradict each other: [  3]  0.0- 3.0 sec")


def test_a_refused_connection_is_a_failure_and_iperf3_another_tool() -> None:
    refused = "Client connecting to 10.1.0.2, TCP port 5001\nconnect failed: Connection refused\n"
    assert [failure.line for failure in parse(refused).failures] == [1, 2]
    with pytest.raises(ParseError):
        parse((MADE / "iperf3-one-stream.txt").read_text(encoding="utf-8"))


def test_a_run_that_stood_still_or_contradicts_its_intervals_is_a_failure() -> None:
    def failures(*gbit_s: float, closing: float | None = None) -> list[str]:
        mean = sum(gbit_s) / len(gbit_s) if closing is None else closing
        lines = [*((at, at + 1, rate) for at, rate in enumerate(gbit_s)), (0, len(gbit_s), mean)]
        text = "".join(
            f"[  3] {start:4.1f}-{end:4.1f} sec  {rate * (end - start) / 8 / 1.0737:.3f} GBytes  {rate:.2f} Gbits/sec\n"
            if rate
            else f"[  3] {start:4.1f}-{end:4.1f} sec  0.00 Bytes  0.00 bits/sec\n"
            for start, end, rate in lines
        )
        return [failure.text for failure in parse(ONE + text).failures]

    assert failures(9.4, 9.4, 9.4, 9.4) == failures(0, 9.4, 9.4, 9.4) == []
    assert failures(9.4, 9.4, 0, 0) == ["2 of 4 seconds at 0 bits/s: 2.0 to 4.0 s"]
    (said,) = failures(9.4, 4.7, 4.7, 9.4, closing=9.4)
    assert said.startswith("figures that contradict each other: the mean of the intervals is ")


LISTENING = "Server listening on TCP port 5001\n"
CONNECTING = "Client connecting to 10.1.0.2, TCP port 5001\n"
BACK = "[  4] local 10.1.0.1 port 5001 connected with 10.1.0.2 port 40010\n"
FORTH_REPORT = "[  3]  0.0-10.0 sec  1.09 GBytes   936 Mbits/sec\n"
BACK_REPORT = "[  4]  0.0-10.0 sec  10.9 GBytes  9.36 Gbits/sec\n"


@pytest.mark.parametrize(
    "text",
    [
        LISTENING + CONNECTING + ONE + BACK + FORTH_REPORT + BACK_REPORT,
        LISTENING + BACK + CONNECTING + ONE + BACK_REPORT + FORTH_REPORT,
        CONNECTING
        + ONE.replace("5001", "5001 (full-duplex)")
        + (BACK_REPORT + FORTH_REPORT).replace("[  4]", "[ *3]")
        + "[SUM]  0.0-10.0 sec  12.0 GBytes  10.3 Gbits/sec\n",
    ],
    ids=["client of -d", "server of -d", "full-duplex"],
)
def test_both_ways_at_once_are_two_rows_and_their_sum_hides_neither(text: str) -> None:
    (table,) = detect.parse(text).tables
    assert (table.rows, table.context["role"], table.complete) == (((117.0,), (1170.0,)), "forth, back", True)
    assert key_of(table) == "iperf2/iperf2/both-ways"
    (bandwidth,) = curves(table, "iperf2/iperf2/both-ways")
    assert bandwidth.values == (117.0,)


def test_one_way_after_the_other_is_two_runs() -> None:
    tables = parse(LISTENING + CONNECTING + ONE + FORTH_REPORT + BACK + BACK_REPORT).tables
    assert [key_of(table) for table in tables] == 2 * ["iperf2/iperf2"]


def test_a_reversed_stream_alone_is_one_way() -> None:
    (table,) = parse((ONE + BACK_REPORT).replace("[  3]", "[ *3]").replace("[  4]", "[ *3]")).tables
    assert key_of(table) == "iperf2/iperf2"


def test_one_direction_without_its_report_is_a_failure() -> None:
    (failure,) = parse(LISTENING + CONNECTING + ONE + BACK + FORTH_REPORT).failures
    assert failure == Remark(3, "a run without its report, both ways at once")


def test_whole_lines_of_connections_are_no_broken_ones() -> None:
    streams = "".join(ONE.replace("[  3]", f"[  {number}]") for number in (3, 4, 5, 6))
    reports = "".join(BACK_REPORT.replace("[  4]", f"[  {number}]") for number in (3, 4, 5, 6))
    assert detect.parse(streams + reports).failures == (Remark(1, "a run without the sum of its streams"),)


@pytest.mark.parametrize(
    ("cell", "instead"),
    [
        *(("[  3]", found) for found in ("[nan]", "[ -3]", "[***]")),
        *(("0.0-10.0", found) for found in ("0.0-nan", "0.0--10.0", "0,0-10,0", "0.0-")),
        *(("10.9 G", found) for found in ("inf G", "-10.9 G", "10,9 G", "1e308 G", " G")),
        *(("9.36", found) for found in ("nan", "-9.36", "9,36", "1e-320", "9,360.0", "********", "")),
    ],
)
def test_a_report_that_cannot_be_read_is_a_failure_with_its_line(cell: str, instead: str) -> None:
    report = BACK_REPORT.replace("[  4]", "[  3]")
    assert parse(ONE + report).failures == ()
    wrong = report.replace(cell, instead)
    assert wrong != report
    assert detect.parse(ONE + wrong).failures == (Remark(2, f"a report that cannot be read: {wrong.strip()}"),)


def test_an_interval_that_cannot_be_read_is_the_only_failure() -> None:
    wrong = "[  3]  0.0- 1.0 sec  inf GBytes  9.41 Gbits/sec"
    parsed = detect.parse(INTERVALS.replace("[  3]  0.0- 1.0 sec  1.10 GBytes  9.41 Gbits/sec", wrong))
    assert parsed.failures == (Remark(7, f"a report that cannot be read: {wrong}"),)
    assert [table.complete for table in parsed.tables] == [False]


def test_a_report_after_one_that_cannot_be_read_is_of_an_incomplete_run() -> None:
    report = BACK_REPORT.replace("[  4]", "[  3]")
    (table,) = parse(ONE + report.replace("9.36", "nan") + report).tables
    assert not table.complete
