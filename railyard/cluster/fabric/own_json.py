"""A node's reading of its own ports and cards as JSON in short lines: one job's output can hold those of all its nodes.

A launcher cuts a long line, and other nodes' output may come between the pieces: srun of Slurm 22.05 cuts after each
1,024 bytes (MAX_MSG_LEN in slurmd/slurmstepd/io.c). So a long text is split into lines with the node's name and a
number.
"""


# History of the format: 1 is the first. Texts of several lines came later; a text of one line is read as before.

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

from railyard.base.errors import InputError
from railyard.base.json_codec import FormError, decode, encode
from railyard.base.wording import listing
from railyard.cluster.fabric.model import Card, Finding
from railyard.hardware.counters import full
from railyard.job.node_files import GatheredAnswers, NodeFile
from railyard.parsers.fabric.port import PortState

#: The ports and cards of a node, or why its file shows none.
OwnAnswer = tuple[tuple[PortState, ...], tuple[Card, ...]] | str
FORMAT = 1
#: Bytes of a line: well below what srun passes on in one piece.
_MOST_BYTES = 900
_PIECE = re.compile(r"\{\"part\":(?P<part>\d+),\"of\":(?P<of>\d+),\"node\":\"(?P<node>[^\"]+)\"\}(?P<text>.*)")
_EXPECTED = "a line that `railyard fabric --own` printed"


@dataclass(frozen=True, slots=True)
class OwnPort:
    """The fields of a PortState that a node can read about itself, in the same units."""

    device: str
    port: int
    state: str | None = None
    physical_state: str | None = None
    rate: float | None = None
    width: str | None = None
    speed: str | None = None
    lid: int | None = None
    sm_lid: int | None = None
    guid: str | None = None
    link_layer: str | None = None
    mtu_bytes: int | None = None
    firmware: str | None = None
    netdev: str | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    module: Mapping[str, float] = field(default_factory=dict)
    module_words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Own:
    """One node's reading. Decoding raises FormError if a key is missing or has the wrong type."""

    format: int
    node: str
    ports: tuple[OwnPort, ...] = ()
    cards: tuple[Card, ...] = ()


def lines_of(node: str, ports: tuple[PortState, ...], cards: tuple[Card, ...]) -> str:
    """Return the JSON in lines; leave out ports without a device or a number."""
    own = tuple(_as_own_port(port) for port in ports if port.device is not None and port.port is not None)
    text = json.dumps(encode(Own(FORMAT, node, own, cards)), separators=(",", ":"), ensure_ascii=True)
    if len(text) <= _MOST_BYTES:
        return text
    pieces = [text[start : start + _MOST_BYTES] for start in range(0, len(text), _MOST_BYTES)]
    return "\n".join(
        f'{{"part":{number},"of":{len(pieces)},"node":"{node}"}}{piece}' for number, piece in enumerate(pieces, 1)
    )


def read_lines(text: str, file: str) -> tuple[tuple[PortState, ...], tuple[Card, ...]]:
    """Return the ports and cards of all lines with such JSON; ignore other lines (of a launcher, for example).

    Raises InputError, with the line, if such a line is cut or has a wrong form, or if there is no such line.
    """
    ports: list[PortState] = []
    cards: list[Card] = []
    known = False
    for number, line in _joined_lines(text, file):
        if not line.lstrip().startswith('{"format":'):
            continue
        try:
            own = decode(Own, json.loads(line))
        except (ValueError, FormError) as error:
            raise InputError(file, f"no whole JSON ({error})", _EXPECTED, number) from None
        if own.format != FORMAT:
            action = "read it with its own Railyard"
            raise InputError(file, f"format {own.format}", f"format {FORMAT}", number, action=action)
        known = True
        ports += [_state(own.node, port) for port in own.ports]
        cards += own.cards
    if not known:
        raise InputError(file, "no such line", _EXPECTED)
    return tuple(ports), tuple(cards)


def _joined_lines(text: str, file: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, and each text of several lines with the number of its last line.

    Raises InputError if a node's text lacks a line.
    """
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for number, line in enumerate(text.split("\n"), 1):
        piece = _PIECE.match(line.lstrip())
        if piece is None:
            yield number, line
            continue
        node, count = piece["node"], int(piece["of"])
        found[node][int(piece["part"])] = piece["text"]
        if len(found[node]) == count:
            yield number, "".join(text for _, text in sorted(found.pop(node).items()))
    for node, pieces in found.items():
        lines = listing([str(part) for part in sorted(pieces)])
        raise InputError(file, f"of {node} only the parts {lines}", "all parts that `railyard fabric --own` printed")


def _as_own_port(port: PortState) -> OwnPort:
    said = {each.name: getattr(port, each.name) for each in fields(OwnPort) if not each.name.startswith("module")}
    words = {name: value for name, value in port.module.items() if isinstance(value, str)}
    numbers = {name: float(value) for name, value in port.module.items() if not isinstance(value, str)}
    return OwnPort(**said, module=numbers, module_words=words)


def _state(node: str, port: OwnPort) -> PortState:
    said = {each.name: getattr(port, each.name) for each in fields(OwnPort) if not each.name.startswith("module")}
    module: dict[str, str | int | float] = {**port.module_words, **port.module}
    return PortState(node=node, kind="CA", saturated=full(port.counters), module=module, **said)


def own_answer(file: NodeFile) -> OwnAnswer:
    """Return what a node read about itself, or why its file does not show it."""
    try:
        return read_lines(file.text, f"its answer (exit code {file.code})")
    except InputError as error:
        return str(error)


def readings_of(
    gathered: GatheredAnswers[OwnAnswer],
) -> tuple[tuple[PortState, ...], tuple[Card, ...], tuple[Finding, ...]]:
    """Return the ports and cards of all nodes, and a problem for each node that gave no answer."""
    ports: list[PortState] = []
    cards: list[Card] = []
    missing = [_silent_node(fault.node, fault.what, fault.fix) for fault in gathered.faults]
    for node, own in gathered.answers:
        if isinstance(own, str):
            missing.append(_silent_node(node, own, "run `railyard fabric --own` on that node"))
        else:
            ports += own[0]
            cards += own[1]
    return tuple(ports), tuple(cards), tuple(missing)


def notes_of(findings: Sequence[Finding]) -> list[str]:
    """Return the sentences about nodes without an answer; the others are judged without them."""
    return [f"not judged: {each.node}: {each.found}" for each in findings]


def _silent_node(node: str, found: str, fix: str) -> Finding:
    return Finding("silent", node, None, None, found, "a whole answer of the node", fix)
