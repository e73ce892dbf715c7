"""Makes one verdict and one record of what the groups of a run left: merges evidence, judges, screens and stores it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from os import environ
from pathlib import Path
from typing import Literal

from railyard.base.errors import SetupError
from railyard.base.hostlist import label
from railyard.base.hostlist import list_nodes as named_nodes
from railyard.base.paths import runs_folder
from railyard.base.wording import count_of
from railyard.benchmarks.node_pairs import hosts_of, merge_tables
from railyard.cluster.rolling.collect import Part, absent_nodes, clock_words, text_in
from railyard.cluster.rolling.job import COUNTERS, ERRORS, LAUNCHER, LINKED, Jobs
from railyard.cluster.rolling.kept_run import SAMPLE, KeptRun
from railyard.job import environment, node_facts, node_pair_steps
from railyard.job.case import Case, Evidence
from railyard.job.kept_facts import kept_of
from railyard.job.probe_job import STARTED_AGAIN
from railyard.job.provenance import circumstances, provenance
from railyard.parsers.output import Table
from railyard.parsers.pairs import parse, text_of
from railyard.provision.installed_stack import changed_files
from railyard.provision.rehearsal import form as rehearsal
from railyard.results import run_folder
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import Record
from railyard.results.record.run_promise import hold_promise
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.site.topology import Leaves, Places, places_of
from railyard.verdict import node_pairs
from railyard.verdict.assess import Assessment, assess
from railyard.verdict.blame.screening.model import Budget
from railyard.verdict.findings import with_remark
from railyard.verdict.recording import record_of
from railyard.verdict.rules.model import fail_rule
from railyard.verdict.screened_pairs import SampleOrigin, with_screening

#: The name of the check, whether it runs in groups or not.
CHECK = "SampledPairs"
BENCHMARK = "pairs/pairs"
#: How many rounds the suspects may take, however many the sample had: they are separate jobs after all groups.
ROUNDS_FOR_SUSPECTS = 400
#: If a smaller share of the nodes than this gave a result, the run says nothing about the system.
LEAST_MEASURED = 0.5
_FAILED = ("broken", "cut", "foreign")


@dataclass(frozen=True, slots=True)
class CombinedGroups:
    """What all groups left: the tables of the sample and of each later step, and the text of the sample's output."""

    hosts: tuple[str, ...]
    tables: tuple[Table, ...]
    output: str
    parts: tuple[Part, ...]

    @property
    def complete_groups(self) -> tuple[Part, ...]:
        """The groups of the sample that are whole."""
        return tuple(one for one in self.parts if one.step == SAMPLE and one.table is not None)


def combine_groups(run: KeptRun, parts: Sequence[Part]) -> CombinedGroups:
    """Return what the groups left, as one table per step. The first step without a whole group ends the tables.

    Nodes are in topology order; nodes whose leaf is not known come last, by their numbers. Raises ValueError for groups
    whose program was given other words.
    """
    whole = [one for one in parts if one.step == SAMPLE and one.table is not None]
    found = {host for one in whole if one.table is not None for host in hosts_of(one.table)}
    order = {label(node): place for place, node in enumerate(run.leaves)}
    hosts = tuple(sorted(found, key=lambda host: (order.get(label(host), len(order)), _natural(host))))
    tables: list[Table] = []
    for step in run.steps:
        of_step = [one.table for one in parts if one.step == step.name and one.table is not None]
        if not of_step:
            break
        tables.append(merge_tables(of_step, hosts))
    output = text_of(tables[0]) + _other_lines(whole) if tables else ""
    return CombinedGroups(hosts, tuple(tables), output, tuple(parts))


def describe_sample(run: KeptRun, parts: Sequence[Part], place_round_s: float, ended: float) -> SampleOrigin:
    """Return how the sample of a run in groups was made. ``ended`` is when, in seconds since 1970."""
    rounds = sum(int(str(one.table.context.get("rounds") or 0)) for one in parts if one.table and one.step == SAMPLE)
    return SampleOrigin(
        "rolling",
        Budget((rounds + ROUNDS_FOR_SUSPECTS) * place_round_s, place_round_s),
        planned_here=False,
        began=_utc(run.submitted),
        ended=_utc(ended),
        absent=tuple(absent_nodes(run, parts).items()),
    )


def assess_run(
    site: Site, run: KeptRun, jobs: Jobs, found: CombinedGroups, how: SampleOrigin, today: date
) -> tuple[Assessment, Evidence]:
    """Return the assessment of a run in groups, and the evidence that it was made from."""
    left = evidence(site, run, found)
    case = Case(test=test_of(run), site=site, launch=jobs.launch(_nodes(run, found.hosts)), sizes=(run.size,))
    made = replace(assess(case, left, parse, today), pair_tables=found.tables)
    made = with_screening(made, how, places_in(site, run), site.system.fabrics[run.fabric].up_links)
    made = _with_groups(made, run, found.parts, how)
    for words in clock_words(found.parts):
        made = with_remark(made, words)
    return made, left


def evidence(site: Site, run: KeptRun, found: CombinedGroups) -> Evidence:
    """Return what the whole groups left, as if one job had left it."""
    whole = found.complete_groups
    facts = (node_facts.parse(text, run.tag) for text in _texts(whole, COUNTERS, "*.facts"))
    environments = (environment.parse(text, run.tag) for text in _texts(whole, COUNTERS, f"*{environment.SUFFIX}"))
    steps = [text_of(table) for table in found.tables[1:]]
    return Evidence(
        stdout=found.output,
        stderr="".join(text_in(one.folder / ERRORS) for one in whole),
        exit_code=0 if whole else None,
        counters=tuple(_texts(whole, COUNTERS, "*.counters")),
        tag=run.tag,
        linked=text_in(whole[0].folder / LINKED) if whole else None,
        again=tuple(steps),
        facts=tuple(one for one in facts if one is not None),
        job_id=run.steps[0].array or next((group.job for group in run.steps[0].groups if group.job), None),
        rehearsed=rehearsal.current() is not None,
        changed=changed_files(site, run.stack),
        launcher=text_in(whole[0].folder / LAUNCHER) if whole else "",
        environment=tuple(one for one in environments if one is not None),
    )


def store(site: Site, run: KeptRun, made: Assessment, left: Evidence, words: Sequence[str], ended: float) -> Record:
    """Store a run in groups as a run of its own beside the others; return its record. ``words`` are its command.

    Raises RailyardError if it cannot be written, or was stored before.
    """
    folder = stored_in(site.home, run)
    if (folder / FILE_NAME).exists():
        raise SetupError(f"{folder}: found a record of this run, expected none: it was collected before")
    case, began = made.case, datetime.fromtimestamp(run.submitted, timezone.utc)
    folder.mkdir(parents=True, exist_ok=True)
    with run_folder.as_run(run.id, folder), hold_promise(folder, run.system, _utc(run.submitted), [str(case.test)]):
        printed = folder / "output.partial"
        printed.write_text(left.stdout, encoding="utf-8")
        output = run_folder.keep_output(site.home, str(case.test), printed) if left.stdout else None
        printed.unlink()
        if output is not None and left.counters:
            told = [SAMPLE, node_pair_steps.ROUNDS, *run.words]
            run_folder.keep_beside(site.home, output, kept_of(case, left, told, {}, (), _utc(run.submitted)))
        pairs = node_pairs.record_of(made, leaves_of(run))
        if pairs is not None and pairs.file is not None:
            run_folder.keep_pairs(site.home, pairs.file)
        record = record_of(
            made,
            run=run.id,
            time=_utc(ended),
            elapsed_s=round(max(0.0, ended - run.submitted), 2),
            environment=provenance(site, run.stack),
            command=tuple(words),
            output=output,
        )
        own = left.environment[0].variables if left.environment else {}
        said = circumstances(
            left.facts, linked=left.linked, variables={**environ, **case.launch.env, **own},
            scheduler=site.system.scheduler, job_id=left.job_id, started=began,
        )  # fmt: skip
        rehearsed = rehearsal.current()
        record = record.with_fields(
            pairs=None if pairs is None else pairs.record,
            rehearsal=None if rehearsed is None else rehearsed.remark, **said,
        )  # fmt: skip
        append_record(folder / FILE_NAME, record)
    return record


def stored_in(home: Path, run: KeptRun) -> Path:
    """Return the folder in which a run in groups is stored, among all runs of a site."""
    return runs_folder(home) / run.id


def _with_groups(made: Assessment, run: KeptRun, parts: Sequence[Part], how: SampleOrigin) -> Assessment:
    """Return the assessment with what it must say about groups: a failed group fails the run, others become remarks."""
    of_sample = [one for one in parts if one.step == SAMPLE]
    broken = [one for one in of_sample if one.kind in _FAILED]
    asked = sum(len(one.nodes) for one in of_sample) + len(run.left_out)
    measured = asked - len(how.absent)
    if how.absent:
        reasons: dict[str, list[str]] = {}
        for node, why in how.absent:
            reasons.setdefault(why, []).append(node)
        said = [f"{named_nodes(nodes)} ({why})" for why, nodes in reasons.items()]
        made = with_remark(made, f"{measured} of {count_of(asked, 'node')} were measured, not {'; '.join(said)}")
    again = sum(STARTED_AGAIN in text_in(one.folder / ERRORS) for one in parts)
    if again:
        made = with_remark(made, f"{count_of(again, 'group')} started again after a bug of the launcher")
    later = [one for one in parts if one.step != SAMPLE and one.table is None]
    if later:
        made = with_remark(made, "; ".join(f"{one.name}: {one.words}" for one in later[:4]))
    if broken:
        first = broken[0]
        more = f"; {count_of(len(broken) - 1, 'group')} more failed" if len(broken) > 1 else ""
        what = f"{first.name} ({named_nodes(first.nodes)}): {first.words}{more}"
        return _fail(made, what, "set-up", f"{first.folder / ERRORS} and the job's own outputs")
    if measured < LEAST_MEASURED * asked:
        what = f"{measured} of {count_of(asked, 'node')} gave a result: that says nothing about the others"
        return _fail(made, what, "scheduler", "why their jobs ended or never began, then run it again")
    return made


def _fail(made: Assessment, sentence: str, fault: Literal["set-up", "scheduler"], look: str) -> Assessment:
    judged = made.verdict
    rule = fail_rule(1, sentence, fault, look)
    said = replace(
        judged,
        state="fail",
        rule=1,
        fault=fault,
        look_at=look,
        sentence=sentence,
        rules=tuple(rule if one.rule == 1 else one for one in judged.rules),
        remarks=(f"of what was measured: {judged.sentence}", *judged.remarks),
    )
    return replace(made, verdict=said)


def test_of(run: KeptRun) -> TestId:
    """Return the test that a run in groups runs."""
    name = f"{CHECK} %rails={run.rails}"
    return TestId(run.fabric, run.stack, run.rails, BENCHMARK, CHECK, run.policy, run.system, name)


def _nodes(run: KeptRun, hosts: Iterable[str]) -> tuple[str, ...]:
    """Return the nodes as the run names them, in the order of the hosts."""
    names = {label(node): node for group in run.steps[0].groups for node in group.nodes}
    return tuple(names.get(label(host), host) for host in hosts)


def places_in(site: Site, run: KeptRun) -> Places:
    """Return the leaf switch of each node as it was when the run was planned, and the groups of the system's file."""
    rails = site.system.fabrics[run.fabric].used_rails(run.rails, run.policy)
    return Places(leaves_of(run), places_of(site.home, site.system, run.fabric, rails).group_of)


def leaves_of(run: KeptRun) -> Leaves:
    """Return each node's leaf switch, as it was known when the run was submitted."""
    return {label(node): leaf for node, leaf in run.leaves.items()}


def _natural(host: str) -> tuple[str | int, ...]:
    """Return the key that sorts n9 before n10: words and numbers in turn."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", host))


def _other_lines(parts: Iterable[Part]) -> str:
    """Return what the groups printed besides rows: a failure of a group is a failure of the run."""
    said = [(one, line) for one in parts if one.parsed for line in (*one.parsed.failures, *one.parsed.remarks)]
    return "".join(f"{line.text}\n" for _, line in said)


def _texts(parts: Iterable[Part], folder: str, pattern: str) -> list[str]:
    return [text_in(file) for one in parts for file in sorted((one.folder / folder).glob(pattern))]


def _utc(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
