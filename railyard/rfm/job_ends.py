"""What our schedulers' backends keep of a job: how it ended, and for how long something has been so of it."""

import time
from pathlib import Path
from typing import Any

from railyard.parsers import job_end
from railyard.parsers.job_end import JobEnd

#: The file in which a job's script writes its tag and exit code if its scheduler may not know them.
EXIT_CODE = "exit-code.txt"
#: How long the scheduler may say nothing about a job before the job counts as lost, in seconds. A restart of slurmctld
#: takes less, and a site's fail-over (SlurmctldTimeout, 120 s by default) is over by then.
LOST_AFTER_S = 180.0
#: The same of a job that was cancelled, whose result nobody waits for: an interrupted run must not stay for minutes
#: because the scheduler is gone too.
CANCELLED_LOST_AFTER_S = 15.0
_SILENT, _CANCELLED = "silent", "cancelled"


def known_end(job: Any) -> JobEnd | None:
    """Return why a job did not run to its end, as its backend found it; None if it did, or for a backend of ReFrame."""
    found: JobEnd | None = getattr(job, "railyard_ended", None)
    return found


def give_up(job: Any, why: JobEnd | None, state: str) -> None:
    """Count the job as ended in this state, so that the test goes on to its verdict, which says why."""
    job.railyard_ended = why
    job._state = state
    job._completion_time = time.time()


def remove_outputs(job: Any) -> None:
    """Remove the outputs that an earlier job left in the folder: they would look like those of the next one."""
    for name in (job.stdout, job.stderr):
        Path(job.workdir, name).unlink(missing_ok=True)


def lasts_s(job: Any, what: str) -> float:
    """Return for how many seconds this has been so of a job: 0.0 when it is first noted, or after ``forget``."""
    now = time.monotonic()
    since: float = _notes(job).setdefault(what, now)
    return now - since


def forget(job: Any, what: str) -> None:
    """Note that this is not so of a job any more."""
    _notes(job).pop(what, None)


def _notes(job: Any) -> dict[str, float]:
    """Return what is noted of a job, each with the time since when, in seconds of the monotonic clock."""
    if not hasattr(job, "railyard_since"):
        job.railyard_since = {}
    found: dict[str, float] = job.railyard_since
    return found


def note_answer(job: Any) -> None:
    """Note that the scheduler answered about a job."""
    forget(job, _SILENT)


def note_silence(job: Any, complaint: str) -> JobEnd | None:
    """Note that the scheduler said nothing about a job; return its end if it has been silent for too long.

    ``complaint`` is what its client said instead.
    """
    most_s = CANCELLED_LOST_AFTER_S if _CANCELLED in _notes(job) else LOST_AFTER_S
    return job_end.lost_end(job.jobid, most_s, complaint) if lasts_s(job, _SILENT) >= most_s else None


def note_cancel(job: Any) -> None:
    """Note that a job was cancelled by us or by ReFrame; whether the scheduler took that is not known."""
    lasts_s(job, _CANCELLED)


def waited_too_long(job: Any) -> bool:
    """Return whether a job that has not begun has waited for as long as it may."""
    waited = time.time() - (job.submit_time or time.time())
    return bool(job.max_pending_time) and waited >= job.max_pending_time
