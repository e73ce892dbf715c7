"""Somebody else's traffic on the rails of a run: seen where nodes carry more than the run moved, or than arrived."""

from collections.abc import Mapping
from dataclasses import replace

from railyard.base.bounds import SHARED_FACTOR, UNMEANT_BYTES, UNMEANT_SHARE
from railyard.base.wording import listing, traffic
from railyard.job.counters.node import NodeCounters
from railyard.verdict.path.split import Spread, had_their_due, split_finding
from railyard.verdict.path.traffic import WAYS, NodeTraffic, Plan, Way, in_packets, meant_bytes


def disturbance(readings: Mapping[str, NodeCounters], plan: Plan) -> str | None:
    """Return the sentence of a run whose rails carried somebody else's traffic too; None where none was seen.

    It is no failure by itself. Rails that count packets are left out: as bytes theirs are upper bounds.
    """
    for (rail, way), amount in _unbalanced(readings, plan).items():
        other = "received" if way == "sent" else "sent"
        return (
            f"shared: over {rail} {listing(list(plan.traffic))} {way} {traffic(amount)} more than they {other} (bound "
            f"{traffic(_bound(plan))}, the larger of {UNMEANT_SHARE.name} and {UNMEANT_BYTES.name})"
        )
    for node, moved in plan.traffic.items():
        reading = readings.get(node)
        if reading is None or reading.problem is not None or plan.collective or in_packets(reading, plan) is not None:
            continue
        for way in WAYS:
            allowed = _allowed(moved, way)
            carried = sum(meant_bytes(reading, plan, way).values())
            if carried > allowed:
                return (
                    f"shared: {listing(list(plan.rails))} of {node} {way} {traffic(carried)} while the run moved "
                    f"{traffic(moved.payload(way))} (bound {traffic(allowed)}, {SHARED_FACTOR.name})"
                )
    return None


def is_excused(spread: Spread, readings: Mapping[str, NodeCounters], plan: Plan) -> bool:
    """Return whether somebody else's traffic may be all that made the split of a node uneven.

    Either what did not go between the nodes of the run makes it right once it is taken away, or the node carried more
    than the run moved and no rail lacks what was its due.
    """
    if plan.collective or in_packets(readings[spread.node], plan) is not None:
        return False
    strange = {rail: amount for (rail, way), amount in _unbalanced(readings, plan).items() if way == spread.way}
    if strange:
        own = {rail: max(0, spread.on(rail) - strange.get(rail, 0)) for rail in spread.rates}
        return split_finding(replace(spread, carried=own), plan.policy, plan.pairs, plan.collective) is None
    way: Way = "sent" if spread.way == "sent" else "received"
    return spread.whole > _allowed(plan.traffic[spread.node], way) and had_their_due(spread, plan.policy)


def _allowed(moved: NodeTraffic, way: Way) -> float:
    """Return what the meant rails may carry one way, headers and warm-ups and start-up included."""
    return SHARED_FACTOR.value * (moved.most_bytes or moved.payload(way)) + UNMEANT_BYTES.value


def _bound(plan: Plan) -> float:
    moved = max(node.payload(way) for node in plan.traffic.values() for way in WAYS)
    return max(UNMEANT_SHARE.value * moved, UNMEANT_BYTES.value)


def _unbalanced(readings: Mapping[str, NodeCounters], plan: Plan) -> dict[tuple[str, Way], int]:
    """Return by how much the run's nodes sent more over a rail than all of them received there, or the other way.

    Whatever nodes of a run send each other, one of them receives: the rest came from elsewhere or went there. Of a
    collective that is not so, since a switch may send one packet to many or reduce many to one.
    """
    known = [readings[node] for node in plan.traffic if node in readings]
    if plan.collective or len(known) < max(2, len(plan.traffic)):
        return {}
    if any(reading.problem is not None for reading in known):
        return {}
    found: dict[tuple[str, Way], int] = {}
    for rail in plan.rails:
        devices = [reading.device(rail) for reading in known]
        if any(each is None or each.trouble is not None or each.packet_bytes is not None for each in devices):
            continue
        sent = sum(meant_bytes(reading, plan, "sent")[rail] for reading in known)
        more = sent - sum(meant_bytes(reading, plan, "received")[rail] for reading in known)
        if abs(more) > _bound(plan):
            found[rail, "sent" if more > 0 else "received"] = abs(more)
    return found
