"""The sentences of a verdict as a whole: the rule that decided, what was expected to fail, and what was not tested."""

from collections.abc import Sequence
from datetime import date

from railyard.base.wording import listing


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


def _until(reason: str, expires: date) -> str:
    return f"expected failure ({reason}, until {expires.isoformat()})"


def has_expired(sentence: str, reason: str, expires: date) -> str:
    """Return that a run failed although its expected failure has expired."""
    return f"{sentence}; the {_until(reason, expires)} has expired"


def covers_only(sentence: str, reason: str, expires: date, rules: Sequence[int]) -> str:
    """Return that a run failed by another rule than was expected."""
    return f"{sentence}; the {_until(reason, expires)} covers rule {listing([str(rule) for rule in rules])} only"


def expected_failure(reason: str, expires: date, failed: str) -> str:
    """Return that a run failed as expected; ``failed``: the sentence with its rule."""
    return f"{_until(reason, expires)}: {failed}"


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
