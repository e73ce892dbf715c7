"""Summarises a set of records: the counts, the overall verdict in words, and one row of figures per test.

Failures grouped by their cause: a suspect that several tests name is one entry, with what to type next.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from railyard.base.values import one_line
from railyard.base.wording import count_of, listing, places
from railyard.benchmarks.model import Figure
from railyard.results.record.form import CurveRecord, FaultClass, NodeTraffic, Record, State, Suspect
from railyard.results.record.headline import suspect_name
from railyard.results.remarks import why_too_short
from railyard.results.report.text import (
    COMPUTED_WORDS,
    STATE_WORDS,
    figure_number,
    number,
    percent,
    state_words,
)
from railyard.results.run_folder import RelationRecord
from railyard.site.test_id import named_policy
from railyard.stacks.model import SINGLE

# The split names a device that was not intended to carry traffic from this share on; less is from launch and clocks.
_SHOWN_SHARE = 0.01
#: Rows of a suspect's small table.
_MOST_EVIDENCE = 12


@dataclass(frozen=True, slots=True)
class Row:
    """One test as the verdict table shows it: every cell is a text; percentages have no sign."""

    fabric: str
    stack: str
    rails: str
    benchmark: str
    peak: str
    unit: str
    percent_of_reference: str
    percent_of_limit: str
    split: str
    verdict: str
    state: State


@dataclass(frozen=True, slots=True)
class OverallVerdict:
    """The verdict on everything: ``word`` is PASS, FAIL or NOTHING JUDGED, ``sentence`` says why.

    ``brief`` is the sentence without what was not measured, for a page that says so elsewhere.
    """

    word: str
    sentence: str
    brief: str = ""


def counts(records: Iterable[Record]) -> dict[State, int]:
    """Return how many tests are in each state; all states are there."""
    seen = Counter(record.found.state for record in records)
    return {state: seen[state] for state in STATE_WORDS}


def count_line(records: Sequence[Record]) -> str:
    """Return ``36 tests: 33 pass, 0 fail, 0 disturbed, 2 report-only, 0 expected failure, 1 not tested``.

    The parts add up. If tests were measured again, their number follows: ``; 2 measured again``.
    """
    parts = ", ".join(f"{count} {STATE_WORDS[state]}" for state, count in counts(records).items())
    again = sum(bool(record.how.attempts) for record in records)
    return f"{count_of(len(records), 'test')}: {parts}" + (f"; {again} measured again" if again else "")


def judge_overall(
    records: Sequence[Record],
    problems: Sequence[str] = (),
    unrun: int = 0,
    relations: Sequence[RelationRecord] = (),
) -> OverallVerdict:
    """Return the verdict on everything.

    A pass needs a test that passed or was report-only, and no test that failed, was disturbed or was lost. A test that
    ran too short a time to be judged is none of them. ``problems`` are sentences on what went wrong outside the tests,
    ``unrun`` is the number of promised tests without a record, and ``relations`` are those between curves: none may
    fail.
    """
    of = counts(records)
    short = sum(record.found.state == "report-only" and why_too_short(record) is not None for record in records)
    faults = [_count_failed(of["fail"], len(records) - of["not-tested"])] if of["fail"] else []
    broken = sum(relation.state == "fail" for relation in relations)
    if of["disturbed"]:
        was = "was" if of["disturbed"] == 1 else "were"
        faults.append(f"{count_of(of['disturbed'], 'test')} {was} disturbed, so nobody can judge what was measured")
    if broken:
        many = "relation" if len(relations) == 1 else "relations"
        faults.append(f"{broken} of {len(relations)} {many} between curves failed")
    if unrun:
        faults.append(f"{count_of(unrun, 'test')} that should have run left no record")
    if problems:
        faults.append("the run had a problem" if len(problems) == 1 else f"the run had {len(problems)} problems")
    if faults:
        return _make_overall("FAIL", [*faults, *_say_repeats(records)], records)
    if of["pass"] + of["report-only"] == short:
        why = _too_short(short) if short else ["No test ran to a verdict, so nothing is known of this system"]
        return _make_overall("NOTHING JUDGED", why, records)
    return _make_overall("PASS", [*_good_news(of, short), *_say_repeats(records)], records)


def _make_overall(word: str, told: Sequence[str], records: Sequence[Record]) -> OverallVerdict:
    return OverallVerdict(word, _sentence([*told, *not_measured(records)]), _sentence(told))


def names_policies(records: Iterable[Record]) -> bool:
    """Return whether a test names a rail policy: then every test over several rails shows its own."""
    return any(named_policy(record.test.case) for record in records)


def row(record: Record, policies: bool = False) -> Row:
    """Return one test's row: its peak (or first key figure), its percentages, its worst split.

    ``policies``: with the rail policy after the number of rails, if there are several.
    """
    figure = key_figure(record)
    return Row(
        fabric=record.where.fabric,
        stack=record.test.stack,
        rails=_rails(record, policies),
        benchmark=record.test.benchmark,
        peak=figure_number(figure),
        unit=figure.unit if figure else "",
        percent_of_reference=percent(_first(record.found.curves, "percent_of_reference")),
        percent_of_limit=percent(_first(record.found.curves, "percent_of_limit")),
        split=split(record),
        verdict=state_words(record),
        state=record.found.state,
    )


def _rails(record: Record, policies: bool) -> str:
    policy = record.test.policy or named_policy(record.test.case)
    return f"{record.test.rails}, {policy}" if policies and policy not in (None, SINGLE) else str(record.test.rails)


def key_figure(record: Record) -> Figure | None:
    """Return the figure named ``peak``, else the first one, else None."""
    return next(
        (figure for figure in record.found.figures if figure.name == "peak"), next(iter(record.found.figures), None)
    )


def split(record: Record) -> str:
    """Return how the bytes of the most uneven node went over its intended rails, in per cent: ``100``, ``50/50``.

    A device that carried bytes against the intention follows by name (``3/0, eth0 97``); ``–`` if nothing was read.
    """
    node = most_uneven(record)
    return number(None) if node is None else _split_of(node)


def most_uneven(record: Record) -> NodeTraffic | None:
    """Return the node whose traffic was split most unevenly over its rails, None if nothing was read."""
    nodes = record.how.path_proof.each_node() if record.how.path_proof else ()
    readable = [node for node in nodes if any(rail.share is not None for rail in node.rails)]
    return max(readable, key=unevenness, default=None)


def by_reason(records: Iterable[Record]) -> Mapping[str, list[Record]]:
    """Return records grouped by the sentence of their verdict, in order of first appearance."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.found.verdict.text, []).append(record)
    return groups


def suspect_words(suspect: Suspect) -> str:
    """Return a suspect in words: ``rail hsn1 of vn2: it moved 4.9 MB/s``; with how sure the verdict is."""
    return f"{suspect_part(suspect)}: {one_line(suspect.reason)}"


def evidence_rows(suspect: Suspect) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the title and the rows of a suspect's small table: nodes, value, and ``control`` or nothing.

    Over several rails the title names none, and each row its own.
    """
    rails = list(dict.fromkeys(one.rail for one in suspect.evidence))
    alone = f"{rails[0]} alone" if len(rails) == 1 else "single rails"
    rows = []
    for one in suspect.evidence[:_MOST_EVIDENCE]:
        value = "no result" if one.value is None else f"{number(one.value)} {one.unit}"
        over = "" if len(rails) == 1 else f" over {one.rail}"
        rows.append((one_line(f"{listing(list(one.nodes))}{over}"), one_line(value), "control" * one.is_control))
    return one_line(f"{alone}, the best value between two nodes"), rows


def evidence_lines(suspect: Suspect) -> list[str]:
    """Return that table as lines of text with a title; none without evidence."""
    if not suspect.evidence:
        return []
    title, rows = evidence_rows(suspect)
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"  {name:<{wide[0]}}  {value:>{wide[1]}}  {role}".rstrip() for name, value, role in rows]
    more = len(suspect.evidence) - len(rows)
    return [f"evidence: {title}", *lines, *([f"  and {more} more in the record"] if more else [])]


def suspect_part(suspect: Suspect) -> str:
    """Return a suspect without its reason: ``rail hsn1 of vn2``; with how sure the verdict is."""
    sure = f" ({suspect.confidence})" if suspect.confidence is not None else ""
    return one_line(f"{suspect_name(suspect)}{sure}")


def _first(curves: Sequence[CurveRecord], name: str) -> float | None:
    """Return a percentage of the first curve that has it: a check puts its main curve first."""
    return next((value for curve in curves if (value := getattr(curve, name)) is not None), None)


def unevenness(node: NodeTraffic) -> float:
    """Return how unevenly a node's bytes were split over its rails, 0 if each intended one carried the same."""
    meant = [rail.share or 0.0 for rail in node.rails if rail.meant]
    stray = sum(rail.share or 0.0 for rail in node.rails if not rail.meant)
    return stray + (max(meant) - min(meant) if meant else 0.0)


def _split_of(node: NodeTraffic) -> str:
    meant = "/".join(_share(rail.share) for rail in node.rails if rail.meant)
    stray = [rail for rail in node.rails if not rail.meant and (rail.share or 0.0) >= _SHOWN_SHARE]
    return ", ".join([meant, *(f"{rail.device} {_share(rail.share)}" for rail in stray)])


def _share(share: float | None) -> str:
    return "?" if share is None else f"{share * 100:.0f}"


def _count_failed(failed: int, ran: int) -> str:
    return f"{failed} of {count_of(ran, 'test')} failed"


def _too_short(short: int) -> list[str]:
    """Return how many tests ran too short a time to be judged; nothing if none did."""
    return [f"{count_of(short, 'test')} ran too short a time to be judged"] if short else []


def _good_news(of: Mapping[State, int], short: int) -> list[str]:
    """Return what passed; ``short`` of the report-only tests ran too short a time to be judged."""
    told = []
    compared = of["report-only"] - short
    if of["pass"]:
        told.append(f"{count_of(of['pass'], 'test')} passed against {'its' if of['pass'] == 1 else 'their'} references")
    if compared:
        was = "was" if compared == 1 else "were"
        told.append(f"{count_of(compared, 'test')} {was} only compared with the physical limit, without a reference")
    told += _too_short(short)
    if of["xfail"]:
        told.append(f"{count_of(of['xfail'], 'test')} failed as expected")
    if of["not-tested"]:
        told.append(f"{count_of(of['not-tested'], 'test')} did not run")
    return told


def _say_repeats(records: Sequence[Record]) -> list[str]:
    """Return how many tests were measured again because they had been disturbed; nothing if none was."""
    again = sum(bool(record.how.attempts) for record in records)
    return [f"{count_of(again, 'test')} {'was' if again == 1 else 'were'} measured again"] if again else []


def not_measured(records: Sequence[Record]) -> list[str]:
    """Return what was played or rehearsed instead of a measurement, in words; nothing for a run that measured."""
    played = [record for record in records if record.made.replayed is not None and record.found.state != "not-tested"]
    told = [
        f"{count_of(count, 'test')} {words}" for words, count in Counter(one.made.replayed for one in played).items()
    ]
    if any(figure.computed for record in played for figure in record.found.figures):
        told.append(COMPUTED_WORDS)
    return [*told, "this is a rehearsal: nothing was measured"] if rehearsals(records) else told


def rehearsals(records: Iterable[Record]) -> tuple[str, ...]:
    """Return a sentence for each rehearsal in the records, with what was planted; none for measurements."""
    return tuple(f"This is {words}." for words in dict.fromkeys(record.made.rehearsal for record in records) if words)


def _sentence(parts: Sequence[str]) -> str:
    return "; ".join(parts) + "."


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


def merge_alike(found: Iterable[Cause]) -> tuple[Cause, ...]:
    """Return causes for a list without sentences: those that would read alike there are one, with all its tests."""
    alike: dict[tuple[object, ...], Cause] = {}
    for cause in found:
        key = (cause.heading, cause.state, cause.commands[:1])
        first = alike.setdefault(key, cause)
        if first is not cause:
            alike[key] = replace(first, indices=(*first.indices, *cause.indices))
    return tuple(alike.values())


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
