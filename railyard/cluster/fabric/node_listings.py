"""What lspci, show_gids and nvidia-smi list of a node: slots below their best, GIDs, GPUs without a NIC near them.

lspci names a card by its address and not by its device, so it is not known which rail a slot belongs to: it is compared
with the slots of all rails of the file.
"""

from collections.abc import Iterator, Sequence

from railyard.base.finding import Weight
from railyard.cluster.fabric.model import ExpectedFabric, Finding, Gid, Readings
from railyard.hardware.links import SLOTS, pcie_generation_of
from railyard.parsers.fabric.hardware import Hardware, PciSlot
from railyard.results.report.hardware_text import far_gpus, rate_words

#: Classes of cards that can be a rail of a kind of fabric.
_CLASSES = {"ib": ("Infiniband controller",), "roce": ("Ethernet controller",)}
_RESEAT = (
    "put the card into a slot with all lanes wired, reseat it and its riser; check bifurcation and speed in the BIOS"
)
_NEAR = "let each GPU use a NIC of its own socket, or move the NIC to a slot behind the GPU's switch"


def gids_of(hardware: Sequence[tuple[str, Hardware]]) -> Iterator[tuple[str, str, tuple[Gid, ...]]]:
    """Yield node, device and the GIDs of its first port, for each device that show_gids prints."""
    for node, each in hardware:
        for device in dict.fromkeys(entry.device for entry in each.gids):
            own = [entry for entry in each.gids if entry.device == device]
            first = min(entry.port for entry in own)
            rows = (entry for entry in own if entry.port == first)
            yield node, device, tuple(Gid(row.gid_index, row.gid, row.version, row.netdev) for row in rows)


def listed_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each card whose slot is below its best, and a remark on GPUs without a NIC near them.

    A slot that is as good as the file's is none. Without a slot in the file, a degraded one is a remark. Cards whose
    sysfs was read are left out: their slots are judged already.
    """
    known = {_short(card.slot.address) for card in readings.cards if card.slot is not None}
    found: list[Finding] = []
    for node, hardware in readings.hardware:
        for slot in hardware.slots:
            if slot.is_degraded and slot.kind in _kinds(expected) and _short(slot.address) not in known:
                found += _slot(expected, node, slot)
        found += [
            Finding("nearness", node, None, None, far, "a NIC at PIX, PXB or PHB of each GPU", _NEAR, "remark")
            for far in far_gpus(hardware.nearness)
        ]
    return found


def _kinds(expected: ExpectedFabric) -> tuple[str, ...]:
    return _CLASSES.get(expected.kind, ("Infiniband controller", "Fabric controller", "Network controller"))


def _slot(expected: ExpectedFabric, node: str, slot: PciSlot) -> list[Finding]:
    here, best = rate_words(slot.speed, slot.width), rate_words(slot.best_speed, slot.best_width)
    stated = {rail.slot for rail in expected.rails if rail.slot is not None}
    if stated and all(_reaches(slot.speed, slot.width, name) for name in stated):
        return []
    is_lost = bool(stated) and all(_reaches(slot.best_speed, slot.best_width, name) for name in stated)
    meant = f"{best}, as its LnkCap" if not is_lost else f"{' or '.join(sorted(stated))}, as {expected.file} says"
    weight: Weight = "problem" if is_lost else "remark"
    return [Finding("slot", node, slot.address, None, f"LnkSta {here} (LnkCap {best})", meant, _RESEAT, weight)]


def _reaches(speed: float | None, width: int | None, name: str) -> bool:
    """Return whether a link is as fast and as wide as a slot of the table; True for what was not printed."""
    slot = SLOTS[name]
    if not name.startswith("pcie"):
        return True
    generation = pcie_generation_of(speed)
    fast = generation is None or generation >= int(name[4])
    return fast and (width is None or width >= slot.lanes)


def _short(address: str) -> str:
    """Return a PCI address without a domain of zeros."""
    return address.removeprefix("0000:")
