"""A scheduler that ReFrame lacks: importing this module registers ``slurm-nodb``, Slurm without an accounting database.

ReFrame's ``squeue`` takes a job that squeue no longer lists for completed and knows no exit code; its ``slurm`` needs
sacct. This one asks slurmctld itself (``scontrol show job``, which answers for MinJobAge seconds after the end), so
that the exit code, the state and the reason are known. It never waits for ever, and a job that was preempted or
requeued has ended for it: two runs of one job must not be judged as one. So has one that was suspended (its pause would
be taken for a slow network), and one that is an array. What ended a job is kept for the verdict.
"""

import re
import time
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.schedulers.slurm import SlurmJobScheduler, slurm_state_completed, slurm_state_pending

from railyard.job import slurm
from railyard.parsers.slurm import jobs as slurm_jobs
from railyard.parsers.slurm.jobs import Ended, JobState
from railyard.site.systems.jobs import SLURM_WITHOUT_DATABASE

NAME = SLURM_WITHOUT_DATABASE
#: How long the scheduler may say nothing of a job before it is taken for lost, in seconds: a restart of slurmctld takes
#: less, and a site's fail-over (SlurmctldTimeout, 120 s by default) is over by then.
LOST_AFTER_S = 180.0
#: How long a job that is over may keep a node (state COMPLETING), in seconds. Slurm itself gives up what is left of it
#: after KillWait and UnkillableStepTimeout, 90 s by default, and drains the node; epilogs that check a node's health
#: take minutes.
COMPLETING_MOST_S = 600.0
#: Reasons why a job waits that only an administrator or another request can lift (squeue(1), "Job Reason Codes"; the
#: names are those of Slurm 22.05): limits of one job or of one of its nodes, hours that are used up, and jobs that are
#: held. What running jobs reserve of those hours (RunMinutes) is given back as they end.
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
        record = slurm_jobs.parse_job(text)
        now = time.monotonic()
        if record is None:
            since = getattr(job, "railyard_silent_since", None) or now
            job.railyard_silent_since = since
            if now - since >= LOST_AFTER_S:
                self._give_up(job, slurm_jobs.lost(job.jobid, LOST_AFTER_S, complaint))
            return
        job.railyard_silent_since = None
        job.railyard_record = record
        job._nodespec = record.nodes or ""
        if record.restarts or record.several or record.suspended:
            self._cancel(job)
            self._give_up(job, slurm_jobs.ended(record))
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
        """End here the wait for a job that is over and that a node does not give up: no signal would end it."""
        since = getattr(job, "railyard_completing_since", None) or now
        job.railyard_completing_since = since
        if now - since >= COMPLETING_MOST_S:
            self._give_up(job, slurm_jobs.stuck(record, COMPLETING_MOST_S, slurm.show_nodes(record.nodes)))

    def _cancel_unless_it_begins(self, job: Any, record: JobState) -> None:
        """Cancel a job that cannot begin, or has been waiting longer than it may."""
        if not slurm_state_pending(record.state):
            return
        waited = time.time() - (job.submit_time or time.time())
        reason = (record.reason or "").partition(",")[0]
        if _BLOCKED.fullmatch(reason) or reason in self._cancel_reasons:
            self._cancel(job)
            self._give_up(job, slurm_jobs.blocked(record))
        elif job.max_pending_time and waited >= job.max_pending_time:
            self._cancel(job)
            self._give_up(job, slurm_jobs.still_pending(record, job.max_pending_time))

    def _cancel(self, job: Any) -> None:
        slurm.answer(["scancel", str(job.jobid)])
        job._is_cancelling = True

    def _give_up(self, job: Any, why: Ended | None) -> None:
        """End the job here, so that the test goes on to its verdict, which says why."""
        job.railyard_ended = why
        # Without it ReFrame would ask scontrol for the host names of None.
        job._nodespec = job._nodespec or ""
        job._state = "CANCELLED"
        job._completion_time = time.time()


def ended(job: Any, printed: str = "") -> Ended | None:
    """Return why a job of any Slurm scheduler did not run to its end; None where it did, or nothing is known.

    ``printed`` is the job's error output, where slurmstepd says what the record of a job need not have.
    """
    known: Ended | None = getattr(job, "railyard_ended", None)
    if known is not None:
        return known
    record = getattr(job, "railyard_record", None)
    if record is None:
        record = slurm_jobs.parse_job(slurm.show_job(job.jobid)[0]) or slurm.accounted(job.jobid)
    if record is None:
        return None
    nodes = slurm.show_nodes(record.nodes) if record.state == "NODE_FAIL" else ()
    return slurm_jobs.ended(record, nodes) or slurm_jobs.killed_for_memory(record, printed)
