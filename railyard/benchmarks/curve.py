"""A metric as a function of message size, and the key figures that are read from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """A key figure in its unit. ``size`` is the message size in bytes at which it was read, if it has one.

    ``computed``: it was computed for a replay, and no source printed it.
    """

    name: str
    value: float
    unit: str
    size: int | None = None
    computed: bool = False
    extra: Mapping[str, object] = field(
        default_factory=dict, kw_only=True
    )  # keys of a stored figure that a newer Railyard wrote


@dataclass(frozen=True, slots=True)
class Curve:
    """One value per message size: sizes in bytes, rising; values finite, in ``unit``.

    Raises ValueError if the lengths differ, sizes do not rise, or a value is not finite.
    """

    metric: str
    unit: str
    sizes: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.values):
            raise ValueError(f"{self.metric}: {len(self.sizes)} sizes but {len(self.values)} values")
        if not self.sizes:
            raise ValueError(f"{self.metric}: no sizes at all")
        for left, right in zip(self.sizes, self.sizes[1:], strict=False):
            if right <= left:
                raise ValueError(f"{self.metric}: sizes do not rise at {left} B -> {right} B")
        if all(map(math.isfinite, self.values)):
            return
        for size, value in zip(self.sizes, self.values, strict=True):
            if not math.isfinite(value):
                raise ValueError(f"{self.metric}: the value at {size} B is {value}, not a finite number")

    def value_at(self, size_bytes: int) -> float:
        """Return the value at exactly this size. Raises KeyError if the curve lacks it: nothing is interpolated."""
        try:
            return self.values[self.sizes.index(size_bytes)]
        except ValueError:
            raise KeyError(f"{self.metric}: no value at {size_bytes} B") from None

    def from_size(self, size_bytes: int) -> "Curve | None":
        """Return the part from a size on, or None if there is none."""
        pairs = [(s, v) for s, v in zip(self.sizes, self.values, strict=True) if s >= size_bytes]
        if not pairs:
            return None
        return Curve(self.metric, self.unit, tuple(s for s, _ in pairs), tuple(v for _, v in pairs))

    def up_to_size(self, size_bytes: int) -> "Curve":
        """Return the part up to one of its sizes. Raises ValueError if the curve begins above it."""
        count = sum(size <= size_bytes for size in self.sizes)
        return Curve(self.metric, self.unit, self.sizes[:count], self.values[:count])


def median(passes: Sequence[Curve]) -> Curve:
    """Return the median of several passes at each size. A stall of the machine in one pass then does not count.

    Raises ValueError without a pass, and if passes differ in metric, unit or sizes.
    """
    if not passes:
        raise ValueError("no pass to take the median of")
    first = passes[0]
    for other in passes[1:]:
        if (other.metric, other.unit, other.sizes) != (first.metric, first.unit, first.sizes):
            raise ValueError(f"{first.metric}: passes of one run differ in their sizes or unit")
    if len(passes) == 1:
        return first
    import statistics  # 0.01 s to import, and most outputs have one pass

    values = zip(*(one.values for one in passes), strict=True)
    return Curve(first.metric, first.unit, first.sizes, tuple(statistics.median(column) for column in values))


def peak(curve: Curve) -> tuple[int, float]:
    """Return (size in bytes, value) of the largest value; if several are equal, with the smallest size."""
    best = max(curve.values)
    return curve.sizes[curve.values.index(best)], best


def n_half(curve: Curve, plateau: float) -> float:
    """Return N½ in bytes: the message size at which half of ``plateau`` is reached.

    It is linear between the two sizes around the last rise through the half. (On a token-bucket shaper a curve may pass
    it early, fall, and pass it again: the last one counts.) It is the smallest size if the whole curve is above the
    half, and infinity if the end of the curve is below it.

    Source: R. W. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994) 389-398.
    """
    half = plateau / 2
    if curve.values[-1] < half:
        return math.inf
    index = len(curve.values) - 1
    while index > 0 and curve.values[index - 1] >= half:
        index -= 1
    if index == 0:
        return float(curve.sizes[0])
    low_size, high_size = curve.sizes[index - 1], curve.sizes[index]
    low, high = curve.values[index - 1], curve.values[index]
    return low_size + (high_size - low_size) * (half - low) / (high - low)
