"""What a sample exercised: nodes, pairs, pairs of leaves, up-links, and rails of nodes."""

from collections.abc import Iterable, Mapping

import numpy as np

from railyard.verdict.blame.screening.leaves import Floats, Ints, Leaves, leaves_of
from railyard.verdict.blame.screening.model import Coverage, Network, NotMeasured, Share
from railyard.verdict.blame.screening.values import Rows
from railyard.verdict.blame.search.model import Pair
from railyard.verdict.wording import screening as words

_NOBODY: Mapping[int, str] = {}


def coverage(network: Network, leaves: Leaves, rows: Rows, gone: Mapping[int, str]) -> Coverage:
    """Return what the rows with a result exercised. ``gone`` has the nodes that were absent, each with the reason."""
    count = len(leaves.of)
    tried = np.zeros(count, dtype=bool)
    tried[rows.a], tried[rows.b] = True, True
    used = rows.of(rows.value > 0)
    there = np.zeros(count, dtype=bool)
    there[used.a], there[used.b] = True, True
    keys = np.unique(used.a * count + used.b)
    partners = np.bincount(keys // count, minlength=count) + np.bincount(keys % count, minlength=count)
    missing = [
        NotMeasured(leaves.layout.nodes[node], gone.get(node, words.no_value_back()))
        for node in range(count)
        if node in gone or not tried[node]
    ]
    nodes = int(there.sum())
    rails = len(network.rails)
    return Coverage(
        Share(nodes, count, words.nodes_with_result()),
        Share(len(keys), count * (count - 1) // 2, words.pairs_with_result()),
        _leaf_pairs(leaves, used),
        up_links(network, leaves, used),
        Share(nodes * rails, count * rails, words.all_rails_at_once())
        if rails
        else Share(0, None, words.rails_unknown()),
        float(np.median(partners[there])) if nodes else 0.0,
        tuple(missing),
    )


def find_coverage(network: Network, pairs: Iterable[Pair], gone: Mapping[int, str] = _NOBODY) -> Coverage:
    """Return what these pairs exercised (all of them gave results): in one run, or in several runs together."""
    leaves = leaves_of(network.layout)
    return coverage(network, leaves, rows_of_pairs(pairs), gone)


def rows_of_pairs(pairs: Iterable[Pair]) -> Rows:
    """Return pairs as rows of one round, each with a result."""
    ends = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    nothing = np.zeros(len(ends), dtype=np.int64)
    return Rows(ends[:, 0], ends[:, 1], np.ones(len(ends)), nothing, nothing)


def up_links(network: Network, leaves: Leaves, rows: Rows) -> Share:
    """Return the up-links that carried one of these rows; an expected number if routes are not known."""
    if not leaves.known:
        return Share(0, None, words.leaves_unknown())
    if len(leaves.names) < 2:
        return Share(0, 0, words.one_leaf())
    planes = len(network.rails) if network.planes else 1
    if network.routes:
        used = up_link_uses(network, leaves, rows) > 0
        return Share(int(used.sum()) * planes, used.size * planes, words.by_routes())
    number = up_links_of(network, leaves)
    flows = flows_of(leaves, rows)
    expected = number * (1 - (1 - 1 / number) ** flows)
    return Share(
        float(expected.sum()) * planes,
        int(number.sum()) * planes,
        words.expected_up_links(network.up_links),
    )


def up_links_of(network: Network, leaves: Leaves) -> Floats:
    """Return how many up-links each leaf has; if not known, as many as it has nodes."""
    number: Floats = np.array([float(network.up_links or len(nodes)) for nodes in leaves.members])
    return number


def flows_of(leaves: Leaves, rows: Rows) -> Ints:
    """Return how many different static routes of each leaf carried a row: out to a node, or in from a leaf to a node.

    A row has both directions, and each takes an up-link of both leaves.
    """
    far = leaves.are_far(rows.a, rows.b)
    count, number = len(leaves.of), len(leaves.names)
    a, b = rows.a[far], rows.b[far]
    counts = np.zeros(number, dtype=np.int64)
    for source, target in ((a, b), (b, a)):
        # a route goes from a leaf to a node: it takes an up-link of that leaf, and one of the node's leaf
        routes = np.unique(leaves.of[source] * count + target)
        for leaf in (routes // count, leaves.of[routes % count]):
            counts += np.bincount(leaf, minlength=number)
    return counts


def up_link_uses(network: Network, leaves: Leaves, rows: Rows) -> Ints:
    """Return how many rows each up-link carried: one row per leaf, one column per up-link."""
    table = np.array(network.routes)
    number = int(table.max()) + 1
    uses = np.zeros(len(leaves.names) * number, dtype=np.int64)
    far = leaves.are_far(rows.a, rows.b)
    a, b = rows.a[far], rows.b[far]
    for source, target in ((a, b), (b, a)):
        up = table[leaves.of[source], target]
        for node in (source, target):
            uses += np.bincount(leaves.of[node] * number + up, minlength=len(uses))
    return uses.reshape(len(leaves.names), number)


def _leaf_pairs(leaves: Leaves, rows: Rows) -> Share:
    if not leaves.known:
        return Share(0, None, words.leaves_unknown())
    number = len(leaves.names)
    one, other = leaves.of[rows.a], leaves.of[rows.b]
    apart = one != other
    keys = np.unique(np.minimum(one, other)[apart] * number + np.maximum(one, other)[apart])
    return Share(len(keys), number * (number - 1) // 2, words.leaf_pairs_with_result())
