"""What Slurm says about its partitions: which take or start no jobs, and which let jobs share a node. Pure.

Read is ``scontrol -o show partition``: one line per partition, ``Name=value`` with blanks between. Source: scontrol(1)
and slurm.conf(5) of Slurm 22.05 and 26.05, partition_info.c.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.parsers.slurm import record_fields

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
