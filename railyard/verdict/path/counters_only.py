"""The path proof of a run if nobody knows how many bytes it had to move: by counters, and which rails it used.

Whatever the intended rails carried counts as the run's own. No other network may have carried more than a hundredth of
it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from railyard.benchmarks.model import Least
from railyard.job.counters import NodeCounters
from railyard.verdict.path import proof, traffic
from railyard.verdict.rule_model import PathProof

if TYPE_CHECKING:
    from railyard.job.case import Case
from typing import TYPE_CHECKING

from railyard.results.record.form import with_shares
from railyard.results.remarks import on_every_node
from railyard.verdict.wording import path as words

if TYPE_CHECKING:
    from railyard.job.case import Case


def judge(
    case: "Case", readings: Mapping[str, NodeCounters], plan: traffic.Plan, least: tuple[Least, ...], unknown: str
) -> PathProof:
    """Return the path proof. ``least``: one bound per node in the launch's order, () if there is none.

    If a run is proven without a bound, ``unknown`` is added to its sentence.
    """
    nodes = case.launch.nodes
    bounds = least or (Least(0, 0),) * len(nodes)
    moved = {node: _node_traffic(readings.get(node), plan, bound) for node, bound in zip(nodes, bounds, strict=True)}
    plan = replace(plan, traffic=moved, collective=True)
    found = proof.judge(readings, plan)
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
    used = proof.judge(readings, replace(plan, traffic=every))
    idle = on_every_node(map(with_shares, (used.nodes or {}).values()))  # also if a node moved too little to be judged
    if not idle or any(one.kind != "stack" and one.rail not in idle for one in used.suspects):
        return found if used.state == "proven" else used
    stack = proof.unused_by_the_stack(idle, list(plan.traffic))
    threshold = case.launch.settings.threshold_bytes
    if not threshold:
        return found if used.state == "proven" else replace(used, suspects=(stack,))
    busy = [rail for rail in plan.rails if rail not in idle]
    said = words.tells_one_rail(stack.reason, case.stack, threshold, case.benchmark, busy)
    return replace(found, state="not-judged", sentence=said, one_rail=True)
