"""The shared words of verdicts for tests that look for them: made by ``railyard.verdict.wording``, never quoted."""

from railyard.verdict.wording import Figure, Miss, Side


def below(
    value: float, bound: float, at: int | None = None, name: str = "bandwidth", unit: str = "MB/s", best_of: str = ""
) -> str:
    """Return that a value is below its bound; ``at`` is a message size in bytes."""
    return _missed("below", value, bound, at, name, unit, best_of)


def above(value: float, bound: float, at: int | None = None, name: str = "latency", unit: str = "us") -> str:
    """Return that a value is above its bound; ``at`` is a message size in bytes."""
    return _missed("above", value, bound, at, name, unit)


def _missed(side: Side, value: float, bound: float, at: int | None, name: str, unit: str, best_of: str = "") -> str:
    return Miss(Figure(name, value, unit, at), side, bound, best_of).words
