"""The path proof: whether a run's bytes went over the intended rails, in the expected split, and over no other network.

Counters of every node, read before and after the run, are compared with the bytes that the run moved. Bounds and their
reasons are in ``railyard.base.bounds``; what each driver counts is in ``railyard.hardware.counters``. What cannot be
known is *not proven*, never a pass.

The stack's own log is compared with both. Stacks say which devices they used only if they are asked to (UCX_LOG_LEVEL,
btl_base_verbose, I_MPI_DEBUG, PSM3_IDENTIFY: the table of ``railyard.stacks`` has variable and pattern). A log is what
the stack believes; the counters decide. If the two disagree, the verdict says which of them contradicts the other.

The path proof of a pair within a node: no network of any node moved the pair's bytes, so memory did.

If nobody knows how many bytes a run had to move, counters alone show which rails it used.

Whatever the intended rails carried counts as the run's own. No other network may have carried more than a hundredth of
it.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from railyard.base.bounds import CARRIED_SHARE, LEAST_PAYLOAD, UNMEANT_SHARE, WIRE_UP
from railyard.base.hostlist import MOST_IN_WORDS
from railyard.benchmarks.model import Least
from railyard.job.case import Case
from railyard.job.counters import NodeCounters
from railyard.results.record.form import Suspect, with_shares
from railyard.results.remarks import on_every_node
from railyard.verdict.path import traffic
from railyard.verdict.path.other_traffic import (
    Unbalanced,
    bytes_elsewhere,
    crossed_cables,
    disturbance,
    find_crossed,
    find_unbalanced,
    is_excused,
    rail_of_interface,
    still_counters,
    stray_finding,
)
from railyard.verdict.path.ports import (
    error_findings,
    error_remarks,
    find_conflicts,
    link_findings,
    loses,
    port_findings,
    port_remarks,
    remarks_of_many,
)
from railyard.verdict.path.traffic import (
    WAYS,
    Finding,
    Plan,
    Policy,
    Spread,
    exchanged_bytes,
    in_packets,
    meant_bytes,
    rail_bytes,
    short_at_both_ends,
    split_finding,
    unmeant_bytes,
)
from railyard.verdict.rule_model import Conflict, PathProof, look_at_owners, path_not_judged
from railyard.verdict.wording import path as words
from railyard.verdict.wording.path import Way

LONGEST = 2000
"""Longest line, in characters, that is looked at: a stack's own lines are short."""
#: The most of a line that a sentence quotes.
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class LogDevices:
    """What a log names: ``devices`` in the order of the question, and the ``line`` that names the first of them."""

    devices: tuple[str, ...]
    line: str


@dataclass(frozen=True, slots=True)
class _CommonFindings:
    """What only the counters of all nodes together show: ``swapped`` cables, ``still`` counters by node and way, by how
    much the nodes sent more than they received (``strange``), and what they exchanged ``elsewhere``, in bytes.
    """

    swapped: Finding | None
    still: Mapping[tuple[str, Way], Finding]
    strange: Unbalanced
    elsewhere: int


def _compare_nodes(readings: Mapping[str, NodeCounters], plan: Plan) -> _CommonFindings:
    swapped = crossed_cables(readings, plan)
    still = {} if swapped else still_counters(readings, plan)
    return _CommonFindings(swapped, still, find_unbalanced(readings, plan), bytes_elsewhere(readings, plan))


def judge(readings: Mapping[str, NodeCounters], plan: Plan) -> PathProof:
    """Return the path proof of a run.

    It looks, in this order, at what the counters cannot tell, payload that is missing on the intended rails, traffic on
    other networks, and the split. A certain failure comes before a doubt about another node.
    """
    of_all = _compare_nodes(readings, plan)
    findings = _findings(readings, plan, of_all)
    decisive = next((f for f in findings if f.state == "failed"), None) or next(iter(findings), None)
    nodes = {name: rail_bytes(reading, plan.rails) for name, reading in readings.items() if name in plan.traffic}
    expected = sum(t.sent_bytes + t.received_bytes for t in plan.traffic.values())
    if decisive is None:
        shared = disturbance(readings, plan, of_all.strange)
        said = () if shared is None else (shared,)
        sentence = "; ".join((_describe_split(readings, plan), *said, *_remarks(readings, plan)))
        return PathProof("proven", sentence, None, "", (), nodes, expected, shared)
    over_another = find_crossed(readings, plan) if decisive.idle or decisive.uneven else None
    return PathProof(
        decisive.state,
        "; ".join(filter(None, (decisive.sentence, over_another))),
        "not-proven" if decisive.state == "not-proven" else decisive.fault,
        decisive.look_at,
        _in_order(findings),
        nodes,
        expected,
        None if of_all.still or over_another else disturbance(readings, plan, of_all.strange),
        uneven=decisive.uneven,
        lost="; ".join(finding.sentence for finding in findings if finding.is_link) or None,
        crossed=decisive.crossed,
    )


def _in_order(findings: list[Finding]) -> tuple[Suspect, ...]:
    """Return all suspects once; if the stack leaves a rail idle on every node, no node's rail is a suspect for that."""
    certain = [finding for finding in findings if finding.state == "failed"]
    stack = [s for finding in certain for s in finding.suspects if s.kind == "stack"]
    rails = [s for finding in certain for s in finding.suspects if s.kind != "stack" and not (stack and finding.idle)]
    return tuple(dict.fromkeys([*stack, *short_at_both_ends(rails)]))


def _findings(readings: Mapping[str, NodeCounters], plan: Plan, of_all: _CommonFindings) -> list[Finding]:
    if not plan.rails or not plan.traffic:
        return [_not_proven(words.no_rail(), words.look_at_system())]
    found: list[Finding] = [] if of_all.swapped is None else [of_all.swapped]
    for node in plan.traffic:
        reading = readings.get(node)
        doubt = _doubt(node, reading, plan)
        if doubt is not None or reading is None:
            if reading is not None and reading.killed:  # what was read until the signal to end is correct
                found += link_findings(node, reading, plan.rails)
            found.append(doubt or _not_proven(words.no_counters(node), ""))
            continue
        found += link_findings(node, reading, plan.rails)
        if of_all.swapped is None:  # else bytes are where the cables brought them
            found += [finding for finding in _node_findings(node, readings, plan, of_all) if finding]
        found += port_findings(node, reading, plan.bonded)
        found += error_findings(node, reading, plan.rails, plan.error_bounds)
    if any(finding.idle for finding in found):
        found = of_their_own(found, plan)
    return found + _idle_everywhere(found, plan)


def _idle_everywhere(found: list[Finding], plan: Plan) -> list[Finding]:
    """Return one more finding that blames the stack if the same rail idles on all nodes: no cable does that."""
    idle = [{s.rail for s in f.suspects} for f in found if f.idle]
    nodes = {s.node for f in found if f.idle for s in f.suspects}
    if not idle or nodes != set(plan.traffic) or len(plan.traffic) < 2:
        return []
    rails = sorted(str(rail) for rail in set.intersection(*idle))
    if not rails:
        return []
    stack = unused_by_the_stack(rails, sorted(map(str, nodes)))
    return [Finding("failed", stack.reason, "set-up", "", (stack,))]


def unused_by_the_stack(rails: Sequence[str], nodes: Sequence[str]) -> Suspect:
    """Return the stack as the suspect for rails that idled on all of these nodes."""
    return Suspect("stack", words.idled_on_all(rails, nodes))


def _not_proven(reason: str, look_at: str) -> Finding:
    return Finding("not-proven", words.not_proven(reason), "not-proven", look_at)


def _doubt(node: str, reading: NodeCounters | None, plan: Plan) -> Finding | None:
    """Return why this node's counters tell nothing, or None."""
    look = words.look_at_reader(node)
    if reading is None:
        return _not_proven(words.counters_not_found(node), look)
    if reading.problem is not None:
        return _not_proven(words.counters_unusable(node, reading.problem), look)
    for rail in plan.rails:
        device = reading.device(rail)
        if device is None:
            return _not_proven(words.no_reading(node, rail), look)
        if device.trouble is not None:
            return _not_proven(words.rail_in_trouble(rail, node, device.trouble), words.look_at_driver(rail, node))
    for device in reading.devices:
        # A device that no file names is only checked for stray traffic: it may be a card that nobody uses.
        if device.device not in plan.rails and not device.unnamed and device.trouble is not None:
            reason = words.network_in_trouble(device.device, node, device.trouble)
            return _not_proven(reason, words.look_at_driver(device.device, node))
    return None


def _node_findings(
    node: str,
    readings: Mapping[str, NodeCounters],
    plan: Plan,
    of_all: _CommonFindings,
) -> list[Finding | None]:
    reading, moved = readings[node], plan.traffic[node]
    if max(moved.sent_bytes, moved.received_bytes) < LEAST_PAYLOAD.value:
        stray = stray_finding(node, reading, plan, of_all.elsewhere)
        if stray is not None:
            return [stray]
        if plan.unknown is not None:
            reason = words.unknown_bytes(plan.unknown, _carried_words(node, reading, plan))
            return [_not_proven(reason, words.look_at_repetitions(list(plan.rails), node))]
        most = max(moved.sent_bytes, moved.received_bytes)
        return [_not_proven(words.too_little(node, most), words.look_at_iterations())]
    found: list[Finding | None] = []
    for way in WAYS:
        payload = moved.payload(way)
        if payload < LEAST_PAYLOAD.value:
            continue
        if (node, way) in of_all.still:
            found.append(of_all.still[node, way])
            continue
        missing = _lost_traffic(node, reading, payload, plan, way)
        found.append(missing)
        if missing is None:
            spread = Spread(node, way, meant_bytes(reading, plan, way), plan.rails, payload, moved.split(way))
            uneven = split_finding(spread, plan.policy, plan.pairs, plan.collective)
            # An idle rail is the stack's doing, even if others use the other rails.
            may_be = uneven is not None and uneven.fault == "fabric"
            found.append(None if may_be and is_excused(spread, readings, plan, of_all.strange) else uneven)
    found.append(stray_finding(node, reading, plan, of_all.elsewhere))
    return found


def _carried_words(node: str, reading: NodeCounters, plan: Plan) -> str:
    """Return what the intended rails of a node carried, in words."""
    most = max(sum(meant_bytes(reading, plan, way).values()) for way in WAYS)
    return words.carried_one_way(list(plan.rails), node, most, most < LEAST_PAYLOAD.value)


def _lost_traffic(node: str, reading: NodeCounters, payload: int, plan: Plan, way: Way) -> Finding | None:
    """Return what is wrong if the intended rails carried less: bytes seen elsewhere fail, unseen ones are a doubt."""
    meant = sum(meant_bytes(reading, plan, way).values())
    if meant >= CARRIED_SHARE.value * payload:
        return None
    lacking = payload - meant
    rails = list(plan.rails)
    shown = words.carried_part(rails, node, way, meant, payload)
    device, other = max(unmeant_bytes(reading, plan, way).items(), key=lambda item: item[1], default=("", 0))
    # Half of what is missing: the other half may have gone over a third network, or be headers and noise either way.
    if other >= lacking / 2:
        rail = rail_of_interface(reading, device)
        sentence = words.went_over(other, device, node, rail, shown)
        suspect = Suspect("stack", words.used_instead(device, rails), node, device)
        return Finding("failed", sentence, "set-up", words.look_at_devices(rails, node), (suspect,))
    return _not_proven(words.unseen_rest(shown), words.look_at_unseen())


def _describe_split(readings: Mapping[str, NodeCounters], plan: Plan) -> str:
    totals = {rail: 0 for rail in plan.rails}
    other = 0
    for node in plan.traffic:
        for way in WAYS:
            for rail, amount in meant_bytes(readings[node], plan, way).items():
                totals[rail] += amount
            other = max(other, *unmeant_bytes(readings[node], plan, way).values(), 0)
    whole = sum(totals.values())
    shares = {rail: amount / whole for rail, amount in totals.items()}
    said = words.say_moved(whole, list(plan.traffic), shares, other, plan.exclusive)
    counted = next((found for node in plan.traffic if (found := in_packets(readings[node], plan)) is not None), None)
    return said if counted is None else f"{said}{words.in_packets(counted.device, counted.packet_bytes)}"


def _remarks(readings: Mapping[str, NodeCounters], plan: Plan) -> list[str]:
    if len(plan.traffic) > MOST_IN_WORDS:
        return remarks_of_many({node: readings[node] for node in plan.traffic}, plan.rails, plan.bonded)
    return [
        said
        for node in plan.traffic
        for said in (
            *port_remarks(node, readings[node], plan.bonded),
            *error_remarks(node, readings[node], plan.rails),
        )
    ]


def of_their_own(findings: Sequence[Finding], plan: Plan) -> list[Finding]:
    """Return the findings without those of partners of a node that leaves a rail out.

    A node leaves a rail out if that rail idles in every way in which the node moved enough to tell. Nodes that
    exchanged messages with it then carry less over the same rail, or nothing in one way: their uneven split is not a
    finding. The node's own finding stays, so the path still fails.
    """
    ways = {
        node: sum(moved.payload(way) >= LEAST_PAYLOAD.value for way in WAYS) for node, moved in plan.traffic.items()
    }
    idle = Counter((one.node, one.rail) for finding in findings if finding.idle for one in finding.suspects)
    left_out = {(node, rail) for (node, rail), count in idle.items() if node in ways and count >= ways[node]}
    rails = {rail for _, rail in left_out}

    def is_a_partners(finding: Finding) -> bool:
        places = {(one.node, one.rail) for one in finding.suspects}
        of_rails = {rail for _, rail in places}
        return (finding.idle or finding.uneven) and bool(places) and of_rails <= rails and places.isdisjoint(left_out)

    return [finding for finding in findings if not is_a_partners(finding)]


def judged_path(
    case: Case, prove: Callable[[Plan], PathProof], readings: Mapping[str, NodeCounters], log: str
) -> PathProof:
    """Return the path proof of a run: what its counters show, compared with what it had to move.

    ``prove`` adds the run's traffic to a plan with its rails and policy, and judges it (``verdict.sizes``). ``log``
    is all that the job printed: what the stack says there about its devices is compared with the counters.
    """
    if not case.site.system.fabrics[case.fabric].has_counters:
        return path_not_judged(words.no_counters_of_rails(case.fabric))
    told, fabric = case.launch.settings, case.site.system.fabrics[case.fabric]
    bonded = {rail.name: rail.bonded_ports for rail in fabric.rails}
    plan = Plan(
        rails=fabric.rates(case.launch.meant),
        policy=cast(Policy, told.policy),
        traffic={},
        exclusive=case.site.system.nodes.exclusive,
        pairs=case.pairs,
        error_bounds=fabric.proof.error_bounds,
        bonded={device: bonded[device] for device in case.launch.meant},
        cabled=tuple(rail.device for rail in fabric.rails),
    )
    path = prove(plan)
    clocks = {node: read.clock_khz for node, read in readings.items() if read.clock_khz is not None}
    resends = tuple(node for node, read in readings.items() if loses(read))
    path = compared_with_log(path, log, case.launch.in_log, case.launch.meant)
    found = replace(path, clocks_khz=clocks, resends=resends)
    return _with_conflicts(found, find_conflicts(readings, case.launch.meant))


def _with_conflicts(found: PathProof, seen: tuple[Conflict, ...]) -> PathProof:
    """Return the proof with the addresses that two nodes have. They fail it even if this run's bytes took the right
    way: the next one's may not.
    """
    if not seen or found.state == "failed":
        return replace(found, conflicts=seen)
    sentence = "; ".join([*(one.sentence for one in seen), found.sentence])
    return replace(
        found, state="failed", sentence=sentence, fault="set-up", look_at=look_at_owners(seen), conflicts=seen
    )


def read_log(log: str, patterns: Mapping[str, str]) -> LogDevices | None:
    """Return which devices a log names; None if it names none of them: then it says nothing.

    ``patterns``: a regular expression per device, as ``Launch.in_log`` has them.
    """
    found: dict[str, str] = {}
    for line in log.splitlines():
        if len(found) == len(patterns):
            break
        if len(line) <= LONGEST:
            # Some patterns end with a blank; at the end of a line, that blank is the newline.
            named = [name for name, pattern in patterns.items() if re.search(pattern, f"{line}\n")]
            found |= {name: line.strip() for name in named if name not in found}
    if not found:
        return None
    return LogDevices(tuple(name for name in patterns if name in found), next(iter(found.values())))


def compared_with_log(proof: PathProof, log: str, patterns: Mapping[str, str], meant: Sequence[str]) -> PathProof:
    """Return the proof; its sentence then also says if the log contradicts it, or confirms what it found wrong."""
    said = read_log(log, patterns)
    told = [device for device in meant if device in patterns]
    remark = contradiction(said, told, proof) or agreement(said, told, proof)
    return proof if remark is None else replace(proof, sentence=f"{proof.sentence}; {remark}")


def contradiction(said: LogDevices | None, meant: Collection[str], proof: PathProof) -> str | None:
    """Return the sentence if log and counters disagree; None if they agree, or if one of them says nothing.

    ``meant`` are the devices that the run should have used.
    """
    if said is None or proof.state not in ("proven", "failed"):
        return None
    strangers = [device for device in said.devices if device not in meant]
    unnamed = [device for device in meant if device not in said.devices]
    if proof.state == "proven":
        if unnamed:
            return words.log_contradicts(said.devices, said.line[:_SHOWN])
        if strangers:
            return words.log_names_more(strangers)
        return None
    if proof.fault != "set-up":
        return None
    if not strangers and not unnamed:
        return words.counters_contradict(said.devices, said.line[:_SHOWN])
    return None


def agreement(said: LogDevices | None, meant: Collection[str], proof: PathProof) -> str | None:
    """Return the sentence if the log itself says what the counters found wrong; None for any other log."""
    if said is None or proof.state != "failed" or proof.fault != "set-up":
        return None
    if all(device in said.devices for device in meant) and all(device in meant for device in said.devices):
        return None
    return words.log_agrees(said.devices, said.line[:_SHOWN])


def judge_within_node(
    readings: Mapping[str, NodeCounters],
    payload_bytes: Mapping[str, int],
    nodes: Collection[str],
    who: str = "pair",
    by: str = "memory",
) -> PathProof:
    """Return the proof of pairs that each share a node; ``payload_bytes`` is the least that a node's pair sent one way.

    ``who`` moved it and ``by`` what: for example, GPUs by NVLink.

    A counter that cannot be read is a doubt, never a pass. The ranks of all nodes are one job, and its start and its
    waiting move some bytes between nodes. So the bound is that of any network that a run should not use. A card that
    carries what a node sends to itself counts it both ways; a file system's traffic goes one way.
    """
    shown = {node: rail_bytes(reading, ()) for node, reading in readings.items()}
    total = 2 * sum(payload_bytes.values())
    for node in nodes:
        reason = _unreadable(node, readings.get(node))
        if reason is not None:
            sentence = words.not_proven(reason)
            return PathProof("not-proven", sentence, "not-proven", words.look_at_reader(node), (), shown, total)
    for node in nodes:
        payload = payload_bytes.get(node, 0)
        bound = max(UNMEANT_SHARE.value * payload, WIRE_UP.value * len(nodes))
        for device in readings[node].devices:
            carried = exchanged_bytes(device.tx.delta_bytes or 0, device.rx.delta_bytes or 0)
            if carried > bound and device.packet_bytes is None:  # packets are not bytes: their interface has those
                should = "shared memory" if by == "memory" else by
                sentence = words.left_node(device.device, node, carried, who, payload, bound, should)
                look = words.look_at_transports_within(device.device, node)
                suspect = Suspect("stack", words.network_instead(by), node, device.device)
                return PathProof("failed", sentence, "set-up", look, (suspect,), shown, total)
    least = min(payload_bytes.values(), default=0)
    sentence = words.within_node(sorted(nodes), who, least, by)
    return PathProof("proven", sentence, None, "", (), shown, total)


def _unreadable(node: str, reading: NodeCounters | None) -> str | None:
    if reading is None:
        return words.counters_not_found(node)
    if reading.problem is not None:
        return words.counters_unusable(node, reading.problem)
    if not reading.devices:
        return words.no_network(node)
    for device in reading.devices:
        if device.trouble is not None and not device.unnamed:
            return words.network_in_trouble(device.device, node, device.trouble)
    return None


def judge_by_counters(
    case: "Case", readings: Mapping[str, NodeCounters], plan: traffic.Plan, least: tuple[Least, ...], unknown: str
) -> PathProof:
    """Return the path proof. ``least``: one bound per node in the launch's order, () if there is none.

    If a run is proven without a bound, ``unknown`` is added to its sentence.
    """
    nodes = case.launch.nodes
    bounds = least or (Least(0, 0),) * len(nodes)
    moved = {node: _node_traffic(readings.get(node), plan, bound) for node, bound in zip(nodes, bounds, strict=True)}
    plan = replace(plan, traffic=moved, collective=True)
    found = judge(readings, plan)
    if found.state == "proven":
        found = hold_rails(case, readings, plan, found)
    if least:
        return replace(found, expected_bytes=sum(bound.sent_bytes + bound.received_bytes for bound in least))
    said = f"{found.sentence}; {unknown}"
    return replace(found, expected_bytes=None, sentence=said if found.state == "proven" else found.sentence)


def _node_traffic(reading: NodeCounters | None, plan: traffic.Plan, least: Least) -> traffic.NodeTraffic:
    devices = [] if reading is None else [device for device in reading.devices if device.device in plan.rails]
    sent = sum(device.tx.delta_bytes or 0 for device in devices)
    received = sum(device.rx.delta_bytes or 0 for device in devices)
    return traffic.NodeTraffic(
        max(least.sent_bytes, sent), max(least.received_bytes, received), least.split_bytes, least.split_bytes
    )


def hold_rails(case: "Case", readings: Mapping[str, NodeCounters], plan: traffic.Plan, found: PathProof) -> PathProof:
    """Return the proof, or another one if a rail idled and no message is known that had to be split.

    If a rail idles only on some nodes, the fault is theirs. If it idles on all nodes, the fault is the stack's if the
    stack spreads all messages. If the stack splits only large ones, the application may have had none, and the run
    tells about one rail only.
    """
    every = {
        node: replace(moved, sent_split_bytes=moved.sent_bytes, received_split_bytes=moved.received_bytes)
        for node, moved in plan.traffic.items()
    }
    used = judge(readings, replace(plan, traffic=every))
    idle = on_every_node(map(with_shares, (used.nodes or {}).values()))  # also if a node moved too little to be judged
    if not idle or any(one.kind != "stack" and one.rail not in idle for one in used.suspects):
        return found if used.state == "proven" else used
    stack = unused_by_the_stack(idle, list(plan.traffic))
    threshold = case.launch.settings.threshold_bytes
    if not threshold:
        return found if used.state == "proven" else replace(used, suspects=(stack,))
    busy = [rail for rail in plan.rails if rail not in idle]
    said = words.tells_one_rail(stack.reason, case.stack, threshold, case.benchmark, busy)
    return replace(found, state="not-judged", sentence=said, one_rail=True)
