"""Figures, sizes and states as words: how a number is written in every report."""

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
    """Return a figure as 0.85, 4.75, 47.8, 766.2 or 12,418, by its size; ``–`` for None."""
    if value is None:
        return _NOTHING
    size_of = abs(value)
    if size_of >= 1000:
        return f"{value:,.0f}"
    if size_of >= 10:
        return f"{value:.1f}"
    if size_of >= 0.1 or value == 0:
        return f"{value:.2f}"
    return f"{value:.2g}"


def percent(value: float | None) -> str:
    """Return a percentage with one decimal and without its sign, ``–`` for None."""
    return _NOTHING if value is None else f"{value:.1f}"


def size(size_bytes: int) -> str:
    """Return a message size in the largest binary unit that divides it: 0 B, 512 B, 16 KiB, 4 MiB."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor:,} {unit}"
    return f"{size_bytes:,} B"


def bytes_moved(count: int | None) -> str:
    """Return an amount of traffic in 10^6 B, with enough digits to see a kilobyte; ``not readable`` for None."""
    if count is None:
        return "not readable"
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"


def state_words(record: Record) -> str:
    """Return the state in words, a failure with the rule that does not hold: ``fail (rule 5)``, and of a replay so."""
    words = STATE_WORDS[record.state]
    if record.state == "fail" and record.verdict.rule:
        words = f"{words} (rule {record.verdict.rule})"
    return words if record.replayed is None or record.state == "not-tested" else f"{words}, replayed"


def rule_words(rule: RuleRecord) -> str:
    """Return the state of one rule in words."""
    return _RULE_WORDS[rule.state]
