"""Environment modules of a system: the kinds that ReFrame knows, what nothing would load, and what this host lacks."""

import os
import shutil
from collections.abc import Iterator, Mapping

from railyard.base.wording import count_of, listing
from railyard.site.systems.model import System

#: ReFrame's name for no modules system.
NO_MODULES = "nomod"
#: A modules system -> the program that ReFrame calls for it; Lmod's is in a variable that its set-up sets.
_PROGRAMS: Mapping[str, str] = {"envmod": "modulecmd", "tmod4": "modulecmd", "spack": "spack"}
_LMOD = "LMOD_CMD"


def find_unloaded(system: System) -> Iterator[tuple[str, str]]:
    """Yield each stack whose modules would not be loaded, with the sentence why. A replay loads none.

    If a system names no modules system, ReFrame silently ignores them, and another MPI of the nodes would run.
    """
    if system.provider == "replay" or system.modules_system not in (None, NO_MODULES):
        return
    own = next((each for each, fabric in system.fabrics.items() if fabric.modules), None)
    for name, entry in system.stacks.items():
        if own is not None and not entry.modules:
            modules = listing(system.fabrics[own].modules)
            yield name, f"fabrics.{own}.modules: found {modules} and no modules_system, so nothing loads them"
        if entry.modules:
            modules = f"{count_of(len(entry.modules), 'module')} ({listing(entry.modules)})"
            yield name, f"stacks.{name}.modules: found {modules} and no modules_system, so nothing loads them"


#: What to do about it.
FIX = "write modules_system (lmod, envmod or spack) into the system's file"


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
