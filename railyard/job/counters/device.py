"""What one device of a node counted during a run: bytes each way, errors, and why its bytes may not be known."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from railyard.hardware.counters import Overlap


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a device: bytes before and after; None where the counter was unreadable or missing.

    ``idle_bytes`` is what an idle rail would have moved in that time, by its rate before the run; 0 where that was not
    measured.
    """

    before_bytes: int | None
    after_bytes: int | None
    full: bool = False
    idle_bytes: int = 0

    @property
    def decreased(self) -> bool:
        """True where the counter went backwards: reset, wrapped or another device by now."""
        return self.before_bytes is not None and self.after_bytes is not None and self.after_bytes < self.before_bytes

    @property
    def delta_bytes(self) -> int | None:
        """Bytes moved between the readings beyond the idle ones, never below 0; None where they cannot be known."""
        if self.before_bytes is None or self.after_bytes is None or self.decreased or self.full:
            return None
        return max(0, self.after_bytes - self.before_bytes - self.idle_bytes)


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """One device of a node. ``carrier`` is True, False, or None where it was not read, before and after the run.

    ``errors`` and ``signals`` hold by how much each of the driver's counters grew, those alone that did; ``stuck`` are
    error counters that stood at their maximum before the run. ``beside`` is the RDMA device whose port this interface
    is on, None for any other device. ``packet_bytes``: the counters count packets of at most so many bytes, so that all
    bytes here are upper bounds. ``virtual``: a virtual function, which does not see its port's errors. ``held_ms``: the
    kernel may have given values that are so old. ``unnamed``: no system file names it. ``foreign``: its kernel driver,
    where the system's file names the counters of another one.
    """

    device: str
    meant: bool
    tx: Direction
    rx: Direction
    carrier_before: bool | None
    carrier_after: bool | None
    errors: Mapping[str, int]
    signals: Mapping[str, int] = field(default_factory=dict)
    stuck: tuple[str, ...] = ()
    driver: str = "netdev"
    overlap: Overlap = "none"
    beside: str | None = None
    packet_bytes: int | None = None
    virtual: bool = False
    held_ms: int | None = None
    unnamed: bool = False
    foreign: str | None = None

    @property
    def trouble(self) -> str | None:
        """Why this device's bytes cannot be known, in words that follow "rail hsn0 of vn1"; None where they can."""
        if self.foreign is not None:
            return f"is driven by {self.foreign}, and the system's file says counters: {self.driver}"
        for name, direction in (("sent", self.tx), ("received", self.rx)):
            if direction.decreased:
                return (
                    f"counted fewer bytes {name} after the run ({direction.after_bytes}) than before "
                    f"({direction.before_bytes}): it was reset or replaced"
                )
            if direction.full:
                return f"has a full counter of bytes {name}: it stands at its maximum and counts no more"
            if direction.delta_bytes is None:
                return f"has no readable counter of bytes {name}"
        if self.held_ms is not None:
            return f"has counters that the kernel refreshes every {self.held_ms} ms, for which the reader did not wait"
        return None
