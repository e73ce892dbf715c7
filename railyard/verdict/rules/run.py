"""The rules of the run itself: it is complete (1), its metrics were read (2), and its path is the intended one (4).

The job exited 0 on the nodes that it was given, and its output is complete, valid and without failures. Every declared
metric was read, is finite, and has its declared unit. The bytes went over the intended rails, in the expected split,
and over no other network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from railyard.base.wording import some
from railyard.verdict.rules.model import (
    RULE_NAMES,
    Inputs,
    Job,
    MetricInput,
    RuleResult,
    fail_rule,
    named_passes,
    not_judged,
    pass_rule,
    points,
    why_unusable,
)
from railyard.verdict.wording import complete as say
from railyard.verdict.wording import metrics as words
from railyard.verdict.wording import path as path_words

if TYPE_CHECKING:
    from railyard.results.record.form import FaultClass


def complete(inputs: Inputs) -> RuleResult:
    """Return rule 1: the first cause that fails, causes before their consequences."""
    for cause in _CAUSES:
        result = cause(inputs)
        if result is not None:
            return result
    job = inputs.job
    if inputs.replayed is not None:
        return pass_rule(1, say.say_played(job.tables))
    return pass_rule(1, say.ended_well(job.nodes_seen, job.tables, job.validates))


def fails_for_length(inputs: Inputs) -> bool:
    """Return whether rule 1 fails because only a part of the output was read, and for no earlier cause."""
    return next((cause for cause in _CAUSES if cause(inputs) is not None), None) is _too_long


def metrics(inputs: Inputs) -> RuleResult:
    """Return rule 2: one sentence names all metrics that are wrong; a check that declares none fails."""
    if not inputs.metrics:
        return fail_rule(2, words.nothing_declared(), "set-up", words.look_at_check())
    wrong = [sentence for metric in inputs.metrics if (sentence := _why_unusable(metric)) is not None]
    wrong += inputs.contradictions
    if wrong:
        return fail_rule(2, "; ".join(wrong), "set-up", words.look_at_headings())
    read = [words.read_at(one.declared.name, one.declared.unit, len(points(one))) for one in inputs.metrics]
    return pass_rule(2, words.read(read))


def _why_unusable(metric: MetricInput) -> str | None:
    """Return why a metric cannot be judged: because of its median, which represents all passes, or of one pass."""
    found = chain((("", metric.measured),), named_passes(metric))
    wrong = ((which, why_unusable(metric.declared, measured, metric.problem)) for which, measured in found)
    return next((f"{which}{why}" for which, why in wrong if why is not None), None)


def path(inputs: Inputs) -> RuleResult:
    """Return rule 4 from the path proof; a path that is not proven fails.

    It is not judged, which does not fail, if the system accepts that and says why, if the benchmark moves no payload,
    or if an application used only one of several rails and may have had no choice: such a run is report-only
    (``verdict``).
    """
    proof = inputs.path
    if proof.state == "proven":
        return pass_rule(4, proof.sentence)
    if proof.state == "failed":
        return fail_rule(4, proof.sentence, proof.fault or "set-up", proof.look_at)
    if proof.one_rail:
        return not_judged(4, proof.sentence)
    if proof.state == "not-judged" and inputs.replayed is not None:
        return RuleResult(4, RULE_NAMES[4], "not-judged", path_words.not_judged_here())
    if proof.state == "not-proven" and inputs.no_payload is not None:
        return not_judged(4, inputs.no_payload)
    if inputs.accepts_unproven is not None:
        return not_judged(4, path_words.say_accepted(proof.sentence, inputs.accepts_unproven))
    return fail_rule(4, proof.sentence, "not-proven", proof.look_at)


def _judge_unplayed(inputs: Inputs) -> RuleResult | None:
    problem = inputs.job.unplayed
    if problem is None:
        return None
    return fail_rule(1, problem, "set-up", say.look_at_recording())


def _scheduler(inputs: Inputs) -> RuleResult | None:
    error = inputs.job.scheduler_error
    if error is None:
        return None
    return fail_rule(1, say.did_not_run(error), "scheduler", say.look_at_log_and_nodes())


def _ended_by_scheduler(inputs: Inputs) -> RuleResult | None:
    """Return what the scheduler says about a job that it ended; a time limit has its own sentence below."""
    ended = inputs.job.ended
    if ended is None or ended.kind == "time":
        return None
    sentence = f"{ended.sentence}{_first_failure(inputs.job)}"
    return fail_rule(1, sentence, _ENDED[ended.kind], say.look_at_ended(ended.kind))


def _not_meant(inputs: Inputs) -> RuleResult | None:
    other = inputs.job.not_meant
    if other is None:
        return None
    return fail_rule(1, other, "set-up", inputs.job.look_at_way or say.look_at_other_mpi())


def _judge_refusal(inputs: Inputs) -> RuleResult | None:
    refused = inputs.job.refused
    if not refused:
        return None
    sentence = some([rail.sentence for rail in refused])
    blind = [rail.node for rail in refused if rail.rail is None]
    if blind:
        return fail_rule(1, sentence, "node", say.look_at_mounts(blind))
    where = [f"{rail.rail} of {rail.node}" for rail in refused]
    return fail_rule(1, sentence, "fabric", say.look_at_cables(where))


def _rails_unlike(inputs: Inputs) -> RuleResult | None:
    if inputs.job.rails_unlike is None:
        return None
    if inputs.suspects:  # rails that run slower than they should
        where = [f"{one.rail} of {one.node}" for one in inputs.suspects]
        return fail_rule(1, inputs.job.rails_unlike, "fabric", say.look_at_slow_links(where))
    return fail_rule(1, inputs.job.rails_unlike, "set-up", say.look_at_addresses())


def _timed_out(inputs: Inputs) -> RuleResult | None:
    job = inputs.job
    if not job.timed_out:
        return None
    ended = "" if job.ended is None else job.ended.sentence
    tables, after, lost = (job.tables, job.tables_expected), _first_failure(job), _lost_links(inputs)
    sentence = say.at_time_limit(job.time_limit_s, *tables, after, ended, lost)
    if job.stuck:
        sentence = say.did_not_react(job.stuck, job.stuck_in, sentence)
        return fail_rule(1, sentence, "node", say.look_at_processes(job.stuck))
    look = say.look_at_traffic(inputs.rails, inputs.nodes)
    if inputs.path.lost is not None:
        look = inputs.path.look_at
    return fail_rule(1, sentence, "fabric" if inputs.path.suspects or inputs.path.lost else "set-up", look)


def _exit_code(inputs: Inputs) -> RuleResult | None:
    code = inputs.job.exit_code
    if code == 0:
        return None
    if code is None:
        sentence = say.no_exit_code(_first_failure(inputs.job))
        return fail_rule(1, sentence, "scheduler", say.look_at_log())
    sentence = say.say_exited(code, f"{_first_failure(inputs.job)}{_lost_links(inputs)}")
    if inputs.job.never_began:
        return fail_rule(1, sentence, "scheduler", say.look_at_launcher())
    if inputs.path.lost is not None:
        return fail_rule(1, sentence, "fabric", inputs.path.look_at)
    # 137 is SIGKILL: on a cluster it is mostly the kernel's out-of-memory killer.
    fault: FaultClass = "node" if code == 137 else "set-up"
    return fail_rule(1, sentence, fault, say.look_at_outputs(), brief=_brief_failure(inputs.job))


def _nodes(inputs: Inputs) -> RuleResult | None:
    job = inputs.job
    if not job.nodes_expected and inputs.replayed is None:
        return fail_rule(1, say.no_nodes(), "scheduler", say.look_at_record())
    if set(job.nodes_seen) == set(job.nodes_expected):
        return None
    sentence = say.other_nodes(job.nodes_seen, job.nodes_expected)
    return fail_rule(1, sentence, "scheduler", say.look_at_placement_of_ranks())


def _cut(inputs: Inputs) -> RuleResult | None:
    if inputs.job.cut is None:
        return None
    return fail_rule(1, f"{inputs.job.cut}{_first_failure(inputs.job)}", "set-up", say.look_at_printed())


def _too_long(inputs: Inputs) -> RuleResult | None:
    if inputs.job.too_long is None:
        return None
    return fail_rule(1, f"{inputs.job.too_long}{_first_failure(inputs.job)}", "set-up", say.look_at_printed())


def _failures(inputs: Inputs) -> RuleResult | None:
    failures = inputs.job.failures
    if not failures:
        return None
    sentence = say.say_reported(len(failures), _first_failure(inputs.job))
    return fail_rule(1, sentence, "set-up", say.look_at_quoted(), brief=_brief_failure(inputs.job))


def _readable(inputs: Inputs) -> RuleResult | None:
    job = inputs.job
    if job.unread is not None:
        text = say.say_unread(job.unread)
        return fail_rule(1, text, "set-up", say.look_at_both_outputs(), brief=say.brief_unread())
    if job.tables < job.tables_expected:
        return fail_rule(1, say.too_few_tables(job.tables, job.tables_expected), "set-up", say.look_at_end())
    if job.incomplete:
        return fail_rule(1, say.cut_rows(job.incomplete), "set-up", say.look_at_end_and_limits())
    if job.unended:
        sentence, brief = say.cut_end(job.end_line, job.unended), say.brief_cut_end(job.end_line)
        return fail_rule(1, sentence, "set-up", say.look_at_end_and_limits(), brief=brief)
    return None


def _unlike_asked(inputs: Inputs) -> RuleResult | None:
    if inputs.job.unlike_asked is None:
        return None
    return fail_rule(1, inputs.job.unlike_asked, "set-up", say.look_at_script())


def _wrong_data(inputs: Inputs) -> RuleResult | None:
    if inputs.job.validation is not False:
        return None
    sentence = say.wrong_data(inputs.job.computes, _first_failure(inputs.job))
    return fail_rule(1, sentence, "node", say.look_at_devices())


def _judge_validation(inputs: Inputs) -> RuleResult | None:
    job = inputs.job
    if job.validates and job.validation is None:
        return fail_rule(1, say.not_validated(), "set-up", say.look_at_validation())
    return None


def _judge_placement(inputs: Inputs) -> RuleResult | None:
    if inputs.job.unplaced is None:
        return None
    return fail_rule(1, inputs.job.unplaced, "set-up", say.look_at_processors())


#: What ended a job -> the class of the fault.
_ENDED: Mapping[str, FaultClass] = {
    "memory": "set-up",
    "preempted": "scheduler",
    "requeued": "scheduler",
    "suspended": "scheduler",
    "several": "set-up",
    "node": "node",
    "stuck": "node",
    "cancelled": "scheduler",
    "pending": "scheduler",
    "lost": "scheduler",
}

_CAUSES: tuple[Callable[[Inputs], RuleResult | None], ...] = (
    _judge_unplayed,
    _scheduler,
    _ended_by_scheduler,
    _not_meant,
    _judge_refusal,
    _rails_unlike,
    _cut,
    _timed_out,
    _wrong_data,
    _exit_code,
    _nodes,
    _too_long,
    _failures,
    _readable,
    _unlike_asked,
    _judge_validation,
    _judge_placement,
)


def _lost_links(inputs: Inputs) -> str:
    return "" if inputs.path.lost is None else say.lost_links(inputs.path.lost)


def _first_failure(job: Job) -> str:
    if not job.failures:
        return ""
    first = job.failures[0]
    return say.first_failure(first.line, first.of, first.text, first.means)


def _brief_failure(job: Job) -> str:
    """Return what the first line about a failure means, else the line itself; empty without such a line."""
    first = next(iter(job.failures), None)
    return "" if first is None else first.means or say.brief_failure(first.line, first.of, first.text)
