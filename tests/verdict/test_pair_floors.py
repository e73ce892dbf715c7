"""ClusterKit over a link: its best pair, its mean and its slowest pair have floors, and a grey zone is no pass."""

import pytest

from railyard.parsers.detect import parse
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import of_link

NDR = 98_000.0  # MB/s both ways together, as posted healthy pairs reach over one card
BLOCKED = "a slow pair, or a network with few uplinks; only a reference says which"


def report(least: float, mean: float, most: float, above: str = "") -> str:
    lines = (("Minimum", least), ("Maximum", most), ("Average", mean))
    return above + "".join(f"{which} bandwidth: {value:.1f} MB/sec\n" for which, value in lines)


def judge_text(text: str, link: str = "ib-ndr") -> Judgement:
    (one,) = judge(parse(text), of_link(link, None, 1, None), text=text)
    return one


@pytest.mark.parametrize("shares", [(1, 1, 1), (0.5, 0.5, 0.5)])  # both ways, and --unidirectional
def test_healthy_pairs_pass(shares: tuple[float, float, float]) -> None:
    least, mean, most = (share * NDR for share in shares)
    one = judge_text(report(least, mean, most))
    assert one.state == "pass"
    half = [each for each in one.remarks if "is judged as a rate of one way" in each]
    assert [each.partition(" is ")[0] for each in half] == (["bandwidth_max 49000 MB/s"] if shares[0] < 1 else [])


@pytest.mark.parametrize("link", ["ib-edr", "ib-hdr", "ib-ndr", "roce-400", "slingshot-11"])
@pytest.mark.parametrize("shares", [(0.05, 0.05, 0.05), (0.05, 0.9, 1.0), (0.2, 0.22, 0.25)])
def test_a_slow_pair_or_a_slow_whole_fails(link: str, shares: tuple[float, float, float]) -> None:
    rate = {"ib-edr": 24_500.0, "ib-hdr": 49_000.0, "slingshot-11": 46_000.0}.get(link, NDR)
    least, mean, most = (share * rate for share in shares)
    one = judge_text(report(least, mean, most), link)
    assert one.state == "fail"
    assert one.failure is not None
    assert "day-one floor of clusterkit/pairwise" in one.failure.sentence
    slowest = "bandwidth_min" if shares[0] < 0.1 else "bandwidth_max"
    assert one.failure is not None and one.failure.miss is not None
    assert one.failure.miss.figure.name.startswith(slowest)


def test_a_pair_that_a_blocking_network_would_explain_is_not_judged() -> None:
    one = judge_text(report(0.15 * NDR, 0.9 * NDR, NDR))
    assert one.state == "not-judged"
    assert BLOCKED in one.sentence


def test_a_report_of_gpus_has_no_floor() -> None:
    assert judge_text(report(4000, 4700, 5000, above="GPU-GPU bandwidth\n\n")).state == "not-judged"


def latencies(least: float, mean: float, most: float) -> str:
    lines = (("Minimum", least), ("Maximum", most), ("Average", mean))
    return "".join(f"{which} latency: {value:.3f} usec\n" for which, value in lines)


def test_by_a_link_of_tcp_what_one_flow_reaches_is_no_pass() -> None:
    one = judge_text(report(4400, 4700, 5000), "eth-100")
    assert one.state == "not-judged"
    assert "uses RDMA where it can" in one.sentence
    assert "roce-100" in one.sentence
    assert judge_text(report(400, 450, 500), "eth-100").state == "fail"
    assert judge_text(report(20_000, 21_000, 22_000), "eth-100").state == "pass"


@pytest.mark.parametrize(
    ("times", "state"),
    [
        ((1.6, 2.2, 3.4), "pass"),
        ((1.6, 2.2, 14.0), "not-judged"),  # one pair: its nodes may do other work
        ((1.6, 7.5, 14.0), "fail"),
        ((50.0, 400.0, 900.0), "fail"),
        ((1.6, 2.2, 40.0), "fail"),
    ],
)
def test_latencies_have_the_bound_of_the_link(times: tuple[float, float, float], state: str) -> None:
    one = judge_text(report(NDR, NDR, NDR) + latencies(*times))
    assert one.state == state
    assert judge_text(latencies(*times)).state == state
    if state == "fail":
        assert one.failure is not None and one.failure.miss is not None
        assert one.failure.miss.figure.name.startswith("latency_")


def test_latencies_by_a_link_of_tcp_have_the_bound_of_tcp() -> None:
    assert judge_text(latencies(20.0, 30.0, 60.0), "eth-100").state == "pass"
    assert judge_text(latencies(50.0, 400.0, 900.0), "eth-100").state == "fail"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (report(0.99 * NDR, 0.9 * NDR, NDR), "bandwidth_min 97020 is above bandwidth_avg 88200"),
        (report(0.9 * NDR, NDR, 0.95 * NDR), "bandwidth_avg 98000 is above bandwidth_max 93100"),
        (latencies(1.6, 3.4, 2.2), "latency_avg 3.400 is above latency_max 2.200"),
    ],
)
def test_a_mean_that_is_not_between_least_and_most_fails(text: str, wrong: str) -> None:
    one = judge_text(text)
    assert one.state == "fail"
    assert f"{wrong}: they contradict each other" in one.sentence
