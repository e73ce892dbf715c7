"""``show_gids`` of MLNX_OFED: one GidEntry per row of its table, below "DEV PORT INDEX GID IPv4 VER DEV".

IPv4, version and interface may be missing in a row. Source: the script show_gids of MLNX_OFED, and what the kernel has
in ports/N/gids, gid_attrs/types and gid_attrs/ndevs.
"""

import re

from railyard.parsers.fabric.hardware import GidEntry, Hardware
from railyard.parsers.fabric.text import LONGEST, Notes, finish, lines_of, tools_text
from railyard.parsers.parsed import Parsed

_HEADING = re.compile(r"^\s*DEV\s+PORT\s+INDEX\s+GID\s+IPv4\s+VER\s+(?:DEV|NETDEV)\s*$", re.IGNORECASE)
# mlx5_0  1  3  0000:0000:0000:0000:0000:ffff:0a01:0001  10.1.0.1  v2  ens1f0np0
_ROW = re.compile(
    r"^\s*(?P<device>[A-Za-z][\w.-]{0,60})\s+(?P<port>[0-9]{1,3})\s+(?P<index>[0-9]{1,4})\s+"
    r"(?P<gid>[0-9a-f]{4}(?::[0-9a-f]{4}){7})(?:\s+(?P<ipv4>[0-9]{1,3}(?:\.[0-9]{1,3}){3}))?"
    r"(?:\s+(?P<version>v[12]))?(?:\s+(?P<netdev>[A-Za-z][\w.@-]{0,30}))?\s*$"
)
_OWN = re.compile(r"^\s*(?:[-\s]{10,200}|n_gids_found=[0-9]{1,6})\s*$")
_EXPECTED = 'the heading "DEV PORT INDEX GID IPv4 VER DEV"'
_SIGNS = (re.compile(r"\bdev\s+port\s+index\s+gid\s+ipv4\b").search,)


def parse(text: str) -> Parsed:
    """Return one GidEntry per row, in the order of the text, as ``hardware``.

    Raises ParseError if the heading is missing.
    """
    lines, cut = lines_of(tools_text(text, "show_gids", _SIGNS, _EXPECTED))
    notes = Notes()
    gids: list[GidEntry] = []
    known = False
    for number, line in enumerate(lines, 1):
        shown = line[:LONGEST]
        if _HEADING.match(shown):
            known = True
        elif known and number != cut and (found := _ROW.match(shown)):
            said = found.groupdict()
            port, index = int(said.pop("port")), int(said.pop("index"))
            gids.append(GidEntry(port=port, gid_index=index, line=number, **said))
        elif not known or not _OWN.match(shown):
            notes.foreign(number, line)
    done = finish("show_gids", [], known, notes, lines, _EXPECTED)
    return Parsed(failures=done.failures, remarks=done.remarks, hardware=Hardware(gids=tuple(gids)))
