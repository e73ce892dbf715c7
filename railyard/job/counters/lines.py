"""The lines of a counters file, sorted by kind: names, values of each reading, and what a device is.

They reveal two nodes with the same address.

They also have the energy that a run used, if a node shows it without root: from its own meter (Cray), or its
processors' (RAPL). It is reported and never judged: it includes whatever else a node did, and RAPL leaves out memory,
cards and fans.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from railyard.benchmarks.model import Figure

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


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What a node believes (ARP): behind this address, reached over ``device``, is this hardware address."""

    device: str
    address: str
    hardware: str


@dataclass(frozen=True, slots=True)
class Addresses:
    """A node's own ``hardware`` addresses, each with its device, its own IPv4 addresses, and its ``neighbours``.

    All are empty if the kernel does not show them.
    """

    hardware: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()


_KINDS = ("hardware/", "own/", "arp/")
_READINGS = frozenset(("idle", "before", "last", "after", "rest"))


@dataclass(slots=True)
class Facts:
    """The lines of one file. ``values``: text by (reading, device, counter); readings are idle, before, last (when the
    run got the signal to end), after, and rest (a while after the run).

    ``stuck``: the state (D or T) of each process that did not end by that signal, and the kernel's function that it
    waits in, ``-`` if not known. ``beside``: the network interface on the port of an RDMA device. ``ports``: the
    interfaces bonded into an intended rail. ``abouts``: text by (device, what). The device ``-`` is the node itself.
    """

    named: dict[str, list[str]] = field(default_factory=lambda: {"meant": [], "watched": [], "other": []})
    values: dict[tuple[str, str, str], str] = field(default_factory=dict)
    at: dict[str, float] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    ports: dict[str, list[str]] = field(default_factory=dict)
    abouts: dict[tuple[str, str], str] = field(default_factory=dict)
    waited_ms: int = 0
    exit_code: int | None = None
    first_by: str | None = None
    refused: tuple[str, str] | None = None
    stuck: list[tuple[str, str]] = field(default_factory=list)
    garbled: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All devices once: the intended ones, the watched ones, the others, and the interfaces beside any of these."""
        named = (name for kind in ("meant", "watched", "other") for name in self.named[kind])
        return tuple(dict.fromkeys((*named, *self.beside.values())))

    def elapsed_s(self, first: str, then: str) -> float | None:
        """Return the seconds between two readings, to 10 ms; None if one of them is missing."""
        if first not in self.at or then not in self.at:
            return None
        return round(self.at[then] - self.at[first], 2)

    def count(self, when: str, device: str, counter: str) -> int | None:
        """Return a counter as it was read, None if it is missing or unreadable."""
        value = self.values.get((when, device, counter))
        return int(value) if value is not None and is_count(value) else None

    def sum(self, when: str, device: str, counters: str) -> int | None:
        """Return the sum of counters with ``+`` between them, None if one of them could not be read."""
        found = [self.count(when, device, counter) for counter in counters.split("+")]
        known = [count for count in found if count is not None]
        return sum(known) if len(known) == len(found) else None

    def growth_of(self, device: str, counter: str) -> int | None:
        """Return by how much a counter grew during the run; None if that is unknown or it went backwards."""
        before, after = self.count("before", device, counter), self.count("after", device, counter)
        return None if before is None or after is None or after < before else after - before

    def use_last(self) -> bool:
        """For a killed run, use the last reading as the one after the run; False if there is none."""
        last = {(device, name): value for (when, device, name), value in self.values.items() if when == "last"}
        for (device, name), value in last.items():
            self.values.setdefault(("after", device, name), value)
        if "last" in self.at:
            self.at.setdefault("after", self.at["last"])
        return bool(last)

    def fact_about(self, device: str, what: str) -> str | None:
        """Return what a device is: its driver, layer, mtu, or whether it is virtual; None if the file does not say."""
        return self.abouts.get((device, what))

    def counters_of(self, device: str) -> frozenset[str]:
        """Return the names of the counters that a device had before the run."""
        return frozenset(name for when, owner, name in self.values if when == "before" and owner == device)


def facts_of(lines: list[list[str]]) -> Facts:
    """Return the facts of a file's lines, each split into at most four words; the first bad line is ``garbled``."""
    facts = Facts()
    values = facts.values
    for words in lines:
        # Nearly all of a file's hundreds of lines are like this: the only value of a counter in a reading.
        if len(words) == 4 and words[0] in _READINGS and facts.exit_code is None:
            when, device, counter, value = words
            if (when, device, counter) not in values:
                values[when, device, counter] = value
                continue
        if not _take(facts, words) and facts.garbled is None:
            facts.garbled = " ".join(words)[:60]
    return facts


def is_count(text: str) -> bool:
    """Return whether a text is a number that a 64-bit counter can hold. int() itself refuses only far longer ones."""
    return text.isascii() and text.isdigit() and len(text) <= 20


def _take(facts: Facts, words: list[str]) -> bool:
    """Sort one line in; False if it is not the reader's, is a repetition, or comes after the end."""
    if facts.exit_code is not None:
        return False
    match words:
        case [when, "at", seconds] if when in _READINGS and _is_number(seconds):
            facts.at[when] = float(seconds)
        case ["meant" | "watched" | "other" | "beside" | "port" | "about", *_]:
            return _take_device(facts, words)
        case ["node", _]:
            return True
        case ["first-by", name]:
            facts.first_by = name
        case ["waited", milliseconds] if is_count(milliseconds):
            facts.waited_ms = int(milliseconds)
        case ["stuck", _, "D" | "T" as state, where]:
            facts.stuck.append((state, where))
        case ["refused", rail, *rest]:
            facts.refused = rail, " ".join(rest)
        case ["end", code] if is_count(code):
            facts.exit_code = int(code)
        case _:
            return False
    return True


def _take_device(facts: Facts, words: list[str]) -> bool:
    match words:
        case ["meant" | "watched" | "other" as kind, name]:
            facts.named[kind].append(name)
        case ["beside", device, interface] if device not in facts.beside:
            facts.beside[device] = interface
        case ["port", rail, interface] if interface not in facts.ports.get(rail, ()):
            facts.ports.setdefault(rail, []).append(interface)
        case ["about", device, what, said] if (device, what) not in facts.abouts:
            facts.abouts[device, what] = said
        case _:
            return False
    return True


def _is_number(text: str) -> bool:
    # A longer one would be infinite as a float, and no clock prints it.
    return len(text) <= 20 and text.isascii() and text.replace(".", "", 1).isdigit()


def addresses_of(facts: Facts) -> Addresses:
    """Return what the file says about the node's addresses, and about its neighbours' at the end of its run."""
    hardware: dict[str, str] = {}
    own, neighbours = [], []
    for (when, device, name), value in facts.values.items():
        if not name.startswith(_KINDS):
            continue
        kind, _, address = name.partition("/")
        if (when, kind) == ("before", "hardware"):
            hardware.setdefault(value, device)
        elif (when, kind) == ("before", "own"):
            own.append(address)
        elif (when, kind) == ("after", "arp"):
            neighbours.append(Neighbour(device, address, value))
    return Addresses(hardware, tuple(own), tuple(neighbours))


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
