"""How a scheduler's job ended that did not run to its end, in one form for all schedulers, and its sentences. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.wording import listing

#: What ended a job.
Kind = Literal[
    "time",
    "memory",
    "limit",
    "preempted",
    "requeued",
    "suspended",
    "several",
    "node",
    "stuck",
    "cancelled",
    "killed",
    "pending",
    "unstarted",
    "lost",
]


#: The exit code of what a signal ended begins after this number.
_BY_SIGNAL = 128


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a job ended that did not run to its end: ``kind``, a sentence, and the nodes to blame."""

    kind: Kind
    sentence: str
    nodes: tuple[str, ...] = ()


def still_pending(job: str, seconds: float, reason: str | None) -> JobEnd:
    """Return the end of a job that was cancelled because it had not begun after this many seconds.

    ``reason`` is why it waited, in the scheduler's words; None if it does not say.
    """
    sentence = f"job {job} had not begun after {span(seconds)} and was cancelled{reason_words(reason)}"
    return JobEnd("pending", sentence)


def blocked_end(job: str, reason: str | None) -> JobEnd:
    """Return the end of a job that was cancelled because it could not begin in the present state."""
    return JobEnd("pending", f"job {job} could not begin and was cancelled{reason_words(reason)}")


def suspended_end(job: str) -> JobEnd:
    """Return the end of a job that was stopped for a while."""
    return JobEnd("suspended", f"job {job} was suspended while it ran: its times have the pause in them")


def killed_end(job: str, signal: int, where: str) -> JobEnd:
    """Return the end of a job whose script a signal ended, if its scheduler did not say that it sent one.

    ``where`` are words for its nodes, with a blank before them.
    """
    said = f"signal {signal} ended its script, and the scheduler does not say who sent it"
    return JobEnd("killed", f"job {job} was killed{where}: {said} (a person, a program, or the kernel without memory)")


def silent_end(job: str, exit_code: int | None, nodes: Sequence[str]) -> JobEnd | None:
    """Return the end of a job whose script did not say that it came to its end; None if its exit code says enough.

    OpenPBS says exit code 0 of each job that somebody sent a signal by way of it (qsig). Any other code up to 128 may
    be of a line before the first one that says something.
    """
    where = f" on {listing(list(nodes))}" if nodes else ""
    if exit_code == 0:
        said = "the scheduler says exit code 0, but its script did not come to its last line"
        return JobEnd("killed", f"job {job} was ended{where} by something that the scheduler does not name: {said}")
    return killed_end(job, exit_code - _BY_SIGNAL, where) if exit_code and exit_code > _BY_SIGNAL else None


def lost_end(job: str, seconds: float, said: str) -> JobEnd:
    """Return the end of a job about which the scheduler has said nothing for this many seconds."""
    return JobEnd("lost", f"the scheduler said nothing about job {job} for {span(seconds)}: {said or 'no answer'}")


def reason_words(reason: str | None) -> str:
    """Return the scheduler's reason in brackets, with a blank before it; empty without one."""
    return f" (the scheduler's reason: {reason})" if reason else ""


def span(seconds: float) -> str:
    """Return a time in words: ``90 s``, ``2 min``."""
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"
