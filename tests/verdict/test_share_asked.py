"""What a system's own lower figure does to the bounds of its link's class at the sizes that no reference has."""

from railyard.site.references.band import Band, Bound, curve_band, scalar_band
from railyard.verdict.day_one import at_sizes, share_asked

CLASS = curve_band(
    *("day-one", "class", "bandwidth", "MB/s", "physics"),
    {1024: Bound(500.0, None, None), 1 << 20: Bound(8000.0, None, None), 1 << 22: Bound(10000.0, None, None)},
)
TIMES = curve_band(
    *("day-one", "class", "latency", "us", "physics"),
    {1: Bound(None, 6.0, None), 1 << 20: Bound(None, 131.0, None)},
)
SIZES = (1024, 1 << 20, 1 << 22)


def own(low: float) -> Band:
    bound = Bound(low, None, low)
    return scalar_band("own", "published", "bandwidth", "MB/s", "a source", bound, (1 << 22, None))


def test_a_lower_figure_lowers_the_other_sizes_by_the_same_share() -> None:
    share = share_asked([own(7000.0)], [CLASS], SIZES)
    assert share == 0.7
    rest = at_sizes(CLASS, SIZES[:2], share)
    assert rest is not None
    assert [bound.low for size in SIZES if (bound := rest.bound_at(size))] == [350.0, 5600.0]
    times = at_sizes(TIMES, (1, 1 << 20), share)
    assert times is not None
    assert times.points == {1: Bound(None, 6.0, None), 1 << 20: Bound(None, 131.0 / 0.7, None)}


def test_a_higher_figure_changes_nothing() -> None:
    assert share_asked([own(11000.0)], [CLASS], SIZES) == share_asked([], [CLASS], SIZES) == 1.0
    rest = at_sizes(CLASS, SIZES[:2])
    assert rest is not None
    assert rest.points == {size: CLASS.bound_at(size) for size in SIZES[:2]}
