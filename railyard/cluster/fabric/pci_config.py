"""Reads PCI configuration space: payload and request sizes, relaxed ordering, redirection of peer traffic (ACS).

An ordinary user can read only the first 64 bytes of ``config``; root can read all. What was not read is None, not a
default.
Source: PCI-SIG, PCI Express Base Specification, 7.5.3.4 (Device Control) and 7.7.11 (Access Control Services);
Linux include/uapi/linux/pci_regs.h.
"""

from dataclasses import dataclass

_STATUS, _HAS_LIST = 0x06, 0x10
_FIRST = 0x34
_EXPRESS = 0x10
_DEVICE_CONTROL = 0x08
_RELAXED_ORDERING = 1 << 4
_EXTENDED = 0x100
_ACS, _ACS_CONTROL = 0x000D, 0x06
#: P2P request redirect, P2P completion redirect: these send a card's traffic for a neighbour up to the root.
_REDIRECT = (1 << 2) | (1 << 3)
_MOST_CAPABILITIES = 48


@dataclass(frozen=True, slots=True)
class Control:
    """Device Control of a card: sizes in bytes."""

    max_payload: int
    max_read_request: int
    relaxed_ordering: bool


def device_control(config: bytes) -> Control | None:
    """Return Device Control; None if the space ends before it, or if the device is not a PCI Express device."""
    at = _capability(config, _EXPRESS)
    if at is None or len(config) < at + _DEVICE_CONTROL + 2:
        return None
    word = _word(config, at + _DEVICE_CONTROL)
    payload, request = (word >> 5) & 7, (word >> 12) & 7
    if payload > 5 or request > 5:  # 6 and 7 are reserved
        return None
    return Control(128 << payload, 128 << request, bool(word & _RELAXED_ORDERING))


def redirects(config: bytes) -> bool | None:
    """Return whether a bridge redirects peer traffic to the root; None if its extended space cannot be read.

    A bridge without the capability redirects nothing.
    """
    if len(config) <= _EXTENDED:
        return None
    at = _EXTENDED
    for _ in range(_MOST_CAPABILITIES):
        if at < _EXTENDED or len(config) < at + 8:
            return False
        header = int.from_bytes(config[at : at + 4], "little")
        if header & 0xFFFF == _ACS:
            return bool(_word(config, at + _ACS_CONTROL) & _REDIRECT)
        at = (header >> 20) & 0xFFC
    return False


def _capability(config: bytes, wanted: int) -> int | None:
    """Return where a capability begins; None if the list does not have it, is cut, or runs in a circle."""
    if len(config) <= _FIRST or not config[_STATUS] & _HAS_LIST:
        return None
    at = config[_FIRST] & 0xFC
    for _ in range(_MOST_CAPABILITIES):
        if at < 0x40 or len(config) < at + 2:
            return None
        if config[at] == wanted:
            return at
        at = config[at + 1] & 0xFC
    return None


def _word(config: bytes, at: int) -> int:
    return int.from_bytes(config[at : at + 2], "little")
