"""Which part of a named node is slow: each rail alone between it and good partners, then each GPU's path."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from railyard.base.wording import listing, number, percent
from railyard.verdict.blame.screening.leaves import Leaves
from railyard.verdict.blame.screening.model import Kind, Suspect
from railyard.verdict.blame.search.alone import Measured, Question
from railyard.verdict.blame.search.model import Pair, Part

#: What one rail alone gave, for each of them.
ByPart = Mapping[Part, tuple[Measured, Mapping[Pair, Sequence[float]]]]


def slow_parts(question: Question, measured: ByPart) -> tuple[Part, ...] | None:
    """Return the parts of a node that are slow with both partners, which are good with one another over them.

    None where a part could not be told.
    """
    node = question.members[0]
    found = []
    for part, (alone, values) in measured.items():
        pairs = [_rising(node, partner) for partner in question.partners]
        if len(pairs) < 2 or any(pair not in values for pair in question.pairs()):
            return None
        slow = [alone.slow(*pair) for pair in pairs]
        if alone.slow(*question.partners) or len(set(slow)) > 1:
            return None
        if all(slow):
            found.append(part)
    return tuple(found)


def in_place_of(
    leaves: Leaves, node: Suspect, question: Question, measured: ByPart, every: Sequence[str]
) -> tuple[Suspect, ...]:
    """Return the slow parts in place of their node; the node itself, with what was seen, where none or all are slow."""
    found = slow_parts(question, measured)
    kind = next(iter(measured)).kind if measured else "rail"
    what = "rail" if kind == "rail" else "GPU path"
    if found is None:
        return (replace(node, reason=f"{node.reason}; which {what} it is could not be told"),)
    if not found:
        return (replace(node, reason=f"{node.reason}; each {what} alone is good: it is what they share"),)
    if len(found) == len(every) > 1:
        return (replace(node, reason=f"{node.reason}; each {what} alone is slow"),)
    return tuple(_of(leaves, node, question, part, measured[part][0]) for part in found)


def _of(leaves: Leaves, node: Suspect, question: Question, part: Part, alone: Measured) -> Suspect:
    name, layout = node.members[0], leaves.layout
    kind: Kind = part.kind
    values = [f"{number(alone.value(name, partner))} with {layout.nodes[partner]}" for partner in question.partners]
    share = max(alone.share(name, partner) for partner in question.partners)
    expected = alone.expected(name, question.partners[0])
    what = "" if part.kind == "rail" else ", from the GPU's memory; each rail alone from host memory is good"
    reason = (
        f"{part.name} of {layout.nodes[name]} alone gives {listing(values)}, where good nodes give {number(expected)} "
        f"{layout.unit} ({percent(share)}){what}"
    )
    return Suspect(kind, node.members, share, expected, reason, part.name, (), node.values)


def _rising(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)
