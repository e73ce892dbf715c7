"""Compares a figure with the least that it must reach; measures again if it is too low, within the gate's bytes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from railyard.base.wording import number
from railyard.cluster.gate.model import Fault, Look, Part
from railyard.parsers.parsed import ParseError

#: The size of a message: from this size on, a link must reach its floor.
MESSAGE_BYTES = 1 << 20
#: perftest needs at least the first number of iterations; more than the second would only make the gate longer.
FEWEST, MOST = 5, 2000
#: A figure that is too low is measured so often in all.
TIMES = 2

_FIX = "measure it with railyard run on this node alone, and check its settings with railyard doctor --nodes"


def messages(most_bytes: int, measurements: int) -> int:
    """Return how many messages of ``MESSAGE_BYTES`` each measurement may send, even if all of them are repeated."""
    return min(MOST, most_bytes // (MESSAGE_BYTES * TIMES * max(1, measurements)))


@dataclass(frozen=True, slots=True)
class WantedFigure:
    """What is measured, the least that it must reach in MB/s (10^6 B/s), and the source of that.

    ``busy``: what ran on the node before anything was measured; None if it was idle.
    """

    part: Part
    what: str
    least_mb_s: float
    source: str
    busy: str | None = None


def look(wanted: WantedFigure, measure: Callable[[], float | str]) -> Look:
    """Return what a measurement says about the node; ``measure`` returns MB/s, or why there is no figure.

    One figure that is too low is not a fault. It is a fault only if it is low again on a node that was idle.
    """
    found: list[float] = []
    while len(found) < TIMES and not (found and found[-1] >= wanted.least_mb_s):
        try:
            value = measure()
        except (OSError, ParseError) as error:
            value = str(error)
        if isinstance(value, str):
            return Look(wanted.part, doubt=f"{wanted.what} gave no figure: {value}")
        found.append(value)
    return _judge_figure(wanted, found)


def _judge_figure(wanted: WantedFigure, found: Sequence[float]) -> Look:
    reached = found[-1] >= wanted.least_mb_s
    if reached and len(found) == 1:
        return Look(wanted.part, True)
    shown = " and ".join(f"{number(each)} MB/s" for each in found)
    said = f"{wanted.what}: {shown}, expected at least {number(wanted.least_mb_s)} ({wanted.source})"
    if reached:
        return Look(wanted.part, True, doubt=f"disturbed: {said}, and the second measurement is good")
    if wanted.busy is not None:
        return Look(wanted.part, True, doubt=f"disturbed: {said}, and {wanted.busy}")
    return Look(wanted.part, True, (Fault(said, _FIX),))
