"""ibqueryerrors, also with --data, --counters, --details and -r: one PortState per reported port, with its counters.

Only counters above their threshold (0 if no file gives one) are printed: an absent counter is not known to be 0. A text
without any port says that none was above. The "##" lines (how many were checked, the thresholds, the suppressed
counters) are ``remarks``; queries that failed are ``failures``. ``port`` 255 ("ALL") is the device's sum over its
ports. "[X == 255]" is a counter with the width of PortCounters, "[X == 255 (255.000)]" one with 64 bits. Source:
``print_results``, ``print_data_cnts``, ``print_summary`` of infiniband-diags/ibqueryerrors.c.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from railyard.hardware.counters import is_full, standard_name
from railyard.parsers.fabric.iblinkinfo import link_of, peer_of
from railyard.parsers.fabric.port import ALL_PORTS, NOTHING, Link, Peer, PortState
from railyard.parsers.fabric.text import Notes, finish, lines_of, tools_text, without_broken_ports
from railyard.parsers.fabric.words import guid_of, split_description
from railyard.parsers.output import ParsedOutput

# Errors for "vn3 mlx5_1"   |   Errors for 0x2c903006e29b0 "MF0;sw:SX6036/U1"   |   Data Counters for 0x... "..."
_NODE = re.compile(
    r'^\s*(?P<what>Errors|Data Counters) for (?:(?P<guid>0x[0-9a-fA-F]{1,16}) )?"(?P<name>[^\n]{0,300})"\s*$'
)
#   GUID 0xb8599f0300001039 port 1: [SymbolErrorCounter == 4711] [LinkDownedCounter == 3]
_PORT = re.compile(r"^\s*GUID (?P<guid>0x[0-9a-fA-F]{1,16}) port (?P<port>[0-9]{1,4}|ALL):")
_COUNTER = re.compile(
    r"\[(?P<name>[A-Za-z0-9]{1,60}) == (?P<value>[0-9]{1,20})(?P<wide> \([0-9.]{1,12}[KMGTPE]?B?\))?\]"
)
#       Link info:      1   1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>  0x0002c902      4   17[  ] "name" ( )
_LINK = re.compile(r"^\s*Link info:\s+(?P<lid>[0-9]{1,6})\s+(?P<port>[0-9]{1,4})\[\s*[0-9]{0,4}\s*\]\s*==\(")
# ## Summary: 5 nodes checked, 1 bad nodes found   |   ##          12 ports checked, …; a bare "## " heads Markdown too
_SUMMARY = re.compile(
    r"## +(?:Summary:|Thresholds:|Suppressed:|Data Counters|[0-9]+ (?:nodes|ports)|.{0,40}query fail)"
)
# ## Thresholds: [SymbolErrorCounter = 10][VL15Dropped = 100]
_THRESHOLD = re.compile(r"\[(?P<name>[A-Za-z0-9]{1,60}) = (?P<value>[0-9]{1,20})\]")
_BEGUN = re.compile(r"^\s{0,40}(?:(?:Errors|Data Counters) for\b|GUID\s{0,40}0x|Link info:)")
_DATA = frozenset({"PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts"})
_NO_LINK = Link()
_LONGEST = 4000  # the tool's own buffer for one port's counters has 2048 characters
_EXPECTED = '"Errors for ..." or "## Summary: ..."'


def parse(text: str) -> ParsedOutput:
    """Return one PortState per reported port, in the order of the text; none if no counter was above its threshold.

    Raises ParseError if the text has no node, no port and no summary of ibqueryerrors, nor a failure of it.
    """
    return without_broken_ports(text, _read)


def _read(text: str) -> ParsedOutput:
    lines, cut = lines_of(tools_text(text, "ibqueryerrors", _EXPECTED))
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        if line and (len(line) > _LONGEST or not reader.read(number, line, number == cut)):
            if number != cut and _BEGUN.match(line):
                reader.notes.note_unread(number, line, f"{_EXPECTED}, with ports below it")
            else:
                reader.notes.foreign(number, line)
    reader.notes.no_port(reader.header)
    return finish("ibqueryerrors", reader.states(), reader.known, reader.notes, lines, _EXPECTED)


class _Node(NamedTuple):
    """What a heading says about the ports below it."""

    node: str | None = None
    device: str | None = None
    kind: str | None = None


@dataclass(slots=True)
class _Port:
    """A reported port: its link may follow, and the thresholds are at the text's end."""

    above: _Node
    line: int
    port: int
    guid: str | None
    counters: Mapping[str, int]
    saturated: tuple[str, ...]
    lid: int | None = None
    link: Link = _NO_LINK
    peer: Peer | None = None

    def take(self, line: str, found: re.Match[str], cut: bool) -> None:
        """Take the "Link info" line (-r) that follows; nothing from a cut one."""
        between, arrow, remote = line[found.end() :].partition("==>")
        peer, could = (arrow and peer_of(remote, cut)) or (None, None)
        link = link_of(between, could) if arrow else None
        if link is not None and (peer or not cut):
            self.lid, self.link, self.peer = int(found["lid"]), link, peer

    def state(self, thresholds: Mapping[str, int]) -> PortState:
        node, device, kind = self.above
        return PortState(
            *(node, device, self.port, kind, *self.link),
            lid=self.lid,
            guid=self.guid,
            peer=self.peer,
            counters=self.counters,
            saturated=self.saturated,
            thresholds=thresholds,
            line=self.line,
        )


class _Reader:
    """The open node, and the ports so far."""

    def __init__(self) -> None:
        self.notes = Notes()
        self.known = False
        self.node = _Node()
        self.header: tuple[int, str] | None = None  # of a node that has no port so far
        self.ports: list[_Port] = []
        self.thresholds: dict[str, int] = {}

    def read(self, number: int, line: str, cut: bool) -> bool:
        """Take one line; return False for one that is not the tool's."""
        first = line.lstrip()[:1]
        if first == "#" and line[:2] == "##" and _SUMMARY.match(line):
            self.summary(number, line)
        elif first == "G" and (found := _PORT.match(line)):
            self.known, self.header = True, None
            self.ports.append(_port(self.node, number, line, found))
            if not cut and line.count("==") > len(_COUNTER.findall(line, found.end())):
                self.notes.note_unread(number, line, 'each counter as "[SymbolErrorCounter == 12]"')
        elif first in ("E", "D") and (node := _NODE.match(line)) and not cut:
            self.notes.no_port(self.header)
            self.known, self.header = True, (number, line)
            what, guid, description = node.groups()
            name, device = (description, None) if guid and what == "Errors" else split_description(description)
            self.node = _Node(name, device, "Switch" if name == description and guid else None)
        elif first == "L" and self.ports and (link := _LINK.match(line)):
            self.ports[-1].take(line, link, cut)
        elif first == "[" and self.ports and not cut and _COUNTER.search(line):
            self.notes.note_unread(number, line, "each counter in the line of its port")
        else:
            return not line.strip()
        return True

    def summary(self, number: int, line: str) -> None:
        self.known = True
        if "PMA query failures" in line:
            self.notes.note_failure(number, line)
            return
        self.notes.remark(number, line)
        if line.startswith("## Thresholds:"):
            self.thresholds = {found["name"]: int(found["value"]) for found in _THRESHOLD.finditer(line)}

    def states(self) -> list[PortState]:
        thresholds = MappingProxyType(self.thresholds) if self.thresholds else NOTHING
        return [port.state(thresholds) for port in self.ports]


def _port(above: _Node, number: int, line: str, found: re.Match[str]) -> _Port:
    counters: dict[str, int] = {}
    saturated = []
    for printed, digits, wide in _COUNTER.findall(line, found.end()):
        name, value = standard_name(printed), int(digits)
        counters[name] = value
        # data counters show a rounded figure at either width: 32 bits are full at 4294967295, 64 in practice never
        bits = 64 if wide and name not in _DATA else None
        if is_full(name, value, bits):
            saturated.append(name)
    guid, port = found.groups()
    place = ALL_PORTS if port == "ALL" else int(port)
    return _Port(above, number, place, guid_of(guid), MappingProxyType(counters), tuple(saturated))
