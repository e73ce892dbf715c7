"""What the counter reader wrote on one node, as typed deltas per device.

The reader (``reader.sh``, package data beside this file) copies every counter that the kernel shows. The lines of its
file are first sorted by kind (``Facts``). ``railyard.hardware.counters`` has one row per driver and says which of them
count bytes, in which unit, and how wide they are. If two devices of a node count the same bytes (an RDMA port and the
network interface on it, a card and its other name), they appear once.

The addresses reveal two nodes with the same one. The energy of a run is there if a node shows it without root: from its
own meter (Cray), or its processors' (RAPL). It is reported and never judged: it includes whatever else a node did, and
RAPL leaves out memory, cards and fans.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from railyard.base.bounds import IDLE_INTERVAL
from railyard.base.hostlist import label
from railyard.base.paths import packaged_text
from railyard.benchmarks.model import Figure
from railyard.hardware.counters import DRIVERS, Driver, Overlap, error_maximum, of_device

FORMAT = 1
#: File beside the reader: for how many milliseconds the idle devices are read before the run and after it.
IDLE = "idle_ms"
Of = Literal["nodes", "processors"]
_NODE = "node_joules"
_PROCESSOR, _RANGE = "processor_uj/", "processor_range_uj/"


@dataclass(frozen=True, slots=True)
class Energy:
    """Joules of one node between two readings, and what was metered: the whole node, or its processors."""

    joules: float
    of: Of


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


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a device: bytes before and after; None if the counter was unreadable or missing.

    ``idle_bytes`` is what an idle rail would have moved in that time, by its lower rate before or after the run; 0 if
    neither was measured.
    """

    before_bytes: int | None
    after_bytes: int | None
    full: bool = False
    idle_bytes: int = 0

    @property
    def has_decreased(self) -> bool:
        """True if the counter went backwards: it was reset, it wrapped, or it is another device by now."""
        return self.before_bytes is not None and self.after_bytes is not None and self.after_bytes < self.before_bytes

    @property
    def delta_bytes(self) -> int | None:
        """Bytes moved between the readings beyond the idle ones, never below 0; None if they cannot be known."""
        if self.before_bytes is None or self.after_bytes is None or self.has_decreased or self.full:
            return None
        return max(0, self.after_bytes - self.before_bytes - self.idle_bytes)


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """One device of a node. ``carrier`` is True, False, or None if it was not read, before and after the run.

    ``errors`` and ``signals`` hold by how much the driver's counters grew, only those that did; ``stuck`` are error
    counters that were at their maximum before the run. ``beside`` is the RDMA device whose port this interface is on,
    None for any other device. ``packet_bytes``: the counters count packets of at most so many bytes, so all bytes here
    are upper bounds. ``virtual``: a virtual function, which does not see its port's errors. ``held_ms``: the kernel's
    values may be so old. ``unnamed``: no system file names it. ``foreign``: its kernel driver, if the system's file
    names the counters of another one. ``carrier_changes``: how often the link of an interface went down or came up,
    None if its kernel does not count that.
    """

    device: str
    meant: bool
    tx: Direction
    rx: Direction
    carrier_before: bool | None
    carrier_after: bool | None
    errors: Mapping[str, int]
    signals: Mapping[str, int] = field(default_factory=dict)
    stuck: tuple[str, ...] = ()
    driver: str = "netdev"
    overlap: Overlap = "none"
    beside: str | None = None
    packet_bytes: int | None = None
    virtual: bool = False
    held_ms: int | None = None
    unnamed: bool = False
    foreign: str | None = None
    carrier_changes: int | None = None

    @property
    def trouble(self) -> str | None:
        """Why this device's bytes cannot be known, in words that follow "rail hsn0 of vn1"; None if they can."""
        if self.foreign is not None:
            return f"is driven by {self.foreign}, but the system's file says counters: {self.driver}"
        for name, direction in (("sent", self.tx), ("received", self.rx)):
            if direction.has_decreased:
                return (
                    f"counted fewer bytes {name} after the run ({direction.after_bytes}) than before "
                    f"({direction.before_bytes}): it was reset or replaced"
                )
            if direction.full:
                return f"has a full counter of bytes {name}: it is at its maximum and no longer counts"
            if direction.delta_bytes is None:
                return f"has no readable counter of bytes {name}"
        if self.held_ms is not None:
            return f"has counters that the kernel refreshes every {self.held_ms} ms, for which the reader did not wait"
        return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reader did not start the benchmark because of this rail; None: the node shows no devices at all."""

    rail: str | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Bond:
    """The ports that are bonded into one rail (LAG), and the kernel's name for the mode: ``802.3ad``, ``active-backup``
    …

    The rail counts their bytes. Each port has its own errors and carrier.
    """

    mode: str
    ports: tuple[DeviceCounters, ...]


@dataclass(frozen=True, slots=True)
class NodeCounters:
    """All that the reader wrote on one node; ``problem`` says why it is not reliable (None: it is).

    ``exit_code`` is the command's, None if the file has no end: the run was killed then. ``first_by`` is the launcher's
    variable that decided which process reads, or ``file``. ``resent`` and ``sent`` are segments of TCP, ``clock_khz``
    is the clock of the processor of the node's first process when the run ended; None if the node does not show them.
    ``used_s`` is the processor time of the command of the node's first process with all its threads, in seconds.
    ``bonds`` are the intended rails that are bonds, ``energy`` is what the node used. ``killed``: the run was killed,
    and its devices are as they were when it got the signal to end. ``stuck``: the state of each process that this
    signal did not end, D or T, and the kernel's function that it waits in (``-``: not known). ``memory_kills`` is how
    many processes the node's kernel killed during the run because memory was short, of this job or another; None if the
    node does not show it.
    """

    node: str
    devices: tuple[DeviceCounters, ...]
    exit_code: int | None
    first_by: str | None = None
    elapsed_s: float | None = None
    refusal: Refusal | None = None
    problem: str | None = None
    resent: int | None = None
    sent: int | None = None
    clock_khz: int | None = None
    used_s: float | None = None
    bonds: Mapping[str, Bond] = field(default_factory=dict)
    energy: Energy | None = None
    killed: bool = False
    addresses: Addresses = field(default_factory=Addresses)
    stuck: tuple[tuple[str, str], ...] = ()
    memory_kills: int | None = None

    def device(self, name: str) -> DeviceCounters | None:
        """Return a device by its name, None if the node has no such reading."""
        return next((device for device in self.devices if device.device == name), None)


def reader_script() -> str:
    """Return the text of the reader, which is written beside a job's script."""
    return packaged_text("job/scripts/reader.sh")


def parse(text: str, tag: str, drivers: Mapping[str, str] | None = None) -> NodeCounters:
    """Return what one ``<hostname>.counters`` holds. ``drivers`` maps devices to rows of DRIVERS (default netdev).

    Never raises because of a file's content: a file that is from another run, cut or garbled gives a ``problem``, and
    that is never a pass.
    """
    lines = [line.split(" ", 3) for line in text.split("\n") if line]
    if not text.endswith("\n") and lines:
        lines.pop()  # cut within a line: the rest may be a shorter number
    node = next((words[1] for words in lines if words[0] == "node" and len(words) == 2), "")
    header = lines[0] if lines else []
    problem = _header_problem(header, tag)
    if problem is not None:
        return NodeCounters(node, (), None, problem=problem)
    facts = facts_of(lines[1:])
    used_cs = facts.growth_of("-", "processors_cs")
    refusal = None if facts.refused is None else _refusal(*facts.refused)
    killed = facts.exit_code is None and not facts.garbled and facts.use_last()
    if facts.exit_code is None:
        problem = "the file has no end: the run was killed before the counters were read again"
    elif facts.garbled and refusal is None:
        problem = f'the file is garbled at "{facts.garbled}": two processes wrote it'
    return NodeCounters(
        node,
        _devices(facts, drivers or {}),
        facts.exit_code,
        facts.first_by,
        facts.elapsed_s("before", "after"),
        refusal=refusal,
        problem=problem,
        resent=facts.growth_of("-", "tcp_retrans_segs"),
        sent=facts.growth_of("-", "tcp_out_segs"),
        clock_khz=facts.count("after", "-", "clock_khz"),
        used_s=None if used_cs is None else used_cs / 100,
        bonds={rail: _bond(rail, ports, facts) for rail, ports in facts.ports.items()},
        energy=energy_of(facts),
        killed=killed,
        addresses=addresses_of(facts),
        stuck=tuple(facts.stuck),
        memory_kills=facts.growth_of("-", "oom_kills"),
    )


def node_of(text: str) -> str:
    """Return the node that a file of the reader names; empty if it names none."""
    return next((line.partition(" ")[2] for line in text.splitlines() if line.startswith("node ")), "")


def join_ends(first: str, last: str) -> str:
    """Return one file of two launches of a node: the first file's lines from before its run, and the last file's from
    after its run. Kernels keep counting, so it has all that the node moved in between.

    The processor time is left out: it is of the reader's own children, which differ in each launch.
    """
    if first is last:
        return first
    own = [line for line in first.splitlines() if not _is_behind(line)]
    behind = [line for line in last.splitlines() if _is_behind(line)]
    kept = [line for line in (*own, *behind) if line.split()[1:3] != ["-", "processors_cs"]]
    return "".join(f"{line}\n" for line in kept)


def join_launches(launches: Sequence[Sequence[str]], tag: str) -> tuple[str, ...]:
    """Return a file for each node of a run in several launches, in order: as if they were one.

    A launch that left no file never began. If a node's file of an earlier launch is not the run's, or does not say
    that its command ended well, that file itself is returned: it says what is wrong. A node that is not in each launch
    that began is left out, for nobody read all of its counters.
    """
    begun = [{node_of(text): text for text in texts} for texts in launches if texts]
    if len(begun) < 2:
        return tuple(text for of_nodes in begun for text in of_nodes.values())
    joined = []
    for node, first in begun[0].items():
        texts = [of_nodes[node] for of_nodes in begun if node in of_nodes]
        wrong = next((text for text in texts[:-1] if not _has_ended_well(text, tag)), None)
        if wrong is not None:
            joined.append(wrong)
        elif len(texts) == len(begun):
            joined.append(join_ends(first, texts[-1]) if _header_problem_of(texts[-1], tag) is None else texts[-1])
    return tuple(joined)


def _is_behind(line: str) -> bool:
    return line.split(" ", 1)[0] in ("after", "rest", "last", "waited", "end", "refused")


def _has_ended_well(text: str, tag: str) -> bool:
    return _header_problem_of(text, tag) is None and text.endswith("\nend 0\n")


def _header_problem_of(text: str, tag: str) -> str | None:
    return _header_problem(text.partition("\n")[0].split(" ", 3), tag)


def by_node(readings: Iterable[NodeCounters], expected: Iterable[str]) -> dict[str, NodeCounters]:
    """Return the readings of the expected nodes. A host name with a domain also matches by its first label.

    If a node has several readings, the first counts.
    """
    there: dict[str, NodeCounters] = {}
    for reading in readings:
        there.setdefault(label(reading.node), reading)
    return {name: there[label(name)] for name in expected if label(name) in there}


def _refusal(rail: str, sentence: str) -> Refusal:
    return Refusal(None if rail == "-" else rail, sentence)


def _header_problem(header: list[str], tag: str) -> str | None:
    if len(header) != 3 or header[0] != "railyard-counters":
        return "the file is empty, or not from the counter reader"
    if header[1] != str(FORMAT):
        return f"the file has format {header[1]}, expected {FORMAT}: reader and library are of different versions"
    if header[2] != tag:
        return f"the file is from another run ({header[2]}, expected {tag})"
    return None


def _devices(facts: Facts, drivers: Mapping[str, str]) -> tuple[DeviceCounters, ...]:
    """Return the named devices in the file's order, then other devices that were found. Bytes appear once."""
    rows = {name: _row(name, facts, drivers) for name in facts.names}
    meant = facts.named["meant"]
    besides = _interfaces(facts, rows)
    found = []
    for name, row in rows.items():
        if row is None or (name not in meant and _is_counted_twice(name, facts, rows)):
            continue
        found.append(_device(name, name, facts, row, besides.get(name) if name not in meant else None))
    netdev = DRIVERS["netdev"]
    # If a rail is named by its interface, the interface's own statistics have the same name.
    own = [name for name in meant if besides.get(name) == name]
    return (*found, *(_device(f"{name}/net", name, facts, netdev, name) for name in own))


def _bond(rail: str, ports: Iterable[str], facts: Facts) -> Bond:
    found = tuple(_device(port, port, facts, DRIVERS["netdev"], None) for port in ports)
    return Bond(facts.fact_about(rail, "bond") or "unknown", found)


def _row(name: str, facts: Facts, drivers: Mapping[str, str]) -> Driver | None:
    """Return the row of a device: as the system's file says, else netdev. An unnamed device has the row that fits its
    counters.
    """
    if name in drivers:
        return DRIVERS[drivers[name]]
    if name in facts.named["meant"] or name in facts.named["watched"]:
        return DRIVERS["netdev"]
    shown = facts.counters_of(name)
    return DRIVERS["netdev"] if "tx_bytes" in shown else of_device(facts.fact_about(name, "driver"), shown)


def _device(label: str, name: str, facts: Facts, row: Driver, beside: str | None) -> DeviceCounters:
    meant = name in facts.named["meant"] and label == name
    virtual = facts.fact_about(name, "virtual") == "yes"
    packet = _path_mtu(facts.fact_about(facts.beside.get(name, ""), "mtu")) if row.packets else None
    module = facts.fact_about(name, "driver")
    lifespan = facts.count("after", name, "hw/lifespan") or 0
    uses_held = any("hw/" in counter for counter in (row.tx, row.rx))
    return DeviceCounters(
        label,
        meant,
        _direction(facts, name, row.tx, row, packet or row.unit_bytes),
        _direction(facts, name, row.rx, row, packet or row.unit_bytes),
        _carrier(facts, "before", name),
        _carrier(facts, "after", name),
        {} if virtual else _growth(facts, name, row.errors),
        _growth(facts, name, row.signals),
        stuck=tuple(c for c in row.errors if facts.count("before", name, c) == error_maximum(c) is not None),
        driver=row.name,
        overlap=_overlap(name, facts, row),
        beside=beside,
        packet_bytes=packet,
        virtual=virtual,
        held_ms=lifespan if uses_held and lifespan > facts.waited_ms else None,
        unnamed=beside is None and name not in facts.named["meant"] and name not in facts.named["watched"],
        foreign=module if _is_foreign(module, row) else None,
        carrier_changes=facts.growth_of(name, "carrier_changes"),
    )


def _is_foreign(module: str | None, row: Driver) -> bool:
    known = any(module in each.modules for each in DRIVERS.values())
    return known and row.name != "netdev" and bool(row.modules) and module not in row.modules


def _overlap(name: str, facts: Facts, row: Driver) -> Overlap:
    """Return how a device's counters overlap with those of the interface on its port."""
    return row.overlaps(facts.fact_about(name, "layer"))


def _interfaces(facts: Facts, rows: Mapping[str, Driver | None]) -> dict[str, str]:
    """Return the interfaces on ports of intended RDMA rails, each with its rail: TCP would use them there.

    The interface of software RDMA is not among them: all RDMA traffic goes through it.
    """
    found: dict[str, str] = {}
    for rail in facts.named["meant"]:
        row, interface = rows.get(rail), facts.beside.get(rail)
        if row is None or row.name == "netdev" or interface is None:
            continue
        if _overlap(rail, facts, row) in ("apart", "port"):
            found[interface] = rail
    return found


def _is_counted_twice(name: str, facts: Facts, rows: Mapping[str, Driver | None]) -> bool:
    """Return whether this device, which is not an intended rail, counts what an intended rail counts already.

    That is the interface under software RDMA, and also the card of a rail that is named by its interface, if the card
    also sees the interface's packets, or if the interface's rail is the card with another name.
    """
    meant = facts.named["meant"]
    for rail in meant:
        row = rows.get(rail)
        if row is not None and facts.beside.get(rail) == name and _overlap(rail, facts, row) == "interface":
            return True
    interface, own = facts.beside.get(name), rows.get(name)
    if own is None or interface is None or interface not in meant:
        return False
    of_interface = rows.get(interface)
    return _overlap(name, facts, own) == "port" or (of_interface is not None and of_interface.name == own.name)


def _path_mtu(interface_mtu: str | None) -> int:
    """Return the largest path MTU for an interface with this MTU, or the largest of all if that is unknown."""
    sizes = (4096, 2048, 1024, 512, 256)
    known = int(interface_mtu) if interface_mtu is not None and is_count(interface_mtu) else sizes[0]
    return next((size for size in sizes if size <= known), sizes[-1])


def _growth(facts: Facts, device: str, counters: Iterable[str]) -> dict[str, int]:
    grown = {counter: facts.growth_of(device, counter) for counter in counters}
    return {counter: count for counter, count in grown.items() if count}


def _direction(facts: Facts, device: str, counter: str, driver: Driver, unit: int) -> Direction:
    before, after = facts.sum("before", device, counter), facts.sum("after", device, counter)
    full = driver.clamps and (1 << driver.width_bits) - 1 in (before, after)
    return Direction(
        None if before is None else before * unit,
        None if after is None else after * unit,
        full,
        unit * _idle(facts, device, counter),
    )


def _idle(facts: Facts, device: str, counter: str) -> int:
    """Return the counts that a device would have had in the run's time without the run.

    The lower of the rates just before and just after the run: a burst on one side of it must not make a rail that
    carried the run look idle. 0 if neither was measured long enough.
    """
    run_s = facts.elapsed_s("before", "after")
    windows = (_rate(facts, device, counter, *window) for window in (("idle", "before"), ("after", "rest")))
    rates = [rate for rate in windows if rate is not None]
    return 0 if run_s is None or not rates else max(0, round(min(rates) * run_s))


def _rate(facts: Facts, device: str, counter: str, first: str, then: str) -> float | None:
    """Return a device's counts per second between two readings; None if that is unknown or the time was too short."""
    begin, end = facts.sum(first, device, counter), facts.sum(then, device, counter)
    window_s = facts.elapsed_s(first, then)
    if begin is None or end is None or end < begin or window_s is None or window_s < IDLE_INTERVAL.value:
        return None
    return (end - begin) / window_s


def _carrier(facts: Facts, when: str, device: str) -> bool | None:
    value = facts.values.get((when, device, "carrier"))
    if value is not None:
        return {"1": True, "0": False}.get(value)
    state = facts.values.get((when, device, "state"))
    return None if state in (None, "unreadable") else "ACTIVE" in state


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


def energy_figures(readings: Mapping[str, NodeCounters], nodes: Iterable[str]) -> tuple[Figure, ...]:
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
