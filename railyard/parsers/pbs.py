"""What PBS says about jobs and nodes: how a job ended, why it waits, and which nodes can run none. Pure.

It reads ``qstat -f`` (of OpenPBS ``qstat -x -f``, which knows finished jobs too) and ``pbsnodes -a``: a line for each
attribute, folded at 80 columns, whose next line begins with a tab. Sources: qstat(1B), pbs_job_attributes(7B) and
pbsnodes(8B) of OpenPBS 23.06, and what that release printed (``tests/recordings/pbs``).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.wording import listing
from railyard.parsers.job_end import JobEnd, Kind, killed_end, reason_words, suspended_end

#: A job's states before it begins, and when it has ended (C is Torque's).
WAITING, ENDED, SUSPENDED = "QHWTM", "CFX", "SU"
_ATTRIBUTE = re.compile(r"^ {4,5}(\S+) = (.*)$", re.MULTILINE)
_FOLD = re.compile(r"\n\t")
#: A job whose comment begins so waits for ever.
_NEVER = "Can Never Run"
#: What is added to the number of a signal that ended a job's script (pbs_job_attributes(7B), Exit_status).
_BY_SIGNAL = 256


@dataclass(frozen=True, slots=True)
class PbsJob:
    """One job: ``state`` is PBS's letter, ``exit_status`` as printed, None until it has ended.

    ``comment`` is why it waits or what became of it, ``nodes`` are its nodes in PBS's order, first the one that runs
    its script. ``runs`` is how often it was started.
    """

    job: str
    state: str
    exit_status: int | None = None
    comment: str | None = None
    nodes: tuple[str, ...] = ()
    runs: int = 0

    @property
    def phase(self) -> Literal["waits", "runs", "ended"]:
        """Whether it waits, has its nodes, or has ended."""
        return "waits" if self.state in WAITING else "ended" if self.state in ENDED else "runs"

    @property
    def is_suspended(self) -> bool:
        """Whether it was stopped in its middle: by a person or a job of higher priority (S), or a busy host (U)."""
        return self.state in SUSPENDED

    @property
    def can_never_run(self) -> bool:
        """Whether PBS says that it will never begin; it waits all the same."""
        return self.phase == "waits" and (self.comment or "").startswith(_NEVER)

    @property
    def exit_code(self) -> int | None:
        """The exit code of its script, as a shell has it: 128 and the signal that ended it. None if there is none."""
        status = self.exit_status
        if status is None or status < 0:
            return None
        return status - _BY_SIGNAL + 128 if status > _BY_SIGNAL else status


def parse_job(text: str) -> PbsJob | None:
    """Return the job of ``qstat -f ID`` or ``qstat -x -f ID``; None if the text has none."""
    head = re.search(r"^Job Id: (\S+)", text, re.MULTILINE)
    found = _attributes(text)
    state = found.get("job_state", "")
    if head is None or len(state) != 1:
        return None
    status = found.get("Exit_status", found.get("exit_status"))
    hosts = (part.partition("/")[0] for part in found.get("exec_host", "").split("+"))
    return PbsJob(
        head[1],
        state,
        _number(status),
        found.get("comment"),
        tuple(dict.fromkeys(host for host in hosts if host)),
        _number(found.get("run_count")) or 0,
    )


#: How a job's comment ends that did not run to its end. A job that somebody deleted while it ran has Exit_status 0.
_TERMINATED = re.compile(r" and terminated(?: by (\S+))?$")
_EXCEEDED = re.compile(r" and exceeded resource (\S+)(?: \(\w+\))?$")
#: What pbs_mom found when it was started again: a job that had run before (JOB_EXEC_INITABT, INITRST and INITRMG of
#: OpenPBS 23.06, src/include/job.h).
_STARTED_AGAIN = (-4, -5, -6)


def find_end(job: PbsJob) -> JobEnd | None:
    """Return how a job ended, None if its script ran to its end or the job still runs.

    A job that somebody sent a signal by way of PBS (qsig) has the exit status 0, and looks as if it ran to its end.
    """
    if job.phase != "ended":
        return None
    where, comment = f" on {listing(job.nodes)}" if job.nodes else "", job.comment or ""
    exceeded, terminated = _EXCEEDED.search(comment), _TERMINATED.search(comment)
    if exceeded is not None and exceeded[1] == "walltime":
        return JobEnd("time", f"job {job.job} was killed at its time limit{where}")
    if exceeded is not None:
        kind: Kind = "memory" if exceeded[1] in ("mem", "vmem") else "limit"
        return JobEnd(kind, f"job {job.job} was killed for {exceeded[1]}: it used more than it asked for{where}")
    if terminated is not None or job.exit_status is None:
        who = f" by {terminated[1]}" if terminated is not None and terminated[1] else ""
        return JobEnd("cancelled", f"job {job.job} was cancelled{who}{where}")
    if job.exit_status in _STARTED_AGAIN and job.nodes:
        said = f"the pbs_mom of {job.nodes[0]} was started again while the job ran (Exit_status {job.exit_status})"
        return JobEnd("node", f"job {job.job} was ended because a node died: {said}", job.nodes[:1])
    if job.exit_status < 0:
        code = f"Exit_status {job.exit_status}"
        return JobEnd("cancelled", f"job {job.job} was ended by PBS{where}{reason_words(f'{code}; {comment}')}")
    if job.exit_status > _BY_SIGNAL:
        return killed_end(job.job, job.exit_status - _BY_SIGNAL, where)
    return None


def find_unfit_run(job: PbsJob) -> JobEnd | None:
    """Return why a job measures nothing: it is suspended, or runs again; None if it does not.

    An administrator can have any job started again (``qrerun -W force``), also one with ``-r n``.
    """
    if job.runs > 1 and job.phase != "waits":
        times = f"{job.runs} times"
        return JobEnd("requeued", f"job {job.job} was started {times}: what it left may be of two runs")
    return suspended_end(job.job) if job.is_suspended else None


def node_end(job: PbsJob, nodes: Sequence["PbsNode"]) -> JobEnd:
    """Return the end of a job whose nodes are down."""
    said = "; ".join(f"{node.name} is {node.unfit}" for node in nodes)
    return JobEnd("node", f"job {job.job} was ended because a node died: {said}", tuple(node.name for node in nodes))


@dataclass(frozen=True, slots=True)
class PbsNode:
    """One node: ``state`` as printed (``free``, ``down``, ``offline,down``), ``comment`` from the administrator."""

    name: str
    state: str
    comment: str | None = None

    @property
    def unfit(self) -> str | None:
        """Why no job can run there, in PBS's words; None if one can, now or when another job has ended."""
        words = [word for word in self.state.split(",") if word.lower() in _UNFIT]
        if not words:
            return None
        return ", ".join(words) + (f" ({self.comment})" if self.comment else "")

    @property
    def is_down(self) -> bool:
        """Whether its pbs_mom does not answer."""
        return "down" in self.state.split(",")


_UNFIT = (
    *("down", "offline", "state-unknown", "stale", "unresolvable", "provisioning", "wait-provisioning", "maintenance"),
    "sleep",
)


def parse_nodes(text: str) -> tuple[PbsNode, ...]:
    """Return the nodes of ``pbsnodes -a``, in its order."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        name, _, rest = block.strip("\n").partition("\n")
        if name and not name[0].isspace() and rest:
            own = _attributes(rest)
            found.append(PbsNode(name.strip(), own.get("state", "state-unknown"), own.get("comment")))
    return tuple(found)


_NOT_ENABLED, _NOT_STARTED = "takes no jobs (enabled = False)", "starts no jobs (started = False)"


def closed_queues(text: str) -> tuple[tuple[str, str], ...]:
    """Return each queue that takes or starts no jobs, and how, from ``qstat -Q -f``."""
    found = []
    for block in re.split(r"^(?=Queue: )", text, flags=re.MULTILINE):
        head, _, rest = block.partition("\n")
        own = _attributes(rest)
        if head.startswith("Queue: "):
            name = head.removeprefix("Queue: ").strip()
            found += [(name, _NOT_ENABLED)] if own.get("enabled") == "False" else []
            found += [(name, _NOT_STARTED)] if own.get("started") == "False" else []
    return tuple(found)


def _attributes(text: str) -> dict[str, str]:
    """Return each attribute with its value; a folded value is one line again."""
    return {name: value.strip() for name, value in _ATTRIBUTE.findall(_FOLD.sub("", text))}


def _number(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None
