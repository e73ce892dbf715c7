"""Who is to blame for a slow or lossy pair: which single rails to measure again, and what was measured says."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from railyard.bounds import PROBE_SLOW_SHARE, RESENT_LEAST, RESENT_SHARE
from railyard.wording import listing, number, percent

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
class Made:
    """One measurement made of one rail alone between two nodes: good or bad, and its words in a sentence.

    ``does`` and ``did`` say what a bad one does.
    """

    does: ClassVar[str]
    did: ClassVar[str]

    node_a: str
    node_b: str
    rail: str

    @property
    def is_bad(self) -> bool:
        """Whether it is beyond its bound."""
        raise NotImplementedError

    @property
    def shown(self) -> str:
        """What was measured: ``4.700 MB/s``."""
        raise NotImplementedError

    @property
    def against(self) -> str:
        """What stands behind all that was measured: ``, expected 47.85 MB/s``."""
        raise NotImplementedError

    @property
    def measured(self) -> str:
        """This one with its nodes: ``vn1-vn2 4.700 MB/s of 47.85 MB/s``."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RailProbe(Made):
    """Bandwidth of one rail alone in MB/s (10^6 B/s, one way); None where it gave no result."""

    does: ClassVar[str] = "is slow"
    did: ClassVar[str] = "was slow"

    value_mb_s: float | None
    expected_mb_s: float

    @property
    def is_bad(self) -> bool:
        """True where there is no result, or one below the probe bound."""
        return self.value_mb_s is None or self.value_mb_s < PROBE_SLOW_SHARE.value * self.expected_mb_s

    @property
    def shown(self) -> str:
        """``4.700 MB/s``, ``no result``."""
        return "no result" if self.value_mb_s is None else f"{number(self.value_mb_s)} MB/s"

    @property
    def against(self) -> str:
        """``, expected 47.85 MB/s``."""
        return f", expected {number(self.expected_mb_s)} MB/s"

    @property
    def measured(self) -> str:
        """``vn1-vn2 4.700 MB/s of 47.85 MB/s``."""
        return f"{self.node_a}-{self.node_b} {self.shown} of {number(self.expected_mb_s)} MB/s"


@dataclass(frozen=True, slots=True)
class LossProbe(Made):
    """What TCP of both nodes sent, and sent again, in segments; ``sent`` is above 0."""

    does: ClassVar[str] = "loses packets"
    did: ClassVar[str] = "lost packets"

    resent: int
    sent: int

    @property
    def is_bad(self) -> bool:
        """True where more was sent again than the bound allows."""
        return sends_again(self.resent, self.sent)

    @property
    def shown(self) -> str:
        """``1.0 %``."""
        return percent(self.resent / self.sent)

    @property
    def against(self) -> str:
        """`` of segments sent again, bound 0.1 % (resent-share)``."""
        return f" of segments sent again, bound {percent(RESENT_SHARE.value)} ({RESENT_SHARE.name})"

    @property
    def measured(self) -> str:
        """``vn1-vn2 1.0 % of segments sent again``."""
        return f"{self.node_a}-{self.node_b} {self.shown} of segments sent again"


def sends_again(resent: int | None, sent: int | None) -> bool:
    """Return whether TCP sent more segments again than a healthy path makes it; False where that was not read.

    And where too few were sent to tell: a node that only acknowledges may send two of a thousand again.
    """
    if resent is None or sent is None or sent < RESENT_LEAST.value:
        return False
    return resent > RESENT_SHARE.value * sent


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


def suspects(probes: Iterable[Made]) -> Findings:
    """Return who is to blame, from probes of single rails: for being slow, or for losing packets.

    A (node, rail) is blamed when it is bad with at least two partners that are good with somebody else on that rail,
    and good with nobody. All probes of a rail bad: its switch, or the whole network. Bad between one pair alone:
    the pair. Bad, and none of these: the sentence says that nobody is blamed.
    """
    made = tuple(probes)
    if not made:
        return Findings((), "no rail was measured alone, so nobody is blamed")
    by_rail: dict[str, list[Made]] = {}
    for probe in made:
        by_rail.setdefault(probe.rail, []).append(probe)
    blamed: list[Suspect] = []
    unclear: list[str] = []
    for rail, of_rail in by_rail.items():
        bad = [probe for probe in of_rail if probe.is_bad]
        found = _of_rail(rail, of_rail, bad)
        blamed += found
        if bad and not found:
            unclear.append(f"{rail} {bad[0].does} ({listing([p.measured for p in bad])})")
    if blamed:
        return Findings(tuple(blamed), "; ".join(suspect.reason for suspect in blamed))
    if unclear:
        return Findings((), f"{'; '.join(unclear)}, but too few good partners were measured to blame a node")
    return Findings((), f"none of {_count(len(made), 'probe')} of single rails {made[0].did}: nobody is blamed")


def _of_rail(rail: str, probes: list[Made], bad: list[Made]) -> list[Suspect]:
    at_fault = _nodes_at_fault(probes, bad)
    if at_fault:
        return [Suspect("rail", node, rail, _rail_reason(node, rail, bad)) for node in at_fault]
    if len(bad) == len(probes) and len(probes) >= 3:
        measured = listing([probe.measured for probe in bad])
        reason = f"{rail} {bad[0].does} between all pairs measured ({measured}): its switch or its whole network"
        return [Suspect("switch", None, rail, reason)]
    pairs = {frozenset((probe.node_a, probe.node_b)) for probe in bad}
    if len(pairs) == 1 and _both_good_elsewhere(bad[0], probes):
        reason = f"{rail} {bad[0].does} only between one pair ({bad[0].measured}): the path between them"
        return [Suspect("pair", None, rail, reason)]
    return []


def _nodes_at_fault(probes: list[Made], bad: list[Made]) -> list[str]:
    """Return the nodes bad with two or more partners each of which has a good probe with somebody.

    A node that has a good probe itself is not at fault, whatever its bad ones: its partner is.
    """
    good = {node for probe in probes if not probe.is_bad for node in (probe.node_a, probe.node_b)}
    partners: dict[str, set[str]] = {}
    for probe in bad:
        partners.setdefault(probe.node_a, set()).add(probe.node_b)
        partners.setdefault(probe.node_b, set()).add(probe.node_a)
    return [node for node, others in partners.items() if node not in good and len(others & good) >= 2]


def _both_good_elsewhere(bad: Made, probes: list[Made]) -> bool:
    good = {node for probe in probes if not probe.is_bad for node in (probe.node_a, probe.node_b)}
    return bad.node_a in good and bad.node_b in good


def _rail_reason(node: str, rail: str, bad: list[Made]) -> str:
    own = [probe for probe in bad if node in (probe.node_a, probe.node_b)]
    partners = [probe.node_b if probe.node_a == node else probe.node_a for probe in own]
    values = listing([f"{probe.shown} with {other}" for probe, other in zip(own, partners, strict=True)])
    return f"{rail} of {node} alone {own[0].does} with every partner: {values}{own[0].against}"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
