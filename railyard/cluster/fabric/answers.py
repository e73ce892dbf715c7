"""What each node wrote about its own ports in a file: readings, and a problem for each node without a whole file."""

from collections.abc import Sequence

from railyard.base.errors import InputError
from railyard.cluster.fabric.model import Card, Finding
from railyard.cluster.fabric.own_json import read_lines
from railyard.job.node_files import GatheredAnswers, NodeFile
from railyard.parsers.fabric.port import PortState

#: The ports and cards of a node, or why its file shows none.
Own = tuple[tuple[PortState, ...], tuple[Card, ...]] | str


def own_of(file: NodeFile) -> Own:
    """Return what a node read about itself, or why its file does not show it."""
    try:
        return read_lines(file.text, f"its answer (exit code {file.code})")
    except InputError as error:
        return str(error)


def readings_of(gathered: GatheredAnswers[Own]) -> tuple[tuple[PortState, ...], tuple[Card, ...], tuple[Finding, ...]]:
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
