"""Whether an application that was given several rails used them all, though nobody knows how large its messages are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from railyard import pathproof
from railyard.bounds import COLLECTIVE_SHARE
from railyard.counters import NodeCounters
from railyard.wording import listing, message_size

if TYPE_CHECKING:
    from railyard.runcase import Case


def held(
    case: "Case", readings: Mapping[str, NodeCounters], plan: pathproof.Plan, found: pathproof.PathProof
) -> pathproof.PathProof:
    """Return the proof, or another one where a rail idled although no message is known that had to be split.

    A rail that idles on some nodes is their fault. One that idles on all of them is the stack's, where it spreads all
    messages; where it splits large ones alone the application may have had none, and the run speaks for one rail.
    """
    every = {node: replace(t, sent_split_bytes=t.sent_bytes, received_split_bytes=t.received_bytes)
             for node, t in plan.traffic.items()}  # fmt: skip
    used = pathproof.judge(readings, replace(plan, traffic=every))
    settings = case.launch.settings
    if used.state == "proven" or not settings.threshold_bytes or all(one.kind != "stack" for one in used.suspects):
        return found if used.state == "proven" else used
    idle = next(one.reason for one in used.suspects if one.kind == "stack")
    said = (
        f"{idle}; {case.stack} splits messages of {message_size(settings.threshold_bytes)} and more, and none of "
        f"{case.benchmark} is known to be so large: its figure is that of {listing(_busy(used, plan))} alone"
    )
    return replace(found, state="not-judged", sentence=said, one_rail=True)


def _busy(used: pathproof.PathProof, plan: pathproof.Plan) -> list[str]:
    """Return the meant rails that carried more than the idle ones' bound on any node."""
    shares = [rail for rails in (used.nodes or {}).values() for rail in rails if rail.share is not None]
    return [
        rail
        for rail in plan.rails
        if any(r.device == rail and (r.share or 0) >= COLLECTIVE_SHARE.value for r in shares)
    ]
