"""ibnetdiscover, the topology file and ``-p``: one PortState a printed port.

Neither form prints a port's state. The topology file has only ports with a partner. ``-p`` has all: a port without a
partner prints a width and a speed as well ("4x SDR", "4x ???"), which are none of a link, so it gets no ``rate``.
``guid`` is the port's; a switch has one for all its ports, an adapter one more than its node's as a rule.
Source: ``out_switch_port``, ``out_ca_port``, ``dump_ports_report`` of infiniband-diags/ibnetdiscover.c.
"""

import re
from typing import Any

from railyard.parsers.fabric.port import Peer, PortState
from railyard.parsers.fabric.speeds import rate_gbit_s, speed_name, width_of
from railyard.parsers.fabric.text import LONGEST, Notes, finish, lines_of
from railyard.parsers.fabric.words import KINDS, guid_of, named
from railyard.parsers.parsed import Parsed

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
# vendid=0x2c9   |   switchguid=0x...   |   # Topology file: generated on ...   |   Chassis 1 (guid 0x...)
_OWN = re.compile(
    r"^(?:vendid=|devid=|sysimgguid=|switchguid=|caguid=|rtguid=|#$|# (?:Topology file|Reported max hops|Total MADs"
    r"|Initiated from|Spine Nodes|Line Nodes|Chassis Switches|Chassis CAs|Non-Chassis)|Chassis [0-9]|Hostname: )"
)


def parse(text: str) -> Parsed:
    """Return one PortState a printed port, in the order of the text; each link is there from both of its ends.

    Raises ParseError where no line is a node or a port as ibnetdiscover prints them, and none a failure of it.
    """
    lines, cut = lines_of(text)
    notes = Notes()
    ports: list[PortState] = []
    node: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        if len(line) <= LONGEST and line:
            if line[0] == "[":
                found = _PORT.match(line) if node and number != cut else None
                if found:
                    ports.append(_topology_port(found.groupdict(), node, number))
                    continue
            elif (found := _REPORT.match(line)) and (number != cut or line.count("'") == (4 if found["node"] else 2)):
                ports.append(_report_port(found.groupdict(), number))
                continue
            elif (found := _NODE.match(line)) and number != cut:
                node = _node(found.groupdict())
                continue
            elif _OWN.match(line):
                continue
        notes.foreign(number, line)
    known = bool(ports or node)
    return finish("ibnetdiscover", ports, known, notes, lines, 'a node as "Switch 40 "S-...", or a port of its -p')


def _node(said: dict[str, str | None]) -> dict[str, Any]:
    description = said["name"] or ""
    kind = KINDS.get({"Ca": "ca", "Rt": "rt"}.get(said["kind"] or "", "switch"))
    name, device = (description or None, None) if said["lid"] else named(description)
    guid = guid_of(said["guid"] or "")
    fields: dict[str, Any] = {"node": name, "device": device, "kind": kind, "node_guid": guid}
    return fields | ({"lid": int(said["lid"]), "guid": guid} if said["lid"] else {})


def _topology_port(said: dict[str, str | None], node: dict[str, Any], number: int) -> PortState:
    width, speed = width_of(said["width"] or ""), speed_name(said["speed"] or "")
    # an adapter's own GUID and LID stand on its port's line; a switch's are its node's
    own = {"guid": guid_of(said["guid"] or "")} if said["guid"] else {}
    if said["lid"]:
        own |= {"lid": int(said["lid"])}  # type: ignore[dict-item]
    name, device = named(said["peer"] or "")
    if not said["peer_guid"]:
        name, device = said["peer"] or None, None
    guid = guid_of(said["peer_guid"] or said["peer_node_guid"] or "")
    return PortState(
        **(node | own),
        port=int(said["port"] or 0),
        rate=rate_gbit_s(width, speed),
        width=width,
        speed=speed,
        peer=Peer(name, device, int(said["peer_port"] or 0), int(said["peer_lid"] or 0), guid),
        line=number,
    )


def _described(kind: str | None, description: str) -> tuple[str | None, str | None]:
    return (description or None, None) if kind == "SW" else named(description)


def _report_port(said: dict[str, str | None], number: int) -> PortState:
    width, speed = width_of(said["width"] or ""), speed_name(said["speed"] or "")
    peer = None
    if said["peer"] is not None:
        name, device = _described(said["peer_kind"], said["peer"])
        lid, port = int(said["peer_lid"] or 0), int(said["peer_port"] or 0)
        peer = Peer(name, device, port, lid, guid_of(said["peer_guid"] or ""))
    own = said["node"] if said["node"] is not None else said["alone"]
    name, device = _described(said["kind"], own or "")
    return PortState(
        node=name,
        device=device,
        port=int(said["port"] or 0),
        kind=KINDS.get((said["kind"] or "").lower()),
        rate=rate_gbit_s(width, speed) if peer else None,
        width=width,
        speed=speed,
        lid=int(said["lid"] or 0),
        guid=guid_of(said["guid"] or ""),
        peer=peer,
        line=number,
    )
