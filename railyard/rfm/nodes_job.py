"""An extra job, submitted through ReFrame's schedulers: with it a failed test asks nodes for more."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from reframe.core.environments import Environment
from reframe.core.exceptions import ReframeError, SpawnedProcessError
from reframe.core.schedulers import Job

from railyard.base.errors import RailyardError
from railyard.job.probe_job import NodesAsked
from railyard.parsers import flux as flux_records
from railyard.parsers import slurm as slurm_records
from railyard.rfm.backends import find_end
from railyard.rfm.job_ends import known_end
from railyard.site.systems.jobs import is_chunk_word

#: The states of a job that has not begun: those of ReFrame's schedulers (4.10: slurm, pbs, lsf), and Flux's own.
_WAITING = ("CONFIGURING", "QUEUED", "HELD", "WAITING", *slurm_records.WAITING, *flux_records.WAITING)


class ReframeJob:
    """A job with the same access, modules and variables of the environment as a test's own, in its stage directory."""

    def __init__(self, test: Any) -> None:
        self._test, self._stage = test, Path(test.stagedir)
        self._job: Any = None
        self._complaint = ""

    def submit(self, name: str, lines: list[str], asked: NodesAsked, count: int, limit_s: int) -> None:
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

    def _access(self, asked: NodesAsked) -> list[str]:
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
            with suppress(ReframeError), _enter_folder(self._stage):
                self._job.cancel()


@contextmanager
def _enter_folder(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
