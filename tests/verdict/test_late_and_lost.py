"""A figure that holds, and the late or lost messages behind it."""

from pathlib import Path

import pytest

from railyard.parsers.detect import parse
from railyard.verdict.stored.judge import Judgement, judge
from railyard.verdict.stored.target import of_link
from tests.parsers.test_iperf3 import seconds_of

MADE = Path(__file__).parents[1] / "parsers/made"
SOCKPERF = (MADE / "sockperf-ping-pong.txt").read_text(encoding="utf-8")
THROUGHPUT = (MADE / "sockperf-throughput.txt").read_text(encoding="utf-8")
SEND_LAT = (MADE / "perftest-send_lat.txt").read_text(encoding="utf-8").replace(" 64  ", " 4   ")
OSU = "# OSU MPI Latency Test v7.5\n# Size  Avg Latency(us)  P50 Tail Lat(us)  P99 Tail Lat(us)\n" + "".join(
    f"{size}   {time}   {time}   {{late}}\n" for size, time in ((1, 1.2), (2, 1.2), (4, 1.2))
)


def judged(text: str, link: str) -> tuple[Judgement, ...]:
    return judge(parse(text), of_link(link), text=text)


def test_a_mean_far_above_the_typical_latency_is_not_judged() -> None:
    (healthy,) = judged(SEND_LAT, "ib-edr")
    assert healthy.state == "pass"
    some_late = SEND_LAT.replace("4.10 ", "9000.10 ").replace("1.09 ", "95.09 ")
    (late,) = judged(some_late, "ib-edr")
    assert late.state == "not-judged"
    assert late.sentence.startswith(
        "not judged: the typical latency holds its bound of 6.001 us at 2 B, but the mean of all messages (t_avg) is "
        "95.09 us: some were very late"
    )
    (slow,) = judged(some_late.replace("1.08 ", "31.08 "), "ib-edr")
    assert slow.state == "fail"  # its bound decides first


def test_a_late_hundredth_is_a_remark() -> None:
    (healthy,) = judged(OSU.format(late=2.5), "ib-edr")
    assert (healthy.state, [each for each in healthy.remarks if "took up to" in each]) == ("pass", [])
    (late,) = judged(OSU.format(late=9000.0), "ib-edr")
    assert late.state == "pass"
    (remark,) = [each for each in late.remarks if "took up to" in each]
    assert remark.startswith("99 % of the messages took up to 9000 us at 1 B: the bound of 6.001 us holds for the")


@pytest.mark.parametrize(("dropped", "state"), [(0, "pass"), (40, "pass"), (15190, "not-judged")])
def test_a_ping_pong_that_lost_messages_is_not_judged(dropped: int, state: str) -> None:
    (found,) = judged(SOCKPERF.replace("# dropped messages = 0", f"# dropped messages = {dropped}"), "eth-10")
    assert found.state == state
    assert (f"{dropped} of {dropped + 55190} messages were dropped" in found.sentence) == (state != "pass")


def test_what_a_socket_took_over_udp_is_not_judged() -> None:
    tcp, udp = judged(THROUGHPUT, "eth-40")
    assert (udp.state, udp.sentence) == (
        "not-judged",
        "not judged: over UDP sockperf counts what its own socket took, not what arrived",
    )
    assert "UDP" not in tcp.sentence


def test_segments_that_were_sent_again_are_counted_and_said() -> None:
    def remarks(again: int) -> list[str]:
        text = seconds_of(*[9.4] * 10).replace("    0             sender", f"    {again}             sender")
        (found,) = judged(text, "eth-10")
        assert found.state == "pass"
        return [each for each in found.remarks if "sent again" in each]

    assert remarks(0) == remarks(8000) == []
    (remark,) = remarks(90000)
    assert remark.startswith("90000 segments were sent again, 1.1 % of all at 1448 bytes each: packets were lost")
