"""What Slurm says about nodes: reads its records, says which can run no job and why, and when some come free. Pure.

It reads ``scontrol -o show nodes``: one line per node, ``Name=value`` with blanks between. Source: scontrol(1) and
"NODE STATE CODES" of sinfo(1), Slurm 22.05.

Read is ``squeue --noheader --states=RUNNING,COMPLETING --format=%e|%N``: a line a job, with its end by its time limit
and its nodes. Source: squeue(1), Slurm 22.05.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from railyard.base.hostlist import expand_names, label

#: The words behind squeue that this reads.
WORDS = ("--noheader", "--states=RUNNING,COMPLETING", "--format=%e|%N")
#: A value ends before the next `` Name=``; a Comment or Reason has blanks in it.
_FIELD = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:.]*)=(.*?)(?=\s+[A-Za-z][A-Za-z0-9_/:.]*=|\s*$)", re.DOTALL)
#: ``bad cable [root@2026-11-21T18:00:00]``: who wrote a node's reason, and when, is after it.
_SIGNED = re.compile(r"\s*\[[^\[\]]*@[^\[\]]*\]$")
_EMPTY = ("", "(null)", "None", "N/A", "Unknown")
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
    "MAINT": "in maintenance",
    "REBOOT_ISSUED": "rebooting",
    "REBOOT_REQUESTED": "to be rebooted",
    "POWERED_DOWN": "powered down",
    "POWERING_DOWN": "powering down",
    "FUTURE": "not there yet",
    # slurmd reported less than slurm.conf has: a memory module or a processor is gone after a reboot.
    "INVALID_REG": "not registered with what slurm.conf has",
    "INVAL": "not registered with what slurm.conf has",
    "UNKNOWN": "of unknown state",
}
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
        """Whether it is idle and a job can run on it."""
        return self.unfit is None and self.state.split("+")[0] == "IDLE"

    @property
    def why(self) -> str:
        """``drained (bad cable)``; ``idle``."""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.unfit or self.state.lower()}{reason}"

    @property
    def words(self) -> str:
        """``vn3 is drained (bad cable)``; ``vn1 is idle``."""
        return f"{self.name} is {self.why}"


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
) -> tuple[NodeState, ...]:
    """Return a system's nodes from those of a scheduler; excluded ones have that as their reason.

    They are those in ``names`` (if any are given) and in the partition (if it is given). If the constraint is a single
    feature, they must have it; an expression of features is left to the scheduler.
    """
    found = []
    for node in nodes:
        if names and node.name not in names:
            continue
        if partition is not None and partition not in node.partitions:
            continue
        if constraint is not None and constraint.replace("_", "").isalnum() and constraint not in node.features:
            continue
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
    """Return the fields of one line of scontrol, by their names."""
    return {name: value.strip() for name, value in _FIELD.findall(line)}


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
