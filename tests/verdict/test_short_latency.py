"""A half round trip of short messages that TCP may have carried, where the bound of its link is wide enough for TCP."""

from dataclasses import replace

import pytest

from railyard.parsers.detect import parse
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import of_link

ON_DEVICE = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"


def osu_latency(start_us: float, mb_s: float, powers: int, device: bool) -> Judgement:
    """Judge t = t0 + n/B from 1 B to 2^``powers`` B by HDR from GPUs, else by EFA."""
    title = f"# OSU MPI-CUDA Latency Test v7.3\n{ON_DEVICE}" if device else "# OSU MPI Latency Test v7.3\n"
    rows = "".join(f"{1 << n:<10}{start_us + (1 << n) / mb_s:>18.2f}\n" for n in range(powers + 1))
    text = f"{title}# Size          Latency (us)\n{rows}"
    (found,) = judge(parse(text), of_link("ib-hdr" if device else "efa-100"), text=text)
    return found


@pytest.mark.parametrize(("start_us", "device"), [(26.0, True), (23.0, False)])
def test_times_of_tcp_without_long_messages_are_not_judged(start_us: float, device: bool) -> None:
    found = osu_latency(start_us, 1_100.0, 13, device)
    assert (found.state, found.sentence) == (
        "not-judged",
        f"not judged: its {start_us:.2f} us at 1 B may be TCP, too, and its sizes end at 8 KiB; measure up to 1 MiB or "
        "more to see the link's rate",
    )


def test_a_time_that_tcp_does_not_reach_passes() -> None:
    assert osu_latency(5.0, 15_000.0, 13, device=True).state == "pass"


def test_long_messages_show_the_link() -> None:
    assert osu_latency(18.0, 20_000.0, 22, device=True).state == "pass"
    assert osu_latency(18.0, 9_000.0, 22, device=False).state == "pass"


@pytest.mark.parametrize(
    ("start_us", "state"), [(22.4, "pass"), (25.0, "not-judged"), (29.0, "not-judged"), (33.0, "fail")]
)
def test_a_latency_over_efa_that_tcp_on_the_same_card_reaches_too_fails(start_us: float, state: str) -> None:
    text = "# OSU MPI Latency Test v7.5\n# Size          Latency (us)\n" + "".join(
        f"{1 << n:<10}{start_us + (1 << n) / 3_000:>18.2f}\n" for n in range(23)
    )
    (found,) = judge(parse(text), of_link("efa-100"), text=text)
    assert found.state == state
    assert ("may be TCP over the same card" in found.sentence) == (state == "not-judged")


def test_a_long_first_size_over_efa_shows_no_tcp() -> None:
    text = "# OSU MPI Latency Test v7.5\n# Size          Latency (us)\n" + "".join(
        f"{1 << n:<10}{22.0 + (1 << n) / 3_000:>18.2f}\n" for n in range(13, 23)
    )
    (found,) = judge(parse(text), of_link("efa-100"), text=text)
    assert found.state == "pass"


def _fi_pingpong(messages: int) -> str:
    return "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n" + "".join(
        f"{1 << n:<8}{messages:<8}={messages:<8}1k 0.04s {(1 << n) / (20 + (1 << n) / 3_000):.2f} "
        f"{20 + (1 << n) / 3_000:.2f} 0.00\n"
        for n in range(6, 21, 2)
    )


def test_without_any_count_of_messages_a_ping_pong_is_judged_by_its_times() -> None:
    parsed = parse(text := _fi_pingpong(1000))
    place = parsed.tables[0].columns.index("iterations")
    rows = tuple((*row[:place], None, *row[place + 1 :]) for row in parsed.tables[0].rows)
    parsed = replace(parsed, tables=(replace(parsed.tables[0], rows=rows),))
    (found,) = judge(parsed, of_link("efa-100"), text=text)
    assert found.state == "pass"


@pytest.mark.parametrize(("messages", "state"), [(10, "not-judged"), (1000, "pass")])
def test_few_messages_of_fi_pingpong_include_the_set_up_of_its_connection(messages: int, state: str) -> None:
    text = _fi_pingpong(messages)
    (found,) = judge(parse(text), of_link("efa-100"), text=text)
    assert (found.state, "run it with -I 1000" in found.sentence) == (state, state == "not-judged")
