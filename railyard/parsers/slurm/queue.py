"""When nodes come free: what Slurm's squeue says of the jobs that run now. Pure.

Read is ``squeue --noheader --states=RUNNING,COMPLETING --format=%e|%N``: a line a job, with its end by its time limit
and its nodes. Source: squeue(1), Slurm 22.05.
"""

from collections.abc import Mapping
from datetime import datetime

from railyard.base.hostlist import expand_names, label

#: The words behind squeue that this reads.
WORDS = ("--noheader", "--states=RUNNING,COMPLETING", "--format=%e|%N")


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
