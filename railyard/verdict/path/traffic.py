"""What a run should move over which rails, what a node's counters show of it, and whether the split is right.

A path proof is written in these terms. The split is how a node's bytes were spread over its intended rails; it is
compared with what the rail policy says.

Whether the printed figures of a run fit the time in which its rails carried its bytes.

An output says how many bytes it moved at each size, and how fast. The counters say when they passed. Both are compared
between a tenth and nine tenths of the bytes, which are messages of the largest sizes: that leaves out the start of the
job, small messages, and its end. An output of another run, a clock that jumps, or a benchmark that counts wrong says
another time than the counters.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from railyard.base.bounds import (
    ACKNOWLEDGED,
    COLLECTIVE_SHARE,
    IDLE_SHARE,
    PACE_FACTOR,
    PACE_LEAST,
    ROUND_ROBIN_POINTS,
    SPLIT_POINTS,
    WIRE_UP,
    WIRE_UP_RAIL,
    JudgingBound,
)
from railyard.benchmarks import metrics
from railyard.benchmarks.model import BANDWIDTH
from railyard.benchmarks.moved_bytes import moved_bytes, pairs_of, repetitions_of
from railyard.benchmarks.table.micro import find, tool
from railyard.job.counters import DeviceCounters, NodeCounters
from railyard.parsers.output import Table
from railyard.results.record.form import RailTraffic, Suspect
from railyard.verdict.wording import path as words
from railyard.verdict.wording.path import Way

if TYPE_CHECKING:
    from railyard.job.case import Case
    from railyard.provision.testbed.starvation import Reading

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

    def most_bytes(self, way: Way) -> int | None:
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
        _sum_known([part.most_sent_bytes for part in parts]),
        _sum_known([part.most_received_bytes for part in parts]),
    )


def _sum_known(parts: Sequence[int | None]) -> int | None:
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
    return Finding("not-proven", sentence, "not-proven", words.look_at_more_repetitions())


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


#: Between these shares of the bytes the times are compared.
_FIRST, _LAST = 0.1, 0.9
#: A library may send both directions at once, or one after the other (MPICH over UCX did so in 4 of 20 windows). So the
#: time of one window is none of another, and with that many untimed ones among them nothing is known.
_FEW_WARM_UPS = 1.5


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """The bytes of one printed row, both ways together, and how long they took by the figure that it prints."""

    moved_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class OtherPace:
    """That figures and counters say different times: the sentence, and whether the figures say the shorter one."""

    sentence: str
    is_too_fast: bool


def printed_rows(case: "Case", tables: Sequence[Table]) -> tuple[PrintedRow, ...]:
    """Return the rows of an output in their order, with warm-ups; none if bytes or rates do not follow from it.

    Bytes over the rate are the time: a ping-pong's rate is of one message at a time, and a rate of both directions
    counts the bytes of both, but that of IMB's PingPing only those of one. A row whose rate is printed as 0 for lack of
    digits is left out. A benchmark that checks what it received does so between its timed messages, so its figures say
    nothing about the whole time.
    """
    benchmark = find(case.benchmark)
    # The trials that are not printed may differ by their nature.
    is_unknown = is_best_of_trials(case.benchmark) and _is_both_ways(case.benchmark)
    if benchmark.traffic is None or is_unknown or benchmark.rows != "sizes" or case.node_pairs != 1 or case.validates:
        return ()
    return tuple(row for table in tables for row in _rows_of(case, table))


def _rows_of(case: "Case", table: Table) -> list[PrintedRow]:
    key = case.benchmark
    counts = repetitions_of(table, case.repetitions)
    rates = {
        size: rate
        for curve in metrics.curves(table, key)
        if curve.metric == BANDWIDTH
        for size, rate in zip(curve.sizes, curve.values, strict=True)
    }
    if counts is None or "size" not in table.columns:
        return []
    both_ways = _is_both_ways(key)
    rows = []
    for size, count in zip(table.column("size"), counts, strict=True):
        rate = rates.get(size) if isinstance(size, int) else None
        warm_up = None if case.repetitions is None else case.repetitions.of_size(size).warm_up
        made = tool(find(key).tool).at_least(count, warm_up, table.version)
        if both_ways and made > _FEW_WARM_UPS * count:
            return []
        moved = moved_bytes(key, size, made, case.window, pairs_of(table, key)) if isinstance(size, int) else None
        if rate and moved is not None:
            both = moved.tx + moved.rx
            rows.append(PrintedRow(both, both * _counted_share(key) / rate / 1e6))
    return rows


def is_best_of_trials(key: str) -> bool:
    """Return whether a benchmark prints the best of several trials, whose others the counters see as well."""
    traffic = find(key).traffic
    return traffic is not None and traffic.trials > 1


def _is_both_ways(key: str) -> bool:
    turn = find(key).turn
    return any(each.directions == 2 for each in find(key).metrics) or (turn is not None and turn.both_ways)


def _counted_share(key: str) -> float:
    """Return which share of the bytes a printed rate counts: half, if two messages pass at once and it counts one."""
    turn = find(key).turn
    return turn.counted / (2 * turn.sends) if turn is not None and turn.both_ways else 1.0


def readings_of_run(
    readings: "Mapping[str, Sequence[Reading]]", counters: "Mapping[str, NodeCounters]", rails: Sequence[str]
) -> "dict[str, list[Reading]]":
    """Return each node's readings from the begin of the run to its end, by its counters of the rails before and after.

    A job may measure each rail alone after the run, so a node's readings may go on. Where its counters are not known,
    all of its readings are returned.
    """
    found = {}
    for node, all_readings in readings.items():
        span = _span_bytes(counters.get(node), rails)
        inside = (each for each in all_readings if span is None or span[0] <= _moved_bytes(each, rails) <= span[1])
        found[node] = list(inside)
    return found


def _span_bytes(counters: "NodeCounters | None", rails: Sequence[str]) -> tuple[int, int] | None:
    """Return what the rails had moved before the run and after it, both ways together; None if not known."""
    devices = [] if counters is None else [one for one in counters.devices if one.device in rails]
    ways = [way for one in devices for way in (one.tx, one.rx)]
    before = [way.before_bytes for way in ways if way.before_bytes is not None]
    after = [way.after_bytes for way in ways if way.after_bytes is not None]
    is_known = len(devices) == len(rails) and len(before) == len(after) == len(ways)
    return (sum(before), sum(after)) if is_known else None


def _moved_bytes(reading: "Reading", rails: Sequence[str]) -> int:
    return sum(reading.moved.get(rail, 0) for rail in rails)


def why_unlike(
    rows: Sequence[PrintedRow], readings: "Mapping[str, Sequence[Reading]]", rails: Sequence[str], nodes: Sequence[str]
) -> OtherPace | None:
    """Return how figures and counters say different times; None if they agree, or nothing is known.

    ``readings`` are those of the nodes by name; the first of the run's ``nodes`` that has some is compared.
    """
    node = next((name for name in nodes if len(readings.get(name, ())) > 1), None)
    if node is None or not rows:
        return None
    ends = list(accumulate((row.seconds for row in rows), initial=0.0))
    printed = _middle_mb_s(ends, list(accumulate((row.moved_bytes for row in rows), initial=0)))
    moved = [_moved_bytes(one, rails) for one in readings[node]]
    counted = _middle_mb_s([one.at_s for one in readings[node]], [each - moved[0] for each in moved])
    if printed is None or counted is None:
        return None
    if 1 / PACE_FACTOR.value <= counted / printed <= PACE_FACTOR.value:
        return None
    return OtherPace(words.other_pace(_LAST - _FIRST, printed, node, counted), printed > counted)


def why_too_long(rows: Sequence[PrintedRow], elapsed_s: float | None) -> OtherPace | None:
    """Return how the printed figures say a longer time than the run took; None if they do not, or if unknown.

    ``elapsed_s``: from before the benchmark's start to after its end, as a node's counter reader saw it.
    """
    printed_s = sum(row.seconds for row in rows)
    if elapsed_s is None or printed_s < PACE_LEAST.value or printed_s <= PACE_FACTOR.value * elapsed_s:
        return None
    return OtherPace(words.longer_than_run(printed_s, elapsed_s), is_too_fast=False)


def _middle_mb_s(times_s: Sequence[float], moved: Sequence[int]) -> float | None:
    """Return the rate from the first to the last share of the bytes, MB/s; None if that took too short a time."""
    if moved[-1] <= 0:
        return None
    first, last = (_time_of_amount(times_s, moved, share * moved[-1]) for share in (_FIRST, _LAST))
    return None if last - first < PACE_LEAST.value else (_LAST - _FIRST) * moved[-1] / (last - first) / 1e6


def _time_of_amount(times_s: Sequence[float], moved: Sequence[int], amount: float) -> float:
    """Return when so many bytes had moved, between two readings in proportion."""
    place = max(1, bisect_left(moved, amount))
    before, after = moved[place - 1], moved[place]
    part = 0.0 if after == before else (amount - before) / (after - before)
    return times_s[place - 1] + part * (times_s[place] - times_s[place - 1])
