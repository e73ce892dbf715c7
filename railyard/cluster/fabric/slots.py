"""Compares what each card's PCIe slot negotiated with the system's file, before a benchmark runs.

Also what lspci, show_gids and nvidia-smi list of a node: slots below their best, GIDs, GPUs without a NIC near them.
lspci names a card by its address and not by its device, so it is not known which rail a slot belongs to: it is compared
with the slots of all rails of the file.
"""

from collections.abc import Iterator, Sequence

from railyard.base.errors import Weight
from railyard.base.wording import number
from railyard.cluster.fabric.model import Card, ExpectedFabric, Finding, Gid, Readings, SlotState
from railyard.hardware import limits, links
from railyard.hardware.links import SLOTS, pcie_generation, pcie_generation_of
from railyard.parsers.fabric.port import Hardware, PciSlot
from railyard.results.report.hardware_text import far_gpus, rate_words

_MENDS = {
    "max_payload": "set PCIe max payload in the BIOS, or boot with pci=pcie_bus_perf",
    "max_read_request": "setpci -s {address} CAP_EXP+8.w, bits 14 to 12, or the BIOS",
    "relaxed_ordering": "mlxconfig PCI_WR_ORDERING, or the BIOS",
    "acs": "switch ACS in the BIOS, or by setpci on the bridges above the card",
    "iommu": "boot with iommu=pt (passthrough), or with intel_iommu= or amd_iommu=",
}
#: Classes of cards that can be a rail of a kind of fabric.
_CLASSES = {"ib": ("Infiniband controller",), "roce": ("Ethernet controller",)}
_RESEAT = (
    "put the card into a slot with all lanes wired, reseat it and its riser; check bifurcation and speed in the BIOS"
)
_NEAR = "let each GPU use a NIC of its own socket, or move the NIC to a slot behind the GPU's switch"


def slot_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each rail's card whose slot is narrower or slower than expected, or set otherwise."""
    found: list[Finding] = []
    for card in readings.cards:
        rail = expected.sits(card.device)
        if rail is None or card.slot is None:
            continue
        if rail.slot is not None and rail.slot.startswith("pcie"):
            found += _find_narrow_slot(expected, card, card.slot, links.SLOTS[rail.slot])
        found += _settings(expected, card, card.slot)
    return found


def _find_narrow_slot(expected: ExpectedFabric, card: Card, slot: SlotState, meant: links.Slot) -> list[Finding]:
    wanted = int(meant.name[len("pcie")])
    width, here = slot.width or 0, pcie_generation(slot.speed)
    if not width or here is None:
        said = f"a slot of speed {_quote(slot.speed)} and width {width or 'unknown'}"
        fix = f"cannot be judged: lspci -vv -s {slot.address} as root shows LnkSta"
        return [_finding("slot-unread", card, said, _slot_name(wanted, meant.lanes), fix, is_problem=False)]
    if width == meant.lanes and here == wanted:
        return []
    if width >= meant.lanes and here >= wanted:
        fix = f"better than the file says: correct slot in {expected.file}; limits are computed from it"
        return [_finding("slot-better", card, _slot_name(here, width), _slot_name(wanted, meant.lanes), fix, False)]
    place = f" ({slot.address})" if slot.address else ""
    found = f"{_slot_name(here, width)}{place}{_most_of_slot(expected, here, width)}"
    return [_finding("slot", card, found, _slot_name(wanted, meant.lanes), _fix(slot, meant, wanted))]


def _fix(slot: SlotState, meant: links.Slot, wanted: int) -> str:
    """Return what to do: a card that cannot do more is another card; else its slot is wrong, or was trained badly."""
    best = pcie_generation(slot.max_speed)
    could = (slot.max_width or 0) >= meant.lanes and (best or 0) >= wanted
    if not could:
        most = "less" if slot.max_width is None or best is None else _slot_name(best, slot.max_width)
        return f"the card itself supports only {most}: is it another card than in the file?"
    if (slot.width or 0) < meant.lanes:
        return "put it into a slot with all lanes wired, or reseat it and its riser; check bifurcation in the BIOS"
    return "check the slot's speed in the BIOS, reseat the card and its riser, and update its firmware"


def _most_of_slot(expected: ExpectedFabric, here: int, width: int) -> str:
    """Return what such a slot gives at most, if the table has it: ", 7.2 GB/s at most"."""
    slot = links.SLOTS.get(f"pcie{here}-x{width}")
    if slot is None:
        return ""
    link = links.LINKS.get(expected.link)
    bound = None if link is None else limits.limit(link, slot, max_payload=expected.max_payload)
    return "" if bound is None else f", {number(bound.value_mb_s)} MB/s at most"


def _settings(expected: ExpectedFabric, card: Card, slot: SlotState) -> list[Finding]:
    """Return a finding for each setting that differs from the file; one that could not be read gives no finding."""
    rows: tuple[tuple[str, object, object], ...] = (
        ("max_payload", slot.max_payload, expected.max_payload),
        ("max_read_request", slot.max_read_request, expected.max_read_request),
        ("relaxed_ordering", slot.relaxed_ordering, expected.relaxed_ordering),
        ("acs", slot.acs, expected.acs),
        ("iommu", slot.iommu, expected.iommu),
    )
    found = []
    for what, here, meant in rows:
        if meant is None or here is None or here == meant:
            continue
        # A larger payload than in the file does no harm: the computed limits are just too low.
        better = what == "max_payload" and isinstance(here, int) and isinstance(meant, int) and here > meant
        said, fix = f"{what} {_word(here)}", _MENDS[what].format(address=slot.address)
        if better:
            fix = f"correct max_payload of fabrics.{expected.fabric} in {expected.file}"
        found.append(_finding(what, card, said, f"{what} {_word(meant)}", fix, is_problem=not better))
    return found


def _word(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _slot_name(gen: int, width: int) -> str:
    return f"PCIe Gen{gen} x{width}"


def _quote(text: str | None) -> str:
    return f'"{text}"' if text else "unknown"


def _finding(what: str, card: Card, found: str, expected: str, fix: str, is_problem: bool = True) -> Finding:
    return Finding(what, card.node, card.device, None, found, expected, fix, "problem" if is_problem else "remark")


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
