"""The link of a port in iblinkinfo and ``ibqueryerrors -r``: state, width, speed, partner, what it could be.

    ==( 4X      25.78125 Gbps Active/  LinkUp)==>       5    2[  ] "Leaf2" (Could be 12X Could be 53.125 Gbps)
    ==(                Down/ Polling)==>             [  ] "" ( )

``print_port`` of infiniband-diags/iblinkinfo.c; the earlier scripts put blanks around the "/" and before the ")".
"Could be" compares what both ends support (``get_max_msg``); for a down port only its two states are valid.
"""

import re
from functools import lru_cache

from railyard.hardware.links import rate_gbit_s, speed_of_lane, width_of
from railyard.parsers.fabric.port import Link, Peer
from railyard.parsers.fabric.words import guid_of, physical_of, split_description, state_of

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
