"""Reads the error counters of a node's rails, and judges how much they grew since the node's last gate."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.bounds import HARD_ERRORS
from railyard.cluster.fabric.sysfs import text
from railyard.cluster.gate.model import Fault, Gap, Look
from railyard.hardware.counters import DRIVERS, error_maximum
from railyard.job.launch import device_name
from railyard.parsers.fabric.words import integer
from railyard.site.systems.model import Rail, System

#: Rail -> counter -> value.
Counts = Mapping[str, Mapping[str, int]]
_FIX = "check its cable and the switch port; after the repair, start afresh with railyard gate --forget"


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters of all rails at one time, and what could not be read."""

    counts: Counts
    gaps: tuple[Gap, ...] = ()


def read(sys: Path, system: System) -> Reading:
    """Return the error counters of every rail below a sysfs root, and the signals for which the gate has a bound."""
    counts: dict[str, dict[str, int]] = {}
    gaps: list[Gap] = []
    rails = {device_name(rail): rail for fabric in system.fabrics.values() for rail in fabric.rails}
    for name, rail in rails.items():
        driver = DRIVERS.get(rail.counters)
        bounded = () if driver is None else tuple(each for each in driver.signals if each in system.gate.counters)
        watched = () if driver is None else (*driver.errors, *bounded)
        values = {each: integer(text(_file(sys, rail, each)) or "") for each in watched}
        unread = [each for each, value in values.items() if value is None]
        counts[name] = {each: value for each, value in values.items() if value is not None}
        if not watched:
            gaps.append(Gap(f"counters of {name}", "its driver has no error counters"))
        elif not counts[name]:
            gaps.append(Gap(f"counters of {name}", "the kernel shows none"))
        elif unread:
            gaps.append(Gap(f"{', '.join(unread)} of {name}", "the kernel shows none"))
    return Reading(counts, tuple(gaps))


def _file(sys: Path, rail: Rail, counter: str) -> Path:
    if rail.counters == "netdev":
        return sys / "class/net" / rail.device / "statistics" / counter
    port = sys / "class/infiniband" / rail.device / "ports" / str(rail.port or 1)
    folder = "hw_counters" if counter.startswith("hw/") else "counters"
    return port / folder / counter.removeprefix("hw/")


def look(before: Counts | None, now: Reading, bounds: Mapping[str, int]) -> Look:
    """Return what grew beyond its bound since the last gate; ``before`` is None if there was no gate since the boot.

    A counter that is lower than before was cleared in between. A counter at its maximum cannot grow. Neither is judged.
    """
    if before is None:
        first = Gap("counters", "no earlier gate since this boot to compare with")
        return Look("counters", gaps=(first, *now.gaps))
    faults: list[Fault] = []
    gaps = list(now.gaps)
    compared = 0
    for rail, counts in now.counts.items():
        grown: list[str] = []
        for name, value in counts.items():
            base = before.get(rail, {}).get(name)
            if base is None or value < base or value == error_maximum(name):
                gaps.append(Gap(f"{name} of {rail}", _why_not(name, value, base)))
                continue
            compared += 1
            most = bounds.get(name, HARD_ERRORS.value)
            if value - base > most:
                grown.append(f"{name} grew by {value - base} since the last gate, expected at most {most:g}")
        if grown:
            faults.append(Fault(f"{rail}: {'; '.join(grown)}", _FIX))
    return Look("counters", compared > 0, tuple(faults), tuple(gaps))


def _why_not(name: str, value: int, base: int | None) -> str:
    if base is None:
        return "not read by the last gate"
    if value < base:
        return "cleared since the last gate"
    return "at its largest value: clear it"
