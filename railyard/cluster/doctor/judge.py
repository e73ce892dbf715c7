"""All findings of the nodes: each rule asked of each node, and what many nodes have in common said once."""

from collections.abc import Iterable, Sequence

from railyard.base.finding import Finding
from railyard.cluster.detect.source import natural
from railyard.cluster.doctor import between, node_rules, rail_ports, rail_rules
from railyard.cluster.doctor.node_block import NodeState
from railyard.site.systems.model import System

_NAMED = 4


def of_nodes(
    nodes: Sequence[NodeState], system: System, expected: Iterable[str] = (), step: tuple[float, float] | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong, problems first. ``step`` is when the job step began and ended, seconds since 1970."""
    nodes = sorted(nodes, key=lambda node: natural(node.name))
    found: list[Finding] = [*between.answered(nodes, expected), *between.unique(nodes), *between.differing(nodes)]
    if step is not None:
        found += between.clocks(nodes, *step)
    for node in nodes:
        for rule in node_rules.RULES:
            found += rule(node, system)
        found += rail_rules.of_node(node, system.fabrics)
    found += rail_ports.of_nodes(nodes, system)
    return ordered(found)


def ordered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, those that say the same of several places as one, problems before remarks."""
    places: dict[tuple[str, str, str], list[str]] = {}
    kept: dict[tuple[str, str, str], Finding] = {}
    for one in found:
        key = (one.weight, one.what, one.fix)
        kept.setdefault(key, one)
        if one.where not in places.setdefault(key, []):
            places[key].append(one.where)
    merged = [Finding(one.weight, _places(places[key]), one.what, one.fix) for key, one in kept.items()]
    return tuple(sorted(merged, key=lambda one: one.weight != "problem"))


def _places(names: Sequence[str]) -> str:
    """Return up to four places by name, and how many more there are."""
    if len(names) <= _NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
