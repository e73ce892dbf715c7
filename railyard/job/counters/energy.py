"""The energy that a run used, if a node shows it without root: from its own meter (Cray), or its processors' (RAPL).

It is reported and never judged: it includes whatever else a node did, and RAPL leaves out memory, cards and fans.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from railyard.benchmarks.curve import Figure
from railyard.job.counters.lines import Facts

Of = Literal["nodes", "processors"]

_NODE = "node_joules"
_PROCESSOR, _RANGE = "processor_uj/", "processor_range_uj/"


@dataclass(frozen=True, slots=True)
class Energy:
    """Joules of one node between two readings, and what was metered: the whole node, or its processors."""

    joules: float
    of: Of


class EnergyReading(Protocol):
    """What one node's counters say about energy."""

    @property
    def energy(self) -> Energy | None: ...

    @property
    def elapsed_s(self) -> float | None: ...


def energy_of(facts: Facts) -> Energy | None:
    """Return the energy of a node between its two readings; None if it shows none, or not for all its processors.

    Sources: Linux Documentation/power/powercap/powercap.rst (energy_uj counts microjoules and starts again at
    max_energy_range_uj); HPE Cray EX, /sys/cray/pm_counters (energy: joules of the node since it started).
    """
    whole = facts.growth_of("-", _NODE)
    if whole is not None:
        return Energy(float(whole), "nodes")
    names = [name for name in facts.counters_of("-") if name.startswith(_PROCESSOR)]
    parts = [_processor(facts, name.removeprefix(_PROCESSOR)) for name in names]
    known = [part for part in parts if part is not None]
    return Energy(sum(known) / 1e6, "processors") if known and len(known) == len(parts) else None


def figures(readings: Mapping[str, EnergyReading], nodes: Iterable[str]) -> tuple[Figure, ...]:
    """Return the energy (J) and the mean power (W) of all nodes of a run; () if they do not all show the same kind."""
    found = [readings[node] if node in readings else None for node in nodes]
    taken = [each.energy for each in found if each is not None and each.energy is not None]
    times = [each.elapsed_s for each in found if each is not None and each.elapsed_s]
    if not found or len(taken) < len(found) or len({each.of for each in taken}) > 1:
        return ()
    of = taken[0].of
    energy = Figure(f"energy_of_{of}", sum(each.joules for each in taken), "J", None)
    if len(times) < len(found):
        return (energy,)
    watts = sum(each.joules / seconds for each, seconds in zip(taken, times, strict=True))
    return (energy, Figure(f"power_of_{of}", watts, "W", None))


def _processor(facts: Facts, name: str) -> int | None:
    grown = facts.growth_of("-", f"{_PROCESSOR}{name}")
    if grown is not None:
        return grown
    before, after = (facts.count(when, "-", f"{_PROCESSOR}{name}") for when in ("before", "after"))
    most = facts.count("before", "-", f"{_RANGE}{name}")
    # It started again once. A second time within one run would take hours at the power of any processor.
    return None if before is None or after is None or most is None or before > most else most - before + after
