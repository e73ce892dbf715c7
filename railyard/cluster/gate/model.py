"""What the parts of a gate found, and the one line that they add up to: fit, unfit or undecided."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal

from railyard.base.clean_text import one_line

State = Literal["fit", "unfit", "undecided"]
Part = Literal["links", "slots", "counters", "loopback", "memory", "pair"]

FORMAT = 1
#: 2 is a user's mistake, as in all commands. Only 1 means that the node should be drained.
EXIT_CODES: Mapping[State, int] = MappingProxyType({"fit": 0, "unfit": 1, "undecided": 3})
#: A scheduler shows a node's reason on one line of a table.
_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is certainly wrong with this node: what was found, and what to do about it."""

    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that was not checked, and why not."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Look:
    """What one part of a gate found.

    ``checked``: at least something of this part was looked at. ``doubt``: why the part cannot be decided (disturbed, no
    answer); a doubt neither drains a node nor lets it pass.
    """

    part: Part
    checked: bool = False
    faults: tuple[Fault, ...] = ()
    gaps: tuple[Gap, ...] = ()
    doubt: str | None = None

    @property
    def is_clean(self) -> bool:
        """Whether the part was looked at, and nothing is wrong or in doubt."""
        return self.checked and not self.faults and self.doubt is None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a gate says about a node. ``reason`` is empty if the node is fit."""

    node: str
    state: State
    reason: str = ""
    looks: tuple[Look, ...] = ()

    @property
    def line(self) -> str:
        """Return all of it on one line: what was found, or what was checked and what was not."""
        if self.state != "fit":
            return f"{self.node}: {self.state}: {self.reason}"
        checked = ", ".join(look.part for look in self.looks if look.checked)
        gaps = _gaps(self.looks)
        return f"{self.node}: fit: {checked}{f'; not checked: {gaps}' if gaps else ''}"

    @property
    def details(self) -> tuple[str, ...]:
        """Return a line for each fault with what to do, for each doubt, and for each thing that was not checked."""
        lines = [
            f"fault: {fault.found}{f'; {fault.fix}' if fault.fix else ''}"
            for look in self.looks
            for fault in look.faults
        ]
        lines += [f"undecided: {look.doubt}" for look in self.looks if look.doubt is not None]
        lines += [f"not checked: {gap.what}: {gap.why}" for look in self.looks for gap in look.gaps]
        return tuple(lines)

    def as_json(self) -> dict[str, Any]:
        """Return it as an object for programs."""
        return {
            "format": FORMAT,
            "node": self.node,
            "state": self.state,
            "reason": self.reason,
            "line": self.line,
            "details": list(self.details),
            "parts": [asdict(look) for look in self.looks],
        }


def decide_answer(node: str, looks: Sequence[Look]) -> Answer:
    """Return what the parts say together: one fault makes a node unfit, else one doubt makes it undecided."""
    faults = [fault.found for look in looks for fault in look.faults]
    doubts = [look.doubt for look in looks if look.doubt is not None]
    for state, said in (("unfit", faults), ("undecided", doubts)):
        if said:
            more = f" (+{len(said) - 1} more)" if len(said) > 1 else ""
            return Answer(node, "unfit" if state == "unfit" else "undecided", f"{short(said[0])}{more}", tuple(looks))
    return Answer(node, "fit", "", tuple(looks))


def short(reason: str) -> str:
    """Return a reason on one line, short enough for a scheduler's table."""
    line = one_line(reason)
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 3]}..."


def _gaps(looks: Sequence[Look]) -> str:
    """Return what was not checked, grouped by reason: ``loopback, pair (no --traffic)``."""
    reasons: dict[str, list[str]] = {}
    for look in looks:
        for gap in look.gaps:
            reasons.setdefault(gap.why, []).append(gap.what)
    return ", ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())
