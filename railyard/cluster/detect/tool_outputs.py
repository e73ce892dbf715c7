"""What the tools of a node print about its cards, where the kernel's files do not say it: lspci, ibstatus, hwloc.

A slot that /sys lacks and the payload of a PCIe packet are in ``lspci -vv`` (as root). ``ibstatus`` may print ports
that a container hides. ``nvidia-smi topo -m`` says which NICs have no GPU on their side of the node. show_gids is not
asked: its GIDs are addresses of the site, and the kernel's own files have what is used of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from xml.etree import ElementTree

from railyard.cluster.detect.ports import Port
from railyard.cluster.detect.source import IBSTATUS, LSPCI, TOPOLOGY, Source
from railyard.hardware.links import pcie_slot
from railyard.parsers.fabric import ibstatus, lspci, nvidia_smi
from railyard.parsers.fabric.hardware import PciSlot
from railyard.parsers.parsed import Parsed, ParseError

_WITHOUT = ("cache:none", "icache:none", "core:none")
#: Compute nodes have hwloc without graphics. Parts without devices are left out; ``-`` is its standard output.
ASKED = ("lstopo-no-graphics", *(word for part in _WITHOUT for word in ("--filter", part)), "--of", "xml", "-")


def with_slots(ports: Sequence[Port], source: Source) -> tuple[Port, ...]:
    """Return the ports with the slots that only lspci prints, and with the payload of a packet."""
    printed = {_full(slot.address): slot for slot in _read(source, LSPCI, lspci.parse).hardware.slots}
    return tuple(_with_slot(port, printed) for port in ports)


def traps(ports: Sequence[Port], source: Source) -> tuple[str, ...]:
    """Return a sentence for each port that only ibstatus prints, and for each NIC that is far from every GPU."""
    known = {(port.device, port.port) for port in ports}
    hidden = [
        f"ibstatus prints {each.device} port {each.port}, which /sys/class/infiniband does not show here: a container "
        "may hide it, so it is no rail in this file"
        for each in _read(source, IBSTATUS, ibstatus.parse).fabric
        if each.device is not None and (each.device, each.port) not in known
    ]
    near = _read(source, TOPOLOGY, nvidia_smi.parse).hardware.nearness
    gpus = {each.name for each in near if each.name.startswith("GPU")}
    ways = {each.device: {each.to[gpu] for gpu in gpus & each.to.keys()} for each in near if each.device is not None}
    far = [
        f"{device}: by nvidia-smi topo -m no GPU is on its side of the node (SYS), so messages from the memory of GPUs "
        "cross between processors"
        for device, words in ways.items()
        if words == {"SYS"}
    ]
    return (*hidden, *far)


def _with_slot(port: Port, printed: Mapping[str, PciSlot]) -> Port:
    slot = printed.get(port.pci.address or "")
    if slot is None:
        return port
    pci = replace(port.pci, max_payload=slot.max_payload)
    if pci.slot is None:
        pci = replace(
            pci, slot=pcie_slot(slot.speed, slot.width), best_slot=pcie_slot(slot.best_speed, slot.best_width)
        )
    return replace(port, pci=pci)


def _full(address: str) -> str:
    """Return an address with its domain, which lspci leaves out on nodes with one."""
    return address if address.count(":") == 2 else f"0000:{address}"


def _read(source: Source, words: tuple[str, ...], parse: Callable[[str], Parsed]) -> Parsed:
    try:
        return parse(f"{source.run(*words) or ''}\n")
    except ParseError:
        return Parsed()


def domains(source: Source) -> Mapping[str, int]:
    """Return the memory domain of each device by name (``mlx5_0``) and by PCI address; empty without hwloc.

    A device near several domains has none. Source: hwloc 2's XML. There a PCI device is below the part of the machine
    that it is near, and the ``nodeset`` of that part has one bit per domain.
    """
    try:
        top = ElementTree.fromstring(source.run(*ASKED) or "")
    except ElementTree.ParseError:
        return MappingProxyType({})
    return MappingProxyType({name: domain for name, domain in _places(top, None) if domain is not None})


def _places(element: ElementTree.Element, domain: int | None) -> Iterator[tuple[str, int | None]]:
    """Yield each device below an element, and the domain of the nearest part of the machine above it."""
    nodeset = element.get("nodeset")
    if nodeset is not None:
        domain = _single_bit(nodeset)
    name = {"PCIDev": element.get("pci_busid"), "OSDev": element.get("name")}.get(element.get("type", ""))
    if name:
        yield name, domain
    for child in element:
        yield from _places(child, domain)


def _single_bit(nodeset: str) -> int | None:
    """Return the one bit of a set such as ``0x00000002``, or ``0x1,0x00000000`` of 32 bits a word; None for others."""
    try:
        bits = sum(int(word or "0", 16) << 32 * place for place, word in enumerate(reversed(nodeset.split(","))))
    except ValueError:
        return None
    return bits.bit_length() - 1 if bits > 0 and bits & (bits - 1) == 0 else None
