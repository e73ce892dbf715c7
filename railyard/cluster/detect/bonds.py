"""Bonds of network interfaces (LAG): which interfaces are in a bond, and how many of them carry traffic at once."""

from railyard.cluster.detect.source import Source
from railyard.hardware.bonding import active_ports

_NET = "/sys/class/net"


def members_of(source: Source, interface: str) -> list[str]:
    """Return the interfaces of a bond; none if it is not a bond."""
    return (source.read(f"{_NET}/{interface}/bonding/slaves") or "").split()


def bonded_ports(source: Source, interface: str | None) -> int:
    """Return how many ports carry the traffic of an interface; 1 if it is not a bond."""
    if interface is None:
        return 1
    mode = (source.read(f"{_NET}/{interface}/bonding/mode") or "").partition(" ")[0]
    return active_ports(mode, max(1, len(members_of(source, interface))))
