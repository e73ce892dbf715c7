"""Figures, sizes and states as words: how every report writes a number."""

from railyard.base import wording
from railyard.benchmarks.model import Figure
from railyard.results.record.form import Record, RuleRecord, State

STATE_WORDS: dict[State, str] = {
    "pass": "pass",
    "fail": "fail",
    "disturbed": "disturbed",
    "report-only": "report-only",
    "xfail": "expected failure",
    "not-tested": "not tested",
}

_RULE_WORDS = {"pass": "holds", "fail": "does not hold", "not-judged": "not judged"}
_NOTHING = "–"


def number(value: float | None) -> str:
    """Return a figure with three significant digits, as 0.850, 4.75, 47.8, 766 or 12418; ``–`` for None."""
    return _NOTHING if value is None else wording.number(value, 3)


#: The mark after a figure that was computed for a replay, and its meaning.
COMPUTED_MARK = "*"
COMPUTED_WORDS = "* computed, not published: made for a replay, no source printed it"


def figure_number(figure: Figure | None) -> str:
    """Return a key figure's number, with a mark if it was computed; ``–`` for None."""
    if figure is None:
        return _NOTHING
    return f"{number(figure.value)}{COMPUTED_MARK if figure.computed else ''}"


def percent(value: float | None) -> str:
    """Return a percentage with one decimal and without its sign, ``–`` for None."""
    return _NOTHING if value is None else f"{value:.1f}"


def bytes_moved(count: int | None) -> str:
    """Return an amount of traffic in 10^6 B, with enough digits to see a kilobyte; ``not readable`` for None."""
    return "not readable" if count is None else wording.traffic(count)


def state_words(record: Record) -> str:
    """Return the state in words, a failure with its rule: ``fail (rule 5)``; it says if nothing was measured."""
    words = STATE_WORDS[record.found.state]
    if record.found.state == "fail" and record.found.verdict.rule:
        words = f"{words} (rule {record.found.verdict.rule})"
    return (
        words
        if record.no_measurement is None or record.found.state == "not-tested"
        else f"{words}, {record_origin(record)}"
    )


def record_origin(record: Record) -> str:
    """Return ``rehearsed`` or ``replayed`` for a record that is not a measurement."""
    return "replayed" if record.made.rehearsal is None else "rehearsed"


def rule_words(rule: RuleRecord) -> str:
    """Return the state of one rule in words."""
    return _RULE_WORDS[rule.state]
