"""A run within one node is no measurement of a network: it does not pass by one, and no rail is blamed for it first."""

import pytest

from railyard.parsers import osu, perftest
from railyard.verdict.stored.judge import Judgement, judge
from railyard.verdict.stored.target import of_link

SIZES = (0, *(1 << n for n in range(23)))


def osu_latency(start_us: float, mb_s: float) -> str:
    """Return what osu_latency prints of a network with this half round trip and rate."""
    rows = (f"{size:<20}{start_us + size / mb_s:>10.2f}" for size in SIZES)
    return "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n" + "\n".join(rows) + "\n"


def osu_bw(cost_us: float, mb_s: float) -> str:
    """Return what osu_bw prints of a network with this time from message to message and rate."""
    rows = (f"{size:<20}{size / (cost_us + size / mb_s):>10.2f}" for size in SIZES[1:])
    return "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n" + "\n".join(rows) + "\n"


def ib_write_lat(us: float) -> str:
    """Return what ib_write_lat prints of one size, 2 B."""
    return (
        "                    RDMA_Write Latency Test\n"
        " Number of qps   : 1            Transport type : IB\n"
        " Link type       : IB\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
        "99% percentile[usec]   99.9% percentile[usec]\n"
        f" 2       1000          {us:.2f}           {us:.2f}         {us:.2f}              {us:.2f}           0.00   "
        f"         {us:.2f}                   {us:.2f}\n"
        f"{'-' * 87}\n"
    )


def verdict(text: str, link: str) -> Judgement:
    parse = osu.parse if "OSU" in text else perftest.parse
    (judgement,) = judge(parse(text), of_link(link), text=text)
    return judgement


@pytest.mark.parametrize(
    ("link", "impossible_us", "possible_us", "least"),
    [
        ("eth-100", 2.9, 3.1, "3 us (over TCP the lowest posted half round trip is 12.7 us"),
        ("efa-100", 4.9, 5.1, "5 us (over EFA the lowest posted half round trip is 12.3 us"),
        ("ib-edr", 0.5, 0.6, "0.55 us (over RDMA the lowest published value is 0.61 us"),
        ("slingshot-11", 0.5, 0.6, "0.55 us (over RDMA the lowest published value is 0.61 us"),
    ],
)
def test_half_a_round_trip_through_a_library_is_not_below_the_least_of_its_network(
    link: str, impossible_us: float, possible_us: float, least: str
) -> None:
    found = verdict(osu_latency(impossible_us, 10000 if link != "slingshot-11" else 20000), link)
    assert found.state == "fail"
    assert f"rule 3 (possible): impossible: latency {impossible_us:#.4g} us at 0 B" in found.sentence
    assert f"between nodes is below {least}" in found.sentence
    assert "look at whether both ranks ran on one node (shared memory)" in found.sentence
    assert [each.cause for each in found.causes] == ["one-node"]
    assert verdict(osu_latency(possible_us, 10000 if link != "slingshot-11" else 20000), link).state == "pass"


def test_a_card_without_a_library_may_take_less() -> None:
    assert verdict(ib_write_lat(0.5), "ib-ndr").state == "pass"
    assert verdict(ib_write_lat(0.39), "ib-ndr").state == "fail"


@pytest.mark.parametrize(
    ("text", "link", "cause"),
    [
        (osu_latency(0.6, 14900), "ib-hdr", "one-node"),
        (osu_bw(0.12, 16000), "ib-ndr", "one-node-rate"),
    ],
)
def test_a_slow_curve_that_looks_like_shared_memory_sends_nobody_to_the_rails_first(
    text: str, link: str, cause: str
) -> None:
    found = verdict(text, link)
    assert [each.cause for each in found.causes] == [cause]
    assert "rule 5 (reference)" in found.sentence
    assert "; look at whether both ranks ran on one node (shared memory); if not, each rail alone" in found.sentence


@pytest.mark.parametrize(
    ("text", "link", "causes"),
    [
        (osu_latency(1.0, 14900), "ib-hdr", []),
        (osu_bw(0.7, 16000), "ib-ndr", []),  # a card, not memory: a message takes too long
        (osu_bw(0.15, 12000), "ib-ndr", ["fewer-lanes", "lower-generation"]),  # a rate of EDR
    ],
)
def test_a_slow_curve_of_a_network_is_not_called_shared_memory(text: str, link: str, causes: list[str]) -> None:
    found = verdict(text, link)
    assert (found.state, [each.cause for each in found.causes]) == ("fail", causes)
    assert "look at each rail alone" in found.sentence
