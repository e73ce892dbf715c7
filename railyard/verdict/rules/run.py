"""The rules of the run itself: it is complete (1), its metrics were read (2), and its path is the intended one (4).

The job exited 0 on the nodes that it was given, and its output is complete, valid and without failures. Every declared
metric was read, is finite, and has its declared unit. The bytes went over the intended rails, in the expected split,
and over no other network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from railyard.base.clean_text import one_line
from railyard.base.hostlist import MOST_IN_WORDS, list_nodes
from railyard.base.wording import count_of, listing, places, some
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

if TYPE_CHECKING:
    from railyard.results.record.form import FaultClass

SHOWN_CHARACTERS = 160
"""The most of a quoted line: a library's longest warnings fill a screen, and the record keeps the whole output anyway.
"""

_CUT = "where the job's output ends, and its limits of time and file size"
_LOOK_AT = "the benchmark's output: whether its headings and rows are whole, and as its release prints them"


def complete(inputs: Inputs) -> RuleResult:
    """Return rule 1: the first cause that fails, causes before their consequences."""
    for cause in _CAUSES:
        result = cause(inputs)
        if result is not None:
            return result
    job = inputs.job
    if inputs.replayed is not None:
        count = count_of(job.tables, "complete table")
        return pass_rule(1, f"{count} played; not judged here: exit code, time limit and nodes of the job (replay)")
    validated = ", validated by the benchmark itself" if job.validates else ""
    return pass_rule(
        1, f"exit code 0 on {list_nodes(job.nodes_seen)}, {count_of(job.tables, 'complete table')}{validated}"
    )


def metrics(inputs: Inputs) -> RuleResult:
    """Return rule 2: one sentence names all metrics that are wrong; a check that declares none fails."""
    if not inputs.metrics:
        return fail_rule(2, "the check declares no metric, so nothing was measured", "set-up", "the check's metrics")
    wrong = [sentence for metric in inputs.metrics if (sentence := _why_unusable(metric)) is not None]
    wrong += inputs.contradictions
    if wrong:
        return fail_rule(2, "; ".join(wrong), "set-up", _LOOK_AT)
    read = [f"{_label(metric)} at {_sizes(metric)}" for metric in inputs.metrics]
    return pass_rule(2, f"read {listing(read)}")


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
        return RuleResult(4, RULE_NAMES[4], "not-judged", "not judged here: replay")
    if proof.state == "not-proven" and inputs.no_payload is not None:
        return not_judged(4, inputs.no_payload)
    if inputs.accepts_unproven is not None:
        return not_judged(4, f"{proof.sentence}; the system accepts this: {inputs.accepts_unproven}")
    return fail_rule(4, proof.sentence, "not-proven", proof.look_at)


def _judge_unplayed(inputs: Inputs) -> RuleResult | None:
    problem = inputs.job.unplayed
    if problem is None:
        return None
    return fail_rule(1, problem, "set-up", "the recording and its lines in the index beside it")


def _scheduler(inputs: Inputs) -> RuleResult | None:
    error = inputs.job.scheduler_error
    if error is None:
        return None
    sentence = f"the job did not run: {_quote(error)}"
    return fail_rule(1, sentence, "scheduler", "the scheduler's own log of the job, then the state of its nodes")


def _ended_by_scheduler(inputs: Inputs) -> RuleResult | None:
    """Return what the scheduler says about a job that it ended; a time limit has its own sentence below."""
    ended = inputs.job.ended
    if ended is None or ended.kind == "time":
        return None
    fault, look = _ENDED[ended.kind]
    return fail_rule(1, f"{ended.sentence}{_first_failure(inputs.job)}", fault, look)


def _not_meant(inputs: Inputs) -> RuleResult | None:
    other = inputs.job.not_meant
    if other is None:
        return None
    look = (
        "the launcher first on PATH (srun: --mpi), LD_LIBRARY_PATH and RPATH of the executable, modules, profiles and "
        "wrappers that set variables: the run measured another MPI, or another path, than the stack's name says"
    )
    return fail_rule(1, other, "set-up", inputs.job.look_at_way or look)


def _judge_refusal(inputs: Inputs) -> RuleResult | None:
    refused = inputs.job.refused
    if not refused:
        return None
    sentence = some([rail.sentence for rail in refused])
    blind = [rail.node for rail in refused if rail.rail is None]
    if blind:
        look = f"the mounts of {list_nodes(blind)}, and of its containers: what is at /sys there (mount, ls /sys/class)"
        return fail_rule(1, sentence, "node", look)
    where = places([f"{rail.rail} of {rail.node}" for rail in refused])
    return fail_rule(1, sentence, "fabric", f"cable, port and driver of {where}")


def _rails_unlike(inputs: Inputs) -> RuleResult | None:
    if inputs.job.rails_unlike is None:
        return None
    look = "ip link and ip address on the named nodes, their cables, and the rails of the system's file"
    if inputs.suspects:  # rails that run slower than they should
        where = places([f"{one.rail} of {one.node}" for one in inputs.suspects])
        look = f"cable, port, slot and riser of {where}: link state (ibstat, lspci -vv), and that of its switch port"
        return fail_rule(1, inputs.job.rails_unlike, "fabric", look)
    return fail_rule(1, inputs.job.rails_unlike, "set-up", look)


def _timed_out(inputs: Inputs) -> RuleResult | None:
    job = inputs.job
    if not job.timed_out:
        return None
    bound = "its time limit" if job.time_limit_s is None else f"its time limit of {job.time_limit_s:g} s"
    got = f"{count_of(job.tables, 'table')} of {job.tables_expected} begun"
    said = "" if job.ended is None else f"; {job.ended.sentence}"
    where = f"{bound} (bound from the check or the system's file)"
    sentence = f"the job was ended at {where}, {got}{_first_failure(job)}{said}{_lost_links(inputs)}"
    if job.stuck:
        stuck = list_nodes(job.stuck)
        does = "".join(f", it {words}" for words in job.stuck_in[:1])
        more = "".join(f", another {words}" for words in job.stuck_in[1:3])
        sentence = f"the process on {stuck} did not react{does}{more}: {sentence}"
        look = f"the processes on {stuck}: stopped (T) or waiting for a device or a file system (D); ps, dmesg"
        return fail_rule(1, sentence, "node", look)
    between = f" between {list_nodes(inputs.nodes)}" if inputs.nodes else ""
    look = f"whether {listing(inputs.rails)} passes traffic{between} (ping, carrier, counters)"
    if inputs.path.lost is not None:
        look = inputs.path.look_at
    return fail_rule(1, sentence, "fabric" if inputs.path.suspects or inputs.path.lost else "set-up", look)


def _exit_code(inputs: Inputs) -> RuleResult | None:
    code = inputs.job.exit_code
    if code == 0:
        return None
    if code is None:
        sentence = f"the job ended without an exit code, expected 0{_first_failure(inputs.job)}"
        return fail_rule(1, sentence, "scheduler", "the scheduler's own log of the job")
    killed = f" (ended by signal {code - 128})" if 128 < code < 160 else ""
    sentence = f"the job exited {code}{killed}, expected 0{_first_failure(inputs.job)}{_lost_links(inputs)}"
    if inputs.job.never_began:
        return fail_rule(1, sentence, "scheduler", "the launcher of the system's file, and its version")
    if inputs.path.lost is not None:
        return fail_rule(1, sentence, "fabric", inputs.path.look_at)
    # 137 is SIGKILL: on a cluster it is mostly the kernel's out-of-memory killer.
    fault: FaultClass = "node" if code == 137 else "set-up"
    look = "the end of the job's output and error output"
    return fail_rule(1, sentence, fault, look, brief=_brief_failure(inputs.job))


def _nodes(inputs: Inputs) -> RuleResult | None:
    job = inputs.job
    if not job.nodes_expected and inputs.replayed is None:
        sentence = "neither the scheduler nor the job says which nodes it had"
        return fail_rule(1, sentence, "scheduler", "the scheduler's own record of the job")
    expected, seen = set(job.nodes_expected), set(job.nodes_seen)
    missing = [node for node in job.nodes_expected if node not in seen]
    extra = [node for node in job.nodes_seen if node not in expected]
    if not missing and not extra:
        return None
    found = list_nodes(job.nodes_seen) or "no node"
    sentence = f"the job ran on {found}, expected {list_nodes(job.nodes_expected)}"
    if len(expected) > MOST_IN_WORDS:
        sentence += f": {list_nodes(missing)} missing" if missing else ""
        sentence += f": {list_nodes(extra)} not expected" if extra else ""
    return fail_rule(1, sentence, "scheduler", "how the launcher was given hosts and ranks per node")


_PRINTS_MUCH = "what prints so much: the beginning and the end of the kept output"


def _cut(inputs: Inputs) -> RuleResult | None:
    if inputs.job.cut is None:
        return None
    return fail_rule(1, f"{inputs.job.cut}{_first_failure(inputs.job)}", "set-up", _PRINTS_MUCH)


def _too_long(inputs: Inputs) -> RuleResult | None:
    if inputs.job.too_long is None:
        return None
    return fail_rule(1, f"{inputs.job.too_long}{_first_failure(inputs.job)}", "set-up", _PRINTS_MUCH)


def _failures(inputs: Inputs) -> RuleResult | None:
    failures = inputs.job.failures
    if not failures:
        return None
    sentence = f"the output itself reports {count_of(len(failures), 'failure')}{_first_failure(inputs.job)}"
    return fail_rule(1, sentence, "set-up", "the quoted line in the job's output", brief=_brief_failure(inputs.job))


def _readable(inputs: Inputs) -> RuleResult | None:
    job = inputs.job
    if job.unread is not None:
        sentence = f"the output is not the benchmark's: {_quote(job.unread)}"
        return fail_rule(1, sentence, "set-up", "the job's output and error output")
    if job.tables < job.tables_expected:
        sentence = f"the output has {count_of(job.tables, 'table')}, expected {job.tables_expected}"
        return fail_rule(1, sentence, "set-up", "where the job's output ends")
    if job.incomplete:
        sentence = f"the output is cut: {listing(job.incomplete)} lacks rows"
        return fail_rule(1, sentence, "set-up", _CUT)
    if job.unended:
        sentence = f'the output is cut: "{job.end_line}" is missing after {listing(job.unended)}'
        brief = f'paste up to "{job.end_line}", its last line; or the run was cut'
        return fail_rule(1, sentence, "set-up", _CUT, brief=brief)
    return None


def _unlike_asked(inputs: Inputs) -> RuleResult | None:
    if inputs.job.unlike_asked is None:
        return None
    look = "what the job ran (its script and its files), and whether its output has only that run"
    return fail_rule(1, inputs.job.unlike_asked, "set-up", look)


def _wrong_data(inputs: Inputs) -> RuleResult | None:
    if inputs.job.validation is not False:
        return None
    found = "the benchmark's own validation found wrong data: what arrived is not what was sent"
    if inputs.job.computes:
        found = "the application's own check says that its result is wrong"
    look = "memory and device errors of the nodes, then the stack's version"
    return fail_rule(1, f"{found}{_first_failure(inputs.job)}", "node", look)


def _judge_validation(inputs: Inputs) -> RuleResult | None:
    job = inputs.job
    if job.validates and job.validation is None:
        sentence = "the benchmark was asked to validate its data but printed no validation"
        return fail_rule(1, sentence, "set-up", "the benchmark's version and its validation option")
    return None


def _judge_placement(inputs: Inputs) -> RuleResult | None:
    if inputs.job.unplaced is None:
        return None
    look = (
        "which processors the job has (Slurm's --exclusive, cpusets), taskset on the nodes, and the slots of the rails"
    )
    return fail_rule(1, inputs.job.unplaced, "set-up", look)


#: What ended a job -> the class of the fault and what to look at next.
_ENDED: Mapping[str, tuple[FaultClass, str]] = {
    "memory": ("set-up", "how much memory the job got, and what else used memory on its nodes"),
    "preempted": ("scheduler", "the partition and QOS of the job: jobs there can be preempted"),
    "requeued": ("scheduler", "the scheduler's log: who requeued the job, and why; then run the test again"),
    "suspended": ("scheduler", "who suspends jobs of this partition (PreemptMode, gang scheduling); then run it again"),
    "several": ("set-up", "what makes several jobs of it: access and options of the system's file, SBATCH_ARRAY_INX"),
    "node": ("node", "the nodes' own logs, and why the scheduler marks them as down (scontrol show node)"),
    "stuck": (
        "node",
        "ask the cluster's administrator to look on that node for processes that no signal ends (ps -eo stat,pid,args: "
        "D) and for an epilog that hangs (slurmd's log), then to set the node down and resume it (scontrol update)",
    ),
    "cancelled": ("scheduler", "who cancelled the job: the scheduler's log"),
    "pending": ("scheduler", "what the job asks for, and what there is: sinfo, squeue, the system's file (jobs)"),
    "lost": ("scheduler", "whether the scheduler answers (scontrol ping), and how long it remembers jobs (MinJobAge)"),
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
    return "" if inputs.path.lost is None else f"; {inputs.path.lost}"


def _first_failure(job: Job) -> str:
    if not job.failures:
        return ""
    first = job.failures[0]
    of = f" of the {first.of}" if first.of else ""
    where = f"line {first.line}{of}: " if first.line else ""
    means = f" ({first.means})" if first.means else ""
    return f", {where}{_quote(first.text)}{means}"


def _brief_failure(job: Job) -> str:
    """Return what the first line about a failure means, else the line itself; empty without such a line."""
    first = next(iter(job.failures), None)
    return "" if first is None else first.means or f"the output says {_quote(first.text)}"


def _quote(text: str) -> str:
    line = one_line(text)
    return f'"{line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 3] + "..."}"'


def _label(metric: MetricInput) -> str:
    return f"{metric.declared.name} in {metric.declared.unit}"


def _sizes(metric: MetricInput) -> str:
    count = len(points(metric))
    return "1 size" if count == 1 else f"{count} sizes"
