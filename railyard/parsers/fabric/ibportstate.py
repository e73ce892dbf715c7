"""ibportstate query and ``smpquery portinfo``: one PortState per "# Port info:" block, also of a peer.

The extended speed decides if there is one: an FDR port prints "LinkSpeedActive: 10.0 Gbps" and means 14.0625; XDR has a
second extended field. "10.0 Gbps" without an extended speed is QDR or FDR10: the block "# MLNX ext Port info" says
which. Without that block ``speed`` is None, and ``rate`` is 40 at 4X for both. ``best_width`` and ``best_speed`` are
what this end has enabled: the partner may support less. Source: ``show_port_info`` of infiniband-diags/ibportstate.c;
``mad_dump_portinfo`` of libibmad/dump.c.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from railyard.hardware.links import fastest, lanes, rate_gbit_s, speed_of_lane, width_of
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import Notes, finish, lines_of, tools_text, without_broken_ports
from railyard.parsers.fabric.words import integer, physical_of, state_of
from railyard.parsers.output import ParsedOutput

# # Port info: Lid 12 port 2   |   # MLNX ext Port info: Lid 12 port 2   |   # Port info: DR path slid 0; 0,1 port 1
_BLOCK = re.compile(r"^\s*# (?P<ext>MLNX ext )?Port info: .{0,200}?\bport (?P<port>[0-9]{1,4})\s*$")
_BLOCK_BEGUN = re.compile(r"^\s{0,40}#.{0,40}Port info:")
# CA/RT PortInfo:   |   Switch PortInfo:   |   Peer PortInfo:
_HEADING = re.compile(r"^\s*(?P<whose>CA/RT|CA|RT|Switch|Peer) PortInfo:\s*$")
_LANE = re.compile(r"(?P<gbit>[0-9]{1,4}(?:\.[0-9]{1,5})?) Gbps")
_WIDTH = re.compile(r"\b(?P<width>[0-9]{1,2}X)\b")
# the capabilities below CapMask:   IsTrapSupported
_CAPABILITY = re.compile(r"^\s{1,60}Is[A-Z]\w{1,60}\s*$")
_FDR10 = 0x01
_LONGEST = 400
_EXPECTED = 'a heading as "# Port info: Lid 12 port 2"'


@dataclass(slots=True)
class _Block:
    """One port's fields as printed; ``closed`` after a line that follows its speeds: no speed can come after it."""

    line: int
    port: int
    kind: str | None
    fields: dict[str, str] = field(default_factory=dict)
    mlnx: dict[str, str] = field(default_factory=dict)
    extended: bool = False
    closed: bool = False

    def speeds_known(self, last: str) -> bool:
        """Return whether no speed field can still come: smpquery prints the extended ones at its end."""
        if "CapMask" in self.fields:
            return "LinkSpeedActive" in self.fields and (not self.extended or last in self.fields)
        return self.closed


def parse(text: str) -> ParsedOutput:
    """Return one PortState per block, in the order of the text. Raises ParseError if no line heads such a block."""
    return without_broken_ports(text, _read)


def _read(text: str) -> ParsedOutput:
    lines, cut = lines_of(tools_text(text, "ibportstate", _EXPECTED))
    notes = Notes()
    blocks: list[_Block] = []
    fields: dict[str, str] | None = None
    kind = None
    for number, line in enumerate(lines, 1):
        name, colon, value = line.partition(":")
        name = name.strip()
        if colon and fields is not None and name.isalnum():
            if number != cut:
                fields[name] = value.lstrip(".").strip()
                blocks[-1].closed |= "LinkSpeedActive" in fields and not name.startswith("LinkSpeed")
            continue
        found = _BLOCK.match(line) if len(line) <= _LONGEST and number != cut else None
        heading = None if found or len(line) > _LONGEST else _HEADING.match(line)
        if blocks and line.strip() and number != cut and not line[:1].isspace():
            blocks[-1].closed = True
        if found and (blocks or not found["ext"]):
            if not found["ext"]:
                blocks.append(_Block(number, int(found["port"]), kind))
            fields = blocks[-1].mlnx if found["ext"] else blocks[-1].fields
        elif heading:
            kind = "Switch" if heading["whose"] == "Switch" else None
        elif blocks and _CAPABILITY.match(line[:_LONGEST]):
            blocks[-1].extended |= line.strip() == "IsExtendedSpeedsSupported"
        elif number != cut and _BLOCK_BEGUN.match(line[:_LONGEST]):
            notes.note_unread(number, line, _EXPECTED)
        else:
            notes.foreign(number, line)
    ports = [_port(block) for block in blocks]
    return finish("ibportstate", ports, bool(ports), notes, lines, _EXPECTED)


def _port(block: _Block) -> PortState:
    said = block.fields.get
    state = state_of(said("LinkState", ""))
    width = width_of(said("LinkWidthActive", ""))
    lane, speed = _speed(block)
    rate = rate_gbit_s(width, speed or ("QDR" if lane == 10.0 else None))
    return PortState(
        port=block.port,
        kind=block.kind,
        state=state,
        physical_state=physical_of(said("PhysLinkState", "")),
        rate=rate,
        width=width,
        speed=speed,
        lane_gbit_s=lane,
        lid=integer(said("Lid", "")),
        sm_lid=integer(said("SMLid", "")),
        mtu_bytes=integer(said("NeighborMTU", "")),
        max_mtu_bytes=integer(said("MtuCap", "")),
        line=block.line,
        **(_best(block) if state not in (None, "Down") else {}),
    )


def _speed(block: _Block) -> tuple[float | None, str | None]:
    """Return the signalled rate of a lane and its name, if no field that could overrule them can still come."""
    extended = _lanes(block, "LinkSpeedExtActive", "LinkSpeedExtActive2")
    if extended:
        return extended[-1], speed_of_lane(extended[-1])
    old = _lanes(block, "LinkSpeedActive")
    if not old or not block.speeds_known("LinkSpeedExtActive"):
        return None, None
    name = speed_of_lane(old[-1])
    if name == "QDR":
        code = integer(block.mlnx.get("LinkSpeedActive", ""))
        name = None if code is None else "FDR10" if code & _FDR10 else "QDR"
    return old[-1], name


def _lanes(block: _Block, *names: str) -> list[float]:
    text = " ".join(block.fields.get(name, "")[:_LONGEST] for name in names)
    return [float(gbit) for gbit in _LANE.findall(text)]


def _best(block: _Block) -> MappingProxyType[str, Any]:
    if not block.speeds_known("LinkSpeedExtEnabled"):
        return MappingProxyType({})
    widths = _WIDTH.findall(block.fields.get("LinkWidthEnabled", "")[:_LONGEST])
    enabled = _lanes(block, "LinkSpeedEnabled", "LinkSpeedExtEnabled", "LinkSpeedExtEnabled2")
    names = tuple(name for name in map(speed_of_lane, enabled) if name)
    return MappingProxyType(
        {
            "best_width": max(widths, key=lambda one: lanes(one) or 0) if widths else None,
            "best_speed": fastest(names),
            "best_from": "this end",
        }
    )
