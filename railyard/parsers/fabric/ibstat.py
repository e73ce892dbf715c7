"""ibstat (infiniband-diags 1.3 to rdma-core 60): one port a "Port N:" block; and ``ibstat -p``, a list of port GUIDs.

``rate`` is as printed: a port that is Down prints one too, which means nothing. "40 (FDR10)" has speed FDR10.
The forms of one port (``ibstat mlx5_0 1``: "CA: 'mlx5_0'", no indentation) and of all are read alike. ibstat prints no
width, no MTU and no partner. A device of which no port is printed (``-s``) gives no port but a remark.
Source: ``ca_dump`` and ``port_dump`` of infiniband-diags/ibstat.c.
"""

import re
from collections.abc import Callable
from typing import Any

from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.speeds import speed_name
from railyard.parsers.fabric.text import Notes, finish, lines_of, tools_text
from railyard.parsers.fabric.words import KINDS, LINK_LAYERS, guid_of, integer, physical_of, said, state_of
from railyard.parsers.parsed import Parsed
from railyard.parsers.signs import Sign

# CA 'mlx5_0'   |   CA: 'mlx5_0'   |   Switch 'x'   |   iWARP RNIC 'cxgb4_0'
_DEVICE = re.compile(r"^\s*(?P<kind>CA|Switch|Router|iWARP RNIC|\?\?\?):? '(?P<device>[^']{1,100})'\s*$")
# 	Port 1:
_PORT = re.compile(r"^\s*Port (?P<port>[0-9]{1,4}):\s*$")
# 200   |   2.5   |   40 (FDR10)
_RATE = re.compile(r"^(?P<rate>[0-9]{1,5}(?:\.[0-9]{1,3})?)(?: \((?P<speed>[A-Za-z0-9]{1,8})\))?$")
# 0x0002c9030008ca17: the whole of a line of `ibstat -p`; a script that asks many hosts prints their names between
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
# a device, ibpanic's words, and a text that begins as a list of port GUIDs does
_SIGNS: tuple[Sign, ...] = (
    *(f"{kind}{colon} '" for kind in ("ca", "switch", "router", "rnic", "???") for colon in ("", ":")),
    "stat of ib device",
    re.compile(r"\A\s*(?:vm_hostname |(?:0x)?[0-9a-f]{16}\b)"),
)


def parse(text: str) -> Parsed:
    """Return one PortState a port, in the order of the text.

    Raises ParseError where the text names no device as ibstat does, is no list of port GUIDs, and no failure of ibstat.
    """
    lines, cut = lines_of(tools_text(text, "ibstat", _SIGNS, _EXPECTED))
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        reader.read(number, line, number == cut)
    reader.close_device()
    if not reader.known:
        listed = _listed(lines)
        if listed:
            return Parsed(fabric=tuple(listed))
        # ibpanic: [1234] main: stat of IB device 'mlx5_0' failed: the words are ibstat's, its name is not among them
        reader.known = any("stat of IB device" in failure.text for failure in reader.notes.failures)
    return finish("ibstat", reader.ports, reader.known, reader.notes, lines, _EXPECTED)


class _Reader:
    """The device and the port that are open, each as the fields of its PortState."""

    def __init__(self) -> None:
        self.notes = Notes()
        self.ports: list[PortState] = []
        self.known = False
        self.device: dict[str, Any] = {}
        self.port: dict[str, Any] | None = None
        self.header: tuple[int, str] | None = None

    def read(self, number: int, line: str, cut: bool) -> None:
        key, colon, value = line.partition(": ")
        known = colon and self.field(key.strip(), _uncommented(value), cut)
        if known or not line.strip():
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
        else:
            self.notes.foreign(number, line)

    def field(self, key: str, value: str, cut: bool) -> bool:
        """Take "key: value" where the key is one of ibstat's; a cut value only if it is a whole link layer's name."""
        if not self.known:
            return False
        if key == "Link layer" and self.port is not None:
            # a word cut short by whoever pasted it ("InfiniBan") names no layer
            self.port["link_layer"] = LINK_LAYERS.get(value.lower())
        elif key == "Firmware version" or key == "Node GUID":
            if not cut:
                self.device |= {"firmware": said(value)} if key[0] == "F" else {"node_guid": guid_of(value)}
        elif self.port is not None and key in _READ:
            if not cut:
                self.port |= _READ[key](value)
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


def _rate(value: str) -> dict[str, Any]:
    found = _RATE.match(value)
    if not found:
        return {}
    return {"rate": float(found["rate"]), "speed": speed_name(found["speed"] or "")}


# printed key of a port -> its fields
_READ: dict[str, Callable[[str], dict[str, Any]]] = {
    "State": lambda value: {"state": state_of(value)},
    "Physical state": lambda value: {"physical_state": physical_of(value)},
    "Rate": _rate,
    "Base lid": lambda value: {"lid": integer(value)},
    "SM lid": lambda value: {"sm_lid": integer(value)},
    "Port GUID": lambda value: {"guid": guid_of(value)},
}


def _uncommented(value: str) -> str:
    """Return a value without what someone wrote behind it ("Down	# the cable is out")."""
    return value.partition("#")[0].strip() if "#" in value else value.strip()


def _listed(lines: list[str]) -> list[PortState]:
    """Return a port a line of a text that is nothing but port GUIDs (and names of hosts); else nothing."""
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
