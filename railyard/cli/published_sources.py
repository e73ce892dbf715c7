"""Judges the recordings of published systems, and writes what their sources say as a page: docs/reference/published.md.

Writes what the published sources say as a page for people: ``make docs`` writes ``docs/reference/published.md``.

For this it judges every recording of a system with claims, in this process and within seconds.

The page has each claim of the sources, what checks it, and its verdict in its system's replay.

The recordings of a published system, judged as its replay judges them, but without ReFrame: one record each.

If a test has recordings for the runs of ``--repeat``, these are used instead of its single one, as in such a run.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from railyard.base.paths import CHECKS, find_home, part
from railyard.base.wording import count_of
from railyard.benchmarks.apps import installed_applications
from railyard.benchmarks.table.applications import installed_name
from railyard.parsers import rail_parts
from railyard.parsers.detect import parse
from railyard.parsers.output import ParsedOutput
from railyard.provision.replay.form import WORDS, Recording
from railyard.provision.replay.index import content_of, folder_of, read_index
from railyard.results import relations
from railyard.results.record.form import (
    CurveRecord,
    FoundPart,
    MadePart,
    Record,
    RuleRecord,
    State,
    TestPart,
    VerdictRecord,
    WherePart,
)
from railyard.results.reference_sheet import is_published
from railyard.results.run_folder import RelationRecord
from railyard.rfm.checks.catalogue import needs
from railyard.site.matrix import Need, requested_needs
from railyard.site.references.checks import metric_of, sides
from railyard.site.references.load import References
from railyard.site.references.model import Claim, Source
from railyard.site.site import Site, site_at
from railyard.site.systems.load import load_systems
from railyard.site.test_id import TestId, named_policy, plain_check, without_repeat
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.stored_outputs.target import Nodes


def replay_records(site: Site, needs: Sequence[Need]) -> tuple[Record, ...]:
    """Return a record for each of a system's recordings, in their order; ``needs`` are their checks.

    Nothing is written and no job runs, so the path is not judged. Raises InputError if there is no index, and
    RailyardError if a recording is not the one that the index lists.
    """
    asked = {need.check: need for need in requested_needs(site.system, tuple(needs))}
    listed = read_index(folder_of(site.home, site.system.system)).recordings
    repeated = {_first(one) for one in listed if without_repeat(one.check) != one.check}
    return tuple(
        _record(site, one, asked[plain_check(without_repeat(one.check))]) for one in listed if one.test not in repeated
    )


def _first(one: Recording) -> TestId:
    """Return the test that a recording repeats."""
    return TestId(one.fabric, one.stack, one.rails, one.benchmark, without_repeat(one.check))


def _record(site: Site, one: Recording, need: Need) -> Record:
    target = of_system(site, one.fabric, one.stack, one.rails, named_policy(one.check), _hops(site, one.fabric))
    target = replace(target, rails_are_proven=True)
    text = content_of(folder_of(site.home, site.system.system), one).decode()
    nodes = Nodes(max(1, need.nodes // 2), need.nodes, need.ranks // need.nodes)
    parsed = _parse_recording(site, one, text)
    found = judge(parsed, target, benchmark=one.benchmark, nodes=nodes, passes="median", text=text)
    return _as_record(one, target, found[0])


def _hops(site: Site, fabric: str) -> int | None:
    """Return the first number of switches that a reference of this fabric is for; None if none depends on it."""
    return next((each for entry in site.references.entries if entry.fabric == fabric for each in entry.hops), None)


def _parse_recording(site: Site, one: Recording, text: str) -> ParsedOutput:
    name = installed_name(one.benchmark)
    if name is not None:
        return installed_applications.parse(text, name, site.system.applications[name])
    return rail_parts.parse(text, partial(parse, tool=one.benchmark.partition("/")[0]))


def _as_record(one: Recording, target: Target, found: Judgement) -> Record:
    failure = next((rule for rule in found.rules if rule.state == "fail"), None)
    state: State = "pass" if found.is_pass else "fail"
    rules = tuple(RuleRecord(rule.rule, rule.name, rule.state, rule.sentence) for rule in found.rules)
    curves = tuple(
        CurveRecord(each.curve.metric, each.curve.unit, each.curve.sizes, each.curve.values, each.directions)
        for each in found.curves
    )
    verdict = VerdictRecord(found.sentence, None if failure is None else failure.rule, rules=rules)
    references = tuple(dict.fromkeys(entry for each in found.curves for entry in each.references))
    return Record(
        test=TestPart(one.check, one.check, one.benchmark, one.stack, one.rails, target.policy),
        where=WherePart(target.system, one.fabric),
        found=FoundPart(state, verdict, curves=curves, references=references),
        made=MadePart("", "", replayed=WORDS[one.origin]),
    )


HEAD = """\
# What the published sources say, and what holds it

`make docs` makes this page from `references/*.yaml` (`claims`) and `recordings/`; change a reference, not this page.
Each line is a claim of a source in our words. *Held by* names the entries, relations and facts that check it:
[published systems](references.md) lists them with their numbers. `source:`, `fabric:` and `price:` mean what the files
say of hardware, links and costs.

The verdict is that of the system's replay (`railyard run --system NAME`, with its repeats if it has some):

- **pass**: the output was computed from the published figures themselves;
- **pass, drawn**: the source has a graph or words but no figure, so the output is a model, drawn to satisfy the
  claim. It shows that the rule works, and nothing of the source's machine;
- **stated**: only facts hold it, and no run is judged by facts; the reason follows;
- **not held**: nothing holds it, and why.

*Differs* says where what holds a claim is not in the source's own words: another unit or size, a bound of our choice,
or one of two readings. If it is empty, the entry has the source's figure, with the tolerance that
[published systems](references.md) shows.

A replay does not prove that a source is right. A run of your own on such hardware is judged by the same entries and
relations.
"""


@dataclass(frozen=True, slots=True)
class ReplayedSystem:
    """A system with its claims: its references, the records of its replay, and the results of its relations."""

    references: References
    records: tuple[Record, ...]
    relations: tuple[RelationRecord, ...]


def systems_with_claims(home: Path) -> tuple[list[ReplayedSystem], list[References]]:
    """Return each published system with its claims and their replay, and the systems without claims.

    Raises InputError and RailyardError if files or recordings are wrong.
    """
    asked = needs(part(home, CHECKS))
    found: list[ReplayedSystem] = []
    without: list[References] = []
    systems = load_systems(home / "systems")
    for broken in systems.broken.values():  # the page has every system, or there is none
        raise broken.error
    for name in systems:
        site = site_at(home, name)
        if site.references.claims:
            records = replay_records(site, asked)
            found.append(ReplayedSystem(site.references, records, relations.judge(site.references, records)))
        elif is_published(site.references):
            without.append(site.references)
    return found, without


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page; ``state`` is pass, drawn, fail, not-judged, stated or not-held, ``verdict`` says it."""

    claim: Claim
    state: str
    verdict: str


#: The states of a line, the worst first: if several entries check it, the worst state counts.
STATES = ("fail", "not-judged", "drawn", "pass", "stated", "not-held")
_WORDS = {"pass": "pass", "drawn": "pass, drawn", "stated": "stated", "not-held": "not held", "fail": "FAIL"}


def page(systems: Sequence[ReplayedSystem], without: Sequence[References]) -> str:
    """Return the page; ``without`` are the published systems that have no list of claims."""
    parts = [HEAD, *(_section(system) for system in systems)]
    if without:
        names = ", ".join(f"[{each.system.system}](references.md#{each.system.system})" for each in without)
        parts.append(
            "## Without a list of claims\n\n"
            f"The source of these systems is a table of figures, and each one that is used is an entry: {names}.\n"
        )
    return "\n".join(parts)


def rows(system: ReplayedSystem) -> list[Row]:
    """Return a line for each claim of a system, in the order of its file."""
    return [_row(claim, system) for claim in system.references.claims]


def _row(claim: Claim, system: ReplayedSystem) -> Row:
    if claim.not_held is not None:
        return Row(claim, "not-held", f"not held: {claim.not_held}")
    if claim.not_judged is not None:
        return Row(claim, "stated", f"stated: {claim.not_judged}")
    found = [each for name in claim.held_by for each in _of_holder(name, system)]
    worst = min(found, key=lambda each: STATES.index(each[0]), default=("not-judged", "not judged: nothing replays it"))
    return Row(claim, *worst)


def _of_holder(name: str, system: ReplayedSystem) -> list[tuple[str, str]]:
    """Return the states and words of what checks a claim; facts beside it have none."""
    related = [each for each in system.relations if each.id == name]
    if related:
        drawn = _drawn_sides(name, system)
        return [_of_relation(each, drawn) for each in related]
    entry = next((each for each in system.references.entries if each.id == name), None)
    if entry is None:
        return []
    records = [record for record in system.records if name in record.found.references]
    if not records:
        return [("not-judged", f"not judged: no recording is compared with {name}")]
    failed = next((record for record in records if record.found.state != "pass"), None)
    if failed is not None:
        return [("fail", f"FAIL: {failed.found.verdict.sentence}")]
    # a model's curve also goes through the published figures; only what the source did not measure was drawn
    is_bound = entry.kind == "class" or entry.upper_limit is not None
    return [_pass_cell(is_bound and all(_is_drawn(record) for record in records))]


def _of_relation(found: RelationRecord, drawn: bool) -> tuple[str, str]:
    if found.state == "pass":
        return _pass_cell(drawn)
    return ("fail", f"FAIL: {found.sentence}") if found.state == "fail" else ("not-judged", found.sentence)


def _pass_cell(drawn: bool) -> tuple[str, str]:
    state = "drawn" if drawn else "pass"
    return state, _WORDS[state]


def _drawn_sides(name: str, system: ReplayedSystem) -> bool:
    """Return whether the outputs of one side of a relation were drawn, that is, have the form of a model."""
    relation = next(each for each in system.references.relations if each.id == name)
    for side in sides(relation, system.references.entries):
        for record in system.records:
            is_of = (record.where.fabric, record.test.rails, record.test.benchmark) == (
                side.fabric,
                side.rails,
                side.benchmark,
            )
            has = any(curve.metric == metric_of(side) for curve in record.found.curves)
            if is_of and has and side.stack in (None, record.test.stack) and _is_drawn(record):
                return True
    return False


def _is_drawn(record: Record) -> bool:
    return record.made.replayed is not None and "model" in record.made.replayed


def _section(system: ReplayedSystem) -> str:
    references, found = system.references, rows(system)
    counts = [(state, sum(row.state == state for row in found)) for state in STATES]
    told = ", ".join(f"{count} {_WORDS.get(state, 'not judged')}" for state, count in counts if count)
    lines = [
        f"## {references.system.system}",
        "",
        *(f"- `{name}`: {_cite(source)}" for name, source in references.sources.items() if _is_named(name, found)),
        "",
        f"{count_of(len(found), 'claim')}: {told}.",
        "",
        "| claim | source | held by | verdict of the replay | differs |",
        "| --- | --- | --- | --- | --- |",
        *(_line(row) for row in found),
        "",
    ]
    return "\n".join(lines)


def _is_named(name: str, found: Sequence[Row]) -> bool:
    return any(row.claim.of == name for row in found)


def _cite(source: Source) -> str:
    hardware = f"; {source.hardware}" if source.hardware else ""
    return f"{source.cite()}{hardware}"


def _line(row: Row) -> str:
    held = ", ".join(f"`{name}`" for name in row.claim.held_by)
    cells = (row.claim.says, f"`{row.claim.of}`, {row.claim.at}", held, row.verdict, row.claim.differs or "")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def counts(systems: Sequence[ReplayedSystem]) -> Mapping[str, int]:
    """Return the number of claims of all systems by state."""
    found = [row.state for system in systems for row in rows(system)]
    return {state: found.count(state) for state in STATES if state in found}


if __name__ == "__main__":
    sys.stdout.write(page(*systems_with_claims(find_home())))
