"""The path proof: whether a run's bytes went over the intended rails, in the expected split, and over no other network.

Counters of every node, read before and after the run, are held against the bytes that the run moved. Bounds and their
reasons stand in ``railyard.bounds``. What cannot be known is *not proven*, never a pass.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from railyard.bounds import (
    CARRIED_SHARE,
    LEAST_PAYLOAD,
    SHARED_FACTOR,
    UNMEANT_BYTES,
    UNMEANT_SHARE,
)
from railyard.counters import DeviceCounters, NodeCounters
from railyard.railsplit import Finding, Policy, Spread, split_finding
from railyard.suspects import Suspect
from railyard.wording import listing, percent, traffic

ProofState = Literal["proven", "failed", "not-proven", "not-judged"]
Fault = Literal["fabric", "node", "set-up", "disturbed", "not-proven"]
Way = Literal["sent", "received"]

_WAYS: tuple[Way, ...] = ("sent", "received")


@dataclass(frozen=True, slots=True)
class NodeTraffic:
    """What one node moved to and from other nodes at least: payload bytes, from the printed repetitions.

    ``…_split_bytes`` is the part in messages that the policy spreads over the rails: at or above the threshold of
    striping, all messages of a round robin or a NIC per rank. ``most_bytes`` is the most payload that one way may have
    moved, warm-ups included, headers not; None where warm-ups are not known.
    """

    sent_bytes: int
    received_bytes: int
    sent_split_bytes: int = 0
    received_split_bytes: int = 0
    most_bytes: int | None = None

    def mirrored(self) -> "NodeTraffic":
        """Return what the other node of a pair moved."""
        return NodeTraffic(
            self.received_bytes, self.sent_bytes, self.received_split_bytes, self.sent_split_bytes, self.most_bytes
        )

    def payload(self, way: Way) -> int:
        return self.sent_bytes if way == "sent" else self.received_bytes

    def split(self, way: Way) -> int:
        return self.sent_split_bytes if way == "sent" else self.received_split_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run was meant to do.

    ``rails``: the meant rails of a node with their rates (any one unit; only the ratios count). ``traffic``: a value
    for every node that must be proven. ``pairs``: pairs of ranks between two nodes. ``collective``: the bytes are
    lower bounds of an algorithm that is not known, so no split is held against the rates. ``exclusive``: no other job
    uses the nodes.
    """

    rails: Mapping[str, float]
    policy: Policy
    traffic: Mapping[str, NodeTraffic]
    pairs: int = 1
    collective: bool = False
    exclusive: bool = True


@dataclass(frozen=True, slots=True)
class RailBytes:
    """What one device of a node moved during the run; ``share`` is its part of the node's meant bytes, both ways."""

    device: str
    meant: bool
    tx_bytes: int | None
    rx_bytes: int | None
    share: float | None


@dataclass(frozen=True, slots=True)
class PathProof:
    """Whether the path is proven, the sentence that says so, and every node's bytes.

    ``fault`` is set where it failed or is not proven. ``disturbance`` says that a meant rail carried more than the run
    moved: no failure by itself. ``expected_bytes`` is the sum over nodes and both ways.
    """

    state: ProofState
    sentence: str
    fault: Fault | None = None
    look_at: str = "the path proof's numbers in the record"
    suspects: tuple[Suspect, ...] = ()
    nodes: Mapping[str, tuple[RailBytes, ...]] | None = None
    expected_bytes: int | None = None
    disturbance: str | None = None

    def as_record(self) -> dict[str, Any]:
        """Return the ``path_proof`` object of a record (format 1)."""
        nodes = [
            {"node": node, "rails": [asdict(rail) for rail in rails]} for node, rails in (self.nodes or {}).items()
        ]
        return {"state": self.state, "sentence": self.sentence, "expected_bytes": self.expected_bytes, "nodes": nodes}


def not_judged(reason: str) -> PathProof:
    """Return the proof of a run that has no path to prove, with why; rule 4 decides whether that may pass."""
    return PathProof("not-judged", f"path not judged: {reason}", look_at="the system's rails and their counters")


def judge(readings: Mapping[str, NodeCounters], plan: Plan) -> PathProof:
    """Return the path proof of a run.

    In this order: what the counters cannot tell; payload that is missing on the meant rails; traffic on other
    networks; the split. A failure that is certain goes before a doubt about another node.
    """
    findings = _findings(readings, plan)
    decisive = next((f for f in findings if f.state == "failed"), None) or next(iter(findings), None)
    nodes = {name: _rail_bytes(reading, plan) for name, reading in readings.items() if name in plan.traffic}
    expected = sum(t.sent_bytes + t.received_bytes for t in plan.traffic.values())
    if decisive is None:
        disturbance = _disturbance(readings, plan)
        return PathProof("proven", _proven(readings, plan), None, "", (), nodes, expected, disturbance)
    return PathProof(
        decisive.state,
        decisive.sentence,
        "not-proven" if decisive.state == "not-proven" else decisive.fault,
        decisive.look_at,
        _in_order(findings),
        nodes,
        expected,
        _disturbance(readings, plan),
    )


def _in_order(findings: list[Finding]) -> tuple[Suspect, ...]:
    """Return all suspects once; where the stack idles a rail on every node, no node's rail is a suspect for that."""
    certain = [finding for finding in findings if finding.state == "failed"]
    stack = [s for finding in certain for s in finding.suspects if s.kind == "stack"]
    rails = [s for finding in certain for s in finding.suspects if s.kind != "stack" and not (stack and finding.idle)]
    return tuple(dict.fromkeys([*stack, *rails]))


def _findings(readings: Mapping[str, NodeCounters], plan: Plan) -> list[Finding]:
    if not plan.rails or not plan.traffic:
        return [_unproven("no rail is named that the run should use", "the system's rails")]
    found: list[Finding] = []
    for node, moved in plan.traffic.items():
        reading = readings.get(node)
        doubt = _doubt(node, reading, plan)
        if doubt is not None or reading is None:
            found.append(doubt or _unproven(f"no counters of {node}", ""))
            continue
        found += [f for f in (_lost_carrier(reading, node, plan), *_node_findings(node, reading, moved, plan)) if f]
    return found + _idle_everywhere(found, plan)


def _idle_everywhere(found: list[Finding], plan: Plan) -> list[Finding]:
    """Return one more finding that blames the stack where the same rail idles on all nodes: no cable does that."""
    idle = [{s.rail for s in f.suspects} for f in found if f.idle]
    nodes = {s.node for f in found if f.idle for s in f.suspects}
    if not idle or nodes != set(plan.traffic) or len(plan.traffic) < 2:
        return []
    rails = sorted(str(rail) for rail in set.intersection(*idle))
    if not rails:
        return []
    reason = f"{listing(rails)} idled on all of {listing(sorted(map(str, nodes)))}: the stack did not use it"
    return [Finding("failed", reason, "set-up", "", (Suspect("stack", None, None, reason),))]


def _unproven(reason: str, look_at: str) -> Finding:
    return Finding("not-proven", f"path not proven: {reason}", "not-proven", look_at)


def _doubt(node: str, reading: NodeCounters | None, plan: Plan) -> Finding | None:
    """Return why this node's counters tell nothing, or None."""
    look = f"whether the counter reader ran on {node} and could write beside the job's script"
    if reading is None:
        return _unproven(f"no counters of {node} were found", look)
    if reading.problem is not None:
        return _unproven(f"the counters of {node} cannot be used: {reading.problem}", look)
    for rail in plan.rails:
        device = reading.device(rail)
        if device is None:
            return _unproven(f"the counters of {node} have no reading of rail {rail}", look)
        if device.trouble is not None:
            return _unproven(f"rail {rail} of {node} {device.trouble}", f"the driver and counters of {rail} on {node}")
    for device in reading.devices:
        if device.device not in plan.rails and device.trouble is not None:
            reason = f"network {device.device} of {node} {device.trouble}, so nobody can say what went over it"
            return _unproven(reason, f"the driver and counters of {device.device} on {node}")
    return None


def _lost_carrier(reading: NodeCounters, node: str, plan: Plan) -> Finding | None:
    for device in reading.devices:
        if device.device in plan.rails and device.carrier_after is False:
            sentence = f"rail {device.device} of {node} lost its carrier during the run"
            look = f"cable, port and driver of {device.device} on {node}"
            return Finding("failed", sentence, "fabric", look, (Suspect("rail", node, device.device, sentence),))
    return None


def _delta(device: DeviceCounters, way: Way) -> int:
    return (device.tx if way == "sent" else device.rx).delta_bytes or 0


def _meant(reading: NodeCounters, plan: Plan, way: Way) -> dict[str, int]:
    return {d.device: _delta(d, way) for d in reading.devices if d.device in plan.rails}


def _unmeant(reading: NodeCounters, plan: Plan, way: Way) -> dict[str, int]:
    return {d.device: _delta(d, way) for d in reading.devices if d.device not in plan.rails}


def _node_findings(node: str, reading: NodeCounters, moved: NodeTraffic, plan: Plan) -> list[Finding | None]:
    if max(moved.sent_bytes, moved.received_bytes) < LEAST_PAYLOAD.value:
        most = traffic(max(moved.sent_bytes, moved.received_bytes))
        reason = (
            f"{node} moved {most} only, too little to tell from background traffic "
            f"(bound {traffic(LEAST_PAYLOAD.value)}, {LEAST_PAYLOAD.name})"
        )
        stray = _over_other(node, reading, plan)
        return [stray or _unproven(reason, "the check's sizes and iterations: more of them move more bytes")]
    found: list[Finding | None] = []
    for way in _WAYS:
        payload = moved.payload(way)
        if payload < LEAST_PAYLOAD.value:
            continue
        missing = _missing(node, reading, payload, plan, way)
        found.append(missing)
        if missing is None:
            spread = Spread(node, way, _meant(reading, plan, way), plan.rails, payload, moved.split(way))
            found.append(split_finding(spread, plan.policy, plan.pairs, plan.collective))
    found.append(_over_other(node, reading, plan))
    return found


def _missing(node: str, reading: NodeCounters, payload: int, plan: Plan, way: Way) -> Finding | None:
    """Return what is wrong where the meant rails carried less: bytes seen elsewhere fail, unseen ones are a doubt."""
    meant = sum(_meant(reading, plan, way).values())
    if meant >= CARRIED_SHARE.value * payload:
        return None
    lacking = payload - meant
    rails = listing(list(plan.rails))
    shown = (
        f"{rails} of {node} {way} {traffic(meant)} of {traffic(payload)} "
        f"(bound {percent(CARRIED_SHARE.value)}, {CARRIED_SHARE.name})"
    )
    device, other = max(_unmeant(reading, plan, way).items(), key=lambda item: item[1], default=("", 0))
    # Half of what lacks: the other half may have gone over a third network, or be headers and noise either way.
    if other >= lacking / 2:
        sentence = f"{traffic(other)} went over {device} of {node}, which was not meant: {shown}"
        reason = f"the stack used {device} instead of {rails}"
        look = f"how the stack is told its devices; whether {rails} of {node} is up and reaches the other nodes"
        return Finding("failed", sentence, "set-up", look, (Suspect("stack", node, device, reason),))
    look = "whether the ranks shared a node, and whether these counters see the traffic of this stack (RDMA?)"
    return _unproven(f"{shown}, and no other network's counter shows the rest", look)


def _over_other(node: str, reading: NodeCounters, plan: Plan) -> Finding | None:
    """Return the unmeant network that carried more than its allowance; other jobs' traffic proves nothing."""
    if not plan.exclusive:
        return None
    moved = max(plan.traffic[node].payload(way) for way in _WAYS)
    bound = max(UNMEANT_SHARE.value * moved, UNMEANT_BYTES.value)
    for way in _WAYS:
        for device, amount in _unmeant(reading, plan, way).items():
            if amount > bound:
                sentence = (
                    f"{device} of {node}, which was not meant, {way} {traffic(amount)} while the run moved "
                    f"{traffic(moved)} (bound {traffic(bound)}, the larger of {UNMEANT_SHARE.name} and "
                    f"{UNMEANT_BYTES.name})"
                )
                reason = f"{device} carried {traffic(amount)} that should have gone over {listing(list(plan.rails))}"
                look = f"how the stack is told its devices, and what else uses {device} of {node}"
                return Finding("failed", sentence, "set-up", look, (Suspect("stack", node, device, reason),))
    return None


def _disturbance(readings: Mapping[str, NodeCounters], plan: Plan) -> str | None:
    for node, moved in plan.traffic.items():
        reading = readings.get(node)
        if reading is None or reading.problem is not None or plan.collective:
            continue
        for way in _WAYS:
            allowed = SHARED_FACTOR.value * (moved.most_bytes or moved.payload(way)) + UNMEANT_BYTES.value
            carried = sum(_meant(reading, plan, way).values())
            if carried > allowed:
                return (
                    f"shared: {listing(list(plan.rails))} of {node} {way} {traffic(carried)} while the run moved "
                    f"{traffic(moved.payload(way))} (bound {traffic(allowed)}, {SHARED_FACTOR.name})"
                )
    return None


def _rail_bytes(reading: NodeCounters, plan: Plan) -> tuple[RailBytes, ...]:
    total = sum(sum(_meant(reading, plan, way).values()) for way in _WAYS)
    rows = []
    for device in reading.devices:
        meant = device.device in plan.rails
        tx, rx = device.tx.delta_bytes, device.rx.delta_bytes
        known = meant and total > 0 and tx is not None and rx is not None
        share = ((tx or 0) + (rx or 0)) / total if known else None
        rows.append(RailBytes(device.device, meant, tx, rx, share))
    return tuple(rows)


def _proven(readings: Mapping[str, NodeCounters], plan: Plan) -> str:
    totals = {rail: 0 for rail in plan.rails}
    other = 0
    for node in plan.traffic:
        for way in _WAYS:
            for rail, amount in _meant(readings[node], plan, way).items():
                totals[rail] += amount
            other = max(other, *_unmeant(readings[node], plan, way).values(), 0)
    whole = sum(totals.values())
    shares = listing([f"{percent(amount / whole)} over {rail}" for rail, amount in totals.items()])
    kind = "" if plan.exclusive else ", a lower bound only: the nodes are not exclusive"
    rest = f", at most {traffic(other)} over another network" if plan.exclusive else ""
    return f"{traffic(whole)} moved on {listing(list(plan.traffic))}: {shares}{rest}{kind}"
