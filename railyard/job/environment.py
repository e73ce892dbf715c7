"""Reads a benchmark's own process on each node, and compares its variables with those that were planned.

A rank may not have what the job exports: a module, a profile or a wrapper may set another value, and a launcher may
pass none on. ``environment.sh`` (package data beside this file) reads the variables from /proc. It reads only variables
that choose transport and rails, by whole names, because an environment holds secrets. It also writes which libraries
the process loaded; ``loaded_libraries`` judges them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from railyard.base.clean_text import one_line
from railyard.base.hostlist import label
from railyard.base.paths import packaged_text
from railyard.job.launch import Launch
from railyard.stacks.model import Setting
from railyard.stacks.table import STACKS
from railyard.stacks.ucx import KEEPS_WHOLE

FORMAT = 1
SCRIPT = "environment.sh"
NAMES_FILE = "environment.names"
LIBRARIES_FILE = "environment.libraries"
SUFFIX = ".environment"
_LONGEST = 300
#: How the script's lines begin: a variable, that /proc/PID/maps could be read, a library in it.
_KINDS = ("set", "maps", "library")


@dataclass(frozen=True, slots=True)
class RankEnvironment:
    """What the first rank's process of a node has: its program, and the variables that were asked for, by name.

    ``libraries`` are the paths of the libraries for messages that it loaded; None if the node does not show them.
    """

    node: str
    program: str
    variables: Mapping[str, str]
    libraries: tuple[str, ...] | None = None


def scripts(stack: str) -> dict[str, str]:
    """Return the files for the counter reader's folder: the script, the names that it may write down, and libraries."""
    from railyard.job import loaded_libraries

    names = "".join(f"{name}\n" for name in sorted(variables_of_stack(stack)))
    libraries = f"{loaded_libraries.pattern()}\n"
    return {SCRIPT: packaged_text(f"job/scripts/{SCRIPT}"), NAMES_FILE: names, LIBRARIES_FILE: libraries}


def planned_variables(launch: Launch) -> dict[str, str]:
    """Return the variables that the stack is given, with their values; without those that a shell still fills in."""
    told = {name: launch.env.get(name, value) for name, value in launch.settings.env.items()}
    return {name: value for name, value in told.items() if "$" not in value}


@lru_cache(maxsize=32)
def variables_of_stack(stack: str) -> frozenset[str]:
    """Return the variables that choose transport, devices or rails of a stack, from the stacks' table."""
    found: set[str] = set()
    for way in STACKS[stack].ways.values():
        if not isinstance(way, str):
            lines = [*way.settings, *(line for spread in way.spreads for line in spread.settings)]
            lines += [line for told in way.memories.values() if not isinstance(told, str) for line in told]
            knobs = [way.knobs, *(spread.knobs for spread in way.spreads if spread.knobs)]
            lines += [knob for each in knobs for knob in each.values() if isinstance(knob, Setting)]
            found |= {line.name for line in lines}
    return frozenset(found | set(KEEPS_WHOLE) if any(name.startswith("UCX_") for name in found) else found)


def parse(text: str, tag: str) -> RankEnvironment | None:
    """Return what a node wrote; None if the file is from another run, was cut, or is not the script's."""
    lines = text.split("\n")
    if len(lines) < 5 or lines[0] != f"railyard-environment {FORMAT} {tag}" or lines[-2:] != ["end", ""]:
        return None
    node, program, *said = (line.partition(" ") for line in lines[1:-2])
    if (node[0], program[0]) != ("node", "program") or any(kind not in _KINDS for kind, _, _ in said):
        return None
    pairs = (rest.partition(" ") for kind, _, rest in said if kind == "set")
    return RankEnvironment(
        node[2],
        one_line(program[2]),
        {name: one_line(value)[:_LONGEST] for name, _, value in pairs},
        tuple(path for kind, _, path in said if kind == "library") if ("maps", "", "") in said else None,
    )


def why_other(found: Iterable[RankEnvironment], launch: Launch) -> str | None:
    """Return a sentence about the first variable that differs from the plan in a benchmark's process.

    For the variable that gives one rail per rank, any name of the planned list is right.
    """
    for each in found:
        for name, value in planned_variables(launch).items():
            has = each.variables.get(name)
            of_its_own = name == launch.settings.rank_variable and has in value.split(",")
            if has == value[:_LONGEST] or of_its_own:
                continue
            shown = "is not set" if has is None else f'is "{has}"'
            return f'{name} {shown} in the environment of {each.program} on {each.node}, expected "{value}"'
    return None


def why_whole(found: Iterable[RankEnvironment]) -> str | None:
    """Return the sentence about a variable by which a process does not split its messages over rails; None without."""
    for each in found:
        for name, what in KEEPS_WHOLE.items():
            if name in each.variables:
                return f'{name} is "{each.variables[name]}" in the environment of {each.program} on {each.node}: {what}'
    return None


def nodes_without_benchmark(found: Iterable[RankEnvironment], launch: Launch) -> tuple[str, ...]:
    """Return the nodes where the benchmark was not seen: it had ended already, or the node shows no /proc."""
    seen = {label(each.node) for each in found}
    return tuple(node for node in launch.nodes if label(node) not in seen)


def find_unplanned(found: Iterable[RankEnvironment], launch: Launch) -> tuple[str, ...]:
    """Return a remark for each variable of the stack's table that is set and was not planned."""
    told = planned_variables(launch)
    said = [
        f'{name} is "{value}" in the environment of {each.program} on {each.node}, and the run did not plan it'
        for each in found
        for name, value in each.variables.items()
        if name not in told and name not in launch.env
    ]
    by_variable = {sentence.partition(" ")[0]: sentence for sentence in reversed(said)}
    return tuple(by_variable[name] for name in sorted(by_variable))
