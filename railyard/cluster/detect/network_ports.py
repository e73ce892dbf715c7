"""The ports of a node that are network interfaces: Ethernet in /sys/class/net, Slingshot in /sys/class/cxi."""

import re
from collections.abc import Collection

from railyard.cluster.detect.bonds import bonded_ports, members_of
from railyard.cluster.detect.ports import Pci, Port, parse_whole, pci_of
from railyard.cluster.detect.rates import PortRate, plain_link, slingshot_link
from railyard.cluster.detect.source import Source

NET, CXI = "/sys/class/net", "/sys/class/cxi"
_ETHER = "1"  # ARPHRD_ETHER; 32 is IP over InfiniBand, whose card is an RDMA device
# Interfaces that programs make for themselves: for containers, virtual machines, tunnels and traffic shaping.
_MADE = re.compile(r"docker|br-|virbr|vnet|tap|tun|cni|cali|flannel|kube|ifb|dummy|veth[0-9a-f]{6,}|bonding_masters")
# The driver's names of speeds: BS_200G, CK_400G; a newer form is bs200G.
_CXI_SPEED = re.compile(r"[A-Za-z]{2}_?([0-9]+)G")


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
