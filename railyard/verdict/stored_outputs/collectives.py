"""The verdict of a stored output of nccl-tests or rccl-tests: its curve, compared with what its nodes can reach.

The rules and the form of the result are those of any stored output (``verdict.stored_outputs.judge``). Rule 3 is the
physics of collectives between GPUs. Rule 4 is what NCCL's log says (this is not a proof). Rule 5 uses the references of
a system, the published numbers of a transport class, or the floor of healthy nodes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from railyard.base.errors import RailyardError
from railyard.base.hostlist import label
from railyard.base.wording import listing
from railyard.benchmarks.gpu_collectives import busbw_bounds, own_nics
from railyard.benchmarks.metrics import curves as metric_curves
from railyard.benchmarks.model import Curve
from railyard.benchmarks.table import micro
from railyard.hardware.limits import Limit
from railyard.parsers.decorations import with_own_signs
from railyard.parsers.nccl_said import Log, NcclOutput
from railyard.parsers.output import ParsedOutput, Table, validation_of
from railyard.verdict import run_rules
from railyard.verdict import wording as verdict_words
from railyard.verdict.class_standing import Standing
from railyard.verdict.day_one import Facts
from railyard.verdict.gpu import rules
from railyard.verdict.gpu.log_word import word
from railyard.verdict.gpu.run import HALVES, GpuRun, GpuTarget, curve, rows, run_of
from railyard.verdict.hints.causes import Likeness
from railyard.verdict.hints.gpu import GpuSeen, likely_causes
from railyard.verdict.inputs import Run, contradictions, metric_inputs, read_of
from railyard.verdict.reference_rule import reference
from railyard.verdict.rule_model import (
    DeclaredMetric,
    Inputs,
    Job,
    MeasuredMetric,
    MetricInput,
    OutputLine,
    RuleResult,
)
from railyard.verdict.rule_model import path_not_judged as no_path
from railyard.verdict.stored_outputs.judge import (
    NODES,
    complete,
    failures_of,
    key_of,
    unlike_asked,
    why_unknown,
    without_table,
)
from railyard.verdict.stored_outputs.judgement import CurveJudgement, Judgement, State, not_judged_tables
from railyard.verdict.stored_outputs.target import ANY_STACK
from railyard.verdict.wording import stored_outputs as words
from railyard.verdict.wording.reference import report_only


def judge_collectives(
    parsed: ParsedOutput,
    target: GpuTarget,
    *,
    benchmark: str | None = None,
    sizes: Sequence[int] = (),
    text: str = "",
) -> tuple[Judgement, ...]:
    """Return a judgement for each table, in the order of the output; each repetition is judged by itself.

    ``benchmark`` selects one key, and names the benchmark if a table does not. ``sizes``: the message sizes that were
    requested, in bytes. Raises RailyardError if there is nothing to judge, or if the nodes cannot be those of the run.
    """
    failures = failures_of(parsed, ANY_STACK, with_own_signs(text))
    log = None if parsed.nccl is None else parsed.nccl.log
    if not parsed.tables:
        return (_of_log(log, target, failures),)
    if benchmark is not None:
        micro.find(benchmark)
    keyed = [(key_of(table, benchmark), table) for table in parsed.tables]
    chosen = [(key, table) for key, table in keyed if benchmark is None or key == benchmark]
    if not chosen:
        said = listing(sorted({key or f"{table.tool}, without a name" for key, table in keyed}))
        raise RailyardError(f"--benchmark: found no table of {benchmark}, the output has {said}")
    told = [(key, table, _own(failures, table, parsed.nccl)) for key, table in chosen]
    judged = [_judge_table(parsed, key, table, target, own, sizes) for key, table, own in told]
    seen = {each.line for _, _, own in told for each in own}
    others = tuple(each for each in failures if each.line not in seen) if benchmark is None else ()
    return (*judged, *((without_table(others),) if others else ()))


def _own(failures: tuple[OutputLine, ...], table: Table, spoken: NcclOutput | None) -> tuple[OutputLine, ...]:
    """Return the failures of the job that printed a table: those in its lines, and those above all jobs.

    If the jobs cannot be told apart, return all failures. A failure that belongs to no table's job gets a judgement of
    its own.
    """
    jobs = [] if spoken is None else sorted(spoken.jobs, key=lambda job: job.line)
    place = next((place for place, job in enumerate(jobs) if table.line in job.tables), None)
    if place is None or jobs[place].separate_from is not None:
        return failures
    begins = jobs[place].line if place else 0
    ends = jobs[place + 1].line if place + 1 < len(jobs) else math.inf
    ordered = all(job.tables == () or min(job.tables) >= job.line for job in jobs)
    own = [each for each in failures if begins <= each.line < ends or each.line < jobs[0].line]
    return tuple(own) if ordered and table.line < ends else failures


def _of_log(log: Log | None, target: GpuTarget, failures: tuple[OutputLine, ...]) -> Judgement:
    """Return what a log without a table shows: a failure if the log itself says that another path was taken."""
    if failures:
        return without_table(failures)
    said = word(log, target, None)
    if log is None:
        raise RailyardError("the output has no table of a benchmark, so there is nothing to judge")
    state: State = "fail" if said.rule.state == "fail" else "not-judged"
    sentence, why = _say_verdict([said.rule])
    return Judgement(None, (), state, sentence, (said.rule,), remarks=said.remarks, why_unjudged=why)


def _judge_table(
    parsed: ParsedOutput,
    key: str | None,
    table: Table,
    target: GpuTarget,
    failures: tuple[OutputLine, ...],
    sizes: Sequence[int],
) -> Judgement:
    lines = (table.line,)
    if not micro.tool(table.tool).between_gpus:
        return not_judged_tables(key, [table], words.of_other_tool(table.tool))
    if key is None:
        if failures:
            return replace(without_table(failures, words.no_named_table()), lines=lines)
        one_of = table.context.get("one_of")
        return not_judged_tables(None, [table], why_unknown(table) if one_of is None else words.may_be_any(str(one_of)))
    of_run = run_of(table, key, parsed.nccl, target)
    busbw = {half: values for half in HALVES if (values := curve(table, half))}
    printed = {half: rows(table, half) for half in busbw}
    log = None if parsed.nccl is None else parsed.nccl.log
    inputs = _inputs(key, table, target, of_run, failures, sizes)
    path = word(log, target, of_run.shape, () if of_run.job is None else of_run.job.ranks, of_run.collective)
    last, standing = rules.reference(of_run, busbw, target.of, log)
    if last.fault != "disturbed":  # a dip stays a dip, whatever the references say about other sizes
        last = _reference_result(key, table, target, inputs) or last
    if last.state == "pass":
        last = rules.unlisted_nics(of_run, printed, path.few) or last
    found = (complete(inputs), run_rules.metrics(inputs), rules.possible(of_run, printed, log), path.rule, last)
    state: State = "pass"
    if any(rule.state == "fail" for rule in found):
        state = "fail"
    elif found[2].state != "pass" or last.state != "pass":
        state = "not-judged"
    elif target.report_only is not None and target.of is None:
        last = replace(last, sentence=report_only(target.report_only, [last.sentence]))
        state, found = "report-only", (*found[:-1], last)
    sentence, why = _say_verdict(found)
    return Judgement(
        benchmark=key,
        lines=lines,
        state=state,
        sentence=sentence,
        why_unjudged=why,
        rules=found,
        curves=tuple(_printed_curves(key, table, of_run)),
        causes=_causes(of_run, busbw) if _is_low_or_high(found) else (),
        remarks=(
            *_unchecked_remarks(of_run, table),
            *_strangers(of_run, target),
            *path.remarks,
            *_remarks(standing, last),
        ),
    )


def _is_low_or_high(found: Sequence[RuleResult]) -> bool:
    """Return whether the first failed rule is about the measured values or their path; a dip already has its cause."""
    first = next((rule for rule in found if rule.state == "fail"), None)
    return first is not None and first.rule >= 3 and first.fault != "disturbed"


def _say_verdict(found: Sequence[RuleResult]) -> tuple[str, str]:
    """Return the first failure; if there is none, what rule 5 says and each earlier rule that could not be judged.

    Then why nothing was judged, as in ``Judgement``.
    """
    broken = next((rule for rule in found if rule.state == "fail"), None)
    if broken is not None:
        return verdict_words.of_rule(
            broken.rule, broken.name, verdict_words.with_look_at(broken.sentence, broken.look_at)
        ), ""
    *before, last = found
    others = []
    for rule in before:
        if rule.rule == 3 and rule.state == "pass":
            others.append(rule.sentence)
        elif rule.state == "not-judged" and rule.why_unjudged != last.why_unjudged:
            others.append(words.rule_unjudged(rule.rule, rule.name, rule.sentence))
    why = "; ".join([last.why_unjudged, *others]) if last.why_unjudged else ""
    return "; ".join([last.sentence, *others]), why


def _inputs(
    key: str,
    table: Table,
    target: GpuTarget,
    of_run: GpuRun,
    failures: tuple[OutputLine, ...],
    sizes: Sequence[int],
) -> Inputs:
    checked = validation_of([table])
    job = Job(
        exit_code=0,  # unknown: rule 1 says that it was not judged
        nodes_expected=NODES,
        nodes_seen=NODES,
        tables=1,
        tables_expected=1,
        incomplete=() if table.complete else (f"{key} (line {table.line})",),
        failures=failures,
        validates=checked is not None,
        validation=checked,
        unlike_asked=of_run.unlike or unlike_asked(key, [table], sizes),
    )
    return Inputs(
        system=target.system or words.unnamed_system(of_gpus=True),
        fabric=target.fabric,
        stack=ANY_STACK,
        rails=target.rails or (target.words,),
        nodes=NODES,
        job=job,
        metrics=tuple(_metrics(table)),
        path=no_path(words.no_live_run()),
        today=date.min,
        contradictions=contradictions([table], key),
    )


def _metrics(table: Table) -> Iterator[MetricInput]:
    """Yield each half's busbw as it was read, with values that are not numbers: rule 2 must see them.

    A row of 0 B moves nothing, so it is left out. Sizes are rounded: if two rows have the same size, the second is left
    out.
    """
    for half in HALVES:
        if half not in table.columns:
            continue
        found: list[tuple[int, float | None]] = []
        for size, value in zip(table.column("size"), micro.tool(table.tool).values(table, half), strict=True):
            if isinstance(size, int) and size > 0 and (not found or found[-1][0] != size or value is None):
                found.append((size, float(value) if isinstance(value, float | int) else None))
        unit = table.units[table.columns.index(half)]
        yield MetricInput(
            DeclaredMetric(half, "MB/s", "bandwidth"),
            MeasuredMetric(unit, tuple(size for size, _ in found), tuple(value for _, value in found)),
        )


def _reference_result(key: str, table: Table, target: GpuTarget, inputs: Inputs) -> RuleResult | None:
    """Return rule 5 by the system's references; None if it has none for this benchmark."""
    if target.referenced is None:
        return None
    of = Run(micro.find(key), target.referenced, facts=Facts(from_device=True))
    judged = metric_inputs(of, read_of([table], key, 1))
    if not any(metric.bands for metric in judged):
        return None
    return reference(replace(inputs, metrics=judged))


def _printed_curves(key: str, table: Table, of_run: GpuRun) -> Iterator[CurveJudgement]:
    """Yield the curve that is printed, with its bound if that is the same for all algorithms."""
    try:
        made: tuple[Curve, ...] = metric_curves(table, key)
    except ValueError:  # rule 2 says why
        return
    limit = None
    if of_run.shape is not None:
        own = own_nics(of_run.collective, of_run.shape)
        known = busbw_bounds(of_run.collective, of_run.shape) if own is None else (own,)
        # If they differ, rules 3 and 5 say which share of which bound it is.
        if known and known[-1].limited_by and known[0].busbw_mb_s == known[-1].busbw_mb_s:
            limit = Limit(known[-1].busbw_mb_s, f"{known[-1].algorithm}: {known[-1].terms}", known[-1].source)
    for each in made:
        share = None if limit is None else 100 * max(each.values) / limit.value_mb_s
        yield CurveJudgement(each, 1, limit, None, None, share, ())


def _causes(of_run: GpuRun, busbw: Mapping[str, Mapping[int, float]]) -> tuple[Likeness, ...]:
    values = [value for half in busbw.values() for value in half.values()]
    if of_run.shape is None or not values:
        return ()
    return likely_causes(GpuSeen(of_run.collective, of_run.shape, max(values)))


def _unchecked_remarks(of_run: GpuRun, table: Table) -> Iterator[str]:
    if of_run.job is not None and of_run.job.settings.get("validation") == 0:
        yield words.check_was_off()
    elif validation_of([table]) is None:
        yield words.nothing_checked()


def _strangers(of_run: GpuRun, target: GpuTarget) -> Iterator[str]:
    """Yield the hosts of the output that a system's file does not name: it may be from another cluster."""
    known = {label(host) for host in target.hosts}
    strange = [host for host in (() if of_run.job is None else of_run.job.hosts) if label(host) not in known]
    if known and strange:
        yield words.strange_hosts(target.system, strange)


def _remarks(standing: Standing, last: RuleResult) -> Iterator[str]:
    """Yield the sources of the published numbers, what was left out and why, and what vendors demand."""
    if standing.sentence != last.sentence and standing.state not in ("not-known",) and standing.sentence:
        yield standing.sentence
    yield from map(words.source, standing.sources)
    if standing.sizes:
        yield from map(words.not_compared, standing.unknown)
    yield from standing.thresholds
