"""Merges what each node of a soak under a scheduler read (``soak.sh``) into readings of all nodes. Reads no files.

The table of drivers says which counters are traffic: they become bytes sent and received. Of the other counters, those
stay that the table calls errors or signals.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from railyard.cluster.soak.judge import CHANGES, SIGNAL, TRAFFIC, Place, Reading
from railyard.hardware.counters import DRIVERS, Driver

#: Counters by device, as one node read them at one time.
Raw = Mapping[str, Mapping[str, int]]
_END = "end\n"


def parse(text: str) -> tuple[tuple[float, Raw], ...]:
    """Return the readings of one node, each with the seconds since the node started; leave out one that was cut."""
    found: list[tuple[float, Raw]] = []
    at_s, values = 0.0, dict[str, dict[str, int]]()
    for line in text.splitlines():
        match line.split():
            case ["at", seconds]:
                at_s, values = float(seconds), {}
            case ["end"]:
                found.append((at_s, values))
            case [device, counter, value] if value.isdigit():
                values.setdefault(device, {})[counter] = int(value)
    return tuple(found)


def complete_readings(text: str) -> tuple[str, str]:
    """Return the complete readings of a text, and the rest of the text: the beginning of the next reading."""
    end = 0 if text == _END or text.startswith(_END) else text.rfind(f"\n{_END}") + 1
    cut = end + len(_END) if end or text.startswith(_END) else 0
    return text[:cut], text[cut:]


def merge_readings(nodes: Mapping[str, Sequence[tuple[float, Raw]]], drivers: Mapping[str, str]) -> tuple[Reading, ...]:
    """Return the readings of all nodes: the first of each together, and so on; a node with fewer is not in the last.

    ``drivers``: device -> its row of the table of drivers.
    """
    made = Merger(tuple(nodes), drivers)
    for node, own in nodes.items():
        for at_s, raw in own:
            made.take(node, at_s, raw)
    return tuple(made.ready(is_over=True))


class Merger:
    """Merges readings as they come: the nth readings of all nodes become one reading, once every node has made it.

    It keeps what some nodes have read and others have not yet, and nothing that it has already given out.
    """

    def __init__(self, nodes: Sequence[str], drivers: Mapping[str, str]) -> None:
        self._drivers = drivers
        self._nodes = {node: _Node() for node in nodes}

    def take(self, node: str, at_s: float, raw: Raw) -> None:
        """Take one reading of a node; ``at_s`` is the node's own time in seconds."""
        self._nodes[node].take(at_s, raw, self._drivers)

    def ready(self, *, is_over: bool) -> Iterator[Reading]:
        """Yield what every node has read. If the soak ``is_over``, yield the rest too, without nodes that read less."""
        while any(each.waiting for each in self._nodes.values()) if is_over else self._is_complete():
            there = {node: each.waiting.popleft() for node, each in self._nodes.items() if each.waiting}
            values: dict[Place, Mapping[str, int]] = {
                (node, device): counters for node, (_, made) in there.items() for device, counters in made.items()
            }
            yield Reading(median(since_s for since_s, _ in there.values()), values)

    def _is_complete(self) -> bool:
        return bool(self._nodes) and all(each.waiting for each in self._nodes.values())


@dataclass(slots=True)
class _Node:
    """What one node read: when it began, its last counters by device, and (seconds since, counters) not yet given."""

    begun_s: float | None = None
    last: dict[str, dict[str, int]] = field(default_factory=dict)
    waiting: deque[tuple[float, dict[str, dict[str, int]]]] = field(default_factory=deque)

    def take(self, at_s: float, raw: Raw, drivers: Mapping[str, str]) -> None:
        if self.begun_s is None:
            self.begun_s = at_s
        made = {device: _continue_counters(counters, self.last.get(device, {}), DRIVERS[drivers[device]])
                for device, counters in raw.items()}  # fmt: skip
        self.last |= made
        self.waiting.append((at_s - self.begun_s, _counters_by_device(made, drivers)))


def _continue_counters(counters: Mapping[str, int], before: Mapping[str, int], row: Driver) -> dict[str, int]:
    """Return a device's counters. A traffic counter that began again at 0 continues from its last value."""
    made = dict(counters)
    # A counter of 64 bits begins again only when its driver does.
    for name in () if row.clamps or row.width_bits >= 64 else _traffic(row):
        if name in made and made[name] < before.get(name, 0):
            span = 1 << row.width_bits
            made[name] += -(-(before[name] - made[name]) // span) * span
    return made


def _traffic(row: Driver) -> tuple[str, ...]:
    return (*row.tx.split("+"), *row.rx.split("+"))


def _counters_by_device(raw: Raw, drivers: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return the counters of each device under the judge's names; leave out a device if its traffic is unknown."""
    found = {}
    for device, counters in raw.items():
        row = DRIVERS[drivers[device]]
        full = (1 << row.width_bits) - 1 if row.clamps else None
        traffic = _traffic(row)
        if any(name not in counters or counters[name] == full for name in traffic):
            continue
        ways = zip(TRAFFIC, (row.tx, row.rx), strict=True)
        made = {way: sum(counters[name] for name in names.split("+")) * row.unit_bytes for way, names in ways}
        made |= {name: counters[name] for name in (CHANGES, *row.errors) if name in counters}
        made |= {f"{name}{SIGNAL}": counters[name] for name in row.signals if name in counters}
        found[device] = made
    return found
