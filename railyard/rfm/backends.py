"""Schedulers and launchers that ReFrame lacks, and an extra job through them: importing this module registers them.

ReFrame's ``squeue`` takes a job for completed if squeue no longer lists it, and knows no exit code; its ``slurm`` needs
sacct. This one asks slurmctld itself (``scontrol show job``, which answers for MinJobAge seconds after the end), so
it knows the exit code, the state and the reason. It never waits for ever. For it, these jobs have ended: one that was
preempted or requeued (two runs of one job must not be judged as one), one that was suspended (its pause would look like
a slow network), and a job array. It keeps what ended a job for the verdict.

``namespaces`` starts a stack's own mpirun on the first node of the virtual cluster, ``guests`` on the first guest. The
machine makes one measurement at a time. ``timeout`` ends it, so that a run that hangs still gets its verdict.
``replay`` plays a recording instead of the benchmark. The benchmark's own command line follows it in the job's script,
so that a reader sees it.

`rfm.schedulers` has the backends of Flux, PBS and Grid Engine; `rfm.settings` imports both.

With an extra job a failed test asks nodes for more.
"""

import contextlib
import os
import re
import shlex
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reframe.core.backends import register_launcher, register_scheduler
from reframe.core.environments import Environment
from reframe.core.exceptions import JobError, ReframeError, SpawnedProcessError
from reframe.core.launchers import JobLauncher
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job
from reframe.core.schedulers.slurm import SlurmJobScheduler, slurm_state_completed

from railyard.base.errors import RailyardError
from railyard.job import clients
from railyard.parsers import flux as flux_records
from railyard.parsers import job_end
from railyard.parsers import slurm as slurm_records
from railyard.parsers.job_end import JobEnd
from railyard.parsers.slurm import JobState
from railyard.provision.testbed.lock import measurement_lock
from railyard.rfm.job_ends import give_up, known_end, lasts_s, note_answer, note_cancel, note_silence, waited_too_long
from railyard.site.systems.jobs import (
    LAUNCHER_BLANKS,
    SITE_LAUNCHER,
    SLURM_WITHOUT_DATABASE,
    is_chunk_word,
)

if TYPE_CHECKING:
    from railyard.job.probe_job import NodeRequest


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


#: How long a job that is over may keep a node (state COMPLETING), in seconds. After KillWait and UnkillableStepTimeout,
#: 90 s by default, Slurm itself gives up what is left of the job and drains the node. Epilogs that check the health of
#: a node take minutes.
COMPLETING_MOST_S = 600.0


#: Reasons why a job waits that only an administrator or another request can remove (squeue(1), "Job Reason Codes"; the
#: names are from Slurm 22.05 to 26.05): limits of one job or of one of its nodes, hours that are used up, and jobs that
#: are held. RunMinutes is not among them: running jobs give back the hours that they reserved when they end.
#: In place of some names scontrol prints a sentence, with low lines for its blanks: Reservation_NAME_was_deleted
#: (state_desc in reservation.c, partition_mgr.c, node_scheduler.c and job_mgr.c of slurmctld).
_BLOCKED = re.compile(
    r"(?:Assoc|QOS)Max\w+Per(?:Job|Node)(?:Limit)?|QOSMin\w+|(?:Assoc|QOS)Grp\w+(?<!Run)Minutes(?:Limit)?|"
    r"AccountNotAllowed|BadConstraints|DependencyNeverSatisfied|InvalidAccount|InvalidQOS|JobHeldAdmin|JobHeldUser|"
    r"JobHoldMaxRequeue|PartitionDown|PartitionInactive|PartitionNodeLimit|PartitionTimeLimit|QOSNotAllowed|"
    r"QOSUsageThreshold|ReservationDeleted|ReservationInvalid|"
    r"Reservation_\S+_(?:was_deleted|is_invalid)|Job's_(?:account|QOS)_not_(?:known|permitted)\S*|"
    r"uid_\d+_not_in_group_permitted_to_use_this_partition\S*|"
    r"\w+_requeued_held"
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
        text, complaint = clients.show_job(job.jobid)
        record = slurm_records.parse_job(text)
        if record is None:
            lost = note_silence(job, complaint)
            if lost is not None:
                self._give_up(job, lost)
            return
        note_answer(job)
        job.railyard_record = record
        job._nodespec = record.nodes or ""
        if record.restarts or record.several or record.suspended:
            self._cancel(job)
            self._give_up(job, slurm_records.find_end(record))
        elif record.is_final:
            self._finish(job, record)
        elif record.is_completing:
            job._state = record.state
            self._give_up_if_stuck(job, record)
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

    def _give_up_if_stuck(self, job: Any, record: JobState) -> None:
        """Stop waiting for a job that is over but that a node does not give up: no signal would end it."""
        if lasts_s(job, "completing") >= COMPLETING_MOST_S:
            self._give_up(job, slurm_records.stuck_end(record, COMPLETING_MOST_S, clients.show_nodes(record.nodes)))

    def _cancel_unless_it_begins(self, job: Any, record: JobState) -> None:
        """Cancel a job that cannot begin, or that has waited longer than it may."""
        if not (record.is_waiting or record.state == "CONFIGURING"):  # ReFrame counts states of jobs that ran, too
            return
        reason = (record.reason or "").partition(",")[0]
        if _BLOCKED.fullmatch(reason) or reason in self._cancel_reasons:
            self._cancel(job)
            self._give_up(job, job_end.blocked_end(record.job, record.reason))
        elif waited_too_long(job):
            self._cancel(job)
            self._give_up(job, job_end.still_pending(record.job, job.max_pending_time, record.reason))

    def cancel_many(self, jobs: Any) -> None:
        """Cancel jobs; a scheduler that does not answer, or a job that has ended, is no error."""
        for job in jobs:
            self._cancel(job)

    def _cancel(self, job: Any) -> None:
        note_cancel(job)
        clients.answer(["scancel", str(job.jobid)])
        job._is_cancelling = True

    def _give_up(self, job: Any, why: JobEnd | None) -> None:
        # Without this, ReFrame would ask scontrol for the host names of None.
        job._nodespec = job._nodespec or ""
        give_up(job, why, "CANCELLED")


def find_end(job: Any, printed: str = "") -> JobEnd | None:
    """Return why a job of any Slurm scheduler did not run to its end; None if it did, or if nothing is known.

    ``printed`` is the job's error output: slurmstepd writes there what a job's record may lack.
    """
    known = known_end(job)
    if known is not None:
        return known
    record = getattr(job, "railyard_record", None)
    if record is None:
        record = slurm_records.parse_job(clients.show_job(job.jobid)[0]) or clients.accounted_state(job.jobid)
    if record is None:
        return None
    nodes = clients.show_nodes(record.nodes) if record.state == "NODE_FAIL" else ()
    found = slurm_records.find_end(record, nodes)
    if found is not None and found.kind != "killed":
        return found
    return slurm_records.killed_for_memory(record, printed) or found


@lru_cache(maxsize=1)
def hold_measurement_lock(home: Path) -> None:
    """Take the machine's measurement lock for the rest of this process, unless `railyard run` above it has the lock.

    Raises SetupError if the lock file cannot be used.
    """
    _held.enter_context(measurement_lock(lambda sentence: getlogger().info(sentence), home))


#: The states of a job that has not begun: those of ReFrame's schedulers (4.10: slurm, pbs, lsf), and Flux's own.
_WAITING = ("CONFIGURING", "QUEUED", "HELD", "WAITING", *slurm_records.WAITING, *flux_records.WAITING)


class ReframeJob:
    """A job with the same access, modules and variables of the environment as a test's own, in its stage directory."""

    def __init__(self, test: Any) -> None:
        self._test, self._stage = test, Path(test.stagedir)
        self._job: Any = None
        self._complaint = ""

    def submit(self, name: str, lines: list[str], asked: "NodeRequest", count: int, limit_s: int) -> None:
        """Submit a job of these lines, once. Raises RailyardError with the scheduler's message if it is refused."""
        test, own = self._test, self._test.job
        job = Job.create(
            own.scheduler, own.launcher, name=name, workdir=str(self._stage), script_filename=f"{name}.sh",
            stdout=f"{name}.out", stderr=f"{name}.err", sched_access=self._access(asked),
            sched_options=own.cli_options,
        )  # fmt: skip
        if asked.tasks:
            job.num_tasks, job.num_tasks_per_node = count, 1
        else:
            job.num_tasks = None
        system = test.site.system
        job.options = [*asked.options, *system.resource_options(count, count)]
        job.time_limit = limit_s
        job.exclusive_access = test.exclusive_access
        partition = test.current_partition
        environs = [partition.local_env, test.current_environ, Environment(name, test.modules)]
        try:
            with _enter_folder(self._stage):
                job.prepare(lines, environs, partition.prepare_cmds)
                job.submit()
        except SpawnedProcessError as error:
            said = next(iter(str(error.stderr or "").strip().splitlines()), str(error))
            raise RailyardError(f"the scheduler refused the job for it: {said}") from None
        except ReframeError as error:
            raise RailyardError(f"the job for it could not be submitted: {error}") from None
        self._job = job

    def _access(self, asked: "NodeRequest") -> list[str]:
        """Return the options of the partition; without words of a chunk if the request of nodes has them already."""
        own = self._test.job.sched_access
        return [option for option in own if asked.tasks or not is_chunk_word(option)]

    def state(self) -> Literal["waits", "runs", "ended"]:
        """Ask the scheduler for the job's state."""
        job = self._job
        try:
            with _enter_folder(self._stage):
                job.scheduler.poll(job)
                if job.finished():
                    return "ended"
        except ReframeError as error:  # raised by its schedulers if they cancelled a job
            self._complaint = str(error)
            return "ended"
        return "waits" if job.state is None or job.state in _WAITING else "runs"

    @property
    def end_words(self) -> str:
        """What the scheduler says about it, as the end of a sentence; it begins with the job's number."""
        why = known_end(self._job)
        if why is not None:
            return why.sentence
        record = getattr(self._job, "railyard_record", None)
        if self._job.state in (None, *_WAITING):
            reason = f" ({record.reason})" if record is not None and record.reason else ""
            return f"job {self._job.jobid} waits{reason}"
        over = find_end(self._job) if record is not None else None
        if over is not None:
            return over.sentence
        return f"job {self._job.jobid} is {self._complaint or str(self._job.state).lower()}"

    def cancel(self) -> None:
        """End it. Do nothing if it has ended or was not submitted."""
        if self._job is not None and self.state() != "ended":
            with contextlib.suppress(ReframeError), _enter_folder(self._stage):
                self._job.cancel()


@contextlib.contextmanager
def _enter_folder(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
