"""What a sample exercised, and for each class of fault, the probability that its steps would have named one.

Nothing is assumed about the noise: a fault is put into the measured values (each is multiplied by the share that the
fault leaves), and the same bounds apply. A suspect's own measurements are drawn from the scatter of the sample's
healthy pairs.

Exercised are nodes, pairs, pairs of leaves, up-links, and rails of nodes.
"""

import math
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from railyard.base.numbers import quantile
from railyard.verdict.blame.screening.model import Coverage, FaultKind, Network, NotMeasured, Promise, Settings, Share
from railyard.verdict.blame.screening.suspects import SampleView, keeps_apart, leaf_bound, upper_of
from railyard.verdict.blame.screening.values import Bools, Floats, Ints, Leaves, Rows, leaves_of
from railyard.verdict.blame.search.doubts import NEIGHBOURS
from railyard.verdict.blame.search.model import Pair
from railyard.verdict.blame.search.single_pairs import bound_of
from railyard.verdict.wording import screening as words

#: How many suspects are drawn for each probability, and from how many values.
_DRAWS, _VALUES = 1500, 20_000
#: All nodes of a leaf with half of its up-links reach half of healthy at once if routes are kept apart, and 0.6 to 0.7
#: of what other leaves reach if routes collide anyway (simulated fat trees, docs/howto/pairs.md). The larger values
#: count.
HALF_A_LEAF, HALF_A_LEAF_COLLIDED = 0.55, 0.7
#: At most this many pairs of one leaf are asked about: more are probably one fault.
OF_A_LEAF = 3
#: Pairs up to this factor above a share count as equally slow.
_ABOUT = 1.1
_NOBODY: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True)
class MadeSteps:
    """What the steps after the sample were, or would have been: whether there was room for one more suspect.

    ``sifted`` has the pairs that were slow once, each with its share of what its nodes can give and whether there was
    room to measure it again. ``asked`` has, by kind, how slow each suspect was, and whether there was room for it.
    ``would_fit`` says whether one could have been measured if none was asked about.
    """

    repeats: int
    part_repeats: int
    neighbours: int
    leaf_rounds: int
    sifted: Sequence[tuple[float, Pair, bool]]
    asked: Mapping[str, Sequence[tuple[float, bool]]]
    would_fit: Mapping[str, bool]

    def room(self, kind: str, share: float) -> float:
        """Return how probable it is that there was room for one more suspect: the slowest ones come first."""
        before = [fits for own, fits in self.asked.get(kind, ()) if own <= share * _ABOUT]
        if not self.asked.get(kind):
            return float(self.would_fit[kind])
        return (sum(before) + 1) / (len(before) + 1)


@dataclass(frozen=True, slots=True)
class _Noise:
    """How probable it is that a suspect at a share is called slow, and that a good pair is not, by its repeats."""

    values: Sequence[float]
    settings: Settings
    #: What was drawn for each number of repeats: always the same.
    drawn: dict[int, tuple[float, float, list[float]]] = field(default_factory=dict)

    def slow(self, share: float, repeats: int) -> float:
        """Return the probability that a pair at this share is called slow."""
        bound, control, uppers = self._draw_values(repeats)
        return sum(share * upper < bound * control for upper in uppers) / len(uppers)

    def good(self, repeats: int) -> float:
        """Return the probability that a good pair is called good."""
        return 1 - self.slow(1.0, repeats)

    def _draw_values(self, repeats: int) -> tuple[float, float, list[float]]:
        if repeats in self.drawn:
            return self.drawn[repeats]
        draw = random.Random(repeats)
        lists = [draw.choices(self.values, k=repeats) for _ in range(_DRAWS)]
        uppers = [quantile(sorted(each), upper_of(repeats)) for each in lists]
        self.drawn[repeats] = bound_of(lists, self.settings.slow), statistics.median(uppers), uppers
        return self.drawn[repeats]


def promises(
    network: Network, leaves: Leaves, found: SampleView, made: MadeSteps, settings: Settings
) -> tuple[Promise, ...]:
    """Return the promises of a screening, by what its sample saw and what its budget left for suspects."""
    far = leaves.are_far(found.rows.a, found.rows.b)
    near_noise, far_noise = (_Noise(_scatter(found, which), settings) for which in (~far, far))
    if not len(near_noise.values):
        near_noise = far_noise
    if not len(far_noise.values):
        far_noise = near_noise
    if not len(near_noise.values):
        return ()
    return (
        *(_node(leaves, found, near_noise, made, share) for share in (0.9, 0.75, 0.5)),
        *_parts(network, leaves, found, near_noise, made),
        _pair(leaves, found, far_noise, made),
        _leaf(leaves, found, made, settings),
        *(_up_link(network, leaves, found, far_noise, made, share) for share in (0.5, 0.0)),
    )


def _scatter(found: SampleView, which: Bools) -> list[float]:
    """Return values of healthy pairs as shares of their level, from clean rows without nodes in doubt."""
    rows = found.rows
    kept = which & found.clean & (found.speed[rows.a] == 1) & (found.speed[rows.b] == 1) & (found.share > 0)
    if found.leaves:
        kept &= rows.crowd <= 1
    chosen = found.share[kept]
    step = max(1, len(chosen) // _VALUES)
    values: list[float] = chosen[::step].tolist()
    return values


def _doubted_nodes(leaves: Leaves, found: SampleView, share: float) -> float:
    """Return the share of all nodes that would have been in doubt if each had been this slow."""
    at_home = ~np.isnan(found.home)
    seen = np.where(at_home, found.home * share < found.bounds.home, found.away * share < found.bounds.away)
    return float(seen.sum()) / len(leaves.of)


def _named_node(leaves: Leaves, found: SampleView, noise: _Noise, made: MadeSteps, share: float) -> float:
    two_partners = noise.slow(share, made.repeats) ** 2 * noise.good(made.repeats)
    return _doubted_nodes(leaves, found, share) * two_partners * made.room("node", share)


def _node(leaves: Leaves, found: SampleView, noise: _Noise, made: MadeSteps, share: float) -> Promise:
    values = int(np.median(_values_of_nodes(leaves, found)))
    basis = words.basis_of_node(values, share, made.repeats, made.room("node", share))
    return Promise("node", share, _named_node(leaves, found, noise, made, share), basis)


def _parts(network: Network, leaves: Leaves, found: SampleView, noise: _Noise, made: MadeSteps) -> list[Promise]:
    listed: list[tuple[FaultKind, int, str, tuple[float, ...]]] = [
        ("rail", len(network.rails), words.rails_or_paths(False), (0.5, 0.0)),
        ("gpu path", len(network.gpus), words.rails_or_paths(True), (0.5,)),
    ]
    made_of = []
    for kind, count, plural, shares in listed:
        for share in shares:
            if count == 1 and kind == "rail":
                continue  # its fault is the node's
            if not count:
                made_of.append(Promise(kind, share, None, words.parts_unknown(plural)))
                continue
            over_all = (count - 1 + share) / count
            probability = _named_node(leaves, found, noise, made, over_all)
            if count > 1:
                alone = noise.slow(share, made.part_repeats) ** 2
                rails = len(network.rails) if kind == "gpu path" else 0  # all of them must be good
                probability *= alone * noise.good(made.part_repeats) ** (1 + 3 * rails) * made.room(kind, over_all)
            basis = words.basis_of_parts(over_all, count, plural, made.room(kind, over_all))
            made_of.append(Promise(kind, share, probability, basis))
    return made_of


def _pair(leaves: Leaves, found: SampleView, noise: _Noise, made: MadeSteps) -> Promise:
    rows, share, count = found.rows, 0.5, len(leaves.of)
    kept = found.clean & (found.speed[rows.a] == 1) & (found.speed[rows.b] == 1)
    measured = len(np.unique(rows.a[kept] * count + rows.b[kept]))
    far = leaves.are_far(rows.a, rows.b)[kept]
    bound = np.where(far, found.bounds.far, found.bounds.near)
    taken = float((found.share[kept] * share < bound).mean()) if kept.any() else 0.0
    taken *= _repeat_chance(leaves, made, share) ** 2
    pairs = count * (count - 1) // 2
    again = noise.slow(share, made.repeats) * noise.good(made.repeats) ** (2 * made.neighbours + 3)
    room = made.room("pair", share)
    basis = words.basis_of_pair(measured, pairs, made.repeats, made.neighbours, room)
    return Promise("pair", share, measured / pairs * taken * again * room, basis)


def _leaf(leaves: Leaves, found: SampleView, made: MadeSteps, settings: Settings) -> Promise:
    if not leaves.known:
        return Promise("leaf", 0.5, None, words.leaves_unknown())
    if not found.bounds.leaf:
        return Promise("leaf", 0.5, None, words.few_leaves())
    met = ~np.isnan(found.usual)
    enough = np.array([len(nodes) > NEIGHBOURS for nodes in leaves.members])
    left = HALF_A_LEAF if keeps_apart(found) else HALF_A_LEAF_COLLIDED
    doubted = float((met & enough & (found.usual * left < found.bounds.leaf)).sum()) / len(leaves.names)
    bound = min(1 - settings.leaf_slow, leaf_bound(found))
    error = max(_leaf_spread(found) / math.sqrt(made.leaf_rounds), 1e-6)
    confirmed = 0.5 * math.erfc((left - bound) / error / math.sqrt(2))
    bouts = int(np.median((~np.isnan(found.bouts)).sum(axis=0)))
    room = made.room("leaf", left)
    basis = words.basis_of_leaf(bouts, left, made.leaf_rounds, room)
    return Promise("leaf", 0.5, doubted * confirmed * room, basis)


def _up_link(
    network: Network, leaves: Leaves, found: SampleView, noise: _Noise, made: MadeSteps, share: float
) -> Promise:
    if not leaves.known or len(leaves.names) < 2:
        why = words.one_leaf() if leaves.known else words.leaves_unknown()
        return Promise("up-link", share, None, why)
    planes = len(network.rails) if network.planes and network.rails else 1
    over_all = (planes - 1 + share) / planes
    rows = found.rows.of(found.clean)
    values = found.share[found.clean & leaves.are_far(found.rows.a, found.rows.b)]
    taken = float((values * over_all < found.bounds.far).mean()) if len(values) else 0.0
    if network.routes:
        covered = float((1 - (1 - taken) ** up_link_uses(network, leaves, rows)).mean())
        how = words.by_routes()
    else:
        number = up_links_of(network, leaves)
        covered = float(np.average(1 - (1 - taken / number) ** flows_of(leaves, rows), weights=number))
        how = words.by_random_routes()
    slow, good = noise.slow(over_all, made.repeats), noise.good(made.repeats)
    once = slow ** (1 + made.neighbours) * good ** (made.neighbours + 3) * made.room("pair", over_all)
    once *= _repeat_chance(leaves, made, over_all)
    # some pairs of a leaf are asked about: each is a separate chance
    chances = min(OF_A_LEAF, max(1.0, float(np.median(flows_of(leaves, rows) / up_links_of(network, leaves)))))
    named = 1 - (1 - once) ** chances
    basis = words.basis_of_up_link(covered, how, made.neighbours, made.room("pair", over_all))
    return Promise("up-link", share, covered * named, basis)


def _repeat_chance(leaves: Leaves, made: MadeSteps, share: float) -> float:
    """Return how probable it is that there was room to measure a pair of this share again, over all leaves.

    The slowest pairs of a leaf come first, so only pairs count that are as slow or slower.
    """
    number = len(leaves.names)
    tried, placed = np.zeros(number), np.zeros(number)
    for own, pair, again in made.sifted:
        if own <= share * _ABOUT:
            for node in pair:
                tried[leaves.of[node]] += 1
                placed[leaves.of[node]] += again
    return float(((placed + 1) / (tried + 1)).mean())


def _leaf_spread(found: SampleView) -> float:
    """Return the relative standard deviation of one leaf's mean in one bout, from leaves that are not in doubt."""
    good = [leaf for leaf in range(found.bouts.shape[1]) if leaf not in found.leaves]
    values = found.bouts[:, good]
    values = values[~np.isnan(values)]
    return float(values.std() / values.mean()) if len(values) > 1 and values.mean() > 0 else 0.0


def _values_of_nodes(leaves: Leaves, found: SampleView) -> Floats:
    rows = found.rows.of(found.clean)
    near = ~leaves.are_far(rows.a, rows.b)
    count = len(leaves.of)
    home = np.bincount(rows.a[near], minlength=count) + np.bincount(rows.b[near], minlength=count)
    away = np.bincount(rows.a[~near], minlength=count) + np.bincount(rows.b[~near], minlength=count)
    values: Floats = np.where(home > 0, home, away).astype(np.float64)
    return values


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
