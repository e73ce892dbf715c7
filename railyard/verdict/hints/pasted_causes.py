"""Causes that are beside a benchmark's table in the same text: people paste lspci or ibstat with ib_write_bw.

A slot below its card's best and a port below the named link are offered as causes. They decide nothing: which card the
run used is not known from the text.
"""

from collections.abc import Iterator

from railyard.hardware import limits
from railyard.hardware.links import SLOTS, Link, pcie_slot
from railyard.parsers.fabric.hardware import PciSlot
from railyard.parsers.fabric.port import PortState, has_small_mtu, place
from railyard.parsers.output import ParsedOutput
from railyard.results.report.hardware_text import below_words
from railyard.verdict.hints.causes import Likeness
from railyard.verdict.wording.causes import mtu_in_text, port_in_text, slot_in_text

#: Some tools sum signalled rates (4 x 25.78125 is printed as 104), and ibstat prints 40 for QDR's 32.
_NEARLY = 0.98
_LAYERS = {"infiniband": "InfiniBand", "roce": "Ethernet", "ethernet": "Ethernet", "slingshot": "Ethernet"}


def causes_beside(parsed: ParsedOutput, link: Link) -> tuple[Likeness, ...]:
    """Return a cause for each degraded slot, slow port and small path MTU in the text of a benchmark's output."""
    cards = [slot for slot in parsed.hardware.slots if slot.is_network]
    # beside a card of InfiniBand, those of Ethernet are not meant
    of_ib = [slot for slot in cards if slot.kind == "Infiniband controller"] if link.family == "infiniband" else []
    slots = (_slot(slot, link) for slot in of_ib or cards if slot.is_degraded)
    return (*slots, *_ports(parsed.fabric, link))


def _slot(slot: PciSlot, link: Link) -> Likeness:
    looks = slot_in_text(slot.address, slot.name, slot.line, below_words(slot), _most_mb_s(slot, link))
    return Likeness("slot-beside", looks)


def _most_mb_s(slot: PciSlot, link: Link) -> float | None:
    """Return what the slot lets the link carry; None if the table does not have the slot."""
    name = pcie_slot(slot.speed, slot.width)
    if name is None:
        return None
    bound = limits.limit(link, SLOTS[name], max_payload=slot.max_payload or limits.DEFAULT_MAX_PAYLOAD)
    return None if bound is None else bound.value_mb_s


def _ports(ports: tuple[PortState, ...], link: Link) -> Iterator[Likeness]:
    for port in ports:
        if port.is_active is False or port.link_layer not in (None, _LAYERS.get(link.family)):
            continue
        rate = link.data_rate_gbit_s
        if rate is not None and port.rate is not None and port.rate < _NEARLY * rate:
            lanes = " ".join(word for word in (port.width, port.speed) if word)
            looks = port_in_text(place(port), port.line, port.rate, lanes, rate, link.name)
            yield Likeness("port-beside", looks)
        elif has_small_mtu(port):
            looks = mtu_in_text(place(port), port.line, port.mtu_bytes, port.max_mtu_bytes)
            yield Likeness("mtu-beside", looks)
