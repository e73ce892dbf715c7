"""The sentences of rule 2: what was read, and why a metric cannot be judged."""

from collections.abc import Sequence

from railyard.base.wording import listing


def nothing_declared() -> str:
    """Return that a check has no metric."""
    return "the check declares no metric, so nothing was measured"


def read_at(name: str, unit: str, sizes: int) -> str:
    """Return at how many sizes a metric was read."""
    return f"{name} in {unit} at {'1 size' if sizes == 1 else f'{sizes} sizes'}"


def read(metrics: Sequence[str]) -> str:
    """Return what was read: the words of each metric."""
    return f"read {listing(metrics)}"


def in_pass(place: int, count: int) -> str:
    """Return the beginning of a sentence about one pass of several."""
    return f"in pass {place} of {count}: "


def say_unread(name: str, unit: str, problem: str) -> str:
    """Return that an output lacks a metric; ``problem``: the reader's sentence, empty if it has none."""
    because = f": {problem}" if problem else ""
    return f"the output has no {name} in {unit} that can be read{because}"


def unlike_counts(name: str, sizes: int, values: int) -> str:
    """Return that a metric has more or fewer values than sizes."""
    return f"{name} has {sizes} sizes but {values} values"


def other_unit(name: str, unit: str | None, expected: str) -> str:
    """Return that a metric was read in another unit than declared."""
    return f"{name} is in {unit or 'no unit'}, expected {expected}"


def unsorted_sizes(name: str) -> str:
    """Return that sizes do not rise."""
    return f"{name} has sizes that are not in rising order"


def not_finite(what: str, value: float | None) -> str:
    """Return that a value is missing, infinite or NaN; ``what``: the metric, at its size."""
    return f"{what} is {'missing' if value is None else str(value)}, expected a finite number"


def not_above_0(what: str, value: float, unit: str) -> str:
    """Return that a value is 0 or less; ``what``: the metric, at its size."""
    return f"{what} is {value:g} {unit}, expected more than 0"


def look_at_headings() -> str:
    """Return what to look at if a metric cannot be read."""
    return "the benchmark's output: whether its headings and rows are whole, and as its release prints them"


def look_at_check() -> str:
    """Return what to look at if a check has no metric."""
    return "the check's metrics"
