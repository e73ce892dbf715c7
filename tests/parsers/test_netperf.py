"""netperf's tables and omni's fields, one trap per test. Texts are synthetic."""

import pytest

from railyard.parsers import detect
from railyard.parsers.netperf import parse
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import of_link
from tests.parsers.samples import MADE


def title(test: str, more: str = "") -> str:
    return f"MIGRATED {test} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.1.0.2 () port 0 AF_INET{more}\n"


def stream(rate: str, unit: str = "10^6bits/sec", test: str = "TCP STREAM") -> str:
    return (
        f"{title(test)}Recv   Send    Send\nSocket Socket  Message  Elapsed\n"
        "Size   Size    Size     Time     Throughput\n"
        f"bytes  bytes   bytes    secs.    {unit}\n\n131072  16384  16384    10.02    {rate}\n"
    )


def requests(rate: str = "20000.00", sizes: tuple[int, int] = (64, 64), more: str = " : first burst 0") -> str:
    return (
        f"{title('TCP REQUEST/RESPONSE', more)}Local /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\n"
        "Send   Recv   Size     Size    Time     Rate\nbytes  Bytes  bytes    bytes   secs.    per sec\n\n"
        f"16384  131072 {sizes[0]}       {sizes[1]}      10.00    {rate}\n16384  131072\n"
    )


def single_row(parsed: ParsedOutput) -> dict[str, object]:
    (table,) = parsed.tables
    assert table.complete
    return {"benchmark": table.benchmark, **dict(zip(table.columns, table.rows[0], strict=True))}


def verdict(text: str, link: str = "eth-10") -> Judgement:
    (found,) = judge(parse(text), of_link(link), text=text)
    return found


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("10^6bits/sec", 1 / 8), ("10^9bits/s", 125), ("10^3bits/sec", 1 / 8000), ("MBytes/sec", 1.048576)],
)
def test_the_heading_names_the_unit(unit: str, factor: float) -> None:
    assert single_row(parse(stream("9388.40", unit)))["bandwidth"] == pytest.approx(9388.40 * factor)


@pytest.mark.parametrize("unit", ["10^6foot/sec", "GB/sec", "10^6bits"])
def test_an_unknown_unit_gives_no_figure(unit: str) -> None:
    parsed = parse(stream("9388.40", unit))
    assert parsed.tables == ()
    assert parsed.failures == ((1, "a title without any figure: tcp_stream"),)


@pytest.mark.parametrize("cut", ["9388.4", "9388.", "938", ""])
def test_a_throughput_without_both_decimals_is_cut(cut: str) -> None:
    assert parse(stream(cut)).tables == ()


def test_the_other_direction_is_a_test_of_its_own() -> None:
    assert single_row(parse(stream("9388.40", test="TCP MAERTS")))["benchmark"] == "tcp_maerts"


def test_shares_of_the_processors_are_no_throughput() -> None:
    text = stream("9388.40   4.12   5.20   1.127   1.330", "10^6bits/s  % S      % S      us/KB   us/KB")
    assert single_row(parse(text))["bandwidth"] == pytest.approx(1173.55)
    assert parse(text.replace("1.127   1.330", "1.127")).tables == ()


def test_datagrams_count_where_they_arrived() -> None:
    text = (MADE / "netperf-udp_stream-cpu.txt").read_text(encoding="utf-8")
    found = single_row(parse(text))
    assert (found["sent"], found["bandwidth"]) == (pytest.approx(1194.24), pytest.approx(1120.345))
    (sent,) = parse(text[: text.rindex("212992")]).tables
    assert (sent.columns, sent.complete) == (("sent",), False)


def test_half_a_transaction_is_the_latency() -> None:
    found = single_row(parse(requests()))
    assert (found["transactions"], found["size"], found["latency"]) == (20000.0, 64, 25.0)


@pytest.mark.parametrize(
    "text",
    [requests(more=" : first burst 16"), requests(sizes=(64, 1024)), requests("0.00")],
    ids=["burst", "sizes", "0"],
)
def test_transactions_that_overlap_or_differ_in_size_are_no_latency(text: str) -> None:
    assert "latency" not in single_row(parse(text))
    assert verdict(text).state == "not-judged"


def test_a_burst_whose_title_was_broken_is_not_complete() -> None:
    for at in ("first burst 1\n6", "first\nburst 16", "\nfirst burst 16"):
        (table,) = parse(requests(more=f" : {at}")).tables
        assert not table.complete


def test_fields_of_omni_say_what_was_measured() -> None:
    text = (MADE / "netperf-omni-k.txt").read_text(encoding="utf-8")
    assert single_row(parse(text)) == {"benchmark": "tcp_stream", "bandwidth": pytest.approx(9402.13 / 8)}
    without = parse(text.replace("PROTOCOL=TCP\n", ""))
    assert without.tables == ()
    assert "expected THROUGHPUT and THROUGHPUT_UNITS with PROTOCOL and DIRECTION" in without.failures[0].text
    assert single_row(parse(text.replace("=TCP", "=UDP")))["bandwidth"] == pytest.approx(9402.13 / 8)


def test_two_runs_in_one_file_are_two_tables_and_mixed_ones_lose_a_figure() -> None:
    one, other = stream("9388.40"), stream("4000.00")
    assert [table.rows[0][0] for table in parse(one + other).tables] == [pytest.approx(1173.55), 500.0]
    mixed = "".join(a + b for a, b in zip(one.splitlines(True), other.splitlines(True), strict=True))
    parsed = parse(mixed)
    assert parsed.failures
    assert not any(table.complete for table in parsed.tables)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (stream("9388.40"), "pass"),
        (stream("940.00"), "fail"),
        (requests(), "pass"),
        (requests("600.00"), "fail"),
        (stream("9388.40").replace("10.1.0.2 ()", "localhost (127.0.0.1)"), "not-judged"),
    ],
)
def test_it_is_judged_as_iperf3_and_sockperf_are(text: str, state: str) -> None:
    assert verdict(text).state == state


def test_a_server_that_is_not_there_is_a_failure() -> None:
    parsed = parse("establish control: are you sure there is a netserver listening on 10.1.0.2 at port 12865?\n")
    assert (parsed.tables, len(parsed.failures)) == ((), 1)


@pytest.mark.parametrize("text", ["", "netserver\n", "A,Throughput\n1,2\n", "PATH=/bin\nnetserver is there\n"])
def test_a_text_that_is_no_output_of_netperf_is_an_error(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_a_stream_of_short_calls_is_not_judged() -> None:
    found = verdict(stream("5352.33").replace("16384    10.02", "  256    10.02"))
    assert found.state == "not-judged"
    assert "each call sent 256 B" in found.sentence


def varied_output(throughput: str, more: str = " : +/-2.500% @ 99% conf. ", processor: str = "14.049") -> str:
    head, _, rest = stream("9388.40").partition("\n")
    return (
        f"{head}{more}\n!!! WARNING\n!!! Desired confidence was not achieved within the specified iterations.\n"
        "!!! This implies that there was variability in the test environment that\n"
        f"!!! must be investigated before going further.\n{throughput}"
        f"!!!                       Local CPU util  : {processor}%\n"
        f"!!!                       Remote CPU util : 3.944%\n\n{rest}"
    )


def of_throughput(width: str) -> str:
    return f"!!! Confidence intervals: Throughput      : {width}%\n"


@pytest.mark.parametrize("more", [" : +/-2.500% @ 99% conf. ", " : +/-2.5% @ 99% conf.  on result only : demo"])
def test_a_processor_whose_share_varied_says_nothing_of_the_throughput(more: str) -> None:
    read = parse(varied_output(of_throughput("4.981"), more))
    assert single_row(read)["bandwidth"] == pytest.approx(9388.40 / 8)
    assert (read.failures, ["only a processor's share" in remark.text for remark in read.remarks]) == ((), [True])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (varied_output(of_throughput("5.001")), "the throughput varied more than asked for: "),
        (
            varied_output(of_throughput("-1.8")),
            "the throughput varied more than asked for: ",
        ),  # 2.1: asked less reached
        (varied_output(""), "!!! WARNING"),
        (varied_output(of_throughput("0.100"), more=""), "the throughput varied"),  # nothing says what was asked for
    ],
)
def test_a_throughput_that_varied_too_much_is_a_failure(text: str, expected: str) -> None:
    read = parse(text)
    assert [failure.text[: len(expected)] for failure in read.failures] == [expected]
    assert [table.complete for table in read.tables] == [False]


@pytest.mark.parametrize("behind", ["0\n", "64\n", "1796083200\n"])
@pytest.mark.parametrize("name", sorted(path.name for path in MADE.glob("netperf-*.txt")))
def test_a_number_below_a_whole_run_is_no_part_of_it(name: str, behind: str) -> None:
    text = (MADE / name).read_text(encoding="utf-8")
    assert single_row(detect.parse(text + behind)) == single_row(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "THROUGHPUT=9402.13\nTHROUGHPUT_UNITS=10^6bits/s\nPROTOCOL=TCP\nDIRECTION=Send\nREMOTE_RECV_SIZE_REQUEST=1\n31072\n",
        requests().replace("20000.00\n", "20000\n64\n"),
        stream("9388.40   4.12   5.20   1.127   1.3", "10^6bits/s  % S      % S      us/KB   us/KB") + "30\n",
    ],
)
def test_a_number_that_may_be_the_rest_of_a_broken_line_spoils_the_run(text: str) -> None:
    assert not any(table.complete for table in parse(text).tables)


FIELDS = "THROUGHPUT=9400.00\nTHROUGHPUT_UNITS=10^6bits/s\n"
CSV = "Throughput,Throughput Units,Elapsed Time (sec)\n9400.00,10^6bits/s,10.00\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (title("UDP STREAM") + FIELDS, {"bandwidth": 1175.0}),
        (title("UDP STREAM") + CSV, {"bandwidth": 1175.0}),
        (title("UDP STREAM", " : no control") + FIELDS, {"sent": 1175.0}),
        (FIELDS + "PROTOCOL=UDP\nDIRECTION=Send\n", {"sent": 1175.0}),  # -N may have been given
        (FIELDS + "PROTOCOL=UDP\nDIRECTION=Send\nREMOTE_RECV_THROUGHPUT=8000.00\n", {"bandwidth": 1000.0}),
        (
            title("UDP STREAM") + "Local Send Throughput,Remote Recv Throughput,Throughput,Throughput Units\n"
            "9600.00,8000.00,9400.00,10^6bits/s\n",
            {"sent": 1200.0, "bandwidth": 1000.0},
        ),
        (title("TCP STREAM") + FIELDS + "REMOTE_RECV_THROUGHPUT=8000.00\n", {"bandwidth": 1175.0}),
    ],
)
def test_datagrams_of_omni_count_where_netserver_counted_them(text: str, expected: dict[str, float]) -> None:
    found = single_row(parse(text))
    assert {name: value for name, value in found.items() if name != "benchmark"} == pytest.approx(expected)


def test_a_throughput_of_datagrams_that_is_cut_gives_no_figure() -> None:
    assert parse(title("UDP STREAM") + FIELDS + "REMOTE_RECV_THROUGHPUT=800\n").tables == ()


HUMAN = "Throughput Throughput Elapsed\n           Units      Time\n\n\n9400.00    10^6bits/s 10.01\n"


@pytest.mark.parametrize("text", [HUMAN, "Throughput,Elapsed Time (sec)\n9400.00,10.00\n"])
def test_columns_that_are_not_read_are_refused_with_what_to_do(text: str) -> None:
    read = parse(title("TCP STREAM") + text)
    assert read.tables == ()
    assert read.failures[0].text == (
        "a title without any figure: tcp_stream; its columns are those of -O, or lack Throughput Units: run it with "
        "-k THROUGHPUT,THROUGHPUT_UNITS,PROTOCOL,DIRECTION"
    )


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (stream("9388.40"), "131072  16384  16384    10.02    4000.00"),
        (title("TCP STREAM") + CSV, "4000.00,10^6bits/s,10.00"),
    ],
)
def test_a_second_row_below_one_heading_is_a_failure(text: str, row: str) -> None:
    read = parse(f"{text}{row}\n")
    assert [failure.text for failure in read.failures] == [
        f'a second row below one heading: found "{row}", expected a title above each run (run it without -P 0)'
    ]
    assert [table.complete for table in read.tables] == [False]
