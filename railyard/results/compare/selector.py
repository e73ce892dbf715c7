"""What is on one side of a comparison: runs, and which of their tests; ``RUN[+RUN…][:KEY=VALUE[,KEY=VALUE…]]``."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from railyard.base.errors import RailyardError, did_you_mean
from railyard.results.record.form import Record

#: Keys of a selector: fields of a record. A value may hold * and ?.
KEYS = ("system", "fabric", "stack", "rails", "policy", "benchmark", "check", "case")
GRAMMAR = "RUN[+RUN…][:KEY=VALUE[,KEY=VALUE…]]"


@dataclass(frozen=True, slots=True)
class Selector:
    """One side as the user named it; no ``runs``: those of the other side."""

    text: str
    runs: tuple[str, ...]
    where: tuple[tuple[str, str], ...] = ()


def selector(text: str) -> Selector:
    """Return what the word for a side asks for. Raises RailyardError naming the word that GRAMMAR does not allow."""
    names, colon, conditions = _split_conditions(text)
    runs = tuple(names.split("+")) if names else ()
    if "" in runs or (colon and not conditions) or not (runs or conditions):
        raise RailyardError(f'"{text}": found an empty word, expected {GRAMMAR}')
    where: list[tuple[str, str]] = []
    for condition in conditions.split(",") if conditions else ():
        key, sign, value = condition.partition("=")
        if not sign or not value:
            raise RailyardError(f'"{text}": found "{condition}", expected KEY=VALUE, such as fabric=hsn')
        if key not in KEYS:
            raise RailyardError(f'"{text}": found key "{key}", expected a field of a test; {did_you_mean(key, KEYS)}')
        if key in dict(where):
            raise RailyardError(f'"{text}": found {key} twice, expected it once; * stands for several values')
        where.append((key, value))
    return Selector(text, runs, tuple(where))


def choose_records(asked: Selector, records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the records that meet all conditions of a side.

    Raises RailyardError if none does, naming the condition that no record meets, and the known values.
    """
    left = tuple(records)
    for key, pattern in asked.where:
        there = sorted({_value(record, key) for record in left})
        left = tuple(record for record in left if fnmatchcase(_value(record, key), pattern))
        if not left:
            known = did_you_mean(pattern, there)
            raise RailyardError(f'"{asked.text}": found no test with {key}={pattern}, expected one; {known}')
    if not left:
        raise RailyardError(f'"{asked.text}": found no test in these runs, expected at least one; name another run')
    return left


def _split_conditions(text: str) -> tuple[str, str, str]:
    """Return runs, colon and conditions; a colon in a path does not count, since no KEY= follows it."""
    at = text.find(":")
    while at >= 0:
        rest = text[at + 1 :]
        if "/" not in rest.partition("=")[0]:
            return text[:at], ":", rest
        at = text.find(":", at + 1)
    return text, "", ""


def _value(record: Record, key: str) -> str:
    value = getattr(record, key)
    return "" if value is None else str(value)
