"""Errors that a node's counters saw during a run: hard ones fail, signals are said, as is what cannot be seen.

A hard error is one that a healthy link does not make in minutes (a link that goes down, a packet that arrives broken).
A signal belongs to a working fabric under load (pause, ECN, a packet that is sent again), so it decides nothing unless
the system's file bounds it.
"""

from collections.abc import Collection, Mapping

from railyard.base.bounds import HARD_ERRORS, RESENT_SHARE
from railyard.base.wording import percent
from railyard.hardware.counters import error_maximum
from railyard.job.counters.node import DeviceCounters, NodeCounters
from railyard.results.record.form import Suspect
from railyard.verdict.blame.suspects import sends_again
from railyard.verdict.path.bonds import ports_of
from railyard.verdict.path.split import Finding

_SHOWN = 4


def plain_name(counter: str) -> str:
    """Return a counter as a system's file names it: without the folder."""
    return counter.removeprefix("hw/")


def error_findings(
    node: str, reading: NodeCounters, rails: Collection[str], bounds: Mapping[str, int]
) -> list[Finding]:
    """Return a finding for each meant rail of a node with errors above their bound, the rail as suspect.

    The errors of a port that is bonded to a rail are that rail's. ``bounds`` are the system's own, by plain name; a
    signal has one only there.
    """
    found = []
    for rail, device in _of_rails(reading, rails):
        said = [_above(device, counter, grown, bounds) for counter, grown in _judged(device, bounds).items()]
        broken = [sentence for sentence in said if sentence is not None]
        if broken:
            where = _where(rail, device, node)
            sentence = f"errors on {where} during the run: {'; '.join(broken)}"
            suspect = Suspect("rail", "; ".join(broken), node, rail)
            found.append(Finding("failed", sentence, "fabric", look_at(where), (suspect,)))
    return found


def error_remarks(node: str, reading: NodeCounters, rails: Collection[str]) -> list[str]:
    """Return what was seen and decides nothing, and what could not be seen, a sentence each."""
    said = []
    for rail, device in _of_rails(reading, rails):
        where = _where(rail, device, node)
        if device.signals:
            grown = [f"{plain_name(counter)} {count}" for counter, count in device.signals.items()]
            more = f" and {len(grown) - _SHOWN} more" if len(grown) > _SHOWN else ""
            said.append(f"signals on {where}: {', '.join(grown[:_SHOWN])}{more}")
        for counter in device.stuck:
            stands = f"{plain_name(counter)} of {where} stood at its maximum, {error_maximum(counter)}, before the run"
            said.append(f"{stands} and cannot be seen to grow: clear it")
        if device.virtual:
            said.append(f"port errors of {where} not seen: it is a virtual function")
    if loses(reading) and reading.resent and reading.sent:
        share = f"{percent(reading.resent / reading.sent)}; bound {percent(RESENT_SHARE.value)}, {RESENT_SHARE.name}"
        said.append(f"TCP of {node} sent {reading.resent} of {reading.sent} segments again ({share})")
    return said


def loses(reading: NodeCounters) -> bool:
    """Return whether TCP of a node sent more segments again than a healthy path makes it, over whatever rail."""
    return sends_again(reading.resent, reading.sent)


def look_at(where: str) -> str:
    """Return what to look at where a rail makes errors or loses packets; ``where`` is ``hsn1 of vn2``."""
    return f"cable, port and switch port of {where}: link state, and error counters of both ends"


def _of_rails(reading: NodeCounters, rails: Collection[str]) -> list[tuple[str, DeviceCounters]]:
    own = [(device.device, device) for device in reading.devices if device.device in rails]
    return [*own, *ports_of(reading, rails)]


def _where(rail: str, device: DeviceCounters, node: str) -> str:
    return f"{device.device} of {node}" + ("" if device.device == rail else f" (a port of {rail})")


def _judged(device: DeviceCounters, bounds: Mapping[str, int]) -> dict[str, int]:
    bounded = {counter: grown for counter, grown in device.signals.items() if plain_name(counter) in bounds}
    return {**device.errors, **bounded}


def _above(device: DeviceCounters, counter: str, grown: int, bounds: Mapping[str, int]) -> str | None:
    name = plain_name(counter)
    bound = bounds.get(name, round(HARD_ERRORS.value))
    if grown <= bound:
        return None
    whose = "the system's file" if name in bounds else HARD_ERRORS.name
    return f"{name} grew by {grown} (bound {bound}, {whose})"
