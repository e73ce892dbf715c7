"""What a system's file requests for its jobs: by a setting of ``jobs``, or by the same option in ``access``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from railyard.site.systems.jobs import FAMILIES, is_chunk_word, split_words
from railyard.site.systems.model import System

#: A family of schedulers -> setting of ``jobs`` -> the options of ``access`` with the same meaning. Sources: sbatch(1)
#: of Slurm 22.05, qsub(1B) of PBS 2022.1, flux-batch(1) of flux-core 0.88, qsub(1) of Grid Engine 8.1.9.
_OPTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "slurm": {
        "partition": ("--partition", "-p"),
        "constraint": ("--constraint", "-C"),
        "reservation": ("--reservation",),
        "exclude": ("--exclude", "-x"),
        "gres": ("--gres",),
        "gpus-per-node": ("--gpus-per-node",),
    },
    # A reservation of PBS is a queue of its own.
    "pbs": {"partition": ("-q",)},
    "flux": {"partition": ("--queue", "-q"), "constraint": ("--requires",)},
    "sge": {"partition": ("-q",), "project": ("-P",), "reservation": ("-ar",)},
}
#: A family -> what asks for whole nodes: an option, or the value of ``-l``.
_WHOLE_NODES: Mapping[str, re.Pattern[str]] = {
    "slurm": re.compile(r"--exclusive"),
    "pbs": re.compile(r"place=(?:.*:)?excl(?:host)?(?::.*)?"),
    "flux": re.compile(r"--exclusive|-x"),
    "sge": re.compile(r"excl(?:usive)?=(?:true|TRUE|1)"),
}


def requested_words(system: System, setting: str) -> tuple[str, ...]:
    """Return what the file asks for under ``jobs``, and by the same option in ``access``; () if it asks for nothing."""
    own = getattr(system.jobs, setting, None)
    found = [",".join(own) if isinstance(own, tuple) else str(own)] if own else []
    options = _OPTIONS.get(FAMILIES.get(system.scheduler, "slurm"), {}).get(setting, ())
    return (*found, *_values(split_words(system.access), options))


def requested_resources(system: System) -> tuple[tuple[str, str], ...]:
    """Return the resources that ``-l`` asks PBS or Grid Engine for in ``access``: name and value of each.

    The value is empty if there is none (``-l wd``). Words of PBS's chunks are not among them (``chunk_resources``).
    """
    words = [word for word in system.access if not is_chunk_word(word)]
    return _resources(part for value in _values(split_words(words), ("-l",)) for part in value.split(","))


def chunk_resources(system: System) -> tuple[tuple[str, str], ...]:
    """Return what each chunk of a job of PBS asks for, beside its processes: name and value of each resource."""
    return _resources(part for word in system.job_options if is_chunk_word(word) for part in word.split(":"))


#: A blank in the name of a parallel environment that has so many slots on each node.
SLOTS_OF_NODE = "{num_slots_per_node}"
#: The allocation rule that is assumed of any other one: one node is filled after the other (sge_pe(5)).
FILL_UP = "$fill_up"


def allocation_rules(system: System) -> Mapping[str, str]:
    """Return the parallel environments that jobs ask Grid Engine for, each with its allocation rule.

    The rule is SLOTS_OF_NODE if the name has that blank, ``1`` if there are as many slots as nodes, else FILL_UP.
    """
    words = split_words((*system.access, *system.jobs.resources))
    asked = {words[at + 1]: words[at + 2] for at, word in enumerate(words[:-2]) if word == "-pe"}
    return {
        name: SLOTS_OF_NODE if SLOTS_OF_NODE in name else "1" if count == "{num_nodes}" else FILL_UP
        for name, count in asked.items()
    }


def asks_for_whole_nodes(system: System) -> bool:
    """Return whether jobs ask for whole nodes: by their own option, or as PBS's totals of all that a node has."""
    if system.jobs.exclusive or system.jobs.totals:
        return True
    pattern = _WHOLE_NODES.get(FAMILIES.get(system.scheduler, "slurm"))
    words = split_words(system.access)
    asked = (*words, *(part for value in _values(words, ("-l",)) for part in value.split(",")))
    return pattern is not None and any(pattern.fullmatch(word) for word in asked)


def _resources(parts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, _, value in (part.partition("=") for part in parts if part))


def _values(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the values that words give any of these options, in their order."""
    found = []
    for word, following in pairwise([*words, ""]):
        value = next((text for name in options if (text := _value(word, name)) is not None), None)
        found += [] if value is None else [value or following]
    return found


def _value(word: str, option: str) -> str | None:
    """Return the value that a word gives an option, empty if the next word has it; None if it is another option."""
    if word == option:
        return ""
    begin = f"{option}=" if option.startswith("--") else option
    return word.removeprefix(begin) if word.startswith(begin) else None
