"""What lspci, show_gids and nvidia-smi print, as tables for a terminal, and what is remarkable about it."""

from collections.abc import Callable, Sequence

from railyard.base.values import one_line
from railyard.base.wording import count_of, listing
from railyard.parsers.fabric.port import GidEntry, Hardware, Nearness, PciSlot

_NOTHING = "–"
_NEAR = ("PIX", "PXB", "PHB")
_MOST_NAMED = 8


def hardware_parts(hardware: Hardware, table: Callable[[Sequence[Sequence[str]]], str]) -> list[str]:
    """Return one text for each kind of part that there is; ``table`` lays out columns, each with two lines of head."""
    slots, gids, rows = hardware
    parts: list[tuple[str, list[list[str]]]] = []
    if slots:
        heads = ["address", "LnkSta", "LnkCap", "MaxPayload", "NUMA", "device"]
        parts.append((f"{count_of(len(slots), 'PCI device')} with a link", [heads, *map(_slot, slots)]))
    if gids:
        heads = ["device", "port", "index", "GID", "IPv4", "version", "netdev"]
        parts.append((count_of(len(gids), "GID"), [heads, *([_text(value) for value in each[:-1]] for each in gids)]))
    if rows:
        names = list(dict.fromkeys((*(row.name for row in rows), *(name for row in rows for name in row.to))))
        heads = ["", *names, "CPUs", "NUMA"]
        parts.append(
            (
                f"{count_of(len(rows), 'row')} of GPUs and NICs",
                [heads, *(_nearby_names(row, names) for row in rows)],
            )
        )
    return [f"{title}\n{table(_transpose(lines))}" for title, lines in parts]


def hardware_remarks(hardware: Hardware) -> tuple[str, ...]:
    """Return a sentence for each network card below its own best, and one for the GPUs without a NIC near them."""
    slots = [f"{slot.address}: {below_words(slot)}" for slot in hardware.slots if slot.is_network and slot.is_degraded]
    return (*slots, *gid_remarks(hardware.gids), *far_gpus(hardware.nearness))


def gid_remarks(gids: Sequence[GidEntry]) -> tuple[str, ...]:
    """Return a sentence for each port of RoCE without a GID of RoCE v2 that has an IP address.

    show_gids prints "v1" for InfiniBand too: a port without interface, address and v2 is not taken for RoCE.
    """
    ports: dict[tuple[str, int], list[GidEntry]] = {}
    for gid in gids:
        ports.setdefault((gid.device, gid.port), []).append(gid)
    found = []
    for (device, port), own in ports.items():
        second = [gid for gid in own if gid.version == "v2"]
        is_roce = second or any(gid.netdev or gid.ipv4 for gid in own)
        if is_roce and all(gid.gid.startswith("fe80:") for gid in second):
            only = "RoCE v2 by link-local addresses" if second else "RoCE v1"
            netdev = next((gid.netdev for gid in own if gid.netdev), "its interface")
            found.append(f"{device} port {port}: only GIDs of {only}; give {netdev} an IP address for RoCE v2")
    return tuple(found)


def below_words(slot: PciSlot) -> str:
    """Return how a slot is below what its card could have: "its slot runs at 8 GT/s x8 (LnkSta), …"."""
    here, best = rate_words(slot.speed, slot.width), rate_words(slot.best_speed, slot.best_width)
    return f"its slot runs at {here} (LnkSta), and the card could do {best} (LnkCap)"


def rate_words(speed: float | None, width: int | None) -> str:
    """Return speed and width as people write them: "16 GT/s x8"; a dash for what was not printed."""
    said = ["" if speed is None else f"{speed:g} GT/s", "" if width is None else f"x{width}"]
    return " ".join(word for word in said if word) or _NOTHING


def far_gpus(nearness: Sequence[Nearness]) -> tuple[str, ...]:
    """Return a sentence on the GPUs whose nearest NIC is behind a host bridge's interconnect; () if there are none."""
    gpus = [row for row in nearness if row.name.startswith("GPU")]
    nics = {row.name for row in nearness} - {row.name for row in gpus}
    nics |= {name for row in gpus for name in row.to if not name.startswith("GPU")}
    far = [row.name for row in gpus if nics and not any(row.to.get(nic) in _NEAR for nic in nics)]
    if not far:
        return ()
    named = listing(far[:_MOST_NAMED]) + (f" and {len(far) - _MOST_NAMED} more" if len(far) > _MOST_NAMED else "")
    return (f"{named}: no NIC is nearer than NODE or SYS, so its bytes cross host bridges or sockets",)


def _row_name(row: Nearness) -> str:
    return row.name if row.device in (None, row.name) else f"{row.name} {row.device}"


def _nearby_names(row: Nearness, names: Sequence[str]) -> list[str]:
    return [_row_name(row), *(row.to.get(name, "X") for name in names), _text(row.cpus), _text(row.numa)]


def _slot(slot: PciSlot) -> list[str]:
    mark = " (below)" if slot.is_degraded else ""
    here, best = rate_words(slot.speed, slot.width), rate_words(slot.best_speed, slot.best_width)
    return [slot.address, f"{here}{mark}", best, _text(slot.max_payload), _text(slot.numa), one_line(slot.name)]


def _text(value: object) -> str:
    return _NOTHING if value is None else one_line(str(value))


def _transpose(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return lines as columns, each with its head and an empty unit; the first line has the heads."""
    return [[head, "", *cells] for head, *cells in zip(*lines, strict=True)]
