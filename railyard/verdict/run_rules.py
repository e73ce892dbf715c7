"""The rules that need no reference: complete (1), its metrics were read (2), possible (3), over the intended path (4).

The job exited 0 on the nodes that it was given, and its output is complete, valid and without failures. Every declared
metric was read, is finite, and has its declared unit. No value of what was measured is better than physics allows. The
bytes went over the intended rails, in the expected split, and over no other network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from railyard.base.bounds import COLLECTIVE_FROM, COLLECTIVE_LEAST, IMPOSSIBLE_FACTOR, LEAST_OF_TCP
from railyard.base.wording import some
from railyard.benchmarks.model import Figure
from railyard.benchmarks.moved_bytes import Crossing
from railyard.verdict.rule_model import (
    RULE_NAMES,
    Inputs,
    Job,
    LimitLike,
    MetricInput,
    RuleResult,
    cite_band,
    fail_rule,
    named_passes,
    not_judged,
    pass_rule,
    points,
    why_unusable,
)
from railyard.verdict.wording import not_judged as say_not_judged
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording import run_rules as say

if TYPE_CHECKING:
    from railyard.results.record.form import FaultClass


@dataclass(frozen=True, slots=True)
class _NoBound:
    """Why one metric could not be compared with its bound."""

    reason: str


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
        return fail_rule(2, say.nothing_declared(), "set-up", say.look_at_check())
    wrong = [sentence for metric in inputs.metrics if (sentence := _why_unusable(metric)) is not None]
    wrong += inputs.contradictions
    if wrong:
        return fail_rule(2, "; ".join(wrong), "set-up", say.look_at_headings())
    read = [say.read_at(one.declared.name, one.declared.unit, len(points(one))) for one in inputs.metrics]
    return pass_rule(2, say.read(read))


def _why_unusable(metric: MetricInput) -> str | None:
    """Return why a metric cannot be judged: because of its median, which represents all passes, or of one pass."""
    found = chain((("", metric.measured),), named_passes(metric))
    wrong = ((which, why_unusable(metric.declared, measured, metric.problem)) for which, measured in found)
    return next((f"{which}{why}" for which, why in wrong if why is not None), None)


def possible(inputs: Inputs) -> RuleResult:
    """Return rule 3: it compares bandwidths with the link's limit, latencies with the least possible one, work with the
    peak, and message rates with the card's upper limit and the packets that the link carries.

    Not judged if no metric has a limit to compare with; the reason says why.
    """
    held: list[str] = []
    unknown: list[str] = []
    for metric in inputs.metrics:
        broken = _impossible_pass(metric)
        if broken is not None:
            return broken
        verdict = _bound_of(metric)
        if isinstance(verdict, RuleResult):
            return verdict
        if isinstance(verdict, _NoBound):
            unknown.append(verdict.reason)
        elif verdict:
            held.append(verdict)
    if held:
        return pass_rule(3, "; ".join([*held, *map(say_not_judged, unknown)]))
    if unknown:
        return not_judged(3, "; ".join(unknown))
    return not_judged(3, say.no_limit_for([metric.declared.name for metric in inputs.metrics]))


def percent_of_limit(metric: MetricInput) -> float | None:
    """Return the largest value as per cent of the limit, over the sizes that are compared with it; None without a
    limit.
    """
    judged = _judged_points(metric.limit, points(metric))
    if metric.limit is None or not judged:
        return None
    return 100 * max(value / metric.limit.bound_at(size) for size, value in judged)


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
    return fail_rule(1, sentence, _ENDED[ended.kind], say.look_at_ended(ended.kind, inputs.job.scheduler))


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


def _judge_time_limit(inputs: Inputs) -> RuleResult | None:
    job = inputs.job
    if not job.timed_out:
        return None
    ended = "" if job.ended is None else job.ended.sentence
    tables, after, lost = (job.tables, job.tables_expected), _first_failure(job), _lost_links(inputs)
    sentence = say.at_time_limit(job.time_limit_s, *tables, after, ended, lost)
    if job.stuck:
        sentence = say.did_not_react(job.stuck, job.stuck_in, sentence)
        return fail_rule(1, sentence, "node", say.look_at_processes(job.stuck))
    if job.starts_none:
        return fail_rule(1, sentence, "set-up", say.look_at_launcher(), brief=_brief_failure(job))
    look, path = say.look_at_traffic(inputs.rails, inputs.nodes), inputs.path
    if path.lost is not None:
        look = path.look_at
    elif job.computes and not path.suspects and not inputs.suspects and path.state != "failed":
        # a benchmark that only sends messages and stops is stuck on them; an application may as well be computing
        look = say.look_at_application(inputs.nodes)
    return fail_rule(1, sentence, "fabric" if path.suspects or path.lost else "set-up", look)


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
    if inputs.job.starts_none:
        return fail_rule(1, sentence, "set-up", say.look_at_launcher(), brief=_brief_failure(inputs.job))
    if inputs.path.lost is not None:
        return fail_rule(1, sentence, "fabric", inputs.path.look_at)
    brief, kills = _brief_failure(inputs.job), inputs.job.memory_kills
    without_memory = {node: kills[node] for node in kills if kills[node]}
    if without_memory:
        sentence += say.killed_for_memory(without_memory)
        return fail_rule(1, sentence, "set-up", say.look_at_ended("memory", ""), brief=brief)
    if code == _KILLED:
        nodes = inputs.job.nodes_expected
        is_known = bool(nodes) and all(node in kills for node in nodes)
        sentence += say.killed_with_memory() if is_known else say.killed_by_unknown()
        return fail_rule(1, sentence, "scheduler", say.look_at_ended("killed", ""), brief=brief)
    return fail_rule(1, sentence, "set-up", say.look_at_outputs(), brief=brief)


#: The exit code of what SIGKILL ended.
_KILLED = 137


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
        text = say.foreign_output(job.unread)
        return fail_rule(1, text, "set-up", say.look_at_both_outputs(), brief=say.brief_foreign_output())
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
    "limit": "set-up",
    "preempted": "scheduler",
    "requeued": "scheduler",
    "suspended": "scheduler",
    "several": "set-up",
    "node": "node",
    "stuck": "node",
    "cancelled": "scheduler",
    "killed": "scheduler",
    "pending": "scheduler",
    "unstarted": "set-up",
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
    _judge_time_limit,
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


def _impossible_pass(metric: MetricInput) -> RuleResult | None:
    """Return the failure of the first impossible pass of several: the median would not show it."""
    for which, measured in named_passes(metric):
        verdict = _bound_of(replace(metric, measured=measured, passes=()))
        if isinstance(verdict, RuleResult):
            return replace(verdict, sentence=f"{which}{verdict.sentence}")
    return None


def _bound_of(metric: MetricInput) -> RuleResult | _NoBound | str:
    """Return a failure, the sentence of what holds, why it could not be judged, or an empty string."""
    if metric.declared.limited:
        return _limit(metric)
    if metric.upper_limits or metric.messages is not None:
        return _rate(metric)
    return _latency(metric) if metric.most is None else _work(metric, metric.most)


def _work(metric: MetricInput, most: say.Ceiling) -> RuleResult | _NoBound | str:
    name, unit, judged = metric.declared.name, metric.declared.unit, points(metric)
    if not judged:
        return _NoBound(say.not_read(name))
    if unit != most.unit:
        return _NoBound(say.unit_of_work(name, unit, most.unit))
    value = max(value for _, value in judged)
    share = say.share_of_most(Figure(name, value, unit), most)
    if value <= most.value * IMPOSSIBLE_FACTOR.value:
        return share
    return fail_rule(3, say.say_disbelieved(share), "set-up", say.look_at_peak())


def _rate(metric: MetricInput) -> RuleResult | _NoBound | str:
    declared, share = metric.declared, 0.0
    other = next((band for band in metric.upper_limits if band.unit != declared.unit), None)
    if other is not None:
        return _NoBound(say.unit_of_upper_limit(declared.name, declared.unit, cite_band(other), other.unit))
    nearest: _NoBound | str = _NoBound(say.no_size_of_upper_limit(declared.name))
    for size, value in points(metric):
        for bound, what, look in _upper_rates(metric, size):
            described = say.share_of_rate(declared.figure(size, value), bound, what)
            if value > bound * IMPOSSIBLE_FACTOR.value:
                return fail_rule(3, say.say_disbelieved(described), "set-up", say.look_at_pairs(look))
            if value / bound > share:
                share, nearest = value / bound, described
    return nearest


def _upper_rates(metric: MetricInput, size: int) -> Iterator[tuple[float, str, str]]:
    """Yield each upper bound at a size: its value, what it is, and what else to look at."""
    for band in metric.upper_limits:
        bound = band.bound_at(size)
        if bound is not None and bound.high is not None:
            yield bound.high, say.upper_limit(bound.high, band.unit, cite_band(band)), say.of_this_card()
    if metric.messages is not None:
        most = metric.messages
        what = say.carried_messages(say.Ceiling(most.value, metric.declared.unit, most.terms, most.source))
        yield most.value, what, say.joined_messages()


def _judged_points(limit: LimitLike | None, measured: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    start = 0 if limit is None else limit.from_bytes
    return [point for point in measured if point[0] >= start]


def _limit(metric: MetricInput) -> RuleResult | _NoBound | str:
    """Return a failure, the sentence of what holds, or why it could not be judged."""
    name, unit, limit = metric.declared.name, metric.declared.unit, metric.limit
    measured = points(metric)
    if not measured:
        return _NoBound(say.not_read(name))
    if limit is None:
        return _NoBound(say.no_limit())
    if unit != "MB/s":
        return _NoBound(say.unit_of_limit(name, unit))
    judged = _judged_points(limit, measured)
    if not judged:
        return _NoBound(say.no_size_from(name, limit.from_bytes))
    believed = IMPOSSIBLE_FACTOR.value
    size, value = max(judged, key=lambda point: point[1])
    # The bound of a long stream is the least of all.
    if value > limit.bound_at(0) * believed:
        for at_size, at_value in judged:
            if at_value > limit.bound_at(at_size) * believed:
                sentence = say.say_disbelieved(_share_of(metric, at_size, at_value, limit))
                return fail_rule(3, sentence, "set-up", say.look_at_limit())
    return _share_of(metric, size, value, limit)


def _share_of(metric: MetricInput, size: int, value: float, limit: LimitLike) -> str:
    return say.share_of_limit(metric.declared.figure(size, value), _at_size(limit, size))


def _at_size(limit: LimitLike, size: int) -> say.Limit:
    return say.Limit(limit.value_mb_s, limit.bound_at(size), limit.terms, limit.source)


def _latency(metric: MetricInput) -> RuleResult | _NoBound | str:
    declared = metric.declared
    if declared.quantity not in ("latency", "time") or declared.unit != "us" or not declared.between_nodes:
        return ""
    # A collective of 0 bytes is a call that returns at once; a ping-pong of 0 bytes does send a message, and so does a
    # time that has no size.
    sends = declared.quantity == "latency" or not declared.sized
    judged = [(size, value) for size, value in points(metric) if size > 0 or sends]
    if not judged:
        return ""
    size, value = min(judged, key=lambda point: point[1])
    figure = declared.figure(size, value)
    # In a collective with a root, many ranks wait for nothing, and the mean over ranks includes them.
    least = metric.least.value * (1.0 if metric.crossing is None else metric.crossing.waiting)
    if value >= least:
        return _faster_than_the_link(metric) or say.long_enough(figure, least)
    sentence = say.too_short_latency(figure, least, metric.least.source)
    return fail_rule(3, sentence, "set-up", say.look_at_memory(metric.least is LEAST_OF_TCP))


def _faster_than_the_link(metric: MetricInput) -> RuleResult | None:
    """Return the failure if the time is too short for that many bytes to cross the link, one way."""
    limit = metric.one_way
    if limit is None:
        return None
    if metric.crossing is not None:
        found = (_faster_collective(metric, metric.crossing, limit, *point) for point in points(metric))
        return next((each for each in found if each is not None), None)
    for size, value in points(metric):
        if size < max(1, limit.from_bytes) or size / value <= limit.bound_at(size) * IMPOSSIBLE_FACTOR.value:
            continue
        sentence = say.too_fast(metric.declared.figure(size, value), size, _at_size(limit, size))
        return fail_rule(3, sentence, "set-up", say.look_at_times())
    return None


def _faster_collective(
    metric: MetricInput, crossing: Crossing, limit: LimitLike, size: int, value: float
) -> RuleResult | None:
    """Return the failure of a collective that ended before its bytes can have crossed a node's rails. Only for long
    messages: a library keeps a copy of a short one, and ranks enter up to a microsecond apart.
    """
    least_us = crossing.times * size / limit.bound_at(size) * crossing.waiting
    if size < max(COLLECTIVE_FROM.value, limit.from_bytes) or least_us < COLLECTIVE_LEAST.value:
        return None
    if value * IMPOSSIBLE_FACTOR.value >= least_us:
        return None
    figure = metric.declared.figure(size, value)
    sentence = say.too_fast_collective(figure, least_us, crossing.times, size, crossing.waiting, _at_size(limit, size))
    return fail_rule(3, sentence, "set-up", say.look_at_times_of_all())
