"""What a run is held against: bounds over message sizes, and the regimes in which tolerances differ."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

REGIMES = ("latency", "middle", "bandwidth")

LATENCY_UP_TO_BYTES = 8 << 10
"""Up to here the cost of a message, not its bytes, sets the time.

Latency x bandwidth (Hockney's N½) of the published EDR system is 0.8 us x 12.4 GB/s = 9.9 kB: the power of two below.
"""
BANDWIDTH_FROM_BYTES = 1 << 20
"""From here start-up is lost in the noise: a published EDR curve has 12318 of 12371 MB/s; limits and floors hold."""


def regime(size_bytes: int) -> str:
    """Return "latency", "middle" or "bandwidth": the regime that a message size belongs to."""
    if size_bytes <= LATENCY_UP_TO_BYTES:
        return "latency"
    return "bandwidth" if size_bytes >= BANDWIDTH_FROM_BYTES else "middle"


@dataclass(frozen=True, slots=True)
class Bound:
    """What is demanded at one size, in the band's unit; None where nothing is demanded on that side.

    ``target`` is the reference's own value, from which the bounds were made; None for a bare floor or ceiling.
    """

    low: float | None
    high: float | None
    target: float | None


@dataclass(frozen=True, slots=True)
class Band:
    """One reference as it applies to one run.

    Either ``points`` (a bound for each size of a curve) or ``everywhere`` from ``size_from`` to ``size_to`` bytes, both
    included, None where open. ``required_sizes`` must have been measured; a band that holds at no measured
    size has not been judged, which is no pass.
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

    def bound_at(self, size: int) -> Bound | None:
        """Return what is demanded at a size, bytes (0 for a metric without sizes), or None where nothing is."""
        if self.points is not None:
            return self.points.get(size)
        if self.size_from is not None and size < self.size_from:
            return None
        return None if self.size_to is not None and size > self.size_to else self.everywhere


def curve_band(entry_id: str, kind: str, metric: str, unit: str, source: str, points: Mapping[int, Bound]) -> Band:
    """Return the band of a curve: every one of its sizes must have been measured."""
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
    """Return the band of one bound from the first size to the last, in bytes; None where that side is open."""
    return Band(entry_id, kind, metric, unit, source, None, bound, *sizes, ())


def shared(band: Band, by: float) -> Band:
    """Return a band with its bounds divided by what a network is blocked by, and that in its source; by 1 as it is.

    Half a network against the other half gets so much less than its cards give.
    """
    if by == 1:
        return band
    points = None if band.points is None else {size: _divided(bound, by) for size, bound in band.points.items()}
    return replace(
        band,
        source=f"{band.source}; divided by {by:g}, the fabric's blocking",
        points=None if points is None else MappingProxyType(points),
        everywhere=None if band.everywhere is None else _divided(band.everywhere, by),
    )


def _divided(bound: Bound, by: float) -> Bound:
    low, high, target = (None if value is None else value / by for value in (bound.low, bound.high, bound.target))
    return Bound(low, high, target)
