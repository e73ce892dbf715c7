"""Compares what each card's PCIe slot negotiated with the system's file, before a benchmark runs."""

from railyard.base.wording import number
from railyard.cluster.fabric.model import Card, ExpectedFabric, Finding, Readings, SlotState
from railyard.hardware import limits, links
from railyard.hardware.links import pcie_generation

_MENDS = {
    "max_payload": "set PCIe max payload in the BIOS, or boot with pci=pcie_bus_perf",
    "max_read_request": "setpci -s {address} CAP_EXP+8.w, bits 14 to 12, or the BIOS",
    "relaxed_ordering": "mlxconfig PCI_WR_ORDERING, or the BIOS",
    "acs": "switch ACS in the BIOS, or by setpci on the bridges above the card",
    "iommu": "boot with iommu=pt (passthrough), or with intel_iommu= or amd_iommu=",
}


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
    return [_finding("slot", card, found, _slot_name(wanted, meant.lanes), _fix(slot, meant, here, wanted))]


def _fix(slot: SlotState, meant: links.Slot, here: int, wanted: int) -> str:
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
