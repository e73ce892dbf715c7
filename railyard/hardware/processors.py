"""Processors by the names that archspec gives them, as Spack does: families, what runs on what, what a target needs.

Source: archspec's table of microarchitectures, from which Spack takes its targets.
"""

import re
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


def name_of_cpuinfo(text: str) -> str | None:
    """Return the processor that /proc/cpuinfo describes, as `spack arch -t` names it there; None if it does not say.

    The text may be of another machine than this one. The name of a family alone (``x86_64``) counts as not known.

    Source: archspec, cpu/detect.py, ``host``, whose rules these are; it reads this machine's file only.
    """
    from archspec.cpu import detect
    from archspec.cpu.schema import TARGETS_JSON

    first = dict(re.findall(r"^([^:\n]*[^:\s])\s*:[ \t]*(.*)$", text.strip().partition("\n\n")[0], re.MULTILINE))
    if "flags" in first:
        family, vendor, found = detect.X86_64, first.get("vendor_id", "generic"), first["flags"]
    elif "Features" in first and "CPU implementer" in first:
        vendors = TARGETS_JSON["conversions"]["arm_vendors"]
        family, vendor, found = detect.AARCH64, vendors.get(first["CPU implementer"], "generic"), first["Features"]
    else:
        return None
    part = first.get("CPU part", "") if family == detect.AARCH64 else ""
    seen = detect.partial_uarch(vendor=vendor, features=set(found.split()), cpu_part=part)
    fits = [each for each in _table().values() if detect.COMPATIBILITY_CHECKS[family](seen, each)]
    of_part = [each for each in fits if part and each.cpu_part == part]

    def closeness(each: Any) -> tuple[int, int]:
        return len(each.ancestors), len(each.features)

    plain = max((each for each in fits if each.vendor == "generic"), key=closeness, default=None)
    if plain is None:
        return None
    # A processor that lacks a feature of its generic level, switched off in the BIOS, is named by that level.
    name = str(max((each for each in of_part or fits if each > plain), key=closeness, default=plain).name)
    return None if name == family else name


def _table() -> Any:
    import archspec.cpu  # it reads its table from a file: not on the path of a listing

    return archspec.cpu.TARGETS
