"""What a soak saw in readings of every rail's counters: rates, errors an hour, links that flapped or stalled.

Readings are cumulative counters; what happened lies between two of them. An error that the counters of a device do not
have is not seen, and nothing here says that it was absent.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from railyard.doctor.finding import Finding, problem, remark

#: A rail of one node.
Place = tuple[str, str]
#: Bytes sent and received.
TRAFFIC = ("tx_bytes", "rx_bytes")
CHANGES = "carrier_changes"
#: Errors of the link itself, of which a healthy one has none in a night; the others are signals of load.
HARD = ("rx_crc_errors", "rx_frame_errors", "rx_length_errors", "tx_carrier_errors", "rx_errors", "tx_errors")
#: What else a counter of errors is called; all others count traffic.
_ERRORS = ("_errors", "_dropped", "collisions", "_discards", "link_downed", "symbol_error")
#: Between two readings a rail that carries less than this share of its own median has stalled.
_STALLED = 0.5
_S_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Reading:
    """All counters at one moment: ``at_s`` since the soak began; a rail that could not be read is not in ``values``."""

    at_s: float
    values: Mapping[Place, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Soaked:
    """One rail over the whole soak.

    ``sent_mb_s`` and ``received_mb_s`` are medians of the intervals (10^6 B/s), ``least_mb_s`` the lower of both
    directions in its worst interval, which began at ``least_at_s``. ``errors`` are what grew, an hour. ``changes``: how
    often the link went up or down, and when a reading first showed it. ``unread``: readings without this rail.
    """

    node: str
    rail: str
    sent_mb_s: float
    received_mb_s: float
    least_mb_s: float
    least_at_s: float
    errors: Mapping[str, float]
    changes: int
    first_change_s: float | None
    unread: int

    @property
    def where(self) -> str:
        """The rail as findings name it."""
        return f"{self.node} {self.rail}"


def soaked(readings: Sequence[Reading]) -> tuple[Soaked, ...]:
    """Return each rail that was read at least twice, in the order of the first reading that has it."""
    places = dict.fromkeys(place for reading in readings for place in reading.values)
    found = (_soaked(place, readings) for place in places)
    return tuple(one for one in found if one is not None)


def findings(rails: Sequence[Soaked]) -> Iterator[Finding]:
    """Yield what is wrong: links that went down, hard errors, stalls; then what may be, and what was not seen."""
    for rail in rails:
        if rail.changes:
            yield problem(
                rail.where,
                f"its link went up or down {rail.changes} time{'' if rail.changes == 1 else 's'}, first seen after "
                f"{duration(rail.first_change_s or 0.0)}",
                "change the cable or transceiver, then the port: a link under load stays up",
            )
        hard = {name: rate for name, rate in rail.errors.items() if name in HARD}
        if hard:
            yield problem(rail.where, _errors(hard), "change the cable or transceiver, then the port")
        usual = min(rail.sent_mb_s, rail.received_mb_s)
        if usual > 0 and rail.least_mb_s < _STALLED * usual and not rail.changes:
            yield problem(
                rail.where,
                f"it carried {rail.least_mb_s:.1f} MB/s from {duration(rail.least_at_s)} on, usually {usual:.1f} MB/s",
                "see what else happened then: the node's log, the switch's, another job",
            )
        soft = {name: rate for name, rate in rail.errors.items() if name not in HARD}
        if soft:
            yield remark(rail.where, _errors(soft), "a signal of load: compare the rails with one another")
        if rail.unread:
            readings = f"{rail.unread} reading{'' if rail.unread == 1 else 's'}"
            yield remark(rail.where, f"it is not in {readings}", "its counters could not be read then")


def is_error(counter: str) -> bool:
    """Return whether a counter counts errors or losses; one that a driver calls otherwise is not looked at."""
    return counter.endswith(_ERRORS)


def duration(seconds: float) -> str:
    """Return a time as people say it: ``42 s``, ``5 min 10 s``, ``7 h 3 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _soaked(place: Place, readings: Sequence[Reading]) -> Soaked | None:
    own = [(reading.at_s, reading.values[place]) for reading in readings if place in reading.values]
    if len(own) < 2 or own[-1][0] <= own[0][0]:
        return None
    sent, received = _rates(own, TRAFFIC[0]), _rates(own, TRAFFIC[1])
    lower = [min(pair) for pair in zip(sent, received, strict=True)]
    worst = min(range(len(lower)), key=lower.__getitem__)
    hours = (own[-1][0] - own[0][0]) / _S_PER_HOUR
    first, last = own[0][1], own[-1][1]
    names = [name for name in first if is_error(name) and last.get(name, 0) > first[name]]
    before = first.get(CHANGES, 0)
    changed = next((at for at, counters in own if counters.get(CHANGES, 0) > before), None)
    return Soaked(
        *place,
        sent_mb_s=median(sent),
        received_mb_s=median(received),
        least_mb_s=lower[worst],
        least_at_s=own[worst][0],
        errors={name: (last[name] - first[name]) / hours for name in names},
        changes=max(0, last.get(CHANGES, 0) - before),
        first_change_s=changed,
        unread=len(readings) - len(own),
    )


def _rates(own: Sequence[tuple[float, Mapping[str, int]]], counter: str) -> list[float]:
    """Return MB/s (10^6 B/s) between each reading and the next; a counter that went back counts as nothing moved."""
    pairs = itertools.pairwise(own)
    return [
        max(0, after.get(counter, 0) - before.get(counter, 0)) / 1e6 / (later - earlier)
        for (earlier, before), (later, after) in pairs
    ]


def _errors(errors: Mapping[str, float]) -> str:
    said = ", ".join(f"{name} {rate:.3g}" for name, rate in errors.items())
    return f"errors grew, an hour: {said}"
