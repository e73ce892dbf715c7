"""Grid Engine: our own ReFrame backend, which asks for slots and says how a job ended.

ReFrame's own ``sge`` drops the options of a system's file, asks for no parallel environment, and takes a job for
completed if qstat no longer lists it, or for running for ever if Grid Engine could not start it. Sources: qsub(1),
qstat(1), qalter(1), qacct(1) and sge_status(5) of Grid Engine 8.1.9.
"""

import os
import pwd
import re
import time
from pathlib import Path
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobSchedulerError

from railyard.job.slurm import answer
from railyard.parsers import job_end
from railyard.parsers import sge as sge_records
from railyard.parsers.job_end import JobEnd
from railyard.parsers.sge import SgeJob
from railyard.rfm.command_scheduler import CommandScheduler, PolledJob
from railyard.rfm.job_ends import (
    EXIT_CODE,
    forget,
    lasts_s,
    note_answer,
    note_cancel,
    note_silence,
    remove_outputs,
    waited_too_long,
)
from railyard.site.systems.jobs import SGE_APART_S

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
