"""What each node of a soak under a scheduler read of its rails (``soak.sh``), as readings of all nodes. Pure.

A driver's counters of traffic become bytes sent and received, by the table of drivers; of its other counters those stay
that the table calls errors or signals.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from railyard.cluster.soak.judge import CHANGES, SIGNAL, TRAFFIC, Place, Reading
from railyard.hardware.counters import DRIVERS, Driver

#: Counters by device, as one node read them at once.
Raw = Mapping[str, Mapping[str, int]]


def parse(text: str) -> tuple[tuple[float, Raw], ...]:
    """Return the readings of one node, each with the seconds since the node started; one that is cut is left out."""
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


def merged(nodes: Mapping[str, Sequence[tuple[float, Raw]]], drivers: Mapping[str, str]) -> tuple[Reading, ...]:
    """Return the readings of all nodes, the first of each together, and so on; a node with fewer is not in the last.

    ``drivers`` has the row of the table of drivers of each device.
    """
    counted = {node: [_counted(raw, drivers) for raw in _unwrapped(own, drivers)] for node, own in nodes.items()}
    found = []
    for number in range(max((len(own) for own in nodes.values()), default=0)):
        there = [node for node, own in nodes.items() if len(own) > number]
        at_s = median(nodes[node][number][0] - nodes[node][0][0] for node in there)
        values: dict[Place, Mapping[str, int]] = {
            (node, device): each for node in there for device, each in counted[node][number].items()
        }
        found.append(Reading(at_s, values))
    return tuple(found)


def complete(nodes: Mapping[str, Sequence[object]]) -> int:
    """Return how many readings every node has made."""
    return min((len(own) for own in nodes.values()), default=0)


def _unwrapped(own: Sequence[tuple[float, Raw]], drivers: Mapping[str, str]) -> list[Raw]:
    """Return a node's readings in which a counter of traffic that began again from 0 goes on."""
    found: list[dict[str, dict[str, int]]] = []
    for _, raw in own:
        made = {device: dict(counters) for device, counters in raw.items()}
        for device, counters in made.items():
            row = DRIVERS[drivers[device]]
            before = next((each[device] for each in reversed(found) if device in each), {})
            # One of 64 bits begins again with its driver, and no sooner.
            for name in () if row.clamps or row.width_bits >= 64 else _traffic(row):
                if name in counters and counters[name] < before.get(name, 0):
                    span = 1 << row.width_bits
                    counters[name] += -(-(before[name] - counters[name]) // span) * span
        found.append(made)
    return list(found)


def _traffic(row: Driver) -> tuple[str, ...]:
    return (*row.tx.split("+"), *row.rx.split("+"))


def _counted(raw: Raw, drivers: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return the counters of each device in the judge's words; one whose traffic is not known is left out."""
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
