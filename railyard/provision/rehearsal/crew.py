"""The ranks of a run as they described themselves, the ports of their nodes, and what each rank's library takes.

What a run's messages add to the counters of each node's ports: files below /sys, in each driver's own unit.
"""

import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.hardware.counters import DRIVERS, Driver
from railyard.hardware.links import HEADERS
from railyard.provision.rehearsal import rank_ports
from railyard.provision.rehearsal.form import Fault, Rehearsal
from railyard.provision.rehearsal.rank_ports import LibraryError, Port, PortKind, Rank, RankPorts
from railyard.site.site import Site
from railyard.site.systems.model import Fabric, Rail, System
from railyard.stacks.model import STACKS

#: Headers and acknowledgements as a share of the payload, if a link's headers are not known.
_OVERHEAD = 1.005


@dataclass(frozen=True, slots=True)
class Place:
    """A rail of a fabric."""

    name: str
    fabric: Fabric
    rail: Rail


def place_of(system: System, port: Port) -> Place | None:
    """Return the fabric whose rail a port is; None if it is not a rail.

    If several fabrics have a rail of that name, a network interface gets one over TCP, and any port the fabric whose
    link has about the rate that the port shows.
    """
    found = [
        Place(name, fabric, rail)
        for name, fabric in system.fabrics.items()
        for rail in fabric.rails
        if rail.name == port.name
    ]
    alike = [place for place in found if (place.fabric.kind == "tcp") == (port.kind == "net")]
    return min(alike or found, key=lambda place: _rate_distance(place, port), default=None)


def _rate_distance(place: Place, port: Port) -> float:
    return abs(math.log((place.fabric.link.data_rate_gbit_s or port.rate_gbit_s) / port.rate_gbit_s))


@dataclass(slots=True)
class Moves:
    """What is added, by node and file. What one node sends, the other one receives."""

    system: System
    faults: tuple[Fault, ...] = ()
    added: dict[str, dict[str, int]] = field(default_factory=dict)

    def send(self, sender: str, port: Port, receiver: str, other: Port, payload_bytes: float) -> None:
        """Move this many bytes of payload from a port of one node to a port of another."""
        if sender == receiver or payload_bytes <= 0:
            return
        on_the_wire = payload_bytes * self._overhead(port)
        self.count(sender, port, "tx", on_the_wire)
        self.count(receiver, other, "rx", on_the_wire)

    def loop(self, node: str, port: Port, payload_bytes: float) -> None:
        """Move this many bytes of payload out of a node's port, and as many into it from another port of that node."""
        for way in ("tx", "rx"):
            self.count(node, port, way, payload_bytes * self._overhead(port))

    def lines(self, node: str) -> list[str]:
        """Return what a node's first rank is to do, one line per file."""
        return [f"add {path} {amount}" for path, amount in self.added.get(node, {}).items()]

    def count(self, node: str, port: Port, way: str, amount_bytes: float) -> None:
        """Add this many bytes, headers included, to a port's counter of one ``way``, tx or rx, in its driver's unit."""
        if any(fault.kind == "unreadable" and fault.hits(node, port.name) for fault in self.faults):
            return
        place = place_of(self.system, port)
        driver = _driver(place, port)
        if driver is None:
            return
        counter = (driver.tx if way == "tx" else driver.rx).partition("+")[0]
        unit = _packet_bytes(place) if driver.packets else driver.unit_bytes
        self._add(node, _path(port, driver, counter), -(-int(amount_bytes) // unit))

    def count_interface(self, node: str, port: Port, amounts: Mapping[str, int]) -> None:
        """Add bytes by way, tx and rx, to an interface's own counters, if its card counts the rail."""
        card = port.name.partition(":")[0]
        for way, amount in amounts.items():
            self._add(node, f"class/net/{card}/statistics/{way}_bytes", amount)

    def grow(self, node: str, port: Port, counter: str, count: int) -> None:
        """Let a counter of errors or signals grow, if the driver of a port has it."""
        driver = _driver(place_of(self.system, port), port)
        if driver is not None and counter in (*driver.errors, *driver.signals):
            self._add(node, _path(port, driver, counter), count)

    def _overhead(self, port: Port) -> float:
        place = place_of(self.system, port)
        if place is None:
            return _OVERHEAD
        link, headers = place.fabric.link, HEADERS[place.fabric.link.headers]
        mtu = place.fabric.mtu or max(link.mtus, default=None)
        return _OVERHEAD if mtu is None else (mtu + headers.outside) / (mtu - headers.inside)

    def _add(self, node: str, path: str, count: int) -> None:
        own = self.added.setdefault(node, {})
        own[path] = own.get(path, 0) + count


def _driver(place: Place | None, port: Port) -> Driver | None:
    """Return the row of a port's counters: the one in the system's file, else the usual one for its kind of device."""
    if place is not None:
        return None if place.rail.counters == "none" else DRIVERS[place.rail.counters]
    return DRIVERS[_COMMON[port.kind]]


_SLINGSHOT = DRIVERS["cxi"]
#: Where a kind of port is below /sys/class, if it is not its own name.
_CLASSES: Mapping[str, str] = {"verbs": "net"}
_COMMON: Mapping[str, str] = {"verbs": "mlx5", "cxi": "cxi", "net": "netdev"}


def _packet_bytes(place: Place | None) -> int:
    link = None if place is None else place.fabric.link
    return 4096 if link is None else max(link.mtus, default=4096)


def _path(port: Port, driver: Driver, counter: str) -> str:
    """Return a counter's file below /sys. If an interface's card counts, the card is beside the interface."""
    card, _, number = port.name.partition(":")
    if driver.name == "netdev":
        return f"class/net/{card}/statistics/{counter}"
    if driver is _SLINGSHOT:
        return f"class/{_CLASSES.get(port.kind, port.kind)}/{card}/device/telemetry/{counter}"
    of_card = f"class/net/{card}/device/infiniband/*" if port.kind == "net" else f"class/infiniband/{card}"
    folder = "hw_counters" if counter.startswith("hw/") else "counters"
    return f"{of_card}/ports/{number or '1'}/{folder}/{counter.removeprefix('hw/')}"


_GIGABIT = 1.0
_KINDS: Mapping[str, PortKind] = {"verbs": "verbs", "net": "net", "cxi": "cxi"}


@dataclass(frozen=True, slots=True)
class Member:
    """One rank: its number, its node and its number there, the processors that it was put on, and its own variables."""

    rank: int
    node: str
    local: int
    processors: frozenset[int]
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Crew:
    """All ranks of a run. ``ports`` and ``online`` (processors) are by node, ``variables`` are the first rank's."""

    site: Site
    rehearsal: Rehearsal
    stack: str
    members: tuple[Member, ...]
    ports: Mapping[str, tuple[Port, ...]]
    online: Mapping[str, frozenset[int]]
    variables: Mapping[str, str]

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in the order of the ranks."""
        return tuple(dict.fromkeys(member.node for member in self.members))

    @cached_property
    def per_node(self) -> Mapping[str, int]:
        """How many ranks each node has."""
        found: dict[str, int] = {}
        for member in self.members:
            found[member.node] = found.get(member.node, 0) + 1
        return found

    @cached_property
    def takes(self) -> tuple[RankPorts, ...]:
        """What each rank takes, in their order. Raises LibraryError if a library would end.

        Raises RailyardError for a stack without a library that can be played.
        """
        return tuple(self._take_ports(member) for member in self.members)

    @property
    def threads(self) -> int:
        """How many threads each rank has."""
        said = self.variables.get("OMP_NUM_THREADS", "1")
        return int(said) if said.isdigit() else 1

    @property
    def computing_share(self) -> float:
        """Return the share of its cores that the worst node computes with, by its threads and where they may run."""
        hardware = self.site.system.nodes.hardware
        shares = []
        for node, ranks in self.per_node.items():
            cores = 1 if hardware is None else hardware.cores
            share = min(1.0, ranks * self.threads / cores)
            own: frozenset[int] = frozenset().union(*(m.processors for m in self.members if m.node == node))
            if own and self.online[node]:
                share = min(share, len(own) / len(self.online[node]))
            shares.append(share)
        return min(shares)

    def management(self, node: str) -> Port:
        """Return the interface over which a library reaches another node if it leaves out the rails."""
        others = [port for port in self.ports[node] if port.kind == "net" and port.active and not port.meant]
        rails = [port for port in self.ports[node] if port.kind == "net" and port.active]
        if not others and not rails:
            raise LibraryError(f"{node} has no network interface that is up: no process can reach another node")
        return (others or rails)[0]

    def _take_ports(self, member: Member) -> RankPorts:
        faults, there = self.rehearsal.faults, self.ports[member.node]
        variables = {**self.variables, **member.variables}
        rank = Rank(member.local, self.per_node[member.node], member.processors or self._deal_processors(member))
        idle = {port.name for port in there for f in faults if f.kind == "idle" and f.hits(member.node, port.name)}
        try:
            library = STACKS[self.stack].rehearsed_as
            found = rank_ports.take_ports(library, variables, [port for port in there if port.name not in idle], rank)
        except LibraryError as error:
            # Without its only rail the library ends. Libraries write the node before each line (UCX, Open MPI,
            # libfabric).
            raise LibraryError(f"[{member.node}:{member.local}] {error}", error.exit_code) from None
        if any(f.kind == "fallback" and f.hits(member.node, port.name) for port in found.ports for f in faults):
            return RankPorts((self.management(member.node),), tcp=True)
        return found

    def _deal_processors(self, member: Member) -> frozenset[int]:
        """Return the processors that srun would bind a rank to: those of a socket, as the node's cards show them.

        The ranks take the sockets in turn, or one after the other, as srun's options say. None if srun was not asked to
        bind, or if the node has one socket: then all of its cards are equally near.
        """
        sockets = sorted({port.near for port in self.ports[member.node] if port.near}, key=min)
        kind = self.variables.get("SLURM_CPU_BIND_TYPE", "")
        if len(sockets) < 2 or not kind or kind.startswith("none"):
            return frozenset()
        spread = self.variables.get("SLURM_DISTRIBUTION", "block:cyclic").partition(":")[2] or "cyclic"
        if spread.startswith("cyclic"):
            return sockets[member.local % len(sockets)]
        return sockets[member.local * len(sockets) // self.per_node[member.node]]


def gather(
    work: Path,
    ranks: int,
    site: Site,
    rehearsal: Rehearsal,
    stack: str,
    variables: Mapping[str, str],
    patience_s: float,
) -> Crew:
    """Return the crew of a run, once each of its ranks has described itself.

    Raises RailyardError, with how many did, if not all did within ``patience_s`` seconds.
    """
    until = time.monotonic() + patience_s
    lines: list[str] = []
    while len(lines) < ranks:
        if time.monotonic() > until:
            raise RailyardError(
                f"the rehearsal waited {patience_s:g} s: {len(lines)} of {ranks} ranks have started, expected all"
            )
        time.sleep(0.02)
        lines = _whole_lines(work / "ranks")
    members = sorted((_member(line) for line in lines), key=lambda member: member.rank)
    first = {member.node: member for member in reversed(members) if member.local == 0}
    notes = {node: (work / f"node-{member.rank}").read_text(encoding="utf-8") for node, member in first.items()}
    lacking = sorted({member.node for member in members} - notes.keys())
    if lacking:
        raise RailyardError(
            f"the rehearsal found no first rank of {', '.join(lacking)}: no rank has SLURM_LOCALID 0 there"
        )
    ports = {node: ports_of(site, text) for node, text in notes.items()}
    online = {node: _online_processors(text) for node, text in notes.items()}
    return Crew(site, rehearsal, stack, tuple(members), ports, online, variables)


def processors(text: str) -> frozenset[int]:
    """Return the processors of a list in the kernel's form, ``0-3,8``; none for any other text."""
    if not re.fullmatch(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*", text):
        return frozenset()
    ends = [part.partition("-") for part in text.split(",")]
    return frozenset(one for first, _, last in ends for one in range(int(first), int(last or first) + 1))


def first_ranks(crew: Crew) -> Mapping[str, int]:
    """Return, by node, the rank that moves the node's counters."""
    return {member.node: member.rank for member in reversed(crew.members) if member.local == 0}


def _whole_lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return []
    return text[: text.rfind("\n") + 1].splitlines()


def _member(line: str) -> Member:
    rank, node, local, where, *own = line.split(" ")
    named = dict(one.split("=", 1) for one in own)
    return Member(int(rank), node, int(local), processors(where), named)


def ports_of(site: Site, text: str) -> tuple[Port, ...]:
    """Return the ports of a node's note, in its order."""
    return tuple(_port(site, line.split()) for line in text.splitlines() if line.split()[:1] != ["processors"])


def _port(site: Site, words: list[str]) -> Port:
    said, name, up, rate, near = words
    kind = _KINDS[said.partition("/")[0]]
    shown = float(rate) if re.fullmatch(r"[0-9.]+", rate) else None
    if shown is not None and kind == "net":
        shown /= 1000  # Mbit/s
    found = Port(name, kind, up == "yes", processors(near), shown or _GIGABIT)
    place = place_of(site.system, found)
    card = name.partition(":")[0]
    if place is None and place_of(site.system, replace(found, name=card)) is not None:
        found = replace(found, name=card)  # a rail named without its port
        place = place_of(site.system, found)
    own = None if place is None else place.fabric.link.data_rate_gbit_s
    # An interface on a card is not part of the management network.
    own_network = place is None and said == "net"
    return replace(found, rate_gbit_s=shown or own or _GIGABIT, meant=not own_network)


def _online_processors(text: str) -> frozenset[int]:
    said: Iterable[str] = (line.split()[1] for line in text.splitlines() if line.startswith("processors "))
    return processors(next(iter(said), ""))
