"""The recordings of a published system, judged as its replay judges them, but without ReFrame: one record each.

If a test has recordings for the runs of ``--repeat``, these are used instead of its single one, as in such a run.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from railyard.benchmarks.apps import installed_applications
from railyard.benchmarks.table.applications import installed_name
from railyard.parsers import rail_parts
from railyard.parsers.detect import parse
from railyard.parsers.output import ParsedOutput
from railyard.provision.replay.form import WORDS, Recording
from railyard.provision.replay.index import content_of, folder_of, read_index
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
from railyard.site.matrix import Need, asked_for
from railyard.site.site import Site
from railyard.site.test_id import TestId, named_policy, plain_check, without_repeat
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.judge import Judgement, judge
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.stored_outputs.target import Nodes


def replay_records(site: Site, needs: Sequence[Need]) -> tuple[Record, ...]:
    """Return a record for each of a system's recordings, in their order; ``needs`` are their checks.

    Nothing is written and no job runs, so the path is not judged. Raises InputError if there is no index, and
    RailyardError if a recording is not the one that the index lists.
    """
    asked = {need.check: need for need in asked_for(site.system, tuple(needs))}
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
