"""How far two PCI slots of a node are from each other: from their paths in sysfs, bridges and all."""

#: From near to far, as ``nvidia-smi topo -m`` calls them, and what lies between.
DISTANCES = {
    "PIX": "one PCIe bridge at most: the same switch",
    "PXB": "several PCIe bridges, and no host bridge",
    "PHB": "the processor's own PCIe host bridge",
    "NODE": "several host bridges of one domain of memory",
    "SYS": "the link between domains of memory",
}


def distance(first: str, second: str, same_domain: bool) -> str:
    """Return a key of ``DISTANCES`` for two slots, ``pci0000:00/0000:00:01.0/0000:01:00.0``: bridges, then the card.

    ``same_domain``: both belong to one domain of memory. Source: the legend of ``nvidia-smi topo -m``.
    """
    one, other = first.split("/"), second.split("/")
    if one[0] != other[0]:
        return "NODE" if same_domain else "SYS"
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if shared == 1:
        return "PHB"
    # What is left of each path below the last bridge that both have: its port of that switch, and the card.
    return "PIX" if max(len(one), len(other)) - shared <= 2 else "PXB"
