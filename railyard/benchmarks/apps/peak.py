"""What a run could compute at most, and which share of its peak it reached: by clocks and cores, not by the network."""

from dataclasses import dataclass

from railyard.base.wording import count_of
from railyard.hardware.node import NodeHardware


@dataclass(frozen=True, slots=True)
class Most:
    """No run can be faster than ``value`` in ``unit``. ``terms`` is the product in words, ``source`` its sources."""

    value: float
    unit: str
    terms: str
    source: str


def most(hardware: NodeHardware | None, nodes: int, source: str) -> Most | None:
    """Return the bound of so many nodes at the highest clock, in Gflop/s; None if the site does not state it."""
    if hardware is None or hardware.turbo_ghz is None:
        return None
    alone = hardware.peak_gflop_s(hardware.turbo_ghz)
    if alone is None:
        return None
    accelerators = f" + {hardware.accelerator_gflop_s:g} Gflop/s" if hardware.accelerator_gflop_s else ""
    cores = f"{hardware.cores} cores x {hardware.flop_per_cycle} flop x {hardware.turbo_ghz:g} GHz (turbo)"
    terms = f"{count_of(nodes, 'node')} of {cores}{accelerators}"
    return Most(nodes * alone, "Gflop/s", terms, source)


def peak_gflop_s(hardware: NodeHardware | None, nodes: int) -> float | None:
    """Return the peak of so many nodes at the base clock, the one that defines a peak; None if it is unknown."""
    alone = None if hardware is None else hardware.peak_gflop_s(hardware.base_ghz)
    return None if alone is None else nodes * alone
