"""Flux by its own commands: importing this module registers the scheduler ``flux-batch`` and the launcher ``flux-run``.

ReFrame's own ``flux`` needs Flux's Python bindings. It always asks for one task with one core, so no test of two nodes
can run, and it drops the options of a system's file. This one writes the options into the script and submits it with
``flux batch``. It has never run on Flux. Sources: flux-batch(1), flux-run(1), flux-jobs(1) and flux-cancel(1) of
flux-core 0.71.
"""

import itertools
import os
import shlex
import time
from typing import Any

from reframe.core.backends import register_launcher, register_scheduler
from reframe.core.exceptions import JobError, JobSchedulerError
from reframe.core.launchers import JobLauncher
from reframe.core.schedulers import Job, JobScheduler

from railyard.base.hostlist import expand_names
from railyard.job.launch import FLUX_RUN
from railyard.job.slurm import answer
from railyard.job.testbed_words import TIMEOUT_EXIT
from railyard.site.systems.jobs import FLUX_BATCH

#: The status that flux-jobs shows of a job that has ended.
_FINAL = ("COMPLETED", "FAILED", "CANCELED", "TIMEOUT")
#: The return code of a job that was cancelled before it began.
_NEVER_BEGAN = -128


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
