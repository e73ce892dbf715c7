"""The base of our backends of schedulers that ReFrame's own cannot use: each is asked by its commands alone."""

import itertools
import time
from typing import Any

from reframe.core.schedulers import Job, JobScheduler

from railyard.parsers.job_end import JobEnd
from railyard.rfm.job_ends import give_up


class PolledJob(Job):
    """A job that its backend asks about until it has ended."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.completed = False


class CommandScheduler(JobScheduler):
    """A scheduler that is used through its command line only.

    A backend adds how a job is written (``emit_preamble``), submitted, cancelled, and asked about once (``_poll``).
    """

    def make_job(self, *args: Any, **kwargs: Any) -> PolledJob:
        return PolledJob(*args, **kwargs)

    def allnodes(self) -> Any:
        raise NotImplementedError(f"{self.registered_name} does not list nodes")

    def filternodes(self, job: Any, nodes: Any) -> Any:
        raise NotImplementedError(f"{self.registered_name} does not filter nodes")

    def wait(self, job: Any) -> None:
        intervals = itertools.cycle([1, 2, 3])
        while not self.finished(job):
            self.poll(job)
            time.sleep(next(intervals))

    def finished(self, job: Any) -> bool:
        return bool(job.completed)

    def poll(self, *jobs: Any) -> None:
        """Update each job that has not ended from what the scheduler says."""
        for job in jobs:
            if job is not None and not job.completed:
                self._poll(job)

    def _poll(self, job: Any) -> None:
        raise NotImplementedError(f"{self.registered_name} asks about no job")

    def _give_up(self, job: Any, why: JobEnd | None, state: str = "COMPLETED") -> None:
        """Count a job as ended, in a state that ReFrame takes for an end."""
        give_up(job, why, state)
        job.completed = True
