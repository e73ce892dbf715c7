"""iblinkinfo, plain, with -l (one line per link) and with -p (timers of the switch): one PortState per printed port.

Every link is printed from both of its ends. ``node`` comes from the description in the heading ("vn3 mlx5_1" becomes
node vn3, device mlx5_1); for a switch it is the whole description. ``guid`` is the port's; a switch has one for all its
ports. Source: ``print_port`` of infiniband-diags/iblinkinfo.c; headings of 1.4 and 1.5 have no colon after "Switch".
"""

import re
from typing import NamedTuple

from railyard.parsers.fabric.link_info import link_of, peer_of
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import LONGEST, Notes, finish, lines_of, tools_text
from railyard.parsers.fabric.words import KINDS, guid_of, split_description
from railyard.parsers.output import ParsedOutput

# Switch: 0xec0d9a0300000020 Leaf2:   |   CA: vn3 mlx5_1:   |   Switch 0x0002c902004050f8 Infiniscale-IV ...:
_NODE = re.compile(
    r"^\s*(?P<kind>Switch|CA|Router|RT|\?\?)"
    r"(?:: (?:(?P<guid>0x[0-9a-fA-F]{1,16})(?: |(?=:$)))?| (?P<old>0x[0-9a-fA-F]{1,16}) )"
    r"(?P<name>.{0,300}?):\s*$"
)
#           5    2[  ]   |   0xb8599f0300001039     10    1[  ]   |   0xec0d9a0300000020 "   Leaf2"      5    1[  ]
_LEFT = re.compile(
    r'^\s*(?:(?P<guid>0x[0-9a-fA-F]{1,16})\s+)?(?:"(?P<node>[^\n]*)"\s+)?'
    r"(?P<lid>[0-9]{1,6})\s+(?P<port>[0-9]{1,4})\[\s*[0-9]{0,4}\s*\]\s*$"
)
# the beginning of a heading that has another form
_NODE_BEGUN = re.compile(r"^\s{0,40}(?:Switch|CA|Router|RT)(?::\s|\s{1,40}0x[0-9a-fA-F]{8})")
# what is behind "==>" of a port without a partner
_NO_PEER = re.compile(r'^\s*(?:\[\s*[0-9]{0,4}\s*\]\s*"" \(\s*\)|"Port not available")\s*$')
# "1[  ]", '"node1 mlx5_0" ( )', "(Could be 4X )", '0x… "leaf1"': a part of a port, without its "==("
_PART = re.compile(
    r'[0-9]\[\s*[0-9]{0,4}\s*\]|"\s{0,4}\(|\bCould be\b|\bGbps\b|\bLinkUp\b|^\s*0x[0-9a-fA-F]{8,16}(?:\s|$)'
)
_EXPECTED = 'a port as "5 1[  ] ==( 4X 25.78125 Gbps Active/ ..."'


class _Node(NamedTuple):
    """What a heading says about the ports below it."""

    node: str | None = None
    device: str | None = None
    kind: str | None = None
    guid: str | None = None


def parse(text: str) -> ParsedOutput:
    """Return one PortState per printed port, in the order of the text; a port that is down has no width, speed or rate.

    Raises ParseError if no line is a link in the form of iblinkinfo, and no line is a failure of iblinkinfo.
    """
    lines, cut = lines_of(tools_text(text, "iblinkinfo", _EXPECTED))
    notes = Notes()
    ports: list[PortState] = []
    node = _Node()
    taken = 0
    for number, line in enumerate(lines, 1):
        if number == taken:
            continue
        if len(line) <= LONGEST:
            if "==(" in line:
                port = _port(line, node, number, number == cut)
                if port is None and number < len(lines) and "==(" not in lines[number][:LONGEST]:
                    port = _broken_port(line, lines[number][:LONGEST], node, number, number + 1 == cut)
                    taken = 0 if port is None else number + 1
                if port is not None:
                    ports.append(port)
                    continue
            elif number != cut and (found := _NODE.match(line)):
                kind, guid, old, name = found.groups()
                node = _node(kind, guid or old, name)
                continue
            if number != cut and ("==(" in line or "==>" in line or _NODE_BEGUN.match(line) or _PART.search(line)):
                notes.note_unread(number, line, _EXPECTED)
                continue
        notes.foreign(number, line)
    return finish("iblinkinfo", ports, bool(ports), notes, lines, _EXPECTED)


def _node(kind: str, guid: str | None, description: str) -> _Node:
    node, device = (description.strip() or None, None) if kind == "Switch" else split_description(description)
    return _Node(node, device, KINDS.get(kind.lower()), guid_of(guid) if guid else None)


def _broken_port(line: str, following: str, above: _Node, number: int, cut: bool) -> PortState | None:
    """Return the port of a line that goes on in the next one; None if a word may be broken, and so a value differ."""
    betweens = (" ",) if line[-1:].isspace() else ("", " ")
    joined = (_port(f"{line.rstrip()}{between}{following.strip()}", above, number, cut) for between in betweens)
    ports = [port for port in joined if port is not None]
    return ports[0] if ports and all(port == ports[0] for port in ports) else None


def _port(line: str, above: _Node, number: int, cut: bool) -> PortState | None:
    """Return the port of one line; None if it is not such a line, or is cut before its partner is named."""
    left, _, rest = line.partition("==(")
    between, arrow, remote = rest.partition("==>")
    own = _LEFT.match(left) if arrow else None
    if own is None:
        return None
    peer, could = peer_of(remote, cut) or (None, None)
    link = link_of(between, could)
    if link is None or (peer is None and not _NO_PEER.match(remote)):
        return None
    guid, description, lid, port = own.groups()
    node, device, kind, node_guid = above
    if description is not None:
        # with -l a line does not say the kind, nor whether the description is a switch's: an adapter's ends in its
        # device
        node, device = split_description(description)
        kind = node_guid = None
    return PortState(
        *(node, device, int(port), kind, *link),
        lid=int(lid),
        guid=guid_of(guid) if guid else node_guid,
        peer=peer,
        line=number,
    )
