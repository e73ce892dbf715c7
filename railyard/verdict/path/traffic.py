"""What a run should move over which rails, what a node's counters show of it, and whether the split is right.

A path proof is written in these terms. The split is how a node's bytes were spread over its intended rails; it is
compared with what the rail policy says.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from railyard.base.bounds import (
    ACKNOWLEDGED,
    COLLECTIVE_SHARE,
    IDLE_SHARE,
    ROUND_ROBIN_POINTS,
    SPLIT_POINTS,
    WIRE_UP,
    WIRE_UP_RAIL,
    JudgingBound,
)
from railyard.job.counters.node import DeviceCounters, NodeCounters
from railyard.results.record.form import RailTraffic, Suspect
from railyard.verdict.wording import split as words
from railyard.verdict.wording.path import Way

WAYS: tuple[Way, ...] = ("sent", "received")

#: Why a rail is a suspect if only its share speaks against it.
SHORT = words.short()

#: Of fewer bytes, what the start of a job moves over one rail is more than 2 of the 5 points that a split may be off.
LEAST_SPLIT_BYTES = round(WIRE_UP_RAIL.value / 0.02)

Policy = Literal["single", "striping", "round-robin", "nic-per-rank"]


@dataclass(frozen=True, slots=True)
class NodeTraffic:
    """The least that one node moved to and from other nodes: payload bytes, from the printed repetitions.

    ``…_split_bytes`` is the part in messages that the policy spreads over the rails: with striping, those at or above
    its threshold; with round robin or a NIC per rank, all. ``most_…_bytes`` is the most that each way may have moved,
    including warm-ups and the overhead of each message (``message-overhead``); None if warm-ups are not known.
    """

    sent_bytes: int
    received_bytes: int
    sent_split_bytes: int = 0
    received_split_bytes: int = 0
    most_sent_bytes: int | None = None
    most_received_bytes: int | None = None

    def mirror(self) -> "NodeTraffic":
        """Return what the other node of a pair moved."""
        return NodeTraffic(
            *(self.received_bytes, self.sent_bytes, self.received_split_bytes, self.sent_split_bytes),
            *(self.most_received_bytes, self.most_sent_bytes),
        )

    def payload(self, way: Way) -> int:
        return self.sent_bytes if way == "sent" else self.received_bytes

    def most(self, way: Way) -> int | None:
        return self.most_sent_bytes if way == "sent" else self.most_received_bytes

    def split(self, way: Way) -> int:
        return self.sent_split_bytes if way == "sent" else self.received_split_bytes


def add_traffic(parts: Sequence[NodeTraffic]) -> NodeTraffic:
    """Return the sum; the most of a way is not known where that of one part is not."""
    return NodeTraffic(
        sum(part.sent_bytes for part in parts),
        sum(part.received_bytes for part in parts),
        sum(part.sent_split_bytes for part in parts),
        sum(part.received_split_bytes for part in parts),
        _all_of([part.most_sent_bytes for part in parts]),
        _all_of([part.most_received_bytes for part in parts]),
    )


def _all_of(parts: Sequence[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if parts and len(known) == len(parts) else None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run should do.

    ``rails``: the intended rails of a node with their rates (in any one unit; only the ratios count). ``traffic``: one
    value for each node that must be proven. ``pairs``: pairs of ranks between two nodes. ``collective``: the bytes are
    lower bounds of an unknown algorithm, so no split is compared with the rates. ``exclusive``: no other job uses the
    nodes. ``error_bounds``: by how much a counter of errors may grow, if the system's file says so. ``bonded``: how
    many ports are bonded to each intended rail (LAG) by the system's file. ``unknown``: why it is not known how many
    bytes the run should move; None if it is known, or if there is a lower bound. ``cabled``: all rails of the fabric.
    """

    rails: Mapping[str, float]
    policy: Policy
    traffic: Mapping[str, NodeTraffic]
    pairs: int = 1
    collective: bool = False
    exclusive: bool = True
    error_bounds: Mapping[str, int] = field(default_factory=dict)
    bonded: Mapping[str, int] = field(default_factory=dict)
    unknown: str | None = None
    cabled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that keeps a path from being proven, its sentence, and who may be to blame.

    ``idle``: a rail was not used at all. ``uneven``: the shares of the rails do not match their rates. ``is_link``: a
    link was lost, or flapped. ``crossed``: two rails whose cables are swapped on one of the run's two nodes.
    """

    state: Literal["failed", "not-proven"]
    sentence: str
    fault: Literal["fabric", "set-up", "not-proven"]
    look_at: str
    suspects: tuple[Suspect, ...] = ()
    idle: bool = False
    uneven: bool = False
    is_link: bool = False
    crossed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """What the intended rails of one node carried one way: bytes per rail, the rails' rates, and the payload due.

    ``split_bytes`` is the part of ``payload_bytes`` in messages that the policy spreads. ``way`` is "sent" or
    "received".
    """

    node: str
    way: Way
    carried: Mapping[str, int]
    rates: Mapping[str, float]
    payload_bytes: int
    split_bytes: int

    @property
    def total(self) -> int:
        return sum(self.carried.values())

    def bytes_on(self, rail: str) -> int:
        return self.carried.get(rail, 0)


@dataclass(frozen=True, slots=True)
class ShareRange:
    """The possible range of a rail's share of the spread messages: the small messages may have gone over any rail."""

    low: float
    high: float


def meant_bytes(reading: NodeCounters, plan: Plan, way: Way) -> dict[str, int]:
    """Return what each intended rail of a node moved one way."""
    return {d.device: _delta(d, way) for d in reading.devices if d.device in plan.rails}


def unmeant_bytes(reading: NodeCounters, plan: Plan, way: Way) -> dict[str, int]:
    """Return what each other device of a node moved one way.

    Software RDMA is left out: it counts packets, and its network interface counts their bytes too.
    """
    others = (d for d in reading.devices if d.device not in plan.rails and d.packet_bytes is None)
    return {d.device: _delta(d, way) for d in others}


def exchanged_bytes(sent: int, received: int) -> int:
    """Return the bytes that some nodes may have sent to one another, of all that they sent and received.

    Whatever one of them sends to another is sent and received. What only goes one way, beside its acknowledgements,
    comes from elsewhere or goes there: a file system, a log.
    """
    less, more = sorted((sent, received))
    return less if less > ACKNOWLEDGED.value * more else 0


def wire_up_bytes(plan: Plan) -> float:
    """Return what the start of a run may move between all of its nodes."""
    return WIRE_UP.value * len(plan.traffic)


def rail_bytes(reading: NodeCounters, meant: Collection[str]) -> tuple[RailTraffic, ...]:
    """Return what each device of a node moved, for the record, which computes shares of the intended ones."""
    return tuple(
        RailTraffic(each.device, each.device in meant, each.tx.delta_bytes, each.rx.delta_bytes)
        for each in reading.devices
    )


def in_packets(reading: NodeCounters, plan: Plan) -> DeviceCounters | None:
    """Return the first intended rail that counts packets: its bytes are at most packets times the path MTU. None if all
    count bytes.
    """
    return next((d for d in reading.devices if d.device in plan.rails and d.packet_bytes is not None), None)


def share_range(rail_bytes: int, all_bytes: int, payload_bytes: int, split_bytes: int) -> ShareRange:
    """Return the range of a rail's share of the messages that the policy spreads.

    Headers and warm-ups are shared between small and spread messages in proportion to their payload. It is not known
    which rails the small ones took, so ``rail_bytes`` may include all of them or none.
    """
    small = all_bytes * (1 - split_bytes / payload_bytes)
    spread = all_bytes - small
    return ShareRange(max(0.0, (rail_bytes - small) / spread), min(1.0, rail_bytes / spread))


def split_finding(spread: Spread, policy: Policy, pairs: int, collective: bool) -> Finding | None:
    """Return what is wrong with the spread of one node and way; None if nothing is, or if any spread is right.

    Any spread is right on one rail, and if too few bytes moved in messages that the policy spreads. ``pairs`` is the
    number of pairs of ranks between two nodes.
    """
    rails = list(spread.rates)
    if len(rails) < 2 or not spread.split_bytes:
        return None
    if policy == "single":
        sentence = words.one_rail_by_policy(rails)
        return Finding("failed", sentence, "set-up", words.look_at_rail_count())
    if policy == "nic-per-rank" and pairs < len(rails):
        sentence = words.too_few_pairs(pairs, len(rails))
        return Finding("not-proven", sentence, "not-proven", words.look_at_pairs())
    if spread.split_bytes < LEAST_SPLIT_BYTES:
        return _too_little(spread)
    return _collective(spread) if collective else _against_rates(spread, policy)


def _too_little(spread: Spread) -> Finding:
    rails = list(spread.rates)
    sentence = words.too_little_split(spread.node, spread.way, spread.split_bytes, rails, LEAST_SPLIT_BYTES)
    return Finding("not-proven", sentence, "not-proven", words.look_at_repetitions())


def short_at_both_ends(suspects: Sequence[Suspect]) -> list[Suspect]:
    """Return the suspects; if both ends of a rail are suspects only for its share, the two become one pair.

    What one end did not send, the other did not receive: nobody can say which end is slow, or whether it is the path
    between.
    """
    ends: dict[str | None, dict[str, None]] = {}
    for one in suspects:
        if one.reason == SHORT and one.node is not None:
            ends.setdefault(one.rail, {})[one.node] = None
    found = []
    for one in suspects:
        nodes = ends.get(one.rail, {}) if one.reason == SHORT else {}
        brief = words.brief_short_pair(str(one.rail))
        found.append(Suspect("pair", SHORT, "-".join(nodes), one.rail, brief=brief) if len(nodes) == 2 else one)
    return found


def had_their_due(spread: Spread, policy: Policy) -> bool:
    """Return whether each rail carried at least its due of the messages that the policy spreads, whatever else it
    carried.

    If so, bytes that are not the run's may explain why the rails' shares are uneven.
    """
    points = _points(policy)
    due = {rail: (_due(spread, rail, policy) - points.value) * spread.split_bytes for rail in spread.rates}
    return all(spread.bytes_on(rail) >= least for rail, least in due.items())


def _delta(device: DeviceCounters, way: Way) -> int:
    return (device.tx if way == "sent" else device.rx).delta_bytes or 0


def _points(policy: Policy) -> JudgingBound:
    return ROUND_ROBIN_POINTS if policy == "round-robin" else SPLIT_POINTS


def _due(spread: Spread, rail: str, policy: Policy) -> float:
    """Return a rail's due share of the spread messages: a NIC per rank, and round robin, share evenly."""
    return spread.rates[rail] / sum(spread.rates.values()) if policy == "striping" else 1 / len(spread.rates)


def _collective(spread: Spread) -> Finding | None:
    unused = [rail for rail in spread.rates if spread.bytes_on(rail) < COLLECTIVE_SHARE.value * spread.total]
    return _idle(spread, unused, COLLECTIVE_SHARE) if unused else None


def _against_rates(spread: Spread, policy: Policy) -> Finding | None:
    points = _points(policy)
    wrong: dict[str, float] = {}
    idle: list[str] = []
    for rail in spread.rates:
        due = _due(spread, rail, policy)
        found = share_range(spread.bytes_on(rail), spread.total, spread.payload_bytes, spread.split_bytes)
        if found.high < IDLE_SHARE.value * due:
            idle.append(rail)
        elif found.high < due - points.value or found.low > due + points.value:
            wrong[rail] = due
    if idle:
        return _idle(spread, idle, IDLE_SHARE)
    return _uneven(spread, wrong, points) if wrong else None


def _idle(spread: Spread, idle: list[str], bound: JudgingBound) -> Finding:
    node, way, whole = spread.node, spread.way, spread.total
    said = [words.idle_part(rail, node, way, spread.bytes_on(rail), whole) for rail in idle]
    sentence = words.idle(said, len(spread.rates), bound.value, bound.unit, bound.name)
    suspects = tuple(
        Suspect("rail", words.idle_reason(text), node, rail, brief=words.brief_idle(way, spread.bytes_on(rail), whole))
        for rail, text in zip(idle, said, strict=True)
    )
    return Finding("failed", sentence, "set-up", words.look_at_settings(idle, node), suspects, idle=True)


def _uneven(spread: Spread, wrong: Mapping[str, float], bound: JudgingBound) -> Finding:
    node, way, whole = spread.node, spread.way, spread.total
    said = [
        words.uneven_part(rail, node, way, spread.bytes_on(rail) / whole, whole, due) for rail, due in wrong.items()
    ]
    short = [rail for rail, due in wrong.items() if spread.bytes_on(rail) / whole < due]
    suspects = tuple(
        Suspect("rail", SHORT, node, rail, brief=words.brief_short(way, spread.bytes_on(rail) / whole, wrong[rail]))
        for rail in short
    )
    look = words.look_at_rates(short or list(wrong), node)
    return Finding("failed", words.uneven(said, bound.value, bound.name), "fabric", look, suspects, uneven=True)
