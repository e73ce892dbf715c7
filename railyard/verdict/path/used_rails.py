"""Whether an application used all rails that it was given, although nobody knows how large its messages are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from railyard.base.wording import listing, message_size
from railyard.job.counters.node import NodeCounters
from railyard.results.idle_rails import on_every_node
from railyard.verdict.path import proof, traffic
from railyard.verdict.path.result import PathProof

if TYPE_CHECKING:
    from railyard.job.case import Case


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
    idle = on_every_node((used.nodes or {}).values())  # also if a node moved too little to be judged
    if not idle or any(one.kind != "stack" and one.rail not in idle for one in used.suspects):
        return found if used.state == "proven" else used
    stack = proof.unused_by_the_stack(idle, list(plan.traffic))
    threshold = case.launch.settings.threshold_bytes
    if not threshold:
        return found if used.state == "proven" else replace(used, suspects=(stack,))
    busy = listing([rail for rail in plan.rails if rail not in idle])
    said = (
        f"{stack.reason}; {case.stack} splits messages of {message_size(threshold)} and more, and none of "
        f"{case.benchmark} is known to be so large: its figure is that of {busy} only"
    )
    return replace(found, state="not-judged", sentence=said, one_rail=True)
