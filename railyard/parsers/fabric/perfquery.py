"""perfquery, plain, -x, -a, -l, and the details of -E, -D and the like: one PortState per "# ... counters:" block.

Counters have their standard names in every version. PortXmitData and PortRcvData are raw: they count 4-byte units.
PortCounters stop at their largest value (``saturated``): 16 bits of SymbolErrorCounter, 8 of LinkDownedCounter, 4 of
LocalLinkIntegrityErrors, 32 of PortXmitData (a busy link fills them within a second). With -x all have 64 bits.
``port`` 255 is the sum over all ports. ``lid`` is the queried port's; perfquery prints no name and no state. Source:
``dump_perfcounters`` and ``common_func`` of infiniband-diags/perfquery.c, ``_mad_dump_field`` of libibmad.
"""

import re
from types import MappingProxyType

from railyard.hardware.counters import full, standard_name
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import Notes, finish, lines_of, tools_text, without_broken_ports
from railyard.parsers.output import ParsedOutput

# # Port counters: Lid 1 port 1 (CapMask: 0x1200)   |   # Port extended counters: DR path slid 0; dlid 0; 0,1 port 1
_BLOCK = re.compile(
    r"^\s*# (?P<what>[A-Za-z][A-Za-z0-9 -]{2,60}) counters: (?:Lid (?P<lid>[0-9]{1,6})\b)?"
    r".{0,200}?\bport (?P<port>[0-9]{1,4})"
    r"(?: \(CapMask: 0x[0-9a-fA-F]+(?: CapMask2: 0x[0-9a-fA-F]+)?\))?\s*$"
)
_BLOCK_BEGUN = re.compile(r"counters:?.{0,80}\bport [0-9]|^\s{0,40}# Port.{0,40}counters")
_SELECTORS = frozenset({"PortSelect", "CounterSelect", "CounterSelect2"})
_EXTENDED = "Port extended"
_EXPECTED = 'a heading as "# Port counters: Lid 1 port 1"'


def parse(text: str) -> ParsedOutput:
    """Return one PortState per block of counters, in the order of the text.

    Raises ParseError if no line heads a block in the form of perfquery, and no line is a failure of perfquery.
    """
    return without_broken_ports(text, _read)


def _read(text: str) -> ParsedOutput:
    lines, cut = lines_of(tools_text(text, "perfquery", _EXPECTED))
    notes = Notes()
    ports: list[PortState] = []
    block: tuple[int, re.Match[str]] | None = None
    counters: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        name, colon, value = line.partition(":")
        name = name.strip()
        is_own = bool(colon) and number != cut and (value[:1] == "." and name.isalnum())
        if colon and block is not None and name.isalnum():
            value = value.lstrip(". \t").rstrip()
            if value.isdecimal() and value.isascii() and len(value) <= 20:
                if name not in _SELECTORS and number != cut:
                    counters[standard_name(name)] = int(value)
                continue
            if name in _SELECTORS:
                continue
        found = _BLOCK.match(line) if line[:2] in ("# ", " #") and len(line) <= 400 and number != cut else None
        if found:
            ports += [_port(*block, counters)] if block else []
            block, counters = (number, found), {}
        elif (is_own or _BLOCK_BEGUN.search(line[:400])) and number != cut:
            notes.note_unread(number, line, f'{_EXPECTED}, with counters as "SymbolErrorCounter:....0" below it')
        else:
            notes.foreign(number, line)
    ports += [_port(*block, counters)] if block else []
    return finish("perfquery", ports, bool(ports), notes, lines, _EXPECTED)


def _port(number: int, heading: re.Match[str], counters: dict[str, int]) -> PortState:
    return PortState(
        port=int(heading["port"]),
        lid=int(heading["lid"]) if heading["lid"] else None,
        counters=MappingProxyType(counters),
        saturated=full(counters, 64 if heading["what"] == _EXTENDED else None),
        extra=MappingProxyType({"counters": heading["what"]}),
        line=number,
    )
