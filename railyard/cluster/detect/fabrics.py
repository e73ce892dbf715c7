"""Makes a system's fabrics from a node's ports: which belong together, which are left out, and what looks wrong."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.wording import listing
from railyard.cluster.detect.ports import SLINGSHOT_10, Port
from railyard.hardware.links import LINKS

_STEM = re.compile(r"[A-Za-z]+")
_RDMA_KINDS = ("ib", "roce", "opa", "slingshot", "efa")


@dataclass(frozen=True, slots=True)
class FoundFabric:
    """Ports of the same kind and link: the rails of one fabric.

    Ports of Ethernet without RDMA have the same letters in their names, too. ``doubts``: what was guessed about the
    fabric, one sentence each.
    """

    name: str
    ports: tuple[Port, ...]
    doubts: tuple[str, ...] = ()

    @property
    def first(self) -> Port:
        """The port that stands for all ports: they are alike."""
        return self.ports[0]

    @property
    def slot(self) -> str | None:
        """The slot of most of its cards; None if none is known."""
        slots = [port.pci.slot for port in self.ports if port.pci.slot]
        return max(slots, key=slots.count, default=None)

    @property
    def max_payload(self) -> int | None:
        """The most bytes that a PCIe packet carries, if all cards have the same; None if it is not known."""
        found = {port.pci.max_payload for port in self.ports}
        return found.pop() if len(found) == 1 else None

    @property
    def mtu(self) -> int | None:
        """The MTU, if all ports have the same one and the link has an MTU."""
        mtus = {port.mtu for port in self.ports}
        takes = self.first.link is not None and bool(LINKS[self.first.link].mtus)
        return self.first.mtu if len(mtus) == 1 and takes else None


def fabrics_of(ports: Sequence[Port]) -> tuple[FoundFabric, ...]:
    """Return the fabrics of all ports with a link. Fabrics with RDMA come first, the fastest of them first."""
    groups: dict[tuple[str, str | None, float | None, str], list[Port]] = {}
    for port in (one for one in ports if one.up):
        stem = _stem(port.device) if port.kind == "tcp" else ""
        groups.setdefault((port.kind, port.link, port.rate.gbit_s if port.rate else None, stem), []).append(port)
    ordered = sorted(groups.values(), key=_rank)
    found: list[FoundFabric] = []
    for members in ordered:
        name = _name(members[0], {one.name for one in found})
        found.append(FoundFabric(name, tuple(members), _doubts(members, beside=tuple(found))))
    return tuple(found)


def unlinked_ports(ports: Sequence[Port]) -> tuple[str, ...]:
    """Return a sentence for each port without a link: it is not a rail now, but perhaps it should be one."""
    return tuple(
        f"{port.name} has no link ({port.state}): it is left out; if it is meant to be a rail, look at cable and switch"
        for port in ports
        if not port.up
    )


def traps(fabrics: Sequence[FoundFabric]) -> tuple[str, ...]:
    """Return a sentence for each thing that would spoil a benchmark, and that shows without running one."""
    found = [_slot_trap(port) for fabric in fabrics for port in fabric.ports]
    found += [_mtu_trap(fabric) for fabric in fabrics]
    found += [_gid_trap(port) for fabric in fabrics for port in fabric.ports]
    found += _unequal(fabrics)
    found += [_unknown_driver(port) for fabric in fabrics for port in fabric.ports]
    return tuple(dict.fromkeys(sentence for sentence in found if sentence is not None))


def sharing_slot(port: Port, fabric: FoundFabric) -> int:
    """Return how many rails of the fabric are on this port's card."""
    card = port.pci.card
    return 1 if card is None else sum(other.pci.card == card for other in fabric.ports)


def _rank(members: Sequence[Port]) -> tuple[bool, float, str]:
    rate = members[0].rate
    return members[0].kind not in _RDMA_KINDS, -(rate.gbit_s if rate else 0.0), members[0].device


def _stem(name: str) -> str:
    found = _STEM.match(name)
    return found[0] if found else name


def _name(port: Port, taken: set[str]) -> str:
    """Return a short name: for InfiniBand the generation, for Ethernet the interface's letters, else the kind."""
    if port.kind == "ib":
        base = (port.link or "ib").removeprefix("ib-")
    else:
        base = {"tcp": _stem(port.device), "slingshot": "hsn"}.get(port.kind, port.kind)
        base = "hsn" if port.link == SLINGSHOT_10 else base
    number = 1
    name = base
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    return name


def _doubts(members: Sequence[Port], beside: Sequence[FoundFabric]) -> tuple[str, ...]:
    first = members[0]
    found = []
    if first.link is None and not first.virtual:
        said = f"the kernel says {first.rate.words}" if first.rate else "the kernel says no rate of it"
        found.append(f"no link of the table: {said}")
    if first.link == SLINGSHOT_10:
        found.append(
            f"Slingshot 10 is told by the name of the interface ({first.netdev}): if the switches are Ethernet of "
            "another maker, it is roce-100"
        )
    if first.kind == "efa":
        found.append("an adapter's generation is told by the rate that the kernel prints, which drivers round")
    if first.kind == "tcp" and len(members) > 1:
        found.append("interfaces alike in name and rate are taken for rails: one may be for storage")
    if first.kind == "tcp" and any(fabric.first.kind in _RDMA_KINDS for fabric in beside):
        found.append("a network beside the fast one is measured too: remove this fabric if no job should load it")
    if first.virtual and first.kind != "tcp":
        found.append("these are devices of software (Soft-RoCE), whose rate is that of the interfaces below them")
    if first.virtual and first.kind == "tcp":
        found.append("these interfaces belong to no device of the machine, so that nothing says their rate")
    if len({port.pci.slot for port in members}) > 1:
        found.append("its cards sit in unlike slots")
    return tuple(found)


def _slot_trap(port: Port) -> str | None:
    now, best = port.pci.slot, port.pci.best_slot
    if now is None or best is None or now == best:
        return None
    return (
        f"{port.name} ({port.pci.address}) runs in {now} and can {best}: a narrow slot or riser, a card that is not "
        f"seated, or a slot's setting in the BIOS; its limit is that of {now}"
    )


def _mtu_trap(fabric: FoundFabric) -> str | None:
    small = [port for port in fabric.ports if port.kind == "roce" and port.mtu is not None and port.mtu < 4096]
    if not small:
        return None
    names = listing([str(port.netdev) for port in small])
    return (
        f"RoCE over {names} has a path MTU of {small[0].mtu}: set interfaces and switches to an MTU of 4200 or more "
        f"for 4096 (at 1024 a 100 Gbit/s link carries 11.57 GB/s in place of 12.25)"
    )


def _gid_trap(port: Port) -> str | None:
    if port.only_gids is None:
        return None
    return (
        f"{port.name} has only GIDs of {port.only_gids}: give {port.netdev or 'its interface'} an IP address, or jobs "
        "stay within one Ethernet segment, or find no GID at all (show_gids lists them)"
    )


def _unequal(fabrics: Sequence[FoundFabric]) -> list[str | None]:
    """Return a sentence for each port that is slower than another port with the same kind of board."""
    ports = [port for fabric in fabrics for port in fabric.ports if port.rate is not None and port.board]
    found: list[str | None] = []
    for port in ports:
        twins = [other for other in ports if (other.board, other.kind) == (port.board, port.kind)]
        best = max(twins, key=lambda one: one.rate.gbit_s if one.rate else 0.0)
        if port.rate and best.rate and port.rate.gbit_s < best.rate.gbit_s:
            found.append(
                f"{port.name} runs at {port.rate.words}, {best.name} of the same board ({port.board}) at "
                f"{best.rate.words}: look at cable and switch port, or give each a fabric of its own"
            )
    return found


def _unknown_driver(port: Port) -> str | None:
    if port.counters != "none":
        return None
    return (
        f"{port.name} has the driver {port.pci.driver or 'unknown'}, which the table of counters lacks: nothing can "
        f"prove its path"
    )
