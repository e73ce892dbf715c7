"""Who is to blame: suspects, which single rails to measure again for them, and who loses packets by TCP's counters.

``railyard/verdict/blame/slow_rails.py`` finds who is slow by such measurements.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from railyard.base.wording import percent
from railyard.results.record.form import Evidence, FaultClass, Suspect
from railyard.verdict.path.ports import sends_again
from railyard.verdict.wording import blame as words


@dataclass(frozen=True, slots=True)
class Probe:
    """One measurement to make: this rail alone between two nodes."""

    node_a: str
    node_b: str
    rail: str


@dataclass(frozen=True, slots=True)
class RailProbe:
    """Bandwidth of one rail alone in MB/s (10^6 B/s, one way); None if the probe gave no result.

    ``turn`` is its round, from 1. ``starved`` is the share of the probe's time in which its processes waited for a
    processor, None if unknown. ``size_bytes`` is the size of its messages if they are so small that the rail's delay
    decides and not its rate; None for large ones. ``said`` is what a probe without a result printed first.
    ``never_began``: a bug of the launcher ended its start, also the second one, so it says nothing about a rail.
    """

    node_a: str
    node_b: str
    rail: str
    value_mb_s: float | None
    expected_mb_s: float
    turn: int = 1
    starved: float | None = None
    size_bytes: int | None = None
    said: str | None = None
    never_began: bool = False


@dataclass(frozen=True, slots=True)
class LossProbe:
    """The segments that TCP on both nodes sent over one rail alone, and those it sent again; ``sent`` is above 0."""

    node_a: str
    node_b: str
    rail: str
    resent: int
    sent: int

    @property
    def is_bad(self) -> bool:
        """True if more segments were sent again than the bound allows."""
        return sends_again(self.resent, self.sent)

    @property
    def share_text(self) -> str:
        """``1.0 %``."""
        return percent(self.resent / self.sent)

    @property
    def evidence(self) -> Evidence:
        """The share of segments sent again, in per cent."""
        nodes = tuple(sorted((self.node_a, self.node_b)))
        return Evidence(nodes, self.rail, 100 * self.resent / self.sent, "% sent again", not self.is_bad)

    @property
    def measured_text(self) -> str:
        """``vn1-vn2 1.0 % of segments sent again``."""
        return words.say_resent(f"{self.node_a}-{self.node_b}", self.resent / self.sent)


@dataclass(frozen=True, slots=True)
class Findings:
    """The suspects, most certain first, and one sentence that sums up; no suspect does not mean no fault.

    ``probes`` are the bandwidths of single rails that were measured for it, in the order of time. ``is_clear``: every
    rail was shown to be good alone. ``fault`` and ``look_at`` are only set if they differ from those of a slow rail.
    """

    suspects: tuple[Suspect, ...]
    sentence: str
    probes: tuple[RailProbe, ...] = ()
    is_clear: bool = False
    fault: FaultClass | None = None
    look_at: str | None = None


def plan_probes(
    pair: tuple[str, str], other_nodes: Sequence[str], rails: Sequence[str], partners: int = 2
) -> tuple[Probe, ...]:
    """Return the few probes that show who is slow: each rail alone between the pair and other partners of its nodes.

    For each rail: the pair itself, each node of the pair with the first ``partners`` other nodes, and the partners
    with each other, to distinguish two slow nodes from a slow switch (6 probes per rail). With fewer than two other
    nodes a rail can be found slow, but nobody can be blamed.
    """
    others = [node for node in other_nodes if node not in pair][:partners]
    probes: list[Probe] = []
    for rail in rails:
        probes.append(Probe(pair[0], pair[1], rail))
        probes += [Probe(node, other, rail) for node in pair for other in others]
        probes += [Probe(left, right, rail) for left, right in pairwise(others)]
    return tuple(dict.fromkeys(probes))


def at_fault(bad: Iterable[frozenset[str]], good: Iterable[frozenset[str]]) -> list[str]:
    """Return the nodes that are bad with at least two partners which are good with other nodes.

    A node that is in a good pair is not at fault, whatever its bad pairs: its partner is.
    """
    well = frozenset[str]().union(*good)
    partners: dict[str, set[str]] = {}
    for pair in bad:
        for node in sorted(pair):
            partners.setdefault(node, set()).update(pair - {node})
    return [node for node, others in partners.items() if node not in well and len(others & well) >= 2]


def losers(probes: Iterable[LossProbe], run_nodes: Sequence[str]) -> Findings:
    """Return who loses packets, from probes of single rails.

    A rail of a node is blamed if it is good with nobody, and bad with at least two partners that are good with other
    nodes on that rail. If all probes of a rail are bad, its switch or the whole network is blamed. If only one pair of
    the run's nodes is bad, the pair is blamed. In all other cases the sentence says that nobody is blamed.
    """
    by_rail: dict[str, list[LossProbe]] = {}
    for probe in probes:
        by_rail.setdefault(probe.rail, []).append(probe)
    if not by_rail:
        return Findings((), words.not_measured())
    found = [_of_rail(rail, made, run_nodes) for rail, made in by_rail.items()]
    blamed = tuple(suspect for suspects, _ in found for suspect in suspects)
    said = [sentence for suspects, sentence in found if sentence and (suspects or not blamed)]
    if said:
        return Findings(blamed, "; ".join(said))
    count = sum(len(made) for made in by_rail.values())
    return Findings((), words.none_lost(count))


def _of_rail(rail: str, probes: list[LossProbe], run_nodes: Sequence[str]) -> tuple[list[Suspect], str]:
    """Return who is blamed for lost packets on a rail, and the sentence about it, empty for a clean rail."""
    bad = [probe for probe in probes if probe.is_bad]
    if not bad:
        return [], ""
    measured = [probe.measured_text for probe in bad]
    most = max(bad, key=lambda probe: probe.resent / probe.sent).share_text
    good = {frozenset((probe.node_a, probe.node_b)) for probe in probes if not probe.is_bad}
    pairs = [frozenset((probe.node_a, probe.node_b)) for probe in bad]
    nodes = at_fault(pairs, good)
    if nodes:
        brief = words.brief_loss(most)
        blamed = [
            Suspect("rail", _rail_reason(node, rail, bad), node, rail, brief=brief, evidence=_evidence(probes, node))
            for node in nodes
        ]
        return blamed, "; ".join(suspect.reason for suspect in blamed)
    if not good and len(probes) >= 3:
        reason = words.lossy_network(rail, measured)
        return [Suspect("switch", reason, None, rail, evidence=_evidence(probes))], reason
    if len(set(pairs)) == 1 and pairs[0] <= frozenset[str]().union(*good):
        reason = words.lossy_pair(rail, measured)
        if pairs[0] <= set(run_nodes):
            return [Suspect("pair", reason, None, rail, evidence=_evidence(probes))], reason
        return [], words.unused_pair(reason)
    return [], words.too_few_good(rail, measured)


def _evidence(probes: Sequence[LossProbe], node: str = "") -> tuple[Evidence, ...]:
    """Return what was measured, the losses first: of all pairs, or without the losses of other nodes."""
    shown = [probe for probe in probes if not probe.is_bad or not node or node in (probe.node_a, probe.node_b)]
    return tuple(probe.evidence for probe in sorted(shown, key=lambda probe: not probe.is_bad))


def _rail_reason(node: str, rail: str, bad: list[LossProbe]) -> str:
    own = [probe for probe in bad if node in (probe.node_a, probe.node_b)]
    partners = [probe.node_b if probe.node_a == node else probe.node_a for probe in own]
    values = [words.with_partner(probe.share_text, other) for probe, other in zip(own, partners, strict=True)]
    return words.lossy_rail(rail, node, values)
