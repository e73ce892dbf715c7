"""The verdict of one stored output, as a run would have got it: one judgement per table.

What only a live run shows is listed as not judged and never counts as passed: the path proof, and exit code, time limit
and nodes of rule 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date

from railyard.base.errors import RailyardError
from railyard.base.values import one_line
from railyard.base.wording import listing
from railyard.benchmarks import metrics
from railyard.benchmarks.model import Benchmark, Curve
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.applications import installed_name
from railyard.hardware.day_one import UNNAMED
from railyard.hardware.limits import Limit
from railyard.parsers.decorations import with_own_signs
from railyard.parsers.fabric.port import PortState
from railyard.parsers.output import Caution, ParsedOutput, Table, validation_of
from railyard.parsers.tool_signs import is_refusal, refusal_in
from railyard.parsers.unread_rows import unread_rows
from railyard.provision.replay.form import said_of_itself
from railyard.results.record.headline import shorten
from railyard.verdict import run_rules
from railyard.verdict import wording as verdict_words
from railyard.verdict.day_one import facts_of
from railyard.verdict.hints.causes import ONE_NODE, ONE_NODE_RATE, Likeness, causes_beside, likenesses
from railyard.verdict.hints.fallback import faster_than_asked, judged_fallbacks, words_of_fallback
from railyard.verdict.inputs import Read, Run, Target, contradictions, metric_inputs, read_of
from railyard.verdict.own_fault import own_fault
from railyard.verdict.reference_rule import reference, reference_where_measured, worst_ratio
from railyard.verdict.rule_model import (
    Inputs,
    Job,
    MetricInput,
    OutputLine,
    RuleResult,
    fail_rule,
    not_judged,
)
from railyard.verdict.rule_model import path_not_judged as no_path
from railyard.verdict.sizes import assessor_of, gap, other_sizes, shorter_pass, sizes_of
from railyard.verdict.stored_outputs.judgement import CurveJudgement, Judgement, State, not_judged_tables
from railyard.verdict.stored_outputs.passes import (
    Passes,
    groups_of,
    judge_passes,
    kind_of_tables,
    longest_messages,
    pass_name,
)
from railyard.verdict.stored_outputs.rail_bounds import below_gpu_slots, between_few_gpus, one_rail, weak_collective
from railyard.verdict.stored_outputs.remarks import (
    describe_loss,
    flow_limit,
    plateau,
    remarks_on,
    say_late_or_lost,
    shared_rail,
    short_end,
    short_latency,
    slower_network,
    slower_port,
    tcp_over_rdma,
)
from railyard.verdict.stored_outputs.target import ANY_NODES, ANY_STACK, Nodes, with_printed_gpus, with_printed_mtu
from railyard.verdict.stored_outputs.unfit import why_unfit
from railyard.verdict.wording import not_judged as say_not_judged
from railyard.verdict.wording import stored_outputs as words
from railyard.verdict.wording.run_rules import brief_failure

#: A stored output does not say which nodes these were.
NODES = (words.unnamed_nodes(),)
#: More than any node has cores: so many pairs of ranks share a rail at most.
_MOST_PAIRS = 512
#: The first size of perftest's ``-a``, B.
_FIRST_OF_ALL = 2


def judge(
    parsed: ParsedOutput,
    target: Target,
    *,
    benchmark: str | None = None,
    nodes: Nodes = ANY_NODES,
    passes: Passes = "all",
    sizes: Sequence[int] = (),
    text: str = "",
) -> tuple[Judgement, ...]:
    """Return a judgement for each table, in the order of the output.

    ``benchmark`` selects one key, and names the benchmark if a table does not. ``nodes``: where it ran; a collective is
    judged only if the number of nodes and of ranks on each is known. ``passes``: how equal tables count; by default
    each must hold, and so must their median. ``sizes``: the message sizes that were requested, in bytes; empty if
    unknown. ``text`` is the output: if it reports failures, their first cause is looked for in it.

    Raises RailyardError if there is neither a table nor a failure, or if no table is of the benchmark.
    """
    if target.gpus_alone and nodes.count is None:
        nodes = replace(nodes, count=1)
    text = with_own_signs(text)
    said = failures_of(parsed, target.stack, text)
    failures, over_rdma = judged_fallbacks(target.fabric.link, text, parsed.tables, said)
    target = replace(target, contradiction=faster_than_asked(target.fabric.link, text, parsed.tables))
    if target.fabric.link.family == UNNAMED:
        target = replace(target, fallback=words_of_fallback(text, parsed.tables))
    modules = tuple(_of_module(port) for port in parsed.fabric if port.module and not parsed.tables)
    if modules:
        return (*modules, without_table(failures, has=words.judged_modules())) if failures else modules
    if not parsed.tables and not parsed.fabric and not parsed.hardware:
        refused = _refusal_of(failures, len(parsed.remarks))
        if refused is not None:
            return (refused,)
    if not parsed.tables:
        unread = unread_rows(parsed) or (None if failures else _of_the_fabric(parsed, target))
        return (without_table(failures, unread=unread),)
    if benchmark is not None:
        micro.find(benchmark)
    apart = [each for table in parsed.tables for each in metrics.tables_of_groups(table)]
    keyed = [(key_of(table, benchmark), table) for table in apart]
    titled = benchmark is not None and any(key == benchmark and table.benchmark is not None for key, table in keyed)
    found = groups_of(keyed, passes != "apart")
    if benchmark is not None and all(key != benchmark for key, _ in found):
        has = listing(sorted({key or f"{tables[0].tool}, without a name" for key, tables in found}))
        raise RailyardError(f"--benchmark: found no table of {benchmark}, the output has {has}")
    longest = longest_messages(found)
    made = said_of_itself(text)
    remarks = () if made is None else (words.between_published(made[1], made[0]),)
    judged = (
        _without_title(tables, key)
        if titled and key == benchmark and tables[0].benchmark is None
        else (None if failures else _unfit(key, tables, target, nodes, parsed, text))
        or _at_printed_mtu(
            *(failures, key, tables),
            replace(target, has_longer_run=longest[key] > max(sizes_of(tables[0]), default=0)),
            *(nodes, sizes, passes),
        )
        for key, tables in found
        if benchmark is None or key == benchmark
    )
    beside = causes_beside(parsed, target.fabric.link)
    said_by_parser = _by_heading(parsed)
    return tuple(
        _add_context(
            replace(one, remarks=(*remarks, *over_rdma, *_of_parser(one, said_by_parser), *one.remarks)), beside
        )
        for one in judged
    )


def _by_heading(parsed: ParsedOutput) -> dict[int, list[str]]:
    """Return what the parser remarks of the figures, by the heading of the table that is at or above the line."""
    headings = sorted(table.line for table in parsed.tables)
    found: dict[int, list[str]] = {}
    for remark in parsed.remarks:
        if isinstance(remark, Caution):
            heading = max((line for line in headings if line <= remark.line), default=headings[0])
            found.setdefault(heading, []).append(words.of_line(remark.line, one_line(remark.text)))
    return found


def _of_parser(judgement: Judgement, said: Mapping[int, list[str]]) -> Iterable[str]:
    for line in judgement.lines:
        yield from said.get(line, ())


def _add_context(judgement: Judgement, beside: tuple[Likeness, ...]) -> Judgement:
    """Return the judgement with what else the text shows: as causes of a failure, else as remarks."""
    if judgement.state == "fail":
        return replace(judgement, causes=(*beside, *judgement.causes))
    return replace(
        judgement,
        remarks=(
            *judgement.remarks,
            *(words.in_same_text(each.description) for each in beside),
        ),
    )


def failures_of(parsed: ParsedOutput, stack: str, text: str) -> tuple[OutputLine, ...]:
    """Return what the output reports as wrong: the first cause, then what followed from it."""
    found = tuple(OutputLine(failure.line, failure.text) for failure in parsed.failures)
    if not found:
        return ()
    from railyard.verdict.hints.first_cause import first_cause, own_words_first

    cause = first_cause(None if stack == ANY_STACK else stack, (text,))
    if cause is None:
        return own_words_first(found)
    others = own_words_first(each for each in found if each.line != cause.line)
    return (OutputLine(cause.line, cause.quoted, means=cause.means), *others)


def without_table(failures: tuple[OutputLine, ...], has: str = "", unread: str | None = None) -> Judgement:
    """Return the failure of an output that itself says why it has no table; ``unread``: rows that were not read.

    ``has``: what it has in place of one, in words; empty: nothing.

    Raises RailyardError if it does not say why.
    """
    if not failures:
        why = f": {unread}" if unread else ""
        raise RailyardError(f"the output has no table of a benchmark, so there is nothing to judge{why}")
    first = failures[0]
    shown = (len(failures), first.line, first.text, first.means)
    sentence = words.failures_only(has or words.no_table(), unread or "", *shown)
    brief = first.means or brief_failure(first.line, first.of, first.text)
    rule = fail_rule(1, sentence, "set-up", words.look_at_quoted(), brief=brief)
    return Judgement(None, (), "fail", verdict_words.of_rule(rule.rule, rule.name, sentence), (rule,))


def _refusal_of(failures: Sequence[OutputLine], beside: int) -> Judgement | None:
    """Return the failure of a node's or fabric's tool that read nothing; None for any other output.

    ``beside``: how many lines it has that are no failures.
    """
    if not is_refusal([each.text for each in failures], beside) or failures[0].means:
        return None
    line, refusal = next((each, refusal) for each in failures if (refusal := refusal_in(each.text)))
    sentence = words.read_nothing(refusal.tool, refusal.or_else, line.line, line.text)
    brief = shorten(words.read_nothing_brief(refusal.tool, one_line(line.text)), at_clauses=False)
    rule = fail_rule(1, sentence, "set-up", refusal.fix, brief=brief)
    return Judgement(None, (line.line,), "fail", verdict_words.of_rule(rule.rule, rule.name, sentence), (rule,))


def _of_the_fabric(parsed: ParsedOutput, target: Target) -> str | None:
    """Return what ports, slots or GPUs a text shows in place of a benchmark, and what to do with it; else None."""
    if not parsed.fabric and not parsed.hardware:
        return None
    lines = [port.line for port in parsed.fabric] + [slot.line for slot in parsed.hardware.slots]
    beside = [each.description for each in causes_beside(parsed, target.fabric.link)]
    return words.of_the_fabric(min(lines, default=None), beside)


def _of_module(port: PortState) -> Judgement:
    """Return the judgement of a cable or module (ethtool -m, mlxlink -m) by its own thresholds; nothing else counts."""
    from railyard.hardware.optics import report_of

    report = report_of(port.module)
    lines = (port.line,)
    if not report.findings and not report.inside:
        why = words.module_unjudged(report)
        return Judgement(None, lines, "not-judged", say_not_judged(why), why_unjudged=why)
    remarks = words.module_remarks(report)
    if not report.alarms:
        return Judgement(None, lines, "pass", words.module_inside(report), remarks=remarks)
    sentence = words.module_alarm(report)
    brief = words.module_brief(report.alarms[0].found, len(report.alarms) - 1)
    rule = fail_rule(5, sentence, "fabric", words.look_at_module(), brief=brief)
    sentence = verdict_words.of_rule(rule.rule, rule.name, sentence)
    return Judgement(None, lines, "fail", sentence, (rule,), remarks=remarks)


def _without_title(tables: Sequence[Table], key: str | None) -> Judgement:
    """Return that tables which name no benchmark are not judged beside one that does: their run may be another."""
    return not_judged_tables(None, tables, words.without_title(key))


def _unfit(
    key: str | None,
    tables: Sequence[Table],
    target: Target,
    nodes: Nodes,
    parsed: ParsedOutput,
    text: str,
) -> Judgement | None:
    """Return that equal tables are not judged by the target, whatever their figures; None if they are."""
    why = why_unfit(key, tables[0], target, nodes, parsed, text)
    if why is None:
        return None
    return replace(not_judged_tables(key, tables, why), counted_as=kind_of_tables(tables))


def _at_printed_mtu(
    failures: tuple[OutputLine, ...],
    key: str | None,
    tables: list[Table],
    target: Target,
    nodes: Nodes,
    sizes: Sequence[int],
    passes: Passes,
) -> Judgement:
    """Return the judgement of equal tables by the MTU and the GPUs that they print, if nobody named others."""
    target, remarks = with_printed_mtu(with_printed_gpus(target, tables), tables)
    judged = _judged_passes(failures, key, tables, target, nodes, sizes, passes)
    return replace(judged, remarks=(*remarks, *judged.remarks)) if judged.rules else judged


def _judged_passes(
    failures: tuple[OutputLine, ...],
    key: str | None,
    tables: list[Table],
    target: Target,
    nodes: Nodes,
    sizes: Sequence[int],
    passes: Passes,
) -> Judgement:
    if key is None:
        if failures:  # a crash or a fallback is said, whatever the table is of
            lines = tuple(table.line for table in tables)
            return replace(without_table(failures, has=words.no_known_table()), lines=lines)
        return not_judged_tables(None, tables, why_unknown(tables[0]))
    measured, median = _judge_median(failures, key, tables, target, nodes, sizes)
    if len(tables) < 2:
        return median

    def judge_alone(place: int) -> Judgement:
        return _judge_median(failures, key, [tables[place]], target, nodes, sizes)[1]

    names = [pass_name(table, count) for count, table in enumerate(tables, 1)]
    return judge_passes(replace(median, counted_as=kind_of_tables(tables)), measured, names, judge_alone, passes)


def _judge_median(
    failures: tuple[OutputLine, ...],
    key: str,
    tables: list[Table],
    target: Target,
    nodes: Nodes,
    sizes: Sequence[int],
) -> tuple[tuple[MetricInput, ...], Judgement]:
    """Return the metrics of the tables' median, and its judgement."""
    benchmark = micro.find(key)
    read = read_of(tables, key, nodes.pairs)
    facts = facts_of(tables[0], benchmark, nodes.pairs, nodes.count, nodes.ranks_each)
    run_ = Run(
        *(benchmark, target, facts.nodes, facts.ranks_per_node),
        on_one_host=facts.nodes == 1,
        facts=facts,
    )
    judged = metric_inputs(run_, read)
    inputs = _inputs(failures, key, tables, target, judged, sizes)
    too_short = assessor_of(benchmark).too_short(key, tables)
    inputs = replace(inputs, own_fault=own_fault(run_, judged), too_short=too_short, within_node=run_.on_one_host)
    has_end = sizes or benchmark.rows != "sizes" or not micro.tool(benchmark.tool).has_no_end
    holds_nothing = _nothing_holds(judged, benchmark, target)
    lost = next((why for table in tables if (why := describe_loss(table)) is not None), None)
    if holds_nothing is not None:
        why = holds_nothing if lost is None else words.both_reasons(lost, holds_nothing)
        holds_nothing = _with_cause(why, plateau(judged, benchmark, target), target)
    *others, last = _rules(inputs, holds_nothing, "" if has_end else benchmark.tool, _too_weak(judged, tables, run_))
    if last.state == "fail" and inputs.own_fault is None and (limited := flow_limit(judged, run_)) is not None:
        last = not_judged(5, limited)
    rules = (*others, _unless_pairs_share(last, inputs, run_, read))
    failure = next((rule for rule in rules if rule.state == "fail"), None)
    causes = likenesses(tables[0], benchmark, judged, target) if failure else ()
    failure = None if failure is None else _first_of_one_node(failure, causes)
    state, sentence, why_unjudged = _say_verdict(rules, failure, target)
    return judged, Judgement(
        benchmark=key,
        lines=tuple(table.line for table in tables),
        state=state,
        sentence=sentence,
        rules=tuple(failure if failure is not None and rule.rule == failure.rule else rule for rule in rules),
        curves=tuple(_standing(curve, judged, benchmark) for curve in read.curves),
        causes=causes,
        remarks=(
            *([target.fallback] if failure and target.fallback else ()),
            *([lost] if failure and lost else ()),
            *([words.no_dashes()] if not failure and any(map(_is_unclosed_row, tables)) else ()),
            *remarks_on(judged, tables[0], run_, nodes.pairs),
        ),
        cause=target.fallback or "" if failure is not None and failure.rule in (3, 5) else "",
        why_unjudged=why_unjudged,
    )


def _first_of_one_node(failure: RuleResult, causes: tuple[Likeness, ...]) -> RuleResult:
    """Return a failure; if a curve below its reference looks like shared memory, one looks at that before the rails."""
    if failure.rule != 5 or not any(each.cause in (ONE_NODE, ONE_NODE_RATE) for each in causes):
        return failure
    return replace(failure, look_at=words.look_at_one_node(failure.look_at))


def _too_weak(judged: Sequence[MetricInput], tables: Sequence[Table], of: Run) -> str | None:
    """Return why a curve that holds is not judged, or None: one rail or a slower network can carry it, too little
    is asked of it, many of its messages were late or lost, or a setting speaks against it.
    """
    return (
        next((why for table in tables if (why := say_late_or_lost(judged, table)) is not None), None)
        or of.target.contradiction
        or one_rail(judged, of)
        or tcp_over_rdma(judged, of)
        or slower_network(judged, of.benchmark, of.target)
        or slower_port(judged, of)
        or shared_rail(judged, of)
        or short_end(judged, of)
        or short_latency(judged, of)
        or below_gpu_slots(judged, of)
        or between_few_gpus(judged, of)
        or weak_collective(judged, of)
    )


def _inputs(
    failures: tuple[OutputLine, ...],
    key: str,
    tables: list[Table],
    target: Target,
    judged: tuple[MetricInput, ...],
    sizes: Sequence[int],
) -> Inputs:
    own_check = validation_of(tables)
    job = Job(
        exit_code=0,  # unknown: _rules says that it was not judged
        nodes_expected=NODES,
        nodes_seen=NODES,
        tables=len(tables),
        tables_expected=len(tables),
        incomplete=tuple(
            dict.fromkeys(
                f"{key} (line {table.line})" for table in tables if not table.complete and not _is_unclosed_row(table)
            )
        ),
        failures=(
            *failures,
            *assessor_of(micro.find(key)).find_other_results(key, tables),
        ),
        validates=own_check is not None,
        validation=own_check,
        computes=micro.find(key).is_application,
        unlike_asked=unlike_asked(key, tables, sizes),
        unended=tuple(f"{key} (line {table.line})" for table in tables if table.ended is False),
        end_line=micro.tool(micro.find(key).tool).end_line,
    )
    return Inputs(
        system=target.system or words.unnamed_system(of_gpus=False),
        fabric=target.fabric_name,
        stack=target.stack,
        rails=target.rail_names,
        nodes=NODES,
        job=job,
        metrics=judged,
        path=no_path(words.no_live_run()),
        today=date.min,
        link_limit_known=target.fabric.limit(target.rails, 1) is not None,
        report_only=target.report_only,
        contradictions=contradictions(tables, key),
        has_references=bool(target.system),
    )


def _is_unclosed_row(table: Table) -> bool:
    """Return whether perftest's table is the one row of a run over one size without its closing dashes.

    Over all sizes (``-a``) it begins with 2 B. Source: linux-rdma/perftest, src/write_bw.c, src/perftest_resources.c.
    """
    if table.complete or not micro.tool(table.tool).between_nics or len(table.rows) != 1:
        return False
    return any(size > _FIRST_OF_ALL for size in sizes_of(table))


def unlike_asked(key: str, tables: Sequence[Table], sizes: Sequence[int]) -> str | None:
    """Return how message sizes differ from the requested ones, or where a series or one of the passes lacks rows."""
    if micro.find(key).rows != "sizes":
        return None
    if sizes:
        return next((why for table in tables if (why := other_sizes(table, key, sizes))), None)
    return next((why for table in tables if (why := gap(table, key))), None) or shorter_pass(tables, key)


def _nothing_holds(judged: Sequence[MetricInput], benchmark: Benchmark, target: Target) -> str | None:
    """Return why a link alone gives nothing to judge by; None if it does, or if a system's file decides."""
    if target.system or any(metric.bands for metric in judged):
        return None
    if micro.tool(benchmark.tool).between_gpus and not benchmark.of_link:
        return words.no_bound_of_collective()
    return words.several_reasons([*dict.fromkeys(metric.floor_remark for metric in judged if metric.floor_remark)])


def _with_cause(nothing_holds: str, like: str | None, target: Target) -> str:
    """Return the sentence with what the output says about a fallback before it, else with what its rate is like."""
    if target.fallback:
        return words.both_reasons(target.fallback, nothing_holds)
    return nothing_holds if like is None else words.both_reasons(nothing_holds, like)


def why_unknown(table: Table) -> str:
    """Return why a table is of no benchmark that is judged: it names none, or none of its metrics is compared."""
    if table.benchmark is None:
        return words.benchmark_unknown(table.tool, _possible_names(table))
    return words.nothing_compared(table.tool, table.benchmark)


def _possible_names(table: Table) -> list[str]:
    """Return the benchmarks of a table's tool whose figures it has, without those of another memory or path."""
    own = [one for key, one in micro.BENCHMARKS.items() if one.tool == table.tool and key.count("/") == 1]
    needed = {one.key: [metric.columns for metric in one.metrics if not metric.optional] for one in own}
    has = set(table.columns)
    return [key for key, columns in needed.items() if all(not has.isdisjoint(each) for each in columns)]


def _rules(inputs: Inputs, nothing_holds: str | None, no_end: str, weak: str | None = None) -> tuple[RuleResult, ...]:
    """Return all five rules; ``no_end``: the tool, if its output may lack rows at its end and nobody said its sizes.

    ``weak``: why a curve that holds is not judged: one of its rails can carry it, it equals a slower network, or
    its bound asks too little.
    """
    first = complete(inputs, no_end)
    decides = nothing_holds is None or inputs.own_fault is not None
    last = reference_where_measured(inputs) if decides else not_judged(5, nothing_holds or "")
    if weak is not None and last.state == "pass":
        last = not_judged(5, weak)
    path = not_judged(4, words.no_live_path())
    return (first, run_rules.metrics(inputs), run_rules.possible(inputs), path, last)


def complete(inputs: Inputs, no_end: str = "") -> RuleResult:
    """Return rule 1 of a stored output; ``no_end`` as above."""
    first = run_rules.complete(inputs)
    if first.state != "pass":
        return first
    return replace(first, sentence=words.whole_output(inputs.job.tables, inputs.job.validates, no_end))


def _unless_pairs_share(last: RuleResult, inputs: Inputs, run_: Run, read: Read) -> RuleResult:
    """Return rule 5 not judged if a fast rail that many pairs of ranks share may show the same, else as it is."""
    if last.state != "fail" or not run_.benchmark.hides_pairs or run_.facts.ranks_per_node is not None:
        return last
    facts = replace(run_.facts, ranks_per_node=_MOST_PAIRS)
    shared = metric_inputs(replace(run_, ranks_per_node=_MOST_PAIRS, facts=facts), read)
    if reference(replace(inputs, metrics=shared)).state == "fail":
        return last
    return not_judged(5, words.pairs_may_share(run_.benchmark.key))


def _say_verdict(rules: tuple[RuleResult, ...], failure: RuleResult | None, target: Target) -> tuple[State, str, str]:
    """Return the state, its sentence, and why nothing was judged, as in ``Judgement``."""
    if failure is not None:
        sentence = verdict_words.with_look_at(failure.sentence, failure.look_at)
        return "fail", verdict_words.of_rule(failure.rule, failure.name, sentence), ""
    last = rules[-1]
    others = [words.rule_unjudged(one.rule, one.name, one.sentence) for one in rules[:3] if one.state == "not-judged"]
    sentence, why = ("; ".join([said, *others]) if said else "" for said in (last.sentence, last.why_unjudged))
    if last.state != "pass":
        return "not-judged", sentence, why
    return "pass" if target.report_only is None else "report-only", sentence, ""


def _standing(curve: Curve, judged: Iterable[MetricInput], benchmark: Benchmark) -> CurveJudgement:
    metric = next(each for each in judged if each.declared.name == curve.metric)
    worst, of_limit = worst_ratio(metric), run_rules.percent_of_limit(metric)
    return CurveJudgement(
        curve=curve,
        directions=micro.metric(benchmark.key, curve.metric).directions,
        limit=metric.limit if isinstance(metric.limit, Limit) else None,
        percent_of_reference=None if worst is None else 100 * worst.ratio,
        percent_of_reference_size=None if worst is None else worst.size_bytes,
        percent_of_limit=of_limit,
        references=tuple(band.entry_id for band in metric.cited_bands),
    )


def key_of(table: Table, benchmark: str | None) -> str | None:
    """Return the key of a table's benchmark; the requested one if the table says less (nodes, and WRF's case)."""
    known = metrics.key_of(table)
    if benchmark is not None and installed_name(benchmark) is not None:  # no list has what a site installed
        return benchmark if f"{table.tool}/{table.benchmark}" == micro.find(benchmark).printed_key else None
    if known is not None and benchmark is not None and known == micro.find(benchmark).printed_key:
        return benchmark
    if known is None and table.benchmark is None and benchmark is not None:
        return benchmark if benchmark.partition("/")[0] == table.tool else None
    return known
