"""Schedulers and launchers that ReFrame lacks: importing this module registers them.

ReFrame's ``squeue`` takes a job for completed if squeue no longer lists it, and knows no exit code; its ``slurm`` needs
sacct. This one asks slurmctld itself (``scontrol show job``, which answers for MinJobAge seconds after the end), so
it knows the exit code, the state and the reason. It never waits for ever. For it, these jobs have ended: one that was
preempted or requeued (two runs of one job must not be judged as one), one that was suspended (its pause would look like
a slow network), and a job array. It keeps what ended a job for the verdict.

``namespaces`` starts a stack's own mpirun on the first node of the virtual cluster, ``guests`` on the first guest. The
machine makes one measurement at a time. ``timeout`` ends it, so that a run that hangs still gets its verdict.
``replay`` plays a recording instead of the benchmark. The benchmark's own command line follows it in the job's script,
so that a reader sees it.

The scheduler ``flux-batch`` and the launcher ``flux-run`` use Flux by its own commands.

ReFrame's own ``flux`` needs Flux's Python bindings. It always asks for one task with one core, so no test of two nodes
can run, and it drops the options of a system's file. This one writes the options into the script and submits it with
``flux batch``. It has never run on Flux. Sources: flux-batch(1), flux-run(1), flux-jobs(1) and flux-cancel(1) of
flux-core 0.71.
"""

import contextlib
import itertools
import os
import re
import shlex
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from reframe.core.backends import register_launcher, register_scheduler
from reframe.core.exceptions import JobError, JobSchedulerError
from reframe.core.launchers import JobLauncher
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job, JobScheduler
from reframe.core.schedulers.pbs import PbsJobScheduler
from reframe.core.schedulers.slurm import SlurmJobScheduler, slurm_state_completed, slurm_state_pending

from railyard.base.hostlist import expand_names
from railyard.job import slurm
from railyard.job.launch import FLUX_RUN
from railyard.job.slurm import answer
from railyard.job.testbed_words import TIMEOUT_EXIT
from railyard.parsers import slurm as slurm_records
from railyard.parsers.slurm import JobEnd, JobState
from railyard.provision.testbed.lock import measurement_lock
from railyard.site.systems.jobs import (
    FLUX_BATCH,
    LAUNCHER_BLANKS,
    SITE_LAUNCHER,
    SLURM_WITHOUT_DATABASE,
    is_chunk_word,
)

#: The status that flux-jobs shows of a job that has ended.
_FINAL = ("COMPLETED", "FAILED", "CANCELED", "TIMEOUT")
#: The return code of a job that was cancelled before it began.
_NEVER_BEGAN = -128


@register_launcher("namespaces")
class NamespacesLauncher(JobLauncher):
    """``flock LOCK timeout S ENTER NODE -- mpirun``: the base check sets ``railyard`` to this command line."""

    railyard: list[str] | None = None

    def command(self, job: Job) -> list[str]:
        """Return the words before the launcher's options. A check without the base class runs the host's mpirun."""
        if self.railyard is None:
            return ["mpirun", "-n", str(job.num_tasks)]
        return [shlex.quote(word) for word in self.railyard]


@register_launcher("guests")
class GuestsLauncher(NamespacesLauncher):
    """The same command line with the ``enter`` of the Soft-RoCE guests."""


@register_launcher(SITE_LAUNCHER)
class SiteLauncher(NamespacesLauncher):
    """A site's own command: the base check sets ``railyard`` to its words, with their blanks."""

    def command(self, job: Any) -> list[str]:
        """Return the words before the program's. Raises JobError for a check without the base class, which has none."""
        if not self.railyard:
            raise JobError("launcher site has no words: this test is not derived from InterconnectCheck")
        per_node = job.num_tasks_per_node or 1
        numbers = (job.num_tasks, per_node, -(-job.num_tasks // per_node), job.num_cpus_per_task or 1)
        filled = {f"{{{name}}}": str(number) for name, number in zip(LAUNCHER_BLANKS, numbers, strict=True)}
        return [shlex.quote(re.sub(r"\{\w+\}", lambda found: filled[found[0]], word)) for word in self.railyard]


@register_launcher("replay")
class ReplayLauncher(JobLauncher):
    """``sh -c 'exec cat -- "$0"' RECORDING BENCHMARK …``: the base check sets ``recording``."""

    recording: Path | None = None

    def command(self, job: Job) -> list[str]:
        """Return the words before the benchmark's. A check without the base class has no recording and fails."""
        if self.recording is None:
            sentence = "this test has no recording: it is not derived from InterconnectCheck"
            return ["sh", "-c", shlex.quote(f"echo {sentence!r} >&2; exit 1")]
        return ["sh", "-c", shlex.quote('exec cat -- "$0"'), shlex.quote(str(self.recording))]


_held = contextlib.ExitStack()


NAME = SLURM_WITHOUT_DATABASE


#: How long the scheduler may say nothing about a job before the job counts as lost, in seconds. A restart of slurmctld
#: takes less, and a site's fail-over (SlurmctldTimeout, 120 s by default) is over by then.
LOST_AFTER_S = 180.0


#: How long a job that is over may keep a node (state COMPLETING), in seconds. After KillWait and UnkillableStepTimeout,
#: 90 s by default, Slurm itself gives up what is left of the job and drains the node. Epilogs that check the health of
#: a node take minutes.
COMPLETING_MOST_S = 600.0


#: Reasons why a job waits that only an administrator or another request can remove (squeue(1), "Job Reason Codes"; the
#: names are from Slurm 22.05): limits of one job or of one of its nodes, hours that are used up, and jobs that are
#: held. RunMinutes is not among them: running jobs give back the hours that they reserved when they end.
_BLOCKED = re.compile(
    r"(?:Assoc|QOS)Max\w+Per(?:Job|Node)(?:Limit)?|QOSMin\w+|(?:Assoc|QOS)Grp\w+(?<!Run)Minutes(?:Limit)?|"
    r"AccountNotAllowed|BadConstraints|DependencyNeverSatisfied|InvalidAccount|InvalidQOS|JobHeldAdmin|JobHeldUser|"
    r"JobHoldMaxRequeue|PartitionDown|PartitionInactive|PartitionNodeLimit|PartitionTimeLimit|QOSNotAllowed|"
    r"QOSUsageThreshold|ReservationDeleted|launch_failed_requeued_held"
)


@register_scheduler(NAME)
class SlurmWithoutDatabase(SlurmJobScheduler):
    """Slurm, asked by scontrol alone."""

    def poll(self, *jobs: Any) -> None:
        """Update each job from scontrol's record of it."""
        for job in jobs:
            if job is not None and not self.finished(job):
                self._poll(job)

    def _poll(self, job: Any) -> None:
        text, complaint = slurm.show_job(job.jobid)
        record = slurm_records.parse_job(text)
        now = time.monotonic()
        if record is None:
            since = getattr(job, "railyard_silent_since", None) or now
            job.railyard_silent_since = since
            if now - since >= LOST_AFTER_S:
                self._give_up(job, slurm_records.lost_end(job.jobid, LOST_AFTER_S, complaint))
            return
        job.railyard_silent_since = None
        job.railyard_record = record
        job._nodespec = record.nodes or ""
        if record.restarts or record.several or record.suspended:
            self._cancel(job)
            self._give_up(job, slurm_records.find_end(record))
        elif record.is_final:
            self._finish(job, record)
        elif record.is_completing:
            job._state = record.state
            self._give_up_if_stuck(job, record, now)
        else:
            job._state = record.state
            self._cancel_unless_it_begins(job, record)

    def _finish(self, job: Any, record: JobState) -> None:
        job._exitcode = record.exit_code
        if record.exit_code == 0 and record.signal:
            job._exitcode = 128 + record.signal
        job._completion_time = time.time()
        # ReFrame takes states that it does not count as completed (PREEMPTED) for pending ones.
        job._state = record.state if slurm_state_completed(record.state) else "CANCELLED"

    def _give_up_if_stuck(self, job: Any, record: JobState, now: float) -> None:
        """Stop waiting for a job that is over but that a node does not give up: no signal would end it."""
        since = getattr(job, "railyard_completing_since", None) or now
        job.railyard_completing_since = since
        if now - since >= COMPLETING_MOST_S:
            self._give_up(job, slurm_records.stuck_end(record, COMPLETING_MOST_S, slurm.show_nodes(record.nodes)))

    def _cancel_unless_it_begins(self, job: Any, record: JobState) -> None:
        """Cancel a job that cannot begin, or that has waited longer than it may."""
        if not slurm_state_pending(record.state):
            return
        waited = time.time() - (job.submit_time or time.time())
        reason = (record.reason or "").partition(",")[0]
        if _BLOCKED.fullmatch(reason) or reason in self._cancel_reasons:
            self._cancel(job)
            self._give_up(job, slurm_records.blocked_end(record))
        elif job.max_pending_time and waited >= job.max_pending_time:
            self._cancel(job)
            self._give_up(job, slurm_records.still_pending(record, job.max_pending_time))

    def _cancel(self, job: Any) -> None:
        slurm.answer(["scancel", str(job.jobid)])
        job._is_cancelling = True

    def _give_up(self, job: Any, why: JobEnd | None) -> None:
        """Count the job as ended, so that the test goes on to its verdict, which says why."""
        job.railyard_ended = why
        # Without this, ReFrame would ask scontrol for the host names of None.
        job._nodespec = job._nodespec or ""
        job._state = "CANCELLED"
        job._completion_time = time.time()


def find_end(job: Any, printed: str = "") -> JobEnd | None:
    """Return why a job of any Slurm scheduler did not run to its end; None if it did, or if nothing is known.

    ``printed`` is the job's error output: slurmstepd writes there what a job's record may lack.
    """
    known: JobEnd | None = getattr(job, "railyard_ended", None)
    if known is not None:
        return known
    record = getattr(job, "railyard_record", None)
    if record is None:
        record = slurm_records.parse_job(slurm.show_job(job.jobid)[0]) or slurm.accounted_state(job.jobid)
    if record is None:
        return None
    nodes = slurm.show_nodes(record.nodes) if record.state == "NODE_FAIL" else ()
    return slurm_records.find_end(record, nodes) or slurm_records.killed_for_memory(record, printed)


@lru_cache(maxsize=1)
def hold_measurement_lock(home: Path) -> None:
    """Take the machine's measurement lock for the rest of this process, unless `railyard run` above it has the lock.

    Raises SetupError if the lock file cannot be used.
    """
    _held.enter_context(measurement_lock(lambda sentence: getlogger().info(sentence), home))


#: Our own ReFrame backend: PBS, with a site's own number of processors in each chunk.
IN_CHUNKS = "pbs-chunks"


@register_scheduler(IN_CHUNKS)
class PbsInChunks(PbsJobScheduler):
    """ReFrame's ``pbs``, which adds the words of a chunk to its request of nodes.

    It always asks for as many processors as a job has ranks and threads. If the words have a number (``ncpus=48``),
    that takes its place: qsub would refuse two of them.
    """

    def _emit_lselect_option(self, job: Any) -> list[str]:
        options = (*job.sched_access, *job.options, *job.cli_options)
        own = {part.partition("=")[0] for word in options if is_chunk_word(word) for part in word.split(":")}
        if "ncpus" in own:
            self.TASKS_OPT = PbsJobScheduler.TASKS_OPT.replace(":ncpus={num_cpus_per_node}", "")
        try:
            return list(super()._emit_lselect_option(job))
        finally:
            self.TASKS_OPT = PbsJobScheduler.TASKS_OPT


class FluxJob(Job):
    """A job of ``flux batch``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.completed = False


@register_scheduler(FLUX_BATCH)
class FluxBatch(JobScheduler):
    """Flux, used through its command line only."""

    def make_job(self, *args: Any, **kwargs: Any) -> FluxJob:
        return FluxJob(*args, **kwargs)

    def emit_preamble(self, job: Any) -> list[str]:
        """Return the directives. They ask for whole nodes: Flux gives these if the request has no slots.

        Flux's shell would write what the job prints. It is not a process of the job, so a limit in the job's script
        would have no effect on it. So the script writes the output itself, and Flux appends its own messages.
        """
        asked = [f"--job-name={job.name}", f"--output={job.stdout}", f"--error={job.stderr}"]
        asked.append(f"--cwd={os.path.abspath(job.workdir)}")
        if job.num_tasks is not None:
            asked.append(f"--nodes={-(-job.num_tasks // (job.num_tasks_per_node or 1))}")
        if job.time_limit is not None:
            asked.append(f"--time-limit={int(job.time_limit)}s")
        asked.append("--setopt=output.mode=append")
        directives = [f"#flux: {option}" for option in (*asked, *job.sched_access, *job.options, *job.cli_options)]
        own = shlex.quote(job.stdout), shlex.quote(job.stderr)
        return [*directives, *(f": > {name}" for name in own), f"exec >> {own[0]} 2>> {own[1]}"]

    def allnodes(self) -> Any:
        raise NotImplementedError(f"{FLUX_BATCH} does not list nodes")

    def filternodes(self, job: Any, nodes: Any) -> Any:
        raise NotImplementedError(f"{FLUX_BATCH} does not filter nodes")

    def submit(self, job: Any) -> None:
        """Submit the job. Raises JobSchedulerError with Flux's own sentence."""
        out, complaint = answer(["flux", "batch", job.script_filename])
        if not out.split():
            raise JobSchedulerError(f"flux batch said: {complaint or 'nothing'}")
        job._jobid, job._submit_time = out.split()[0], time.time()

    def wait(self, job: Any) -> None:
        intervals = itertools.cycle([1, 2, 3])
        while not self.finished(job):
            self.poll(job)
            time.sleep(next(intervals))

    def cancel(self, job: Any) -> None:
        answer(["flux", "cancel", job.jobid])

    def finished(self, job: Any) -> bool:
        return bool(job.completed)

    def poll(self, *jobs: Any) -> None:
        """Update each job from flux-jobs. A job that it does not list stays as it was."""
        for job in jobs:
            if job is not None and not job.completed:
                out, _ = answer(["flux", "jobs", "-n", "-o", "{status}|{returncode}|{nodelist}", job.jobid])
                status, _, rest = out.strip().partition("|")
                code, _, nodes = rest.partition("|")
                if status:
                    self._update(job, status, code, nodes)

    def _update(self, job: Any, status: str, code: str, nodes: str) -> None:
        job._state = status
        if nodes:
            job._nodelist = list(expand_names(nodes))
        if status in _FINAL:
            job._exitcode = TIMEOUT_EXIT if status == "TIMEOUT" else _exit_code(code)
            job.completed = True
        elif status == "PENDING" and job.max_pending_time and time.time() - job.submit_time >= job.max_pending_time:
            self.cancel(job)
            job._exception = JobError("maximum pending time exceeded", job.jobid)
            job.completed = True


def _exit_code(code: str) -> int | None:
    """Return the exit code of a job; flux-jobs gives a signal as a negative number. None if the job never began."""
    try:
        number = int(code)
    except ValueError:
        return None
    if number == _NEVER_BEGAN:
        return None
    return 128 - number if number < 0 else number


@register_launcher(FLUX_RUN)
class FluxRun(JobLauncher):
    """``flux run``, which starts the tasks on the nodes of the job."""

    def command(self, job: Any) -> list[str]:
        """Return the words before the launcher's options."""
        nodes = -(-job.num_tasks // (job.num_tasks_per_node or 1))
        words = ["flux", "run", f"--nodes={nodes}", f"--ntasks={job.num_tasks}"]
        if job.num_cpus_per_task:
            words.append(f"--cores-per-task={job.num_cpus_per_task}")
        return [shlex.quote(word) for word in words]
