"""Output of sockperf: half round trips, its binary MBps, its tests and sizes, and what is cut. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.parsers.output import ParseError, Remark
from railyard.parsers.sockperf import parse

MADE = Path(__file__).parent / "made"
PING_PONG = (MADE / "sockperf-ping-pong.txt").read_text(encoding="utf-8")
UNDER_LOAD = (MADE / "sockperf-under-load-full-rtt.txt").read_text(encoding="utf-8")
THROUGHPUT = (MADE / "sockperf-throughput.txt").read_text(encoding="utf-8")
COMMAND = PING_PONG.partition("\n")[0]


def test_a_ping_pong_has_its_mean_and_its_percentiles_in_us() -> None:
    parsed = parse(PING_PONG)
    (table,) = parsed.tables
    assert (table.version, table.line, table.complete) == ("3.10-0.git5ebd327da983", 11, True)
    assert dict(zip(table.columns, table.rows[0], strict=True)) == {
        "size": 64,
        "latency": 14.021,
        "latency_std_dev": 1.333,
        "dropped": 0,
        "duplicated": 0,
        "observations": 55190,
        "latency_max": 187.414,
        "latency_99.999": 187.414,
        "latency_99.99": 61.207,
        "latency_99.9": 31.515,
        "latency_99": 19.218,
        "latency_90": 15.111,
        "latency_75": 14.302,
        "latency_50": 13.711,
        "latency_25": 13.222,
        "latency_min": 12.105,
    }
    assert dict(table.context) == {"protocol": "TCP", "server": 0}
    assert key_of(table) == "sockperf/ping-pong"
    assert (curves(table, "sockperf/ping-pong")[0].sizes, parsed.failures) == ((64,), ())


def test_without_a_command_the_figures_show_a_ping_pong_of_an_unknown_size() -> None:
    (table,) = parse(PING_PONG.replace(f"{COMMAND}\n", "")).tables
    assert key_of(table) == "sockperf/ping-pong"
    assert "size" not in table.columns


def test_full_round_trips_keep_their_name_and_the_latency_is_half() -> None:
    (table,) = parse(UNDER_LOAD).tables
    assert key_of(table) == "sockperf/under-load"
    assert (table.column("round_trip"), table.column("latency")) == ((41.33,), (20.665,))
    assert (table.column("round_trip_99"), table.column("dropped")) == ((58.201,), (2,))
    assert "latency_99" not in table.columns


def test_a_throughput_is_decimal_and_its_size_follows_from_its_figures() -> None:
    noted, unsaid = parse(THROUGHPUT).tables
    assert noted.rows[0][:3] == (4096, 1375350, 1250312)
    assert noted.column("bandwidth")[0] == pytest.approx(1250312 * 4096 / 1e6, rel=1e-6)
    assert unsaid.column("size") == (1472,)
    assert (key_of(noted), key_of(unsaid)) == ("sockperf/throughput", "sockperf/throughput")


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ("-m 64 -t 2", (64,)),
        ("--msg-size=1024", (1024,)),
        ("-t 2", (14,)),
        ("-m 64 --range 8", None),
        ("-t 2 -m", None),
        ("-t 2 --msg-", None),
        ("-t 2 \\\n  -m 64", None),
        ("-t 2 -m 6\n4", None),
    ],
)
def test_the_size_of_a_ping_pong_is_that_of_a_whole_command(options: str, sizes: tuple[int, ...] | None) -> None:
    (table,) = parse(PING_PONG.replace("-m 64 -t 2", options)).tables
    assert (table.column("size") if "size" in table.columns else None) == sizes


def test_a_page_that_quotes_marks_and_drops_what_looks_like_html_changes_nothing() -> None:
    shown = "".join(f"> {line}" for line in PING_PONG.splitlines(keepends=True))
    shown = shown.replace("<MAX>", "MAX").replace("<MIN>", "MIN").replace("14.021 usec", "**14.021 usec**")
    assert parse(shown).tables == parse(PING_PONG).tables


def test_a_burst_is_another_benchmark() -> None:
    text = PING_PONG.replace("Summary: Latency is", "Summary: Latency of burst of 10 messages is")
    assert key_of(parse(text).tables[0]) is None


def test_two_means_that_differ_and_a_bandwidth_that_does_not_fit_its_rate_are_failures() -> None:
    parsed = parse(PING_PONG.replace("Summary: Latency is 14.021", "Summary: Latency is 4.021"))
    assert parsed.failures == (Remark(15, "figures that contradict each other: Summary: Latency is 4.021 usec"),)
    assert not parsed.tables[0].complete
    noted, _ = parse(THROUGHPUT.replace("msg-size=4096.", "msg-size=2048.")).tables
    assert "bandwidth" not in noted.columns


def test_no_answer_is_a_failure_and_a_server_alone_has_no_figure() -> None:
    lost = "sockperf: No messages were received from the server. Is the server down?\n"
    assert parse(lost).failures == (Remark(1, lost.strip()),)
    server = "sockperf: [SERVER] listen on:\n[ 0] IP = 0.0.0.0  PORT = 11111 # UDP\n"
    assert parse(server).failures == (Remark(1, "no figures: a server prints none, its client's output has them"),)


def test_a_table_without_its_last_line_is_not_whole_and_another_text_is_refused() -> None:
    assert not parse(PING_PONG[: PING_PONG.index("sockperf: ---> <MIN>")]).tables[0].complete
    with pytest.raises(ParseError):
        parse("qperf: rc_lat\n")
