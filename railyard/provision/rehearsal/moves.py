"""What a run's messages add to the counters of each node's ports: files below /sys, in each driver's own unit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from railyard.hardware.counters import DRIVERS, Driver
from railyard.hardware.links import HEADERS
from railyard.provision.rehearsal.form import Fault
from railyard.provision.rehearsal.rank_ports import Port
from railyard.site.systems.model import Fabric, Rail, System

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
