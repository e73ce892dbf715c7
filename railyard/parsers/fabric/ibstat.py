"""ibstat (infiniband-diags 1.3 to rdma-core 60): one port per "Port N:" block; and ``ibstat -p``, a list of port GUIDs.

``rate`` is as printed: a port that is Down prints one too, but it means nothing. "40 (FDR10)" has speed FDR10. The
forms for one port (``ibstat mlx5_0 1``: "CA: 'mlx5_0'", no indentation) and for all ports are read alike. ibstat prints
no width, no MTU and no partner. A device without any printed port (``-s``) gives a remark and no port. Source:
``ca_dump`` and ``port_dump`` of infiniband-diags/ibstat.c.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from railyard.hardware.links import speed_name
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import Notes, finish, lines_of, tools_text
from railyard.parsers.fabric.words import KINDS, LINK_LAYERS, guid_of, integer, known_value, physical_of, state_of
from railyard.parsers.output import ParsedOutput

# CA 'mlx5_0'   |   CA: 'mlx5_0'   |   Switch 'x'   |   iWARP RNIC 'cxgb4_0'
_DEVICE = re.compile(r"^\s*(?P<kind>CA|Switch|Router|iWARP RNIC|\?\?\?):? '(?P<device>[^']{1,100})'\s*$")
# 	Port 1:
_PORT = re.compile(r"^\s*Port (?P<port>[0-9]{1,4}):\s*$")
_BEGUN = re.compile(r"^\s{0,40}(?:(?:CA|Switch|Router|iWARP RNIC)\b.{0,4}'|Port\s{0,40}[0-9]{1,4}\s{0,40}(?::|$))")
# 200   |   2.5   |   40 (FDR10)
_RATE = re.compile(r"^(?P<rate>[0-9]{1,5}(?:\.[0-9]{1,3})?)(?: \((?P<speed>[A-Za-z0-9]{1,8})\))?$")
# 0x0002c9030008ca17: a whole line of `ibstat -p`; a script that asks many hosts prints their names between
_GUID_LINE = re.compile(r"^\s*(?P<guid>(?:0x)?[0-9a-f]{16})\s*$")
_HOST_LINE = re.compile(r"^VM_hostname (?P<node>\S{1,200})\s*$")

_DEVICE_FIELDS = frozenset(
    {
        *("CA type", "Switch type", "Router type", "iWARP RNIC type", "??? type"),
        *("Number of ports", "Hardware version", "System image GUID"),
    }
)
_PORT_FIELDS = frozenset({"LMC", "Capability mask", "Effective speed"})
_EXPECTED = "a device as \"CA 'mlx5_0'\", or port GUIDs only"


def parse(text: str) -> ParsedOutput:
    """Return one PortState per port, in the order of the text.

    Raises ParseError if the text names no device in the form of ibstat, and is neither a list of GUIDs nor a failure.
    """
    lines, cut = lines_of(tools_text(text, "ibstat", _EXPECTED))
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        reader.read(number, line, number == cut)
    reader.close_device()
    if not reader.known:
        listed = _read_guids(lines)
        if listed:
            return ParsedOutput(fabric=tuple(listed))
        # ibpanic: [1234] main: stat of IB device 'mlx5_0' failed: the words are ibstat's, but its name is not there
        reader.known = any("stat of IB device" in failure.text for failure in reader.notes.failures)
    return finish("ibstat", reader.ports, reader.known, reader.notes, lines, _EXPECTED)


class _Reader:
    """The open device and the open port, each as the fields of its PortState."""

    def __init__(self) -> None:
        self.notes = Notes()
        self.ports: list[PortState] = []
        self.known = False
        self.device: dict[str, Any] = {}
        self.port: dict[str, Any] | None = None
        self.header: tuple[int, str] | None = None

    def read(self, number: int, line: str, cut: bool) -> None:
        key, colon, value = line.partition(": ")
        if colon and self.known:
            # someone may have written after it: "Down	# the cable is out"
            value = value.partition("#")[0].strip() if "#" in value else value.strip()
            if self.field(key.strip(), value, cut):
                return
        elif not line or line.isspace():
            return
        port = _PORT.match(line) if len(line) < 100 else None
        device = None if port or len(line) > 200 else _DEVICE.match(line)
        if device:
            self.close_device()
            self.known, self.header = True, (number, line)
            self.device = {"device": device["device"], "kind": KINDS.get(device["kind"].lower())}
        elif port and self.known:
            self.close_port()
            self.port = {"port": int(port["port"]), "line": number}
        elif not cut and _BEGUN.match(line):
            self.notes.note_unread(number, line, 'a device as "CA \'mlx5_0\'", with its ports as "Port 1:" below it')
        else:
            self.notes.foreign(number, line)

    def field(self, key: str, value: str, cut: bool) -> bool:
        """Take "key: value" if the key is one of ibstat's; a cut value only if it is the whole name of a link layer."""
        reading = _OF_PORT.get(key) if self.port is not None else None
        if self.port is not None and reading:
            name, read = reading
            # a word that was cut when pasted ("InfiniBan") is not a layer's name
            if not cut or name == "link_layer":
                self.port[name] = read(value)
        elif self.port is not None and key == "Rate":
            self.port |= {} if cut else _rate(value)
        elif key in _OF_DEVICE:
            name, read = _OF_DEVICE[key]
            if not cut:
                self.device[name] = read(value)
        else:
            return key in _PORT_FIELDS or key in _DEVICE_FIELDS
        return True

    def close_port(self) -> None:
        if self.port is not None:
            self.ports.append(PortState(**self.device, **self.port))
            self.header = None
        self.port = None

    def close_device(self) -> None:
        self.close_port()
        self.notes.no_port(self.header)
        self.header = None


@lru_cache(maxsize=256)
def _rate(value: str) -> dict[str, Any]:
    found = _RATE.match(value)
    if not found:
        return {}
    return {"rate": float(found["rate"]), "speed": speed_name(found["speed"] or "")}


# printed key -> its field, and what reads it
_OF_PORT: dict[str, tuple[str, Callable[[str], Any]]] = {
    "State": ("state", state_of),
    "Physical state": ("physical_state", physical_of),
    "Base lid": ("lid", integer),
    "SM lid": ("sm_lid", integer),
    "Port GUID": ("guid", guid_of),
    "Link layer": ("link_layer", lambda value: LINK_LAYERS.get(value.lower())),
}
_OF_DEVICE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "Firmware version": ("firmware", known_value),
    "Node GUID": ("node_guid", guid_of),
}


def _read_guids(lines: list[str]) -> list[PortState]:
    """Return a port per line if the text is only port GUIDs (and names of hosts); else nothing."""
    ports: list[PortState] = []
    node = None
    for number, line in enumerate(lines, 1):
        guid, host = _GUID_LINE.match(line[:40]), _HOST_LINE.match(line[:250])
        if guid and len(line) <= 40:
            ports.append(PortState(node=node, guid=guid_of(guid["guid"]), line=number))
        elif host and len(line) <= 250:
            node = host["node"]
        elif line.strip():
            return []
    return ports
