"""Whether a source printed a figure: only what the entries of a system have at a message size counts."""

from collections.abc import Iterable

from railyard.site.references.model import Entry
from railyard.site.test_id import TestId

#: An output has few decimals, so a figure is its source's if it differs by no more than this share.
ROUNDED = 0.005
#: A floor of a link's class is nobody's measured figure.
_OURS = "class"


def is_printed(
    entries: Iterable[Entry], test: TestId, metric: str, size: int, value: float, hops: int | None = None
) -> bool:
    """Return whether an entry for this test has this value at a size in bytes (0 for a metric without sizes).

    That is a point of its curve, its value, its floor, or anything within its range, but never a value between points.
    ``hops`` are the switches between the two nodes, if they are known.
    """
    held = (_ends_at(one, size) for one in entries if one.matches(test, metric) and one.holds_at(hops))
    return any(low * (1 - ROUNDED) <= value <= high * (1 + ROUNDED) for low, high in filter(None, held))


def _ends_at(entry: Entry, size: int) -> tuple[float, float] | None:
    """Return both ends of what an entry has at a size (equal, except for a range); None if it has nothing there."""
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
