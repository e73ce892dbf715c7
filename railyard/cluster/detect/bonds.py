"""Bonds of network interfaces (LAG): which interfaces are in one, and how many of them carry at once."""

from railyard.cluster.detect.source import Source
from railyard.hardware.bonding import carrying

_NET = "/sys/class/net"


def members_of(source: Source, interface: str) -> list[str]:
    """Return the interfaces that a bond is of, none if it is no bond."""
    return (source.read(f"{_NET}/{interface}/bonding/slaves") or "").split()


def bonded_ports(source: Source, interface: str | None) -> int:
    """Return how many ports carry what goes over an interface, 1 for what is no bond."""
    if interface is None:
        return 1
    mode = (source.read(f"{_NET}/{interface}/bonding/mode") or "").partition(" ")[0]
    return carrying(mode, max(1, len(members_of(source, interface))))
