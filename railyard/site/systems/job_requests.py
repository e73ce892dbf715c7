"""What a system's file requests for its jobs: by a setting of ``jobs``, or by the same option in ``access``."""

from collections.abc import Mapping

from railyard.site.systems.jobs import split_words
from railyard.site.systems.model import System

# Setting of ``jobs`` -> the options of ``access`` with the same meaning. Source: sbatch(1) of Slurm 22.05.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "partition": ("--partition", "-p"),
    "constraint": ("--constraint", "-C"),
    "reservation": ("--reservation",),
    "exclude": ("--exclude", "-x"),
    "gres": ("--gres",),
    "gpus-per-node": ("--gpus-per-node",),
}


def requested_words(system: System, setting: str) -> tuple[str, ...]:
    """Return what the file asks for under ``jobs``, and by the same option in ``access``; () if it asks for nothing."""
    own = getattr(system.jobs, setting, None)
    found = [",".join(own) if isinstance(own, tuple) else str(own)] if own else []
    words = split_words(system.access)
    for word, following in zip(words, [*words[1:], ""], strict=False):
        value = next((text for name in _OPTIONS[setting] if (text := _value(word, name)) is not None), None)
        found += [] if value is None else [value or following]
    return tuple(found)


def _value(word: str, option: str) -> str | None:
    """Return the value that a word gives an option, empty if the next word has it; None if it is another option."""
    if word == option:
        return ""
    begin = f"{option}=" if option.startswith("--") else option
    return word.removeprefix(begin) if word.startswith(begin) else None


def asks_for_whole_nodes(system: System) -> bool:
    """Return whether jobs ask for whole nodes by their own option."""
    return system.jobs.exclusive or "--exclusive" in split_words(system.access)
