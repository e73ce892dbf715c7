"""What every check keeps from a run: its output, and its record in the folder of the run.

A disturbed measurement, or one that never began, is made again: which one counts, how a job runs again unchanged.
"""

import copy
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railyard.base.values import utc_time
from railyard.job import node_facts
from railyard.job.case import Case, Evidence, kept_test
from railyard.job.probe_job import WITH_OTHER_HEAP
from railyard.provision.rehearsal import form as rehearsal
from railyard.provision.rehearsal import recorded_run
from railyard.results import run_folder
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import AttemptRecord, Record
from railyard.rfm.checks.prober import Prober
from railyard.rfm.checks.runner import COUNTERS, CheckRequest, RunOutputs
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.site.topology import Leaves, places_of
from railyard.verdict import node_pairs
from railyard.verdict.assess import Assessment, attempt_of, record_of, untested_record
from railyard.verdict.findings import explain_run, with_pace, with_starvation

if TYPE_CHECKING:
    from railyard.provision.testbed.starvation import Reading
    from railyard.rfm.checks.plan import Runner


#: The place in a job's script behind the scheduler's options, which are comments, and before the first command.
_BEFORE_COMMANDS = re.compile(r"^(?=[^#\s])", re.M)
#: Seconds to wait for a quiet moment before a disturbed measurement is made again.
QUIET_WITHIN_S = 5


class SecondRun:
    """Runs a test's job once more in its stage directory, through the scheduler that ran it.

    ``job`` is ReFrame's, not yet submitted. ``mark`` begins every word of the job that must be new in each run: else
    counters of an earlier run would be taken for this one's.
    """

    def __init__(self, job: Any, stage: Path, mark: str) -> None:
        self._unsubmitted, self._stage = copy.copy(job), stage
        self._marked = re.compile(rf"{re.escape(mark)}-[0-9a-f]{{10,}}")
        self._mark = mark

    def run(self, tag: str, never_began: bool = False) -> tuple[Any, str]:
        """Return the job that ran and its new ``tag``. Raises what ReFrame raises for a job that ended.

        ``never_began``: a bug of the launcher ended the start before, so its processes get other memory.
        """
        script = self._stage / str(self._unsubmitted.script_filename)
        text = script.read_text(encoding="utf-8")
        if never_began:
            text = _BEFORE_COMMANDS.sub(f"export {WITH_OTHER_HEAP}\n", text, count=1)
        marked = sorted({*self._marked.findall(text), tag})
        new = {old: f"{self._mark}-{time.time_ns() + n:x}" for n, old in enumerate(marked)}
        script.write_text(self._marked.sub(lambda found: new[found.group()], text), encoding="utf-8")
        for file in (self._stage / COUNTERS).rglob("*.counters"):
            file.unlink()
        job, before = copy.copy(self._unsubmitted), os.getcwd()
        os.chdir(self._stage)
        try:
            job.submit()
            job.wait()
        finally:
            os.chdir(before)
        return job, new[tag]


class Clock:
    """Measures the time of one measurement from now on, how long its processes wait for a processor, and when its rails
    carry what.
    """

    def __init__(self, runner: "Runner") -> None:
        self.started, self._began = datetime.now(timezone.utc), time.monotonic()
        self._watch, self._traffic = runner.watch(), runner.watch_traffic()

    def stop(self) -> tuple[float, float | None]:
        """Return the seconds since then, and the share of them in which processes waited; None if nobody sees it."""
        return time.monotonic() - self._began, None if self._watch is None else self._watch.stop()

    def readings(self) -> "Mapping[str, Sequence[Reading]]":
        """Return what the counters of each node read since then; nothing if they are not on this host."""
        return {} if self._traffic is None else self._traffic.stop()


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement that counts, and the earlier ones that were disturbed or never began."""

    found: Assessment
    evidence: Evidence
    elapsed_s: float
    started: datetime
    attempts: tuple[AttemptRecord, ...]

    def explain(self, prober: Prober, nodes_remark: str | None) -> Assessment:
        """Return its result with all that is known besides: who was found slow, where processes were, which nodes."""
        case, path = self.found.case, self.found.path
        # With several ranks on a node, the first one's core says nothing about how near the others are to the rails.
        rails = case.launch.meant if case.ranks_per_node == 1 else ()
        where = node_facts.remarks(self.evidence.facts, path.clocks_khz, rails)
        return explain_run(prober.explain(self.found), self.attempts, nodes_remark, where)


def measure_undisturbed(
    runner: "Runner", clock: Clock, judge: Callable[[], tuple[Assessment, Evidence]], again: Callable[[bool], None]
) -> Measurement:
    """Return the first measurement that was not disturbed, or the last that the system's file allows.

    One that never began because of a bug of the launcher is started again once, whatever the file allows.
    ``clock`` belongs to the measurement that was made; ``judge`` judges what is there, ``again`` makes another: it is
    given whether the last one never began.
    """
    times, within_s = runner.repeat_limits
    last = time.monotonic() + within_s
    attempts: list[AttemptRecord] = []
    has_restarted = runner.replayed is not None
    while True:
        readings, (elapsed_s, starved) = clock.readings(), clock.stop()
        found, evidence = judge()
        before, found = found, with_pace(found, readings, starved)
        judged = with_starvation(found, starved)
        is_restarted = not has_restarted and judged.inputs.job.never_began
        is_last = len(attempts) >= times or time.monotonic() > last
        # A stall of an untimed repetition is rare, and figures of another run would be so again.
        is_doubtful = judged.verdict.state == "disturbed" or found is not before
        if not is_restarted and (not is_doubtful or is_last):
            return Measurement(replace(found, starved=starved), evidence, elapsed_s, clock.started, tuple(attempts))
        attempts.append(attempt_of(judged, elapsed_s, clock.started))
        has_restarted = has_restarted or is_restarted
        runner.wait_for_quiet(QUIET_WITHIN_S)
        clock = Clock(runner)
        again(is_restarted)


def store(site: Site, record: Record) -> None:
    """Append a record to those of this run; in a rehearsal it says so. Raises RailyardError if it cannot."""
    rehearsed = rehearsal.current()
    record = record if rehearsed is None else record.with_fields(rehearsal=rehearsed.remark)
    append_record(run_folder.run_folder(site.home) / FILE_NAME, record)


def store_untested(site: Site, test: TestId, runner: "Runner", reason: str) -> None:
    """Store that a test did not run, and why."""
    record = untested_record(test, reason, run=run_folder.run_id(), time=utc_time())
    store(site, record.with_fields(environment=runner.environment(None), replayed=runner.replayed))


def store_run(
    runner: "Runner",
    asked: CheckRequest,
    made: Measurement,
    found: Assessment,
    words: tuple[str, ...],
    left: RunOutputs,
) -> None:
    """Store a run with its output, and what ``asked`` told the benchmark; ``words`` are its command.

    ``found`` is the assessment of what was ``made``, with what was found out afterwards.
    """
    case, rows = found.case, left.stage / left.stderr if asked.outputs.on_stderr else None
    output = run_folder.keep_output(case.site.home, str(case.test), left.stage / left.stdout, rows)
    if output is not None and made.evidence.counters:
        told = [*asked.arguments(asked.launches[-1]), *case.launch.settings.words]
        started = utc_time(made.started)
        kept = kept_test(case, made.evidence, told, asked.input_files(), left.nics(), started, found.readings)
        run_folder.keep_beside(case.site.home, output, kept)
    pairs = node_pairs.record_of(found, _leaves(case)) if found.pair_tables else None
    if pairs is not None and pairs.file is not None:
        run_folder.keep_pairs(case.site.home, pairs.file)
    record = record_of(
        found,
        run=run_folder.run_id(),
        time=utc_time(),
        elapsed_s=round(made.elapsed_s, 2),
        environment=runner.environment(made.evidence),
        command=words,
        output=output,
    )
    record = record.with_fields(
        pairs=None if pairs is None else pairs.record,
        rehearsed_output=recorded_run.describe_stage(left.stage),
        **runner.circumstances(made.evidence, case.launch, made.started),
    )
    store(case.site, record)


def _leaves(case: Case) -> Leaves:
    """Return each node's leaf switch, if the system's file or the kept distances of the fabric say it."""
    rails = case.site.system.fabrics[case.fabric].used_rails(case.rails, case.test.policy)
    return places_of(case.site.home, case.site.system, case.fabric, rails).leaf_of
