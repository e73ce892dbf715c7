"""The table of stacks, collected from the modules of ``entries/``. A new stack is one module there."""

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


STACKS: Mapping[str, Stack] = MappingProxyType(_find_stacks())
