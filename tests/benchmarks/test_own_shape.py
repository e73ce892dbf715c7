"""A curve that falls, dips or steps fails by itself: each kind has its own share, from what healthy curves show."""

import pytest

from railyard.benchmarks.table import micro
from railyard.verdict import own_fault
from railyard.verdict.own_fault import (
    BETWEEN_HOSTS,
    OVER_RDMA,
    UNLIKE_TCP,
    UNNAMED_LINK,
    WITHIN_A_NODE,
    Shares,
    fault,
)

KIB, MIB = 1 << 10, 1 << 20
SIZES = tuple(1 << power for power in range(23))
WINDOW = micro.metric("osu/osu_bw", "bandwidth")
HALF_TRIP = micro.metric("osu/osu_latency", "latency")


def window(size: int) -> float:
    """Return the bandwidth of a healthy window over 100 Gbit/s, MB/s."""
    return size / (0.3 + size / 12000)


def half_trip(size: int) -> float:
    """Return half a round trip over 100 Gbit/s, us."""
    return 1.2 + min(size, 16 * KIB) / 8000 + size / 12000


def bandwidths(**shares: float) -> list[tuple[int, float]]:
    """Return a healthy window with these sizes, such as ``_65536``, at a share."""
    return [(size, window(size) * shares.get(f"_{size}", 1.0)) for size in SIZES]


@pytest.mark.parametrize(
    "shares", [BETWEEN_HOSTS, OVER_RDMA, UNLIKE_TCP, UNNAMED_LINK, WITHIN_A_NODE, own_fault.FROM_GPUS]
)
def test_a_healthy_curve_has_no_fault(shares: Shares) -> None:
    assert fault(WINDOW, bandwidths(), shares) is None
    assert fault(HALF_TRIP, [(size, half_trip(size)) for size in SIZES], shares) is None


def from_size(start: int, share: float) -> list[tuple[int, float]]:
    """Return a healthy window whose sizes from ``start`` on are at a share."""
    return [(size, window(size) * (share if size >= start else 1.0)) for size in SIZES]


@pytest.mark.parametrize(
    ("shares", "share", "is_fault"),
    [
        (OVER_RDMA, 0.6, True),
        (OVER_RDMA, 0.65, False),
        (UNLIKE_TCP, 0.44, True),
        (UNLIKE_TCP, 0.47, False),
        (UNNAMED_LINK, 0.34, True),
        (UNNAMED_LINK, 0.37, False),
        (BETWEEN_HOSTS, 0.44, True),
        (BETWEEN_HOSTS, 0.47, False),
        (WITHIN_A_NODE, 0.34, True),
        (WITHIN_A_NODE, 0.37, False),
    ],
)
def test_how_far_a_curve_may_fall(shares: Shares, share: float, is_fault: bool) -> None:
    assert (fault(WINDOW, from_size(MIB, share), shares) is not None) == is_fault


def test_a_fall_names_its_sizes_and_factor() -> None:
    assert fault(WINDOW, from_size(MIB, 0.5), OVER_RDMA) == (
        "bandwidth falls by 49.8 %: from 11918 MB/s at 512 KiB, its peak, to 5979 MB/s at 1 MiB"
    )


def test_a_fall_counts_too_if_the_curve_rises_again() -> None:
    # With its last sizes at their peak, this curve once had no fault.
    hole = bandwidths(_65536=0.35, _131072=0.35, _262144=0.35)
    assert fault(WINDOW, hole, BETWEEN_HOSTS) == (
        "bandwidth falls by 63.2 %: from 10812 MB/s at 32 KiB to 3981 MB/s at 64 KiB, and rises "
        "again to 11990 MB/s at 4 MiB"
    )


@pytest.mark.parametrize("size", [16, 1024, 64 * KIB, 1 * MIB])
def test_one_size_of_a_window_below_half_of_both_neighbours_is_an_outlier(size: int) -> None:
    points = bandwidths(**{f"_{size}": 0.2})
    said = fault(WINDOW, points, BETWEEN_HOSTS)
    assert said is not None
    assert said.startswith("an outlier: a message of")


def test_a_short_half_round_trip_is_no_outlier() -> None:
    points = [(size, half_trip(size) * (3 if size == 64 else 1)) for size in SIZES]
    assert fault(HALF_TRIP, points, OVER_RDMA) is None


def netpipe(slow: dict[int, float]) -> list[tuple[int, float]]:
    """Return NetPIPE's bandwidths, at three sizes about each power of two and about each middle."""
    centres = sorted(each for power in range(4, 23) for each in (1 << power, 3 << power))
    sizes = [centre + beside for centre in centres for beside in (-3, 0, 3)]
    return [(size, size / half_trip(size) / slow.get(size, 1.0)) for size in sizes]


PING_PONG = micro.metric("netpipe/pingpong", "bandwidth")


def test_one_of_netpipes_sizes_is_found_beside_its_neighbours() -> None:
    assert fault(PING_PONG, netpipe({}), BETWEEN_HOSTS) is None
    assert fault(PING_PONG, netpipe({64 * KIB: 1.7}), BETWEEN_HOSTS) == (
        "an outlier: a message of 64 KiB takes 14.81 us (bandwidth), 1.70 times as long as at the rate of its "
        "slower neighbour (8.709 us at 65533 B, 8.710 us at 65539 B)"
    )


def test_three_of_netpipes_sizes_side_by_side_are_one_outlier() -> None:
    said = fault(PING_PONG, netpipe({MIB - 3: 2.5, MIB: 2.5, MIB + 3: 2.5}), UNLIKE_TCP)
    assert said is not None
    assert said.startswith("an outlier: a message of 1048579 B takes")


def test_a_step_ten_times_too_high_is_found() -> None:
    points = [(size, half_trip(size) * (10 if size >= 16 * KIB else 1)) for size in SIZES]
    assert fault(HALF_TRIP, points, BETWEEN_HOSTS) == (
        "a step that is too high (latency): a message of 8 KiB takes 2.907 us, and one of 16 KiB 46.13 us, 15.9 times "
        "as long; at most 5.00 times are usual where an eager protocol ends"
    )
