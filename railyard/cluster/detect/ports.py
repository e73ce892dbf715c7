"""The ports of a node that could carry MPI: of RDMA devices, of network interfaces and their bonds, and Slingshot's.

Turns rates, slot speeds and MTUs that the kernel prints into names of the tables of links and slots.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from railyard.cluster.detect.source import Source
from railyard.hardware.links import (
    LINKS,
    SLOTS,
    active_ports,
    lanes,
    pcie_generation,
    roce_mtu,
    speed_name,
    speed_of_lane,
    width_of,
)

# "100 Gb/sec (4X EDR)"; before Linux 5.x, SDR has no name: "10 Gb/sec (4X)"
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?) Gb/sec(?: \(([0-9]+[xX])(?: ([A-Za-z0-9]+))?\))?")


@dataclass(frozen=True, slots=True)
class PortRate:
    """A port's rate in Gbit/s as the kernel names it, its width ("4X") and the speed of a lane ("EDR")."""

    gbit_s: float
    width: str | None
    speed: str | None

    @property
    def words(self) -> str:
        """The rate as people write it: ``4X EDR, 100 Gbit/s``."""
        name = " ".join(word for word in (self.width, self.speed) if word)
        return f"{name}, {self.gbit_s:g} Gbit/s" if name else f"{self.gbit_s:g} Gbit/s"


def port_rate(text: str | None) -> PortRate | None:
    """Return what a ``rate`` file of an RDMA port says; None if there is no text, or another one."""
    found = _RATE.fullmatch(text or "")
    if found is None or float(found[1]) <= 0:
        return None
    gbit_s, width = float(found[1]), width_of(found[2] or "")
    count = lanes(width)
    speed = speed_name(found[3]) if found[3] else speed_of_lane(gbit_s / count) if count else None
    return PortRate(gbit_s, width, speed)


def infiniband_link(rate: PortRate) -> str | None:
    """Return the table's name of an InfiniBand link (``ib-hdr100`` for 2X HDR); None if the table does not have it."""
    count = lanes(rate.width)
    if count is None or rate.speed is None:
        return None
    head = f"ib-{rate.speed.lower()}"
    name = {4: head, 2: f"{head}{rate.gbit_s:.0f}"}.get(count, f"{head}-{count}x")
    return name if name in LINKS else None


def plain_link(family: str, gbit_s: float) -> str | None:
    """Return the table's name of a link whose rate is enough to know it (``roce-100``, ``eth-25``, ``opa-100``)."""
    name = f"{family}-{gbit_s:g}"
    return name if name in LINKS else None


def slingshot_link(gbit_s: float) -> str | None:
    """Return the generation of Slingshot's own cards (Cassini) at this rate; its number is not a rate."""
    return {200.0: "slingshot-11", 400.0: "slingshot-400"}.get(gbit_s)


def slot_name(speed: str | None, width: str | None) -> str | None:
    """Return the table's name of a slot, from ``16.0 GT/s PCIe`` and ``16``; None if the table has no such slot.

    Virtual functions print 0 lanes or "Unknown".
    """
    name = f"pcie{pcie_generation(speed)}-x{width}"
    return name if name in SLOTS else None


NET, CXI = "/sys/class/net", "/sys/class/cxi"
_ETHER = "1"  # ARPHRD_ETHER; 32 is IP over InfiniBand, whose card is an RDMA device
# Interfaces that programs make for themselves: for containers, virtual machines, tunnels and traffic shaping.
_MADE = re.compile(r"docker|br-|virbr|vnet|tap|tun|cni|cali|flannel|kube|ifb|dummy|veth[0-9a-f]{6,}|bonding_masters")
# The driver's names of speeds: BS_200G, CK_400G; a newer form is bs200G.
_CXI_SPEED = re.compile(r"[A-Za-z]{2}_?([0-9]+)G")
_NET = "/sys/class/net"
RDMA = "/sys/class/infiniband"
# Driver of the PCI device -> the row of the counters' table. bnxt_re and irdma use the Ethernet driver's device.
_COUNTERS = {
    "mlx4_core": "mlx4",
    "mlx5_core": "mlx5",
    "hfi1": "hfi1",
    "bnxt_en": "bnxt_re",
    "ice": "irdma",
    "i40e": "irdma",
    "idpf": "irdma",
    "efa": "efa",
}
_STATE = re.compile(r"[0-9]+: (.+)")
#: By its rate alone, a card of Slingshot 10 is one of RoCE.
SLINGSHOT_10, SLINGSHOT_10_GBIT_S = "slingshot-10", 100.0
_HSN = re.compile(r"hsn[0-9]+")
# A GID made of an IPv4 address (RoCE v2 routes by it).
_IPV4_GID = re.compile(r"(?:0000:){5}ffff:[0-9a-f]{4}:[0-9a-f]{4}")


@dataclass(frozen=True, slots=True)
class Pci:
    """A device's place: its address, its slot now and at best (names of the table), its memory domain, and the most
    bytes that a PCIe packet carries.
    """

    driver: str | None = None
    address: str | None = None
    slot: str | None = None
    best_slot: str | None = None
    numa: int | None = None
    max_payload: int | None = None

    @property
    def card(self) -> str | None:
        """The card: the address without the function, since several functions can be on one card."""
        return self.address.rpartition(".")[0] if self.address else None


@dataclass(frozen=True, slots=True)
class Port:
    """One device and port, as the kernel shows it.

    ``link`` is a name of the table, None if the rate is unknown or not in the table; ``state`` is as printed. ``mtu``,
    in bytes, is what a system's file needs: the path's (RoCE) or the interface's (TCP). ``gid_index`` is the first RoCE
    v2 entry made of an IPv4 address; ``only_gids`` is what there is instead, if no router passes on any of it.
    ``virtual``: it has no device of the machine. ``bonded``: how many ports are bonded to it (LAG); link and rate are
    those of one port.
    """

    device: str
    port: int | None
    kind: str
    counters: str
    up: bool
    state: str
    pci: Pci = field(default_factory=Pci)
    link: str | None = None
    rate: PortRate | None = None
    netdev: str | None = None
    mtu: int | None = None
    firmware: str | None = None
    board: str | None = None
    gid_index: int | None = None
    only_gids: str | None = None
    virtual: bool = False
    bonded: int = 1

    @property
    def name(self) -> str:
        """The port as stacks and counters name it."""
        return self.device if self.port is None else f"{self.device}:{self.port}"


def pci_of(source: Source, device: str) -> Pci:
    """Return what the ``device`` folder of a class's entry says (``/sys/class/net/ens1/device``)."""
    said = dict(
        line.split("=", 1) for line in (source.read(f"{device}/uevent") or "").split("\n") if line.count("=") == 1
    )

    def slot(which: str) -> str | None:
        return slot_name(source.read(f"{device}/{which}_link_speed"), source.read(f"{device}/{which}_link_width"))

    numa = parse_whole(source.read(f"{device}/numa_node"))
    return Pci(
        driver=said.get("DRIVER"),
        address=said.get("PCI_SLOT_NAME"),
        slot=slot("current"),
        best_slot=slot("max"),
        numa=None if numa is None or numa < 0 else numa,
    )


def parse_whole(text: str | None) -> int | None:
    """Return a whole number, None for anything else."""
    return int(text) if text and re.fullmatch(r"-?[0-9]{1,18}", text) else None


def rdma_ports(source: Source) -> tuple[Port, ...]:
    """Return every port of every RDMA device, also those without a link, in natural order."""
    return tuple(
        _rdma_port(source, device, number)
        for device in source.names(RDMA)
        for port in source.names(f"{RDMA}/{device}/ports")
        if (number := parse_whole(port)) is not None
    )


def _rdma_port(source: Source, device: str, number: int) -> Port:
    folder = f"{RDMA}/{device}"
    port = f"{folder}/ports/{number}"
    pci = pci_of(source, f"{folder}/device")
    state, physical = (_state(source.read(f"{port}/{name}")) for name in ("state", "phys_state"))
    # Soft-RoCE names the interface that it uses, and has no device of the machine.
    parent = source.read(f"{folder}/parent")
    kind = _kind(pci.driver, source.read(f"{port}/link_layer"))
    netdev = source.read(f"{port}/gid_attrs/ndevs/0") or next(iter(source.names(f"{folder}/device/net")), parent)
    is_soft = pci.driver is None and parent is not None
    # Soft-RoCE prints 2.5 Gbit/s for every interface.
    rate = None if is_soft else port_rate(source.read(f"{port}/rate"))
    interface_mtu = parse_whole(source.read(f"/sys/class/net/{netdev}/mtu")) if netdev else None
    gid_index = _gid_index(source, port) if kind == "roce" else None
    return Port(
        device=device,
        port=None if kind == "efa" else number,
        kind=kind,
        counters="rxe" if is_soft else _COUNTERS.get(pci.driver or "", "none"),
        up=state == "ACTIVE",
        state=", ".join(word for word in (state, physical) if word) or "unknown",
        pci=pci,
        link=None if rate is None else SLINGSHOT_10 if _is_slingshot_10(pci, kind, rate, netdev) else _link(kind, rate),
        rate=rate,
        netdev=netdev,
        mtu=roce_mtu(interface_mtu) if kind == "roce" and interface_mtu else None,
        firmware=source.read(f"{folder}/fw_ver"),
        board=source.read(f"{folder}/board_id"),
        gid_index=gid_index,
        only_gids=_only_gids(source, port) if kind == "roce" and gid_index is None else None,
        virtual=is_soft,
        bonded=bonded_ports(source, netdev),
    )


def _is_slingshot_10(pci: Pci, kind: str, rate: PortRate, netdev: str | None) -> bool:
    """Return whether it is a card of Slingshot 10: a ConnectX-5 of 100 Gbit/s, whose interface HPE calls hsn0."""
    named = netdev is not None and _HSN.fullmatch(netdev) is not None
    return named and kind == "roce" and pci.driver == "mlx5_core" and rate.gbit_s == SLINGSHOT_10_GBIT_S


def _state(text: str | None) -> str | None:
    found = _STATE.fullmatch(text or "")
    return found[1] if found else None


def _kind(driver: str | None, link_layer: str | None) -> str:
    """Return the kind of fabric. Omni-Path calls its link layer InfiniBand; EFA calls its link layer Unspecified."""
    if driver == "hfi1":
        return "opa"
    if driver == "efa":
        return "efa"
    return "roce" if link_layer == "Ethernet" else "ib"


def _link(kind: str, rate: PortRate) -> str | None:
    return infiniband_link(rate) if kind == "ib" else plain_link(kind, rate.gbit_s)


def _gid_index(source: Source, port: str) -> int | None:
    for name in source.names(f"{port}/gid_attrs/types"):
        version_2 = source.read(f"{port}/gid_attrs/types/{name}") == "RoCE v2"
        if version_2 and _IPV4_GID.fullmatch(source.read(f"{port}/gids/{name}") or ""):
            return parse_whole(name)
    return None


def _only_gids(source: Source, port: str) -> str | None:
    """Return which GIDs a port has if no router passes on any of them; None if it has others, or if it is unknown."""
    kinds = {
        name: kind
        for name in source.names(f"{port}/gid_attrs/types")
        if (kind := source.read(f"{port}/gid_attrs/types/{name}"))
    }
    second = [source.read(f"{port}/gids/{name}") for name, kind in kinds.items() if kind == "RoCE v2"]
    if not kinds or not all(gid is not None and gid.startswith("fe80:") for gid in second):
        return None
    return "RoCE v2 by link-local addresses" if second else "RoCE v1"


def members_of(source: Source, interface: str) -> list[str]:
    """Return the interfaces of a bond; none if it is not a bond."""
    return (source.read(f"{_NET}/{interface}/bonding/slaves") or "").split()


def bonded_ports(source: Source, interface: str | None) -> int:
    """Return how many ports carry the traffic of an interface; 1 if it is not a bond."""
    if interface is None:
        return 1
    mode = (source.read(f"{_NET}/{interface}/bonding/mode") or "").partition(" ")[0]
    return active_ports(mode, max(1, len(members_of(source, interface))))


def net_ports(source: Source, taken: Collection[str]) -> tuple[Port, ...]:
    """Return the Ethernet interfaces; ``taken`` are those that belong to an RDMA device or to Slingshot.

    A bond stands for its members. Interfaces without a device of the machine count only if there are no others.
    """
    names = [name for name in source.names(NET) if name not in taken and name != "lo" and not _MADE.match(name)]
    bonds = {name: members_of(source, name) for name in names}
    members = {member for slaves in bonds.values() for member in slaves}
    found = [
        _net_port(source, name, bonds[name])
        for name in names
        if name not in members and source.read(f"{NET}/{name}/type") == _ETHER
    ]
    real = [port for port in found if not port.virtual]
    return tuple(real or found)


def cxi_ports(source: Source) -> tuple[Port, ...]:
    """Return the Slingshot cards (Cassini), each with its interface."""
    return tuple(_cxi_port(source, name) for name in source.names(CXI))


def _net_port(source: Source, name: str, members: list[str]) -> Port:
    folder = f"{NET}/{name}"
    pci = pci_of(source, f"{NET}/{members[0]}/device" if members else f"{folder}/device")
    virtual = pci.driver is None
    # What a veth or a bridge prints (10000) is not a real rate. A bond prints the sum of its ports, but one stream gets
    # only one port.
    rate = None if virtual else _speed(source, members[0] if members else name)
    return Port(
        device=name,
        port=None,
        kind="tcp",
        counters="netdev",
        up=_is_up(source, name),
        state=source.read(f"{folder}/operstate") or "unknown",
        pci=pci,
        link=None if rate is None else plain_link("eth", rate.gbit_s),
        rate=rate,
        netdev=name,
        mtu=parse_whole(source.read(f"{folder}/mtu")),
        virtual=virtual,
        bonded=bonded_ports(source, name),
    )


def _cxi_port(source: Source, name: str) -> Port:
    device = f"{CXI}/{name}/device"
    netdev = next(iter(source.names(f"{device}/net")), None)
    said = _CXI_SPEED.fullmatch(source.read(f"{device}/port/speed") or "")
    rate = PortRate(float(said[1]), None, None) if said else None
    if rate is None and netdev is not None:
        rate = _speed(source, netdev)
    link = source.read(f"{device}/port/link")
    return Port(
        device=name,
        port=None,
        kind="slingshot",
        counters="cxi",
        up=link == "up" if link is not None else netdev is not None and _is_up(source, netdev),
        state=link or (source.read(f"{NET}/{netdev}/operstate") if netdev else None) or "unknown",
        pci=pci_of(source, device) if source.read(f"{device}/uevent") else Pci(),
        link=None if rate is None else slingshot_link(rate.gbit_s),
        rate=rate,
        netdev=netdev,
    )


def _is_up(source: Source, name: str) -> bool:
    """Return whether an interface has a link. Some drivers print the state "unknown" although they have a carrier."""
    state = source.read(f"{NET}/{name}/operstate")
    return state == "up" or (state == "unknown" and source.read(f"{NET}/{name}/carrier") == "1")


def _speed(source: Source, name: str) -> PortRate | None:
    mbit_s = parse_whole(source.read(f"{NET}/{name}/speed"))
    return PortRate(mbit_s / 1000, None, None) if mbit_s and mbit_s > 0 else None
