"""What a healthy link shows on its first day: the bounds of each class, beside the numbers that set them."""

import pytest

from railyard.hardware.day_one import (
    EFA,
    EXCHANGE_OF_2,
    HALF_ROUND_TRIP,
    RDMA,
    RDMA_NOT_INFINIBAND,
    RDMA_OF_2003,
    RDMA_OF_GPUS,
    RDMA_OF_QDR,
    TCP,
    TCP_1G,
    TCP_OF_SDR,
    LinkClass,
    Rail,
    Window,
    class_of,
    longest_us,
    lowest_of_stream_mb_s,
    lowest_of_turn_mb_s,
    stream_floor_mb_s,
)
from railyard.hardware.limits import limit
from railyard.hardware.links import LINKS, SLOTS

KIB, MIB = 1 << 10, 1 << 20


def rail(link: str, slot: str | None = None, of: LinkClass = RDMA) -> Rail:
    one = limit(LINKS[link], SLOTS[slot] if slot else None)
    both = limit(LINKS[link], SLOTS[slot] if slot else None, directions=2)
    assert one is not None and both is not None
    return Rail(of, one.value_mb_s, one.value_mb_s, both.value_mb_s)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("ib-sdr", RDMA_OF_2003),
        ("ib-ddr-12x", RDMA_OF_2003),
        ("ib-qdr", RDMA_OF_QDR),
        ("ib-fdr10", RDMA),
        ("ib-xdr", RDMA),
        ("opa-100", RDMA_NOT_INFINIBAND),
        ("slingshot-11", RDMA_NOT_INFINIBAND),
        ("roce-400", RDMA_NOT_INFINIBAND),
        ("efa-200", EFA),
        ("eth-1", TCP_1G),
        ("eth-10", TCP),
        ("aries", "no-source"),
        ("myrinet-2000", "no-source"),
    ],
)
def test_a_link_has_a_class_or_says_why_not(link: str, expected: LinkClass | str) -> None:
    assert class_of(LINKS[link]) == expected


def test_the_memory_of_gpus_and_tcp_are_classes_of_their_own() -> None:
    assert class_of(LINKS["ib-edr"], "device") == RDMA_OF_GPUS
    assert class_of(LINKS["ib-edr"], over_tcp=True) == TCP
    assert class_of(LINKS["ib-sdr"], over_tcp=True) == TCP_OF_SDR
    assert class_of(LINKS["efa-100"], "device") == "no-source-from-gpus"


@pytest.mark.parametrize(
    ("link", "of", "size", "healthy_us", "slow_us"),
    [
        # PowerEdge C6320 with EDR, 0.8 us; TCP over 100 Gigabit Ethernet takes 12.7 us.
        ("ib-edr", RDMA, 1, 0.8, 12.7),
        # InfiniBand 4X of 2003, 7 us; TCP takes longer.
        ("ib-sdr", RDMA_OF_2003, 1, 7.0, 12.7),
        ("slingshot-11", RDMA, 8, 3.34, 12.7),
        # EDR, Open MPI with UCX, and the same at a half and at 60 % of the rate.
        ("ib-edr", RDMA, 4 * MIB, 352.7, 352.7 / 0.6),
        ("ib-edr", RDMA, MIB, 91.9, 91.9 / 0.6),
        ("ib-ndr", RDMA, MIB, 26.5, 26.5 / 0.5),
        ("eth-1", TCP_1G, 64 * KIB, 1057.0, 4000.0),
        ("efa-100", EFA, 4 * MIB, 2080.0, 5000.0),
        ("ib-edr", RDMA_OF_GPUS, MIB, 211.5, 600.0),
        ("ib-edr", RDMA_OF_GPUS, 512 * KIB, 158.3, 2 * 158.3),
        ("ib-edr", RDMA_OF_GPUS, 4 * MIB, 545.3, 2 * 545.3),
        ("slingshot-11", RDMA_OF_GPUS, 4 * MIB, 181.7, 2.1 * 181.7),
    ],
)
def test_half_a_round_trip_of_a_healthy_link_is_below_its_bound_and_a_slow_one_above(
    link: str, of: LinkClass, size: int, healthy_us: float, slow_us: float
) -> None:
    assert healthy_us < longest_us(rail(link, of=of), HALF_ROUND_TRIP, size) < slow_us


@pytest.mark.parametrize(
    ("link", "healthy_us"),
    [
        ("ib-edr", 2.66),  # ib_send_lat between virtual machines (Azure HC44)
        ("ib-qdr", 2.66),
        ("roce-100", 5.84),  # ib_send_lat over a bond (openucx/ucx, issue 6242)
    ],
)
def test_a_card_without_a_library_starts_earlier_and_at_twice_the_highest_healthy_time_fails(
    link: str, healthy_us: float
) -> None:
    found = class_of(LINKS[link])
    assert isinstance(found, LinkClass)
    bound = longest_us(rail(link, of=found.without_library()), HALF_ROUND_TRIP, 2)
    assert healthy_us < bound < 2 * healthy_us


def test_the_bound_of_a_ping_pong_is_its_terms_added_up() -> None:
    # 6 us to start, 16 KiB copied at 2 GB/s, and 70 % of 12421.2 MB/s.
    assert longest_us(rail("ib-edr"), HALF_ROUND_TRIP, MIB) == pytest.approx(
        6 + 16384 / 2000 + MIB / (0.7 * 12421.2), 1e-4
    )
    two = longest_us(rail("ib-edr"), HALF_ROUND_TRIP, MIB, pairs=2)
    assert two == pytest.approx(6 + 16384 / 2000 + 2 * MIB / (0.7 * 12421.2), 1e-4)


def test_an_exchange_counts_both_of_its_messages() -> None:
    edr = rail("ib-edr", "pcie3-x16")
    assert lowest_of_turn_mb_s(edr, EXCHANGE_OF_2, MIB) == pytest.approx(2 * MIB / longest_us(edr, EXCHANGE_OF_2, MIB))
    # IMB Sendrecv of a link that carries one direction at a time shows half, at most.
    assert 12421 < lowest_of_turn_mb_s(edr, EXCHANGE_OF_2, 4 * MIB) < 2 * 12421


@pytest.mark.parametrize(
    ("link", "slot", "window", "size", "healthy_mb_s", "slow_mb_s"),
    [
        # PowerEdge C6320, FDR in a Gen3 x8 slot: 6.3 GB/s one way, 10.8 GB/s both ways (Dell 2016).
        ("ib-fdr", "pcie3-x8", Window(), MIB, 6300.0, 0.8 * 6300),
        ("ib-fdr", "pcie3-x8", Window(2, 2), MIB, 10800.0, 0.8 * 10800),
        # ib_write_bw as it is by default, with RoCE at 100 Gbit/s, and at 60 % of it.
        ("roce-100", None, Window(verbs=True, depth=128), 64 * KIB, 11520.0, 0.6 * 11520),
        ("ib-ndr", None, Window(verbs=True, depth=128), 64 * KIB, 49040.0, 0.6 * 49040),
        # osu_bw over HDR, only 64 KiB, and at half; both ways over Slingshot 11, the dearest message of 32 KiB.
        ("ib-hdr", None, Window(), 64 * KIB, 22656.0, 0.6 * 22656),
        ("slingshot-11", None, Window(2, 2), 32 * KIB, 23610.0, 0.6 * 23610),
        # osu_bw over Slingshot 11, and what TCP gave there.
        ("slingshot-11", None, Window(), 4 * KIB, 3300.0, 143.0),
    ],
)
def test_a_window_of_a_healthy_link_is_above_its_bound_and_a_slow_one_below(
    link: str, slot: str | None, window: Window, size: int, healthy_mb_s: float, slow_mb_s: float
) -> None:
    assert slow_mb_s < lowest_of_stream_mb_s(rail(link, slot), window, size) < healthy_mb_s


def test_ip_over_sdr_keeps_its_bound_and_at_half_does_not() -> None:
    """qperf moved 656 MB/s over TCP, and 626 MB/s over UDP."""
    lowest = lowest_of_stream_mb_s(rail("ib-sdr", of=TCP_OF_SDR), Window(verbs=True), 64 * KIB)
    assert 0.9 * 626 < lowest < 626


def test_a_window_of_one_message_waits_for_each_and_a_short_run_for_the_last() -> None:
    edr = rail("ib-edr")
    full = lowest_of_stream_mb_s(edr, Window(verbs=True), MIB)
    assert full == pytest.approx(0.85 * 12421.2, 1e-4)
    assert lowest_of_stream_mb_s(edr, Window(verbs=True, depth=1), MIB) < full
    assert lowest_of_stream_mb_s(edr, Window(verbs=True, repetitions=5), MIB) < full


def test_the_floor_of_a_gate_is_the_share_of_long_messages() -> None:
    assert stream_floor_mb_s(LINKS["ib-edr"], limit(LINKS["ib-edr"])) == pytest.approx(10558.0, abs=0.1)
    assert stream_floor_mb_s(LINKS["aries"], None) == "no-source"
    assert stream_floor_mb_s(LINKS["ib-edr"], None) == "no-limit"


def test_published_pairs_of_gpus_are_above_the_floor_from_their_memory() -> None:
    """EDR between V100 of Azure's ND40rs v2: 9319 MB/s is the lowest of 28 pairs (performance-study)."""
    assert lowest_of_stream_mb_s(rail("ib-edr", "pcie3-x16", RDMA_OF_GPUS), Window(), MIB) < 9319 < 0.85 * 12421


def test_qdr_behind_a_slot_of_gen2_keeps_its_bound_and_at_60_percent_does_not() -> None:
    qdr = rail("ib-qdr", of=RDMA_OF_QDR)
    one_way, both_ways = (lowest_of_stream_mb_s(qdr, Window(n, n), MIB) for n in (1, 2))
    assert 0.6 * 3657 < one_way < 0.85 * 3657 < 3150
    assert 0.6 * 2 * 3657 < both_ways < 0.75 * 2 * 3657 + 1 < 5525


def test_a_card_that_is_loaded_both_ways_is_not_allowed_twice_the_time_for_a_message() -> None:
    ndr = rail("ib-ndr")
    both_ways = lowest_of_stream_mb_s(ndr, Window(2, 2, verbs=True), 64 * KIB)
    # One direction alone carries 48.9 GB/s.
    assert both_ways > 48900
