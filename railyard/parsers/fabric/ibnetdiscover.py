"""ibnetdiscover, the topology file and ``-p``: one PortState per printed port.

Neither form prints a port's state. The topology file has only ports with a partner. ``-p`` has all ports. One without a
partner has a width and a speed too ("4x SDR", "4x ???"), but these are not of a link, so it gets no ``rate``. ``guid``
is the port's; a switch has one for all its ports, and an adapter's port usually has its node's GUID plus one. Source:
``out_switch_port``, ``out_ca_port``, ``dump_ports_report`` of infiniband-diags/ibnetdiscover.c.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from railyard.hardware.links import rate_gbit_s, speed_name, width_of
from railyard.parsers.fabric.port import Peer, PortState
from railyard.parsers.fabric.text import LONGEST, Notes, finish, lines_of, tools_text
from railyard.parsers.fabric.words import guid_of, split_description
from railyard.parsers.output import ParsedOutput

# Switch	40 "S-ec0d9a0300000020"		# "Leaf2" enhanced port 0 lid 5 lmc 0
# Ca	1 "H-b8599f0300001038"		# "vn3 mlx5_1"
_NODE = re.compile(
    r'^(?P<kind>Switch|Ca|Rt|\?\?\?)\s+[0-9]{1,4} "[SHR?]-(?P<guid>[0-9a-f]{16})"\s*# "(?P<name>.{0,300})"'
    r"(?: (?:enhanced|base) port 0 lid (?P<lid>[0-9]{1,6}) lmc [0-9]{1,3}| \(scp\))?\s*$"
)
# [1]	"H-b8599f0300001018"[1](b8599f0300001019) 		# "vn1 mlx5_1" lid 4 4xEDR
# [1](b8599f0300001039) 	"S-ec0d9a0300000020"[3]		# lid 10 lmc 0 "Leaf2" lid 5 4xQDR s=4 w=2 v=4
_PORT = re.compile(
    r"^\[(?P<port>[0-9]{1,4})\](?:\[ext [0-9]{1,4}\])?(?:\((?P<guid>[0-9a-f]{1,16})\))?\s*"
    r'"[SHR?]-(?P<peer_node_guid>[0-9a-f]{16})"\[(?P<peer_port>[0-9]{1,4})\](?:\[ext [0-9]{1,4}\])?\s?'
    r"(?:\((?P<peer_guid>[0-9a-f]{1,16})\))?\s*#\s*(?:lid (?P<lid>[0-9]{1,6}) lmc [0-9]{1,3} )?"
    r'"(?P<peer>.{0,300})" lid (?P<peer_lid>[0-9]{1,6})'
    r"(?: (?P<width>[0-9]{1,2}x|\?\?)(?P<speed>[A-Z0-9]{3,5}|\?\?\?))?(?: s=[0-9]+ w=[0-9]+ v=[0-9]+)?"
    r"(?: slot [0-9]+| \(scp\))?\s*$"
)
# CA   134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'o0001 HCA-1' - 'ib-i1l1s01' )
# SW  2052 37 0x506b4b03005c2740 4x ???                                    'ib-i4l1s01'
_REPORT = re.compile(
    r"^\s*(?P<kind>CA|SW|RT|\?\?)\s+(?P<lid>[0-9]{1,6})\s+(?P<port>[0-9]{1,4})\s+(?P<guid>0x[0-9a-f]{1,16})\s+"
    r"(?P<width>[0-9]{1,2}x|\?\?)\s+(?P<speed>[A-Z0-9]{3,5}|\?\?\?)\s+(?:"
    r"-\s+(?P<peer_kind>CA|SW|RT|\?\?)\s+(?P<peer_lid>[0-9]{1,6})\s+(?P<peer_port>[0-9]{1,4})\s+"
    r"(?P<peer_guid>0x[0-9a-f]{1,16})\s+\( '(?P<node>.{0,300})' - '(?P<peer>.{0,300})' \)|'(?P<alone>.{0,300})')\s*$"
)
# the beginning of a node or a port that has another form
_BEGUN = re.compile(
    r'[SHR?]-[0-9a-f]{12}|^\[[0-9]{1,4}\].{0,80}"|^\s{0,40}(?:Switch|Ca|Rt)\s{1,40}[0-9]{1,4}\s{1,40}"'
    r"|^\s{0,40}(?:CA|SW|RT)\b.{0,40}0x[0-9a-f]{8}"
)
# "4xQDR", "10" of FDR10, "0 4xEDR s=4": the last part of a port, which looks whole without it
_PART = re.compile(
    r"^\s{0,40}(?:[0-9]{0,6}\s)?(?:lid )?[0-9]{0,6}x?[A-Z]{0,4}[0-9]{0,3}(?:\s?[swv]=[0-9]{1,3}){0,3}\s*$"
)
# vendid=0x2c9   |   switchguid=0x...   |   # Topology file: generated on ...   |   Chassis 1 (guid 0x...)
_OWN = re.compile(
    r"^(?:vendid=|devid=|sysimgguid=|switchguid=|caguid=|rtguid=|#$|# (?:Topology file|Reported max hops|Total MADs"
    r"|Initiated from|Spine Nodes|Line Nodes|Chassis Switches|Chassis CAs|Non-Chassis)|Chassis [0-9]|Hostname: )"
)
_KINDS = {"Ca": "CA", "Rt": "Router", "CA": "CA", "SW": "Switch", "RT": "Router"}  # of a node, and of -p
_EXPECTED = 'a node as "Switch 40 "S-...", or a port of its -p'


class _Node(NamedTuple):
    """What a heading says about the ports below it; ``guid`` and ``lid`` are a switch's."""

    node: str | None
    device: str | None
    kind: str
    node_guid: str | None
    lid: int | None = None
    guid: str | None = None


def parse(text: str) -> ParsedOutput:
    """Return one PortState per printed port, in the order of the text; each link is there from both of its ends.

    Raises ParseError if no line is a node or a port in the form of ibnetdiscover, and no line is a failure of it.
    """
    lines, cut = lines_of(tools_text(text, "ibnetdiscover", _EXPECTED))
    notes = Notes()
    ports: list[PortState] = []
    node: _Node | None = None
    header: tuple[int, str] | None = None  # of the last node
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        if len(line) <= LONGEST:
            if line[0] == "[":
                found = _PORT.match(line) if node and number != cut else None
                if node and found:
                    ports.append(_topology_port(found, node, number))
                    continue
            elif line[0] in "vdsc#" and _OWN.match(line):
                continue
            elif (found := _REPORT.match(line)) and (number != cut or line.count("'") == (4 if found["node"] else 2)):
                ports.append(_report_port(found, number))
                continue
            elif (found := _NODE.match(line)) and number != cut:
                node, header = _node(found), (number, line)
                continue
            elif _OWN.match(line):
                continue
        _note(notes, number, line, number == cut)
    notes.no_port(None if ports else header)
    known = bool(ports or node)
    return finish("ibnetdiscover", ports, known, notes, lines, _EXPECTED)


def _note(notes: Notes, number: int, line: str, cut: bool) -> None:
    """Note a line that is not read; it is a failure if it looks like a node or a port."""
    if len(line) <= LONGEST and not cut and (_BEGUN.search(line) or (line.strip() and _PART.match(line))):
        notes.note_unread(number, line, f"{_EXPECTED}, and a port below its node")
    else:
        notes.foreign(number, line)


def _node(found: re.Match[str]) -> _Node:
    printed, digits, description, lid = found.groups()
    kind, guid = _KINDS.get(printed, "Switch"), guid_of(digits)
    if lid:
        return _Node(description or None, None, kind, guid, int(lid), guid)
    name, device = split_description(description)
    return _Node(name, device, kind, guid)


def _topology_port(found: re.Match[str], above: _Node, number: int) -> PortState:
    # fmt: off
    (port, guid, peer_node_guid, peer_port, peer_guid, lid,
     description, peer_lid, printed_width, printed_speed) = found.groups()
    # fmt: on
    node, device, kind, node_guid, node_lid, own_guid = above
    width, speed, rate = _link(printed_width or "", printed_speed or "")
    peer_node, peer_device = split_description(description) if peer_guid else (description or None, None)
    return PortState(
        *(node, device, int(port), kind, None, None, rate, width, speed),
        # an adapter's own GUID and LID are on its port's line; a switch's are its node's
        lid=int(lid) if lid else node_lid,
        guid=guid_of(guid) if guid else own_guid,
        node_guid=node_guid,
        peer=Peer(peer_node, peer_device, int(peer_port), int(peer_lid), guid_of(peer_guid or peer_node_guid)),
        line=number,
    )


@lru_cache(maxsize=4096)
def _split_description(kind: str | None, description: str) -> tuple[str | None, str | None]:
    return (description or None, None) if kind == "SW" else split_description(description)


def _report_port(found: re.Match[str], number: int) -> PortState:
    # fmt: off
    (kind, lid, port, guid, printed_width, printed_speed,
     peer_kind, peer_lid, peer_port, peer_guid, node, peer_node, alone) = found.groups()
    # fmt: on
    width, speed, rate = _link(printed_width, printed_speed)
    peer = None
    if peer_node is not None:
        peer = Peer(*_split_description(peer_kind, peer_node), int(peer_port), int(peer_lid), guid_of(peer_guid))
    name, device = _split_description(kind, alone if node is None else node)
    return PortState(
        node=name,
        device=device,
        port=int(port),
        kind=_KINDS.get(kind),
        rate=rate if peer else None,
        width=width,
        speed=speed,
        lid=int(lid),
        guid=guid_of(guid),
        peer=peer,
        line=number,
    )


@lru_cache(maxsize=256)
def _link(width: str, speed: str) -> tuple[str | None, str | None, float | None]:
    """Return width, speed and rate of a link from what is printed."""
    one, other = width_of(width), speed_name(speed)
    return one, other, rate_gbit_s(one, other)
