"""PBS: ReFrame's own backend, which asks about finished jobs too, and asks for nodes as a site's qsub takes it."""

import os
import re
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.schedulers.pbs import JOB_STATES, PbsJobScheduler

from railyard.job.slurm import answer
from railyard.parsers import job_end
from railyard.parsers import pbs as pbs_records
from railyard.parsers.job_end import JobEnd
from railyard.parsers.pbs import PbsJob
from railyard.rfm.job_ends import (
    forget,
    give_up,
    lasts_s,
    note_answer,
    note_cancel,
    note_silence,
    remove_outputs,
    waited_too_long,
)
from railyard.site.systems.jobs import is_chunk_word

#: Our own ReFrame backend: PBS, with a site's own number of processors in each chunk.
IN_CHUNKS = "pbs-chunks"
#: The same for a site whose qsub takes no chunks (``jobs: {totals: true}``).
IN_TOTALS = "pbs-totals"
#: How long PBS must say that a job can never run, or that a node of a running job is down, until that is believed, in
#: seconds: a server that was started a moment ago says so of nodes that it has not heard of yet.
BELIEVED_AFTER_S = 30.0
#: What qstat says of a job that the server does not know any more. Any other complaint is of the server or the network.
_NOT_KNOWN = re.compile(r"Unknown Job|has finished", re.IGNORECASE)
#: How long the output of a finished job may take to appear, in seconds.
_OUTPUT_WITHIN_S = 60.0


@register_scheduler(IN_CHUNKS)
class PbsInChunks(PbsJobScheduler):
    """ReFrame's ``pbs``, which adds the words of a chunk to its request of nodes.

    It always asks for as many processors as a job has ranks and threads. If the words have a number (``ncpus=48``),
    that takes its place: qsub would refuse two of them.

    It asks with ``qstat -x``, which knows finished jobs if the server keeps a history (job_history_enable); ReFrame's
    own asks so only for the exit code. That is 0 for a job that somebody deleted while it ran: only the job's comment
    says what became of it.
    """

    def submit(self, job: Any) -> None:
        """Submit the job, without the outputs of an earlier one: a job with outputs looks as if it had ended."""
        remove_outputs(job)
        super().submit(job)

    def poll(self, *jobs: Any) -> None:
        """Update each job from qstat."""
        for job in jobs:
            if job is not None and not self.finished(job):
                self._poll(job)

    def cancel(self, job: Any) -> None:
        """Delete a job; one that has ended is no error."""
        note_cancel(job)
        answer(["qdel", job.jobid])
        job._cancelled = True

    def _poll(self, job: Any) -> None:
        out, complaint = answer(["qstat", "-x", "-f", job.jobid])
        found = pbs_records.parse_job(out)
        if found is None:
            self._judge_silence(job, complaint)
            return
        note_answer(job)
        job._state = JOB_STATES.get(found.state, "RUNNING")
        if found.nodes:
            job._nodelist = list(found.nodes)
        unfit = pbs_records.find_unfit_run(found)
        if unfit is not None:
            self.cancel(job)
            self._give_up(job, unfit)
        elif found.phase == "ended":
            self._finish(job, found)
        elif found.phase == "waits":
            self._end_unless_it_begins(job, found)
        else:
            self._end_without_node(job, found)

    def _judge_silence(self, job: Any, complaint: str) -> None:
        """Count a job as ended that PBS does not know any more, as without a history of jobs, if its output is there.

        Then its script has written its exit code.
        """
        if _has_output(job) and _NOT_KNOWN.search(complaint):
            job._state, job._completed = "COMPLETED", True
            return
        lost = note_silence(job, complaint)
        if lost is not None:
            self._give_up(job, lost)

    def _finish(self, job: Any, found: PbsJob) -> None:
        ended = pbs_records.find_end(found)
        is_late = lasts_s(job, "over") >= _OUTPUT_WITHIN_S
        if _has_output(job) or is_late or (ended is not None and not found.nodes):
            job._exitcode = found.exit_code
            self._give_up(job, ended)

    def _end_unless_it_begins(self, job: Any, found: PbsJob) -> None:
        if found.can_never_run and lasts_s(job, "never") >= BELIEVED_AFTER_S:
            self.cancel(job)
            self._give_up(job, job_end.blocked_end(found.job, found.comment))
        elif waited_too_long(job):
            self.cancel(job)
            self._give_up(job, job_end.still_pending(found.job, job.max_pending_time, found.comment))

    def _end_without_node(self, job: Any, found: PbsJob) -> None:
        """End a job that lost a node: PBS lets it go on, or runs it again after minutes (node_fail_requeue)."""
        nodes = pbs_records.parse_nodes(answer(["pbsnodes", *found.nodes])[0]) if found.nodes else ()
        down = [node for node in nodes if node.is_down]
        if not down:
            forget(job, "down")
        elif lasts_s(job, "down") >= BELIEVED_AFTER_S:
            self.cancel(job)
            self._give_up(job, pbs_records.node_end(found, down))

    def _give_up(self, job: Any, why: JobEnd | None) -> None:
        give_up(job, why, "COMPLETED")
        job._completed = True

    def _emit_lselect_option(self, job: Any) -> list[str]:
        options = (*job.sched_access, *job.options, *job.cli_options)
        own = {part.partition("=")[0] for word in options if is_chunk_word(word) for part in word.split(":")}
        if "ncpus" in own:
            self.TASKS_OPT = PbsJobScheduler.TASKS_OPT.replace(":ncpus={num_cpus_per_node}", "")
        try:
            return list(super()._emit_lselect_option(job))
        finally:
            self.TASKS_OPT = PbsJobScheduler.TASKS_OPT


@register_scheduler(IN_TOTALS)
class PbsInTotals(PbsInChunks):
    """The same without any request of nodes of ReFrame's own: the job's options have its totals (``-l ncpus=96``)."""

    def _emit_lselect_option(self, job: Any) -> list[str]:
        options = (*job.sched_access, *job.options, *job.cli_options)
        return [option if option.startswith("#") else self._format_option(option) for option in options]


def _has_output(job: Any) -> bool:
    """Return whether both outputs of a job are in its folder: PBS writes them back after its end."""
    return all(os.path.exists(os.path.join(job.workdir, name)) for name in (job.stdout, job.stderr))
