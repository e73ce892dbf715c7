"""Which devices of a node count the same bytes: an RDMA port, the network interface on it, and a card's other name."""

from collections.abc import Mapping

from railyard.hardware.counters import Driver, Overlap
from railyard.job.counters.lines import Facts


def overlap(name: str, facts: Facts, row: Driver) -> Overlap:
    """Return how a device's counters and those of the interface on its port overlap."""
    return row.overlaps(facts.about(name, "layer"))


def interfaces(facts: Facts, rows: Mapping[str, Driver | None]) -> dict[str, str]:
    """Return the interfaces on ports of meant RDMA rails, each with its rail: what TCP would use there.

    Of software RDMA the interface is none of these: whatever RDMA sends goes through it.
    """
    found: dict[str, str] = {}
    for rail in facts.named["meant"]:
        row, interface = rows.get(rail), facts.beside.get(rail)
        if row is None or row.name == "netdev" or interface is None:
            continue
        if overlap(rail, facts, row) in ("apart", "port"):
            found[interface] = rail
    return found


def counted_elsewhere(name: str, facts: Facts, rows: Mapping[str, Driver | None]) -> bool:
    """Return whether what this device counts, which is no meant rail, is what a meant rail counts already.

    That is the interface under software RDMA; and the card of a rail that is named by its interface, where the card
    sees the interface's packets too, or where the interface's rail is the card by another name.
    """
    meant = facts.named["meant"]
    for rail in meant:
        row = rows.get(rail)
        if row is not None and facts.beside.get(rail) == name and overlap(rail, facts, row) == "interface":
            return True
    interface, own = facts.beside.get(name), rows.get(name)
    if own is None or interface is None or interface not in meant:
        return False
    of_interface = rows.get(interface)
    return overlap(name, facts, own) == "port" or (of_interface is not None and of_interface.name == own.name)
