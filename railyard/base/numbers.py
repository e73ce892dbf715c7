"""Quantiles of sorted values, and powers of two."""

from collections.abc import Sequence


def quantile(rising: Sequence[float], share: float) -> float:
    """Return the quantile of sorted values, linear between neighbours.

    Raises IndexError if there are no values. Source: R. Hyndman and Y. Fan, Sample quantiles in statistical packages,
    The American Statistician 50 (1996), definition 7.
    """
    place = (len(rising) - 1) * share
    below = int(place)
    above = min(below + 1, len(rising) - 1)
    return rising[below] + (place - below) * (rising[above] - rising[below])


def powers_of_two(most: int) -> tuple[int, ...]:
    """Return 1, 2, 4 … up to a number."""
    return tuple(1 << power for power in range(most.bit_length())) if most > 0 else ()
