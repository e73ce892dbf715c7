"""What a node's tools print about its cards besides ports: PCIe slots, GIDs, and how near GPUs and NICs are."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from railyard.parsers.fabric.port import NOTHING


class PciSlot(NamedTuple):
    """One PCI device: its link as it is (LnkSta) and as the device could have it (LnkCap).

    What is not printed is None. Speeds are in GT/s per lane, sizes in bytes. ``kind`` is the class ("Infiniband
    controller"), ``name`` the model. ``max_payload`` and ``max_read_request`` are set (DevCtl), not what would be
    possible (DevCap). ``line`` is that of LnkSta, 1-based.
    """

    address: str
    kind: str
    name: str
    speed: float | None = None
    width: int | None = None
    best_speed: float | None = None
    best_width: int | None = None
    max_payload: int | None = None
    max_read_request: int | None = None
    numa: int | None = None
    line: int = 0

    @property
    def is_network(self) -> bool:
        """Return whether it is a network card, by its class."""
        return self.kind in ("Infiniband controller", "Ethernet controller", "Network controller", "Fabric controller")

    @property
    def is_degraded(self) -> bool | None:
        """Return whether its link is slower or narrower than the device could have it; None if that is not printed."""
        known = [
            (here, best)
            for here, best in ((self.speed, self.best_speed), (self.width, self.best_width))
            if here is not None and best is not None
        ]
        return any(here < best for here, best in known) if known else None


class GidEntry(NamedTuple):
    """One entry of a port's GID table; ``version`` is v1 or v2 of RoCE, None on InfiniBand. ``line`` is 1-based."""

    device: str
    port: int
    gid_index: int
    gid: str
    ipv4: str | None = None
    version: str | None = None
    netdev: str | None = None
    line: int = 0


class Nearness(NamedTuple):
    """One row of the matrix of GPUs and NICs: the word for the way to each other one (NV18, PIX, PXB, PHB, NODE, SYS).

    ``device`` is the NIC's name by the legend ("mlx5_0"). ``cpus`` and ``numa`` are as printed; None for a NIC.
    """

    name: str
    to: Mapping[str, str]
    device: str | None = None
    cpus: str | None = None
    numa: str | None = None
    line: int = 0


class Hardware(NamedTuple):
    """All that is in one text; false if there is nothing."""

    slots: tuple[PciSlot, ...] = ()
    gids: tuple[GidEntry, ...] = ()
    nearness: tuple[Nearness, ...] = ()

    def __bool__(self) -> bool:
        return any(map(len, self))

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        """Return what there is, without what was not printed."""
        return {name: [_plain(each) for each in values] for name, values in self._asdict().items() if values}


NO_HARDWARE = Hardware()


def combine(parts: list[Hardware]) -> Hardware:
    """Return what several parts of one text hold."""
    return Hardware(
        slots=tuple(each for part in parts for each in part.slots),
        gids=tuple(each for part in parts for each in part.gids),
        nearness=tuple(each for part in parts for each in part.nearness),
    )


def _plain(each: PciSlot | GidEntry | Nearness) -> dict[str, Any]:
    said = {name: dict(value) if isinstance(value, Mapping) else value for name, value in each._asdict().items()}
    if isinstance(each, PciSlot):
        said["degraded"] = each.is_degraded
    return {name: value for name, value in said.items() if value is not None and value is not NOTHING}
