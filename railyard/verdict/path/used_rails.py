"""Whether an application that was given several rails used them all, though nobody knows how large its messages are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from railyard.base.wording import listing, message_size
from railyard.job.counters.node import NodeCounters
from railyard.results.idle_rails import on_every_node
from railyard.verdict.path import proof, traffic

if TYPE_CHECKING:
    from railyard.job.case import Case


def held(
    case: "Case", readings: Mapping[str, NodeCounters], plan: traffic.Plan, found: proof.PathProof
) -> proof.PathProof:
    """Return the proof, or another one where a rail idled although no message is known that had to be split.

    A rail that idles on some nodes is their fault. One that idles on all of them is the stack's, where it spreads all
    messages; where it splits large ones alone the application may have had none, and the run speaks for one rail.
    """
    every = {
        node: replace(moved, sent_split_bytes=moved.sent_bytes, received_split_bytes=moved.received_bytes)
        for node, moved in plan.traffic.items()
    }
    used = proof.judge(readings, replace(plan, traffic=every))
    idle = on_every_node((used.nodes or {}).values())  # also where a node moved too little to be judged
    if not idle or any(one.kind != "stack" and one.rail not in idle for one in used.suspects):
        return found if used.state == "proven" else used
    stack = proof.unused_by_the_stack(idle, list(plan.traffic))
    threshold = case.launch.settings.threshold_bytes
    if not threshold:
        return found if used.state == "proven" else replace(used, suspects=(stack,))
    busy = listing([rail for rail in plan.rails if rail not in idle])
    said = (
        f"{stack.reason}; {case.stack} splits messages of {message_size(threshold)} and more, and none of "
        f"{case.benchmark} is known to be so large: its figure is that of {busy} alone"
    )
    return replace(found, state="not-judged", sentence=said, one_rail=True)
