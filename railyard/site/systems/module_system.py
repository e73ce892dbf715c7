"""Environment modules of a system: the kinds that ReFrame knows, and stacks whose modules nothing would load."""

from collections.abc import Iterator

from railyard.base.wording import count_of, listing
from railyard.site.systems.model import System

#: ReFrame's name for no modules system.
NO_MODULES = "nomod"


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
