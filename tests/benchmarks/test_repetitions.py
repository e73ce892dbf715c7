"""How many repetitions and messages in flight a link has time for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.benchmarks.repetitions import (
    LASTING_S,
    START_OVER_RDMA_US,
    START_US,
    Amounts,
    Pace,
    TwoLaunches,
    Work,
    fit_repetitions,
    fit_two_launches,
    in_words,
    left_open,
    seconds_for,
    warm_ups,
)
from railyard.hardware.limits import data_rate_mb_s
from railyard.hardware.links import LINKS

SIZES = tuple(1 << n for n in range(23))
LATENCY, BANDWIDTH = Amounts(10_000, 100), Amounts(100, 10, window=64)
FEWEST_LATENCY, FEWEST_BANDWIDTH = Amounts(6, 1), Amounts(2, 1, window=16)
PINGPONG, STREAM = Work(SIZES, 2), Work(SIZES, 1)
HSN_MB_S = 15.0


def pace(link: str, seconds: float | None = None) -> Pace:
    rate = data_rate_mb_s(LINKS[link])
    assert rate is not None
    start = START_US["tcp"] if link.startswith("eth") else START_OVER_RDMA_US
    return Pace(rate, start, seconds_for(rate, None) if seconds is None else seconds)


def with_validation(work: Work) -> Work:
    """Return the same with OSU's validation, which runs each repetition twice."""
    return Work(work.sizes, work.messages, made=lambda count: 2 * count, checked=True)


@pytest.mark.parametrize(
    ("link", "latency", "bandwidth"),
    [
        ("ib-ndr", Amounts(10_000, 100), Amounts(100, 10, 64)),
        ("ib-edr", Amounts(10_000, 100), Amounts(100, 10, 64)),
        ("eth-100", Amounts(10_000, 100), Amounts(100, 10, 64)),
        ("eth-10", Amounts(2091, 20), Amounts(68, 6, 64)),
        ("eth-1", Amounts(221, 2), Amounts(6, 1, 64)),
    ],
)
def test_a_fast_link_has_time_for_what_the_tool_makes_by_itself(
    link: str, latency: Amounts, bandwidth: Amounts
) -> None:
    assert fit_repetitions(PINGPONG, FEWEST_LATENCY, LATENCY, pace(link)) == latency
    assert fit_repetitions(STREAM, FEWEST_BANDWIDTH, BANDWIDTH, pace(link)) == bandwidth


@pytest.mark.parametrize(
    ("link", "latency", "bandwidth"), [("ib-ndr", 493, 7), ("ib-edr", 477, 7), ("eth-100", 465, 7)]
)
def test_a_validation_takes_longer_than_the_messages_of_a_fast_link(link: str, latency: int, bandwidth: int) -> None:
    assert fit_repetitions(with_validation(PINGPONG), FEWEST_LATENCY, LATENCY, pace(link)).repetitions == latency
    assert fit_repetitions(with_validation(STREAM), FEWEST_BANDWIDTH, BANDWIDTH, pace(link)).repetitions == bandwidth


@pytest.mark.parametrize("rails", [1, 2, 8])
def test_the_virtual_cluster_has_the_fewest(rails: int) -> None:
    slow = Pace(rails * HSN_MB_S, START_US["tcp"], seconds_for(HSN_MB_S, None))
    assert fit_repetitions(PINGPONG, FEWEST_LATENCY, LATENCY, slow) == FEWEST_LATENCY
    assert fit_repetitions(STREAM, FEWEST_BANDWIDTH, BANDWIDTH, slow) == FEWEST_BANDWIDTH


def test_a_file_gives_a_slow_link_time_and_takes_a_fast_ones() -> None:
    assert seconds_for(HSN_MB_S, 60) == 60.0
    assert (seconds_for(124.9, None), seconds_for(125.0, None)) == (0.0, LASTING_S)
    assert fit_repetitions(PINGPONG, FEWEST_LATENCY, LATENCY, pace("ib-ndr", 0.1)).repetitions == 233


def test_what_is_repeated_less_at_large_sizes_takes_less_time() -> None:
    whole, bounded = Work(SIZES, 1), Work(SIZES, 1, volume_bytes=40 << 20)
    quick, many = Pace(1000.0, 0.0, 1.0), Amounts(1000)
    # Sizes up to 32 KiB 1000 times: 65.5 MB; the other seven 40 MiB each: 293.6 MB.
    assert bounded.seconds(many, quick) == pytest.approx(0.359, abs=1e-3)
    assert whole.seconds(many, quick) == pytest.approx(8.389, abs=1e-3)


def test_messages_pairs_and_passes_each_take_their_time() -> None:
    once, quick = Work((1000,), 1), Pace(1.0, 1000.0, 1.0)
    assert once.seconds(Amounts(1), quick) == pytest.approx(0.002)
    assert Work((1000,), 2).seconds(Amounts(1), quick) == pytest.approx(0.004)
    assert Work((1000,), 1, pairs=3).seconds(Amounts(1), quick) == pytest.approx(0.004)
    assert Work((1000,), 1, times=3).seconds(Amounts(1), quick) == pytest.approx(0.006)
    assert once.seconds(Amounts(1, window=5), quick) == pytest.approx(0.007)


def test_a_file_sets_what_a_check_left_open() -> None:
    stated = {"repetitions": 50, "warm_up": 5, "window": 32}
    assert left_open(stated, Amounts(0, -1, 0)) == stated
    assert left_open(stated, Amounts(7, -1, 0)) == {"warm_up": 5, "window": 32}
    assert left_open(stated, Amounts(0, 0, 8)) == {"repetitions": 50}
    assert list(in_words(stated)) == ["repetitions 50", "warm-up 5", "window 32"]


def test_warm_ups_are_the_tools_own_share() -> None:
    assert [warm_ups(n, Amounts(2, 1), BANDWIDTH) for n in (2, 50, 100, 5000)] == [1, 5, 10, 10]
    assert warm_ups(500, Amounts(2), Amounts(1000)) == 0


@given(
    rate=st.floats(1, 1e6), start=st.floats(0, 100), seconds=st.floats(0, 100), least=st.integers(1, 50),
    window=st.integers(1, 64),
)  # fmt: skip
def test_no_link_gets_less_than_the_fewest_nor_more_than_the_tools_own_nor_more_than_it_has_time_for(
    rate: float, start: float, seconds: float, least: int, window: int
) -> None:
    fewest, given_pace = Amounts(least, 1, window), Pace(rate, start, seconds)
    found = fit_repetitions(STREAM, fewest, BANDWIDTH, given_pace)
    assert least <= found.repetitions <= 100
    assert found.window in (window, 64)
    assert found.repetitions == least or STREAM.seconds(found, given_pace) <= seconds
    faster = fit_repetitions(STREAM, fewest, BANDWIDTH, Pace(2 * rate, start, seconds))
    assert faster.repetitions * faster.window >= found.repetitions * found.window or faster.window > found.window


@pytest.mark.parametrize(("link", "latency", "bandwidth"), [("ib-ndr", 424, 7), ("ib-edr", 410, 6)])
def test_small_messages_of_a_fast_link_are_repeated_as_often_as_by_the_tool_itself(
    link: str, latency: int, bandwidth: int
) -> None:
    found = fit_two_launches(with_validation(PINGPONG), FEWEST_LATENCY, LATENCY, pace(link))
    assert found == TwoLaunches(8192, LATENCY, Amounts(latency, latency * 100 // 10_000))
    found = fit_two_launches(with_validation(STREAM), FEWEST_BANDWIDTH, BANDWIDTH, pace(link))
    assert found == TwoLaunches(8192, BANDWIDTH, Amounts(bandwidth, 1, 64))


def test_a_launch_is_enough_if_its_number_is_not_far_from_the_tools_own() -> None:
    assert fit_two_launches(PINGPONG, FEWEST_LATENCY, LATENCY, pace("ib-ndr")) is None
    assert fit_two_launches(STREAM, FEWEST_BANDWIDTH, BANDWIDTH, pace("eth-10")) is None  # 68 of 100
    # 10,000 exchanges of 20 us at each small size take too much of the time, and 465 take 9 ms.
    assert fit_two_launches(with_validation(PINGPONG), FEWEST_LATENCY, LATENCY, pace("eth-100")) is None
    assert fit_two_launches(Work((4 << 20,), 1), FEWEST_BANDWIDTH, BANDWIDTH, pace("eth-1")) is None  # no small one


def test_the_virtual_cluster_has_one_launch_unless_its_file_gives_it_time() -> None:
    slow = Pace(2 * HSN_MB_S, START_US["tcp"], seconds_for(HSN_MB_S, None))
    assert fit_two_launches(STREAM, FEWEST_BANDWIDTH, BANDWIDTH, slow) is None
    given_time = Pace(2 * HSN_MB_S, START_US["tcp"], 20.0)
    found = fit_two_launches(Work(SIZES[:21], 1), FEWEST_BANDWIDTH, BANDWIDTH, given_time)
    assert found == TwoLaunches(2048, BANDWIDTH, Amounts(3, 1, 64))


@given(rate=st.floats(100, 1e6), seconds=st.floats(5, 300), is_checked=st.booleans())
def test_two_launches_take_no_longer_than_one_may_and_small_messages_move_few_of_the_bytes(
    rate: float, seconds: float, is_checked: bool
) -> None:
    given_pace, work = Pace(rate, START_OVER_RDMA_US, seconds), with_validation(STREAM) if is_checked else STREAM
    found = fit_two_launches(work, FEWEST_BANDWIDTH, BANDWIDTH, given_pace)
    if found is None:
        return
    small = tuple(size for size in SIZES if size <= found.small_up_to)
    large = SIZES[len(small) :]
    parts = [Work(sizes, 1, made=work.made, checked=is_checked) for sizes in (small, large)]
    spent = parts[0].seconds(found.small, given_pace) + parts[1].seconds(found.large, given_pace)
    assert spent <= seconds or found.large.repetitions == FEWEST_BANDWIDTH.repetitions
    assert found.small.repetitions >= 10 * found.large.repetitions and found.small.window == found.large.window
    once = fit_repetitions(work, FEWEST_BANDWIDTH, BANDWIDTH, given_pace)
    assert 100 * sum(small) <= 0.05 * once.repetitions * sum(large)
