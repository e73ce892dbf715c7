"""An address that two nodes have, by what both sides of a run say: the owner's own, and the sender's table (ARP).

The node whose address it is meant to be is the victim: its rail is healthy, and no probe of rails could tell.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from railyard.job.counters.node import NodeCounters


@dataclass(frozen=True, slots=True)
class Conflict:
    """An IPv4 ``address`` of the node ``owner``, behind which ``seen_by`` found other hardware, over its ``device``.

    ``node`` has that hardware, on ``node_device``; None where it is none of the nodes that were asked.
    """

    address: str
    owner: str
    device: str
    seen_by: str
    hardware: str
    node: str | None = None
    node_device: str | None = None

    @property
    def sentence(self) -> str:
        """Who has whose address, and who found it so."""
        who = f"{self.node_device} of {self.node}" if self.node else "a machine that is none of the nodes asked"
        return (
            f"{who} ({self.hardware}) answers for {self.address}, the address of {self.owner}, as {self.seen_by} found "
            f"over {self.device}: two nodes have one address, and the rails of {self.owner} are not at fault"
        )


def conflicts(readings: Mapping[str, NodeCounters], rails: Collection[str]) -> tuple[Conflict, ...]:
    """Return each address of one node behind which another node found hardware that is not that node's.

    Over the meant ``rails``, and the interfaces on their ports. () for a run that did not fail: its nodes did not
    look. An address that several of these nodes say is their own is that of the first of them.
    """
    known = {node: reading.addresses for node, reading in readings.items()}
    whose = {which: (node, device) for node, its in known.items() for which, device in its.hardware.items()}
    owners: dict[str, str] = {}
    for node, its in known.items():
        for address in its.own:
            owners.setdefault(address, node)
    found: dict[tuple[str, str], Conflict] = {}
    for node, its in known.items():
        for neighbour in its.neighbours:
            seen = readings[node].device(neighbour.device)
            if neighbour.device not in rails and (seen is None or seen.beside is None):
                continue
            owner = owners.get(neighbour.address)
            if owner is None or owner == node or neighbour.hardware in known[owner].hardware:
                continue
            who = whose.get(neighbour.hardware, (None, None))
            one = Conflict(neighbour.address, owner, neighbour.device, node, neighbour.hardware, *who)
            found.setdefault((one.address, one.hardware), one)
    return tuple(found.values())
