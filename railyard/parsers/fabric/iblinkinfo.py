"""iblinkinfo, plain, with -l (one line per link) and with -p (timers of the switch): one PortState per printed port.

Every link is printed from both of its ends. ``node`` comes from the description in the heading ("vn3 mlx5_1" becomes
node vn3, device mlx5_1); for a switch it is the whole description. ``guid`` is the port's; a switch has one for all its
ports. Source: ``print_port`` of infiniband-diags/iblinkinfo.c; headings of 1.4 and 1.5 have no colon after "Switch".

The link of a port in iblinkinfo and ``ibqueryerrors -r``: state, width, speed, partner, what it could be.

    ==( 4X      25.78125 Gbps Active/  LinkUp)==>       5    2[  ] "Leaf2" (Could be 12X Could be 53.125 Gbps)
    ==(                Down/ Polling)==>             [  ] "" ( )

``print_port`` of infiniband-diags/iblinkinfo.c; the earlier scripts put blanks around the "/" and before the ")".
"Could be" compares what both ends support (``get_max_msg``); for a down port only its two states are valid.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from railyard.hardware.links import rate_gbit_s, speed_of_lane, width_of
from railyard.parsers.fabric.port import Link, Peer, PortState
from railyard.parsers.fabric.text import LONGEST, Notes, finish, lines_of, tools_text
from railyard.parsers.fabric.words import KINDS, guid_of, physical_of, split_description, state_of
from railyard.parsers.output import ParsedOutput

# 4X      25.78125 Gbps Active/  LinkUp   |   4X 10.0 Gbps (FDR10) Active/ LinkUp   |   Down/ Polling
_LINK = re.compile(
    r"^\s*(?:(?P<width>[0-9]{1,2}X|undefined \([0-9]+\))\s+)?(?P<speed>[^/]{0,60}?)\s*"
    r"(?P<state>[A-Za-z]+|\?\([0-9]+\))\s*/\s*(?P<physical>[A-Za-z]+|\?\([0-9]+\))\s*$"
)
_LANE = re.compile(r"(?P<gbit>[0-9]{1,4}(?:\.[0-9]{1,5})?) Gbps(?P<fdr10> \(FDR10\))?")
#      5    2[  ] "Leaf2" (Could be 12X )   |   0xec0d9a0300000020      5    3[  ] "Leaf2" ( )
_REMOTE = re.compile(
    r"^\s*(?:(?P<guid>0x[0-9a-fA-F]{1,16})\s+)?(?P<lid>[0-9]{1,6})\s+(?P<port>[0-9]{1,4})\[\s*[0-9]{0,4}\s*\]\s+"
    r'"(?P<node>[^\n]*)" \((?P<could>[^"]*)\)\s*$'
)
_COULD_WIDTH = re.compile(r"Could be (?P<width>[0-9]{1,2}X)")
_COULD_SPEED = re.compile(r"Could be (?:(?P<gbit>[0-9]{1,4}(?:\.[0-9]{1,5})?) Gbps|(?P<fdr10>FDR10))")
BOTH_ENDS = "both ends"


@lru_cache(maxsize=4096)
def link_of(text: str, could: str | None) -> Link | None:
    """Return what is between "==(" and "==>", and what a link with a partner could be; None if it is not a link.

    Cached, since a fabric prints the same dozen again and again.
    """
    text = text.rstrip().removesuffix(")")
    # -p adds the switch's timers after the bracket: "... LinkUp) (HOQ:12 VL_Stall:7"
    inside = text.partition(") (HOQ:")[0]
    found = _LINK.match(inside) if len(inside) <= 200 else None
    if not found:
        return None
    state, physical_state = state_of(found["state"]), physical_of(found["physical"])
    if state == "Down":
        return Link(state, physical_state)
    width = width_of(found["width"] or "")
    gbit, speed = _lane(_LANE.match(found["speed"]))
    link = Link(state, physical_state, rate_gbit_s(width, speed), width, speed, gbit)
    return link if could is None else _with_best(link, could)


def peer_of(text: str, cut: bool) -> tuple[Peer, str] | None:
    """Return the partner after "==>" and what the link could be; None for a port without one.

    A cut line is taken only if it has its closing bracket and no other bracket can follow.
    """
    found = _REMOTE.match(text)
    if not found or (cut and text.count('"') != 2):
        return None
    guid, lid, port, description, could = found.groups()
    node, device = split_description(description)
    return Peer(node, device, int(port), int(lid), guid_of(guid) if guid else None), could[:200]


def _lane(found: re.Match[str] | None) -> tuple[float | None, str | None]:
    """Return the signalled rate of a lane in Gbit/s and its speed's name."""
    if not found:
        return None, None
    gbit = float(found["gbit"])
    return gbit, "FDR10" if found["fdr10"] else speed_of_lane(gbit)


def _with_best(link: Link, could: str) -> Link:
    """Return the link with its best values: those that "Could be" names, else its own."""
    better_width, better_speed = _COULD_WIDTH.search(could), _COULD_SPEED.search(could)
    best_speed = link.speed
    if better_speed:
        best_speed = "FDR10" if better_speed["fdr10"] else speed_of_lane(float(better_speed["gbit"]))
    best_width = better_width["width"] if better_width else link.width
    return link._replace(best_width=best_width, best_speed=best_speed, best_from=BOTH_ENDS)


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
