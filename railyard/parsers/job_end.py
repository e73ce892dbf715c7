"""How a scheduler's job ended that did not run to its end, in one form for all schedulers, and its sentences. Pure."""

from dataclasses import dataclass
from typing import Literal

#: What ended a job.
Kind = Literal[
    "time", "memory", "preempted", "requeued", "suspended", "several", "node", "stuck", "cancelled", "pending", "lost"
]


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


def lost_end(job: str, seconds: float, said: str) -> JobEnd:
    """Return the end of a job about which the scheduler has said nothing for this many seconds."""
    return JobEnd("lost", f"the scheduler said nothing about job {job} for {span(seconds)}: {said or 'no answer'}")


def reason_words(reason: str | None) -> str:
    """Return the scheduler's reason in brackets, with a blank before it; empty without one."""
    return f" (the scheduler's reason: {reason})" if reason else ""


def span(seconds: float) -> str:
    """Return a time in words: ``90 s``, ``2 min``."""
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"
