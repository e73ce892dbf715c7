"""The model of a message's time: it meets every point, rises, and is never better than what was published."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.provision.replay.reference_outputs import RENDEZVOUS_FROM_BYTES, MessageTime

EDR = MessageTime(0.8, 12400.0, ((1, 0.80), (4, 0.80), (4096, 2.75)))


def test_every_point_is_met() -> None:
    assert [EDR.time_at(size) for size in (1, 4, 4096)] == [0.80, 0.80, 2.75]


def test_between_two_points_the_time_is_linear_in_the_size() -> None:
    assert EDR.time_at(2050) == pytest.approx((0.80 + 2.75) / 2)


def test_beyond_the_last_point_a_byte_costs_what_the_bandwidth_says_and_rendezvous_one_more_start() -> None:
    eager = EDR.time_at(RENDEZVOUS_FROM_BYTES - 1)
    assert eager == pytest.approx(2.75 + (RENDEZVOUS_FROM_BYTES - 1 - 4096) / 12400)
    assert EDR.time_at(RENDEZVOUS_FROM_BYTES) - eager == pytest.approx(0.8 + 1 / 12400)


def test_without_points_it_is_hockneys_line() -> None:
    assert MessageTime(2.0, 1000.0, ()).time_at(8000) == pytest.approx(10.0)


def test_a_rate_is_never_above_the_most() -> None:
    held = MessageTime(0.1, 20000.0, ((65536, 10.0),), most_mb_s=6553.6)
    assert held.time_at(4 << 20) == (4 << 20) / 6553.6


@pytest.mark.parametrize(
    ("start", "bandwidth", "points", "sentence"),
    [
        (1.0, 1.0, ((8, 1.0), (4, 2.0)), r"sizes do not rise: \[8, 4\]"),
        (0.0, 1.0, (), "a start, a bandwidth and times above 0 are needed"),
        (1.0, 1.0, ((8, 0.0),), "a start, a bandwidth and times above 0 are needed"),
    ],
)
def test_what_is_no_model_is_refused(
    start: float, bandwidth: float, points: tuple[tuple[int, float], ...], sentence: str
) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        MessageTime(start, bandwidth, points)


@given(
    st.floats(0.1, 100),
    st.floats(10, 1e5),
    st.dictionaries(st.integers(0, 1 << 22), st.floats(0.05, 1e6), max_size=6),
    st.integers(0, 1 << 23),
)
def test_any_points_are_met_and_every_time_is_above_0(
    start: float, bandwidth: float, points: dict[int, float], size: int
) -> None:
    model = MessageTime(start, bandwidth, tuple(sorted(points.items())))
    assert {at: model.time_at(at) for at in points} == points
    assert model.time_at(size) > 0
