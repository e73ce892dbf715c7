"""Processors by the names that archspec gives them, as Spack does: families, what runs on what, what a target needs.

Source: archspec's table of microarchitectures, from which Spack takes its targets.
"""

from typing import Any

#: /proc/cpuinfo of x86 prints these under another name (archspec has the same feature aliases).
_PRINTED_AS = {"lzcnt": "abm", "sse3": "pni"}


def is_known(name: str) -> bool:
    """Return whether archspec knows a processor of this name: ``neoverse_v2``, ``x86_64_v3``, ``aarch64``."""
    return name in _table()


def names() -> tuple[str, ...]:
    """Return all names of processors, sorted."""
    return tuple(sorted(_table()))


def family_of(name: str) -> str:
    """Return the family of a processor: ``aarch64`` for ``neoverse_v2``. A name that is not known is its own family."""
    known = _table().get(name)
    return name if known is None else str(known.family)


def can_run(processor: str, target: str) -> bool:
    """Return whether a processor runs what is compiled for a target: the same one, or one that it descends from."""
    known = _table().get(processor)
    return processor == target or (known is not None and target in [each.name for each in known.ancestors])


def features(target: str) -> tuple[str, ...]:
    """Return the features that a target adds to its family, as /proc/cpuinfo prints them; none if it is not known."""
    known = _table().get(target)
    if known is None:
        return ()
    return tuple(sorted(_PRINTED_AS.get(name, name) for name in known.features - known.family.features))


def _table() -> Any:
    import archspec.cpu  # it reads its table from a file: not on the path of a listing

    return archspec.cpu.TARGETS
