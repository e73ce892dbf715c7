"""What is found out after a run was assessed: rails measured alone, whether it starved, and other remarks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from railyard.base.bounds import STARVED_SHARE
from railyard.base.wording import earlier_attempts, places
from railyard.benchmarks.model import LATENCY
from railyard.results.record.form import AttemptRecord, Suspect
from railyard.site.systems.measure import PROBE_DELAY_BYTES
from railyard.verdict import verdict
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.path import traffic
from railyard.verdict.path.traffic import SHORT
from railyard.verdict.verdict import Verdict
from railyard.verdict.wording import blame as words
from railyard.verdict.wording.path import look_at

if TYPE_CHECKING:
    from railyard.provision.testbed.starvation import Reading


def with_suspects(assessment: Assessment, findings: Findings) -> Assessment:
    """Return the assessment with what probes found: who is to blame, and their own sentence before all remarks."""
    path = assessment.path
    if findings.suspects:  # measured alone: that says more than the share that a rail carried
        path = replace(path, suspects=tuple(one for one in path.suspects if one.reason != SHORT))
    inputs = replace(assessment.inputs, suspects=findings.suspects, path=path)
    judged = assessment.verdict
    if findings.suspects and inputs.job.stuck:  # a process that waits for a dead rail does not react either
        inputs = replace(inputs, job=replace(inputs.job, stuck=()))
        judged = judged.judge_again(inputs)
    said = replace(
        judged,
        suspects=verdict.suspects_of(inputs),
        remarks=(findings.sentence, *_without_guesses(judged.remarks, assessment, findings.suspects)),
        # A run that hung counts as a set-up fault only until a rail is found that passes nothing when measured alone.
        fault=findings.fault or ("fabric" if findings.suspects else judged.fault),
        look_at=findings.look_at or _next(findings) or judged.look_at,
    )
    return replace(assessment, inputs=inputs, path=path, verdict=said)


def _without_guesses(remarks: tuple[str, ...], assessment: Assessment, suspects: Sequence[Suspect]) -> tuple[str, ...]:
    """Return the remarks without what a curve over several rails looks like, once one of these is known to be slow.

    The curve is of all rails together, so one slow rail of two looks like an idle one, or like fewer lanes of each.
    """
    if not suspects or len(assessment.case.launch.meant) < 2:
        return remarks
    return tuple(one for one in remarks if one not in assessment.guesses)


def _without_guesses_of(assessment: Assessment, suspects: Sequence[Suspect]) -> Verdict:
    """Return the verdict without such guesses."""
    return replace(assessment.verdict, remarks=_without_guesses(assessment.verdict.remarks, assessment, suspects))


def _next(findings: Findings) -> str | None:
    """Return what to look at if slow rails or switches were found already; None if there is more to measure."""
    found = findings.suspects
    leaves = [one.part for one in found if one.kind == "leaf" and one.part]
    groups = [one.part for one in found if one.kind == "switch" and one.part]
    if found and not findings.fault and len(leaves) + len(groups) == len(found):
        return words.look_at_switches(leaves, groups)
    if not found or findings.fault or not all(one.kind == "rail" and one.node and one.rail for one in found):
        return None
    return _parts_of(found)


def _parts_of(rails: Sequence[Suspect]) -> str:
    return look_at(places([f"{one.rail} of {one.node}" for one in rails]))


def probe_size(assessment: Assessment, small: int, large: int) -> int:
    """Return the message size in bytes at which probes look for who is slow: that of the worst value.

    ``large`` if that size is above ``small`` or not known: there a rail's rate decides, no longer its delay.
    """
    judged = assessment.verdict
    if judged.rule != 5:
        return large
    missed = [
        (curve.percent_of_reference, curve.percent_of_reference_size)
        for curve in judged.curves
        if curve.percent_of_reference is not None and curve.percent_of_reference < 100
    ]
    worst = min(missed, default=(100.0, None), key=lambda one: one[0])[1]
    if (
        worst is None and judged.miss is not None and judged.miss.figure.name == LATENCY
    ):  # a floor of the link's class has no ratio
        worst = min((size for curve in assessment.curves for size in curve.sizes if size), default=None)
    return large if worst is None or worst > small else max(worst, 1)


def with_bad_path(assessment: Assessment, findings: Findings) -> Assessment:
    """Return the assessment with whose rail loses packets or is crossed: it fails the path; else a remark says what was
    found.
    """
    rails = tuple(suspect for suspect in findings.suspects if suspect.kind == "rail")
    if not rails:
        return with_remark(assessment, findings.sentence)
    path = replace(
        assessment.path,
        state="failed",
        sentence=f"{findings.sentence}; {assessment.path.sentence}",
        fault="fabric",
        look_at=findings.look_at or _parts_of(rails),
        suspects=rails,
    )
    # A suspect that was slow by chance is cleared: this explains it.
    inputs = replace(assessment.inputs, path=path, suspects=())
    said = _without_guesses_of(assessment, rails).judge_again(inputs)
    return replace(assessment, inputs=inputs, path=path, verdict=said)


def with_starvation(assessment: Assessment, starved: float | None) -> Assessment:
    """Return the assessment as *disturbed* if values were low, nobody was found slow, and its processes starved.

    ``starved`` is the share of the measurement's time in which the run's own processes waited for a processor, or the
    hypervisor had taken it; None if it is not known.
    """
    assessment = replace(assessment, starved=starved)
    judged = assessment.verdict
    if starved is None or not judged.misses_reference or judged.suspects or not _may_explain(starved, judged):
        return assessment
    return _disturb(assessment, starved)


def _disturb(assessment: Assessment, starved: float) -> Assessment:
    """Return the assessment as *disturbed* by that share of its time in which processes waited for a processor."""
    remark, look = words.say_starved(starved), words.look_at_host()
    said = replace(
        assessment.verdict.with_remarks(remark),
        state="disturbed",
        fault="disturbed",
        look_at=look,
        disturbed_by=assessment.verdict.disturbed_by or remark,
    )
    return replace(assessment, verdict=said)


def _may_explain(starved: float, judged: Verdict) -> bool:
    """Return whether waiting for a processor may explain by how much the worst curve misses its reference.

    A process that waits a share of its time loses up to about that share of its figure, on each of two sides. If it is
    not known how much is missing, as with a floor of the link's class, all of it counts as missing. The few small
    messages of a run take a thousandth of its time, so any wait may have hit all of them.
    """
    known = [(curve.percent_of_reference, curve) for curve in judged.curves if curve.percent_of_reference is not None]
    percent, worst = min(known, key=lambda one: one[0], default=(0.0, None))
    is_small = (
        worst is not None and worst.metric == LATENCY and (worst.percent_of_reference_size or 0) <= PROBE_DELAY_BYTES
    )
    return starved >= STARVED_SHARE.value and (is_small or starved >= (1 - percent / 100) / 2)


def explain_run(
    assessment: Assessment, attempts: tuple[AttemptRecord, ...], nodes: str | None, placement: tuple[str, ...]
) -> Assessment:
    """Return the assessment of a run after its probes, with all remarks.

    ``attempts`` are the earlier ones that were disturbed, ``nodes`` says which were not tested, ``placement`` where
    processes were. Probes come first: a rail that is slow while others are good is slow, however busy the host is.
    """
    found = with_remark(with_starvation(assessment, assessment.starved), nodes)
    return with_attempts(with_placement(found, placement), attempts)


def with_attempts(assessment: Assessment, attempts: tuple[AttemptRecord, ...]) -> Assessment:
    """Return the assessment with the earlier measurements that were disturbed or never began, the oldest first."""
    if not attempts:
        return assessment
    remark = words.measured_again(earlier_attempts([one.rule for one in attempts]))
    return replace(with_remark(assessment, remark), attempts=attempts)


def with_placement(assessment: Assessment, remarks: tuple[str, ...]) -> Assessment:
    """Return the assessment with what may have made its values low, if they failed: it decides nothing."""
    is_low = assessment.verdict.fails and assessment.verdict.rule == 5
    return _add_remarks(assessment, *remarks) if is_low else assessment


def with_pace(assessment: Assessment, readings: "Mapping[str, Sequence[Reading]]", starved: float | None) -> Assessment:
    """Return the assessment of a run whose printed figures and counters say different times: its path is not proven.

    ``readings`` are the counters of its nodes while it measured, and perhaps while its job then measured each rail
    alone. A run whose rails somebody else used too is left as it is. Figures that miss their reference although they
    are better than what the rails carried stay that failure. Where the figures are the best of several trials, the
    others may have been slower: processes waited for a processor (``starved`` is the share of the time).
    """
    path, launch = assessment.path, assessment.case.launch
    if path.state != "proven" or path.disturbance is not None:
        return assessment
    took = [read.elapsed_s for read in assessment.readings.values() if read.elapsed_s is not None]
    of_run = traffic.readings_of_run(readings, assessment.readings, launch.meant)
    why = traffic.why_unlike(assessment.printed, of_run, launch.meant, launch.nodes) or traffic.why_too_long(
        assessment.printed, max(took, default=None)
    )
    if why is None:
        return assessment
    is_best = why.is_too_fast and traffic.is_best_of_trials(assessment.case.benchmark)
    if why.is_too_fast and assessment.verdict.misses_reference:
        return assessment if is_best else _add_remarks(assessment, why.sentence)
    path = replace(
        path,
        state="not-proven",
        sentence=words.path_not_proven(why.sentence, path.sentence),
        fault="not-proven",
        look_at=words.look_at_clock(),
    )
    inputs = replace(assessment.inputs, path=path)
    said = assessment.verdict.judge_again(inputs)
    judged = replace(assessment, inputs=inputs, path=path, verdict=said)
    return _disturb(judged, starved) if is_best and starved is not None and starved >= STARVED_SHARE.value else judged


def with_slow_way(assessment: Assessment, findings: Findings) -> Assessment:
    """Return the assessment of a run with a rail that carries too little the other way: that fails its path."""
    path = replace(
        assessment.path,
        state="failed",
        sentence=f"{findings.sentence}; {assessment.path.sentence}",
        fault="fabric",
        look_at=words.look_at_one_way(),
        suspects=findings.suspects,
    )
    inputs = replace(assessment.inputs, path=path)
    said = _without_guesses_of(assessment, findings.suspects).judge_again(inputs)
    return replace(assessment, inputs=inputs, path=path, verdict=said)


def with_remark(assessment: Assessment, remark: str | None) -> Assessment:
    """Return the assessment with a remark after those that it has; unchanged if there is none."""
    return assessment if remark is None else _add_remarks(assessment, remark)


def _add_remarks(assessment: Assessment, *remarks: str) -> Assessment:
    return replace(assessment, verdict=assessment.verdict.with_remarks(*remarks))
