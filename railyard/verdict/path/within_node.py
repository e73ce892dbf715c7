"""The path proof of a pair within a node: no network of any node moved the pair's bytes, so memory did."""

from collections.abc import Collection, Mapping

from railyard.base.bounds import UNMEANT_SHARE, WIRE_UP
from railyard.job.counters.node import NodeCounters
from railyard.results.record.form import Suspect
from railyard.verdict.path.result import PathProof
from railyard.verdict.path.traffic import exchanged_bytes, rail_bytes
from railyard.verdict.wording import path as words


def judge(
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
