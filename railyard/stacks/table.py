"""The table of stacks, collected from the modules of ``entries/``. A new stack is one module there.

A system's file may declare further ones, for the process that reads it.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from railyard.stacks import entries
from railyard.stacks.model import Stack


def _find_stacks() -> Mapping[str, Stack]:
    """Return all stacks by name: MPI libraries first, families together. A family prints its first stack's words."""
    found: dict[str, Stack] = {}
    for module in sorted(each.name for each in iter_modules(entries.__path__)):
        stacks: Mapping[str, Stack] = import_module(f"{entries.__name__}.{module}").STACKS
        if twice := found.keys() & stacks.keys():
            raise ValueError(f"{entries.__name__}.{module}: another module has {', '.join(sorted(twice))} already")
        found |= stacks
    return dict(sorted(found.items(), key=lambda item: (not item[1].is_mpi, item[1].pair)))


#: The stacks of ``entries/``.
OWN: Mapping[str, Stack] = MappingProxyType(_find_stacks())
_known = dict(OWN)
#: These, and those that the systems' files declare that were read so far.
STACKS: Mapping[str, Stack] = MappingProxyType(_known)


def declare(name: str, stack: Stack) -> bool:
    """Add a stack that a system's file declares. Return whether there is another one of that name, which then stays."""
    return _known.setdefault(name, stack) != stack
