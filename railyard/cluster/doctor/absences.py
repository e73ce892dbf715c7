"""What a dry run cannot check on a host that is not of the cluster: one sentence for each thing that is not here."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping

from railyard.base.paths import why_absent
from railyard.base.wording import count_of, listing
from railyard.cluster.doctor.login import needed_programs
from railyard.job import node_programs
from railyard.job.image import LOOK_SCRIPT
from railyard.site.site import Site
from railyard.site.systems.model import System
from railyard.site.systems.module_system import FIX, NO_MODULES, find_unloaded
from railyard.stacks.containers import Image

#: A modules system -> the program that ReFrame calls for it; Lmod's is in a variable that its set-up sets.
_PROGRAMS: Mapping[str, str] = {"envmod": "modulecmd", "tmod4": "modulecmd", "spack": "spack"}
_LMOD = "LMOD_CMD"


def why_no_modules(system: System) -> str | None:
    """Return what of the system's modules system is not on this host; None if it is there, or none is needed."""
    kind = system.modules_system
    if kind in (None, NO_MODULES):
        return None
    if kind == "lmod":
        program = os.environ.get(_LMOD)
        return None if program and os.path.exists(program) else f"no Lmod (the variable {_LMOD} names none)"
    program = _PROGRAMS[kind]
    return None if shutil.which(program) else f"no {program} on PATH"


def no_modules_sentence(system: System) -> str | None:
    """Return why no job of a system can be submitted from this host for lack of its modules system; None if it can."""
    why = why_no_modules(system)
    if why is None:
        return None
    return (
        f"modules_system: found {why} on this host, expected {system.modules_system} as systems/{system.system}.yaml "
        "says; run it on a login host of the cluster, with the modules set up, or here: railyard run --dry-run, "
        "railyard rehearse"
    )


def absences(site: Site, used: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each thing of a system's file that this host lacks, so that nobody looked at it.

    ``used``: the stack and the tool of each test. A system of this host alone has nothing to yield.
    """
    system, used = site.system, tuple(dict.fromkeys(used))
    if system.provider != "nodes":
        return
    lacking = [name for name in needed_programs(system) if name != "spack" and not shutil.which(name)]
    if lacking:
        yield (
            f"scheduler: {listing(lacking)} {'is' if len(lacking) == 1 else 'are'} not on this host, so that nobody "
            "asked whether it takes these jobs"
        )
    stacks = tuple(dict.fromkeys(stack for stack, _ in used))
    why, named = why_no_modules(system), set[str]()
    if why is not None:
        named = {module for stack in stacks for module in system.modules_of(stack)}
        named |= {module for fabric in system.fabrics.values() for module in fabric.modules}
    if named:
        yield (
            f"modules_system: {why} on this host, so that nobody looked for {count_of(len(named), 'module')}; the "
            "scripts load them in the file's order, and unload none that conflict"
        )
    yield from (f"{said}; {FIX}" for stack, said in find_unloaded(system) if stack in stacks)
    yield from _paths(site, used, stacks)


def _paths(site: Site, used: Iterable[tuple[str, str]], stacks: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each prefix, program and image that is not here. Paths in an image are of no host."""
    for stack in stacks:
        entry = site.system.stacks[stack]
        if entry.container is not None:
            yield _image(stack, entry.container.image_at(site.home))
            continue
        path = entry.path(entry.prefix, site.home) if entry.prefix and entry.spack is None else None
        why = why_absent(path) if path is not None else None
        if why is not None:
            yield f"stacks.{stack}.prefix: {path} {why}, so that nobody looked for the library there"
    for stack, tool in used:
        entry = site.system.stacks[stack]
        if entry.spack is not None or entry.container is not None or tool not in entry.benchmarks:
            continue
        path = entry.executable(tool, site.home)
        why = why_absent(path)
        if why is not None:
            yield (
                f"stacks.{stack}.benchmarks.{tool}: {path} {why}, so that nobody looked for programs "
                f"there; if it is a folder, the job does so itself ({node_programs.SCRIPT})"
            )


def _image(stack: str, inside: Image) -> str:
    why = why_absent(inside.file) if inside.file is not None else None
    begin = f"stacks.{stack}.container: {inside.file} {why}, and" if why else f"stacks.{stack}.container:"
    return f"{begin} nobody looked into {inside}; the job does so itself before the benchmark ({LOOK_SCRIPT})"
