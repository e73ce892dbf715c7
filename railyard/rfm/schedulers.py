"""Our own ReFrame backends of schedulers, which say how a job ended: Grid Engine, PBS and Flux.

Grid Engine: our own ReFrame backend, which asks for slots and says how a job ended.

ReFrame's own ``sge`` drops the options of a system's file, asks for no parallel environment, and takes a job for
completed if qstat no longer lists it, or for running for ever if Grid Engine could not start it. Sources: qsub(1),
qstat(1), qalter(1), qacct(1) and sge_status(5) of Grid Engine 8.1.9.

The base of our backends of schedulers that ReFrame's own cannot use: each is asked by its commands alone.

Flux by its own commands: the scheduler ``flux-batch`` and the launcher ``flux-run``.

ReFrame's own ``flux`` needs Flux's Python bindings. It always asks for one task with one core, so no test of two nodes
can run, and it drops the options of a system's file. This one writes the options into the script and submits it with
``flux batch``. It ran on flux-core 0.88. Sources: flux-batch(1), flux-run(1), flux-jobs(1), flux-resource(1) and
flux-cancel(1) of that release.

PBS: ReFrame's own backend, which asks about finished jobs too, and asks for nodes as a site's qsub takes it.
"""

import itertools
import os
import pwd
import re
import shlex
import time
from pathlib import Path
from typing import Any

from reframe.core.backends import register_launcher, register_scheduler
from reframe.core.exceptions import JobSchedulerError
from reframe.core.launchers import JobLauncher
from reframe.core.schedulers import Job, JobScheduler
from reframe.core.schedulers.pbs import JOB_STATES, PbsJobScheduler

from railyard.base.hostlist import expand_names
from railyard.job.clients import answer
from railyard.parsers import flux as flux_records
from railyard.parsers import job_end
from railyard.parsers import pbs as pbs_records
from railyard.parsers import sge as sge_records
from railyard.parsers.job_end import JobEnd
from railyard.parsers.pbs import PbsJob
from railyard.parsers.sge import SgeJob
from railyard.rfm.job_ends import (
    EXIT_CODE,
    forget,
    give_up,
    lasts_s,
    note_answer,
    note_cancel,
    note_silence,
    remove_outputs,
    waited_too_long,
)
from railyard.site.systems.jobs import FLUX_BATCH, FLUX_BROKERS_S, FLUX_RUN, SGE_APART_S, is_chunk_word


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


#: Our own ReFrame backend: Grid Engine, with slots in a parallel environment.
IN_SLOTS = "sge-slots"
#: How long Grid Engine must say that a job can never run, or that a node does not answer, until that is believed, in
#: seconds.
BELIEVED_AFTER_S = 30.0
#: How long the account of a job that is gone may take to appear, in seconds: by default sge_qmaster writes accounts
#: every 15 s (flush_time).
ACCOUNTED_WITHIN_S = 60.0
_NUMBER = re.compile(r"^Your job (\d+) ", re.MULTILINE)


class SgeJobOfReframe(PolledJob):
    """A job of ``qsub``.

    ``was_seen`` is what Grid Engine last said of it; None if it has said nothing so far. ``earlier`` tells the file of
    an exit code that another job left in its folder from its own; None if there was none.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.was_seen: SgeJob | None = None
        self.earlier: tuple[int, int] | None = None


@register_scheduler(IN_SLOTS)
class SgeInSlots(CommandScheduler):
    """Grid Engine."""

    def make_job(self, *args: Any, **kwargs: Any) -> SgeJobOfReframe:
        return SgeJobOfReframe(*args, **kwargs)

    def emit_preamble(self, job: Any) -> list[str]:
        """Return the directives. The parallel environment is among the job's options, with its number of slots.

        Many queues start a script by another shell than its first line names (``shell_start_mode posix_compliant``).
        """
        asked = ["-S /bin/bash", f"-N {job.name}", f"-o {job.stdout}", f"-e {job.stderr}"]
        asked.append(f"-wd {os.path.abspath(job.workdir)}")
        if job.time_limit is not None:
            asked.append(f"-l h_rt={int(job.time_limit) + SGE_APART_S}")
        return [f"#$ {option}" for option in (*asked, *job.sched_access, *job.options, *job.cli_options)]

    def submit(self, job: Any) -> None:
        """Submit the job. Raises JobSchedulerError with qsub's own sentence.

        Grid Engine appends to outputs that are there, as those of an earlier measurement.
        """
        remove_outputs(job)
        job.earlier = _exit_code_file(job)
        out, complaint = answer(["qsub", job.script_filename])
        found = _NUMBER.search(out)
        if found is None:
            raise JobSchedulerError(f"qsub said: {complaint or 'nothing'}")
        job._jobid, job._submit_time = found[1], time.time()

    def cancel(self, job: Any) -> None:
        note_cancel(job)
        answer(["qdel", job.jobid])

    def _poll(self, job: Any) -> None:
        """Update a job from qstat, and once it is gone from qacct."""
        out, complaint = answer(["qstat", "-xml", "-g", "t", "-u", _owner()])
        if not out.rstrip().endswith("</job_info>"):  # nothing, or a cut answer, in which a living job may be missing
            lost = note_silence(job, complaint)
            if lost is not None:
                self._give_up(job, lost)
            return
        note_answer(job)
        found = sge_records.parse_job(out, job.jobid)
        if found is None:
            self._finish(job)
            return
        forget(job, "gone")
        job.was_seen = found
        job._state = "PENDING" if found.phase == "waits" else "RUNNING"
        if found.nodes:
            job._nodelist = list(found.nodes)
        unfit = sge_records.find_unfit_run(found)
        if unfit is not None:
            self._end(job, unfit)
        elif found.phase == "waits":
            self._end_unless_it_begins(job, found)
        else:
            self._end_without_node(job, found)

    def _finish(self, job: Any) -> None:
        """End a job that is gone: by its account, or if its script wrote its own exit code, at once.

        Where an account has millions of lines, qacct takes minutes.
        """
        seen: SgeJob | None = job.was_seen
        is_deleted = seen is not None and seen.is_deleted
        if _has_exit_code(job) and not is_deleted:
            self._give_up(job, None)
            return
        nodes, is_late = seen.nodes if seen is not None else (), lasts_s(job, "gone") >= ACCOUNTED_WITHIN_S
        account = sge_records.parse_account(
            answer(["qacct", "-j", job.jobid])[0], job.jobid, _owner(), job.submit_time, nodes[0] if nodes else None
        )
        # A record without a time may be of an earlier job of this number, whose own comes later.
        if account is not None and (is_late or account.submitted_s is not None):
            job._exitcode = account.exit_code
            self._give_up(job, sge_records.find_end(account, nodes, is_deleted))
        elif is_late:
            # A job that began has an output.
            has_begun = Path(job.workdir, job.stdout).exists()
            self._give_up(job, sge_records.deleted_end(job.jobid, nodes) if is_deleted or not has_begun else None)

    def _end_unless_it_begins(self, job: Any, found: SgeJob) -> None:
        """Delete a job that could not be started, can never run, or has waited longer than it may."""
        if found.has_error and _has_exit_code(job):
            # A script that ends with exit code 100 is not to be started again, and waits.
            self._end(job, None)
        elif found.has_error:
            said = answer(["qstat", "-j", job.jobid])[0]
            self._end(job, job_end.blocked_end(job.jobid, sge_records.find_error(said) or f"state {found.state}"))
        elif waited_too_long(job):
            why = sge_records.find_reasons(answer(["qstat", "-j", job.jobid])[0])
            self._end(job, job_end.still_pending(job.jobid, job.max_pending_time, why or f"state {found.state}"))
        elif lasts_s(job, "waits") >= BELIEVED_AFTER_S:
            never = sge_records.why_never(answer(["qalter", "-w", "v", job.jobid])[0])
            if never is None:
                forget(job, "never")
            elif lasts_s(job, "never") >= BELIEVED_AFTER_S:
                self._end(job, job_end.blocked_end(job.jobid, never))

    def _end_without_node(self, job: Any, found: SgeJob) -> None:
        """Delete a job that has lost a node: Grid Engine lets it go on."""
        places = sge_records.parse_places(answer(["qstat", "-f", "-xml", "-q", _any_queue_on(found.nodes)])[0])
        silent = tuple(dict.fromkeys(place.node for place in places if place.is_silent and place.node in found.nodes))
        if not silent:
            forget(job, "silent node")
        elif lasts_s(job, "silent node") >= BELIEVED_AFTER_S:
            self._end(job, sge_records.node_end(found, silent))

    def _end(self, job: Any, why: JobEnd | None) -> None:
        self.cancel(job)
        self._give_up(job, why)


def _owner() -> str:
    """Return the name of the user whose jobs these are."""
    return pwd.getpwuid(os.geteuid()).pw_name


def _has_exit_code(job: Any) -> bool:
    """Return whether a job's script came to its end and wrote its exit code."""
    return _exit_code_file(job) not in (None, job.earlier)


def _exit_code_file(job: Any) -> tuple[int, int] | None:
    """Return what tells the file of an exit code from one that replaces it: its number and when it was written."""
    try:
        found = Path(job.workdir, EXIT_CODE).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _any_queue_on(nodes: tuple[str, ...]) -> str:
    """Return the words that name every queue on these nodes."""
    return ",".join(f"*@{node}" for node in nodes) or "*"


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


#: Our own ReFrame backend: PBS, with a site's own number of processors in each chunk.
IN_CHUNKS = "pbs-chunks"
#: The same for a site whose qsub takes no chunks (``jobs: {totals: true}``).
IN_TOTALS = "pbs-totals"
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
