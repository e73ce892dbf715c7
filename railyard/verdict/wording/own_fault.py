"""The sentences about what is wrong with a curve by itself: outliers, falls and steps."""

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.wording import message_size, number, percent

#: A message size in B, and the time in us or the value that belongs to it.
Point = tuple[int, float]


def dip(metric: str, at: Point, times: float, beside: Sequence[Point]) -> str:
    """Return that a message takes longer than both of its neighbours would; all points are times in us."""
    neighbours = ", ".join(f"{number(time)} us at {message_size(size)}" for size, time in beside)
    return (
        f"an outlier: a message of {message_size(at[0])} takes {number(at[1])} us ({metric}), {number(times, 3)} times "
        f"as long as at the rate of its slower neighbour ({neighbours})"
    )


@dataclass(frozen=True, slots=True)
class Steepest:
    """Between which two sizes most of a fall happens, and by which share of the bandwidth."""

    share: float
    before_bytes: int
    behind_bytes: int

    @property
    def words(self) -> str:
        """``, by 40.0 % between 1 MiB and 2 MiB``."""
        edges = f"{message_size(self.before_bytes)} and {message_size(self.behind_bytes)}"
        return f", by {percent(self.share)} between {edges}"


@dataclass(frozen=True, slots=True)
class Fall:
    """From where to where a curve falls, and by which share of its bandwidth.

    ``is_peak``: the fall begins at the highest value. ``rises``: where the curve is high again; None: nowhere.
    """

    share: float
    top: Point
    low: Point
    is_peak: bool
    steepest: Steepest | None
    rises: Point | None


def fall(metric: str, unit: str, is_bandwidth: bool, found: Fall) -> str:
    """Return that a curve falls; a time falls by its bandwidth."""
    what = f"{metric} falls" if is_bandwidth else f"the bandwidth of {metric} falls"
    peak = ", its peak," if found.is_peak else ""
    most = "" if found.steepest is None else found.steepest.words
    again = "" if found.rises is None else f", and rises again to {_point(found.rises, unit)}"
    down = f"from {_point(found.top, unit)}{peak} to {_point(found.low, unit)}"
    return f"{what} by {percent(found.share)}: {down}{most}{again}"


def _point(point: Point, unit: str) -> str:
    return f"{number(point[1])} {unit} at {message_size(point[0])}"


def slower(metric: str, at: Point, larger: Point) -> str:
    """Return that a message takes longer than a larger one; both are times in us."""
    return (
        f"an outlier: a message of {message_size(at[0])} takes {number(at[1])} us ({metric}), and one of "
        f"{message_size(larger[0])} only {number(larger[1])} us: {number(at[1] / larger[1], 3)} times less"
    )


def step(metric: str, at: Point, larger: Point, usual: float) -> str:
    """Return that a time rises too steeply to the next size; ``usual``: how many times at most."""
    return (
        f"a step that is too high ({metric}): a message of {message_size(at[0])} takes {number(at[1])} us, and one of "
        f"{message_size(larger[0])} {number(larger[1])} us, {number(larger[1] / at[1], 3)} times as long; at most "
        f"{number(usual, 3)} times are usual where an eager protocol ends"
    )
