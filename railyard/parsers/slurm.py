"""What Slurm says about jobs and nodes: why a job ended, which nodes can run none, and when some come free. Pure.

Of a job it reads ``scontrol -o show job`` (one line, ``Name=value`` with blanks between) and a row of ``sacct -P -o
State,ExitCode,NodeList,Reason``. Source: scontrol(1), sacct(1), "Job State Codes" of squeue(1), Slurm 22.05.

Of nodes it reads ``scontrol -o show nodes``: one line per node, ``Name=value`` with blanks between. Source: scontrol(1)
and "NODE STATE CODES" of sinfo(1), Slurm 22.05.

Read is ``squeue --noheader --states=RUNNING,COMPLETING --format=%e|%N``: a line a job, with its end by its time limit
and its nodes. Source: squeue(1), Slurm 22.05.

What Slurm says about its partitions: which take or start no jobs, and which let jobs share a node. Pure.

Read is ``scontrol -o show partition``: one line per partition, ``Name=value`` with blanks between. Source: scontrol(1)
and slurm.conf(5) of Slurm 22.05 and 26.05, partition_info.c.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from railyard.base.hostlist import expand_names, label
from railyard.base.wording import listing
from railyard.parsers.failure_lines import STEPD
from railyard.parsers.job_end import JobEnd, Kind, killed_end, reason_words, span, suspended_end

#: The words behind squeue that this reads.
WORDS = ("--noheader", "--states=RUNNING,COMPLETING", "--format=%e|%N")
#: A value ends before the next `` Name=``; a Comment or Reason has blanks in it.
_FIELD = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:.]*)=(.*?)(?=\s+[A-Za-z][A-Za-z0-9_/:.]*=|\s*$)", re.DOTALL)
#: ``bad cable [root@2026-11-21T18:00:00]``: who wrote a node's reason, and when, is after it.
_SIGNED = re.compile(r"\s*\[[^\[\]]*@[^\[\]]*\]$")
_EMPTY = ("", "(null)", "None", "None assigned", "N/A", "Unknown")
#: Node states in which no job can run; the first that fits is named. A node in none of these states can run jobs.
_UNFIT: Mapping[str, str] = {
    "EXCLUDED": "excluded",
    "NOT_RESPONDING": "not responding",
    "DOWN": "down",
    "DRAINED": "drained",
    "DRAINING": "draining",
    "DRAIN": "drained",
    "FAIL": "failed",
    "FAILING": "failing",
    # A node's record has the long word; sinfo has the short one.
    "MAINTENANCE": "in maintenance",
    "MAINT": "in maintenance",
    "REBOOT_ISSUED": "rebooting",
    "REBOOT_REQUESTED": "to be rebooted",
    "POWERED_DOWN": "powered down",
    "POWERING_DOWN": "powering down",
    "POWER_DOWN": "to be powered down",
    "FUTURE": "not there yet",
    # slurmd reported less than slurm.conf has: a memory module or a processor is gone after a reboot.
    "INVALID_REG": "not registered with what slurm.conf has",
    "INVAL": "not registered with what slurm.conf has",
    "UNKNOWN": "of unknown state",
}
_MAINTENANCE = re.compile(r"\+MAINT(?:ENANCE)?\b")
#: Of these, the words for a node on which nothing runs any more; a drained node may be healthy.
_DEAD = ("not responding", "down", "failed", "failing", "rebooting", "powered down", "powering down")


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node in the scheduler's record: ``state`` as printed (``IDLE+DRAIN``), ``reason`` from the administrator."""

    name: str
    state: str
    reason: str | None = None
    partitions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    @property
    def unfit(self) -> str | None:
        """Why no job can run there, in a word or two; None if one can run, now or when another job has ended."""
        # Slurm marks a node that does not respond with an asterisk; other marks (#, ~, %) are of power saving.
        words = {word.rstrip("*#~%$@^!-") for word in self.state.split("+")}
        if "*" in self.state:
            words.add("NOT_RESPONDING")
        return next((said for word, said in _UNFIT.items() if word in words), None)

    @property
    def is_dead(self) -> bool:
        """Whether nothing runs on it any more."""
        return self.unfit in _DEAD

    @property
    def is_ready(self) -> bool:
        """Whether it is idle and a job can run on it now; BLOCKED: a job has its whole block for itself."""
        words = self.state.split("+")
        return self.unfit is None and words[0] == "IDLE" and "BLOCKED" not in words

    @property
    def why(self) -> str:
        """``drained (bad cable)``; ``idle``."""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.unfit or self.state.lower()}{reason}"

    @property
    def words(self) -> str:
        """``vn3 is drained (bad cable)``; ``vn1 is idle``."""
        return f"{self.name} is {self.why}"


_EXIT = re.compile(r"(\d+):(\d+)")
#: What slurmstepd writes into a job's error output if the job was killed for memory, found by sampling (OverMemoryKill,
#: slurm_jobacct_gather.c) or by the kernel (task_cgroup_memory.c). The job's record has only an exit code.
_MEMORY = re.compile(rf"{STEPD}(?P<said>.*(?:exceeded memory limit|oom[-_ ]kill event|OOM Killed).*)")
#: Where: slurmstepd's own name, or srun's word of the task that was killed.
_WHERE_KILLED = re.compile(
    r"^(?:slurmstepd-([^\s:]+): error: .*|srun: error: ([^\s:]+): tasks? [0-9,-]+: (?:Out Of Memory|Killed).*)$"
)

#: States in which a job has ended and will not run again.
FINAL = frozenset(
    {
        "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
        "REVOKED", "TIMEOUT",
    }
)  # fmt: skip


#: States of a job that has no nodes: it waits, or it is held after a requeue or the end of its reservation.
WAITING = ("PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT")


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
    def is_waiting(self) -> bool:
        """Whether it has no nodes yet."""
        return self.state in WAITING

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.state in FINAL


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
        # SuspendTime is set by `scontrol suspend` and kept until the end of the job. A signal (`scancel --signal=STOP`)
        # makes only the state, and nothing is left of it when the job goes on.
        suspended=known_value(fields.get("SuspendTime")) is not None or state == "STOPPED",
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


#: The "signal" of a job whose script slurmd could not start: it found no folder for it, could not write its outputs or
#: does not know its user, or a prolog failed (ExitCode=0:53, Reason=RaisedSignal:53). No process of it got this signal.
_UNSTARTED = 53


def find_end(job: JobState, nodes: Iterable[NodeState] = ()) -> JobEnd | None:
    """Return how a job ended, None if it ran to its end (whatever its exit code says) or still runs.

    ``nodes`` are its nodes as they are now: if one failed, the sentence names those that are down, and none that is
    drained.
    """
    if job.several:
        said = f"job {job.job} is several jobs, an array or a heterogeneous job: what they left is of several runs"
        return JobEnd("several", said)
    if job.suspended and job.state != "NODE_FAIL":
        return suspended_end(job.job)
    if job.restarts and job.state != "NODE_FAIL":
        times = "once" if job.restarts == 1 else f"{job.restarts} times"
        return JobEnd(
            "requeued", f"job {job.job} was requeued {times}: what it left may be of two runs{reason_words(job.reason)}"
        )
    if job.state == "NODE_FAIL":
        return _node_failed(job, tuple(nodes))
    if job.state == "FAILED" and job.signal == _UNSTARTED:
        said = f"Slurm could not start its script{_nodes_words(job)}{reason_words(job.reason)}"
        return JobEnd("unstarted", f"job {job.job} did not run: {said}")
    if job.state == "FAILED" and job.signal:
        return killed_end(job.job, job.signal, _nodes_words(job))
    made = _SENTENCES.get(job.state)
    if made is None:
        return None
    kind, text = made
    return JobEnd(kind, f"job {job.job} {text.format(limit=_limit(job))}{_nodes_words(job)}{reason_words(job.reason)}")


def killed_for_memory(job: JobState, printed: str) -> JobEnd | None:
    """Return that a job was killed for memory if its own error output says so, else None.

    Slurm's record of such a job often has only its exit code (state FAILED). No node is to blame.
    """
    found = [said for line in printed.splitlines() if (said := _MEMORY.search(line)) is not None]
    if not found or not job.is_final or job.exit_code == 0 == (job.signal or 0):
        return None
    killed = filter(None, map(_WHERE_KILLED.match, printed.splitlines()))
    nodes = sorted({said[1] or said[2] for said in killed})
    where = f" on {listing(nodes)}" if nodes else _nodes_words(job)
    return JobEnd("memory", f"job {job.job} {_SENTENCES['OUT_OF_MEMORY'][1]}{where} ({found[0]['said'].strip()})")


def stuck_end(job: JobState, seconds: float, nodes: Iterable[NodeState] = ()) -> JobEnd:
    """Return the end of a job that is over and that a node has not released after this many seconds.

    While it is COMPLETING, its record lists only those nodes (squeue(1), %N); ``nodes`` are their present states.
    """
    there = tuple(nodes)
    who = listing([f"{node.name} ({node.reason})" if node.reason else node.name for node in there])
    said = f"not released by {who or job.nodes or 'a node that the scheduler does not name'}"
    sentence = f"job {job.job} is over, and still COMPLETING after {span(seconds)}: {said}"
    return JobEnd("stuck", sentence, tuple(node.name for node in there))


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


def _exit(text: str | None) -> tuple[int | None, int | None]:
    found = _EXIT.fullmatch(text or "")
    return (None, None) if found is None else (int(found[1]), int(found[2]))


def _count(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0


def parse_nodes(text: str) -> tuple[NodeState, ...]:
    """Return the nodes of ``scontrol -o show nodes``, in its order; other lines are skipped."""
    found = []
    for line in text.splitlines():
        if not line.startswith("NodeName="):
            continue
        fields = record_fields(line)
        reason = known_value(fields.get("Reason"))
        found.append(
            NodeState(
                fields["NodeName"],
                fields.get("State", "UNKNOWN"),
                None if reason is None else _SIGNED.sub("", reason) or None,
                _names(fields.get("Partitions")),
                _names(fields.get("ActiveFeatures")),
            )
        )
    return tuple(found)


def of_system(
    nodes: Sequence[NodeState],
    names: Sequence[str],
    partition: str | None,
    constraint: str | None,
    excluded: Sequence[str],
    *,
    within_reservation: bool = False,
) -> tuple[NodeState, ...]:
    """Return a system's nodes from those of a scheduler; excluded ones have that as their reason.

    They are those in ``names`` (if any are given) and in the partition (if it is given). If the constraint is a single
    feature, they must have it; an expression of features is left to the scheduler. A maintenance is a reservation, so
    jobs that are ``within_reservation`` of their own may run on its nodes.
    """
    found = []
    for node in nodes:
        if names and node.name not in names:
            continue
        if partition is not None and partition not in node.partitions:
            continue
        if constraint is not None and constraint.replace("_", "").isalnum() and constraint not in node.features:
            continue
        if within_reservation:
            node = replace(node, state=_MAINTENANCE.sub("", node.state))
        is_out = node.name in excluded
        found.append(replace(node, state=f"{node.state}+EXCLUDED", reason="by the system's file") if is_out else node)
    return tuple(found)


def describe_untested(nodes: Sequence[NodeState]) -> str | None:
    """Return the words about nodes that can run no job: "vn3 is drained (bad cable)"; None if all can."""
    unfit = [node.words for node in nodes if node.unfit is not None]
    return "; ".join(unfit) or None


def how_many(used: int, nodes: Sequence[NodeState], expected: int) -> str | None:
    """Return what a check of all nodes says if it lacks some of them; None if it has all.

    ``expected`` is how many nodes the system has according to its file.
    """
    if used >= expected:
        return None
    unfit = describe_untested(nodes)
    why = f": {unfit}" if unfit else ""
    return f"{used} of {expected} nodes were tested, {expected - used} not tested{why}"


def record_fields(line: str) -> dict[str, str]:
    """Return the fields of one line of scontrol, by their names.

    What a person wrote comes last (SubmitLine from 25.11 on, Comment), and may look like fields: the first one counts.
    """
    return {name: value.strip() for name, value in reversed(_FIELD.findall(line))}


def known_value(value: str | None) -> str | None:
    """Return a field's value; None if it is one of Slurm's words for nothing (``(null)``, ``N/A``)."""
    return None if value is None or value in _EMPTY else value


def _names(text: str | None) -> tuple[str, ...]:
    value = known_value(text)
    return () if value is None else tuple(value.split(","))


def free_in(text: str, now: datetime) -> Mapping[str, float | None]:
    """Return in how many seconds each busy node comes free at the latest, by its first label; None: nobody knows.

    ``now`` is the time of the place where squeue ran, without a zone, as squeue prints it. A node of several jobs comes
    free when the last one ends. A job that is over its time ends any moment.
    """
    found: dict[str, float | None] = {}
    for line in text.splitlines():
        when, _, nodes = line.strip().partition("|")
        try:
            names = [label(name) for name in expand_names(nodes) if name]
        except ValueError:
            continue
        left_s = _seconds_until(when, now)
        for name in names:
            before = found.get(name, 0.0)
            found[name] = None if left_s is None or before is None else max(left_s, before)
    return found


def _seconds_until(when: str, now: datetime) -> float | None:
    try:
        return max(1.0, (datetime.fromisoformat(when) - now).total_seconds())
    except ValueError:  # "N/A", of a job without a limit
        return None


#: States in which a job does not begin, and the words for it. Source: slurm.conf(5), State.
_CLOSED: Mapping[str, str] = {
    "DOWN": "starts no jobs (State=DOWN)",
    "DRAIN": "takes no jobs (State=DRAIN)",
    "INACTIVE": "takes and starts no jobs (State=INACTIVE)",
}


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition in the scheduler's record: its words for state and sharing, each empty if it is not shown.

    Up to 25.11 ``oversubscribe`` is EXCLUSIVE if a job has its nodes for itself. From 26.05 on ``exclusive`` is NODE
    (or TOPO, for all nodes of a block) and ``oversubscribe`` is NO beside it.
    """

    name: str
    is_default: bool = False
    state: str = ""
    oversubscribe: str = ""
    exclusive: str = ""

    @property
    def why_closed(self) -> str | None:
        """How it takes or starts no jobs; None if it does both."""
        return _CLOSED.get(self.state)

    @property
    def sharing(self) -> str | None:
        """How it lets jobs share a node (``NO``, ``YES:4``); None if it does not, or does not say it."""
        if self.oversubscribe in ("", "EXCLUSIVE") or self.exclusive in ("NODE", "TOPO"):
            return None
        return self.oversubscribe


def parse(text: str) -> tuple[Partition, ...]:
    """Return the partitions of ``scontrol -o show partition``, in its order; other lines are skipped."""
    records = [record_fields(line) for line in text.splitlines() if line.startswith("PartitionName=")]
    return tuple(
        Partition(
            fields["PartitionName"],
            fields.get("Default") == "YES",
            fields.get("State", ""),
            fields.get("OverSubscribe", ""),
            fields.get("Exclusive", ""),
        )
        for fields in records
    )


def of_jobs(partitions: Sequence[Partition], names: Sequence[str]) -> tuple[Partition, ...]:
    """Return the partitions that jobs use: those of these names, or the default one without names."""
    return tuple(one for one in partitions if (one.name in names if names else one.is_default))
