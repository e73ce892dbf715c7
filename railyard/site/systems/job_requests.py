"""What a system's file requests for its jobs: by a setting of ``jobs``, or by the same option in ``access``."""

from collections.abc import Mapping

from railyard.site.systems.model import System

# Setting of ``jobs`` -> the options of ``access`` with the same meaning. Source: sbatch(1) of Slurm 22.05.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "partition": ("--partition=", "-p"),
    "constraint": ("--constraint=", "-C"),
    "reservation": ("--reservation=",),
    "exclude": ("--exclude=", "-x"),
    "gres": ("--gres=",),
    "gpus-per-node": ("--gpus-per-node=",),
}


def requested_words(system: System, setting: str) -> tuple[str, ...]:
    """Return what the file asks for under ``jobs``, and by the same option in ``access``; () if it asks for nothing."""
    own = getattr(system.jobs, setting, None)
    found = [",".join(own) if isinstance(own, tuple) else str(own)] if own else []
    for option in system.access:
        begin = next((name for name in _OPTIONS[setting] if option.startswith(name)), None)
        found += [] if begin is None else [option.removeprefix(begin)]
    return tuple(found)


def asks_for_whole_nodes(system: System) -> bool:
    """Return whether jobs ask for whole nodes by their own option."""
    return system.jobs.exclusive or "--exclusive" in system.access
