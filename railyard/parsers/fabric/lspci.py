"""``lspci -vv``: one PciSlot per device that has a LnkSta, with its LnkCap and DevCtl.

Without root the capabilities are not readable: such a device is a remark. "(ok)" is printed by releases up to 3.7 only,
"(downgraded)" since 3.6: both are compared, not believed. Source: ``cap_express_link``, ``cap_express_dev`` of
pciutils/ls-caps.c; ``show_verbose`` of pciutils/lspci.c.
"""

import re
from typing import Any

from railyard.parsers.fabric.port import Hardware, PciSlot
from railyard.parsers.fabric.text import Notes, finish, lines_of, tools_text
from railyard.parsers.output import ParsedOutput

# 81:00.0 Infiniband controller: Mellanox Technologies MT27800 Family [ConnectX-5]   |   0000:81:00.0 …
_DEVICE = re.compile(
    r"^(?P<address>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<kind>[A-Z0-9][^:\n]{2,60}?)"
    r"(?: \[[0-9a-f]{4}\])?: (?P<name>[^\n]{0,299}\S)\s{0,40}$"
)
# LnkSta:	Speed 8GT/s (downgraded), Width x8 (ok)   |   LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM not supported
_LINK = re.compile(
    r"^\s+(?P<what>LnkCap|LnkSta):\s+(?:Port #[0-9]{1,3}, )?Speed (?P<speed>[0-9]{1,3}(?:\.[0-9])?|unknown)(?:GT/s)?"
    r"(?: \([a-z]{1,12}\))?, Width x(?P<width>[0-9]{1,2})(?: \([a-z]{1,12}\))?(?=,|\s|$)"
)
_BEGUN = re.compile(
    r"^(?:\s{0,40}Lnk(?:Cap|Sta)\b|[0-9a-f]{2,8}[:.][0-9a-f:.]{2,12}\s?[A-Z0-9].{0,40}\b(?:controller|bridge)\b)"
)
# MaxPayload 256 bytes, MaxReadReq 512 bytes   (the second line below DevCtl)
_SIZES = re.compile(r"^\s+MaxPayload (?P<payload>[0-9]{3,4}) bytes, MaxReadReq (?P<request>[0-9]{3,4}) bytes\s*$")
_NUMA = re.compile(r"^\s+NUMA node: (?P<node>[0-9]{1,4})\s*$")
_DENIED = re.compile(r"^\s+Capabilities: <access denied>\s*$")
_EXPECTED = 'a device as "81:00.0 Infiniband controller: ...", with LnkCap and LnkSta (lspci -vv, as root)'


def parse(text: str) -> ParsedOutput:
    """Return one PciSlot per device with a LnkSta, in the order of the text, as ``hardware``.

    Raises ParseError if no device has a link in the form of lspci.
    """
    lines, cut = lines_of(tools_text(text, "lspci", _EXPECTED))
    notes = Notes()
    devices: list[dict[str, Any]] = []
    is_open = False  # a blank line ends a device: indented lines below it may be a benchmark's
    for number, line in enumerate(lines, 1):
        if not line or number == cut:
            is_open = is_open and bool(line)
            continue
        found = _DEVICE.match(line)
        if found:
            devices.append({**found.groupdict(), "line": number})
            is_open = True
        elif devices and line[0].isspace() and _take(devices[-1], line, number):
            continue
        elif _BEGUN.match(line):
            notes.note_unread(number, line, _EXPECTED)
        elif not line[0].isspace() or not devices:
            notes.foreign(number, line)
        elif _DENIED.match(line):
            notes.remark(number, f"{devices[-1]['address']}: capabilities are not readable: run lspci as root")
        elif not is_open and line[0] != "\t":
            notes.foreign(number, line)
    slots = tuple(PciSlot(**device) for device in devices if "width" in device)
    done = finish("lspci", [], bool(slots), notes, lines, _EXPECTED)
    return ParsedOutput(failures=done.failures, remarks=done.remarks, hardware=Hardware(slots=slots))


def _take(device: dict[str, Any], line: str, number: int) -> bool:
    """Take one indented line of a device; return False for one that says nothing about its link.

    A second LnkSta is that of another link below it, and is left out.
    """
    if link := _LINK.match(line):
        is_now = link["what"] == "LnkSta"
        if ("width" if is_now else "best_width") in device:
            return True
        device["width" if is_now else "best_width"] = int(link["width"]) or None
        device["speed" if is_now else "best_speed"] = None if link["speed"] == "unknown" else float(link["speed"])
        if is_now:
            device["line"] = number
    elif (sizes := _SIZES.match(line)) and "max_payload" not in device:
        device["max_payload"], device["max_read_request"] = int(sizes["payload"]), int(sizes["request"])
    elif numa := _NUMA.match(line):
        device["numa"] = int(numa["node"])
    else:
        return False
    return True
