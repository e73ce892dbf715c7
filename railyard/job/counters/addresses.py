"""A node's own addresses, and which hardware address it believes behind another node's, as the reader wrote them.

Two nodes of one address are told from one another by them. The reader looks at its neighbours after a failure alone.
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

    There are no neighbours of a run that did not fail. All are empty where the kernel does not show them.
    """

    hardware: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()


_KINDS = ("hardware/", "own/", "arp/")


def addresses_of(facts: Facts) -> Addresses:
    """Return what the file says of the node's addresses, and of its neighbours' at the end of its run."""
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
