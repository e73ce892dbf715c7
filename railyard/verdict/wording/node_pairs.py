"""The sentences about pairs of nodes, and about pairs of ranks within each node."""

from collections.abc import Sequence

from railyard.base.hostlist import list_nodes
from railyard.base.wording import listing, number, places

_MOST_PAIRS = 4


def fastest_pair(metric: str) -> str:
    """Return the metric of the fastest pair."""
    return f"{metric} of the fastest pair"


def only_limit_counts() -> str:
    """Return why a metric has no reference."""
    return "only its limit counts"


def slow_node(value_mb_s: float, least_mb_s: float) -> str:
    """Return why a node is a suspect whose own ranks are slow."""
    return f"its own two ranks reach {number(value_mb_s)} MB/s, expected at least {number(least_mb_s)}"


def look_at_memory(nodes: Sequence[str]) -> str:
    """Return what to look at if ranks within nodes are slow."""
    return f"memory, clock and NUMA placement of {list_nodes(nodes)}: no network is involved"


def slow_within(nodes: Sequence[tuple[str, float]], median_mb_s: float) -> str:
    """Return which nodes are slower within than others, each with its value."""
    each = places([f"{node} {number(value)}" for node, value in nodes])
    return f"slow within the node: {each} MB/s (median {number(median_mb_s)})"


def measured_again(pairs: Sequence[tuple[str, float, float]]) -> str:
    """Return what pairs gave at first, and then alone."""
    shown = [f"{pair} {number(first)} and then {number(then)}" for pair, first, then in pairs[:_MOST_PAIRS]]
    more = f" and {len(pairs) - _MOST_PAIRS} more" if len(pairs) > _MOST_PAIRS else ""
    return f"measured again, alone: {listing(shown)} MB/s{more}"
