"""The path proof of a run if nobody knows how many bytes it had to move, or only the least: by the counters alone.

Whatever the intended rails carried counts as the run's own. No other network may have carried more than a hundredth of
it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from railyard.benchmarks.physics import Least
from railyard.job.counters.node import NodeCounters
from railyard.verdict.path import proof, traffic, used_rails
from railyard.verdict.path.result import PathProof

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
        found = used_rails.hold_rails(case, readings, plan, found)
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
