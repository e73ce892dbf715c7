"""Finds a node's stacks: MPI libraries, and benchmarks that need no MPI.

Stacks are on the search path or among the modules. Each MPI library's entry (``railyard/stacks/entries/``) says how to
ask it for its version, and what its module is called.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from railyard.cluster.detect.source import Source, natural
from railyard.stacks.model import VersionProgram
from railyard.stacks.table import STACKS

MODULES_ASKED = ("module", "-t", "avail")
MODULES_VERSION = ("module", "--version")
#: For MPI: a program, its tool, and how many folders above the program the tool's path ends.
MPI_TOOLS: tuple[tuple[str, str, int], ...] = (
    ("IMB-MPI1", "imb", 0),
    ("osu_bw", "osu", 2),  # …/mpi/pt2pt/osu_bw: the folder is …/mpi
    ("xhpl", "hpl", 0),
    ("NPmpi", "netpipe", 0),
    ("NPopenmpi", "netpipe", 0),
)
_NAMES_OF_MODULES = re.compile(r"([A-Za-z][\w.+-]*(?:/[\w.+-]+)*)(?:\s*\((?:[a-zA-Z:,]*)\))*")
_SYSTEMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Modules based on Lua"), "lmod"),
    (re.compile(r"Modules Release [45]\."), "envmod"),
)


@dataclass(frozen=True, slots=True)
class FoundStack:
    """A stack: its prefix or its module, tools by path, and the sentence that says how it was found."""

    name: str
    how: str
    prefix: str | None = None
    module: str | None = None
    benchmarks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Software:
    """All stacks, ReFrame's word for the modules system, where Spack is, and what was guessed."""

    stacks: tuple[FoundStack, ...]
    modules_system: str | None
    spack: str | None
    doubts: tuple[str, ...] = ()


def software_of(source: Source) -> Software:
    """Return what the search path and the modules have. If both have a stack, take its module."""
    by_path = _on_path(source)
    by_module = _in_modules(source.run(*MODULES_ASKED) or "")
    tools = _mpi_tools(source)
    doubts: list[str] = []
    found = [by_module.get(name) or by_path[name] for name in dict.fromkeys((*by_module, *by_path))]
    if tools and found:
        # Programs on the search path are linked to one MPI. Only the loader says to which one.
        owner = next(iter(by_path), found[0].name)
        found = [_with(one, tools) if one.name == owner else one for one in found]
        doubts.append(
            f"{', '.join(tools)} on the search path {'is' if len(tools) == 1 else 'are'} taken for {owner}'s: each run "
            f"holds what the loader says against that"
        )
    version = source.run(*MODULES_VERSION) or ""
    modules_system = next((name for pattern, name in _SYSTEMS if pattern.search(version)), None)
    if by_module and modules_system is None:
        doubts.append(
            "there are modules, and `module --version` names no kind that ReFrame has: modules_system is missing"
        )
    return Software((*found, *_pairs(source)), modules_system, source.which("spack"), tuple(doubts))


def _on_path(source: Source) -> dict[str, FoundStack]:
    found: dict[str, FoundStack] = {}
    known: set[str] = set()
    for stack, program in _programs():
        name = program.names[0]
        path = source.which(name)
        if path is None or path in known or program.within not in path.lower():
            continue
        answer = re.search(program.answer, source.run(name, *program.words) or "", re.MULTILINE)
        if answer is not None:
            known.add(path)
            prefix = path.rpartition("/bin/")[0] or "/usr"
            found[stack] = FoundStack(stack, f"{name} says version {answer[1]}", prefix)
    return found


def _programs() -> list[tuple[str, VersionProgram]]:
    """Return each stack's programs, first those that are also known by their path. The first that answers is taken."""
    every = [(name, program) for name, stack in STACKS.items() for program in stack.programs]
    return sorted(every, key=lambda one: not one[1].within)


def _in_modules(listing: str) -> dict[str, FoundStack]:
    """Return the newest module of each stack, or the one that the site marks as its default."""
    candidates: dict[str, list[tuple[bool, str]]] = {}
    for line in listing.split("\n"):
        found = _NAMES_OF_MODULES.fullmatch(line.strip())
        if found is None or found[1].endswith("/"):
            continue
        # Debian and Red Hat have modules without a version: mpi/openmpi-x86_64
        names = (found[1].rpartition("/")[0], found[1])
        stack = next((name for name, entry in STACKS.items() if _is_module(entry.module, names)), None)
        if stack is not None:
            marked = "(d" in line.lower().replace(" ", "")
            candidates.setdefault(stack, []).append((marked, found[1]))
    chosen = {}
    for stack, modules in candidates.items():
        _, module = max(modules, key=lambda one: (one[0], natural(one[1])))
        how = "a module" if len(modules) == 1 else f"the default or else newest of {len(modules)} modules"
        chosen[stack] = FoundStack(stack, how, module=module)
    return chosen


def _is_module(pattern: str | None, names: Iterable[str]) -> bool:
    whole = re.compile(f"(?:.*/)?(?:{pattern})", re.IGNORECASE)
    return pattern is not None and any(map(whole.fullmatch, names))


def _mpi_tools(source: Source) -> dict[str, str]:
    found: dict[str, str] = {}
    for program, tool, above in MPI_TOOLS:
        path = source.which(program)
        if path is not None:
            found.setdefault(tool, "/".join(path.split("/")[:-above]) if above else path)
    return found


def _with(stack: FoundStack, tools: Mapping[str, str]) -> FoundStack:
    return FoundStack(stack.name, stack.how, stack.prefix, stack.module, dict(tools))


def _pairs(source: Source) -> tuple[FoundStack, ...]:
    found: dict[str, FoundStack] = {}
    for stack, shown in (
        (name, shown) for name, entry in STACKS.items() if entry.pair for shown in entry.tool_programs
    ):
        path = source.which(shown.name)
        if path is None:
            continue
        folder = path.rpartition("/")[0]
        there = dict(found[stack].benchmarks) if stack in found else {}
        there[shown.tool] = folder if shown.is_folder else path
        found[stack] = FoundStack(stack, "on the search path", folder.removesuffix("/bin") or "/usr", benchmarks=there)
    return tuple(found.values())
