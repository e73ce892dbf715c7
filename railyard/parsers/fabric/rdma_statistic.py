"""``rdma statistic`` of iproute2 (show, link), as text and as JSON (-j, -p): one PortState per port, with its counters.

Counters have the driver's names ("rx_write_requests", "out_of_sequence"); they count since the device was created.
Lines of counters that are bound to queue pairs ("cntn 4 ... LQPN: <178>") count only a part of a port: they are
``remarks``. Source: ``stat_show_parse_cb``, ``res_get_hwcounters``, ``res_counter_line`` of rdma/stat.c.
"""

import re
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from railyard.hardware.counters import full
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import LONGEST, Notes, documents, finish, lines_of, tools_text
from railyard.parsers.fabric.words import integer
from railyard.parsers.output import ParsedOutput, ParseError

# link mlx5_0/1 rx_write_requests 0 rx_read_requests 0 ...
_PORT = re.compile(r"^link (?P<device>[^\s/]{1,100})/(?P<port>[0-9]{1,5})(?=\s|$)")
_BEGUN = re.compile(r"^\s{0,40}link\s{0,40}\S{1,100}(?:/[0-9]|\s{0,40}$|\s\w{1,60}_\w{1,60}\s[0-9])")
_NAME = re.compile(r"\A[A-Za-z][A-Za-z0-9_.\[\]-]{0,60}\Z")
_NO_COUNTERS = frozenset({"ifindex", "ifname", "port"})
_DIGITS = 20  # of 2^64 - 1
_WRAPPED = 60  # a line that a mailer broke has at least this length
_EXPECTED = 'a port as "link mlx5_0/1 rx_write_requests 0 ...", or the same as JSON'


@lru_cache(maxsize=256)  # the ports of one driver have the same names
def _are_names(words: tuple[str, ...]) -> bool:
    return all(map(_NAME.match, words))


class _Port:
    """An open port: a name waits for its value, which may be on the next line."""

    def __init__(self, line: int, device: str, port: int) -> None:
        self.line, self.device, self.port = line, device, port
        self.counters: dict[str, int] = {}
        self.waiting: str | None = None

    def take(self, words: list[str], cut: bool) -> bool:
        """Take words if they go on with names and values in turn; return False, and take none, for any others."""
        words = ([self.waiting] if self.waiting else []) + (words[:-1] if cut else words)
        names, values = words[::2], words[1::2]
        together = "".join(values)
        if not _are_names(tuple(names)) or (values and not (together.isdecimal() and together.isascii())):
            return False
        if max(map(len, values), default=0) > _DIGITS:
            return False
        self.waiting = names.pop() if len(names) > len(values) else None
        self.counters.update(zip(names, map(int, values), strict=True))
        return True

    def state(self) -> PortState:
        return _port(self.device, self.port, self.counters, self.line)


def parse(text: str) -> ParsedOutput:
    """Return one PortState per port, in the order of the text.

    Raises ParseError if no line and no JSON object is a port with counters, as for ``rdma link``.
    """
    text = tools_text(text, "rdma statistic", _EXPECTED)
    # JSON first: its lines are long, and never of the other form
    states = _from_json(text) if '"ifname"' in text else []
    if states:
        return ParsedOutput(fabric=tuple(states))
    lines, cut = lines_of(text)
    notes = Notes()
    ports: list[_Port] = []
    port: _Port | None = None
    bound = False
    for number, line in enumerate(lines, 1):
        found = _PORT.match(line)
        words = (line[found.end() :] if found else line).replace("\\", " ").split()
        if found and number == cut and len(words) == 0:
            notes.foreign(number, line)  # the port's number may go on
        elif found:
            port = _Port(number, found["device"], int(found["port"]))
            bound = "cntn" in words[:2]
            if bound or not port.take(words, number == cut):
                port = None
                is_lost = not (bound or "state" in words or number == cut)
                notes.note_unread(number, line, _EXPECTED) if is_lost else notes.foreign(number, line)
            else:
                ports.append(port)
        elif port is None or not _goes_on(port, line, lines[number - 2]) or not port.take(words, number == cut):
            has_no_value = port is not None and port.waiting is not None and line.strip() and port.line != number
            if number != cut and (has_no_value or _BEGUN.match(line)):
                notes.note_unread(number, line, _EXPECTED)
            else:
                notes.foreign(number, line)
    for port in ports:
        if not port.counters and port.line != cut:
            notes.note_unread(port.line, lines[port.line - 1], _EXPECTED)
    states = [port.state() for port in ports if port.counters]
    return finish("rdma statistic", states, bool(states) or bound, notes, lines, _EXPECTED)


def _goes_on(port: _Port, line: str, before: str) -> bool:
    """Return whether a line can belong to the port above: indented (-p, -d), or wrapped by a mailer."""
    return port.waiting is not None or line[:1].isspace() or "_" in line or len(before) >= _WRAPPED


def _port(device: str, port: int, counters: dict[str, int], line: int) -> PortState:
    saturated = full(counters, 64)
    return PortState(
        device=device, port=port, kind="CA", counters=MappingProxyType(counters), saturated=saturated, line=line
    )


def _from_json(text: str) -> list[PortState]:
    """Return the ports of ``-j``; none if a text has no JSON or only another command's."""
    ports = []
    for line, document in documents(text, f"output of rdma statistic: {_EXPECTED}"):
        for one in document if isinstance(document, list) else []:
            counters = _counters(one) if isinstance(one, dict) else None
            if counters is None:
                shown = text.split("\n")[line - 1][:LONGEST]
                raise ParseError(line, shown, f"output of rdma statistic: {_EXPECTED}")
            number = integer(str(one["port"]))
            if counters and number is not None and "cntn" not in one:
                ports.append(_port(one["ifname"], number, counters, line))
    return ports


def _counters(one: dict[str, Any]) -> dict[str, int] | None:
    """Return the counters of one object; None if it is not a port with only counters."""
    if not isinstance(one.get("ifname"), str) or "port" not in one or "state" in one:
        return None
    found = {name: integer(value) for name, value in one.items() if name not in _NO_COUNTERS and isinstance(value, str)}
    return {name: value for name, value in found.items() if value is not None}
