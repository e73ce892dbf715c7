"""Both ends of a rail judged together: what some nodes of a run sent over it, other nodes of the run received.

If a counter does not move on one end while the other end counted the bytes, the counter is wrong and the rail is not
idle. Bytes that left over one rail and arrived over another are the run's own, not somebody else's traffic: the cables
of the two are swapped, or both are in one network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from railyard.base.bounds import CARRIED_SHARE, IDLE_SHARE, LEAST_PAYLOAD, UNMEANT_SHARE, WIRE_UP_RAIL
from railyard.job.counters.node import NodeCounters
from railyard.results.record.form import Suspect
from railyard.verdict.path.traffic import (
    WAYS,
    Finding,
    Plan,
    Spread,
    meant_bytes,
    split_finding,
    unmeant_bytes,
    wire_up_bytes,
)
from railyard.verdict.wording import path as words
from railyard.verdict.wording.path import Way


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

    def more(self, way: Way, rail: str) -> int:
        """By how many bytes all nodes together counted more over a rail the other way."""
        return self.of_all[_other_way(way)][rail] - self.of_all[way][rail]


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
        short = [rail for rail in plan.rails if ends.more(way, rail) > ends.least]
        for node in known if short else ():
            lacking = [rail for rail in short if _lacks(ends, plan, node, rail, way)]
            if lacking:
                found[node, way] = _contradiction(ends, node, lacking, way)
    return found


def find_crossed(readings: Mapping[str, NodeCounters], plan: Plan) -> str | None:
    """Return the sentence about bytes that left over one intended rail and arrived over another; None if none did.

    Two rails in one network do that: a library takes the address of only one, or either interface answers for both.
    """
    known, bound = _comparable_readings(readings, plan), _least_told(plan)
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


#: Swapped cables leave some bytes that one end counted a moment later; a healthy pair has them too.
_SWAPPED_UP_TO = 0.1
_Counted = Mapping[str, Mapping[Way, int]]


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


def _least_told(plan: Plan) -> float:
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
        _least_told(plan),
    )


def _lacks(ends: _Ends, plan: Plan, node: str, rail: str, way: Way) -> bool:
    """Return whether a node's counter of a rail lacks bytes, while the other ends counted what they should.

    It does not move, or the node counted less than the run surely moved. Bytes that another device of the node counted
    are not lacking.
    """
    due = plan.traffic[node].payload(way)
    if due < LEAST_PAYLOAD.value:
        return False
    lacking, carried = ends.more(way, rail), ends.carried[way][node]
    if ends.elsewhere[way][node] >= lacking / 2:
        return False
    if min(lacking, sum(ends.more(way, each) for each in plan.rails)) <= ends.least:
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
