"""Which node leaves a rail out: its partners move nothing over that rail with it, but are not to blame."""

from collections import Counter
from collections.abc import Sequence

from railyard.base.bounds import LEAST_PAYLOAD
from railyard.verdict.path.traffic import WAYS, Finding, Plan


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
