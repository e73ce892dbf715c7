"""Whether a source printed a figure: what the entries of a system hold at a message size, and nothing beside it."""

from collections.abc import Iterable

from railyard.site.references.model import Entry
from railyard.site.test_id import TestId

#: An output has few decimals, so that a figure is its source's where it differs by no more than this share.
ROUNDED = 0.005
#: A floor of a link's class is nobody's figure.
_OURS = "class"


def is_printed(
    entries: Iterable[Entry], test: TestId, metric: str, size: int, value: float, hops: int | None = None
) -> bool:
    """Return whether an entry for this test has this value at a size in bytes (0 for a metric without sizes).

    That is a point of its curve, its value, its floor, or anything within its range; never what lies between points.
    ``hops`` are the switches between the two nodes, where they are known.
    """
    held = (_ends_at(one, size) for one in entries if one.matches(test, metric) and one.holds_at(hops))
    return any(low * (1 - ROUNDED) <= value <= high * (1 + ROUNDED) for low, high in filter(None, held))


def _ends_at(entry: Entry, size: int) -> tuple[float, float] | None:
    """Return both ends of what an entry holds at a size, which are one but for a range; None where it holds nothing."""
    if entry.kind == _OURS:
        return None
    if entry.curve is not None:
        value = entry.curve.get(size)
        return None if value is None else (value, value)
    if not entry.sizes.covers(size):
        return None
    if entry.ends is not None:
        return entry.ends
    single = entry.value if entry.value is not None else entry.floor
    return (single, single) if isinstance(single, float) else None
