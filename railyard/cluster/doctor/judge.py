"""All findings about the nodes: applies each rule to each node, and says once what many nodes have in common."""

from collections.abc import Iterable, Sequence

from railyard.base.finding import Finding
from railyard.base.wording import few
from railyard.cluster.detect.source import natural
from railyard.cluster.doctor import compare_nodes, node_rules, rail_ports, rail_rules
from railyard.cluster.doctor.node_block import NodeState
from railyard.site.systems.model import System


def of_nodes(
    nodes: Sequence[NodeState], system: System, expected: Iterable[str] = (), step: tuple[float, float] | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong, problems first. ``step``: when the job step began and ended, in seconds since 1970."""
    nodes = sorted(nodes, key=lambda node: natural(node.name))
    found: list[Finding] = [
        *compare_nodes.find_unanswered(nodes, expected),
        *compare_nodes.unique(nodes),
        *compare_nodes.find_differing(nodes),
    ]
    if step is not None:
        found += compare_nodes.clocks(nodes, *step)
    for node in nodes:
        for rule in node_rules.RULES:
            found += rule(node, system)
        found += rail_rules.of_node(node, system.fabrics)
    found += rail_ports.of_nodes(nodes, system)
    return order_findings(found)


def order_findings(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, problems before remarks. Findings that say the same about several places become one."""
    places: dict[tuple[str, str, str], dict[str, None]] = {}
    kept: dict[tuple[str, str, str], Finding] = {}
    for one in found:
        key = (one.weight, one.what, one.fix)
        kept.setdefault(key, one)
        places.setdefault(key, {})[one.where] = None
    merged = [Finding(one.weight, few(tuple(places[key])), one.what, one.fix) for key, one in kept.items()]
    return tuple(sorted(merged, key=lambda one: one.weight != "problem"))
