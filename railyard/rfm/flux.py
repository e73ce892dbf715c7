"""Flux by its own commands: the scheduler ``flux-batch`` and the launcher ``flux-run``.

ReFrame's own ``flux`` needs Flux's Python bindings. It always asks for one task with one core, so no test of two nodes
can run, and it drops the options of a system's file. This one writes the options into the script and submits it with
``flux batch``. It ran on flux-core 0.88. Sources: flux-batch(1), flux-run(1), flux-jobs(1), flux-resource(1) and
flux-cancel(1) of that release.
"""

import os
import shlex
import time
from typing import Any

from reframe.core.backends import register_launcher, register_scheduler
from reframe.core.exceptions import JobSchedulerError
from reframe.core.launchers import JobLauncher

from railyard.base.hostlist import expand_names
from railyard.job.slurm import answer
from railyard.parsers import flux as flux_records
from railyard.parsers import job_end
from railyard.rfm.command_scheduler import CommandScheduler
from railyard.rfm.job_ends import note_answer, note_cancel, note_silence, waited_too_long
from railyard.site.systems.jobs import FLUX_BATCH, FLUX_BROKERS_S, FLUX_RUN

#: Flux's own word for the status of a job that was ended.
_CANCELLED = "CANCELED"


@register_scheduler(FLUX_BATCH)
class FluxBatch(CommandScheduler):
    """Flux."""

    def emit_preamble(self, job: Any) -> list[str]:
        """Return the directives. They ask for whole nodes: Flux gives these if the request has no slots.

        Flux counts the start and the end of the job's own brokers too, so its limit is longer than the test's.

        Flux's shell would write what the job prints. It is not a process of the job, so a limit in the job's script
        would have no effect on it. So the script writes the output itself, and Flux appends its own messages.
        """
        asked = [f"--job-name={job.name}", f"--output={job.stdout}", f"--error={job.stderr}"]
        asked.append(f"--cwd={os.path.abspath(job.workdir)}")
        if job.num_tasks is not None:
            asked.append(f"--nodes={-(-job.num_tasks // (job.num_tasks_per_node or 1))}")
        if job.time_limit is not None:
            asked.append(f"--time-limit={int(job.time_limit) + FLUX_BROKERS_S}s")
        asked.append("--setopt=output.mode=append")
        directives = [f"#flux: {option}" for option in (*asked, *job.sched_access, *job.options, *job.cli_options)]
        own = shlex.quote(job.stdout), shlex.quote(job.stderr)
        return [*directives, *(f": > {name}" for name in own), f"exec >> {own[0]} 2>> {own[1]}"]

    def submit(self, job: Any) -> None:
        """Submit the job. Raises JobSchedulerError with Flux's own sentence."""
        out, complaint = answer(["flux", "batch", job.script_filename])
        if not out.split():
            raise JobSchedulerError(f"flux batch said: {complaint or 'nothing'}")
        job._jobid, job._submit_time = out.split()[0], time.time()

    def cancel(self, job: Any) -> None:
        note_cancel(job)
        answer(["flux", "cancel", job.jobid])

    def _poll(self, job: Any) -> None:
        """Update a job from flux-jobs."""
        out, complaint = answer(["flux", "jobs", "-n", "-o", flux_records.FORMAT, job.jobid])
        found = flux_records.parse_job(out, job.jobid)
        if found is None:
            lost = note_silence(job, complaint)
            if lost is not None:
                self._give_up(job, lost, _CANCELLED)
            return
        note_answer(job)
        job._state = found.status
        if found.nodes:
            job._nodelist = list(expand_names(found.nodes))
        if found.phase == "ended":
            job._exitcode = found.exit_code
            self._give_up(job, flux_records.find_end(found), found.status)
        elif found.phase == "runs":
            self._end_without_node(job, found)
        elif found.phase == "waits" and waited_too_long(job):
            self.cancel(job)
            self._give_up(job, job_end.still_pending(job.jobid, job.max_pending_time, found.context), _CANCELLED)

    def _end_without_node(self, job: Any, found: flux_records.FluxJob) -> None:
        """End a job that lost a node: Flux lets it go on, and what it measures then says nothing."""
        failed = flux_records.failed_nodes(answer(["flux", "job", "eventlog", job.jobid])[0])
        if failed:
            self.cancel(job)
            self._give_up(job, flux_records.node_end(found, failed), _CANCELLED)


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
