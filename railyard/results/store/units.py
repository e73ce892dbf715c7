"""Units that records of other versions or sites may have, and the unit in which each dimension is compared."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from railyard.base.errors import RailyardError
from railyard.results.record.form import BandRecord, CurveRecord

#: For each unit its dimension, and its size in the smallest unit of that dimension (B/s, s, 1/s, flop/s, op/s, times).
UNITS: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        "B/s": ("bandwidth", 1.0),
        "kB/s": ("bandwidth", 1e3),
        "MB/s": ("bandwidth", 1e6),
        "GB/s": ("bandwidth", 1e9),
        "KiB/s": ("bandwidth", 2.0**10),
        "MiB/s": ("bandwidth", 2.0**20),
        "GiB/s": ("bandwidth", 2.0**30),
        "Mbit/s": ("bandwidth", 1e6 / 8),
        "Gbit/s": ("bandwidth", 1e9 / 8),
        "ns": ("time", 1e-9),
        "us": ("time", 1e-6),
        "ms": ("time", 1e-3),
        "s": ("time", 1.0),
        "1/s": ("rate", 1.0),
        "M/s": ("rate", 1e6),
        "Mflop/s": ("floating-point operations", 1e6),
        "Gflop/s": ("floating-point operations", 1e9),
        "Tflop/s": ("floating-point operations", 1e12),
        "Mop/s": ("operations", 1e6),
        "Gop/s": ("operations", 1e9),
        "times": ("ratio", 1.0),
    }
)


def in_unit(curve: CurveRecord, unit: str) -> CurveRecord:
    """Return the curve with values, limit and bands in this unit. Raises RailyardError if that is impossible."""
    if curve.unit == unit:
        return curve
    factor = unit_factor(curve.unit, unit, curve.metric)
    return replace(
        curve,
        unit=unit,
        values=tuple(value * factor for value in curve.values),
        limit=None if curve.limit is None else replace(curve.limit, value=curve.limit.value * factor),
        bands=tuple(_band(band, factor) for band in curve.bands),
    )


def _band(band: BandRecord, factor: float) -> BandRecord:
    low, high = (tuple(None if each is None else each * factor for each in side) for side in (band.low, band.high))
    return replace(band, low=low, high=high)


def unit_factor(found: str, wanted: str, metric: str) -> float:
    """Return the factor that converts a value from one unit to another. Raises RailyardError if there is none."""
    for unit in (found, wanted):
        if unit not in UNITS:
            raise RailyardError(f"{metric}: found the unit {unit}, expected one of {', '.join(UNITS)}")
    (kind, step), (other, other_step) = UNITS[found], UNITS[wanted]
    if kind != other:
        raise RailyardError(f"{metric}: found the unit {found} ({kind}), expected {wanted} ({other}) or one like it")
    return step / other_step
