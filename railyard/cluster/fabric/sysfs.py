"""Reads a node's own RDMA ports and cards from its sysfs, without special rights: from /sys, or from a copy of it.

What is missing or cannot be read is None, and named in a card's ``unread``. A port's path MTU is not in sysfs.
Source: Linux Documentation/ABI/stable/sysfs-class-infiniband and testing/sysfs-bus-pci.

An ordinary user can read only the first 64 bytes of ``config``; root can read all. What was not read is None, not a
default.
Source: PCI-SIG, PCI Express Base Specification, 7.5.3.4 (Device Control) and 7.7.11 (Access Control Services);
Linux include/uapi/linux/pci_regs.h.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.values import one_line
from railyard.cluster.detect.ports import port_rate
from railyard.cluster.fabric.model import Card, Gid, SlotState
from railyard.hardware.counters import full
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.words import LINK_LAYERS, guid_of, integer, physical_of, state_of

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


#: File in counters/ -> standard name.
COUNTERS: Mapping[str, str] = {
    "symbol_error": "SymbolErrorCounter",
    "link_error_recovery": "LinkErrorRecoveryCounter",
    "link_downed": "LinkDownedCounter",
    "port_rcv_errors": "PortRcvErrors",
    "port_rcv_remote_physical_errors": "PortRcvRemotePhysicalErrors",
    "port_rcv_switch_relay_errors": "PortRcvSwitchRelayErrors",
    "port_xmit_discards": "PortXmitDiscards",
    "port_xmit_constraint_errors": "PortXmitConstraintErrors",
    "port_rcv_constraint_errors": "PortRcvConstraintErrors",
    "local_link_integrity_errors": "LocalLinkIntegrityErrors",
    "excessive_buffer_overrun_errors": "ExcessiveBufferOverrunErrors",
    "VL15_dropped": "VL15Dropped",
    "port_xmit_wait": "PortXmitWait",
}
_MODES = {"IB/RoCE v1": "v1", "RoCE v1": "v1", "RoCE v2": "v2", "IB": "IB"}
_IOMMU = {"identity": "passthrough", "DMA": "translated", "DMA-FQ": "translated"}
_NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"
_MOST_GIDS = 1024
_LONGEST = 4096


def ports_of(sys: Path, node: str) -> tuple[PortState, ...]:
    """Return each port of each RDMA device below a sysfs root, by device and port; none if there is no device."""
    return tuple(
        _port(folder, node, device.name)
        for device in _folders(sys / "class/infiniband")
        for folder in _folders(device / "ports")
        if folder.name.isdigit()
    )


def cards_of(sys: Path, node: str) -> tuple[Card, ...]:
    """Return each RDMA device below a sysfs root: driver, firmware, board, slot, GIDs, and the priorities of RoCE."""
    return tuple(_card(folder, sys, node) for folder in _folders(sys / "class/infiniband"))


def _port(folder: Path, node: str, device: str) -> PortState:
    counters = _counters(folder / "counters")
    gid = text(folder / "gids/0")
    port = port_of(node, device, int(folder.name), lambda name: text(folder / name))
    return port._replace(
        lid=integer(text(folder / "lid") or ""),
        sm_lid=integer(text(folder / "sm_lid") or ""),
        guid=guid_of(gid[-19:]) if gid and gid.startswith("fe80:") and port.link_layer == "InfiniBand" else None,
        counters=counters,
        saturated=full(counters),
    )


def port_of(node: str, device: str, port: int, read: Callable[[str], str | None]) -> PortState:
    """Return state, link and layer of a node's own port. ``read`` returns the text of a file in its folder, or None."""
    rate = port_rate(read("rate"))
    return PortState(
        node=node,
        device=device,
        port=port,
        kind="CA",
        state=state_of(_word(read("state"))),
        physical_state=physical_of(_word(read("phys_state"))),
        rate=None if rate is None else rate.gbit_s,
        width=None if rate is None else rate.width,
        speed=None if rate is None else rate.speed,
        link_layer=LINK_LAYERS.get((read("link_layer") or "").lower()),
    )


def _word(said: str | None) -> str:
    """Return the word in "4: ACTIVE"; empty if the file was not read."""
    return (said or "").partition(": ")[2].strip()


def _counters(folder: Path) -> dict[str, int]:
    values = {name: integer(text(folder / file) or "") for file, name in COUNTERS.items()}
    return {name: value for name, value in values.items() if value is not None}


def _card(folder: Path, sys: Path, node: str) -> Card:
    said = {name: text(folder / name) for name in ("fw_ver", "board_id")}
    unread = [name for name, value in said.items() if value is None]
    device = folder / "device"
    slot = _slot(device, sys) if device.is_dir() else None
    if slot is not None and (slot.speed is None or slot.width is None):
        unread.append("device/current_link_speed or _width")
    if slot is not None and slot.max_payload is None:
        unread.append("device/config (only root can read all of it)")
    port = next(iter(_folders(folder / "ports")), None)
    netdevs = [each.name for each in _folders(device / "net")]
    return Card(
        node=node,
        device=folder.name,
        driver=_target(device / "driver"),
        firmware=said["fw_ver"],
        psid=said["board_id"],
        slot=slot,
        gids=() if port is None else _gids(port),
        ecn=next((found for name in netdevs if (found := _ecn(sys / "class/net" / name / "ecn")) is not None), None),
        unread=tuple(unread),
    )


def _slot(device: Path, sys: Path) -> SlotState | None:
    """Return the slot of a PCI device; None if it is not a PCI device (soft-RoCE, a virtual bus)."""
    if text(device / "vendor") is None and text(device / "current_link_width") is None:
        return None
    real = device.resolve()
    control = device_control(_bytes(device / "config"))
    group = device / "iommu_group"
    kind = text(group / "type")
    return SlotState(
        address=real.name,
        speed=text(device / "current_link_speed"),
        width=integer(text(device / "current_link_width") or ""),
        max_speed=text(device / "max_link_speed"),
        max_width=integer(text(device / "max_link_width") or ""),
        max_payload=control.max_payload if control else None,
        max_read_request=control.max_read_request if control else None,
        relaxed_ordering=control.relaxed_ordering if control else None,
        acs=_acs(real, sys),
        iommu=_IOMMU.get(kind or "") if group.exists() else "off",
    )


def _acs(device: Path, sys: Path) -> bool | None:
    """Return whether any bridge above a card redirects; None if one of them cannot be read, or there is no bridge."""
    root = sys.resolve()
    above = [parent for parent in device.parents if root in parent.parents and (parent / "config").exists()]
    bridges = [redirects(_bytes(parent / "config")) for parent in above]
    if not bridges or (None in bridges and True not in bridges):
        return None
    return True in bridges


def _gids(port: Path) -> tuple[Gid, ...]:
    found = []
    for index in range(_MOST_GIDS):
        gid = text(port / "gids" / str(index))
        if gid is None:
            break
        if gid == _NO_GID:
            continue
        # The kernel returns EINVAL for the type of an empty entry: read the type only of other entries.
        kind = text(port / "gid_attrs/types" / str(index))
        netdev = text(port / "gid_attrs/ndevs" / str(index))
        found.append(Gid(index, gid, _MODES.get(kind or ""), netdev))
    return tuple(found)


def _ecn(folder: Path) -> tuple[int, ...] | None:
    """Return the priorities with congestion notification on at both ends (files of MLNX_OFED); None without them."""
    ends = [folder / end / "enable" for end in ("roce_np", "roce_rp")]
    if not all(end.is_dir() for end in ends):
        return None
    return tuple(n for n in range(8) if all(text(end / str(n)) == "1" for end in ends))


def text(path: Path) -> str | None:
    """Return a file's first line, made harmless; None if the file is missing, empty or cannot be read.

    sysfs gives EINVAL, EIO or EPERM without a rule: whatever the reason, the value is unknown.
    """
    try:
        with path.open("rb") as stream:
            line = stream.readline(_LONGEST)
    except OSError:
        return None
    return one_line(line.decode("utf-8", errors="replace")) or None


def _bytes(path: Path) -> bytes:
    """Return the first 4 KiB of a file; nothing if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(_LONGEST)
    except OSError:
        return b""


def _target(link: Path) -> str | None:
    """Return the name of the folder that a link leads to; None if it is not a link."""
    return link.resolve().name if link.exists() else None


def _folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, by name; none if it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def device_control(config: bytes) -> Control | None:
    """Return Device Control; None if the space ends before it, or if the device is not a PCI Express device."""
    at = _capability(config, _EXPRESS)
    if at is None or len(config) < at + _DEVICE_CONTROL + 2:
        return None
    word = _config_word(config, at + _DEVICE_CONTROL)
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
            return bool(_config_word(config, at + _ACS_CONTROL) & _REDIRECT)
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


def _config_word(config: bytes, at: int) -> int:
    return int.from_bytes(config[at : at + 2], "little")
