"""What Slurm says about a job: reads its record, and says in one sentence why the job ended. Pure.

It reads ``scontrol -o show job`` (one line, ``Name=value`` with blanks between) and a row of ``sacct -P -o
State,ExitCode,NodeList,Reason``. Source: scontrol(1), sacct(1), "Job State Codes" of squeue(1), Slurm 22.05.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from railyard.base.wording import listing
from railyard.parsers.slurm.nodes import NodeState, known_value, record_fields

_EXIT = re.compile(r"(\d+):(\d+)")
#: What slurmstepd writes into a job's error output if the job was killed for memory, found by sampling (OverMemoryKill,
#: slurm_jobacct_gather.c) or by the kernel (task_cgroup_memory.c). The job's record has only an exit code.
_MEMORY = re.compile(
    r"slurmstepd(?:-(?P<node>[^\s:]+))?: error: (?P<said>.*(?:exceeded memory limit|oom[-_ ]kill event|OOM Killed).*)"
)

#: States in which a job has ended and will not run again.
FINAL = frozenset(
    {
        "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
        "REVOKED", "TIMEOUT",
    }
)  # fmt: skip
#: What ended a job.
Kind = Literal[
    "time", "memory", "preempted", "requeued", "suspended", "several", "node", "stuck", "cancelled", "pending", "lost"
]


@dataclass(frozen=True, slots=True)
class JobState:
    """One job in the scheduler's record.

    ``state`` is one of Slurm's, in capitals; ``exit_code`` and ``signal`` are None until the job has ended. ``nodes``
    is Slurm's own list (``vn[1-2]``), ``restarts`` is how often it was requeued. ``suspended``: it was stopped for a
    while. ``several``: the id is that of an array or a heterogeneous job.
    """

    job: str
    state: str
    reason: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    nodes: str | None = None
    failed_node: str | None = None
    restarts: int = 0
    time_limit: str | None = None
    suspended: bool = False
    several: bool = False

    @property
    def is_completing(self) -> bool:
        """Whether it has ended and a node has not released it: a process of it, or an epilog, is still there."""
        return self.state == "COMPLETING"

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.state in FINAL


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a job ended that did not run to its end: ``kind``, a sentence, and the nodes to blame."""

    kind: Kind
    sentence: str
    nodes: tuple[str, ...] = ()


def parse_job(text: str) -> JobState | None:
    """Return the job of ``scontrol -o show job ID``; None if the text has none (an unknown id, no controller)."""
    lines = [line for line in text.splitlines() if line.startswith("JobId=")]
    if not lines:
        return None
    fields = record_fields(lines[0])
    state = fields.get("JobState", "")
    if not state:
        return None
    code, signal = _exit(fields.get("ExitCode"))
    final = state in FINAL
    return JobState(
        job=fields["JobId"],
        state=state,
        reason=known_value(fields.get("Reason")),
        exit_code=code if final else None,
        signal=signal if final else None,
        nodes=known_value(fields.get("NodeList")),
        failed_node=known_value(fields.get("FailedNode")),
        restarts=_count(fields.get("Restarts")),
        time_limit=known_value(fields.get("TimeLimit")),
        # Set when the job is stopped and when it goes on; kept until its end.
        suspended=known_value(fields.get("SuspendTime")) is not None,
        several=len(lines) > 1 or any(sign in fields.get("ArrayTaskId", "") for sign in "-,"),
    )


def parse_accounting(text: str, job: str) -> JobState | None:
    """Return a job of ``sacct -X -n -P -o State,ExitCode,NodeList,Reason -j ID``; None if there is no such row.

    ``CANCELLED by 0`` names who cancelled it: the state is its first word.
    """
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 3]
    if not rows:
        return None
    state, exit_code, nodes, reason = rows[-1]
    words = state.split()
    if not words:
        return None
    code, signal = _exit(exit_code)
    final = words[0] in FINAL
    return JobState(
        job, words[0], known_value(reason), code if final else None, signal if final else None, known_value(nodes),
        several=len(rows) > 1,
    )  # fmt: skip


def find_end(job: JobState, nodes: Iterable[NodeState] = ()) -> JobEnd | None:
    """Return how a job ended, None if it ran to its end (whatever its exit code says) or still runs.

    ``nodes`` are its nodes as they are now: if one failed, the sentence names those that are down, and none that is
    drained.
    """
    if job.several:
        said = f"job {job.job} is several jobs, an array or a heterogeneous job: what they left is of several runs"
        return JobEnd("several", said)
    if job.suspended and job.state != "NODE_FAIL":
        return JobEnd("suspended", f"job {job.job} was suspended while it ran: its times have the pause in them")
    if job.restarts and job.state != "NODE_FAIL":
        times = "once" if job.restarts == 1 else f"{job.restarts} times"
        return JobEnd(
            "requeued", f"job {job.job} was requeued {times}: what it left may be of two runs{_reason_words(job)}"
        )
    if job.state == "NODE_FAIL":
        return _node_failed(job, tuple(nodes))
    made = _SENTENCES.get(job.state)
    if made is None:
        return None
    kind, text = made
    return JobEnd(kind, f"job {job.job} {text.format(limit=_limit(job))}{_nodes_words(job)}{_reason_words(job)}")


def killed_for_memory(job: JobState, printed: str) -> JobEnd | None:
    """Return that a job was killed for memory if its own error output says so, else None.

    Slurm's record of such a job often has only its exit code (state FAILED). No node is to blame.
    """
    found = [said for line in printed.splitlines() if (said := _MEMORY.search(line)) is not None]
    if not found or not job.is_final or job.exit_code == 0 == (job.signal or 0):
        return None
    nodes = sorted({said["node"] for said in found if said["node"]})
    where = f" on {listing(nodes)}" if nodes else _nodes_words(job)
    return JobEnd("memory", f"job {job.job} {_SENTENCES['OUT_OF_MEMORY'][1]}{where} ({found[0]['said'].strip()})")


def still_pending(job: JobState, seconds: float) -> JobEnd:
    """Return the end of a job that was cancelled because it had not begun after this many seconds."""
    return JobEnd(
        "pending", f"job {job.job} had not begun after {_span(seconds)} and was cancelled{_reason_words(job)}"
    )


def blocked_end(job: JobState) -> JobEnd:
    """Return the end of a job that was cancelled because it could not begin in the present state."""
    return JobEnd("pending", f"job {job.job} could not begin and was cancelled{_reason_words(job)}")


def stuck_end(job: JobState, seconds: float, nodes: Iterable[NodeState] = ()) -> JobEnd:
    """Return the end of a job that is over and that a node has not released after this many seconds.

    While it is COMPLETING, its record lists only those nodes (squeue(1), %N); ``nodes`` are their present states.
    """
    there = tuple(nodes)
    who = listing([f"{node.name} ({node.reason})" if node.reason else node.name for node in there])
    said = f"not released by {who or job.nodes or 'a node that the scheduler does not name'}"
    sentence = f"job {job.job} is over, and still COMPLETING after {_span(seconds)}: {said}"
    return JobEnd("stuck", sentence, tuple(node.name for node in there))


def lost_end(job: str, seconds: float, said: str) -> JobEnd:
    """Return the end of a job about which the scheduler has said nothing for this many seconds."""
    return JobEnd("lost", f"the scheduler said nothing about job {job} for {_span(seconds)}: {said or 'no answer'}")


def _node_failed(job: JobState, nodes: tuple[NodeState, ...]) -> JobEnd:
    down = [node for node in nodes if node.is_dead]
    names = tuple(dict.fromkeys([*([job.failed_node] if job.failed_node else []), *(node.name for node in down)]))
    if down:
        who = "; ".join(node.words for node in down)
    elif names:
        who = f"{listing(names)} failed"
    else:
        who = f"a node of {job.nodes or 'its allocation'} failed; the scheduler does not say which"
    return JobEnd("node", f"job {job.job} was ended because a node died: {who}", names)


_SENTENCES: Mapping[str, tuple[Kind, str]] = {
    "TIMEOUT": ("time", "was killed at its time limit{limit}"),
    "DEADLINE": ("time", "was ended at its deadline"),
    "OUT_OF_MEMORY": ("memory", "was killed for memory: it used more than it was given"),
    "PREEMPTED": ("preempted", "was preempted by another job"),
    "BOOT_FAIL": ("node", "did not run: a node did not boot"),
    "REVOKED": ("cancelled", "was taken over by another cluster of the federation"),
    "CANCELLED": ("cancelled", "was cancelled"),
}


def _limit(job: JobState) -> str:
    return f" of {job.time_limit}" if job.time_limit else ""


def _nodes_words(job: JobState) -> str:
    return f" on {job.nodes}" if job.nodes else ""


def _reason_words(job: JobState) -> str:
    return f" (the scheduler's reason: {job.reason})" if job.reason else ""


def _span(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"


def _exit(text: str | None) -> tuple[int | None, int | None]:
    found = _EXIT.fullmatch(text or "")
    return (None, None) if found is None else (int(found[1]), int(found[2]))


def _count(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0
