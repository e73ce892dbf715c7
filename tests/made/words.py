"""The shared words of verdicts for tests that look for them: made by ``railyard.verdict.wording``, never quoted."""

from collections.abc import Sequence

from railyard.base.bounds import IDLE_SHARE
from railyard.benchmarks.model import Figure
from railyard.verdict.wording import Miss, Side, pair_search, path, reference, run_rules


def below_words(
    value: float, bound: float, at: int | None = None, name: str = "bandwidth", unit: str = "MB/s", best_of: str = ""
) -> str:
    """Return that a value is below its bound; ``at`` is a message size in bytes."""
    return _miss_words("below", value, bound, at, name, unit, best_of)


def above_words(value: float, bound: float, at: int | None = None, name: str = "latency", unit: str = "us") -> str:
    """Return that a value is above its bound; ``at`` is a message size in bytes."""
    return _miss_words("above", value, bound, at, name, unit)


def _miss_words(side: Side, value: float, bound: float, at: int | None, name: str, unit: str, best_of: str = "") -> str:
    return Miss(Figure(name, value, unit, at), side, bound, best_of).words


def breach_words(
    side: Side,
    value: float,
    bound: float,
    entry: str,
    at: int | None = None,
    name: str = "bandwidth",
    unit: str = "MB/s",
    own: str = "",
) -> str:
    """Return that a value breaks the bound of a reference; ``own``: by how much it misses a condition of ours."""
    return reference.say_missed(Miss(Figure(name, value, unit, at), side, bound), reference.bound(), entry, own)


def bounded_words(sizes: Sequence[int], measured: int, left: str = "") -> str:
    """Return which of so many ``measured`` sizes are bounded (in bytes, rising), and which are ``left``."""
    return reference.bounded_sizes(sizes, measured, left, None)


def at_line(number: int) -> str:
    """Return how a sentence begins to quote a line of the output that reports a failure."""
    return run_rules.first_failure(number, "", "", "").removeprefix(", ")[:-1]


def idle_second(part: str) -> str:
    """Return that the second of two rails was idle that should carry its share; ``part``: what it carried."""
    return path.idle([part], 2, IDLE_SHARE.value, IDLE_SHARE.unit, IDLE_SHARE.name)


def slow_alone(node: str) -> str:
    """Return how a sentence begins that names a slow node: the rest is what it gave with each partner."""
    return pair_search.slow_node(node, (), 1.0, "", 1.0).partition("nothing")[0]
