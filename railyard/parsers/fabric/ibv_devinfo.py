"""ibv_devinfo, with and without -v: one port per "port:" block below its "hca_id:".

``mtu_bytes`` is the active path MTU: 1024 on an Ethernet port is the default of a 1500-byte netdev. ``rate``, ``width``
and ``speed`` are printed only with -v. FDR10 and QDR are both "10.0 Gbps": the number in brackets says which.
``link_layer`` decides between InfiniBand and RoCE; "transport" says InfiniBand for both. Source:
libibverbs/examples/devinfo.c; older ones print "Device ports:", and no link layer (libibverbs 1.1).
"""

import re
from collections.abc import Callable
from typing import Any

from railyard.hardware.links import rate_gbit_s, speed_of_lane, width_of
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import Notes, finish, lines_of, tools_text
from railyard.parsers.fabric.words import LINK_LAYERS, guid_of, integer, known_value, physical_of, state_of
from railyard.parsers.output import ParsedOutput

# PORT_ACTIVE (4)   |   25.0 Gbps (32)   |   invalid MTU (0)
_CODED = re.compile(r"^(?P<word>.{1,40}?) \((?P<code>[0-9]{1,10})\)$")
_LANE = re.compile(r"^(?P<gbit>[0-9]{1,4}(?:\.[0-9]{1,5})?) Gbps$")
_PORT_BEGUN = re.compile(r"^port(?:\s{1,40}[0-9]{1,5})?$")
# 2 HCAs found:  of -l
_LIST = re.compile(r"^\s*[0-9]{1,4} HCAs? found:\s*$")
_FDR10 = "8"
_BAD_KEYS = {"bad_pkey_cntr": "BadPKeyCounter", "qkey_viol_cntr": "QKeyViolationCounter"}
_EXPECTED = 'a device as "hca_id: mlx5_0"'


def parse(text: str) -> ParsedOutput:
    """Return one PortState per port, in the order of the text.

    Raises ParseError if the text has neither "hca_id:" nor the list of -l, nor a failure of ibv_devinfo.
    """
    lines, cut = lines_of(tools_text(text, "ibv_devinfo", _EXPECTED))
    notes = Notes()
    ports: list[PortState] = []
    known = False
    device: dict[str, Any] = {}
    port: dict[str, Any] | None = None
    header: tuple[int, str] | None = None  # of a device that has no port so far
    for number, line in enumerate(lines, 1):
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if key == "hca_id" and colon:
            ports += [_port(device, port)] if port else []
            notes.no_port(header)
            known, port, header = True, None, (number, line)
            device = {"device": known_value(value), "kind": "CA"}
        elif key == "port" and known and value.isdigit() and len(value) <= 5:
            ports += [_port(device, port)] if port else []
            port, header = (None, header) if number == cut else ({"port": int(value), "line": number}, None)
        elif known and number != cut and _PORT_BEGUN.match(key):
            notes.note_unread(number, line, 'a port as "port: 1"')
        elif known and colon and (line[:1].isspace() or key in _OWN):
            _field(device, port, key, value, whole=number != cut or value.endswith(")"))
        elif not known or not line[:1].isspace():
            known |= len(line) < 100 and _LIST.match(line) is not None
            notes.foreign(number, line)
    ports += [_port(device, port)] if port else []
    notes.no_port(header)
    known |= any(failure.text.startswith(("No IB devices found", "IB device '")) for failure in notes.failures)
    return finish("ibv_devinfo", ports, known, notes, lines, _EXPECTED)


def _field(device: dict[str, Any], port: dict[str, Any] | None, key: str, value: str, whole: bool) -> None:
    """Take one indented "key: value"; about a hundred keys of -v say nothing about a link and are skipped."""
    if port is None:
        if key in _DEVICE and whole:
            device.update(_DEVICE[key](value))
    elif key == "link_layer" and (whole or value in ("InfiniBand", "Ethernet")):
        port["link_layer"] = LINK_LAYERS.get(value.lower()) or known_value(value)
    elif key in _PORT and whole:
        port.update(_PORT[key](value))


def _port(device: dict[str, Any], port: dict[str, Any]) -> PortState:
    # Popped even if the value was not a number (None): what is left are the fields of PortState.
    printed = {name: port.pop(key, None) for key, name in _BAD_KEYS.items()}
    counters = {name: count for name, count in printed.items() if count is not None}
    rate = rate_gbit_s(port.get("width"), port.get("speed"))
    return PortState(**device, **port, rate=rate, counters=counters)


def _word(value: str) -> str:
    found = _CODED.match(value[:80])
    return found["word"] if found else value


def _mtu(value: str) -> int | None:
    word = _word(value)
    return int(word) if word.isdigit() and len(word) <= 6 else None


def _speed(value: str) -> dict[str, Any]:
    found = _CODED.match(value[:80])
    lane = _LANE.match(found["word"]) if found else None
    if not found or not lane:
        return {}
    name = "FDR10" if found["code"] == _FDR10 else speed_of_lane(float(lane["gbit"]))
    return {"speed": name, "lane_gbit_s": float(lane["gbit"])}


_Read = dict[str, Callable[[str], dict[str, Any]]]
# printed key -> its fields
_DEVICE: _Read = {
    "fw_ver": lambda value: {"firmware": known_value(value)},
    "node_guid": lambda value: {"node_guid": guid_of(value)},
}
_PORT: _Read = {
    "state": lambda value: {"state": state_of(_word(value))},
    "phys_state": lambda value: {"physical_state": physical_of(_word(value))},
    "max_mtu": lambda value: {"max_mtu_bytes": _mtu(value)},
    "active_mtu": lambda value: {"mtu_bytes": _mtu(value)},
    "sm_lid": lambda value: {"sm_lid": integer(value)},
    "port_lid": lambda value: {"lid": integer(value)},
    "active_width": lambda value: {"width": width_of(_word(value))},
    "active_speed": _speed,
    **{key: lambda value, key=key: {key: integer(value)} for key in _BAD_KEYS},  # type: ignore[misc]
}
_OWN = frozenset((*_DEVICE, *_PORT, "link_layer"))  # also without their indentation
