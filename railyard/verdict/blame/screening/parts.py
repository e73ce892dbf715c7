"""Which part of a named node is slow: each rail alone between it and good partners, then each GPU's path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.base.wording import listing, number, percent
from railyard.verdict.blame.screening.leaves import Leaves
from railyard.verdict.blame.screening.model import Kind, Suspect
from railyard.verdict.blame.search.model import Pair, Part
from railyard.verdict.blame.search.single_pairs import Question, SinglePairs

#: What one rail alone gave, for each of them.
ByPart = Mapping[Part, tuple[SinglePairs, Mapping[Pair, Sequence[float]]]]


@dataclass(frozen=True, slots=True)
class PartAnswers:
    """The parts of a node that are slow with both partners, good with both, and those that are undecided."""

    slow: tuple[Part, ...]
    good: tuple[Part, ...]
    untold: tuple[Part, ...]


def read_parts(question: Question, measured: ByPart) -> PartAnswers:
    """Return what each part of a node showed alone; the partners must be good with one another over it."""
    found: dict[str, list[Part]] = {"slow": [], "good": [], "untold": []}
    for part, (alone, values) in measured.items():
        found[_state(question, alone, values)].append(part)
    return PartAnswers(tuple(found["slow"]), tuple(found["good"]), tuple(found["untold"]))


def in_place_of(
    leaves: Leaves, node: Suspect, question: Question, measured: ByPart, every: Sequence[str]
) -> tuple[Suspect, ...]:
    """Return the slow parts instead of their node; the node itself, with what was seen, if none or most are slow.

    If most parts are slow, what they share is at fault, and the measurement may have missed it in one of them.
    """
    found = read_parts(question, measured)
    kind = next(iter(measured)).kind if measured else "rail"
    what = "rail" if kind == "rail" else "GPU path"
    open_ = len(found.slow) + len(found.untold)
    if found.untold and len(found.good) < open_:
        return (replace(node, reason=f"{node.reason}; it is undecided which {what} it is"),)
    if not found.slow:
        why = f"no {what} alone is slow" if found.untold else f"each {what} alone is good"
        return (replace(node, reason=f"{node.reason}; {why}"),)
    if kind == "rail" and len(every) == 1:
        return (replace(node, reason=f"{node.reason}; {every[0]} from host memory is also slow"),)
    if 2 * len(found.slow) > len(every) > 1:
        slow = "each" if len(found.slow) == len(every) else f"{len(found.slow)} of {len(every)}"
        return (replace(node, reason=f"{node.reason}; {slow} {what} alone is slow"),)
    return tuple(_of(leaves, node, question, part, measured[part][0]) for part in found.slow)


def _state(question: Question, alone: SinglePairs, values: Mapping[Pair, Sequence[float]]) -> str:
    node = question.members[0]
    if len(question.partners) < 2 or any(pair not in values for pair in question.pairs()):
        return "untold"
    slow = {alone.slow(node, partner) for partner in question.partners}
    if len(slow) > 1 or alone.slow(*question.partners):
        return "untold"
    return "slow" if slow.pop() else "good"


def _of(leaves: Leaves, node: Suspect, question: Question, part: Part, alone: SinglePairs) -> Suspect:
    name, layout = node.members[0], leaves.layout
    kind: Kind = part.kind
    values = [f"{number(alone.value(name, partner))} with {layout.nodes[partner]}" for partner in question.partners]
    share = max(alone.share(name, partner) for partner in question.partners)
    expected = alone.expected_mb_s(name, question.partners[0])
    what = "" if part.kind == "rail" else ", from the GPU's memory; each rail alone from host memory is good"
    reason = (
        f"{part.name} of {layout.nodes[name]} alone gives {listing(values)}; good nodes give {number(expected)} "
        f"{layout.unit} ({percent(share)}){what}"
    )
    return Suspect(kind, node.members, share, expected, reason, part.name, (), node.values)
