"""The model of a node's processors and memory: ``nodes.hardware`` in systems/*.yaml.

Processors by the names that archspec gives them, as Spack does: families, what runs on what, what a target needs.

Source: archspec's table of microarchitectures, from which Spack takes its targets.
"""

import re
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from railyard.base.errors import did_you_mean
from railyard.base.fields import Count, Model, Name, Positive, Size
from railyard.base.values import refuse, show

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


class NodeHardware(Model):
    """Cores and memory of every node, and the clocks that define its peak. What is left out is not judged."""

    cores: Count = Field(description="Physical cores of a node that a job may use, with one rank on each")
    memory: Size = Field(description="How much of a node's memory a job may use, bytes (192G is 192 GiB)")
    threads_per_core: Count | None = Field(
        default=None,
        description="Hardware threads per core (2 with SMT, 1 without). With more than one, every job asks Slurm for "
        "one process or thread per core. If it is left out, only jobs with several of them per node do",
    )
    sockets: Count | None = Field(
        default=None,
        description="Sockets of a node, each with as many of its cores. A rehearsal uses them; if left out: two, or "
        "one with few or an odd number of cores",
    )
    microarchitecture: Name | None = Field(
        default=None,
        description="The processor as Spack and archspec name it: `spack arch -t` prints it on a node (neoverse_v2). "
        "Spack builds for it unless the overlay names a target. If left out, Spack builds for x86_64_v3, or on another "
        "machine for its family (aarch64)",
    )
    base_ghz: Positive | None = Field(default=None, description="Clock that defines the peak: the base clock")
    turbo_ghz: Positive | None = Field(default=None, description="Highest clock of any core: nothing computes faster")
    flop_per_cycle: Count | None = Field(
        default=None, description="Double precision, per core: 16 for AVX2, 32 for AVX-512"
    )
    accelerator_gflop_s: Positive | None = Field(
        default=None, description="Peak of all accelerators of a node together, if any"
    )

    @field_validator("sockets")
    @classmethod
    def _check_sockets(cls, sockets: int | None, info: ValidationInfo) -> int | None:
        cores = info.data.get("cores")
        if sockets is not None and cores is not None and cores % sockets:
            raise refuse(show(sockets), f"a number of sockets that have as many each of the {cores} cores")
        return sockets

    @field_validator("microarchitecture")
    @classmethod
    def _check_microarchitecture(cls, name: str | None) -> str | None:
        if name is not None and not is_known(name):
            near = did_you_mean(name, names())
            raise refuse(
                show(name),
                "a processor as archspec names it",
                near if near.startswith("did") else "type: spack arch -t",
            )
        return name

    def peak_gflop_s(self, ghz: float | None) -> float | None:
        """Return the peak of one node at a clock in GHz, Gflop/s in double precision; None if it is unknown."""
        if ghz is None or self.flop_per_cycle is None:
            return None
        return self.cores * self.flop_per_cycle * ghz + (self.accelerator_gflop_s or 0.0)
