"""Turns rates, slot speeds and MTUs that the kernel prints into names of the tables of links and slots."""

import re
from dataclasses import dataclass

from railyard.hardware.links import LINKS, SLOTS, lanes, pcie_generation, speed_name, speed_of_lane, width_of

# "100 Gb/sec (4X EDR)"; before Linux 5.x, SDR has no name: "10 Gb/sec (4X)"
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?) Gb/sec(?: \(([0-9]+[xX])(?: ([A-Za-z0-9]+))?\))?")


@dataclass(frozen=True, slots=True)
class PortRate:
    """A port's rate in Gbit/s as the kernel names it, its width ("4X") and the speed of a lane ("EDR")."""

    gbit_s: float
    width: str | None
    speed: str | None

    @property
    def words(self) -> str:
        """The rate as people write it: ``4X EDR, 100 Gbit/s``."""
        name = " ".join(word for word in (self.width, self.speed) if word)
        return f"{name}, {self.gbit_s:g} Gbit/s" if name else f"{self.gbit_s:g} Gbit/s"


def port_rate(text: str | None) -> PortRate | None:
    """Return what a ``rate`` file of an RDMA port says; None if there is no text, or another one."""
    found = _RATE.fullmatch(text or "")
    if found is None or float(found[1]) <= 0:
        return None
    gbit_s, width = float(found[1]), width_of(found[2] or "")
    count = lanes(width)
    speed = speed_name(found[3]) if found[3] else speed_of_lane(gbit_s / count) if count else None
    return PortRate(gbit_s, width, speed)


def infiniband_link(rate: PortRate) -> str | None:
    """Return the table's name of an InfiniBand link (``ib-hdr100`` for 2X HDR); None if the table does not have it."""
    count = lanes(rate.width)
    if count is None or rate.speed is None:
        return None
    head = f"ib-{rate.speed.lower()}"
    name = {4: head, 2: f"{head}{rate.gbit_s:.0f}"}.get(count, f"{head}-{count}x")
    return name if name in LINKS else None


def plain_link(family: str, gbit_s: float) -> str | None:
    """Return the table's name of a link whose rate is enough to know it (``roce-100``, ``eth-25``, ``opa-100``)."""
    name = f"{family}-{gbit_s:g}"
    return name if name in LINKS else None


def slingshot_link(gbit_s: float) -> str | None:
    """Return the generation of Slingshot's own cards (Cassini) at this rate; its number is not a rate."""
    return {200.0: "slingshot-11", 400.0: "slingshot-400"}.get(gbit_s)


def slot_name(speed: str | None, width: str | None) -> str | None:
    """Return the table's name of a slot, from ``16.0 GT/s PCIe`` and ``16``; None if the table has no such slot.

    Virtual functions print 0 lanes or "Unknown".
    """
    name = f"pcie{pcie_generation(speed)}-x{width}"
    return name if name in SLOTS else None
