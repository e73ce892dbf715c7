"""What references demand of one run: bounds at message sizes, gathered in bands. It knows no file and no system.

The outcome of a relation between curves is here too, so a report does not have to load the model of files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from railyard.hardware.limits import LinkFloor

LATENCY_UP_TO_BYTES = 8 << 10
"""Up to this size the fixed cost of a message sets its time, not its bytes.

Latency x bandwidth (Hockney's N½) of the published EDR system is 0.8 us x 12.4 GB/s = 9.9 kB: the power of two below.
"""
BANDWIDTH_FROM_BYTES = 1 << 20
"""From this size on, start-up is lost in the noise (a published EDR curve has 12318 of 12371 MB/s): limits and floors
hold.
"""
RelationState = Literal["pass", "fail", "not-judged"]


def regime(size_bytes: int) -> str:
    """Return "latency", "middle" or "bandwidth": the regime of a message size."""
    if size_bytes <= LATENCY_UP_TO_BYTES:
        return "latency"
    return "bandwidth" if size_bytes >= BANDWIDTH_FROM_BYTES else "middle"


@dataclass(frozen=True, slots=True)
class Bound:
    """What is demanded at one size, in the band's unit; None on a side without a demand.

    ``target`` is the reference's own value, from which the bounds were computed; None for a bare floor or ceiling. For
    a range it is the end at which a run is worse, and ``ends`` has both ends.
    """

    low: float | None
    high: float | None
    target: float | None
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """One reference as it applies to one run.

    Either ``points`` (a bound for each size of a curve) or ``everywhere`` from ``size_from`` to ``size_to`` bytes, both
    included, None if open. ``required_sizes`` must have been measured. A band without a measured size has not been
    judged, and that is not a pass. ``is_upper_limit``: no card exceeds it, so more is impossible. It demands nothing of
    a run. ``best_of_sizes``: the best value of its sizes is enough. What disturbs a machine makes some times longer, a
    rail that delays messages makes all of them longer; and a library may use both directions of a rail at one size and
    not at another, while a slow rail is slow at all of them.
    """

    entry_id: str
    kind: str
    metric: str
    unit: str
    source: str
    points: Mapping[int, Bound] | None
    everywhere: Bound | None
    size_from: int | None
    size_to: int | None
    required_sizes: tuple[int, ...]
    is_upper_limit: bool = False
    best_of_sizes: bool = False

    def bound_at(self, size: int) -> Bound | None:
        """Return what is demanded at a size in bytes (0 for a metric without sizes); None if nothing is."""
        if self.points is not None:
            return self.points.get(size)
        if self.size_from is not None and size < self.size_from:
            return None
        return None if self.size_to is not None and size > self.size_to else self.everywhere

    def bounds(self, size: int) -> bool:
        """Return whether anything is demanded at a size in bytes."""
        bound = self.bound_at(size)
        return bound is not None and (bound.low is not None or bound.high is not None)

    def covers(self, size: int) -> bool:
        """Return whether a bad value at this size alone would break it: not if another size may hold a bandwidth's
        floor, because a rate may fall at some sizes only.
        """
        bound = self.bound_at(size)
        return self.bounds(size) and not (self.best_of_sizes and bound is not None and bound.low is not None)


def curve_band(entry_id: str, kind: str, metric: str, unit: str, source: str, points: Mapping[int, Bound]) -> Band:
    """Return the band of a curve. Each of its sizes must have been measured."""
    frozen = MappingProxyType(dict(points))
    return Band(entry_id, kind, metric, unit, source, frozen, None, None, None, tuple(sorted(points)))


def scalar_band(
    entry_id: str,
    kind: str,
    metric: str,
    unit: str,
    source: str,
    bound: Bound,
    sizes: tuple[int | None, int | None] = (None, None),
) -> Band:
    """Return the band of one bound from the first size to the last, in bytes; None means that side is open."""
    return Band(entry_id, kind, metric, unit, source, None, bound, *sizes, ())


def share_band(band: Band, by: float) -> Band:
    """Return a band with its bounds divided by a network's blocking, which its source then names; unchanged for 1.

    Between the two halves of a network, each gets so many times less than its cards give.
    """
    if by == 1:
        return band
    points = None if band.points is None else {size: _divide_bound(bound, by) for size, bound in band.points.items()}
    return replace(
        band,
        source=f"{band.source}; divided by {by:g}, the fabric's blocking",
        points=None if points is None else MappingProxyType(points),
        everywhere=None if band.everywhere is None else _divide_bound(band.everywhere, by),
    )


def _divide_bound(bound: Bound, by: float) -> Bound:
    low, high, target = (None if value is None else value / by for value in (bound.low, bound.high, bound.target))
    ends = None if bound.ends is None else (bound.ends[0] / by, bound.ends[1] / by)
    return Bound(low, high, target, ends)


def floor_band(entry_id: str, floor: LinkFloor) -> Band:
    """Return the band for a bandwidth that a floor of a link's class sets."""
    head = (entry_id, "class", "bandwidth", "MB/s", floor.source)
    return scalar_band(*head, Bound(floor.value_mb_s, None, None), (floor.from_size_bytes, None))
