"""The outputs of one client per rail as one: what is summed, where the worst counts, and parts that do not fit."""

from collections.abc import Callable

import pytest

from railyard.benchmarks import metrics
from railyard.benchmarks.moved_bytes import MovedBytes, table_payload
from railyard.parsers import fabtests, iperf3, netpipe, osu, perftest
from railyard.parsers.output import ParsedOutput, ParseError, Remark
from railyard.parsers.rail_parts import NEXT_LAUNCH, parse
from railyard.provision.replay.texts import OutputPlan, text_of


def of_rails(*texts: str) -> str:
    return "".join(f"# railyard: rail hsn{number}\n{text}" for number, text in enumerate(texts))


def made_output(key: str, times_us: tuple[float, ...], sizes: tuple[int, ...] = (1, 1 << 20)) -> str:
    return text_of(OutputPlan(key, sizes, times_us, "made for this test"))


STREAM = made_output("perftest/ib_write_bw", (1.0, 100.0))
SLOW = made_output("perftest/ib_write_bw", (2.0, 400.0))


def test_a_text_without_rails_is_the_tools_own() -> None:
    assert parse(STREAM, perftest.parse) == perftest.parse(STREAM)


def test_one_rail_is_its_own_table_on_its_line_of_the_whole_text() -> None:
    (alone,), (found,) = perftest.parse(STREAM).tables, parse(of_rails(STREAM), perftest.parse).tables
    assert (found.rows, found.line) == (alone.rows, alone.line + 1)


def test_at_once_bandwidths_and_rates_are_summed() -> None:
    (one,), (other,) = perftest.parse(STREAM).tables, perftest.parse(SLOW).tables
    (both,) = parse(of_rails(STREAM, SLOW), perftest.parse).tables
    key = "perftest/ib_write_bw"
    of_both = zip(*(metrics.curves(each, key) for each in (one, other, both)), strict=True)
    for first, second, summed in of_both:
        assert summed.values == tuple(a + b for a, b in zip(first.values, second.values, strict=True))
    assert len(metrics.curves(both, key)) == 2
    assert (both.column("size"), both.context["rails"], both.complete) == ((1, 1 << 20), 2, True)


def test_in_turn_the_worst_counts() -> None:
    (other,) = perftest.parse(SLOW).tables
    (both,) = parse(of_rails(STREAM, SLOW), perftest.parse, worst=True).tables
    assert both.column("bandwidth") == other.column("bandwidth")
    quick, slow = made_output("perftest/ib_write_lat", (1.0, 100.0)), made_output("perftest/ib_write_lat", (1.5, 90.0))
    (both,) = parse(of_rails(quick, slow), perftest.parse, worst=True).tables
    assert metrics.curves(both, "perftest/ib_write_lat")[0].values == (1.5, 100.0)


def test_the_bytes_of_all_rails_are_counted() -> None:
    """A synthetic output has one repetition per size: 1 B and 1 MiB over each of two rails, in one direction."""
    (both,) = parse(of_rails(STREAM, SLOW), perftest.parse).tables
    assert table_payload(both, "perftest/ib_write_bw") == (MovedBytes(2 * ((1 << 20) + 1), 0), None)
    ping = made_output("netpipe/pingpong", (10.0, 100.0))
    (both,) = parse(of_rails(ping, ping), netpipe.parse).tables
    assert table_payload(both, "netpipe/pingpong") == (
        MovedBytes(6 * ((1 << 20) + 1), 6 * ((1 << 20) + 1)),
        MovedBytes(6 * ((1 << 20) + 1) + 200, 6 * ((1 << 20) + 1) + 200),
    )


def test_what_iperf3_counted_itself_is_summed() -> None:
    # 47 and 40 MB/s for ten seconds
    texts = [made_output("iperf3/iperf3", (1000.0 / rate,), (1000,)) for rate in (47.0, 40.0)]
    (both,) = parse(of_rails(*texts), iperf3.parse).tables
    assert metrics.curves(both, "iperf3/iperf3")[0].values[0] == pytest.approx(87.0)
    assert table_payload(both, "iperf3/iperf3") == (MovedBytes(870000000, 0), MovedBytes(870000000, 0))


def test_streams_in_four_are_another_benchmark_than_one() -> None:
    (four,) = iperf3.parse(made_output("iperf3/iperf3/4-streams", (10.0,), (1000,))).tables
    assert metrics.key_of(four) == "iperf3/iperf3/4-streams"
    with pytest.raises(ValueError, match=r"^iperf3/iperf3: the table is of iperf3/iperf3/4-streams$"):
        metrics.curves(four, "iperf3/iperf3")


def test_rails_of_unlike_sizes_are_no_whole_table() -> None:
    (both,) = parse(of_rails(STREAM, made_output("perftest/ib_write_bw", (1.0,), (2,))), perftest.parse).tables
    assert (both.rows, both.complete) == ((), False)


def test_a_rail_without_a_table_is_said() -> None:
    error = "Couldn't connect to 10.0.0.1:18515\n"
    text = of_rails(STREAM, error)
    found = parse(text, perftest.parse)
    line = text.split("\n").index(error.strip()) + 1
    assert found.tables == ()
    assert found.failures == (
        Remark(
            line,
            f'line {line}: found "Couldn\'t connect to 10.0.0.1:18515", expected output of perftest: a title "… BW '
            'Test" or a heading "#bytes #iterations …", for rail hsn1',
        ),
        Remark(0, "the rails' tables differ"),
    )


def test_a_rails_failures_stand_on_their_lines_of_the_whole_text() -> None:
    text = of_rails(STREAM, STREAM + " Completion with error at client\n")
    found = parse(text, perftest.parse)
    assert [text.split("\n")[failure.line - 1] for failure in found.failures] == [" Completion with error at client"]


def test_a_text_that_is_foreign_on_every_rail_is_refused() -> None:
    with pytest.raises(ParseError, match=r"^line 2: found 'nothing', expected .*, for rail hsn0$"):
        parse(of_rails("nothing\n", "nothing of perftest\n"), perftest.parse)


#: Recording, parser, key, one value of its curve: its size, and what two rails of 47.8 MB/s gave together.
RECORDED = [
    ("fabtests1.17-fi_pingpong-two-rails-tcp-veth.out", fabtests.parse, "fabtests/fi_pingpong", 4 << 20),
    ("iperf3.12-json-4-streams-two-rails-veth.out", iperf3.parse, "iperf3/iperf3/4-streams", 0),
    ("netpipe3.7.2-NPtcp-two-rails-veth.out", netpipe.parse, "netpipe/pingpong", 4 << 20),
]


@pytest.mark.parametrize(("name", "read", "key", "size"), RECORDED)
def test_our_own_runs_over_two_rails_read_as_their_sum(
    name: str, read: Callable[[str], ParsedOutput], key: str, size: int, recording: Callable[[str], str]
) -> None:
    (both,) = parse(recording(name), read).tables
    assert (both.complete, both.context["rails"], metrics.key_of(both)) == (True, 2, key)
    assert 94.0 < metrics.curves(both, key)[0].value_at(size) < 98.4
    moved = table_payload(both, key)
    assert moved is not None
    assert moved[0].tx > 100_000_000


def test_more_rails_than_any_node_has_are_refused_and_not_read_one_by_one() -> None:
    with pytest.raises(
        ParseError, match=r"line 257: found '# railyard: rail hsn0', expected at most 256 rails' outputs"
    ):
        parse("# railyard: rail hsn0\n" * 100_000, perftest.parse)


SMALL = made_output("osu/osu_bw", (1.0, 2.0), (1, 2))
LARGE = made_output("osu/osu_bw", (3.0, 4.0), (4, 8))


def of_launches(*texts: str) -> str:
    return f"{NEXT_LAUNCH}\n".join(texts)


def test_two_launches_are_one_table_from_small_to_large_messages() -> None:
    (small,), (large,) = osu.parse(SMALL).tables, osu.parse(LARGE).tables
    found = parse(of_launches(SMALL, LARGE), osu.parse)
    (both,) = found.tables
    assert both.rows == (*small.rows, *large.rows) and both.column("size") == (1, 2, 4, 8)
    assert (both.line, both.complete, found.failures) == (small.line, True, ())
    assert metrics.curves(both, "osu/osu_bw")[0].sizes == (1, 2, 4, 8)


def test_an_output_of_one_launch_is_read_as_before() -> None:
    assert parse(SMALL, osu.parse) == osu.parse(SMALL)


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        (SMALL, SMALL, "the launches of one run measured the same sizes: found 1 B after 2 B, expected larger ones"),
        (LARGE, SMALL, "the launches of one run measured the same sizes: found 1 B after 8 B, expected larger ones"),
        (
            SMALL, made_output("osu/osu_bibw", (3.0, 4.0), (4, 8)),
            "the launches of one run differ in their benchmark: found osu_bibw, expected osu_bw",
        ),
        (
            SMALL, LARGE.replace("Test v", "Test v9"),
            "the launches of one run differ in their version: found 97.4, expected 7.4",
        ),
        (SMALL, LARGE * 2, "the launches' tables differ"),
    ],
)  # fmt: skip
def test_launches_that_are_not_of_one_run_are_a_failure(first: str, then: str, said: str) -> None:
    found = parse(of_launches(first, then), osu.parse)
    assert [failure.text for failure in found.failures] == [said]
    assert all(not table.complete for table in found.tables) or said.endswith("differ")


def test_a_launch_that_printed_nothing_of_its_tool_is_a_failure_with_its_line() -> None:
    found = parse(of_launches(SMALL, "\nnothing\n"), osu.parse)
    (failure,) = found.failures
    assert failure.line == SMALL.count("\n") + 3 and failure.text.endswith("for launch 2 of 2")
    with pytest.raises(ParseError, match="for launch 1 of 2"):
        parse(of_launches("nothing\n", "nothing\n"), osu.parse)


def test_there_are_at_most_four_launches() -> None:
    with pytest.raises(ParseError, match="at most 4 launches' outputs"):
        parse(of_launches(*[SMALL] * 5), osu.parse)
