"""How far two PCI slots of a node are from each other, by their paths in sysfs with all bridges."""

#: From near to far: the names in ``nvidia-smi topo -m``, and what is between the slots.
DISTANCES = {
    "PIX": "at most one PCIe bridge: the same switch",
    "PXB": "several PCIe bridges, and no host bridge",
    "PHB": "the processor's own PCIe host bridge",
    "NODE": "several host bridges of one NUMA domain",
    "SYS": "the link between NUMA domains",
}


def distance(first: str, second: str, same_domain: bool) -> str:
    """Return a key of ``DISTANCES`` for two slots, ``pci0000:00/0000:00:01.0/0000:01:00.0``: bridges, then the card.

    ``same_domain``: both belong to one NUMA domain. Source: the legend of ``nvidia-smi topo -m``.
    """
    one, other = first.split("/"), second.split("/")
    if one[0] != other[0]:
        return "NODE" if same_domain else "SYS"
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if shared == 1:
        return "PHB"
    # The rest of each path below the last bridge that both share: its port of that switch, and the card.
    return "PIX" if max(len(one), len(other)) - shared <= 2 else "PXB"
