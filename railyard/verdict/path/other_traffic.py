"""Traffic other than a run's intended traffic: over other networks than its own, or somebody else's over its rails.

The first is traffic over another device, or TCP besides RDMA on the intended port itself. The second shows when nodes
carry more than the run moved, or more than arrived.

Both ends of a rail are judged together: what some nodes of a run sent over it, other nodes received. If a counter does
not move on one end while the other end counted the bytes, the counter is wrong and the rail is not idle. Bytes that
left over one rail and arrived over another are the run's own, not somebody else's traffic: the cables of the two are
swapped, or both are in one network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from railyard.base.bounds import (
    CARRIED_SHARE,
    IDLE_SHARE,
    LEAST_PAYLOAD,
    SHARED_FACTOR,
    SHARED_KNOWN,
    SHARED_LEAST,
    UNMEANT_SHARE,
    WIRE_UP,
    WIRE_UP_RAIL,
)
from railyard.base.wording import traffic
from railyard.job.counters import NodeCounters
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


@dataclass(frozen=True, slots=True)
class _Ends:
    """What the nodes of a run carried over its intended rails, each summed once: bytes by way, node and rail.

    ``of_all``: by way and rail, over all nodes. ``unlike``: by way, the nodes that did not carry what they should have
    moved, in the split that was due. ``elsewhere``: the most that one device besides the intended rails carried.
    ``least``: above so many bytes, two ends differ.
    """

    carried: Mapping[Way, Mapping[str, Mapping[str, int]]]
    of_all: Mapping[Way, Mapping[str, int]]
    unlike: Mapping[Way, frozenset[str]]
    elsewhere: Mapping[Way, Mapping[str, int]]
    least: float

    def excess_bytes(self, way: Way, rail: str) -> int:
        """By how many bytes all nodes together counted more over a rail the other way."""
        return self.of_all[_other_way(way)][rail] - self.of_all[way][rail]


#: Swapped cables leave some bytes that one end counted a moment later; a healthy pair has them too.
_SWAPPED_UP_TO = 0.1
_Counted = Mapping[str, Mapping[Way, int]]


def bytes_elsewhere(readings: Mapping[str, NodeCounters], plan: Plan) -> int:
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
            if (
                rail is not None
                and _sees_tcp(reading, rail)
                and not _is_proven_without(amount, node, reading, plan, way)
            ):
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
                most = moved.most_bytes(way)
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


def _is_proven_without(amount: int, node: str, reading: NodeCounters, plan: Plan, way: Way) -> bool:
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
    most, other = moved.most_bytes(way), moved.most_bytes("received" if way == "sent" else "sent")
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


def still_counters(readings: Mapping[str, NodeCounters], plan: Plan) -> dict[tuple[str, Way], Finding]:
    """Return, by node and way, a finding for the counter that lacks what the other ends counted; {} if none does.

    There is no finding if other traffic may be the reason: if nodes are not exclusive, or if the other ends did not
    count what the run should have moved over each rail. There is none for a collective, since a switch may send one
    packet to many nodes, and none for counters of packets, since packets are not bytes.
    """
    known = _comparable_readings(readings, plan)
    if not known:
        return {}
    ends, found = _ends(known, plan), {}
    for way in WAYS:
        short = [rail for rail in plan.rails if ends.excess_bytes(way, rail) > ends.least]
        for node in known if short else ():
            lacking = [rail for rail in short if _lacks(ends, plan, node, rail, way)]
            if lacking:
                found[node, way] = _contradiction(ends, node, lacking, way)
    return found


def find_crossed(readings: Mapping[str, NodeCounters], plan: Plan) -> str | None:
    """Return the sentence about bytes that left over one intended rail and arrived over another; None if none did.

    Two rails in one network do that: a library takes the address of only one, or either interface answers for both.
    """
    known, bound = _comparable_readings(readings, plan), _noise_bytes(plan)
    over = dict.fromkeys(plan.rails, 0)
    for reading in known.values():
        sent, received = (meant_bytes(reading, plan, way) for way in WAYS)
        over = {rail: more + sent[rail] - received[rail] for rail, more in over.items()}
    left = [rail for rail, more in over.items() if more > bound]
    arrived = [rail for rail, more in over.items() if more < -bound]
    if not left or not arrived or abs(sum(over.values())) > bound:
        return None
    return words.crossed_rails(sum(over[rail] for rail in left), left, arrived)


def crossed_cables(readings: Mapping[str, NodeCounters], plan: Plan) -> Finding | None:
    """Return the finding about two rails of a pair of nodes whose cables are swapped; None if none are.

    Each then receives, both ways, what was sent to the other. If both carried the same to the byte, no counter tells.
    """
    known = [readings[node] for node in plan.traffic if node in readings]
    if len(plan.traffic) != 2 or len(known) != 2 or not plan.exclusive:
        return None
    first, second = (_by_device(reading) for reading in known)
    both = [name for name in plan.cabled or plan.rails if name in first and name in second]
    for rail, other in combinations(both, 2):
        if _is_swapped(first, second, rail, other):
            return _crossing(known, rail, other, max(first[rail]["sent"], first[other]["sent"]))
    return None


def is_crossed(first: NodeCounters, second: NodeCounters, rails: tuple[str, str]) -> bool | None:
    """Return whether what two nodes sent over one of two rails arrived over the other; None if too little was sent, or
    if a counter cannot be read.
    """
    one, two = _by_device(first), _by_device(second)
    if not all(rail in each for each in (one, two) for rail in rails):
        return None
    if max(each[rail]["sent"] for each in (one, two) for rail in rails) <= WIRE_UP_RAIL.value:
        return None
    return _is_swapped(one, two, *rails)


def _is_swapped(first: "_Counted", second: "_Counted", rail: str, other: str) -> bool:
    """Return whether the bytes of two rails, which both ends counted, fit to each other only if they are swapped."""
    ends = ((first, second), (second, first))
    straight = [_difference_bytes(*way, rail, rail) + _difference_bytes(*way, other, other) for way in ends]
    swapped = [_difference_bytes(*way, rail, other) + _difference_bytes(*way, other, rail) for way in ends]
    each_way = zip(straight, swapped, strict=True)
    if sum(swapped) > _SWAPPED_UP_TO * sum(straight) or sum(straight) <= WIRE_UP_RAIL.value:
        return False
    return all(after <= max(_SWAPPED_UP_TO * before, WIRE_UP_RAIL.value) for before, after in each_way)


def _by_device(reading: NodeCounters) -> _Counted:
    counted = (each for each in reading.devices if each.trouble is None and each.packet_bytes is None)
    return {each.device: {"sent": each.tx.delta_bytes or 0, "received": each.rx.delta_bytes or 0} for each in counted}


def _difference_bytes(sender: _Counted, receiver: _Counted, left: str, arrived: str) -> int:
    """Return by how many bytes differ what one device sent and what a device of the other node received."""
    return abs(sender[left]["sent"] - receiver[arrived]["received"])


def _crossing(nodes: Sequence[NodeCounters], rail: str, other: str, moved: int) -> Finding:
    first, second = (each.node for each in nodes)
    sentence = words.crossed_cables(rail, other, first, second, moved)
    look = words.look_at_swapped(rail, other, first, second)
    pair = Suspect("pair", sentence, f"{first}-{second}", rail)
    return Finding("failed", sentence, "fabric", look, (pair,), crossed=(rail, other))


def _comparable_readings(readings: Mapping[str, NodeCounters], plan: Plan) -> dict[str, NodeCounters]:
    """Return the readings of a run's nodes if what one sent can be compared with what others received; else {}."""
    known = {node: readings[node] for node in plan.traffic if node in readings}
    if plan.collective or not plan.exclusive or len(known) < max(2, len(plan.traffic)):
        return {}
    devices = [reading.device(rail) for reading in known.values() for rail in plan.rails]
    if any(reading.problem is not None for reading in known.values()):
        return {}
    if any(each is None or each.trouble is not None or each.packet_bytes is not None for each in devices):
        return {}
    return known


def _noise_bytes(plan: Plan) -> float:
    """Return above how many bytes two ends differ: less may be somebody else's traffic."""
    moved = max(moved.payload(each) for moved in plan.traffic.values() for each in WAYS)
    return max(UNMEANT_SHARE.value * moved, wire_up_bytes(plan))


def _ends(known: Mapping[str, NodeCounters], plan: Plan) -> _Ends:
    carried = {way: {node: meant_bytes(reading, plan, way) for node, reading in known.items()} for way in WAYS}
    return _Ends(
        carried,
        {way: {rail: sum(each[rail] for each in of.values()) for rail in plan.rails} for way, of in carried.items()},
        {
            way: frozenset(node for node, each in of.items() if not _is_as_meant(node, each, plan, way))
            for way, of in carried.items()
        },
        {
            way: {node: max(unmeant_bytes(each, plan, way).values(), default=0) for node, each in known.items()}
            for way in WAYS
        },
        _noise_bytes(plan),
    )


def _lacks(ends: _Ends, plan: Plan, node: str, rail: str, way: Way) -> bool:
    """Return whether a node's counter of a rail lacks bytes, while the other ends counted what they should.

    It does not move, or the node counted less than the run surely moved. Bytes that another device of the node counted
    are not lacking.
    """
    due = plan.traffic[node].payload(way)
    if due < LEAST_PAYLOAD.value:
        return False
    lacking, carried = ends.excess_bytes(way, rail), ends.carried[way][node]
    if ends.elsewhere[way][node] >= lacking / 2:
        return False
    if min(lacking, sum(ends.excess_bytes(way, each) for each in plan.rails)) <= ends.least:
        return False
    if carried[rail] >= IDLE_SHARE.value * lacking and sum(carried.values()) >= CARRIED_SHARE.value * due:
        return False
    return ends.unlike[_other_way(way)] <= {node}


def _is_as_meant(node: str, carried: Mapping[str, int], plan: Plan, way: Way) -> bool:
    """Return whether a node carried one way what the run should have moved, in the split that was due."""
    moved = plan.traffic[node]
    if moved.payload(way) < LEAST_PAYLOAD.value:
        return True
    if sum(carried.values()) < CARRIED_SHARE.value * moved.payload(way):
        return False
    spread = Spread(node, way, carried, plan.rails, moved.payload(way), moved.split(way))
    found = split_finding(spread, plan.policy, plan.pairs, plan.collective)
    return found is None or found.state == "not-proven"


def _contradiction(ends: _Ends, node: str, rails: Sequence[str], way: Way) -> Finding:
    other = _other_way(way)
    others = [each for each in ends.carried[other] if each != node]
    theirs = sum(ends.of_all[other][rail] - ends.carried[other][node][rail] for rail in rails)
    own = sum(ends.carried[way][node][rail] for rail in rails)
    sentence = words.wrong_counter(rails, others, theirs, node, own, way)
    look = words.look_at_counter(rails, node, way)
    return Finding("not-proven", sentence, "not-proven", look)


def _other_way(way: Way) -> Way:
    return "received" if way == "sent" else "sent"
