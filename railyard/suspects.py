"""Who is to blame for a slow pair: which single rails to measure again, and what their values say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from railyard.bounds import PROBE_SLOW_SHARE
from railyard.wording import listing, number

SuspectKind = Literal["rail", "node", "pair", "switch", "stack"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """What may be at fault and why; ``node`` and ``rail`` are None where the kind has none (a switch has no node)."""

    kind: SuspectKind
    node: str | None
    rail: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One measurement to make: this rail alone between two nodes."""

    node_a: str
    node_b: str
    rail: str


@dataclass(frozen=True, slots=True)
class RailProbe:
    """One measurement made: bandwidth of one rail alone in MB/s (10^6 B/s, one way); None where it gave no result."""

    node_a: str
    node_b: str
    rail: str
    value_mb_s: float | None
    expected_mb_s: float

    @property
    def slow(self) -> bool:
        """True where there is no result, or one below the probe bound."""
        return self.value_mb_s is None or self.value_mb_s < PROBE_SLOW_SHARE.value * self.expected_mb_s


@dataclass(frozen=True, slots=True)
class Findings:
    """The suspects, most certain first, and one sentence that sums up; no suspect does not mean no fault."""

    suspects: tuple[Suspect, ...]
    sentence: str


def plan_probes(
    pair: tuple[str, str], other_nodes: Sequence[str], rails: Sequence[str], partners: int = 2
) -> tuple[Probe, ...]:
    """Return the few probes that tell who is slow: each rail alone between the pair and its nodes' other partners.

    For each rail: the pair itself, each node of the pair with the first ``partners`` other nodes, and the partners
    with each other, which tells two slow nodes from a slow switch (6 probes a rail). With fewer than two other nodes
    a rail can be seen slow and nobody be blamed.
    """
    others = [node for node in other_nodes if node not in pair][:partners]
    probes: list[Probe] = []
    for rail in rails:
        probes.append(Probe(pair[0], pair[1], rail))
        probes += [Probe(node, other, rail) for node in pair for other in others]
        probes += [Probe(left, right, rail) for left, right in pairwise(others)]
    return tuple(dict.fromkeys(probes))


def suspects(probes: Iterable[RailProbe]) -> Findings:
    """Return who is to blame, from probes of single rails.

    A (node, rail) is blamed when it is slow with at least two partners that are good with somebody else on that rail,
    and good with nobody. All probes of a rail slow: its switch, or the whole network. Slow between one pair alone:
    the pair. Slow, and none of these: the sentence says that nobody is blamed.
    """
    made = tuple(probes)
    if not made:
        return Findings((), "no rail was measured alone, so nobody is blamed")
    by_rail: dict[str, list[RailProbe]] = {}
    for probe in made:
        by_rail.setdefault(probe.rail, []).append(probe)
    blamed: list[Suspect] = []
    unclear: list[str] = []
    for rail, of_rail in by_rail.items():
        slow = [probe for probe in of_rail if probe.slow]
        found = _of_rail(rail, of_rail, slow)
        blamed += found
        if slow and not found:
            unclear.append(f"{rail} is slow ({listing([_measured(p) for p in slow])})")
    if blamed:
        return Findings(tuple(blamed), "; ".join(suspect.reason for suspect in blamed))
    if unclear:
        return Findings((), f"{'; '.join(unclear)}, but too few good partners were measured to blame a node")
    return Findings((), f"none of {_count(len(made), 'probe')} of single rails was slow: nobody is blamed")


def _of_rail(rail: str, probes: list[RailProbe], slow: list[RailProbe]) -> list[Suspect]:
    at_fault = _nodes_at_fault(probes, slow)
    if at_fault:
        return [Suspect("rail", node, rail, _rail_reason(node, rail, slow)) for node in at_fault]
    if len(slow) == len(probes) and len(probes) >= 3:
        measured = listing([_measured(probe) for probe in slow])
        reason = f"{rail} is slow between all pairs measured ({measured}): its switch or its whole network"
        return [Suspect("switch", None, rail, reason)]
    pairs = {frozenset((probe.node_a, probe.node_b)) for probe in slow}
    if len(pairs) == 1 and _both_good_elsewhere(slow[0], probes):
        reason = f"{rail} is slow only between one pair ({_measured(slow[0])}): the path between them"
        return [Suspect("pair", None, rail, reason)]
    return []


def _nodes_at_fault(probes: list[RailProbe], slow: list[RailProbe]) -> list[str]:
    """Return the nodes slow with two or more partners each of which has a good probe with somebody.

    A node that has a good probe itself is not at fault, whatever its slow ones: its partner is.
    """
    good = {node for probe in probes if not probe.slow for node in (probe.node_a, probe.node_b)}
    partners: dict[str, set[str]] = {}
    for probe in slow:
        partners.setdefault(probe.node_a, set()).add(probe.node_b)
        partners.setdefault(probe.node_b, set()).add(probe.node_a)
    return [node for node, others in partners.items() if node not in good and len(others & good) >= 2]


def _both_good_elsewhere(slow: RailProbe, probes: list[RailProbe]) -> bool:
    good = {node for probe in probes if not probe.slow for node in (probe.node_a, probe.node_b)}
    return slow.node_a in good and slow.node_b in good


def _rail_reason(node: str, rail: str, slow: list[RailProbe]) -> str:
    own = [probe for probe in slow if node in (probe.node_a, probe.node_b)]
    partners = [probe.node_b if probe.node_a == node else probe.node_a for probe in own]
    values = listing([f"{_value(probe)} with {other}" for probe, other in zip(own, partners, strict=True)])
    return f"{rail} of {node} alone is slow with every partner: {values}, expected {number(own[0].expected_mb_s)} MB/s"


def _measured(probe: RailProbe) -> str:
    return f"{probe.node_a}-{probe.node_b} {_value(probe)} of {number(probe.expected_mb_s)} MB/s"


def _value(probe: RailProbe) -> str:
    return "no result" if probe.value_mb_s is None else f"{number(probe.value_mb_s)} MB/s"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
