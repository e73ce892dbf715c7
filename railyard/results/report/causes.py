"""Failures grouped by their cause: a suspect that several tests name is one entry, with what to type next."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from railyard.base.clean_text import one_line
from railyard.base.wording import count_of, listing, places
from railyard.results.record.form import FaultClass, Record, State, Suspect
from railyard.results.record.headline import suspect_name
from railyard.results.report.summary import suspect_part

#: Headings if no suspect was named.
_UNNAMED: Mapping[FaultClass | None, str] = MappingProxyType(
    {
        "fabric": "The network, no part of it named",
        "node": "A node, none named",
        "set-up": "The set-up",
        "scheduler": "The scheduler",
        "disturbed": "Other work on the nodes",
        "not-proven": "The path of the bytes, not proven",
        "reference": "The reference",
        None: "No cause named",
    }
)
_MOST_NAMES, _MOST_BLAMED = 4, 5
# Figures and sizes differ from test to test although the cause is the same: 76.6 MB/s at 4 MiB, 80.1 MB/s at 1536 KiB.
_FIGURE = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?(?: (?:B|KiB|MiB|GiB)\b)?")


@dataclass(frozen=True, slots=True)
class Cause:
    """What several failed (or disturbed) tests have in common.

    ``indices`` are the indices of its records, the first of which is shown in full; ``commands`` what to type next.
    """

    anchor: str
    heading: str
    state: State
    suspects: tuple[Suspect, ...]
    indices: tuple[int, ...]
    commands: tuple[str, ...]


def causes(records: Sequence[Record]) -> tuple[Cause, ...]:
    """Return the causes of all failed tests, then of all disturbed ones; those with the most tests first.

    Tests that name the same suspects share a cause. Tests without suspects share one if system and fabric are the same,
    and the sentences of their verdicts differ only in figures.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, record in enumerate(records):
        if record.fails:
            groups.setdefault(_key(record), []).append(index)
    disturbed_last = sorted(groups.values(), key=lambda own: (records[own[0]].found.state == "disturbed", -len(own)))
    return tuple(_cause(number, own, records) for number, own in enumerate(disturbed_last, start=1))


def blame_lines(failed: Sequence[Record]) -> list[str]:
    """Return the line that says whom failed tests blame, the most blamed first; none if no test failed.

    ``blamed: rail hsn1 of vn2 (3 tests) and node vn4 (1 test)``
    """
    named = Counter(part for record in failed for part in {suspect_part(one) for one in record.found.verdict.suspects})
    if not named:
        return ["blamed: nobody; the sentences above say what failed"] if failed else []
    most = [f"{part} ({count_of(count, 'test')})" for part, count in named.most_common(_MOST_BLAMED)]
    more = len(named) - len(most)
    return [f"blamed: {listing(most)}{f', and {more} more' if more else ''}"]


def commands(record: Record) -> tuple[str, ...]:
    """Return what to type next after a test that failed or was disturbed, the first thing first.

    After a replay, no command looks at nodes. After a rehearsal, they are what you would type on the real cluster.
    """
    found = _commands(record)
    return found[:1] if record.made.rehearsal is not None else found


def _commands(record: Record) -> tuple[str, ...]:
    of = f"--system {shlex.quote(one_line(record.where.system))}"
    again = f"railyard run {of} --failed"
    if record.made.replayed is not None:
        return (f"railyard references {of}",)
    if record.found.state == "disturbed":
        return (again,)
    kinds = {suspect.kind for suspect in record.found.verdict.suspects}
    if kinds - {"stack"}:
        return (f"railyard doctor {of} --nodes", again)
    if kinds or record.found.verdict.class_ == "set-up":
        return (f"railyard run {of} --failed --dry-run", again)
    if record.found.verdict.class_ == "scheduler":
        return (f"railyard doctor {of} --job", again)
    if record.found.verdict.class_ == "reference":
        return (f"railyard lint {of}", again)
    return (f"railyard doctor {of} --nodes", again)


def _key(record: Record) -> tuple[object, ...]:
    suspects = tuple(sorted({(one.kind, one.node or "", one.rail or "") for one in record.found.verdict.suspects}))
    if suspects:
        return record.where.system, record.found.state, suspects
    verdict = record.found.verdict
    said = _FIGURE.sub("#", verdict.sentence)
    return record.where.system, record.found.state, record.where.fabric, verdict.rule, verdict.class_, said


def _cause(number: int, own: Sequence[int], records: Sequence[Record]) -> Cause:
    first = records[own[0]]
    return Cause(
        f"cause-{number}", _heading(first), first.found.state, first.found.verdict.suspects, tuple(own), commands(first)
    )


def _heading(record: Record) -> str:
    names = list(dict.fromkeys(suspect_name(one) for one in record.found.verdict.suspects))
    if not names:
        kind = "disturbed" if record.found.state == "disturbed" else record.found.verdict.class_
        return _UNNAMED[kind]
    told = places(names, _MOST_NAMES)
    return told[:1].upper() + told[1:]
