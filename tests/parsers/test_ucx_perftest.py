"""Output of ucx_perftest: its forms by release, its binary MB/s, its sizes, and what is cut. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.parsers import detect
from railyard.parsers.output import ParseError, Remark
from railyard.parsers.ucx_perftest import parse

MADE = Path(__file__).parent / "made"
TWO_RUNS = (MADE / "ucx_perftest-tag_bw-and-tag_lat.txt").read_text(encoding="utf-8")
BATCH = (MADE / "ucx_perftest-1.8-batch.txt").read_text(encoding="utf-8")
NAMED = (MADE / "ucx_perftest-final-only.txt").read_text(encoding="utf-8")
THREADS = (MADE / "ucx_perftest-two-threads-and-box.txt").read_text(encoding="utf-8")
BINARY_MB = 1.048576


def test_the_last_report_of_a_stream_is_its_row_and_its_rates_are_decimal() -> None:
    stream, pingpong = parse(TWO_RUNS).tables
    assert stream.columns == (
        *("size", "iterations", "overhead_50", "overhead_average", "overhead"),
        *("bandwidth_average", "bandwidth", "message_rate_average", "message_rate"),
    )
    assert stream.units == ("B", None, "us", "us", "us", "MB/s", "MB/s", "1/s", "1/s")
    assert stream.rows == (
        (1048576, 30000, 86.104, 86.76, 86.77, 11526.05 * BINARY_MB, 11524.72 * BINARY_MB, 11526, 11525),
    )
    assert (stream.benchmark, stream.complete, key_of(stream)) == ("tag_bw", True, "ucx_perftest/tag_bw")
    assert pingpong.columns[2:5] == ("latency_50", "latency_average", "latency")
    assert curves(pingpong, "ucx_perftest/tag_lat")[1].values == (1.043,)


def test_a_command_without_a_size_measures_8_bytes() -> None:
    assert parse(TWO_RUNS).tables[1].column("size") == (8,)


def test_sizes_follow_from_the_figures_without_a_command() -> None:
    text = "".join(line for line in TWO_RUNS.splitlines(keepends=True) if "user@" not in line)
    stream, pingpong = parse(text).tables
    assert (stream.column("size"), pingpong.column("size")) == ((1048576,), (8,))
    assert (key_of(stream), key_of(pingpong)) == ("ucx_perftest/bandwidth", None)


def test_a_stated_size_that_the_figures_contradict_does_not_count() -> None:
    (stream, _) = parse(TWO_RUNS.replace("-s 1048576", "-s 4096")).tables
    assert stream.column("size") == (1048576,)


def test_up_to_1_9_each_size_of_a_batch_is_a_row_of_its_test() -> None:
    latency, bandwidth = parse(BATCH).tables
    assert latency.columns[:5] == ("size", "iterations", "latency_typical", "latency_average", "latency")
    assert latency.column("size") == bandwidth.column("size") == (8, 4096, 65536)
    assert (key_of(latency), key_of(bandwidth)) == ("ucx_perftest/tag_lat", "ucx_perftest/tag_bw/one-at-a-time")
    assert curves(latency, "ucx_perftest/tag_lat")[1].values == (1.132, 2.502, 7.742)
    assert latency.context["name"] == "ucp_contig_tag_lat"


def test_names_in_rows_and_commas_in_whole_numbers_are_read() -> None:
    parsed = parse(NAMED)
    assert [(key_of(table), table.column("size")) for table in parsed.tables] == [
        ("ucx_perftest/ucp_put_lat", (4194304, 8388608)),
        ("ucx_perftest/ucp_put_bw", (4194304, 8388608)),
    ]
    assert parsed.tables[0].column("iterations") == (100000, 100000)
    assert parsed.tables[1].column("message_rate") == (2931, 1468)


def test_threads_have_one_row_without_averages_and_a_box_says_test_and_window() -> None:
    (table,) = parse(THREADS).tables
    assert table.columns == ("size", "iterations", "thread_overhead", "bandwidth", "message_rate")
    assert table.rows == ((65536, 200000, 11.266, 11095.33 * BINARY_MB, 177525),)
    assert (table.benchmark, table.context["window"], table.line) == ("stream_bw", 32, 5)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ("-O 1", "ucx_perftest/tag_bw/one-at-a-time"),
        ("-O 32", "ucx_perftest/tag_bw"),
        ("-m cuda,host", "ucx_perftest/tag_bw/device"),
        ("-l", "ucx_perftest/tag_bw/loopback"),
    ],
)
def test_what_makes_a_test_another_one_is_in_its_key(options: str, key: str) -> None:
    assert key_of(parse(TWO_RUNS.replace("-n 30000", f"-n 30000 {options}")).tables[0]) == key


def test_up_to_1_8_a_stream_has_one_message_under_way_and_its_heading_says_latency() -> None:
    old = TWO_RUNS.replace("overhead (usec)", " latency (usec)")
    assert key_of(parse(old).tables[0]) == "ucx_perftest/tag_bw/one-at-a-time"
    assert key_of(parse(old.replace("-n 30000", "-n 30000 -O 16")).tables[0]) == "ucx_perftest/tag_bw"


def test_put_bw_may_have_one_message_under_way_since_its_heading_names_no_release() -> None:
    put = TWO_RUNS.replace("-t tag_bw", "-t put_bw")
    assert key_of(parse(put).tables[0]) == "ucx_perftest/put_bw/one-at-a-time"
    assert key_of(parse(put.replace("-n 30000", "-n 30000 -O 32")).tables[0]) == "ucx_perftest/put_bw"


def test_a_test_without_its_last_report_has_no_row() -> None:
    cut = TWO_RUNS[: TWO_RUNS.index("Final:")]
    parsed = parse(cut)
    assert parsed.tables == ()
    assert parsed.failures == (Remark(5, "a test without its last report"),)


def test_up_to_1_9_the_last_report_of_a_text_may_be_an_interval() -> None:
    interval = BATCH.replace("         10000     5.710", "          7321     5.710")
    *_, bandwidth = parse(interval).tables
    assert bandwidth.column("size") == (8, 4096)
    assert not bandwidth.complete


def test_a_message_rate_that_lost_its_end_in_a_broken_line_is_a_failure() -> None:
    broken = TWO_RUNS.replace("       11525\n", "       115\n25\n")
    parsed = parse(broken)
    assert [table.benchmark for table in parsed.tables] == ["tag_lat"]
    assert parsed.failures[0].text.startswith("figures that contradict each other: Final:")


@pytest.mark.parametrize("below", ["0", "64", "$ echo $?\n0"])
def test_a_number_below_the_only_row_is_no_rest_of_it(below: str) -> None:
    rows = TWO_RUNS.splitlines(keepends=True)
    (table,) = detect.parse("".join([*rows[:6], rows[8], f"{below}\n"])).tables
    assert table.column("message_rate") == (11525,)


def test_a_digit_below_a_row_that_lost_it_is_a_failure() -> None:
    rows = TWO_RUNS.splitlines(keepends=True)
    parsed = detect.parse("".join([*rows[:6], rows[8].replace("11525\n", "1152\n"), "5\n"]))
    assert parsed.tables == () and parsed.failures


def test_seconds_for_a_message_and_a_rate_of_0_agree() -> None:
    row = "            10     0.000 3488170.147 3501741.219      28.00      27.89           0           0\n"
    heading = BATCH[BATCH.index("+-") : BATCH.index("+8/")]
    (table,) = parse(f"$ ucx_perftest node2 -t ucp_put_bw -s 102400000 -n 10\n{heading}{row}").tables
    assert (table.column("size"), table.column("bandwidth")) == ((102400000,), (27.89 * BINARY_MB,))


def test_a_refused_connection_and_a_server_alone_say_why_there_is_no_figure() -> None:
    refused = "[1.5] [node1:7:0]  perftest.c:391  UCX  ERROR client failed. connect() failed: Connection refused\n"
    assert parse(refused).failures[0].line == 1
    box = "".join(line for line in THREADS.splitlines(keepends=True) if line.startswith("| ") and ":" in line)
    assert parse(box).failures == (Remark(1, "no figures: a server prints none, its client's output has them"),)


def test_other_columns_are_a_failure_and_another_text_is_refused() -> None:
    parsed = parse(TWO_RUNS.replace("| average | overall |  average |", "| average | maximum |  average |"))
    assert parsed.tables == ()
    assert parsed.failures[0].text.startswith("a heading with other columns than ucx_perftest's")
    with pytest.raises(ParseError):
        parse("#bytes     #iterations    BW peak[MB/sec]\n")


def test_a_report_of_fewer_iterations_is_of_a_test_whose_heading_is_lost() -> None:
    text = (MADE / "ucx_perftest-1.8-batch.txt").read_text(encoding="utf-8")
    lines = text.splitlines(True)
    place = next(number for number, line in enumerate(lines) if line.startswith("+4096/ucp_contig_tag_lat"))
    parsed = parse("".join((*lines[:place], "# ", *lines[place:])))
    (failure,) = parsed.failures
    assert (failure.line, "the heading between them is lost" in failure.text) == (place + 2, True)
    known = [row for table in parse(text).tables for row in table.rows]
    assert all(row in known for table in parsed.tables for row in table.rows)
