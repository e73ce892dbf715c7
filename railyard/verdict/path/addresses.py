"""An address that two nodes have, seen from both sides of a run: the owner's own address, and the sender's ARP table.

The node that should have the address is the victim: its rail is healthy, and probes of rails could not show that.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from railyard.job.counters.node import NodeCounters
from railyard.verdict.wording import path as words
from railyard.verdict.wording import ports


@dataclass(frozen=True, slots=True)
class Conflict:
    """An IPv4 ``address`` of the node ``owner``: over its ``device``, ``seen_by`` found other hardware at this address.

    ``node`` has that hardware, on ``node_device``; None if none of the nodes that were asked has it.
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
        """Who answers for which node's address, and which node found that."""
        who = ports.place(str(self.node_device), self.node, str(self.node_device)) if self.node else words.a_stranger()
        return words.second_owner(who, self.hardware, self.address, self.owner, self.seen_by, self.device)


def look_at(seen: Iterable[Conflict]) -> str:
    """Return where to look at next, to find who has these addresses."""
    return words.look_at_owners([one.address for one in seen])


def conflicts(readings: Mapping[str, NodeCounters], rails: Collection[str]) -> tuple[Conflict, ...]:
    """Return each address of a node at which another node found hardware that is not the first node's.

    This covers the intended ``rails`` and the interfaces on their ports. If several of these nodes say that an address
    is their own, it counts as the first one's. Hardware that answers for several nodes' addresses is a router or a
    cloud's virtual switch (Azure's answers for all of a subnet), and no second owner.
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
    answers_for: dict[str, set[str]] = {}
    for one in found.values():
        answers_for.setdefault(one.hardware, set()).add(one.owner)
    return tuple(one for one in found.values() if len(answers_for[one.hardware]) == 1)
