"""``show_gids`` of MLNX_OFED: one GidEntry per row of its table, below "DEV PORT INDEX GID IPv4 VER DEV".

IPv4, version and interface may be missing in a row. Source: the script show_gids of MLNX_OFED, and what the kernel has
in ports/N/gids, gid_attrs/types and gid_attrs/ndevs.
"""

import re

from railyard.parsers.fabric.port import GidEntry, Hardware
from railyard.parsers.fabric.text import LONGEST, Notes, finish, lines_of, tools_text
from railyard.parsers.output import ParsedOutput

_GAP = r"\s{1,40}"  # bounded, so that a line of blanks costs no more than its length
_HEADING = re.compile(
    rf"^\s{{0,40}}DEV{_GAP}PORT{_GAP}INDEX{_GAP}GID{_GAP}IPv4{_GAP}VER{_GAP}(?:NET)?DEV\s{{0,40}}$", re.I
)
# mlx5_0  1  3  0000:0000:0000:0000:0000:ffff:0a01:0001  10.1.0.1  v2  ens1f0np0
_ROW = re.compile(
    rf"^\s{{0,40}}(?P<device>[A-Za-z][\w.-]{{0,60}}){_GAP}(?P<port>[0-9]{{1,3}}){_GAP}(?P<index>[0-9]{{1,4}}){_GAP}"
    rf"(?P<gid>[0-9a-f]{{4}}(?::[0-9a-f]{{4}}){{7}})(?:{_GAP}(?P<ipv4>[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}))?"
    rf"(?:{_GAP}(?P<version>v[12]))?(?:{_GAP}(?P<netdev>[A-Za-z][\w.@-]{{0,30}}))?$"
)
_BEGUN = re.compile(r"(?::[0-9a-f]{4}){3}", re.I)
_OWN = re.compile(r"^\s{0,40}(?:[-\s]{10,200}|n_gids_found=(?P<number>[0-9]{1,6}))$")
_EXPECTED = 'the heading "DEV PORT INDEX GID IPv4 VER DEV"'


def parse(text: str) -> ParsedOutput:
    """Return one GidEntry per row, in the order of the text, as ``hardware``.

    Raises ParseError if the heading is missing.
    """
    lines, cut = lines_of(tools_text(text, "show_gids", _EXPECTED))
    notes = Notes()
    gids: list[GidEntry] = []
    heading, counted = 0, None
    for number, line in enumerate(lines, 1):
        shown = line[:LONGEST].rstrip()
        if _HEADING.match(shown):
            heading = number
        elif heading and number != cut and (found := _ROW.match(shown)):
            said = found.groupdict()
            port, index = int(said.pop("port")), int(said.pop("index"))
            gids.append(GidEntry(port=port, gid_index=index, line=number, **said))
        elif number != cut and _BEGUN.search(shown):
            notes.note_unread(number, line, "device, port, index, GID, IPv4, version and interface")
        elif heading and (own := _OWN.match(shown)):
            counted = own["number"] or counted
        else:
            notes.foreign(number, line)
    if counted is not None and int(counted) != len(gids):
        notes.note_failure(len(lines), f"n_gids_found={counted}, and {len(gids)} rows were read: lines are missing")
    elif heading and not gids and counted is None:
        notes.remark(heading, "no GID is printed below the heading")
    done = finish("show_gids", [], heading > 0, notes, lines, _EXPECTED)
    return ParsedOutput(failures=done.failures, remarks=done.remarks, hardware=Hardware(gids=tuple(gids)))
