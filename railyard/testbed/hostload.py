"""How much of the one host that carries all nodes of the virtual cluster other processes took while a test ran.

Linux counts the time of all processes in the first line of /proc/stat (proc(5)): user and system, and ``steal``, which
is what other guests of the same hypervisor took. What this process and its children took, the launched benchmark among
them, is times(2); a launcher's daemon that left its parent (Open MPI's orted) was waited for by the first process of
the testbed, whose children's time stands in /proc/PID/stat. The rest was somebody else's. Time at low priority
(``nice``) is left out: it gives way, and ten runs of the whole matrix beside a process at nice 19 missed nothing. So
are interrupts: the cluster's own packets are there.
"""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM, _STEAL = 0, 2, 7
#: utime, stime, cutime and cstime, counted from the third field on.
_OWN_AND_CHILDREN = (11, 12, 13, 14)


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Seconds of processors used by anybody and by us, and of the clock; ``processors`` is how many there are."""

    used_s: float
    own_s: float
    clock_s: float
    processors: int


def host_load(first: int, proc: Path = Path("/proc")) -> HostLoad | None:
    """Return what the host, this process and the testbed have used by now; None where the kernel does not say.

    ``first`` is the first process of the testbed, as the host numbers it.
    """
    try:
        ticks = [int(word) for word in (proc / "stat").read_text(encoding="ascii").splitlines()[0].split()[1:]]
        used = (ticks[_USER] + ticks[_SYSTEM] + ticks[_STEAL]) / _TICKS
        # The name in brackets, the second field, may have blanks and brackets of its own.
        fields = (proc / str(first) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        left = sum(int(fields[place]) for place in _OWN_AND_CHILDREN) / _TICKS
    except (OSError, ValueError, IndexError):
        return None
    own = os.times()
    # At low priority ours is not among `user`, and cannot be taken away from it.
    own_s = 0.0 if os.nice(0) > 0 else left + own.user + own.system + own.children_user + own.children_system
    return HostLoad(used, own_s, own.elapsed, os.cpu_count() or 1)


def others_share(before: HostLoad | None, after: HostLoad | None) -> float | None:
    """Return which share of the host's processors others took between two readings; None where that is not known."""
    if before is None or after is None or after.clock_s <= before.clock_s:
        return None
    others_s = (after.used_s - before.used_s) - (after.own_s - before.own_s)
    return max(0.0, others_s) / ((after.clock_s - before.clock_s) * after.processors)
