"""How a node's bytes were spread over its meant rails, against what the rail policy says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from railyard.base.bounds import (
    COLLECTIVE_SHARE,
    IDLE_SHARE,
    LEAST_SPLIT_BYTES,
    ROUND_ROBIN_POINTS,
    SPLIT_POINTS,
    JudgingBound,
)
from railyard.base.wording import listing, percent, traffic
from railyard.results.record.form import Suspect

Policy = Literal["single", "striping", "round-robin", "nic-per-rank"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that keeps a path from being proven, its sentence, and who may be to blame.

    ``idle``: a rail was not used at all.
    """

    state: Literal["failed", "not-proven"]
    sentence: str
    fault: Literal["fabric", "set-up", "not-proven"]
    look_at: str
    suspects: tuple[Suspect, ...] = ()
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """What the meant rails of one node carried one way: bytes a rail, the rails' rates, and the payload due.

    ``split_bytes`` is the part of ``payload_bytes`` in messages that the policy spreads. ``way`` is "sent" or
    "received".
    """

    node: str
    way: str
    carried: Mapping[str, int]
    rates: Mapping[str, float]
    payload_bytes: int
    split_bytes: int

    @property
    def whole(self) -> int:
        return sum(self.carried.values())

    def on(self, rail: str) -> int:
        return self.carried.get(rail, 0)


@dataclass(frozen=True, slots=True)
class ShareRange:
    """What a rail's share of the spread messages may have been: the small messages may have gone over any rail."""

    low: float
    high: float


def share_range(rail_bytes: int, all_bytes: int, payload_bytes: int, split_bytes: int) -> ShareRange:
    """Return the range of a rail's share of the messages that the policy spreads.

    Headers and warm-ups belong to small and spread messages in proportion to their payload; which rails the small
    ones took is not known, so all of them or none may be among ``rail_bytes``.
    """
    small = all_bytes * (1 - split_bytes / payload_bytes)
    spread = all_bytes - small
    return ShareRange(max(0.0, (rail_bytes - small) / spread), min(1.0, rail_bytes / spread))


def split_finding(spread: Spread, policy: Policy, pairs: int, collective: bool) -> Finding | None:
    """Return what is wrong with the spread of one node and way, None where nothing is or any spread is right.

    Any spread is right on one rail, and where too few bytes moved in messages that the policy spreads. ``pairs`` is
    the number of pairs of ranks between two nodes.
    """
    rails = list(spread.rates)
    if len(rails) < 2 or spread.split_bytes < LEAST_SPLIT_BYTES.value:
        return None
    if policy == "single":
        look = "the system's rails and the check's rail count"
        return Finding("failed", f"policy single was asked for with {listing(rails)}", "set-up", look)
    if policy == "nic-per-rank" and pairs < len(rails):
        sentence = (
            f"path not proven: with a NIC per rank {pairs} pair of ranks cannot use {len(rails)} rails, "
            "so this benchmark says nothing about them"
        )
        look = "a benchmark with at least one pair a rail (osu_mbw_mr, IMB's Uniband)"
        return Finding("not-proven", sentence, "not-proven", look)
    return _collective(spread) if collective else _against_rates(spread, policy)


def had_their_due(spread: Spread, policy: Policy) -> bool:
    """Return whether each rail carried at least its due of the messages that the policy spreads, whatever else it did.

    Where it did, bytes that are not the run's may explain why the rails' shares are uneven.
    """
    points = _points(policy)
    due = {rail: (_due(spread, rail, policy) - points.value) * spread.split_bytes for rail in spread.rates}
    return all(spread.on(rail) >= least for rail, least in due.items())


def _points(policy: Policy) -> JudgingBound:
    return ROUND_ROBIN_POINTS if policy == "round-robin" else SPLIT_POINTS


def _due(spread: Spread, rail: str, policy: Policy) -> float:
    """Return a rail's share of the spread messages: ranks on their own NICs, and messages in turn, share evenly."""
    return spread.rates[rail] / sum(spread.rates.values()) if policy == "striping" else 1 / len(spread.rates)


def _collective(spread: Spread) -> Finding | None:
    unused = [rail for rail in spread.rates if spread.on(rail) < COLLECTIVE_SHARE.value * spread.whole]
    return _idle(spread, unused, COLLECTIVE_SHARE) if unused else None


def _against_rates(spread: Spread, policy: Policy) -> Finding | None:
    points = _points(policy)
    wrong: dict[str, float] = {}
    idle: list[str] = []
    for rail in spread.rates:
        due = _due(spread, rail, policy)
        found = share_range(spread.on(rail), spread.whole, spread.payload_bytes, spread.split_bytes)
        if found.high < IDLE_SHARE.value * due:
            idle.append(rail)
        elif found.high < due - points.value or found.low > due + points.value:
            wrong[rail] = due
    if idle:
        return _idle(spread, idle, IDLE_SHARE)
    return _uneven(spread, wrong, points) if wrong else None


def _idle(spread: Spread, idle: list[str], bound: JudgingBound) -> Finding:
    node, way, whole = spread.node, spread.way, traffic(spread.whole)
    said = [f"rail {rail} of {node} {way} {traffic(spread.on(rail))} of {whole}" for rail in idle]
    which = "idle second rail" if len(spread.rates) == 2 else "idle rail"
    sentence = f"{'; '.join(said)}: {which} (bound {percent(bound.value)} {bound.unit}, {bound.name})"
    suspects = tuple(Suspect("rail", f"idle: {text}", node, rail) for rail, text in zip(idle, said, strict=True))
    look = f"how the stack is told its devices and rails; whether {listing(idle)} of {node} reaches the other nodes"
    return Finding("failed", sentence, "set-up", look, suspects, idle=True)


def _uneven(spread: Spread, wrong: Mapping[str, float], bound: JudgingBound) -> Finding:
    node, way, whole = spread.node, spread.way, spread.whole
    said = [
        f"rail {rail} of {node} {way} {percent(spread.on(rail) / whole)} of {traffic(whole)}, due {percent(due)}"
        for rail, due in wrong.items()
    ]
    sentence = f"uneven split: {'; '.join(said)} (bound {100 * bound.value:g} points, {bound.name})"
    short = [rail for rail, due in wrong.items() if spread.on(rail) / whole < due]
    suspects = tuple(Suspect("rail", "carried less than its rate's share", node, rail) for rail in short)
    look = f"rate and errors of {listing(short or list(wrong))} on {node}, then the stack's weights of its rails"
    return Finding("failed", sentence, "fabric", look, suspects)
