"""What is read about a fabric, what a system's file expects of it, and what a judgement says: plain values.

Several tools may show the same port. Their views become one PortState: a later view fills what an earlier one lacks.

How the sentences of findings name ports and links, and when two host names are one node.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from railyard.base.errors import Weight
from railyard.base.hostlist import label
from railyard.base.wording import number
from railyard.hardware.links import Link, lanes_and_speed, rate_gbit_s
from railyard.parsers.fabric.port import Hardware, Peer, PortState
from railyard.site.systems.node_view import FabricView, SystemView

#: Kinds whose ports a subnet manager brings up.
MANAGED = ("ib", "opa")
#: Kinds of fabrics with an RDMA device that can be read.
VERBS = ("ib", "roce", "opa")
Key = Callable[[PortState], object]
_MOST_LIDS = 65536


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be: where, what was found and expected, and what fixes it.

    ``what`` is a word for programs ("width", "missing" …). A *problem* changes the exit code, a *remark* does not.
    ``node``, ``device`` and ``port`` are None if the finding is about the whole fabric.
    """

    what: str
    node: str | None
    device: str | None
    port: int | None
    found: str
    expected: str
    fix: str
    weight: Weight = "problem"

    @property
    def place(self) -> str:
        """Return where it is: "vn3 mlx5_1 port 1", or "the fabric"."""
        named = " ".join(part for part in (self.node, self.device) if part) or "the fabric"
        return named if self.port is None else f"{named} port {self.port}"

    @property
    def sentence(self) -> str:
        """Return the whole finding in one sentence."""
        return f"{self.place}: found {self.found}, expected {self.expected}; {self.fix}"


def finding_at(what: str, port: PortState, found: str, expected: str, fix: str) -> Finding:
    """Return a problem of this port."""
    return Finding(what, port.node, port.device, port.port, found, expected, fix)


@dataclass(frozen=True, slots=True)
class Gid:
    """One entry of a port's GID table; ``kind`` is "v1", "v2" (RoCE) or "IB"."""

    index: int
    gid: str
    kind: str | None
    netdev: str | None = None


@dataclass(frozen=True, slots=True)
class SlotState:
    """The PCIe slot of a card as it was negotiated; None for what could not be read.

    Speeds are as printed ("8.0 GT/s PCIe", "Unknown"), sizes in bytes. ``acs``: a bridge above the card redirects peer
    traffic.
    """

    address: str
    speed: str | None = None
    width: int | None = None
    max_speed: str | None = None
    max_width: int | None = None
    max_payload: int | None = None
    max_read_request: int | None = None
    relaxed_ordering: bool | None = None
    acs: bool | None = None
    iommu: str | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """One RDMA device of a node as its sysfs shows it. ``unread`` names files that are missing or cannot be read."""

    node: str
    device: str
    driver: str | None = None
    firmware: str | None = None
    psid: str | None = None
    slot: SlotState | None = None
    gids: tuple[Gid, ...] = ()
    ecn: tuple[int, ...] | None = None
    pfc: tuple[int, ...] | None = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manager:
    """The subnet manager as ``sminfo`` prints it; ``state`` is "MASTER", "STANDBY" …"""

    lid: int
    guid: str
    state: str


@dataclass(frozen=True, slots=True)
class Readings:
    """All that was read.

    ``ports``: the ports that the subnet's diagnostics print. ``own``: the ports that nodes read about themselves, with
    ``node`` set. ``more_modules``: ports of ``own`` again, with what a second tool printed of the cable or module.
    ``is_whole``: the subnet was discovered. ``counters``: ports with error counters. ``later``: the same ports at a
    second time. Both are None if not read. ``managers``: the answer of ``sminfo`` (None if there was none), by the rail
    that it was asked from (``asking_rail``; empty if unknown). ``hardware``: node and what lspci, show_gids or
    nvidia-smi print of it. ``in_part``: nodes of which only outputs about one device were read. ``notes``: what could
    not be read, one sentence each.
    """

    ports: tuple[PortState, ...] = ()
    own: tuple[PortState, ...] = ()
    more_modules: tuple[PortState, ...] = ()
    cards: tuple[Card, ...] = ()
    counters: tuple[PortState, ...] | None = None
    later: tuple[PortState, ...] | None = None
    managers: Mapping[str, Manager | None] = field(default_factory=dict)
    is_whole: bool = False
    hardware: tuple[tuple[str, Hardware], ...] = ()
    in_part: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RailExpected:
    """One rail of every node: its device and port, its slot's name (``pcie3-x16``), and the driver of its counters."""

    device: str
    port: int
    slot: str | None
    counters: str


@dataclass(frozen=True, slots=True)
class ExpectedFabric:
    """How one fabric of a system should be; None for what its file does not say. ``rate``: Gbit/s as ibstat names it.

    ``nodes`` is empty if the file only says how many there are (``count``). ``file``: what sentences call the file.
    ``neighbours``: (device, port) of rails that belong only to other fabrics.
    """

    file: str
    fabric: str
    kind: str
    link: str
    rails: tuple[RailExpected, ...]
    nodes: tuple[str, ...] = ()
    count: int = 0
    width: int | None = None
    speed: str | None = None
    rate: float | None = None
    mtu: int | None = None
    max_payload: int = 256
    firmware: str | None = None
    psid: str | None = None
    subnet_manager: bool = False
    gid_index: int | None = None
    roce_mode: str | None = None
    pfc: tuple[int, ...] | None = None
    ecn: tuple[int, ...] | None = None
    hops: int | None = None
    others: tuple[str, ...] = ()
    neighbours: frozenset[tuple[str, int]] = frozenset()
    errors: Mapping[str, int] = field(default_factory=dict)
    max_read_request: int | None = None
    relaxed_ordering: bool | None = None
    acs: bool | None = None
    iommu: str | None = None

    def rail(self, device: str | None, port: int | None) -> RailExpected | None:
        """Return the rail of a device's port; None if it is not a rail."""
        return next((rail for rail in self.rails if (rail.device, rail.port) == (device, port)), None)

    def sits(self, device: str) -> RailExpected | None:
        """Return the first rail of a device; None if none of its ports is a rail."""
        return next((rail for rail in self.rails if rail.device == device), None)


@dataclass(frozen=True, slots=True)
class Report:
    """What a judgement found, most severe first, what was looked at, and what was not seen.

    ``hops``: number of switches on the shortest way -> how many pairs of nodes have it, counted on each rail.
    ``unseen``: how many ports of rails no reading shows.
    """

    findings: tuple[Finding, ...]
    seen: int
    unseen: int
    nodes: int
    hops: Mapping[int, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_blind(self) -> bool:
        """Whether no reading shows any port; then a report without findings means nothing."""
        return self.seen == 0 and not self.problems

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Return the findings that change the exit code."""
        return tuple(finding for finding in self.findings if finding.weight == "problem")


#: Fields of ``fabric_state`` that hold as they are.
_AS_STATED = (
    *("firmware", "psid", "gid_index", "pfc", "ecn", "hops", "others", "errors"),
    *("max_read_request", "relaxed_ordering", "acs", "iommu"),
)


def expected_fabric(system: SystemView, name: str) -> ExpectedFabric:
    """Return how one fabric should be. Raises KeyError for a fabric that the system does not have."""
    fabric = system.fabrics[name]
    state = fabric.fabric_state
    width, speed = lanes_and_speed(fabric.link)
    said = {} if state is None else {name: getattr(state, name) for name in _AS_STATED}
    if fabric.kind == "roce" and fabric.gid_index is not None:
        said["gid_index"] = fabric.gid_index
    if state is not None:
        width, speed = state.width or width, state.speed or speed
    managed = None if state is None else state.subnet_manager
    mode = None if state is None else state.roce_mode
    return ExpectedFabric(
        file=f"systems/{system.system}.yaml",
        fabric=name,
        kind=fabric.kind,
        link=fabric.link.name,
        rails=tuple(
            RailExpected(rail.device, rail.port or 1, rail.slot or fabric.slot, rail.counters) for rail in fabric.rails
        ),
        nodes=system.nodes.names,
        count=system.nodes.number,
        width=width,
        speed=speed,
        rate=rate_of(fabric.link, width, speed),
        mtu=_mtu(fabric),
        max_payload=fabric.max_payload,
        subnet_manager=fabric.kind in MANAGED if managed is None else managed,
        neighbours=_neighbours(system, name),
        roce_mode=(mode or "v2") if fabric.kind == "roce" else None,
        **said,
    )


def rate_of(link: Link, width: int | None, speed: str | None) -> float | None:
    """Return the rate as the kernel gives it, Gbit/s: of InfiniBand by lanes and speed, else the link's data rate."""
    if width is not None and speed is not None:
        return rate_gbit_s(f"{width}X", speed)
    return link.data_rate_gbit_s


def _neighbours(system: SystemView, name: str) -> frozenset[tuple[str, int]]:
    """Return (device, port) of the rails that belong only to other fabrics with a subnet."""
    ours = {(rail.device, rail.port or 1) for rail in system.fabrics[name].rails}
    others = [fabric for other, fabric in system.fabrics.items() if other != name and fabric.kind in MANAGED]
    return frozenset({(rail.device, rail.port or 1) for fabric in others for rail in fabric.rails} - ours)


def _mtu(fabric: FabricView) -> int | None:
    """Return the active path MTU: what the file says, else the largest, from which limits are computed too."""
    if fabric.kind not in ("ib", "roce"):
        return None
    said = None if fabric.fabric_state is None else fabric.fabric_state.mtu
    return said or fabric.mtu or max(fabric.link.mtus, default=None)


def by_guid(port: PortState) -> object:
    """Return what names a port on the subnet: GUID and number, or its description if it has no GUID."""
    return (port.guid, port.port) if port.guid else (port.node, port.device, port.port)


def by_device(port: PortState) -> object:
    """Return what names a node's own port."""
    return label(port.node or ""), port.device, port.port


def merge_ports(key: Key, *views: Iterable[PortState]) -> tuple[PortState, ...]:
    """Return each port once, in the order of its first view; a later view does not overwrite a field.

    The port has the counters of all views; if two have the same name, the earlier view's value is kept.
    """
    found: dict[object, PortState] = {}
    for view in views:
        for port in view:
            before = found.get(key(port))
            found[key(port)] = port if before is None else _fill_in(before, port)
    return tuple(found.values())


def _fill_in(first: PortState, second: PortState) -> PortState:
    new: dict[str, Any] = {
        name: value for name, value in second._asdict().items() if value is not None and getattr(first, name) is None
    }
    if second.counters:
        new["counters"] = {**second.counters, **first.counters}
        new["saturated"] = tuple(dict.fromkeys((*first.saturated, *second.saturated)))
    if second.module and not first.module:
        new["module"] = second.module
    if second.extra:
        new["extra"] = {**second.extra, **first.extra}
    return first._replace(**new) if new else first


def with_subnet(known: tuple[PortState, ...], more: tuple[PortState, ...], place: int) -> tuple[PortState, ...]:
    """Return the ports of all subnets. The views of two rails show one subnet if they share a GUID, else two.

    Each subnet has its own LIDs. Those of a further subnet are moved up, so that no two ports have the same LID.
    """
    guids = {port.guid for port in known if port.guid}
    if any(port.guid in guids for port in more):
        return merge_ports(by_guid, known, more)
    return (*known, *(_renumber(port, place * _MOST_LIDS) for port in more))


def _renumber(port: PortState, by: int) -> PortState:
    peer = port.peer
    if peer is not None and peer.lid:
        peer = peer._replace(lid=peer.lid + by)
    return port._replace(lid=port.lid + by if port.lid else port.lid, peer=peer)


#: SHARP's adapter inside a switch is not a node.
AGGREGATION = re.compile(r"aggregation node", re.IGNORECASE)


def asking_rail(device: str, port: int) -> str:
    """Return how files name the rail that a subnet was asked from: "mlx5_0", or "mlx5_0_2" for a second port."""
    return device if port == 1 else f"{device}_{port}"


def is_adapter(port: PortState) -> bool:
    """Return whether a port is a node's own, by what its tool says. ``iblinkinfo -l`` prints only the device."""
    if port.kind is not None and port.kind != "CA":
        return False
    if port.node is not None and AGGREGATION.search(f"{port.node} {port.device or ''}"):
        return False
    return port.kind == "CA" or port.device is not None


def link_words(width: str | None, speed: str | None, rate: float | None) -> str:
    """Return a link in its usual form: "4X EDR (100 Gbit/s)"; for Ethernet only its rate."""
    words = " ".join(part for part in (width, speed) if part)
    if rate is None:
        return words or "no width or speed"
    shown = f"{number(rate).rstrip('0').rstrip('.') if rate % 1 else round(rate)} Gbit/s"
    return f"{words} ({shown})" if words else shown


def peer_words(peer: Peer | None) -> str:
    """Return the other end as "Leaf2 port 3"; empty if the tool names none."""
    if peer is None or not (peer.node or peer.device):
        return ""
    named = " ".join(part for part in (peer.node, peer.device) if part)
    return named if peer.port is None else f"{named} port {peer.port}"


def cable(port: PortState) -> str:
    """Return how a sentence names a port's cable: "the cable to Leaf2 port 3"."""
    other = peer_words(port.peer)
    return f"the cable to {other}" if other else "its cable"


def some(names: Sequence[str], most: int = 8) -> str:
    """Return names with commas; of many only the first ones and how many more, so that they do not fill a terminal."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def unique(names: Iterable[str]) -> list[str]:
    """Return each name once, in the order in which it first occurs."""
    return list(dict.fromkeys(names))


def is_other(patterns: Iterable[str], host: str | None) -> bool:
    """Return whether the file says that a host is not a node (``others``): a server or a login node, for example."""
    return host is not None and any(re.fullmatch(pattern, host) for pattern in patterns)
