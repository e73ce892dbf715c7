"""The state of one port from one tool; None for what the tool does not print.

Source: InfiniBand Architecture Specification, volume 1, 16.1.3.5: PortXmitWait counts ticks in which a port had data
but no credit, and PortXmitDiscards packets that were dropped because the port was down, congested, or of a smaller MTU.

What a node's tools print about its cards besides ports: PCIe slots, GIDs, and how near GPUs and NICs are.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from railyard.base.wording import count_of, some
from railyard.hardware.counters import ERROR_BITS
from railyard.hardware.links import lanes, slower

WAIT, DISCARDS = "PortXmitWait", "PortXmitDiscards"
#: What the two counters of congestion mean, for sentences that name them.
WAIT_MEANS = "it had data to send but no credit: congestion, or a slow receiver behind it, not its cable"
DISCARDS_MEAN = (
    "packets were dropped before they were sent: congestion first (a receiver that does not take them in time), or a "
    "link that was down or has a smaller MTU"
)
_MOST_NAMED = 4
NOTHING: Mapping[str, Any] = MappingProxyType({})
ALL_PORTS = 255


"""The port number (AllPortSelect) that means all ports of a device: one sum for each counter."""


class Peer(NamedTuple):
    """The other end of a link: ``node`` and ``device`` from its description ("node1 mlx5_0"), ``guid`` 16 digits."""

    node: str | None
    device: str | None
    port: int | None
    lid: int | None = None
    guid: str | None = None


class Link(NamedTuple):
    """What a link is and could be, without whose link it is: fields of PortState, which has them in this order."""

    state: str | None = None
    physical_state: str | None = None
    rate: float | None = None
    width: str | None = None
    speed: str | None = None
    lane_gbit_s: float | None = None
    best_width: str | None = None
    best_speed: str | None = None
    best_from: str | None = None


class PortState(NamedTuple):
    """One port, in ibstat's words for every tool (a tuple: made five times faster than a frozen dataclass).

    ``node`` is the host or switch (None from a tool that asks its own host), ``device`` the adapter ("mlx5_0"),
    ``kind`` "CA", "Switch" or "Router". ``state`` is Down, Initializing (no subnet manager), Armed, Active, or the
    printed word; ``physical_state`` is LinkUp, Polling (no cable, or no partner), Disabled ... A port that is not
    Active may still print a rate, a width and a speed: then they mean nothing. ``rate`` is in Gbit/s as the kernel
    names it (4X EDR: 100), ``lane_gbit_s`` the printed signalled rate of one lane (EDR: 25.78125), ``width`` "4X",
    ``speed`` a name (SDR to XDR; for Ethernet as printed: "200G"). ``best_width`` and ``best_speed`` are what the link
    could be, according to ``best_from``: "both ends" (iblinkinfo), "this end" (ibportstate), "this end and its cable"
    (mlxlink). Only the first proves a fault: with the others, the partner may be slower. ``counters`` are raw, by
    standard name (ib_counters.py: data in units of 4 bytes); an absent counter was not printed, which does not mean 0.
    ``saturated`` names those at their largest value: that many errors or more. ``thresholds`` (ibqueryerrors) are the
    largest values of a counter that are not reported; 0 if none is given. ``extra`` is what only one tool says.
    ``module`` is what its cable or module states (hardware/optics.py). ``line`` is the port's first line, 1-based.
    """

    node: str | None = None
    device: str | None = None
    port: int | None = None
    kind: str | None = None
    state: str | None = None
    physical_state: str | None = None
    rate: float | None = None
    width: str | None = None
    speed: str | None = None
    lane_gbit_s: float | None = None
    best_width: str | None = None
    best_speed: str | None = None
    best_from: str | None = None
    lid: int | None = None
    sm_lid: int | None = None
    guid: str | None = None
    node_guid: str | None = None
    link_layer: str | None = None
    mtu_bytes: int | None = None
    max_mtu_bytes: int | None = None
    firmware: str | None = None
    netdev: str | None = None
    peer: Peer | None = None
    counters: Mapping[str, int] = NOTHING
    saturated: tuple[str, ...] = ()
    thresholds: Mapping[str, int] = NOTHING
    extra: Mapping[str, str | int | float] = NOTHING
    line: int = 0
    module: Mapping[str, str | int | float] = NOTHING

    @property
    def is_active(self) -> bool | None:
        """Return whether the port carries traffic; None if the tool prints no state."""
        return None if self.state is None else self.state == "Active"

    @property
    def is_degraded(self) -> bool | None:
        """Return whether the link has fewer lanes or a lower speed than ``best_width`` and ``best_speed``.

        None if the port is not active, or if the tool does not say what the link could be.
        """
        if self.is_active is False or self.best_from is None:
            return None
        width, best_width = lanes(self.width), lanes(self.best_width)
        narrow = None if width is None or best_width is None else width < best_width
        slow = None if self.speed is None or self.best_speed is None else slower(self.speed, self.best_speed)
        return (bool(narrow) or bool(slow)) if narrow is not None or slow is not None else None

    @property
    def errors(self) -> dict[str, int]:
        """Return the standard error counters that are not 0; ``saturated`` ones are lower bounds."""
        return {name: value for name, value in self.counters.items() if value and name in ERROR_BITS}

    def as_json(self) -> dict[str, Any]:
        """Return the fields that the tool printed, and ``degraded`` if known; whole numbers have no point."""
        given = {name: _plain(value) for name, value in self._asdict().items()}
        given["degraded"] = self.is_degraded
        return {name: value for name, value in given.items() if value is not None and value != {} and value != []}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Peer):
        return {name: said for name, said in value._asdict().items() if said is not None}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return list(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def port_words(port: int | None) -> str | int | None:
    """Return a port's number as people read it: "all ports" for the sum over all of them."""
    return "all ports" if port == ALL_PORTS else port


def place(port: PortState) -> str:
    """Return where a port is: "vn3 mlx5_1 port 1", "leaf1 all ports"; "the port" if its tool names nothing."""
    named = [word for word in (port.node, port.device) if word]
    number = port_words(port.port)
    if number is not None:
        named.append(number if isinstance(number, str) else f"port {number}")
    return " ".join(named) or "the port"


def has_small_mtu(port: PortState) -> bool:
    """Return whether an active port's path MTU is below its largest; False if its tool does not print both."""
    if port.mtu_bytes is None or port.max_mtu_bytes is None or port.is_active is False:
        return False
    return 0 < port.mtu_bytes < port.max_mtu_bytes


def port_remarks(ports: Sequence[PortState]) -> tuple[str, ...]:
    """Return one sentence for each kind of remark, with the ports that it is about; () if there is none."""
    of_mtu = [port for port in ports if has_small_mtu(port)]
    kinds: tuple[tuple[list[PortState], Callable[[PortState], str], str], ...] = (
        (_find_counting(ports, WAIT), lambda port: f"{WAIT} {port.counters[WAIT]:,}", WAIT_MEANS),
        (_find_counting(ports, DISCARDS), lambda port: f"{DISCARDS} {port.counters[DISCARDS]:,}", DISCARDS_MEAN),
        (
            [port for port in of_mtu if port.link_layer != "Ethernet"],
            _mtu_words,
            "the subnet manager or the partner limits the path MTU: smaller packets carry more headers",
        ),
        (
            [port for port in of_mtu if port.link_layer == "Ethernet"],
            _mtu_words,
            "the MTU of its network interface limits the path MTU: 4200 or more gives 4096",
        ),
    )
    return tuple(_sentence(found, words, means) for found, words, means in kinds if found)


def _find_counting(ports: Sequence[PortState], name: str) -> list[PortState]:
    return [port for port in ports if port.counters.get(name)]


def _mtu_words(port: PortState) -> str:
    return f"active_mtu {port.mtu_bytes} is below max_mtu {port.max_mtu_bytes}"


def _sentence(found: list[PortState], words: Callable[[PortState], str], means: str) -> str:
    if len(found) == 1:
        return f"{place(found[0])}: {words(found[0])}: {means}"
    named = some([f"{place(port)}: {words(port)}" for port in found], _MOST_NAMED)
    return f"{count_of(len(found), 'port')} ({named}): {means}"


class PciSlot(NamedTuple):
    """One PCI device: its link as it is (LnkSta) and as the device could have it (LnkCap).

    What is not printed is None. Speeds are in GT/s per lane, sizes in bytes. ``kind`` is the class ("Infiniband
    controller"), ``name`` the model. ``max_payload`` and ``max_read_request`` are set (DevCtl), not what would be
    possible (DevCap). ``line`` is that of LnkSta, 1-based.
    """

    address: str
    kind: str
    name: str
    speed: float | None = None
    width: int | None = None
    best_speed: float | None = None
    best_width: int | None = None
    max_payload: int | None = None
    max_read_request: int | None = None
    numa: int | None = None
    line: int = 0

    @property
    def is_network(self) -> bool:
        """Return whether it is a network card, by its class."""
        return self.kind in ("Infiniband controller", "Ethernet controller", "Network controller", "Fabric controller")

    @property
    def is_degraded(self) -> bool | None:
        """Return whether its link is slower or narrower than the device could have it; None if that is not printed."""
        known = [
            (here, best)
            for here, best in ((self.speed, self.best_speed), (self.width, self.best_width))
            if here is not None and best is not None
        ]
        return any(here < best for here, best in known) if known else None


class GidEntry(NamedTuple):
    """One entry of a port's GID table; ``version`` is v1 or v2 of RoCE, None on InfiniBand. ``line`` is 1-based."""

    device: str
    port: int
    gid_index: int
    gid: str
    ipv4: str | None = None
    version: str | None = None
    netdev: str | None = None
    line: int = 0


class Nearness(NamedTuple):
    """One row of the matrix of GPUs and NICs: the word for the way to each other one (NV18, PIX, PXB, PHB, NODE, SYS).

    ``device`` is the NIC's name by the legend ("mlx5_0"). ``cpus`` and ``numa`` are as printed; None for a NIC.
    """

    name: str
    to: Mapping[str, str]
    device: str | None = None
    cpus: str | None = None
    numa: str | None = None
    line: int = 0


class Hardware(NamedTuple):
    """All that is in one text; false if there is nothing."""

    slots: tuple[PciSlot, ...] = ()
    gids: tuple[GidEntry, ...] = ()
    nearness: tuple[Nearness, ...] = ()

    def __bool__(self) -> bool:
        return any(map(len, self))

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        """Return what there is, without what was not printed."""
        return {name: [_plain_card(each) for each in values] for name, values in self._asdict().items() if values}


NO_HARDWARE = Hardware()


def combine(parts: list[Hardware]) -> Hardware:
    """Return what several parts of one text hold."""
    return Hardware(
        slots=tuple(each for part in parts for each in part.slots),
        gids=tuple(each for part in parts for each in part.gids),
        nearness=tuple(each for part in parts for each in part.nearness),
    )


def _plain_card(each: PciSlot | GidEntry | Nearness) -> dict[str, Any]:
    said = {name: dict(value) if isinstance(value, Mapping) else value for name, value in each._asdict().items()}
    if isinstance(each, PciSlot):
        said["degraded"] = each.is_degraded
    return {name: value for name, value in said.items() if value is not None and value is not NOTHING}
