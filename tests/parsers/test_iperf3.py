"""iperf3's runs, one trap per test. Texts are synthetic; the corpus' values were read by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from railyard.benchmarks.metrics import key_of
from railyard.parsers.iperf3 import parse
from railyard.parsers.output import ParseError, Remark, Table
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.target import of_link

#: Sender and receiver of every run of the reference corpus, read by hand.
CORPUS = {
    "ipoib_edr_azurehc_iperf3.txt": ((2362.5, 69), (2362.5, None)),
    "kubeovn_qos_before.txt": ((106.0, 5119), (105.75, None)),
    "kubeovn_qos_limited.txt": ((3.7375, 2), (3.625, None)),
}
BEGIN = "Connecting to host 10.0.0.2, port 5201\n"
FIVE = "[  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201\n"
SEVEN = "[  7] local 10.0.0.1 port 40002 connected to 10.0.0.2 port 5201\n"
HEAD = "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
INTERVAL = "[  5]   0.00-1.00   sec  1.10 GBytes  9.41 Gbits/sec    0   1.25 MBytes       \n"
LINE = "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
END = "[ ID] Interval           Transfer     Bitrate         Retr\n"
SENT = "[  5]   0.00-2.00   sec  2.19 GBytes  9.40 Gbits/sec    3             sender\n"
RECEIVED = "[  5]   0.00-2.04   sec  2.18 GBytes  9.36 Gbits/sec                  receiver\n"
DONE = "\niperf Done.\n"
RUN = BEGIN + FIVE + HEAD + INTERVAL + LINE + END + SENT + RECEIVED + DONE


def rows(table: Table) -> Any:
    """Return the rows, for approximate comparison."""
    return table.rows


@pytest.mark.parametrize("name", CORPUS)
def test_the_corpus_holds(name: str, corpus: Path) -> None:
    parsed = parse((corpus / "iperf3" / name).read_text(encoding="utf-8"))
    (table,) = parsed.tables
    assert rows(table) == (pytest.approx(CORPUS[name][0]), CORPUS[name][1])
    assert (table.line, table.complete, table.context["role"], table.context["interval"]) == (
        1,
        True,
        "sender, receiver",
        10.0,
    )
    assert (parsed.failures, parsed.remarks) == ((), ())


def test_the_closing_lines_are_the_rows() -> None:
    parsed = parse("iperf 3.16\nLinux vm1 6.1.0\n" + RUN)
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line) == ("iperf3", "3.16", "iperf3", 3)
    assert (table.columns, table.units) == (("bandwidth", "retransmits"), ("MB/s", None))
    assert rows(table) == ((pytest.approx(1175.0), 3), (pytest.approx(1170.0), None))
    assert table.complete
    assert dict(table.context) == {"side": "client", "role": "sender, receiver", "streams": 1, "interval": 2.0}
    assert [remark.text for remark in parsed.remarks] == ["Linux vm1 6.1.0"]


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("940 Mbits/sec", 117.5),
        ("30.0 Kbits/sec", 0.00375),
        ("0.00 bits/sec", 0.0),
        ("1.00 Tbits/sec", 125000.0),
        ("1.00 MBytes/sec", 1.048576),  # -f M
        ("1.00 GBytes/sec", 1073.741824),
    ],
)
def test_bits_are_decimal_and_bytes_are_binary(printed: str, value: float) -> None:
    (table,) = parse(RUN.replace("9.40 Gbits/sec", printed)).tables
    assert rows(table)[0][0] == pytest.approx(value)


def test_of_several_streams_the_sums_are_the_rows() -> None:
    sums = "[SUM]   0.00-2.00   sec  4.38 GBytes  18.8 Gbits/sec    6             sender\n"
    sums += "[SUM]   0.00-2.04   sec  4.36 GBytes  18.7 Gbits/sec                  receiver\n"
    streams = SENT + RECEIVED + (SENT + RECEIVED).replace("[  5]", "[  7]")
    text = BEGIN + FIVE + SEVEN + HEAD + INTERVAL + LINE + END + streams
    (table,) = parse(text + sums + DONE).tables
    assert rows(table) == ((pytest.approx(2350.0), 6), (pytest.approx(2337.5), None))
    assert (table.context["streams"], table.complete) == (2, True)
    assert parse(text).tables == ()
    assert parse(text).failures == (Remark(1, "a run without the sum of its streams"),)


def test_both_ways_are_rows_of_one_run() -> None:
    def way(text: str, name: str) -> str:
        return text.replace("[  5]", f"[  {5 if name == 'TX-C' else 7}][{name}]")

    text = BEGIN + FIVE + SEVEN + HEAD.replace("[ ID]", "[ ID][Role]") + LINE + END.replace("[ ID]", "[ ID][Role]")
    first = text + way(SENT, "TX-C") + way(RECEIVED, "TX-C")
    (table,) = parse(first + way(SENT, "RX-C") + way(RECEIVED, "RX-C")).tables
    assert table.context["role"] == "TX-C sender, TX-C receiver, RX-C sender, RX-C receiver"
    assert (table.context["streams"], len(table.rows), table.complete) == (1, 4, True)
    assert not parse(first).tables[0].complete
    assert key_of(table) == "iperf3/iperf3/both-ways"


def test_of_both_ways_the_slower_one_counts() -> None:
    sums = {
        f"sum_{way}": {"seconds": 9, "bits_per_second": 8e6 * rate}
        for way, rate in (
            ("sent", 112),
            ("received", 111),
            ("sent_bidir_reverse", 1170),
            ("received_bidir_reverse", 1169),
        )
    }
    start = {"test_start": {"protocol": "TCP", "num_streams": 1, "bidir": 1}}
    (found,) = judge(parse(as_json(start=start, end=sums)), of_link("eth-10"))
    assert (found.state, found.curves[0].curve.values) == ("fail", (111.0,))
    miss = found.rules[4].miss
    assert miss is not None and (miss.figure.value, round(miss.bound, 1)) == (111.0, 495.7)


def test_udp_names_what_was_lost_and_the_old_form_names_no_side() -> None:
    heading = "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
    new = "[  5]   0.00-2.00   sec   256 KBytes  1.05 Mbits/sec  0.000 ms  0/180 (0%)  sender\n"
    new += "[  5]   0.00-2.04   sec   250 KBytes  1.00 Mbits/sec  0.021 ms  4/180 (2.2%)  receiver\n"
    (table,) = parse(BEGIN + FIVE + heading + LINE + heading + new + DONE).tables
    assert (table.columns, rows(table)) == (("bandwidth",), ((pytest.approx(0.13125),), (0.125,)))
    assert (table.context["protocol"], table.context["lost"], table.context["datagrams"]) == ("UDP", 4, 180)
    old = "[  5]   0.00-2.00   sec   256 KBytes  1.05 Mbits/sec  0.021 ms  4/180 (2.2%)  \n[  5] Sent 180 datagrams\n"
    parsed = parse(BEGIN + FIVE + heading + old.partition("\n")[0] + "\n" + LINE + heading + old + DONE)
    assert rows(parsed.tables[0]) == ((pytest.approx(0.13125),),)
    assert (parsed.tables[0].context["role"], parsed.tables[0].complete, parsed.remarks) == ("sender", True, ())


def test_omitted_intervals_and_timestamps_change_nothing() -> None:
    omitted = RUN.replace(INTERVAL, INTERVAL.replace("       \n", "       (omitted)\n") + INTERVAL)
    stamped = "".join(f"Sat Nov 21 15:20:00 2026 {line}" for line in RUN.splitlines(keepends=True))
    assert parse(omitted).tables == parse(RUN).tables
    assert parse(stamped).tables[0].rows == parse(RUN).tables[0].rows


def seconds_of(*gbit_s: float, stream: str = "  5", closing: float | None = None) -> str:
    """Return a run with an interval of a second for each rate, and their mean (or ``closing``) as its closing lines."""
    lines = "".join(
        f"[{stream}] {at:6.2f}-{at + 1:.2f}   sec  {rate / 8.59:.2f} GBytes  {rate:.2f} Gbits/sec    0   1 MBytes\n"
        if rate
        else f"[{stream}] {at:6.2f}-{at + 1:.2f}   sec  0.00 Bytes  0.00 bits/sec    2   1.41 KBytes       \n"
        for at, rate in enumerate(gbit_s)
    )
    mean = sum(gbit_s) / len(gbit_s) if closing is None else closing
    end = f"[{stream}]   0.00-{len(gbit_s)}.00  sec  9.99 GBytes  {mean:.2f} Gbits/sec"
    others = SEVEN if stream == "SUM" else ""
    return f"{BEGIN}{FIVE}{others}{HEAD}{lines}{LINE}{END}{end}    0             sender\n{end}   receiver\n{DONE}"


@pytest.mark.parametrize("stream", ["  5", "SUM"])
def test_a_run_that_stood_still_is_a_failure_that_names_the_seconds(stream: str) -> None:
    def failures(*gbit_s: float) -> list[str]:
        return [failure.text for failure in parse(seconds_of(*gbit_s, stream=stream)).failures]

    assert failures(*[9.4] * 3, *[0] * 7) == ["7 of 10 seconds at 0 bits/s: 3.0 to 10.0 s"]
    assert failures(9.4, 0, 9.4, 0, 0, 9.4) == ["3 of 6 seconds at 0 bits/s: 1.0 to 2.0 s, 3.0 to 5.0 s"]
    assert failures(*[9.4] * 4, 0.5, 0.1, *[9.4] * 4) == [
        "2 of 10 seconds at 62.50 MB/s or less, the median is 1175: 4.0 to 6.0 s"
    ]
    # the first one has the connections
    assert failures(0, 9.4, 9.4) == failures(0.1, 9.4, 9.4) == failures(9.4, 3.0, 9.4) == []


def test_the_time_out_of_a_lost_window_in_short_intervals_is_no_stall() -> None:
    def failures(*gbit_s: float) -> int:
        lines = seconds_of(*gbit_s)
        for at in range(len(gbit_s), -1, -1):  # intervals of 0.1 s
            lines = lines.replace(f"{at:6.2f}-{at + 1:.2f} ", f"{at / 10:6.2f}-{(at + 1) / 10:.2f} ")
        return len(parse(lines.replace(f"  0.00-{len(gbit_s)}.00", f"  0.00-{len(gbit_s) / 10:.2f}")).failures)

    assert failures(*[9.4] * 20, 0, 0, *[9.4] * 20) == 0
    assert failures(*[9.4] * 20, *[0] * 6, *[9.4] * 20) == 1


def test_the_short_rest_of_a_servers_run_may_be_empty() -> None:
    rest = "[  5]   3.00-3.04   sec  0.00 Bytes  0.00 bits/sec                  \n"
    assert parse(seconds_of(9.4, 9.4, 9.4).replace(LINE, rest + LINE)).failures == ()


def test_intervals_that_contradict_the_closing_lines_are_a_failure() -> None:
    (failure,) = parse(seconds_of(9.4, 0, 0, 9.4, closing=9.4)).failures
    assert failure.text == (
        "figures that contradict each other: the mean of the intervals is 587.5 MB/s, the closing lines say 1175 and "
        "1175 MB/s"
    )
    whole = seconds_of(9.4, 4.7, 4.7, 9.4, closing=9.4)
    assert len(parse(whole).failures) == 1
    without_one = [line for line in whole.splitlines(keepends=True) if "1.00-2.00" not in line]
    assert parse("".join(without_one)).failures == ()


def test_json_has_the_intervals_too() -> None:
    def report_of_rates(*bit_s: float) -> str:
        each = [
            {"sum": {"start": at, "end": at + 1, "bits_per_second": rate, "omitted": False}}
            for at, rate in enumerate(bit_s)
        ]
        mean = {"seconds": len(bit_s), "bytes": 1, "bits_per_second": sum(bit_s) / len(bit_s)}
        return as_json(intervals=each, end={"sum_sent": mean, "sum_received": mean})

    assert parse(report_of_rates(9e9, 9e9, 9e9)).failures == ()
    assert [each.text for each in parse(report_of_rates(9e9, 0, 9e9)).failures] == [
        "1 of 3 seconds at 0 bits/s: 1.0 to 2.0 s"
    ]


def test_every_connection_that_a_server_accepts_is_a_run() -> None:
    server = "Server listening on 5201 (test #1)\nAccepted connection from 10.0.0.1, port 40000\n" + FIVE + RECEIVED
    parsed = parse(server * 2)
    assert [(table.line, table.columns, table.context["side"]) for table in parsed.tables] == [
        (2, ("bandwidth",), "server"),
        (6, ("bandwidth",), "server"),
    ]


def test_an_interrupt_leaves_the_run_incomplete_and_is_a_failure() -> None:
    parsed = parse(RUN.replace(DONE, "iperf3: interrupt - the client has terminated\n"))
    assert (len(parsed.tables[0].rows), parsed.tables[0].complete) == (2, False)
    assert parsed.failures == (Remark(9, "iperf3: interrupt - the client has terminated"),)


def test_a_run_that_did_not_close_has_no_table() -> None:
    assert parse(BEGIN + FIVE + HEAD + INTERVAL).failures == (Remark(1, "a run without closing lines"),)
    assert parse("iperf3: error - unable to connect to server: Connection refused\n").tables == ()


def test_a_cut_run_has_no_row_that_is_cut() -> None:
    text = BEGIN + FIVE + HEAD + INTERVAL + LINE + END + SENT + RECEIVED
    assert [len(parse(text[:cut]).tables[0].rows) for cut in (-1, -2, -len(RECEIVED))] == [2, 1, 1]
    assert [parse(text[:cut]).tables[0].complete for cut in (-1, -2)] == [True, False]


def as_json(**changed: Any) -> str:
    start = {"version": "iperf 3.16", "test_start": {"protocol": "TCP", "num_streams": 4, "bidir": 0}}
    sent = {"seconds": 10.0001, "bits_per_second": 8e9, "retransmits": 12}
    received = {"seconds": 10.04, "bits_per_second": 7.2e9}
    whole: dict[str, Any] = {"start": start, "intervals": [], "end": {"sum_sent": sent, "sum_received": received}}
    return json.dumps(whole | changed, indent="\t") + "\n"


def test_json_gives_the_sums_of_each_object() -> None:
    parsed = parse("$ iperf3 -J -c 10.0.0.2\n" + as_json() + as_json(error="the server has terminated"))
    first, second = parsed.tables
    assert (first.version, first.line, first.columns) == ("3.16", 2, ("bandwidth", "retransmits"))
    assert (first.rows, first.complete) == (((1000.0, 12), (900.0, None)), True)
    assert dict(first.context) == {"protocol": "TCP", "streams": 4, "role": "sender, receiver", "interval": 10.0}
    assert (second.line, second.rows, second.complete) == (24, first.rows, False)
    assert parsed.failures == (Remark(24, "iperf3: the server has terminated"),)


def test_json_of_both_ways_and_of_udp() -> None:
    sums = {
        f"sum_{way}": {"seconds": 1, "bits_per_second": 8e6 * (1 + place)}
        for place, way in enumerate(("sent", "received", "sent_bidir_reverse", "received_bidir_reverse"))
    }
    start = {"test_start": {"protocol": "TCP", "num_streams": 1, "bidir": 1}}
    (table,) = parse(as_json(start=start, end=sums)).tables
    assert rows(table) == ((1.0,), (2.0,), (3.0,), (4.0,))
    assert table.context["role"] == "TX-C sender, TX-C receiver, RX-C sender, RX-C receiver"
    udp = {"sum": {"seconds": 1, "bits_per_second": 8e6, "lost_packets": 4, "packets": 180}}
    (table,) = parse(as_json(start={"test_start": {"protocol": "UDP", "num_streams": 1}}, end=udp)).tables
    assert (table.rows, table.context["lost"], table.context["datagrams"]) == (((1.0,),), 4, 180)


def test_a_json_stream_is_one_run() -> None:
    whole = json.loads(as_json())
    text = "".join(json.dumps({"event": key, "data": whole[key]}, separators=(",", ":")) + "\n" for key in whole)
    assert parse(text).tables[0].rows == ((1000.0, 12), (900.0, None))


def test_json_that_is_cut_gives_no_value() -> None:
    parsed = parse(as_json()[:-3])
    assert (parsed.tables, parsed.failures) == ((), (Remark(1, "JSON of iperf3 that ends before its closing brace"),))


@pytest.mark.parametrize(
    "text",
    ['{"start": 1}\n', "Client connecting to a, TCP port 5001\n[  3]  0.0-10.0 sec  1.10 GBytes   943 Mbits/sec\n"],
)
def test_a_text_that_is_no_output_of_iperf3_is_an_error(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.expected == 'output of iperf3: "Connecting to host …" or a closing line "… sec … sender"'
