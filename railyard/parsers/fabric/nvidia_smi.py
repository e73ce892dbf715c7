"""``nvidia-smi topo -m``: one Nearness per row of its matrix of GPUs and NICs.

A terminal may glue two cells together ("NODENODE"), or wrap a line: a row that has not one word for each column is a
failure, and is not read. Older drivers name NICs in the heading ("mlx5_0"), newer ones have NIC0 and a legend. Source:
`nvidia-smi topo --help` and the legend that it prints below the matrix.
"""

import re
from types import MappingProxyType

from railyard.parsers.fabric.port import Hardware, Nearness
from railyard.parsers.fabric.text import LONGEST, Notes, finish, lines_of, tools_text
from railyard.parsers.output import ParsedOutput

_NAME = r"(?:GPU[0-9]{1,3}|NIC[0-9]{1,3}|[a-z][a-z0-9_]{1,30}[0-9])"
#         GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity  GPU NUMA ID
_HEADING = re.compile(rf"^\s+(?P<names>{_NAME}(?:\s+{_NAME}){{0,200}})(?P<rest>\s+CPU Affinity\b.{{0,80}})?\s*$")
_ROW = re.compile(rf"^(?P<name>{_NAME})\s+(?P<cells>\S.{{0,1900}})$")
_WORD = re.compile(r"X|NV[0-9]{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|PSB")
_AFFINITY = re.compile(r"[0-9]{1,5}(?:[,-][0-9]{1,5}){0,40}")  # N/A is not printed as a value
_BEGUN = re.compile(r"^\s{0,40}(?:GPU|NIC)[0-9]{1,3}.{0,80}\s(?:X|NV[0-9]{1,2}|PIX|PXB|PHB|NODE|SYS|SOC)\s")
#   NIC0: mlx5_0
_LEGEND = re.compile(r"^\s*(?P<nic>NIC[0-9]{1,3}): (?P<device>[A-Za-z][\w.-]{0,60})\s*$")
_OWN = re.compile(r"^\s*(?:(?:NIC )?Legend:|(?:X|SYS|NODE|PHB|PXB|PIX|NV#|SOC|PSB)\s+= .{3,200}|NVIDIA Topology:)\s*$")
_EXPECTED = 'a heading of GPUs and NICs as "GPU0 GPU1 NIC0 CPU Affinity"'


def parse(text: str) -> ParsedOutput:
    """Return one Nearness per row, in the order of the text, as ``hardware``.

    Raises ParseError if there is no heading of GPUs and NICs.
    """
    lines, cut = lines_of(tools_text(text, "nvidia-smi", _EXPECTED))
    notes = Notes()
    names: list[str] = []
    rows: list[Nearness] = []
    devices: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        shown = line[:LONGEST]
        heading = None if number == cut else _HEADING.match(shown)
        if heading and heading["names"].startswith("GPU"):
            names = heading["names"].split()
        elif (found := _ROW.match(shown)) and found["name"] in names and number != cut:
            row = _row(found, names, number)
            if row is None:
                has = f"{found['name']}: not one word for each of the {len(names)} columns, so this row is not read"
                notes.note_failure(number, f"{has}: {shown.strip()[:200]}")
            else:
                rows.append(row)
        elif names and number != cut and _BEGUN.match(shown):
            notes.note_unread(number, line, f"a row of one of the columns {names[0]} to {names[-1]}")
        elif (legend := _LEGEND.match(shown)) and number != cut:
            devices[legend["nic"]] = legend["device"]
        elif not _OWN.match(shown):
            notes.foreign(number, line)
    named = tuple(row._replace(device=devices.get(row.name, row.device)) for row in rows)
    done = finish("nvidia-smi", [], bool(names), notes, lines, _EXPECTED)
    return ParsedOutput(failures=done.failures, remarks=done.remarks, hardware=Hardware(nearness=named))


def _row(found: re.Match[str], names: list[str], number: int) -> Nearness | None:
    """Return a row; None if it has not a known word for each column, or its X is not below its own name."""
    words = found["cells"].split()
    cells, rest = words[: len(names)], words[len(names) :]
    if len(cells) < len(names) or not all(map(_WORD.fullmatch, cells)):
        return None
    if any(map(_WORD.fullmatch, rest)):  # the heading was wrapped, so that it lacks columns
        return None
    if cells[names.index(found["name"])] != "X" or cells.count("X") != 1:
        return None
    to = {name: word for name, word in zip(names, cells, strict=True) if word != "X"}
    is_gpu = found["name"].startswith("GPU")
    return Nearness(
        name=found["name"],
        to=MappingProxyType(to),
        device=None if is_gpu or found["name"].startswith("NIC") else found["name"],
        cpus=rest[0] if is_gpu and rest and _AFFINITY.fullmatch(rest[0]) else None,
        numa=rest[1] if is_gpu and len(rest) > 1 and _AFFINITY.fullmatch(rest[1]) else None,
        line=number,
    )
