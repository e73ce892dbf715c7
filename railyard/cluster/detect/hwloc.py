"""Reads each device's memory domain from hwloc's topology: it knows it even if the BIOS does not tell the kernel."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from xml.etree import ElementTree

from railyard.cluster.detect.source import Source

_WITHOUT = ("cache:none", "icache:none", "core:none")
#: Compute nodes have hwloc without graphics. Parts without devices are left out; ``-`` is its standard output.
ASKED = ("lstopo-no-graphics", *(word for part in _WITHOUT for word in ("--filter", part)), "--of", "xml", "-")


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
