"""ibstatus: one port per block "Infiniband device 'mlx5_0' port 1 status:".

``guid`` is the port's: the lower half of the default GID, only on InfiniBand. On Ethernet that GID is an address. "10
Gb/sec (4X)" of older kernels is SDR. A port that is not ACTIVE prints a rate too, but it means nothing. Source:
infiniband-diags/scripts/ibstatus, and the files that it prints: ``rate_show``, ``state_show`` of Linux.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from railyard.hardware.links import speed_name, width_of
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import Notes, finish, lines_of, tools_text, without_broken_ports
from railyard.parsers.fabric.words import LINK_LAYERS, guid_of, integer, known_value, physical_of, state_of
from railyard.parsers.output import ParsedOutput

# Infiniband device 'mlx5_0' port 1 status:
_PORT = re.compile(r"^\s*Infiniband device '(?P<device>[^']{1,100})' port (?P<port>[0-9]{1,4}) status:\s*$")
_PORT_BEGUN = re.compile(r"^\s{0,40}Infiniband\s{0,40}device\b")
# 100 Gb/sec (4X EDR)   |   10 Gb/sec (4X)   |   2.5 Gb/sec (1X SDR)
_RATE = re.compile(
    r"^(?P<rate>[0-9]{1,5}(?:\.[0-9]{1,3})?) Gb/sec(?: \((?P<width>[0-9]{1,2}X)(?: (?P<speed>[A-Za-z0-9]{1,8}))?\))?$"
)
# 4: ACTIVE
_CODED = re.compile(r"^[0-9]{1,3}: ")
_NO_DEVICES = re.compile(r"^Fatal error: +(?:No devices|device '.{1,100}': sys files not found)")
_EXPECTED = "\"Infiniband device '...' port N status:\""


def parse(text: str) -> ParsedOutput:
    """Return one PortState per port, in the order of the text.

    Raises ParseError if no line announces a port in the form of ibstatus, and no line says that there are no devices.
    """
    return without_broken_ports(text, _read)


def _read(text: str) -> ParsedOutput:
    lines, cut = lines_of(tools_text(text, "ibstatus", _EXPECTED))
    notes = Notes()
    blocks: list[dict[str, Any]] = []
    known = False
    fields: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        key, colon, value = line.partition(":")
        key = key.strip()
        name = _NAMES.get(key) if colon and blocks else None
        if name and name not in fields:  # a second line of this name is of a port whose first line is missing
            value = value.strip()
            # a cut line is whole if it has its closing bracket (rate) or the whole name of a link layer
            if number != cut or line.endswith(")") or (key == "link_layer" and value in _WHOLE_LAYERS):
                fields[name] = _READ[name](value)
            continue
        if not key and not colon:
            continue
        found = _PORT.match(line) if len(line) < 200 else None
        if found:
            fields = {"device": found["device"], "port": int(found["port"]), "line": number}
            blocks.append(fields)
        elif number != cut and (name or _PORT_BEGUN.match(line)):
            notes.note_unread(number, line, f"{_EXPECTED} above its lines")
        else:
            known |= _NO_DEVICES.match(line[:200]) is not None
            notes.foreign(number, line)
    ports = [_port(block) for block in blocks]
    return finish("ibstatus", ports, known or bool(ports), notes, lines, _EXPECTED)


def _port(fields: dict[str, Any]) -> PortState:
    gid, link = fields.pop("gid", ""), fields.pop("link", _NO_LINK)
    if fields.get("link_layer") == "InfiniBand":
        fields["guid"] = _guid_of_gid(gid)
    return PortState(**fields, **link)


def _guid_of_gid(gid: str) -> str | None:
    parts = gid.split(":")
    return guid_of(":".join(parts[4:])) if len(parts) == 8 else None


@lru_cache(maxsize=256)
def _rate(value: str) -> dict[str, Any]:
    found = _RATE.match(value)
    if not found:
        return {}
    width = width_of(found["width"] or "")
    speed = speed_name(found["speed"] or "SDR") if width else None
    return {"rate": float(found["rate"]), "width": width, "speed": speed}


_WHOLE_LAYERS = frozenset({"InfiniBand", "Ethernet"})
_NO_LINK: dict[str, Any] = {}
# printed key -> its field ("gid" and "link" are processed further; "link" has several fields), and its reader
_NAMES = {
    "default gid": "gid",
    "base lid": "lid",
    "sm lid": "sm_lid",
    "state": "state",
    "phys state": "physical_state",
    "rate": "link",
    "link_layer": "link_layer",
}
_READ: dict[str, Callable[[str], Any]] = {
    "gid": str,
    "lid": integer,
    "sm_lid": integer,
    "state": lru_cache(lambda value: state_of(_CODED.sub("", value))),
    "physical_state": lru_cache(lambda value: physical_of(_CODED.sub("", value))),
    "link": _rate,
    "link_layer": lru_cache(lambda value: LINK_LAYERS.get(value.lower()) or known_value(value)),
}
