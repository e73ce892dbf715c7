"""``rdma link`` of iproute2, as text (with -d too) and as JSON (-j, -p): one PortState per port.

It prints states, LIDs and the netdev, but neither rate nor width. The physical state ARMED means
PortConfigurationTraining. iproute2 up to 5.0 begins a line with "0/1: mlx5_0/1:" in place of "link mlx5_0/1". Source:
``link_parse_cb`` of rdma/link.c.
"""

import re
from collections.abc import Mapping

from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import LONGEST, Notes, documents, finish, lines_of, tools_text
from railyard.parsers.fabric.words import integer, physical_of, state_of
from railyard.parsers.output import ParsedOutput, ParseError

# link mlx5_0/1 state ACTIVE ...   |   0/1: mlx5_0/1: subnet_prefix fe80:0000:0000:0000 lid 13397 ...
_PORT = re.compile(
    r"^(?:link (?P<device>[^\s/]{1,100})/(?P<port>[0-9]{1,5})(?=\s)"
    r"|[0-9]{1,5}/[0-9]{1,5}: (?P<old>[^\s/]{1,100})/(?P<old_port>[0-9]{1,5}):)(?P<rest>.*)$"
)
# the beginning of a port that has another form; `rdma statistic` begins its lines with "link", too
_BEGUN = re.compile(
    r"^\s{0,40}link.{1,200}\b(?:ACTIVE|DOWN|INIT|ARMED|physical_state|netdev)\b|^[0-9].{1,200}\bphysical_state\s"
)
# what only `rdma link` prints of a port, in case its state is on another line
_OWN_KEYS = frozenset({"subnet_prefix", "lid", "sm_lid", "lmc", "physical_state", "netdev"})
# "netdev ib0", "17 sm_lid 3 lmc 0": a part of a port   |   "h0": what may be the end of its last word
_PART = re.compile(r"^\s{0,40}(?:\S{1,40}\s)?(?:subnet_prefix|sm_lid|lmc|physical_state|netdev|netdev_index)\s")
_END = re.compile(r"^\s{0,40}[A-Za-z0-9_.-]{1,15}\s*$")
_CAPABILITIES = re.compile(r"^\s*(?:caps: )?<.*$")
_EXPECTED = 'a port as "link mlx5_0/1 state ACTIVE ...", or the same as JSON'


def parse(text: str) -> ParsedOutput:
    """Return one PortState per port, in the order of the text.

    Raises ParseError if no line and no JSON object is a port with a state, as for ``rdma statistic``.
    """
    text = tools_text(text, "rdma link", _EXPECTED)
    # JSON first: its lines are long, and never of the other form
    ports = _from_json(text) if '"ifname"' in text else []
    if ports:
        return ParsedOutput(fabric=tuple(ports))
    lines, cut = lines_of(text)
    notes = Notes()
    for number, line in enumerate(lines, 1):
        found = _PORT.match(line) if len(line) <= LONGEST else None
        said = _pairs(found["rest"], number == cut) if found else {}
        if found and "state" in said:
            device, port, old, old_port, _ = found.groups()
            ports.append(_port(device or old, int(port or old_port), said, number))
            is_broken = "physical_state" not in said or len(found["rest"].split()) % 2
            if is_broken and number != cut:
                notes.note_unread(number, line, _EXPECTED)
        elif number != cut and (
            _OWN_KEYS & said.keys() or _BEGUN.search(line[:LONGEST]) or _PART.match(line[:LONGEST])
        ):
            notes.note_unread(number, line, _EXPECTED)
        elif ports and ports[-1].line == number - 1 and _END.match(line):
            notes.note_unread(number, line, _EXPECTED)
        elif not (ports and _CAPABILITIES.match(line[:LONGEST])):
            notes.foreign(number, line)
    return finish("rdma link", ports, bool(ports), notes, lines, _EXPECTED)


def _pairs(rest: str, cut: bool) -> dict[str, str]:
    """Return the words as key and value; a cut line loses its last word."""
    words = rest.replace("\\", " ").split() if "\\" in rest else rest.split()
    if cut:
        del words[-1:]
    return dict(zip(words[::2], words[1::2], strict=False))


def _port(device: str, port: int, said: Mapping[str, str], line: int) -> PortState:
    word = said.get
    return PortState(
        device=device,
        port=port,
        kind="CA",
        state=state_of(word("state", "")),
        physical_state=physical_of(word("physical_state", "")),
        lid=integer(said["lid"]) if "lid" in said else None,
        sm_lid=integer(said["sm_lid"]) if "sm_lid" in said else None,
        netdev=word("netdev") or None,
        line=line,
    )


def _from_json(text: str) -> list[PortState]:
    """Return the ports of ``-j``; none if a text has no JSON or only another command's."""
    ports = []
    for line, document in documents(text, f"output of rdma link: {_EXPECTED}"):
        for one in document if isinstance(document, list) else []:
            if not isinstance(one, dict) or "state" not in one or not isinstance(one.get("ifname"), str):
                raise ParseError(line, text.split("\n")[line - 1], f"output of rdma link: {_EXPECTED}")
            number = integer(str(one.get("port", "")))
            if number is not None:
                said = {key: value for key, value in one.items() if isinstance(value, str)}
                ports.append(_port(one["ifname"], number, said, line))
    return ports
