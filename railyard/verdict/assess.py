"""From a run's evidence to its verdict and its record: parses, proves the path and judges, and leaves nothing out.

Which parts of a replay its source printed; the rest of the output was computed to complete it.

The record of an assessment: how a test is stored.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial

from railyard.base.values import utc_time
from railyard.base.wording import message_size
from railyard.benchmarks import metrics
from railyard.benchmarks.model import Benchmark, Curve, Figure
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.micro import metric
from railyard.job import counters, environment
from railyard.job.case import Case, Evidence
from railyard.parsers.lines import LONGEST_NOTE, is_failure, texts_of
from railyard.parsers.output import ParsedOutput, ParseError, Table, validation_of
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.provision.rehearsal.form import REHEARSED
from railyard.provision.replay.form import PlayedTest
from railyard.results.record.form import (
    AttemptRecord,
    BandRecord,
    ConditionRecord,
    CurveRecord,
    DeficitRecord,
    LimitRecord,
    NodesAlike,
    NodeTraffic,
    PathProofRecord,
    Record,
    RuleRecord,
    VerdictRecord,
    with_shares,
)
from railyard.results.record.pair_rows import PairsSample
from railyard.results.remarks import describe_differences
from railyard.site.conditions import may_cost
from railyard.site.references.model import Entry
from railyard.site.test_id import TestId
from railyard.stacks.ucx import KEEPS_WHOLE
from railyard.verdict import run_setup, verdict
from railyard.verdict import wording as words
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.day_one import Facts, facts_of
from railyard.verdict.hints.causes import likenesses
from railyard.verdict.hints.first_cause import first_cause, own_words_first
from railyard.verdict.inputs import Run, contradictions, metric_inputs, of_case, read_of
from railyard.verdict.own_fault import own_fault
from railyard.verdict.path.proof import judged_path
from railyard.verdict.path.traffic import PrintedRow, printed_rows
from railyard.verdict.reference_rule import Deficit, smallest_deficit
from railyard.verdict.rule_model import (
    ERROR_OUTPUT,
    BandLike,
    Inputs,
    Job,
    LimitLike,
    MetricInput,
    OutputLine,
    PathProof,
    RefusedRail,
    RuleResult,
    compared_points,
    fail_rule,
)
from railyard.verdict.rule_model import path_not_judged as no_path
from railyard.verdict.run_rules import fails_for_length
from railyard.verdict.run_setup import conditions_of
from railyard.verdict.sizes import Sizes, assessor_of, unlike_asked
from railyard.verdict.verdict import CurveVerdict, Verdict, not_tested
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording import program, say_computed
from railyard.verdict.wording import run_rules as say

#: An output has few decimals, so a figure is its source's if it differs by no more than this share.
ROUNDED = 0.005
#: A floor of a link's class is nobody's measured figure.
_OURS = "class"


@dataclass(frozen=True, slots=True)
class ComputedSizes:
    """By metric, the message sizes at which no source printed the value; empty if the output was recorded.

    ``printed`` are the values at all others. ``invented`` are metrics that the source did not print, although it did
    print another metric of the same output: a time that follows only from a bandwidth has a start-up that nobody
    published, so it has no key figure.
    """

    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    printed: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    invented: frozenset[str] = frozenset()

    def without_invented(self, curves: Sequence[Curve]) -> tuple[Curve, ...]:
        """Return the curves that have key figures."""
        return tuple(curve for curve in curves if curve.metric not in self.invented)

    def mark(self, figures: Sequence[Figure], key: str) -> tuple[Figure, ...]:
        """Return the key figures of a benchmark; those that no source printed are marked.

        After a peak whose size is not printed, a curve is level, so its figure is read at the source's size. A figure
        that is not a value of the curve (N½) was computed from the whole curve.
        """
        return tuple(self._mark_figure(one, key) for one in figures) if self.sizes else tuple(figures)

    def say(self, rules: Sequence[RuleResult]) -> tuple[RuleResult, ...]:
        """Return the rules; the rule of physics names the best values, printed or computed, so its sentence says which
        they may be.
        """
        made = any(self.sizes.values())
        return tuple(
            replace(one, sentence=say_computed(one.sentence)) if made and one.rule == 3 and one.state == "pass" else one
            for one in rules
        )

    def _mark_figure(self, figure: Figure, key: str) -> Figure:
        same = [figure.name] if figure.name in self.sizes else []
        for name in same or [name for name in self.sizes if metric(key, name).unit == figure.unit]:
            for size, value in self.printed[name].items():
                if abs(value - figure.value) <= ROUNDED * value:
                    return figure if figure.size is None else replace(figure, size=size)
        return replace(figure, computed=True)


def find_computed(case: Case, played: PlayedTest, curves: Sequence[Curve]) -> ComputedSizes:
    """Return which parts of these curves of a replay no source printed: none if the output was recorded."""
    recording = played.recording
    if recording is None or recording.origin == "recorded":
        return ComputedSizes()
    entries = case.site.references.entries
    found = {
        curve.metric: tuple(
            size
            for size, value in zip(curve.sizes, curve.values, strict=True)
            if not is_printed(entries, case.test, curve.metric, size, value, case.hops)
        )
        for curve in curves
    }
    known = {
        curve.metric: {
            size: value
            for size, value in zip(curve.sizes, curve.values, strict=True)
            if size not in found[curve.metric]
        }
        for curve in curves
    }
    invented = {curve.metric for curve in curves if len(found[curve.metric]) == len(curve.sizes)}
    return ComputedSizes(found, known, frozenset(invented) if len(invented) < len(curves) else frozenset())


def is_printed(
    entries: Iterable[Entry], test: TestId, metric: str, size: int, value: float, hops: int | None = None
) -> bool:
    """Return whether an entry for this test has this value at a size in bytes (0 for a metric without sizes).

    That is a point of its curve, its value, its floor, or anything within its range, but never a value between points.
    ``hops`` are the switches between the two nodes, if they are known.
    """
    held = (_ends_at(one, size) for one in entries if one.matches(test, metric) and one.holds_at(hops))
    return any(low * (1 - ROUNDED) <= value <= high * (1 + ROUNDED) for low, high in filter(None, held))


def _ends_at(entry: Entry, size: int) -> tuple[float, float] | None:
    """Return both ends of what an entry has at a size (equal, except for a range); None if it has nothing there."""
    if entry.kind == _OURS:
        return None
    if entry.curve is not None:
        value = entry.curve.get(size)
        return None if value is None else (value, value)
    if not entry.sizes.covers(size):
        return None
    if entry.ends is not None:
        return entry.ends
    single = entry.value if entry.value is not None else entry.floor
    return (single, single) if isinstance(single, float) else None


@dataclass(frozen=True, slots=True)
class Assessment:
    """The verdict of one run, and what it was made from; ``inputs`` can be judged again with suspects added.

    ``pair_tables`` are the tables of all pairs of nodes and of each later step; other benchmarks have none. ``version``
    is what the benchmark prints as its version; None if it prints none. ``starved`` and ``attempts`` are as in the
    record (``railyard.results.record.form``). ``deficits``: the least deficit that was found, by metric. ``computed``:
    of a replay, the sizes at which no source printed the value, by metric. ``conditions``: what the sources of its
    references state. ``sample``: how much of all pairs a sample covered. ``readings``: the counters of each node that
    reported. ``printed``: how long the bytes of each row took by the figure that it prints.
    """

    case: Case
    inputs: Inputs
    verdict: Verdict
    curves: tuple[Curve, ...]
    figures: tuple[Figure, ...]
    path: PathProof
    pair_tables: tuple[Table, ...] = ()
    version: str | None = None
    starved: float | None = None
    attempts: tuple[AttemptRecord, ...] = ()
    deficits: Mapping[str, Deficit] = field(default_factory=dict)
    computed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    conditions: tuple[ConditionRecord, ...] = ()
    sample: PairsSample | None = None
    readings: Mapping[str, counters.NodeCounters] = field(default_factory=dict)
    printed: tuple[PrintedRow, ...] = ()
    guesses: tuple[str, ...] = ()


def assess(case: Case, evidence: Evidence, parse: Callable[[str], ParsedOutput], today: date) -> Assessment:
    """Return the assessment of one run. Whatever an output or a counters file holds, nothing is raised: it fails a
    rule.
    """
    parsed, unread = _parse(evidence.stdout, parse)
    tables = [table for table in parsed.tables if _is_meant(table, case.benchmark)]
    results = [table for table in parsed.tables if not metrics.is_part(table)]
    benchmark = micro.find(case.benchmark)
    assessor = assessor_of(benchmark).of(evidence)
    again = assessor.steps(evidence.again, parse)
    judged = assessor.tables_to_judge(tables, again)
    measured = read_of(judged, case.benchmark, case.node_pairs)
    curves = measured.curves
    computed = None if evidence.played is None else find_computed(case, evidence.played, curves)
    run = _run(case, assessor, judged)
    drivers = case.site.system.counter_drivers
    read = [counters.parse(text, evidence.tag, drivers) for text in evidence.counters]
    readings = counters.by_node(read, case.launch.nodes)
    log = f"{evidence.stdout}\n{evidence.stderr}"
    prove = partial(assessor.path, case, tables, readings)
    path = judged_path(case, prove, readings, log) if evidence.played is None else no_path("replay")
    path = _with_cause(path, evidence)
    failures = (
        *_failures(case, parsed, evidence),
        *assessor.failures(case, tables, played=evidence.played is not None),
        # A stand-in computes nothing.
        *(() if evidence.played is not None or evidence.rehearsed else assessor.idle(case, tables, readings)),
        *assessor.find_other_results(case.benchmark, tables),
    )
    strangers = _strangers(read, readings)
    not_meant = run_setup.why_not_meant(case, evidence, parsed.tables)
    other = None if not_meant is not None else assessor.not_meant(case, parsed.nccl)
    job = replace(
        _job(case, evidence, tables, readings, strangers, failures, unread),
        not_meant=not_meant or (other.sentence if other is not None else None),
        look_at_way="" if other is None else other.look_at,
        rails_unlike=run_setup.why_unlike(case, evidence.facts),
        unlike_asked=None if evidence.played else unlike_asked(case, tables, judged, results),
    )
    findings = assessor.findings(case, tables)
    failed = None if findings is None or findings.is_clear else _fail_findings(findings)
    of_metrics = metric_inputs(run, measured)
    inputs = Inputs(
        system=case.site.system.system,
        fabric=case.fabric,
        stack=case.stack,
        rails=case.launch.meant or (path_words.in_place_of_rails(benchmark.within),),
        nodes=case.launch.nodes,
        job=job,
        metrics=(
            *of_metrics,
            *assessor.bounds(case, tables),
        ),
        path=path,
        today=today,
        link_limit_known=case.site.system.fabrics[case.fabric].limit(case.rails, 1) is not None,
        report_only=case.site.system.report_only,
        accepts_unproven=_accepts_unproven(case),
        no_payload=benchmark.no_payload,
        expected_failure=case.site.references.expected_failure(case.test),
        replayed=None if evidence.played is None else evidence.played.words,
        contradictions=contradictions(judged, case.benchmark),
        suspects=(
            *run_setup.slower_than_meant(case, evidence.facts),
            *(() if findings is None else findings.suspects),
        ),
        own_fault=own_fault(run, of_metrics) if assessor.has_shape else None,
        too_short=assessor.too_short(case.benchmark, tables),
        beside=failed or assessor.floor(case, tables),
    )
    alone = case.site.system.fabrics[case.fabric].limit(1, 1)
    own_curves = curves if computed is None else computed.without_invented(curves)
    figures = (
        *metrics.key_figures(own_curves, case.benchmark, alone.from_bytes if alone else 0),
        *assessor.figures(case, curves, tables),
    )
    if computed is not None:
        figures = computed.mark(figures, case.benchmark)
    if figures:  # in addition to what was measured, never in its place
        figures = (*figures, *counters.energy_figures(readings, case.launch.nodes))
    reached, guesses = _verdict(case, run, inputs, tables if assessor.has_shape else [])
    if computed is not None:
        reached = replace(reached, rules=computed.say(reached.rules))
    if findings is not None and findings.sentence and not (failed is not None and reached.is_decided_by(failed)):
        reached = reached.with_remarks(findings.sentence)
    if findings is not None and findings.suspects and reached.misses_reference:
        reached = replace(reached, look_at=findings.look_at)
    if evidence.too_long is not None and not fails_for_length(inputs):
        reached = reached.with_remarks(evidence.too_long)
    if evidence.rehearsed:
        reached = reached.with_remarks(REHEARSED)
    conditions = conditions_of(case, evidence, reached.references)
    if reached.misses_reference:
        reached = reached.with_remarks(*possible_causes(conditions))
    reached = reached.with_remarks(
        *assessor.remarks(case, tables, again),
        *assessor.log_remarks(case, parsed.nccl),
        *_beside_hops(case),
        *case.remarks,
        *evidence.changed,
        *run_setup.program_remarks(case, evidence, readings if strangers else case.launch.nodes),
        *run_setup.rail_remarks(case, evidence.facts),
    )
    # HPC Challenge's output begins with HPL's
    version = next((table.version for table in (*tables, *parsed.tables) if table.version), None)
    deficits = {
        metric.declared.name: smallest_deficit(metric, measured.curves_of(metric.declared.name))
        for metric in inputs.metrics
    }
    return Assessment(
        *(case, inputs, reached, curves, figures, path, assessor.tables_to_keep(tables, again), version),
        deficits={name: found for name, found in deficits.items() if found is not None},
        computed={} if computed is None else computed.sizes,
        conditions=conditions,
        readings=readings,
        guesses=guesses,
        printed=printed_rows(case, tables) if curves and evidence.played is None and not evidence.rehearsed else (),
    )


def _fail_findings(findings: Findings) -> RuleResult:
    return fail_rule(5, findings.sentence, findings.fault or "fabric", findings.look_at or words.look_at_parts())


def _verdict(case: Case, run: Run, inputs: Inputs, tables: list[Table]) -> tuple[Verdict, tuple[str, ...]]:
    """Return the verdict, and what a failed curve looks like (a curve of ``tables``), which its remarks have too.

    A single host has no network, so a sound run there is *not tested* and never a pass.
    """
    judged = verdict.judge(inputs)
    guesses: tuple[str, ...] = ()
    if judged.state == "fail" and (judged.rule in (3, 5) or inputs.job.rails_unlike is not None) and tables:
        # A port that is known to be slow says more than the curve of several rails (see findings).
        is_known = bool(inputs.suspects) and len(case.launch.meant) > 1
        guesses = () if is_known else _looks_like(case, run, inputs, tables[0])
        judged = judged.with_remarks(*guesses)
    if inputs.replayed is not None:
        return judged.with_remarks(inputs.replayed), guesses
    if case.site.system.provider != "host" or judged.rule in (1, 2):
        return judged, guesses
    untested = verdict.not_tested(words.sound_but(str(case.site.system.report_only)))
    return replace(untested, rules=(*judged.rules[:2], *untested.rules[2:]), curves=judged.curves), guesses


def _looks_like(case: Case, run: Run, inputs: Inputs, table: Table) -> tuple[str, ...]:
    """Return what a failed run looks like.

    Empty on the virtual cluster, whose rails have rates that no hardware has, and on one host, which has no rails.
    """
    if case.site.system.provider not in ("nodes", "replay"):
        return ()
    found = likenesses(table, run.benchmark, inputs.metrics, run.target)
    return tuple(dict.fromkeys(cause.sentence for cause in found))


def _beside_hops(case: Case) -> list[str]:
    """Return why references by hops were not used: the run's hops are not known, or are others."""
    bound = case.site.references.by_hops(case.test)
    if not bound or case.hops in bound:
        return []
    return [words.other_hops(bound, case.launch.nodes, case.hops)]


def _parse(text: str, parse: Callable[[str], ParsedOutput]) -> tuple[ParsedOutput, str | None]:
    try:
        return with_wrong_lines(parse(text), text), None
    except ParseError as error:
        return ParsedOutput(), str(error)


def _is_meant(table: Table, key: str) -> bool:
    """Return whether a table is of the requested benchmark: a tool's output may hold others."""
    tool, _, benchmark = key.partition("/")
    named = table.benchmark is None or table.benchmark in (benchmark.partition("/")[0], tool)
    return table.tool == tool and named and not metrics.is_part(table)


def _job(
    case: Case,
    evidence: Evidence,
    tables: list[Table],
    readings: Mapping[str, counters.NodeCounters],
    strangers: tuple[str, ...],
    failures: tuple[OutputLine, ...],
    unread: str | None,
) -> Job:
    proves = case.site.system.fabrics[case.fabric].has_counters and evidence.played is None
    seen = tuple(node for node in case.launch.nodes if node in readings) if proves else case.launch.nodes
    own_check = validation_of(tables)
    refused = tuple(
        RefusedRail(node, reading.refusal.rail, reading.refusal.sentence)
        for node, reading in readings.items()
        if reading.refusal is not None
    )
    return Job(
        exit_code=evidence.exit_code,
        nodes_expected=case.launch.nodes,
        nodes_seen=(*seen, *(strangers if proves else ())),
        tables=len(tables),
        tables_expected=case.passes,
        incomplete=tuple(f"{case.benchmark} (line {table.line})" for table in tables if not table.complete),
        failures=failures,
        refused=refused,
        timed_out=evidence.timed_out,
        stuck=_find_stuck(case.launch.nodes, readings) if evidence.timed_out else (),
        stuck_in=_stuck_processes(case.launch.nodes, readings) if evidence.timed_out else (),
        time_limit_s=case.time_limit_s,
        scheduler=case.site.system.scheduler,
        memory_kills={
            node: reading.memory_kills for node, reading in readings.items() if reading.memory_kills is not None
        },
        scheduler_error=evidence.scheduler_error,
        ended=evidence.ended,
        unplaced=evidence.unplaced,
        unread=unread,
        unplayed=None if evidence.played is None else evidence.played.problem,
        validates=case.validates or own_check is not None,
        validation=own_check,
        computes=micro.find(case.benchmark).is_application,
        too_long=evidence.too_long,
        cut=evidence.cut,
        unended=tuple(f"{case.benchmark} (line {table.line})" for table in tables if table.ended is False),
        end_line=micro.tool(micro.find(case.benchmark).tool).end_line,
    )


def _with_cause(path: PathProof, evidence: Evidence) -> PathProof:
    """Return the path proof; if the stack left a rail idle, with the variable that made it do so."""
    # A suspect without a node: the rail idled on all of them.
    is_idle = path.state == "failed" and any(one.kind == "stack" and one.node is None for one in path.suspects)
    why = environment.why_whole(evidence.environment or ()) if is_idle else None
    if why is None:
        return path
    sentence = program.whole_messages(why, KEEPS_WHOLE[why.name])
    return replace(path, sentence=f"{path.sentence}; {sentence}", look_at=program.look_at_variable())


def _find_stuck(nodes: Sequence[str], readings: Mapping[str, counters.NodeCounters]) -> tuple[str, ...]:
    """Return the nodes whose process did not react to the end of a job, while that of another node did.

    If it is known of nodes that a process is stopped or waits in the kernel, these are the nodes.
    """
    unended = tuple(node for node in nodes if node in readings and readings[node].exit_code is None)
    known = tuple(node for node in unended if readings[node].stuck)
    if known:
        return known
    return unended if len(unended) < sum(node in readings for node in nodes) else ()


def _stuck_processes(nodes: Sequence[str], readings: Mapping[str, counters.NodeCounters]) -> tuple[str, ...]:
    """Return, of each process that did not react, what it does instead."""
    there = (readings[node] for node in nodes if node in readings and readings[node].exit_code is None)
    return tuple(dict.fromkeys(_hangs(*one) for each in there for one in each.stuck))


def _hangs(state: str, where: str) -> str:
    return say.say_stopped() if state == "T" else say.hangs(None if where == "-" else where)


def _strangers(read: list[counters.NodeCounters], readings: Mapping[str, counters.NodeCounters]) -> tuple[str, ...]:
    """Return the hosts that read counters for this run but are not among its nodes, by the names that they gave."""
    known = {reading.node for reading in readings.values()}
    return tuple(dict.fromkeys(each.node for each in read if each.devices and each.node and each.node not in known))


def _failures(case: Case, parsed: ParsedOutput, evidence: Evidence) -> tuple[OutputLine, ...]:
    """Return what the output reports as wrong; for a run that failed, the first cause before its consequences.

    The error output counts whatever the exit code is. If a job failed and neither output has a known message, the first
    line of its error output is returned.
    """
    found = [OutputLine(remark.line, remark.text) for remark in parsed.failures]
    texts, known = texts_of(evidence.stderr), {failure.text for failure in found}
    for number, text in enumerate(texts, start=1):
        line = text.strip()[:LONGEST_NOTE]
        if is_failure(line) and line not in known:
            found.append(OutputLine(number, line, ERROR_OUTPUT))
    if not found and evidence.exit_code in (0, None) and not evidence.timed_out:
        return ()
    cause = first_cause(case.stack, (evidence.stderr, evidence.stdout))
    if cause is not None:
        of = ERROR_OUTPUT if cause.text == 0 else ""
        others = (one for one in found if (one.of, one.line) != (of, cause.line))
        first = OutputLine(cause.line, cause.quoted, of, cause.means, cause.of_launcher, cause.starts_none)
        return (first, *others)
    if found or evidence.exit_code in (0, None):
        return own_words_first(found)
    said = (text.strip() for text in texts if any(letter.isalnum() for letter in text))
    return tuple(OutputLine(0, line) for line in list(said)[:1])


def _accepts_unproven(case: Case) -> str | None:
    rules = case.site.system.fabrics[case.fabric].proof
    if rules.accept_unproven is not None:
        return path_words.accepts_unproven(case.site.system.system, case.fabric, rules.accept_unproven)
    if case.site.system.fabrics[case.fabric].has_counters:
        return None
    return path_words.has_no_counters(case.site.system.system, case.fabric)


def _facts(case: Case, benchmark: Benchmark, tables: list[Table]) -> Facts:
    if not tables:
        return Facts()
    nodes = len(case.launch.nodes) or None
    return facts_of(tables[0], benchmark, case.node_pairs, nodes, case.ranks_per_node)


def _run(case: Case, assessor: Sizes, tables: list[Table]) -> Run:
    """Return what is known about a run that was just measured or replayed."""
    benchmark = micro.find(case.benchmark)
    most = {metric.name: assessor.ceiling(case, metric) for metric in benchmark.metrics}
    return Run(
        benchmark,
        of_case(case),
        nodes=len(case.launch.nodes) or None,
        ranks_per_node=case.ranks_per_node,
        window=case.window,
        on_one_host=case.site.system.provider == "host",
        facts=_facts(case, benchmark, tables),
        most={name: bound for name, bound in most.items() if bound is not None},
        limit=assessor.limit(case, tables),
    )


def possible_causes(found: Iterable[ConditionRecord]) -> tuple[str, ...]:
    """Return a sentence for each group of nodes whose conditions may explain the loss: it decides nothing."""
    costly = []
    for each in found:
        worse = {has: nodes for has, nodes in each.unlike.items() if may_cost(each.name, each.stated, has)}
        costly += [replace(each, unlike=worse)] if worse else []
    return tuple(map(words.possible_cause, describe_differences(costly)))


#: With up to this many nodes the path proof is stored node by node, with more in columns.
MOST_WHOLE = 64


def attempt_of(assessment: Assessment, elapsed_s: float, started: datetime) -> AttemptRecord:
    """Return what is kept of a measurement that is repeated."""
    judged = assessment.verdict
    starved, at = assessment.starved, utc_time(started)
    return AttemptRecord(judged.text, judged.rule, round(elapsed_s, 2), starved, at)


def record_of(
    assessment: Assessment,
    *,
    run: str,
    time: str,
    elapsed_s: float | None,
    environment: Mapping[str, object],
    command: tuple[str, ...],
    output: str | None,
) -> Record:
    """Return the record of one run, complete except for ``pairs``; values are those that were judged, not rounded.

    For a run of pairs of nodes, ``verdict.node_pairs`` makes ``pairs``. The caller that writes the record first writes
    the file of its rows, and adds ``pairs``.
    """
    judged = assessment.verdict
    return Record.of(assessment.case.test, judged.state, verdict_record(judged), run=run, time=time).with_fields(
        elapsed_s=elapsed_s,
        nodes=assessment.case.launch.nodes,
        figures=assessment.figures,
        curves=tuple(_curve(curve, assessment) for curve in assessment.curves),
        path_proof=_path(assessment),
        references=judged.references,
        environment=environment,
        command=command,
        output=output,
        replayed=assessment.inputs.replayed,
        benchmark_version=assessment.version,
        attempts=assessment.attempts,
        starved=assessment.starved,
        conditions=assessment.conditions,
    )


def untested_record(test: TestId, reason: str, *, run: str, time: str) -> Record:
    """Return the record of a test that did not run, with the reason."""
    untested = not_tested(reason)
    return Record.of(test, untested.state, verdict_record(untested), run=run, time=time)


def verdict_record(verdict: Verdict) -> VerdictRecord:
    """Return a verdict as it is stored."""
    return VerdictRecord(
        sentence=verdict.sentence,
        rule=verdict.rule,
        class_=verdict.fault,
        rules=tuple(RuleRecord(r.rule, r.name, r.state, r.sentence) for r in verdict.rules),
        suspects=verdict.suspects,
        next=verdict.look_at,
        remarks=verdict.remarks,
        headline=verdict.headline,
        measured=verdict.measured_text,
    )


def _curve(curve: Curve, assessment: Assessment) -> CurveRecord:
    metric = next(m for m in assessment.inputs.metrics if m.declared.name == curve.metric)
    judged = next(c for c in assessment.verdict.curves if c.metric == curve.metric)
    record = _curve_record(curve, metric, judged, assessment.case.benchmark)
    record = replace(record, computed=assessment.computed.get(curve.metric, ()))
    found = assessment.deficits.get(curve.metric)
    if found is None:
        return record
    return replace(record, deficit=DeficitRecord(found.share, found.size_bytes, found.repeats))


def _curve_record(curve: Curve, metric: MetricInput, judged: CurveVerdict, key: str) -> CurveRecord:
    limit = metric.limit
    return CurveRecord(
        metric=curve.metric,
        unit=curve.unit,
        sizes=curve.sizes,
        values=curve.values,
        directions=micro.metric(key, curve.metric).directions,
        limit=None if limit is None else _limit(limit),
        bands=tuple(_band(band, metric, curve.sizes) for band in metric.cited_bands),
        percent_of_reference=judged.percent_of_reference,
        percent_of_reference_size=judged.percent_of_reference_size,
        percent_of_limit=judged.percent_of_limit,
    )


def _limit(limit: LimitLike) -> LimitRecord:
    start = f", from {message_size(limit.from_bytes)}" if limit.from_bytes else ""
    return LimitRecord(limit.value_mb_s, f"{limit.terms}{start}", limit.source, limit.from_bytes)


def _band(band: BandLike, metric: MetricInput, sizes: tuple[int, ...]) -> BandRecord:
    """Return a reference with its bounds at the sizes at which the run was compared with it: the best one, or all."""
    best = {size for size, _ in compared_points(metric, band)} if band.best_of_sizes else set(sizes)
    bounds = [band.bound_at(size) if size in best else None for size in sizes]
    return BandRecord(
        id=band.entry_id,
        kind=band.kind,
        source=band.source,
        sizes=sizes,
        low=tuple(None if bound is None else bound.low for bound in bounds),
        high=tuple(None if bound is None else bound.high for bound in bounds),
    )


def _path(assessment: Assessment) -> PathProofRecord:
    path = assessment.path
    nodes = tuple(NodeTraffic(node, rails, path.clocks_khz.get(node)) for node, rails in (path.nodes or {}).items())
    if len(nodes) > MOST_WHOLE:
        return PathProofRecord(path.state, path.sentence, path.expected_bytes, alike=tuple(_group_alike(nodes)))
    nodes = tuple(replace(node, rails=with_shares(node.rails)) for node in nodes)
    return PathProofRecord(path.state, path.sentence, path.expected_bytes, nodes)


def _group_alike(nodes: Iterable[NodeTraffic]) -> Iterator[NodesAlike]:
    """Yield one group per set of nodes with the same devices, in columns: a hundredth of the size of single nodes."""
    groups: dict[tuple[tuple[str, bool], ...], list[NodeTraffic]] = {}
    for node in nodes:
        groups.setdefault(tuple((rail.device, rail.meant) for rail in node.rails), []).append(node)
    for devices, alike in groups.items():
        clocks = tuple(node.clock_khz for node in alike)
        yield NodesAlike(
            nodes=tuple(node.node for node in alike),
            devices=tuple(device for device, _ in devices),
            meant=tuple(meant for _, meant in devices),
            tx_bytes=tuple(tuple(node.rails[at].tx_bytes for node in alike) for at in range(len(devices))),
            rx_bytes=tuple(tuple(node.rails[at].rx_bytes for node in alike) for at in range(len(devices))),
            clock_khz=clocks if any(clock is not None for clock in clocks) else (),
        )
