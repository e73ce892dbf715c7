"""A node's own addresses, and the hardware addresses that it has for other nodes, as the reader wrote them.

They reveal two nodes with the same address.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from railyard.job.counters.lines import Facts


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
