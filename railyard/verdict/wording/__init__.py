"""The sentences of a verdict as a whole, and the words that several sentences share: each is made from typed facts.

A rule decides, and hands over its facts; how a sentence says them is one line of this module. Tests assert the facts,
or ask the same function for the words. ``tests/golden/sentences.txt`` shows the sentences themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from railyard.base.wording import listing, number, percent
from railyard.benchmarks.model import Figure

#: How a finding begins if the counters do not show which way the bytes went.
NOT_PROVEN = "path not proven: "
#: What is said of a network or device that carried bytes of the run, and should not.
NOT_INTENDED = "is not an intended rail"
#: What is said of the second of two rails, and of one of several, that carried next to nothing.
IDLE_SECOND = "idle second rail"
IDLE = "idle rail"
#: With whom a rail is bad that is at fault itself.
WITH_EVERY = "with every partner"
#: How a sentence begins that says why something was not judged.
NOT_JUDGED = "not judged: "
#: The end of a finding that blames no part.
NOBODY_BLAMED = "nobody is blamed"

Side = Literal["below", "above"]
#: The side of a bound on which a value is -> the words between them.
_IS: dict[Side, str] = {"below": "is below", "above": "is above"}


@dataclass(frozen=True, slots=True)
class Miss:
    """A value on the wrong side of its bound; ``best_of``: of which sizes it is the best, if not each is compared."""

    figure: Figure
    side: Side
    bound: float
    best_of: str = ""

    @property
    def words(self) -> str:
        """``bandwidth 46.00 MB/s at 1 MiB is below 47.00 MB/s (97.9 %)``."""
        best = f", the best of {self.best_of}," if self.best_of else ""
        share = percent(self.figure.value / self.bound)
        return f"{self.figure.words}{best} {_IS[self.side]} {number(self.bound)} {self.figure.unit} ({share})"


def not_judged(reason: str) -> str:
    """Return that something was not judged, and why."""
    return f"{NOT_JUDGED}{reason}"


def too_short(latency: Figure, least_us: float) -> str:
    """Return that a latency is less than any between nodes: ``latency 0.3000 us between nodes is below 0.4 us``."""
    return f"{latency.words} between nodes {_IS['below']} {least_us:.2g} us"


def in_doubt(figure: Figure, side: Side, bound: float) -> str:
    """Return that a value breaks no bound but is not sure: ``bandwidth of 900.0 MB/s is below 1000``."""
    return f"{figure.name} of {number(figure.value)} {figure.unit} {_IS[side]} {number(bound)}"


def with_look_at(sentence: str, look_at: str | None) -> str:
    """Return the sentence of a failure with what to look at."""
    return f"{sentence}; look at {look_at}" if look_at else sentence


def of_rule(rule: int, name: str, sentence: str) -> str:
    """Return a rule's sentence with the rule."""
    return f"rule {rule} ({name}): {sentence}"


def rule_not_judged(rule: int, name: str, sentence: str) -> str:
    """Return that a rule before the last was not judged; ``sentence``: that of the rule, which says so."""
    return f"rule {rule} ({name}) {sentence}"


def not_tested(reason: str) -> str:
    """Return that a case did not run."""
    return f"not tested: {reason}"


def sound_but(reason: str) -> str:
    """Return why a sound run on a single host is not tested: the system's own sentence."""
    return f"the run is sound, but {reason}"


def is_surprise(sentence: str, reason: str) -> str:
    """Return that a run passed which was expected to fail."""
    return f"{sentence}; it was expected to fail ({reason}): remove that expectation"


def _failure_until(reason: str, expires: date) -> str:
    return f"expected failure ({reason}, until {expires.isoformat()})"


def has_expired(sentence: str, reason: str, expires: date) -> str:
    """Return that a run failed although its expected failure has expired."""
    return f"{sentence}; the {_failure_until(reason, expires)} has expired"


def covers_only(sentence: str, reason: str, expires: date, rules: Sequence[int]) -> str:
    """Return that a run failed by another rule than was expected."""
    return (
        f"{sentence}; the {_failure_until(reason, expires)} covers rule {listing([str(rule) for rule in rules])} only"
    )


def expected_failure(reason: str, expires: date, failed: str) -> str:
    """Return that a run failed as expected; ``failed``: the sentence with its rule."""
    return f"{_failure_until(reason, expires)}: {failed}"


def other_hops(hops: Sequence[int], nodes: Sequence[str], between: int | None) -> str:
    """Return that references by hops were not used; ``between``: the switches between the nodes, None: unknown."""
    unused = f"references by hops ({listing([str(each) for each in hops])}) were not used"
    if between is not None:
        return f"{unused}: {listing(nodes)} have {between} between them"
    return f"{unused}: it is not known how many switches are between its nodes (type: railyard fabric --keep-hops)"


def possible_cause(sentence: str) -> str:
    """Return a condition that may explain the loss."""
    return f"a possible cause: {sentence}"


def look_at_parts() -> str:
    """Return what to look at if parts of a run differ, and nothing better is known."""
    return "the logs of its parts"


def say_computed(sentence: str) -> str:
    """Return that a replay's values, of which a sentence names one, may have been computed."""
    return f"{sentence}; replayed: what no source printed was computed"
