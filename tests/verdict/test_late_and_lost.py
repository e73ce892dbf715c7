"""A figure that holds, and the late or lost messages behind it."""

from pathlib import Path

import pytest

from railyard.parsers.detect import parse
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import Nodes, of_link
from railyard.verdict.wording.weak_figures import flat_top
from tests.parsers.test_iperf3 import seconds_of

MADE = Path(__file__).parents[1] / "parsers/made"
SOCKPERF = (MADE / "sockperf-ping-pong.txt").read_text(encoding="utf-8")
THROUGHPUT = (MADE / "sockperf-throughput.txt").read_text(encoding="utf-8")
SEND_LAT = (MADE / "perftest-send_lat.txt").read_text(encoding="utf-8").replace(" 64  ", " 4   ")
OSU = "# OSU MPI Latency Test v7.5\n# Size  Avg Latency(us)  P50 Tail Lat(us)  P99 Tail Lat(us)\n" + "".join(
    f"{size}   {time:.2f}   {time:.2f}   {{late:.2f}}\n" for size, time in ((1, 1.2), (2, 1.2), (4, 1.2))
)


def judge_text(text: str, link: str) -> tuple[Judgement, ...]:
    return judge(parse(text), of_link(link), text=text)


def test_a_mean_far_above_the_typical_latency_is_not_judged() -> None:
    (healthy,) = judge_text(SEND_LAT, "ib-edr")
    assert healthy.state == "pass"
    some_late = SEND_LAT.replace("4.10 ", "9000.10 ").replace("1.09 ", "95.09 ")
    (late,) = judge_text(some_late, "ib-edr")
    assert late.state == "not-judged"
    assert late.sentence.startswith(
        "not judged: the typical latency holds its bound of 4.001 us at 2 B, but the mean of all messages (t_avg) is "
        "95.09 us: some were very late"
    )
    (slow,) = judge_text(some_late.replace("1.08 ", "31.08 "), "ib-edr")
    assert slow.state == "fail"  # its bound decides first


def test_a_late_hundredth_is_a_remark() -> None:
    (healthy,) = judge_text(OSU.format(late=2.5), "ib-edr")
    assert (healthy.state, [each for each in healthy.remarks if "took up to" in each]) == ("pass", [])
    (late,) = judge_text(OSU.format(late=9000.0), "ib-edr")
    assert late.state == "pass"
    (remark,) = [each for each in late.remarks if "took up to" in each]
    assert remark.startswith("99 % of the messages took up to 9000 us at 1 B: the bound of 6.001 us holds for the")


@pytest.mark.parametrize(("dropped", "state"), [(0, "pass"), (40, "pass"), (15190, "not-judged")])
def test_a_ping_pong_that_lost_messages_is_not_judged(dropped: int, state: str) -> None:
    (found,) = judge_text(SOCKPERF.replace("# dropped messages = 0", f"# dropped messages = {dropped}"), "eth-10")
    assert found.state == state
    assert (f"{dropped} of {dropped + 55190} messages were dropped" in found.sentence) == (state != "pass")


@pytest.mark.parametrize(("test", "link"), [("udp_bw", "eth-100"), ("uc_bw", "ib-edr"), ("ud_bw", "ib-edr")])
def test_what_qperf_sent_and_did_not_receive_is_not_judged(test: str, link: str) -> None:
    text = f"{test}:\n    send_bw  =  11.4 GB/sec\n    recv_bw  =  {{}} GB/sec\n"
    (healthy,) = judge_text(text.format(11.1), link)
    assert healthy.state == "pass"
    (lossy,) = judge_text(text.format(9.5), link)
    assert lossy.state == "not-judged"
    assert lossy.sentence.startswith(
        "not judged: 16.7 % of what was sent did not arrive (send_bw 11400 MB/s, recv_bw 9500 MB/s, which counts); look"
    )
    (slow,) = judge_text(text.format(0.5), link)
    assert (slow.state, slow.remarks[0][:43]) == ("fail", "95.6 % of what was sent did not arrive (sen")


def test_what_a_socket_took_over_udp_is_not_judged() -> None:
    tcp, udp = judge_text(THROUGHPUT, "eth-40")
    assert (udp.state, udp.sentence) == (
        "not-judged",
        "not judged: over UDP sockperf counts what its own socket took, not what arrived",
    )
    assert "UDP" not in tcp.sentence


def test_segments_that_were_sent_again_are_counted_and_said() -> None:
    def remarks(again: int) -> list[str]:
        text = seconds_of(*[9.4] * 10).replace("    0             sender", f"    {again}             sender")
        (found,) = judge_text(text, "eth-10")
        assert found.state == "pass"
        return [each for each in found.remarks if "sent again" in each]

    assert remarks(0) == remarks(8000) == []
    (remark,) = remarks(90000)
    assert remark.startswith("90000 segments were sent again, 1.1 % of all at 1448 bytes each: packets were lost")


ALLTOALL = (
    "# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n"
    "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n"
)


def test_a_rank_that_is_far_slower_than_the_mean_is_a_remark() -> None:
    def remarks(most: float) -> list[str]:
        times = {1 << at: 20 + (1 << at) * 7 / 10000 for at in range(21)}
        text = ALLTOALL + "".join(f"{each}  {us:.2f}  12.00  {most * us:.2f}  1000\n" for each, us in times.items())
        (found,) = judge(parse(text), of_link("ib-edr"), text=text, nodes=Nodes(1, 8, 1))
        assert found.state == "pass"
        return [each for each in found.remarks if "slowest rank" in each]

    assert remarks(1.9) == []
    (remark,) = remarks(10.0)
    assert remark.startswith("the slowest rank took 10.0 times the mean of all at ")


def test_a_short_latency_whose_tool_says_its_rate_too_is_judged_as_a_latency() -> None:
    text = (MADE / "ucx_perftest-tag_bw-and-tag_lat.txt").read_text(encoding="utf-8")
    states = {one.benchmark: one.state for one in judge_text(text, "ib-edr")}
    assert states["ucx_perftest/tag_lat"] == "pass"


def test_both_ways_at_the_rate_of_a_slower_ethernet_are_not_judged() -> None:
    text = "# OSU MPI Bi-Directional Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n" + "".join(
        f"{1 << at}  {min(2354.0, 0.45 * (1 << at)):.2f}\n" for at in range(23)
    )
    (fast,) = judge_text(text, "eth-100")
    assert fast.state == "not-judged"
    assert f"{flat_top(1177.0, 1 << 20, is_one_size=False, each_way=True)} is a rate of eth-10" in fast.sentence
    (own,) = judge_text(text, "eth-10")
    assert own.state == "pass"


def test_a_window_of_one_message_is_no_stream() -> None:
    def state(pairs: int, window: int) -> str:
        text = (
            f"# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n# [ pairs: {pairs} ] [ window size: {window} ]\n"
        )
        text += "# Size                  MB/s        Messages/s\n"
        rates = {1 << at: min(12200.0, 2.0 * (1 << at)) for at in range(23)}
        text += "".join(f"{size}  {rate:.2f}  {rate * 1e6 / size:.2f}\n" for size, rate in rates.items())
        return judge_text(text, "ib-edr")[0].state

    assert state(1, 1) == state(2, 4) == "not-judged"
    assert state(1, 64) == "pass"


def test_one_row_of_perftest_without_its_closing_dashes_is_judged_with_a_remark() -> None:
    text = (MADE / "perftest-write_bw.txt").read_text(encoding="utf-8")
    without_end = [line for line in text.rstrip().rstrip("-").splitlines() if not line.startswith((" 2 ", " 1024 "))]
    (found,) = judge_text("\n".join(without_end), "ib-edr")
    assert found.state == "pass"
    assert any("closing line of dashes is missing" in each for each in found.remarks)


UDP = (
    "Connecting to host 10.0.0.2, port 5201\n[  5] local 10.0.0.1 port 40005 connected to 10.0.0.2 port 5201\n"
    "[ ID] Interval           Transfer     Bitrate         Total Datagrams\n"
    "[  5]   0.00-1.00   sec  1.16 GBytes  10.0 Gbits/sec  863000\n- - - - - - - - - - - - - - - - - - - - - - - - -\n"
    "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
    "[  5]   0.00-1.00   sec  1.16 GBytes  10.0 Gbits/sec  0.000 ms  0/863000 (0%)  sender\n"
    "[  5]   0.00-1.00   sec   715 MBytes  6.00 Gbits/sec  0.004 ms  {lost}/863000 ({share}%)  receiver\n\n"
)


@pytest.mark.parametrize(("lost", "share", "is_said"), [(345200, 40, True), (863, 0.1, False), (0, 0, False)])
def test_lost_datagrams_are_named_first(lost: int, share: float, is_said: bool) -> None:
    (found,) = judge_text(UDP.format(lost=lost, share=share), "eth-100")
    assert found.state == "not-judged"
    assert found.sentence.startswith("not judged: 40.0 % of the datagrams were lost (345200 of 863000)") == is_said
    assert found.sentence.endswith("over UDP iperf3 sends at the rate that it is given (-b), whatever the link")
