"""Traffic other than a run's intended traffic: over other networks than its own, or somebody else's over its rails.

The first is traffic over another device, or TCP besides RDMA on the intended port itself. The second shows when nodes
carry more than the run moved, or more than arrived.
"""

from collections.abc import Mapping
from dataclasses import replace

from railyard.base.bounds import CARRIED_SHARE, SHARED_FACTOR, SHARED_KNOWN, SHARED_LEAST, UNMEANT_SHARE, WIRE_UP
from railyard.base.wording import traffic
from railyard.job.counters.node import NodeCounters
from railyard.results.record.form import Suspect
from railyard.verdict.path.traffic import (
    WAYS,
    Finding,
    NodeTraffic,
    Plan,
    Spread,
    exchanged_bytes,
    had_their_due,
    in_packets,
    meant_bytes,
    split_finding,
    unmeant_bytes,
    wire_up_bytes,
)
from railyard.verdict.wording import path as words
from railyard.verdict.wording.path import Way

#: By (rail, way): how many bytes more all nodes of a run counted than the other way.
Unbalanced = Mapping[tuple[str, Way], int]


def exchanged_elsewhere(readings: Mapping[str, NodeCounters], plan: Plan) -> int:
    """Return the bytes that the nodes of a run may have sent to one another over all networks but the intended rails.

    What they read from a file system, they did not send: so it is not among them.
    """
    known = [readings[node] for node in plan.traffic if node in readings]
    sent, received = (sum(sum(unmeant_bytes(each, plan, way).values()) for each in known) for way in WAYS)
    return exchanged_bytes(sent, received)


def stray_finding(node: str, reading: NodeCounters, plan: Plan, elsewhere: int) -> Finding | None:
    """Return the unintended network that carried more than it may; None if none did.

    ``elsewhere``: what all nodes may have exchanged over such networks. If other jobs share the nodes, their traffic
    proves nothing. But the RDMA counters of a port see TCP on that port too, so such TCP keeps RDMA from being proven.
    """
    moved = max(plan.traffic[node].payload(way) for way in WAYS)
    bound = max(UNMEANT_SHARE.value * moved, WIRE_UP.value)
    for way in WAYS:
        for device, amount in unmeant_bytes(reading, plan, way).items():
            if amount <= bound:
                continue
            said = words.say_besides(way, amount, moved, bound)
            rail = rail_of_interface(reading, device)
            if plan.exclusive:
                if elsewhere <= max(bound, wire_up_bytes(plan)):
                    continue
                return _fail(node, device, rail, amount, said, plan)
            if rail is not None and _sees_tcp(reading, rail) and not _proven_without(amount, node, reading, plan, way):
                sentence, look = words.tcp_and_rdma(device, node, rail, said), words.look_at_other_use(device, node)
                return Finding("not-proven", sentence, "not-proven", look)
    return None


def rail_of_interface(reading: NodeCounters, device: str) -> str | None:
    """Return the intended RDMA rail whose port has this network interface; None for any other device."""
    found = reading.device(device)
    return None if found is None else found.beside


def disturbance(readings: Mapping[str, NodeCounters], plan: Plan, strange: Unbalanced) -> str | None:
    """Return the sentence about somebody else's traffic on a run's rails; None if none was seen.

    It is not a failure by itself. Rails that count packets are left out: their bytes are only upper bounds. ``strange``
    is what ``find_unbalanced`` found.
    """
    for (rail, way), amount in strange.items():
        return words.shared_by_others(rail, list(plan.traffic), way, amount, _least_bytes(plan))
    for node, moved in plan.traffic.items():
        reading = readings.get(node)
        if reading is None or reading.problem is not None or plan.collective or in_packets(reading, plan) is not None:
            continue
        for way in WAYS:
            allowed = _allowed_bytes(moved, way)
            carried = sum(meant_bytes(reading, plan, way).values())
            if carried > allowed:
                most = moved.most(way)
                own = (moved.payload(way), False) if most is None else (most, True)
                bound = f"{traffic(allowed)}, {_bound_name(moved)}"
                return words.shared_beyond(list(plan.rails), node, way, carried, *own, bound)
    return None


def is_excused(spread: Spread, readings: Mapping[str, NodeCounters], plan: Plan, of_others: Unbalanced) -> bool:
    """Return whether somebody else's traffic alone may have made the split of a node uneven.

    It may if the split is right without the bytes that did not go between the nodes of the run, or if the node carried
    more than the run moved and each rail carried at least its due.
    """
    if plan.collective or in_packets(readings[spread.node], plan) is not None:
        return False
    strange = {rail: amount for (rail, way), amount in of_others.items() if way == spread.way}
    if strange:
        own = {rail: max(0, spread.bytes_on(rail) - strange.get(rail, 0)) for rail in spread.rates}
        return split_finding(replace(spread, carried=own), plan.policy, plan.pairs, plan.collective) is None
    way: Way = "sent" if spread.way == "sent" else "received"
    return spread.total > _allowed_bytes(plan.traffic[spread.node], way) and had_their_due(spread, plan.policy)


def _fail(node: str, device: str, rail: str | None, amount: int, said: str, plan: Plan) -> Finding:
    if rail is None:
        sentence = words.not_intended(device, node, said)
        reason, look = words.carried_instead(device, amount, list(plan.rails)), words.look_at_stray(device, node)
    else:
        sentence = words.tcp_not_rdma(device, node, rail, said)
        reason, look = words.tcp_instead(device, amount, rail), words.look_at_transports(device, node)
    return Finding("failed", sentence, "set-up", look, (Suspect("stack", reason, node, device),))


def _proven_without(amount: int, node: str, reading: NodeCounters, plan: Plan, way: Way) -> bool:
    """Return whether the intended rails carried what is due one way even if so many bytes there were TCP."""
    carried = sum(meant_bytes(reading, plan, way).values()) - amount
    return carried >= CARRIED_SHARE.value * plan.traffic[node].payload(way)


def _sees_tcp(reading: NodeCounters, rail: str) -> bool:
    found = reading.device(rail)
    return found is not None and found.overlap == "port"


def _allowed_bytes(moved: NodeTraffic, way: Way) -> float:
    """Return how many bytes the intended rails may carry one way, headers, warm-ups and start-up included.

    Acknowledgements of the other way's messages are included, as a share of those messages.
    """
    most, other = moved.most(way), moved.most("received" if way == "sent" else "sent")
    if most is None or other is None:
        return SHARED_FACTOR.value * moved.payload(way) + SHARED_LEAST.value
    return SHARED_KNOWN.value * most + (SHARED_KNOWN.value - 1) * other + SHARED_LEAST.value


def _bound_name(moved: NodeTraffic) -> str:
    return SHARED_FACTOR.name if moved.most_sent_bytes is None else SHARED_KNOWN.name


def _least_bytes(plan: Plan) -> float:
    moved = max(node.payload(way) for node in plan.traffic.values() for way in WAYS)
    return max(UNMEANT_SHARE.value * moved, SHARED_LEAST.value)


def find_unbalanced(readings: Mapping[str, NodeCounters], plan: Plan) -> dict[tuple[str, Way], int]:
    """Return by how many bytes the run's nodes sent more over a rail than all of them received, or the other way round.

    Whatever a node of a run sends to another, that node receives: the rest came from elsewhere or went there. This does
    not hold for a collective, since a switch may send one packet to many or reduce many to one.
    """
    known = [readings[node] for node in plan.traffic if node in readings]
    if plan.collective or len(known) < max(2, len(plan.traffic)):
        return {}
    if any(reading.problem is not None for reading in known):
        return {}
    bound = _least_bytes(plan)
    counted = [rail for rail in plan.rails if all(_counts_bytes(reading, rail) for reading in known)]
    carried = {way: [meant_bytes(reading, plan, way) for reading in known] for way in WAYS}
    found: dict[tuple[str, Way], int] = {}
    for rail in counted:
        sent, received = (sum(each[rail] for each in carried[way]) for way in WAYS)
        if abs(sent - received) > bound:
            found[rail, "sent" if sent > received else "received"] = abs(sent - received)
    return found


def _counts_bytes(reading: NodeCounters, rail: str) -> bool:
    device = reading.device(rail)
    return device is not None and device.trouble is None and device.packet_bytes is None
